"""Rebuild laws from the points of the old corpus where the source is gone: put the chunks in order, take out what they
repeat, and tell Absätze by what fields and text say.

Nothing is guessed. Where two chunks contradict each other on where a text belongs, the narrower claim is dropped: text
of an uncertain Absatz is cited by its norm, text of an uncertain norm stands in a part called "Text", as does text
whose chunk names no norm. Every such place is reported. An Absatz with a hole in it has no numbered sentences.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from backends.vectors.store import Record
from ingest.legacy.chunks import Key, Loss, OldChunk, Row, documents, in_order, integer, read_chunks, without_doubles
from ingest.legacy.texts import (
    JOINT,
    Run,
    Segment,
    Share,
    foreign_heading,
    heading_place,
    merge,
    overlap,
    split_run,
    without_heading,
)
from ingest.tree import Absatz, Act, Block, Kind, Provision
from normalize.citation import Style
from normalize.hyphens import count_words
from normalize.laws import LawTable
from normalize.legacy_fields import CODE_FIELDS, LegacyFields, payload_text
from normalize.text import clean

UNPLACED: Final = "Text"
"""The part that holds text whose norm is not known."""

_NOWHERE: Final = LegacyFields(None, None, None, None, False, None, None, None, None, ())
_NAME_FIELDS: Final = (*CODE_FIELDS, "regulation_name", "regulation_name_de")
_REPEALED: Final = re.compile(r"[-–—(\[\s]*(?:weggefallen|aufgehoben|gestrichen)?[-–—)\].\s]*")
_ENDS: Final = re.compile(r"[.;:!?)\]“”\"'»]\s*$")


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """One document as its old chunks tell it, every name they call it by, and what they do not tell.

    `source` stands for the bytes of the lost source (to date its version): the same chunks give the same bytes.
    """

    act: Act
    names: tuple[str, ...]
    unrecovered: tuple[Loss, ...]
    source: bytes


def rebuild(payloads: Iterable[Mapping[str, Any] | Record], laws: LawTable | None = None) -> list[Rebuilt]:
    """Rebuild the documents of a collection from its payloads, in order of code and document id.

    `laws` knows official spellings and CELEX numbers; the built-in table by default. Payloads without text, or with
    text that is garbage, are reported and left out.
    """
    table = laws or LawTable.builtin()
    return [_Rebuilding(*group, table).result() for group in documents(payloads, table)]


@dataclass(slots=True)
class _Norm:
    """A norm in the making."""

    fields: LegacyFields
    heading: str | None
    section: str | None = None
    runs: list[Run] = field(default_factory=list)


class _Rebuilding:
    """Puts one document together."""

    def __init__(self, key: Key, rows: Sequence[Row], losses: Sequence[Loss], laws: LawTable) -> None:
        self._code, self._document_id, self._version = key
        self._rows = rows
        self._losses = list(losses)
        self._laws = laws
        self._law = laws.by_code(self._code) if self._code else None
        self._norms: dict[tuple[str | None, bool, int], _Norm] = {}
        self._joints = Counter[bool]()
        self._has_order = True

    def result(self) -> Rebuilt:
        """Return the document."""
        if not self._code:
            self._lose(None, None, "regulation_code", None, "no chunk names the law: say in the manifest what it is")
        elif self._law is None:
            self._lose(None, None, "regulation_code", self._code, "the law table does not hold it: check its spelling")
        chunks, self._has_order = in_order(without_doubles(read_chunks(self._rows, self._lose), self._lose), self._lose)
        self._assemble(chunks)
        known_words = count_words([chunk.text for chunk in chunks])
        styles = Counter(chunk.fields.style for chunk in chunks if chunk.fields.style and not chunk.fields.is_recital)
        style: Style = "article" if styles["article"] > styles["paragraph"] else "paragraph"
        if self._law is not None and self._law.style is not None:
            style = self._law.style
        provisions = tuple(self._provision(norm, style, known_words) for norm in self._norms.values())
        return Rebuilt(self._act(style, provisions), self._names(), tuple(self._losses), _canonical(chunks))

    def _lose(self, row: int | None, article: str | None, name: str, value: object, reason: str) -> None:
        self._losses.append(Loss(row, article, name, None if value is None else str(value), reason))

    # --- Chunks to runs --------------------------------------------------------------------------------------------

    def _assemble(self, chunks: Sequence[OldChunk]) -> None:
        """Join the chunks of each norm, in order, without what they repeat."""
        previous: OldChunk | None = None
        norm: _Norm | None = None
        unplaced = 0
        for chunk in chunks:
            hole = self._hole(previous, chunk)
            before, norm = norm, None
            if previous is not None and previous.norm == chunk.norm:
                norm = before
            if norm is None:
                # Text without a norm stands where it was found; a norm stands where it first appears.
                unplaced += chunk.fields.article is None
                key = (*chunk.norm, unplaced if chunk.fields.article is None else 0)
                known = key in self._norms
                norm = self._norms.setdefault(key, _Norm(chunk.fields, chunk.fields.section_header, chunk.section))
                text = chunk.text
                if before is not None and previous is not None and not hole:
                    text = self._across(before, norm, previous, chunk)
                norm.runs.append(_run(text, chunk, after_hole=hole or known or text != chunk.text))
                if known:
                    self._lose(chunk.row, chunk.fields.article, "section", chunk.section, "the norm appears once more")
            elif hole:
                norm.runs.append(_run(chunk.text, chunk, after_hole=True))
            elif previous is not None:
                self._extend(norm.runs[-1], previous, chunk)
            norm.heading = norm.heading or chunk.fields.section_header
            previous = chunk
        self._take_out_foreign()

    def _take_out_foreign(self) -> None:
        """Take out of a norm what stands below the printed heading of another, or above its own: chunks run over."""
        kept: dict[tuple[str | None, bool, int], _Norm] = {}
        numbered = [norm for norm in self._norms.values() if _is_numbered(norm.fields)]
        articles = [*(norm.fields.article for norm in numbered), None]
        following = {id(norm): articles[place + 1] for place, norm in enumerate(numbered)}
        for key, norm in self._norms.items():
            article = norm.fields.article
            own = heading_place(norm.runs[0].text, norm.section, norm.heading) if article else None
            if own:
                self._lose(None, article, "section", norm.section, "text stands above the heading: it is set apart")
                run = norm.runs[0]
                page = run.shares[0].page
                above, below = run.text[:own].rstrip(), without_heading(run.text[own:], norm.section, norm.heading)
                kept[article, True, -1_000_000] = _Norm(
                    _NOWHERE, None, None, [Run(above, True, [Share(0, len(above), None, True, page)])]
                )
                norm.runs[0] = Run(below, False, [Share(0, len(below), None, True, page)])
            kept[key] = norm
            if article is None or not _is_numbered(norm.fields):
                continue
            for number, run in enumerate(norm.runs):
                found = foreign_heading(run.text, article, following[id(norm)])
                if found is None:
                    continue
                place, name = found
                self._lose(None, article, "section", name, "a chunk runs on into this norm: what follows is set apart")
                share = Share(0, len(run.text) - place, None, True, run.shares[-1].page)
                kept[article, True, -1 - number] = _Norm(_NOWHERE, None, None, [Run(run.text[place:], True, [share])])
                run.cut(place)
        self._norms = kept

    def _hole(self, previous: OldChunk | None, chunk: OldChunk) -> bool:
        """Tell (and report) whether chunks are missing before this one."""
        if not self._has_order or chunk.index is None:
            return False
        if previous is None or previous.index is None:
            if chunk.index > 1:  # some count from 1
                self._lose(None, chunk.fields.article, "chunk_index", chunk.index, "chunks before this one are missing")
            return chunk.index > 1
        if chunk.index == previous.index + 1:
            return False
        missing = f"{previous.index + 1} to {chunk.index - 1}"
        self._lose(None, chunk.fields.article, "chunk_index", missing, "these chunks are missing")
        return True

    def _extend(self, run: Run, previous: OldChunk, chunk: OldChunk) -> None:
        """Add a chunk to the run of the chunk before it."""
        claim, last = chunk.fields.paragraph, run.shares[-1].claim
        # The run may lack a heading that both chunks hold.
        shared = overlap(run.text, chunk.text) or overlap(previous.text, chunk.text)
        if shared == len(chunk.text) and claim not in (None, last):
            shared = 0  # two Absätze of the same wording share nothing
        if claim in (None, last):
            self._joints[shared > 0] += 1
        start = max(len(run.text) - shared, 0) if shared else len(run.text) + len(JOINT)
        run.text += chunk.text[shared:] if shared else JOINT + chunk.text
        run.shares.append(Share(start, len(run.text), claim, not shared, chunk.page))

    def _across(self, before: _Norm, norm: _Norm, previous: OldChunk, chunk: OldChunk) -> str:
        """Return the text of the first chunk of a norm, once what it shares with the norm before is settled.

        The printed heading tells where the norm starts. A norm that is known wins over one that is not.
        """
        last = before.runs[-1]
        shared = overlap(last.text, chunk.text) or overlap(previous.text, chunk.text)
        shared = 0 if shared == len(chunk.text) else shared
        rest = last.text[: max(len(last.text) - shared, 0)]
        if chunk.fields.article is not None and before.fields.article is not None:
            joined = last.text + (chunk.text[shared:] if shared else JOINT + chunk.text)
            found = heading_place(joined, chunk.section, norm.heading)
            if found is not None:
                last.text = joined
                last.shares.append(Share(len(joined) - len(chunk.text), len(joined), None, False, chunk.page))
                last.cut(found)
                return without_heading(joined[found:], chunk.section, norm.heading)
        if not shared:
            return chunk.text
        if chunk.fields.article is None:
            return chunk.text[shared:]
        last.text = rest
        if before.fields.article is None:
            return chunk.text
        norms = f"{before.fields.article} / {chunk.fields.article}"
        self._lose(chunk.row, chunk.fields.article, "section", norms, "two chunks share text, but not the norm")
        # The shared text goes between the two norms; the new one is the last that was entered.
        key = next(key for key, entry in self._norms.items() if entry is norm)
        moved = self._norms.pop(key)
        share = Share(0, shared, None, True, chunk.page)
        self._norms[None, False, -1 - chunk.row] = _Norm(
            _NOWHERE, None, None, [Run(chunk.text[:shared], True, [share])]
        )
        self._norms[key] = moved
        return chunk.text[shared:]

    # --- Act -------------------------------------------------------------------------------------------------------

    def _provision(self, norm: _Norm, style: Style, known_words: Mapping[str, int]) -> Provision:
        fields = norm.fields
        kind: Kind = "norm" if _is_numbered(fields) else "recital" if fields.is_recital else "annex"
        if fields.article is None:
            kind = "part"
        absaetze = []
        for segment in merge(self._segments(norm, kind)):
            blocks = tuple(self._blocks(segment, fields.article, known_words))
            if not all(_REPEALED.fullmatch(block.text) for block in blocks):
                absaetze.append(Absatz(segment.number, blocks))
        counts = Counter(absatz.number for absatz in absaetze if absatz.number)
        for number, count in counts.items():
            if count > 1:
                self._lose(None, fields.article, "paragraph", number, f"the Absatz appears {count} times")
        return Provision(
            kind=kind,
            article=fields.article or UNPLACED,
            style=fields.style or style,
            heading=norm.heading,
            absaetze=tuple(absaetze),
        )

    def _segments(self, norm: _Norm, kind: Kind) -> Iterator[Segment]:
        for run in norm.runs:
            if kind != "norm":  # "(1)" opens an Absatz in a norm only; in annexes and recitals it is text
                yield Segment(None, run.text, run.shares[0].page, run.after_hole)
                continue
            for segment in split_run(run):
                if segment.contradiction:
                    reason = "fields and text do not agree on the Absatz"
                    self._lose(None, norm.fields.article, "paragraph", segment.contradiction, reason)
                yield segment

    def _blocks(self, segment: Segment, article: str | None, known_words: Mapping[str, int]) -> Iterator[Block]:
        text = segment.text.strip(" \t\n\ue000\ue001")
        segment.has_hole |= "\ue000" in text and not self._has_order
        if "\ue000" in text and self._joints[True] >= max(2, self._joints[False]):
            reason = "chunks meet without an overlap, as others have it: text may be missing"
            self._lose(None, article, "chunk_text", segment.number, reason)
            segment.has_hole = True
        texts = re.split("[\ue000\ue001]", text) if segment.has_hole else [text.replace("\ue000", "")]
        cleaned = [clean(part.strip(), "legacy", known_words=known_words).text for part in texts]
        cleaned = [part for part in cleaned if part]
        if cleaned and cleaned[0][0].islower():
            self._lose(None, article, "chunk_text", segment.number, "its beginning is missing")
            segment.has_hole = True
        if cleaned and segment.number and not _ENDS.search(cleaned[-1]):
            self._lose(
                None, article, "chunk_text", segment.number, "it does not end like a sentence: is the rest missing?"
            )
        for part in cleaned:
            # A sentence that starts where the text ends tells the composer that no sentence can be counted here.
            yield Block(part, page=segment.page, sentences=(len(part),) if segment.has_hole else ())

    def _act(self, style: Style, provisions: tuple[Provision, ...]) -> Act:
        first = self._rows[0].fields
        celex = self._law.celex if self._law else None
        years = {integer(row.payload, "year") for row in self._rows}
        return Act(
            document_id=celex or self._document_id or None,
            code=self._code or None,
            short=first.regulation_short if self._code else None,
            name=next((row.fields.regulation_name for row in self._rows if row.fields.regulation_name), None),
            style=style,
            date=None,
            language=self._same("language") or "de",
            provisions=provisions,
            names=self._names(),
            celex=celex,
            doc_type=self._same("doc_type"),
            year=next(iter(years)) if len(years) == 1 else None,
        )

    def _same(self, name: str) -> str | None:
        """Return what all payloads say, or None if they do not agree."""
        values = {payload_text(row.payload, name) for row in self._rows}
        return next(iter(values)) if len(values) == 1 else None

    def _names(self) -> tuple[str, ...]:
        found = {text for row in self._rows for name in _NAME_FIELDS if (text := payload_text(row.payload, name))}
        return tuple(sorted(found))


def _is_numbered(fields: LegacyFields) -> bool:
    """Whether this is a § or Artikel: no recital, annex or unknown norm."""
    return fields.article is not None and fields.article[0].isdigit() and not fields.is_recital


def _run(text: str, chunk: OldChunk, *, after_hole: bool) -> Run:
    claim = chunk.fields.paragraph
    if f"({claim})" in chunk.text and f"({claim})" not in text:
        claim = None  # the field means an Absatz of the norm before, whose end the chunk holds too
    return Run(text, after_hole, [Share(0, len(text), claim, True, chunk.page)])


def _canonical(chunks: Iterable[OldChunk]) -> bytes:
    rows = [[*c.norm, c.fields.paragraph, c.text] for c in chunks]
    return json.dumps(rows, ensure_ascii=True, separators=(",", ":")).encode()
