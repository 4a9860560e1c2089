"""A bulk run has the server build its graph once, at the end; a killed one leaves nothing that stays switched off."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables
from backends.vectors.edge import EdgeStore
from backends.vectors.qdrant import QdrantStore
from backends.vectors.qdrant_bulk import PAUSED
from ingest import reingest as module
from ingest.manifest import read_manifest
from ingest.reingest import reingest
from normalize.errors import StoreError
from normalize.laws import LawTable
from tests.patience import connect_patiently
from tests.payloads import expected_payloads
from tests.qdrant_app import Fault, Server
from tests.vectors_fixtures import running_server, server
from tests.vectors_points import INDEXES, LAYOUT, METADATA

__all__ = ["running_server", "server"]

MANIFEST = read_manifest(Path(__file__).parent.parent / "examples" / "manifest.yaml")
LAWS = LawTable.builtin()
NAME = "beispiel"


@pytest.fixture
def store(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[QdrantStore]:
    monkeypatch.setattr(module, "BULK", 10)  # the examples are a bulk
    with connect_patiently(server) as made:
        monkeypatch.setattr(made, "_pause", lambda seconds: None)
        yield made


def run(store: QdrantStore, tables: Tables) -> dict[str, Any]:
    return reingest(store, tables, NAME, MANIFEST, LAWS, lambda dimension: HashingEmbedder(dimension or 32))


def threshold(server: Server) -> int:
    return server.app._thresholds.get(NAME, 20_000)


def test_the_graph_is_put_off_and_put_back(store: QdrantStore, server: Server, tables: Tables) -> None:
    seen: list[int] = []
    upsert = store.upsert

    def watched(*arguments: Any) -> None:
        seen.append(threshold(server))
        upsert(*arguments)

    store.upsert = watched  # type: ignore[method-assign]
    assert run(store, tables)["indexed"] is True
    assert seen and set(seen) == {0}
    assert threshold(server) == 20_000
    about = store.describe(NAME)
    assert about is not None and about.metadata.get(PAUSED) is None


def test_a_small_run_changes_nothing(
    store: QdrantStore, server: Server, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BULK", 1000)
    run(store, tables)
    assert not server.app._thresholds


def test_what_a_failed_run_left_off_the_next_one_puts_back(store: QdrantStore, server: Server, tables: Tables) -> None:
    server.faults.add(Fault("500", method="PUT", path="/points$", times=99))
    with pytest.raises(StoreError):
        run(store, tables)
    assert threshold(server) == 0
    server.faults.clear()
    run(store, tables)
    assert threshold(server) == 20_000
    store.pause_indexing(NAME)  # as a kill after the last write leaves it
    assert threshold(server) == 0
    report = run(store, tables)
    assert (report["written"], report["indexed"], threshold(server)) == (0, True, 20_000)
    assert {str(r.id): r.payload for r in store.scroll(NAME)} == expected_payloads(MANIFEST)


def test_what_an_operator_switched_off_stays_off(store: QdrantStore, server: Server, tables: Tables) -> None:
    run(store, tables)
    server.app._thresholds[NAME] = 0
    store.pause_indexing(NAME)
    assert store.resume_indexing(NAME, 1.0)
    assert threshold(server) == 0


def test_the_server_is_waited_for_but_not_for_ever(store: QdrantStore, server: Server) -> None:
    store.create(NAME, LAYOUT, INDEXES, METADATA)
    store.pause_indexing(NAME)
    server.app._status = ["green"] * 3 + ["yellow"] * 4
    assert store.resume_indexing(NAME, 60.0)
    store.pause_indexing(NAME)
    server.app._status = ["yellow"] * 99
    assert not store.resume_indexing(NAME, 0.0)
    server.app._status = []


def test_the_embedded_engine_has_no_graph(tmp_path: Path) -> None:
    with EdgeStore(tmp_path, 1.0) as edge:
        edge.create(NAME, LAYOUT, INDEXES, METADATA)
        edge.pause_indexing(NAME)
        assert edge.resume_indexing(NAME, 0.0)
