"""Score an act read from its PDF against the same act from a structured source, Absatz by Absatz."""

import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ingest.tree import Absatz, Act

_FLOORS = tomllib.loads((Path(__file__).parent / "floors.toml").read_text(encoding="utf-8"))["pdf"]
_WORD = re.compile(r"\w+")

Key = tuple[str, str | None]


@dataclass(frozen=True)
class Score:
    """Agreement of two readings: of the places (article, Absatz), the words at each place, and its list items."""

    structure_f1: float
    text_f1: float
    same_items: float


def floor(name: str) -> float:
    """Return a pinned floor of the section `pdf` of `floors.toml`."""
    return float(_FLOORS[name])


def gold_digests() -> dict[str, str]:
    """Return the sha256 of each file the floors were measured on, by its path in the shared folder."""
    return dict(_FLOORS["digests"])


def digest(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def absaetze(act: Act, *, under: str = "") -> dict[Key, list[Absatz]]:
    """Return the Absätze of the norms of an act by place; `under` is put before each article."""
    found: dict[Key, list[Absatz]] = {}
    for provision in act.provisions:
        if provision.kind == "norm":
            for absatz in provision.absaetze:
                found.setdefault((under + provision.article, absatz.number), []).append(absatz)
    return found


def score(gold: Mapping[Key, list[Absatz]], read: Mapping[Key, list[Absatz]], *, quoted: bool = True) -> Score:
    """Compare two readings; without `quoted`, amending text in quotation marks is left out of both."""
    hits = sum((_words(gold.get(key, []), quoted) & _words(read.get(key, []), quoted)).total() for key in gold)
    words = [sum(_words(side[key], quoted).total() for key in side) for side in (gold, read)]
    common = [key for key in gold if key in read]
    return Score(
        structure_f1=2 * len(common) / (len(gold) + len(read)),
        text_f1=2 * hits / sum(words),
        same_items=sum(items(gold[key]) == items(read[key]) for key in common) / len(common),
    )


def items(parts: Iterable[Absatz]) -> list[tuple[object, str]]:
    """Return unit and marker of every own list item, in order."""
    return [(b.path, b.marker) for part in parts for b in part.blocks if b.marker and b.path and not b.quoted]


def all_words(*readings: Mapping[Key, list[Absatz]]) -> Counter[str]:
    """Count the words of whole readings, wherever they stand."""
    total: Counter[str] = Counter()
    for reading in readings:
        for parts in reading.values():
            total += _words(parts, quoted=True)
    return total


def _words(parts: Iterable[Absatz], quoted: bool) -> Counter[str]:
    blocks = [b for part in parts for b in part.blocks if quoted or not b.quoted]
    return Counter(word for block in blocks for word in _WORD.findall(f"{block.marker} {block.text}"))
