"""The ledger of processed chunks: held against the store both ways, and made to say what the store holds."""

import hashlib
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables
from backends.tables.ledger import LedgerRow, compare_ledger, set_ledger
from backends.tables.locks import collection_lock
from backends.tables.runs import latest_runs
from backends.tables.schema import processed_chunks
from backends.vectors.edge import EdgeStore
from backends.vectors.qdrant import connect
from backends.vectors.store import Layout, Point, SparseVector, VectorStore
from ingest.ledger import check_ledger, rebuild_ledger
from ingest.manifest import Manifest, read_manifest
from ingest.prune import prune
from ingest.reingest import reingest
from ingest.verify import verify
from normalize.errors import GateError, LockedError
from normalize.laws import LawTable
from tests.qdrant_app import QdrantApp, serve
from tests.test_cli import EXAMPLES, MANIFEST, Run
from tests.test_cli import run as run

LAWS = LawTable.builtin()
NAME = "gesetze"
CHUNKS = 14


def embedder_for(dimension: int | None) -> HashingEmbedder:
    return HashingEmbedder(dimension or 64)


def rows_of(tables: Tables, collection: str = NAME) -> set[LedgerRow]:
    ledger = processed_chunks.c
    query = sa.select(ledger.chunk_hash, ledger.document_version).where(ledger.collection == collection)
    with tables.begin() as connection:
        return {(str(row[0]), str(row[1])) for row in connection.execute(query)}


# --- The table -----------------------------------------------------------------------------------------------------


def test_rows_are_single_and_belong_to_a_collection_and_version(tables: Tables) -> None:
    rows = [("h1", "v1"), ("h1", "v2"), ("h2", "v1"), ("h2", "v1")]
    assert set_ledger(tables, "law", rows) == (3, 0), "a row given twice is one row"
    assert set_ledger(tables, "law", iter(rows)) == (0, 0), "setting again changes nothing"
    assert set_ledger(tables, "other", rows[:1]) == (1, 0)
    assert set_ledger(tables, "law", [("h1", "v2"), ("h3", "v3")]) == (1, 2)
    assert rows_of(tables, "law") == {("h1", "v2"), ("h3", "v3")} and rows_of(tables, "other") == {("h1", "v1")}


def test_rows_that_stay_keep_the_time_they_were_processed(tables: Tables) -> None:
    set_ledger(tables, "law", [("h1", "v1")])
    query = sa.select(processed_chunks.c.processed_at).where(processed_chunks.c.chunk_hash == "h1")
    with tables.begin() as connection:
        before = connection.execute(query).scalar_one()
    set_ledger(tables, "law", [("h1", "v1"), ("h2", "v1")])
    with tables.begin() as connection:
        assert connection.execute(query).scalar_one() == before


def test_a_platform_without_a_unique_index(empty_tables: Tables) -> None:
    """Its rows may be double; they count once, and go together."""
    with empty_tables.begin() as connection:
        connection.execute(
            sa.text(
                "CREATE SCHEMA compliance; CREATE TABLE compliance.canonical_processed_chunks "
                "(id bigserial, chunk_hash varchar(64), collection varchar(99), document_version varchar(50)); "
                "INSERT INTO compliance.canonical_processed_chunks (chunk_hash, collection, document_version) "
                "VALUES ('old', 'law', '1.0'), ('old', 'law', '1.0'), ('h1', 'law', 'v1'), ('h1', 'law', 'v1')"
            )
        )
    rows = [("h1", "v1"), ("h2", "v1")]
    found = compare_ledger(empty_tables, "law", rows)
    assert (found.store_rows, found.ledger_rows, found.missing, found.extra) == (2, 2, 1, 1)
    assert (found.missing_examples, found.extra_by_version) == ([("h2", "v1")], {"1.0": 1})
    set_ledger(empty_tables, "law", rows)
    assert rows_of(empty_tables, "law") == set(rows) and compare_ledger(empty_tables, "law", rows).agrees


def test_rows_that_fail_half_way_change_nothing(tables: Tables) -> None:
    set_ledger(tables, "law", [("h1", "v1")])

    def breaking() -> Iterator[LedgerRow]:
        yield "h2", "v1"
        raise RuntimeError("the store went away")

    with pytest.raises(RuntimeError):
        set_ledger(tables, "law", breaking())
    assert rows_of(tables, "law") == {("h1", "v1")}


# --- Against the store ---------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VectorStore]:
    with EdgeStore(tmp_path / "home", 2.0) as edge:
        yield edge


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    shutil.copy(EXAMPLES / "leihradgesetz.xml", tmp_path)
    (tmp_path / "manifest.yaml").write_text("documents:\n  - path: leihradgesetz.xml\n", "utf-8")
    return read_manifest(tmp_path / "manifest.yaml")


def put_legacy(store: VectorStore, texts: Iterable[str]) -> None:
    """Points of the older pipeline: no hash in the payload, version "1.0", the law by its id."""
    points = [
        Point(number, np.ones(64, np.float32), SparseVector((1,), (1.0,)),
              {"regulation_id": "leihradg", "section": "§ 1", "document_version": "1.0", "chunk_text": text})
        for number, text in enumerate(texts, 1)
    ]  # fmt: skip
    store.upsert(NAME, points)


def test_a_reingest_writes_no_ledger_and_the_check_says_so(
    store: VectorStore, tables: Tables, manifest: Manifest
) -> None:
    reingest(store, tables, NAME, manifest, LAWS, embedder_for)
    assert rows_of(tables) == set(), "a row says that controls were generated from the text"
    report = check_ledger(store, tables, NAME)
    assert (report["agrees"], report["missing"], report["extra"]) == (False, CHUNKS, 0)
    assert all(row["article_label"].startswith("LeihRadG") for row in report["examples"]["missing"])


def test_a_rebuild_says_what_the_store_holds_and_twice_changes_nothing(
    store: VectorStore, tables: Tables, manifest: Manifest
) -> None:
    reingest(store, tables, NAME, manifest, LAWS, embedder_for)
    set_ledger(tables, "another", [("h", "v")])
    assert rebuild_ledger(store, tables, NAME, dry_run=True)["missing"] == CHUNKS and rows_of(tables) == set()
    report = rebuild_ledger(store, tables, NAME)
    assert (report["added"], report["removed"]) == (CHUNKS, 0)
    held = {(r.payload["chunk_hash"], r.payload["document_version"]) for r in store.scroll(NAME)}
    assert rows_of(tables) == held and rows_of(tables, "another") == {("h", "v")}
    assert check_ledger(store, tables, NAME)["agrees"]
    runs = len(latest_runs(tables))
    again = rebuild_ledger(store, tables, NAME)
    assert (again["added"], again["removed"], again["run"]) == (0, 0, None) and len(latest_runs(tables)) == runs


def test_older_points_are_hashed_as_the_older_pipeline_did(
    store: VectorStore, tables: Tables, manifest: Manifest, tmp_path: Path
) -> None:
    """sha256 of the raw text under version 1.0: before prune both versions are claimed, after it the new one alone."""
    reingest(store, tables, NAME, manifest, LAWS, embedder_for)
    put_legacy(store, ["Alter Text.", "Noch einer."])
    old = {(hashlib.sha256(text.encode()).hexdigest(), "1.0") for text in ("Alter Text.", "Noch einer.")}
    set_ledger(tables, NAME, [*old, ("of a text that is gone", "1.0")])
    report = check_ledger(store, tables, NAME)
    assert (report["missing"], report["extra"], report["extra_by_version"]) == (CHUNKS, 1, {"1.0": 1})
    rebuild_ledger(store, tables, NAME)
    assert old < rows_of(tables) and len(rows_of(tables)) == CHUNKS + 2

    reingest(store, tables, NAME, manifest, LAWS, embedder_for)
    verify(store, tables, NAME, manifest, LAWS)
    prune(store, tables, NAME, manifest, LAWS, tmp_path / "backups")
    assert check_ledger(store, tables, NAME)["extra_by_version"] == {"1.0": 2}
    assert rebuild_ledger(store, tables, NAME)["removed"] == 2
    assert len(rows_of(tables)) == CHUNKS


def test_a_collection_that_was_never_reingested_is_checked_on_a_strict_server(tables: Tables) -> None:
    """It has no indexes, and a strict server refuses to filter without."""
    with serve(QdrantApp(strict=True)) as server, connect(server.url, None, 5) as strict:
        strict.create(NAME, Layout(dimension=64, dense="", sparse="bm25"), {}, {})
        put_legacy(strict, ["Alter Text."])
        report = check_ledger(strict, tables, NAME)
        assert (report["missing"], report["examples"]["missing"][0]["article_label"]) == (1, None)
        assert rebuild_ledger(strict, tables, NAME)["added"] == 1


def test_a_store_that_lost_its_points_empties_no_ledger(store: VectorStore, tables: Tables, manifest: Manifest) -> None:
    reingest(store, tables, NAME, manifest, LAWS, embedder_for)
    rebuild_ledger(store, tables, NAME)
    store.delete(NAME, [record.id for record in store.scroll(NAME)])
    with pytest.raises(GateError, match=r"14 of 14 rows \(100%\).*right store"):
        rebuild_ledger(store, tables, NAME)
    assert len(rows_of(tables)) == CHUNKS
    assert rebuild_ledger(store, tables, NAME, max_delete_ratio=1.0)["removed"] == CHUNKS


def test_refusals(store: VectorStore, tables: Tables, manifest: Manifest) -> None:
    with pytest.raises(GateError, match="no collection"):
        check_ledger(store, tables, "nowhere")
    reingest(store, tables, NAME, manifest, LAWS, embedder_for)
    with collection_lock(tables, NAME), pytest.raises(LockedError, match=NAME):
        rebuild_ledger(store, tables, NAME)


def test_the_commands(run: Run) -> None:
    assert run("reingest", "-c", "beispiel", "-m", MANIFEST, "--strategy", "alias").code == 0
    check = run("ledger", "check", "-c", "beispiel", "--json")
    assert check.code == 3 and check.json["missing"] == 25
    assert "not in the ledger: " in run("ledger", "check", "-c", "beispiel").out
    assert "Would add 25 rows" in run("ledger", "rebuild", "-c", "beispiel", "--dry-run").out
    assert run("ledger", "check", "-c", "beispiel").code == 3
    assert run("ledger", "rebuild", "-c", "beispiel", "--json").json["added"] == 25
    done = run("ledger", "check", "-c", "beispiel")
    assert done.code == 0 and "says what its store holds: 25 texts" in done.out
    assert run("ledger", "check", "-c", "nowhere").code == 3
