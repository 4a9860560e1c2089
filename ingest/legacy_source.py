"""Rebuild laws from the points of the old corpus where the source is gone: put the chunks in order, take out what they
repeat, and tell Absätze by what fields and text say.

Nothing is guessed. Where two chunks contradict each other on where a text belongs, the narrower claim is dropped: text
of an uncertain Absatz is cited by its norm, text of an uncertain norm stands in a part called "Text", as does text
whose chunk names no norm. Every such place is reported. An Absatz with a hole in it has no numbered sentences.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from backends.vectors.store import Record
from ingest.legacy_texts import (
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
from normalize.legacy_fields import CODE_FIELDS, LegacyFields, legacy_citation, payload_text
from normalize.text import clean, garbage_reason

UNPLACED: Final = "Text"
"""The part that holds text whose norm is not known."""

_NOWHERE: Final = LegacyFields(None, None, None, None, False, None, None, None, None, ())
_TEXT_FIELDS: Final = ("chunk_text", "text", "content")
_NAME_FIELDS: Final = (*CODE_FIELDS, "regulation_name", "regulation_name_de")
_REPEALED: Final = re.compile(r"[-–—(\[\s]*(?:weggefallen|aufgehoben|gestrichen)?[-–—)\].\s]*")
_ENDS: Final = re.compile(r"[.;:!?)\]“”\"'»]\s*$")


@dataclass(frozen=True, slots=True)
class Loss:
    """What could not be recovered: `field` with what stood there, why it was not used, and near which norm.

    `row` is the place of the payload among those given (from 0), None where the loss lies between payloads.
    """

    row: int | None
    article: str | None
    field: str
    value: str | None
    reason: str


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
    return [_Rebuilding(*group, table).result() for group in _documents(payloads, table)]


@dataclass(frozen=True, slots=True)
class _Chunk:
    """An old chunk: its text without the heading, what its fields say, and its place among the payloads."""

    row: int
    index: int | None
    text: str
    fields: LegacyFields
    section: str | None
    page: int | None

    @property
    def norm(self) -> tuple[str | None, bool]:
        return self.fields.article, self.fields.is_recital


@dataclass(frozen=True, slots=True)
class _Row:
    """A payload, its place among those given, and what its fields say."""

    number: int
    payload: Mapping[str, Any]
    fields: LegacyFields


_Key = tuple[str, str, str]


def _documents(
    payloads: Iterable[Mapping[str, Any] | Record], laws: LawTable
) -> Iterator[tuple[_Key, list[_Row], list[Loss]]]:
    """Yield the payloads of each document: one law, one document id, one version.

    A payload that names no law belongs to the law that its document id leads to, if that is one only.
    """
    rows = []
    of_document: defaultdict[str, set[str]] = defaultdict(set)
    for number, given in enumerate(payloads):
        payload = given.payload if isinstance(given, Record) else given
        row = _Row(number, payload, legacy_citation(payload, laws))
        rows.append(row)
        if row.fields.regulation_code:
            of_document[payload_text(payload, "document_id") or ""].add(row.fields.regulation_code)
    groups: defaultdict[_Key, list[_Row]] = defaultdict(list)
    for row in rows:
        document = payload_text(row.payload, "document_id") or ""
        code, known = row.fields.regulation_code or "", of_document[document] if document else set()
        named = row
        if not code and len(known) == 1:
            code = next(iter(known))
            named = _Row(row.number, row.payload, legacy_citation({**row.payload, "regulation_code": code}, laws))
            named = named if named.fields.regulation_code else row  # it names two laws that contradict each other
        groups[code, document, payload_text(row.payload, "document_version") or ""].append(named)
    for key in sorted(groups):
        others = sorted(of_document[key[1]] - {key[0]}) if key[1] else []
        losses = [Loss(None, None, "document_id", key[1], f"it also stands for {', '.join(others)}")] if others else []
        yield key, groups[key], losses


@dataclass(slots=True)
class _Norm:
    """A norm in the making."""

    fields: LegacyFields
    heading: str | None
    runs: list[Run] = field(default_factory=list)


class _Rebuilding:
    """Puts one document together."""

    def __init__(self, key: _Key, rows: Sequence[_Row], losses: Sequence[Loss], laws: LawTable) -> None:
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
        chunks = self._ordered(self._without_doubles(self._chunks()))
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

    # --- Chunks in order -------------------------------------------------------------------------------------------

    def _chunks(self) -> Iterator[_Chunk]:
        for entry in self._rows:
            row, payload, fields = entry.number, entry.payload, entry.fields
            for lost in fields.unrecovered:
                if lost.field != "regulation_code":
                    self._lose(row, fields.article, lost.field, lost.value, lost.reason)
            raw = payload_text(payload, *_TEXT_FIELDS, strip=False)
            reason = "the chunk has no text" if raw is None else garbage_reason(raw)
            if raw is None or reason:
                self._lose(row, fields.article, "chunk_text", None, str(reason))
                continue
            section = payload_text(payload, "section")
            text = without_heading(raw.strip(), section, fields.section_header)
            yield _Chunk(row, _integer(payload, "chunk_index"), text, fields, section, _integer(payload, "page"))

    def _without_doubles(self, chunks: Iterable[_Chunk]) -> list[_Chunk]:
        """Drop chunks that are stored twice; report chunks that differ where they should be the same."""
        seen: dict[tuple[object, ...], str] = {}
        kept = []
        for chunk in chunks:
            place = (chunk.index, chunk.norm, chunk.fields.paragraph)
            article = chunk.fields.article
            if chunk.index is not None and seen.get(place) == chunk.text:
                self._lose(chunk.row, article, "chunk_index", chunk.index, "the chunk is stored twice: kept once")
                continue
            if chunk.index is not None and place in seen:
                reason = "another text has the same place (two versions of the law?): both are kept"
                self._lose(chunk.row, article, "chunk_text", chunk.index, reason)
            seen.setdefault(place, chunk.text)
            kept.append(chunk)
        return kept

    def _ordered(self, chunks: list[_Chunk]) -> list[_Chunk]:
        """Return the chunks in the order of the document: by `chunk_index`, if it runs through the document.

        Else by norm and Absatz, within it by `chunk_index`; without one, by what each chunk repeats of another.
        """
        indexes = [chunk.index for chunk in chunks]
        if None not in indexes and len(set(indexes)) == len(indexes):
            return sorted(chunks, key=lambda chunk: chunk.index or 0)
        self._has_order = False
        if len(chunks) > 1:
            reason = "it does not run through the document: chunks are ordered by their norms"
            self._lose(None, None, "chunk_index", None, reason)
        places: defaultdict[tuple[Any, ...], list[_Chunk]] = defaultdict(list)
        for chunk in chunks:
            places[_norm_order(chunk.fields)].append(chunk)
        return [chunk for place in sorted(places) for chunk in self._of_one_absatz(places[place])]

    def _of_one_absatz(self, chunks: list[_Chunk]) -> list[_Chunk]:
        indexes = [chunk.index for chunk in chunks]
        if len(chunks) == 1:
            return chunks
        if None not in indexes:
            return sorted(chunks, key=lambda chunk: (chunk.index or 0, chunk.row))
        chain = _chain(chunks)
        if chain is None:
            reason = "nothing tells the order of the chunks of this Absatz: they stand as they were given"
            self._lose(chunks[0].row, chunks[0].fields.article, "chunk_index", None, reason)
        return chain or chunks

    # --- Chunks to runs --------------------------------------------------------------------------------------------

    def _assemble(self, chunks: Sequence[_Chunk]) -> None:
        """Join the chunks of each norm, in order, without what they repeat."""
        previous: _Chunk | None = None
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
                norm = self._norms.setdefault(key, _Norm(chunk.fields, chunk.fields.section_header))
                text = self._across(before, norm, chunk) if before is not None and not hole else chunk.text
                norm.runs.append(_run(text, chunk, after_hole=hole or known or text != chunk.text))
                if known:
                    self._lose(chunk.row, chunk.fields.article, "section", chunk.section, "the norm appears once more")
            elif hole:
                norm.runs.append(_run(chunk.text, chunk, after_hole=True))
            else:
                self._extend(norm.runs[-1], chunk)
            norm.heading = norm.heading or chunk.fields.section_header
            previous = chunk
        self._take_out_foreign()

    def _take_out_foreign(self) -> None:
        """Take out of a norm what stands below the printed heading of another one: chunks may run over."""
        kept: dict[tuple[str | None, bool, int], _Norm] = {}
        for key, norm in self._norms.items():
            kept[key] = norm
            article = norm.fields.article
            if article is None or norm.fields.is_recital or not article[0].isdigit():
                continue
            for number, run in enumerate(norm.runs):
                found = foreign_heading(run.text, article)
                if found is None:
                    continue
                place, name = found
                self._lose(None, article, "section", name, "a chunk runs on into this norm: what follows is set apart")
                share = Share(0, len(run.text) - place, None, True, run.shares[-1].page)
                kept[article, True, -1 - number] = _Norm(_NOWHERE, None, [Run(run.text[place:], True, [share])])
                run.text = run.text[:place]
        self._norms = kept

    def _hole(self, previous: _Chunk | None, chunk: _Chunk) -> bool:
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

    def _extend(self, run: Run, chunk: _Chunk) -> None:
        """Add a chunk to the run of the chunk before it."""
        claim, last = chunk.fields.paragraph, run.shares[-1].claim
        shared = overlap(run.text, chunk.text)
        if shared == len(chunk.text) and claim not in (None, last):
            shared = 0  # two Absätze of the same wording share nothing
        if claim in (None, last):
            self._joints[shared > 0] += 1
        start = len(run.text) - shared if shared else len(run.text) + len(JOINT)
        run.text += chunk.text[shared:] if shared else JOINT + chunk.text
        run.shares.append(Share(start, len(run.text), claim, not shared, chunk.page))

    def _across(self, before: _Norm, norm: _Norm, chunk: _Chunk) -> str:
        """Return the text of the first chunk of a norm, once what it shares with the norm before is settled.

        The printed heading tells where the norm starts. A norm that is known wins over one that is not.
        """
        last = before.runs[-1]
        shared = overlap(last.text, chunk.text)
        shared = 0 if shared == len(chunk.text) else shared
        rest = last.text[: len(last.text) - shared]
        if chunk.fields.article is not None and before.fields.article is not None:
            joined = last.text + (chunk.text[shared:] if shared else JOINT + chunk.text)
            found = heading_place(joined, chunk.section, norm.heading)
            if found is not None:
                last.text = joined[:found].rstrip()
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
        self._norms[None, False, -1 - chunk.row] = _Norm(_NOWHERE, None, [Run(chunk.text[:shared], True, [share])])
        self._norms[key] = moved
        return chunk.text[shared:]

    # --- Act -------------------------------------------------------------------------------------------------------

    def _provision(self, norm: _Norm, style: Style, known_words: Mapping[str, int]) -> Provision:
        fields = norm.fields
        kind: Kind = "norm"
        if fields.is_recital:
            kind = "recital"
        elif fields.article is None:
            kind = "part"
        elif not fields.article[0].isdigit():
            kind = "annex"
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
        years = {_integer(row.payload, "year") for row in self._rows}
        return Act(
            document_id=celex or self._document_id or None,
            code=self._code or None,
            short=first.regulation_short if self._code else None,
            name=first.regulation_name if self._code else None,
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


# --- Texts ---------------------------------------------------------------------------------------------------------


def _chain(chunks: Sequence[_Chunk]) -> list[_Chunk] | None:
    """Return the chunks in the one order in which each repeats the end of the one before, or None."""
    following: dict[int, int] = {}
    for i, before in enumerate(chunks):
        for j, after in enumerate(chunks):
            if i != j and overlap(before.text, after.text):
                if i in following or j in following.values():
                    return None
                following[i] = j
    starts = set(range(len(chunks))) - set(following.values())
    if len(starts) != 1 or len(following) != len(chunks) - 1:
        return None
    at = starts.pop()
    chain = [chunks[at]]
    while at in following:
        at = following[at]
        chain.append(chunks[at])
    return chain


def _norm_order(fields: LegacyFields) -> tuple[Any, ...]:
    """Return where a norm stands in a law: recitals, norms by number, annexes, then text without a norm."""

    def numbers(text: str | None) -> tuple[tuple[int, int, str], ...]:
        parts = re.findall(r"\d+|[^\d\s.]+", text or "")
        return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts)

    article = fields.article
    rank = 3 if article is None else 0 if fields.is_recital else 1 if article[0].isdigit() else 2
    return rank, numbers(article), numbers(fields.paragraph)


def _run(text: str, chunk: _Chunk, *, after_hole: bool) -> Run:
    return Run(text, after_hole, [Share(0, len(text), chunk.fields.paragraph, True, chunk.page)])


def _integer(payload: Mapping[str, Any], name: str) -> int | None:
    text = (payload_text(payload, name) or "").removesuffix(".0")
    return int(text) if text.isdecimal() else None


def _canonical(chunks: Iterable[_Chunk]) -> bytes:
    rows = [[*c.norm, c.fields.paragraph, c.text] for c in chunks]
    return json.dumps(rows, ensure_ascii=True, separators=(",", ":")).encode()
