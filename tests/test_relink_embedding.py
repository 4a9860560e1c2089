"""The embedding tier: near enough and nearer than any other, or not at all."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.embedders.hashing import HashingEmbedder
from backends.tables.connect import Tables
from backends.vectors.edge import EdgeStore
from backends.vectors.store import Layout, Point, VectorStore
from normalize.errors import GateError
from normalize.identity import point_id
from relink.embedding import (
    EmbeddingTier,
    Neighbours,
    Thresholds,
    calibrate,
    calibrated,
    figures_agree,
    thresholds_for,
)
from relink.run import RelinkOptions, relink
from tests.relink_cases import PROVISIONS, payload
from tests.test_relink_run import CHUNKS, FORCE, WATER, c, load, outcomes

EMBEDDER = HashingEmbedder()
LOOSE = Thresholds(score=0.4, margin=0.05)
# The words of "KatzG § 1 Abs. 1" in another order, so that no letters in a row are the same.
TURNED = "Frisches Wasser und ausreichend Futter hat bereitzustellen, wer täglich eine Katze hält"
ALL = RelinkOptions(tiers=("hash", "fuzzy", "embedding"))


def fill(store: VectorStore, model: str = EMBEDDER.model) -> None:
    payloads = [payload(i, provision) for i, provision in enumerate(PROVISIONS)]
    rows = EMBEDDER.embed([fields["chunk_text"] for fields in payloads])
    store.create("law", Layout(EMBEDDER.dimension, sparse=None), {"regulation_code": "keyword"}, {"embedder": model})
    store.upsert("law", [Point(point_id(p["chunk_id"]), row, None, p) for p, row in zip(payloads, rows, strict=True)])


@pytest.fixture
def law(tmp_path: Path) -> Iterator[VectorStore]:
    with EdgeStore(tmp_path / "store", lock_timeout=1) as edge:
        fill(edge)
        yield edge


def tier(store: VectorStore, thresholds: Thresholds = LOOSE) -> EmbeddingTier:
    return EmbeddingTier(Neighbours(store, ["law"], EMBEDDER), thresholds)


def test_it_links_what_no_letters_match(tables: Tables, law: VectorStore) -> None:
    load(
        tables,
        c(1, TURNED),
        c(2, TURNED, source_regulation="KatzG"),
        c(3, TURNED, source_regulation="HundG"),
        c(4, TURNED, source_regulation="VogelG"),
        c(5, "Der Vorstand berichtet dem Aufsichtsrat vierteljährlich über die Lage des Konzerns"),
    )
    assert relink(tables, CHUNKS).outcomes == {"ambiguous": 3, "unmatched": 2}, "a hint without its text is reviewed"
    report = relink(tables, CHUNKS, ALL, [tier(law)])
    assert outcomes(tables) == {
        1: ("linked", "KatzG § 1 Abs. 1"),
        2: ("linked", "KatzG § 1 Abs. 1"),
        3: ("ambiguous", None),
        4: ("ambiguous", None),
        5: ("unmatched", None),
    }
    assert report.tiers == {"embedding": 2}
    assert report.reasons == {"not_near_enough": 1, "regulation_conflict": 1, "regulation_missing": 1}
    assert relink(tables, CHUNKS, ALL, [tier(law)]).writes == 0


def test_what_letters_found_twice_stays_with_the_review(tables: Tables, law: VectorStore) -> None:
    load(tables, c(1, FORCE))
    report = relink(tables, CHUNKS, ALL, [tier(law, Thresholds(0.0, 0.0))])
    assert (report.outcomes, report.reasons) == ({"ambiguous": 1}, {"several_places": 1})


@pytest.mark.parametrize(
    ("thresholds", "reason"),
    [(Thresholds(1.01, 0.0), "not_near_enough"), (Thresholds(0.4, 0.9), "several_places")],
)
def test_score_and_margin_are_both_needed(
    tables: Tables, law: VectorStore, thresholds: Thresholds, reason: str
) -> None:
    load(tables, c(1, TURNED))
    assert relink(tables, CHUNKS, ALL, [tier(law, thresholds)]).reasons == {reason: 1}


def test_other_numbers_or_a_negation_go_to_the_review(tables: Tables, law: VectorStore) -> None:
    load(tables, c(1, TURNED + " (3 Liter)"), c(2, TURNED.replace("hat ", "hat nicht ")))
    assert relink(tables, CHUNKS, ALL, [tier(law)]).reasons == {"figures_differ": 2}


@pytest.mark.parametrize(
    ("quotation", "text", "agree"),
    [
        ("binnen 14 Tagen", "binnen 14 Tagen oder 3 Wochen", True),
        ("binnen 14 Tagen", "binnen 41 Tagen", False),
        ("ist nicht erlaubt", "ist erlaubt", False),
        ("ist erlaubt", "ist keinem erlaubt", False),
        ("ohne Frist nicht", "keine Frist", True),
    ],
)
def test_figures(quotation: str, text: str, agree: bool) -> None:
    assert figures_agree(quotation, text) is agree


def test_a_chunk_that_this_run_does_not_read_is_no_candidate(tables: Tables, law: VectorStore) -> None:
    load(tables, c(1, TURNED))
    dogs = [chunk for chunk in CHUNKS if chunk.regulation_code == "HUNDG"]
    relink(tables, dogs, ALL, [tier(law, Thresholds(0.0, 0.0))])
    label = outcomes(tables)[1][1]
    assert label is None or label.startswith("HundG")


def test_vectors_of_another_model_are_refused(tmp_path: Path) -> None:
    with EdgeStore(tmp_path, lock_timeout=1) as edge:
        fill(edge, "other-model")
        with pytest.raises(GateError, match="holds vectors of model 'other-model'"):
            Neighbours(edge, ["law"], EMBEDDER)


def test_a_model_without_calibration_needs_a_threshold() -> None:
    with pytest.raises(GateError, match=r"'new' is not calibrated.*--threshold"):
        thresholds_for("new", None, None)
    assert thresholds_for("new", 0.8, None) == Thresholds(0.8, 0.05)
    assert thresholds_for("new", 0.8, 0.1) == Thresholds(0.8, 0.1)
    for model, known in calibrated().items():
        assert 0 < known.score <= 1 and 0 <= known.margin < 1
        assert thresholds_for(model, None, None) == known


def test_calibration_links_most_at_its_precision() -> None:
    good = [(0.9 + i / 10_000, 0.1, True) for i in range(500)]
    near = [(0.95, 0.015, False)] * 5
    bad = [(0.5 + i / 1000, 0.1, i % 2 == 0) for i in range(100)]
    found = calibrate([*good, *near, *bad])
    assert found == Thresholds(0.9, 0.02)
    assert calibrate([(0.9, 0.1, False)]) is None
    assert calibrate([]) is None


def test_a_hashed_quotation_is_still_the_hash_tiers(tables: Tables, law: VectorStore) -> None:
    load(tables, c(1, WATER, source_regulation="KatzG"))
    assert relink(tables, CHUNKS, ALL, [tier(law)]).tiers == {"hash": 1}
