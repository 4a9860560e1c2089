"""From the letters that a quotation covers to the finest citation they lie in wholly (DESIGN §7)."""

from dataclasses import dataclass
from typing import Any, Literal, cast

from normalize.citation import label
from relink.chunks import LinkChunk
from relink.corpus import Corpus
from relink.decision import Candidate
from relink.skeleton import fold_positions

Citation = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Span:
    """Characters of a quotation: from `start` in the first chunk to `end` in the last one, which mostly is the same."""

    first: LinkChunk
    last: LinkChunk
    start: int
    end: int


def span_of(corpus: Corpus, candidate: Candidate) -> Span:
    """Return the characters that a candidate's letters stand for, and those of a label in front that the text has."""
    first, last = corpus.chunks[candidate.first_chunk], corpus.chunks[candidate.last_chunk]
    found = candidate.found
    _, head = fold_positions(first.chunk_text)
    tail = head if first is last else fold_positions(last.chunk_text)[1]
    begin = min(found.start - candidate.front - corpus.starts[candidate.first_chunk], head.size - 1)
    end = min(found.end - 1 - corpus.starts[candidate.last_chunk], tail.size - 1)
    return Span(first, last, int(head[max(begin, 0)]), int(tail[max(end, 0)]) + 1)


def finest_unit(chunk: LinkChunk, start: int, end: int) -> str | None:
    """Return the smallest unit of a chunk that holds the characters wholly, else what the chunk covers alone."""
    holding = [(b - a, a, sub) for a, b, sub in chunk.units if a <= start and end <= b]
    return min(holding)[2] if holding else chunk.sub


def citation_of(corpus: Corpus, candidate: Candidate) -> tuple[Citation, Span]:
    """Return the `source_citation` of a candidate, and its characters.

    Inside one chunk down to Satz, Nummer or Buchstabe; over several chunks of an Absatz the Absatz; over several
    Absätze the article with `paragraph` null.
    """
    span = span_of(corpus, candidate)
    chunk = span.first
    _, article, paragraph, is_recital = candidate.place
    sub = finest_unit(chunk, span.start, span.end) if span.first is span.last else None
    style = cast("Literal['paragraph', 'article']", chunk.citation_style)
    return {
        "regulation_code": chunk.regulation_code,
        "article": article,
        "paragraph": paragraph,
        "sub": sub,
        "page": chunk.page,
        "source_type": chunk.source_type,
        "license": chunk.license,
        "url": chunk.source_url,
        "source": chunk.regulation_name or chunk.regulation_short,
        "article_label": label(chunk.regulation_short, style, article, paragraph, sub, is_recital=is_recital),
    }, span
