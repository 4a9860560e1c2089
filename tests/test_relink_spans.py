"""Floors of the span on real law: both ends of a damaged quotation, and the finest unit that holds it wholly."""

import tomllib
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest

from relink.anchors import make_anchors
from relink.chunks import LinkChunk
from relink.corpus import Corpus, build_corpus
from relink.decision import Decision
from relink.skeleton import fold
from relink.spans import Citation, Span, citation_of
from relink.tiers import TIERS, decide_anchors
from tests.relink_damage import KINDS, Damaged, damage
from tests.relink_gold import in_share, read_law

pytestmark = [pytest.mark.corpus, pytest.mark.floor]

FLOORS = tomllib.loads((Path(__file__).parent / "floors.toml").read_text("utf-8"))["relink_spans"]
SHARES = 24
EACH = 300
SEED = 20241005
NEAR = 3


@dataclass(frozen=True, slots=True)
class Found:
    """A quotation, what was decided, and the citation with its characters where it was linked."""

    quotation: Damaged
    decision: Decision
    citation: Citation | None
    span: Span | None


@pytest.fixture(scope="module")
def chunks(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> list[LinkChunk]:
    return read_law(shared, tmp_path_factory.mktemp("law"), lambda code: in_share(code, SHARES))


def _stands_once(corpus: Corpus, quotation: Damaged) -> bool:
    """Return whether the letters of a quotation stand once in its document, so that it has one span."""
    text = corpus.chunks[quotation.first].chunk_text
    bounds = corpus.document_range(corpus.document_of(quotation.first))
    if quotation.first != quotation.last:
        tail = corpus.chunks[quotation.last].chunk_text[: quotation.end]
        return corpus.letters.count(fold(text[quotation.start :]) + fold(tail), *bounds) == 1
    return corpus.letters.count(fold(text[quotation.start : quotation.end]), *bounds) == 1


@pytest.fixture(scope="module")
def found(chunks: list[LinkChunk]) -> list[Found]:
    """Every quotation that stands once in its law, and what became of it with a hint."""
    corpus = build_corpus(chunks)
    quotations = [q for q in damage(chunks, EACH, SEED) if _stands_once(corpus, q)]
    anchors = make_anchors(corpus, [(q.text, chunks[q.first].regulation_code) for q in quotations])
    rows = []
    for quotation, decision in zip(quotations, decide_anchors(corpus, anchors, list(TIERS.values())), strict=True):
        linked = decision.best if decision.outcome == "linked" else None
        citation, span = citation_of(corpus, linked) if linked is not None else (None, None)
        rows.append(Found(quotation, decision, citation, span))
    return rows


def _is_near(chunks: list[LinkChunk], row: Found) -> bool:
    quotation, span = row.quotation, row.span
    return (
        span is not None
        and (span.first, span.last) == (chunks[quotation.first], chunks[quotation.last])
        and abs(span.start - quotation.start) <= NEAR
        and abs(span.end - quotation.end) <= NEAR
    )


def test_both_ends_are_near(chunks: list[LinkChunk], found: list[Found]) -> None:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in found:
        for kind in (row.quotation.kind, "all"):
            counts[kind]["rows"] += 1
            counts[kind]["linked"] += row.span is not None
            counts[kind]["near"] += _is_near(chunks, row)
    assert set(counts) == {*KINDS, "all"}
    for kind, count in counts.items():
        assert count["rows"] > 150, kind
        assert count["linked"] / count["rows"] >= FLOORS["linked"], (kind, count)
        assert count["near"] / count["linked"] >= FLOORS["near" if kind == "all" else "near_by_kind"], (kind, count)


def _finest(chunk: LinkChunk, start: int, end: int) -> str | None:
    """Return the shortest unit that holds the characters, by looking at each."""
    best: tuple[int, str | None] = (len(chunk.chunk_text) + 1, chunk.sub)
    for unit_start, unit_end, sub in chunk.units:
        if unit_start <= start and end <= unit_end and unit_end - unit_start < best[0]:
            best = (unit_end - unit_start, sub)
    return best[1]


def test_the_citation_names_the_finest_unit_that_holds_the_quotation(
    chunks: list[LinkChunk], found: list[Found]
) -> None:
    subs: Counter[str] = Counter()
    right = whole = 0
    for row in found:
        quotation = row.quotation
        chunk = chunks[quotation.first]
        if row.citation is None or quotation.first != quotation.last or not _is_near(chunks, row):
            continue
        whole += 1
        expected = _finest(chunk, quotation.start, quotation.end)
        right += row.citation["sub"] == expected and row.citation["paragraph"] == chunk.paragraph
        subs[(expected or "none").split(" ")[0]] += 1
    assert right / whole >= FLOORS["unit"], (right, whole)
    assert {"Satz", "Nr.", "none"} <= set(subs), "units and whole Absätze are among them"
    assert subs["Satz"] + subs["Nr."] > 500


def test_over_several_absaetze_the_article_is_cited(found: list[Found]) -> None:
    over = [row for row in found if row.quotation.kind == "span2" and row.citation is not None]
    assert len(over) > 100
    assert {(row.citation["paragraph"], row.citation["sub"]) for row in over if row.citation} == {(None, None)}
