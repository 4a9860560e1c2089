"""Faults of a vector server while re-ingesting and pruning: unknown is settled by reading, nothing is lost.

After any fault the run either ended well, or ended with one sentence and a second run ends where it should.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables
from backends.vectors.store import Layout, Point, VectorStore
from ingest import certain
from ingest.manifest import read_manifest
from ingest.prune import prune
from ingest.reingest import reingest
from ingest.verify import verify
from normalize.errors import FundstelleError
from normalize.laws import LawTable
from tests.patience import connect_patiently
from tests.payloads import expected_payloads
from tests.qdrant_app import Fault, Kind, Server
from tests.vectors_fixtures import running_server, server

__all__ = ["running_server", "server"]

EXAMPLES = Path(__file__).parent.parent / "examples"
MANIFEST = read_manifest(EXAMPLES / "manifest.yaml")
LAWS = LawTable.builtin()
NAME = "beispiel"
OLD = {
    "regulation_id": "leihradg_alt",
    "section": "§ 1",
    "paragraph": "(1)",
    "document_version": "1.0",
    "chunk_text": "x",
}
OLD_IDS = [f"00000000-0000-4000-8000-{number:012d}" for number in range(5)]
WRITE_FAULTS = [kind for kind in get_args(Kind) if kind != "wrong_count"]


@pytest.fixture
def store(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[VectorStore]:
    """A server with a collection as an older pipeline left it: one unnamed vector, no BM25, random ids."""
    monkeypatch.setattr(certain, "_PAUSE", 0.01)
    with connect_patiently(server) as made:
        made.create(NAME, Layout(dimension=32, dense="", sparse=None), {}, {})
        vectors = np.eye(32, dtype=np.float32)
        made.upsert(NAME, [Point(point_id, vectors[n], None, OLD) for n, point_id in enumerate(OLD_IDS)])
        yield made


def embedder_for(dimension: int | None) -> HashingEmbedder:
    return HashingEmbedder(dimension or 32)


def run(store: VectorStore, tables: Tables) -> dict[str, Any]:
    return reingest(store, tables, NAME, MANIFEST, LAWS, embedder_for)


def until_it_ends(action: Any, tries: int = 3) -> int:
    """Call until it ends without an error, as an operator would; return how many calls failed."""
    for failed in range(tries):
        try:
            action()
        except FundstelleError as error:
            assert "\n" not in str(error) and str(error).endswith(".")
        else:
            return failed
    raise AssertionError("it never ended well")


def expected() -> dict[str, dict[str, Any]]:
    return expected_payloads(MANIFEST)


def held(store: VectorStore) -> dict[str, dict[str, Any]]:
    return {str(record.id): record.payload for record in store.scroll(NAME)}


@pytest.mark.parametrize("kind", WRITE_FAULTS)
def test_a_fault_while_writing_loses_and_doubles_nothing(
    store: VectorStore, server: Server, tables: Tables, kind: Kind
) -> None:
    server.faults.add(Fault(kind, method="PUT", path=rf"/collections/{NAME}/points", seconds=1.5))
    until_it_ends(lambda: run(store, tables))
    points = held(store)
    assert {i: p for i, p in points.items() if i not in OLD_IDS} == expected()
    assert set(OLD_IDS) <= set(points)
    assert run(store, tables)["written"] == 0


@pytest.mark.parametrize("kind", WRITE_FAULTS)
def test_a_fault_while_pruning_deletes_only_what_is_old(
    store: VectorStore, server: Server, tables: Tables, tmp_path: Path, kind: Kind
) -> None:
    run(store, tables)
    assert verify(store, tables, NAME, MANIFEST, LAWS)["ok"]
    server.faults.add(Fault(kind, method="POST", path=rf"/collections/{NAME}/points/delete", seconds=1.5))

    def go() -> None:
        if not verify(store, tables, NAME, MANIFEST, LAWS)["ok"]:
            raise AssertionError("a new chunk was lost")
        prune(store, tables, NAME, MANIFEST, LAWS, tmp_path)

    until_it_ends(go)
    assert held(store) == expected()


def test_a_count_that_is_wrong_fails_the_verification(store: VectorStore, server: Server, tables: Tables) -> None:
    run(store, tables)
    server.faults.add(Fault("wrong_count", method="POST", path=rf"/collections/{NAME}/points/count", times=9))
    report = verify(store, tables, NAME, MANIFEST, LAWS)
    assert [c["name"] for c in report["checks"] if c["failed"]] == ["exact counts agree with the ids read"]
    assert report["receipt"] is None


def test_each_batch_is_sent_once(store: VectorStore, server: Server, tables: Tables) -> None:
    """Clients that retry by themselves send every batch three times (qdrant-client#545)."""
    server.log.clear()
    run(store, tables)
    writes = [seen for seen in server.log if seen.method == "PUT" and seen.path.endswith("/points")]
    assert len(writes) == 1
