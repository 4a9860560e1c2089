"""The chunks of the old corpus: which document they belong to, what their fields say, and their order."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from backends.vectors.store import Record
from ingest.legacy.texts import overlap, without_heading
from normalize.laws import LawTable
from normalize.legacy_fields import LegacyFields, legacy_citation, payload_text
from normalize.text import garbage_reason

Lose = Callable[[int | None, str | None, str, object, str], None]
"""Reports a loss: row, article, field, value, reason."""

# Each chunk is compared with each other one; an Absatz of more chunks than this is none.
_LONGEST_CHAIN: Final = 300
_TEXT_FIELDS: Final = ("chunk_text", "text", "content")


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
class OldChunk:
    """An old chunk: its text without the heading, what its fields say, and its place among the payloads."""

    row: int
    index: int | None
    text: str
    fields: LegacyFields
    section: str | None
    page: int | None

    @property
    def norm(self) -> tuple[str | None, bool]:
        """Tell norms apart: recital 26 is not Article 26."""
        return self.fields.article, self.fields.is_recital


@dataclass(frozen=True, slots=True)
class Row:
    """A payload, its place among those given, and what its fields say."""

    number: int
    payload: Mapping[str, Any]
    fields: LegacyFields


Key = tuple[str, str, str]


def documents(
    payloads: Iterable[Mapping[str, Any] | Record], laws: LawTable
) -> Iterator[tuple[Key, list[Row], list[Loss]]]:
    """Yield the payloads of each document: one law, one document id, one version.

    A payload that names no law belongs to the law that its document id leads to, if that is one only.
    """
    rows = []
    of_document: defaultdict[str, set[str]] = defaultdict(set)
    for number, given in enumerate(payloads):
        payload = given.payload if isinstance(given, Record) else given
        row = Row(number, payload, legacy_citation(payload, laws))
        rows.append(row)
        if row.fields.regulation_code:
            of_document[payload_text(payload, "document_id") or ""].add(row.fields.regulation_code)
    groups: defaultdict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        document = payload_text(row.payload, "document_id") or ""
        code, known = row.fields.regulation_code or "", of_document[document] if document else set()
        named = row
        if not code and len(known) == 1:
            code = next(iter(known))
            named = Row(row.number, row.payload, legacy_citation({**row.payload, "regulation_code": code}, laws))
            named = named if named.fields.regulation_code else row  # it names two laws that contradict each other
        groups[code, document, payload_text(row.payload, "document_version") or ""].append(named)
    for key in sorted(groups):
        others = sorted(of_document[key[1]] - {key[0]}) if key[1] else []
        losses = [Loss(None, None, "document_id", key[1], f"it also stands for {', '.join(others)}")] if others else []
        yield key, groups[key], losses


def read_chunks(rows: Iterable[Row], lose: Lose) -> Iterator[OldChunk]:
    """Yield the chunks that have text, without their headings; report what their fields do not say."""
    for entry in rows:
        row, payload, fields = entry.number, entry.payload, entry.fields
        for lost in fields.unrecovered:
            if lost.field != "regulation_code":
                lose(row, fields.article, lost.field, lost.value, lost.reason)
        raw = payload_text(payload, *_TEXT_FIELDS, strip=False)
        reason = "the chunk has no text" if raw is None else garbage_reason(raw)
        if raw is None or reason:
            lose(row, fields.article, "chunk_text", None, str(reason))
            continue
        section = payload_text(payload, "section")
        text = without_heading(raw.strip(), section, fields.section_header)
        yield OldChunk(row, integer(payload, "chunk_index"), text, fields, section, integer(payload, "page"))


def without_doubles(chunks: Iterable[OldChunk], lose: Lose) -> list[OldChunk]:
    """Drop chunks that are stored twice; report chunks that differ where they should be the same."""
    seen: dict[tuple[object, ...], str] = {}
    kept = []
    for chunk in chunks:
        place = (chunk.index, chunk.norm, chunk.fields.paragraph)
        article = chunk.fields.article
        if chunk.index is not None and seen.get(place) == chunk.text:
            lose(chunk.row, article, "chunk_index", chunk.index, "the chunk is stored twice: kept once")
            continue
        if chunk.index is not None and place in seen:
            reason = "another text has the same place (two versions of the law?): both are kept"
            lose(chunk.row, article, "chunk_text", chunk.index, reason)
        seen.setdefault(place, chunk.text)
        kept.append(chunk)
    return kept


def in_order(chunks: list[OldChunk], lose: Lose) -> tuple[list[OldChunk], bool]:
    """Return the chunks in the order of the document, and whether `chunk_index` gave it: it then shows holes, too.

    Else by norm and Absatz, within it by `chunk_index`; without one, by what each chunk repeats of another.
    """
    indexes = [chunk.index for chunk in chunks]
    if None not in indexes and len(set(indexes)) == len(indexes):
        return sorted(chunks, key=lambda chunk: chunk.index or 0), True
    if len(chunks) > 1:
        reason = "it does not run through the document: chunks are ordered by their norms"
        lose(None, None, "chunk_index", None, reason)
    places: defaultdict[tuple[Any, ...], list[OldChunk]] = defaultdict(list)
    for chunk in chunks:
        places[_norm_order(chunk.fields)].append(chunk)
    return [chunk for place in sorted(places) for chunk in _of_one_absatz(places[place], lose)], False


def _of_one_absatz(chunks: list[OldChunk], lose: Lose) -> list[OldChunk]:
    indexes = [chunk.index for chunk in chunks]
    if len(chunks) == 1:
        return chunks
    if None not in indexes:
        return sorted(chunks, key=lambda chunk: (chunk.index or 0, chunk.row))
    chain = _chain(chunks)
    if chain is None:
        reason = "nothing tells the order of the chunks of this Absatz: they stand as they were given"
        lose(chunks[0].row, chunks[0].fields.article, "chunk_index", None, reason)
    return chain or chunks


def _chain(chunks: Sequence[OldChunk]) -> list[OldChunk] | None:
    """Return the chunks in the one order in which each repeats the end of the one before, or None."""
    if len(chunks) > _LONGEST_CHAIN:
        return None
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


def integer(payload: Mapping[str, Any], name: str) -> int | None:
    """Return a field as a whole number; older payloads also write 7.0 or "7"."""
    text = (payload_text(payload, name) or "").removesuffix(".0")
    return int(text) if text.isdecimal() else None
