"""Thresholds of the embedding tier: found on what is linked already, kept with the collection, used by the tier."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.embedders.hashing import HashingEmbedder
from backends.tables.connect import Tables
from backends.vectors.edge import EdgeStore
from backends.vectors.store import Layout, Point, VectorStore
from normalize.errors import GateError
from normalize.identity import point_id
from relink.calibration import (
    KEY,
    calibrate_collection,
    known_quotations,
    measured,
    stored_thresholds,
)
from relink.chunks import LinkChunk
from relink.corpus import build_corpus
from relink.embedding import Neighbours, Thresholds, thresholds_for
from relink.run import relink
from tests.relink_cases import Provision, link_chunks, payload
from tests.test_cli import Run, chain, run
from tests.test_relink_run import c, load

__all__ = ["run"]
EMBEDDER = HashingEmbedder()
NOUNS = (
    "Futter",
    "Wasser",
    "Auslauf",
    "Impfung",
    "Zwinger",
    "Anzeige",
    "Verzeichnis",
    "Leine",
    "Steuer",
    "Zucht",
    "Arzt",
)
DEEDS = ("beantragt", "verweigert", "prüft", "bezahlt", "meldet", "vernichtet", "verkauft", "reinigt", "kennzeichnet")


def provisions() -> list[Provision]:
    """Return 99 rules of two laws, each with words of its own."""
    rows: list[Provision] = []
    for i, noun in enumerate(NOUNS):
        for j, deed in enumerate(DEEDS):
            law = "KatzG" if (i + j) % 2 else "HundG"
            more, book = NOUNS[(i + 5) % 11], NOUNS[(i * 3 + j) % 11]
            text = f"Wer {noun} {deed}, {DEEDS[(j + 3) % 9]} zugleich {more} samt {book}heft."
            rows.append((law, str(9 * i + j + 1), None, text))
    return sorted(rows)


CHUNKS: list[LinkChunk] = link_chunks(provisions())


@pytest.fixture
def law(tmp_path: Path) -> Iterator[VectorStore]:
    payloads = [payload(i, provision) for i, provision in enumerate(provisions())]
    rows = EMBEDDER.embed([fields["chunk_text"] for fields in payloads])
    with EdgeStore(tmp_path / "store", lock_timeout=1) as edge:
        layout = Layout(EMBEDDER.dimension, sparse=None)
        edge.create("law", layout, {"regulation_code": "keyword"}, {"embedder": EMBEDDER.model})
        points = [Point(point_id(p["chunk_id"]), row, None, p) for p, row in zip(payloads, rows, strict=True)]
        edge.upsert("law", points)
        yield edge


def neighbours(store: VectorStore) -> Neighbours:
    return Neighbours(store, ["law"], EMBEDDER)


def test_thresholds_come_from_what_letters_have_linked(tables: Tables, law: VectorStore) -> None:
    load(tables, *(c(i, chunk.chunk_text) for i, chunk in enumerate(CHUNKS, start=1)), c(200, "Nichts davon steht da."))
    relink(tables, CHUNKS)
    known = known_quotations(tables)
    assert len(known) > 90
    assert known == known_quotations(tables)
    assert known_quotations(tables, 10) == known[:10]
    corpus = build_corpus(CHUNKS)
    found = calibrate_collection(corpus, neighbours(law), known)
    assert (found.model, found.quotations, found.precision) == (EMBEDDER.model, len(known), 1.0)
    rows = measured(corpus, neighbours(law), known)
    accepted = [right for score, margin, right in rows if score >= found.score and margin >= found.margin]
    assert all(accepted)
    assert len(accepted) > 60
    wrong = [score for score, margin, right in rows if not right and margin >= found.margin]
    assert len([row for row in rows if not row[2]]) >= len(known), "each was asked for with its law taken away, too"
    assert found.score > max(wrong), "whatever is nearest then is not accepted"


def test_too_little_is_known(tables: Tables, law: VectorStore) -> None:
    load(tables, c(1, CHUNKS[0].chunk_text))
    relink(tables, CHUNKS)
    with pytest.raises(GateError, match=r"Only 1 quotations are linked.*50 are needed"):
        calibrate_collection(build_corpus(CHUNKS), neighbours(law), known_quotations(tables))


def test_a_precision_that_no_thresholds_reach(law: VectorStore) -> None:
    known = [(chunk.chunk_text, "ANDERS", "1", None) for chunk in CHUNKS]
    with pytest.raises(GateError, match="No thresholds of model 'hashing"):
        calibrate_collection(build_corpus(CHUNKS), neighbours(law), known)


def test_thresholds_are_kept_with_the_collection_for_one_model(law: VectorStore) -> None:
    assert stored_thresholds(law, ["law"], "m") is None
    assert stored_thresholds(law, [], "m") is None
    law.set_metadata("law", {KEY: {"model": "m", "score": 0.8, "margin": 0.05}})
    assert stored_thresholds(law, ["law"], "m") == Thresholds(0.8, 0.05)
    assert stored_thresholds(law, ["law"], "other") is None, "figures of one model say nothing of another"
    law.create("more", Layout(8, sparse=None), {}, {})
    assert stored_thresholds(law, ["law", "more"], "m") is None, "each collection needs its own"
    law.set_metadata("more", {KEY: {"model": "m", "score": 0.7, "margin": 0.1}})
    assert stored_thresholds(law, ["law", "more"], "m") == Thresholds(0.8, 0.1), "the strictest of them"


def test_stored_thresholds_stand_behind_those_given() -> None:
    stored = Thresholds(0.8, 0.05)
    assert thresholds_for("new", None, None, stored) == stored
    assert thresholds_for("new", 0.9, None, stored) == Thresholds(0.9, 0.05)


def test_an_operator_calibrates(run: Run) -> None:
    chain(run)
    refused = run("relink", "--tiers", "embedding")
    assert refused.code == 3
    assert "relink calibrate" in refused.err
    few = run("relink", "calibrate")
    assert few.code == 3
    assert "are needed to calibrate" in few.err
    assert "letters" in few.err or "lexical" in few.err, "the hashing model says what it is"


def test_the_tier_takes_what_was_calibrated(tables: Tables, law: VectorStore) -> None:
    load(tables, *(c(i, chunk.chunk_text) for i, chunk in enumerate(CHUNKS, start=1)))
    relink(tables, CHUNKS)
    found = calibrate_collection(build_corpus(CHUNKS), neighbours(law), known_quotations(tables))
    law.set_metadata("law", {KEY: found.as_dict()})
    assert json.loads(json.dumps(found.as_dict())) == found.as_dict()
    assert stored_thresholds(law, ["law"], EMBEDDER.model) == Thresholds(found.score, found.margin)
