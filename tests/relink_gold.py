"""The re-link gold: quotations of federal law, damaged in known ways, and how a run on them is scored.

Right, wrong, review and unmatched are counted apart, per kind of damage and per case: with a hint or without one,
decidable (one place holds the text, or one place of the hinted law) or not, or a quotation of nothing.
"""

import hashlib
import html
import io
import json
import re
import tarfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from ingest.documents import load_file
from normalize.laws import LawTable
from relink.chunks import LinkChunk, chunks_from_payloads
from relink.corpus import Corpus
from relink.decision import Decision

GOLD = Path("gold/relink/controls.jsonl.zst")
BULK = Path("corpus/bulk/gii-xml-all_2024-10.tar.zst")
Place = tuple[str, str | None, str | None]
_AMTABK = re.compile(rb"<amtabk>([^<]+)</amtabk>")
_JURABK = re.compile(rb"<jurabk>([^<]+)</jurabk>")
_HEAD = 2000


@dataclass(frozen=True, slots=True)
class Row:
    """One control of the gold: its quotation, the damage, the hint, and every place that holds it."""

    text: str
    damage: str
    hint: str | None
    places: frozenset[Place]

    @property
    def in_hinted_law(self) -> frozenset[Place]:
        """The places in the law of the hint."""
        return frozenset(place for place in self.places if self.hint and place[0] == self.hint.upper())

    @property
    def is_decidable(self) -> bool:
        """Whether one place holds the text, or one place of the hinted law."""
        if self.damage == "span2":
            return len({place[:2] for place in self.places}) == 1
        return len(self.places) == 1 or len(self.in_hinted_law) == 1

    @property
    def case(self) -> str:
        """What is expected: `nowhere`, or `hint`/`free` with `decidable`/`open`."""
        if not self.places:
            return "nowhere"
        return f"{'hint' if self.hint else 'free'} {'decidable' if self.is_decidable else 'open'}"

    def is_right(self, place: Place) -> bool:
        """Return whether a link to a place is right; a text over two Absätze cites the article."""
        if self.damage == "span2":
            return place[2] is None and place[:2] in {gold[:2] for gold in self.places}
        return place in (self.in_hinted_law or self.places)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
        for line in io.TextIOWrapper(stream, encoding="utf-8"):
            yield json.loads(line)


def read_gold(shared: Path) -> tuple[frozenset[str], list[Row]]:
    """Return the codes of the laws that are not to be ingested, and the rows."""
    lines = _lines(shared / GOLD)
    excluded = frozenset(code.upper() for code in next(lines)["excluded_laws"])
    rows = [
        Row(
            line["source_original_text"],
            line["damage"],
            line["hint"],
            frozenset((gold["regulation_code"].upper(), gold["article"], gold["paragraph"]) for gold in line["gold"]),
        )
        for line in lines
    ]
    return excluded, rows


def in_share(code: str, shares: int) -> bool:
    """Return whether the laws of a code belong to the share that a quick run reads; the same everywhere."""
    return hashlib.sha256(code.encode()).digest()[0] % shares == 0


def is_held_out(row: Row) -> bool:
    """Return whether a row is of the half of the laws that figures were not tuned on (negatives: by their text).

    Single wrong links of this half were looked at, and one of them led to a rule: it is a check, not a blind test.
    """
    name = min(place[0] for place in row.places) if row.places else row.text[:40]
    return hashlib.sha256(f"half {name}".encode()).digest()[0] % 2 == 1


def read_law(shared: Path, folder: Path, wanted: Callable[[str], bool]) -> list[LinkChunk]:
    """Return the chunks of the laws in the bulk corpus whose code is wanted, read by the project's own reader."""
    laws = LawTable.builtin()
    payloads: list[dict[str, Any]] = []
    with (shared / BULK).open("rb") as packed:
        stream = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(packed)
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                packed_file = archive.extractfile(member) if member.name.endswith(".xml") else None
                if packed_file is None:
                    continue
                content = packed_file.read()
                code = _AMTABK.search(content[:_HEAD]) or _JURABK.search(content)
                if code is None or not wanted(html.unescape(code[1].decode("utf-8")).upper()):
                    continue
                file = folder / Path(member.name).name
                file.write_bytes(content)
                payloads += [chunk.payload for chunk in load_file(file, laws).chunks()]
                file.unlink()
    return chunks_from_payloads(payloads)


def place_of(corpus: Corpus, decision: Decision) -> Place | None:
    """Return the best place of a decision as the gold names places: a § of an Artikelgesetz without its Artikel."""
    best = decision.best
    if best is None:
        return None
    article = best.place[1]
    code = corpus.chunks[best.first_chunk].regulation_code
    return (code, article.split(" § ")[-1] if article else None, best.place[2])


def score(corpus: Corpus, rows: Sequence[Row], decisions: Sequence[Decision]) -> dict[tuple[str, str], Counter[str]]:
    """Count right, wrong, ambiguous (of them `first`: the right place is first in the review) and unmatched."""
    table: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row, decision in zip(rows, decisions, strict=True):
        place = place_of(corpus, decision)
        counts = table[row.damage, row.case]
        counts["rows"] += 1
        right = place is not None and row.is_right(place)
        if decision.outcome == "linked":
            counts["right" if right else "wrong"] += 1
        else:
            counts[decision.outcome] += 1
            counts["first"] += right
    return table


def total(table: dict[tuple[str, str], Counter[str]], case: str, damages: Sequence[str] = ()) -> Counter[str]:
    """Add up the counts of a case, of all kinds of damage or of some."""
    chosen = [
        counts for (damage, c), counts in sorted(table.items()) if c == case and (not damages or damage in damages)
    ]
    return sum(chosen, Counter())
