"""One writer, many readers: what searches and lists see while a collection is written, verified and pruned."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables
from backends.vectors.qdrant import connect
from backends.vectors.store import VectorStore
from ingest.manifest import Manifest, read_manifest
from ingest.prune import prune
from ingest.reingest import reingest
from ingest.verify import verify
from normalize.errors import LockedError
from normalize.laws import LawTable
from retrieve.search import SearchOptions, search
from tests.payloads import expected_payloads
from tests.qdrant_app import Server
from tests.vectors_fixtures import running_server, server

__all__ = ["running_server", "server"]

LAWS = LawTable.builtin()
NAME = "gesetze"
EMBEDDER = HashingEmbedder(64)


def embedder_for(_dimension: int | None) -> HashingEmbedder:
    return EMBEDDER


@pytest.fixture
def store(server: Server) -> Iterator[VectorStore]:
    with connect(server.url, None, 10.0) as made:
        yield made


def version(folder: Path, shared: Path, file: str) -> Manifest:
    path = folder / "manifest.yaml"
    path.write_text(f"root: {shared / 'corpus/gii-xml'}\ndocuments:\n  - path: {file}\n", "utf-8")
    return read_manifest(path)


class Reader(threading.Thread):
    """Asks the same question until it is told to stop; keeps what went wrong."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self.url = url
        self.stopped = threading.Event()
        self.answers = 0
        self.faults: list[str] = []

    def run(self) -> None:
        with connect(self.url, None, 10.0) as own:
            while not self.stopped.is_set():
                try:
                    found = search(own, NAME, EMBEDDER, "Kündigung durch den Arbeitgeber", LAWS, SearchOptions(10))
                    labels = [(source.source, source.text) for source in found.sources]
                    if not labels or len(labels) != len(set(labels)):
                        self.faults.append(f"{labels}")
                    self.answers += 1
                except Exception as error:
                    self.faults.append(repr(error))


@pytest.mark.corpus
def test_readers_are_unharmed_by_a_run(
    store: VectorStore, server: Server, tables: Tables, shared: Path, tmp_path: Path
) -> None:
    reingest(store, tables, NAME, version(tmp_path, shared, "agg_2023-12.xml"), LAWS, embedder_for)
    readers = [Reader(server.url) for _ in range(2)]
    for reader in readers:
        reader.start()
    manifest = version(tmp_path, shared, "agg_2024-12.xml")
    reingest(store, tables, NAME, manifest, LAWS, embedder_for)
    assert verify(store, tables, NAME, manifest, LAWS)["ok"]
    prune(store, tables, NAME, manifest, LAWS, tmp_path / "backups")
    for reader in readers:
        reader.stopped.set()
        reader.join(20)
        assert reader.faults == []
        assert reader.answers > 1
    assert {str(r.id): r.payload for r in store.scroll(NAME)} == expected_payloads(manifest)


@pytest.mark.corpus
def test_of_two_writers_one_writes(
    store: VectorStore, server: Server, tables: Tables, shared: Path, tmp_path: Path
) -> None:
    """Both begin at once; each either has the lock or is told of it, and the points are those of one run."""
    manifest = version(tmp_path, shared, "agg_2024-12.xml")
    outcomes: list[str] = []
    start = threading.Barrier(2)

    def write() -> None:
        with connect(server.url, None, 10.0) as own:
            start.wait()
            try:
                reingest(own, tables, NAME, manifest, LAWS, embedder_for)
                outcomes.append("written")
            except LockedError as error:
                assert NAME in str(error)
                outcomes.append("locked")

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(outcomes) == 2 and "written" in outcomes
    assert {str(r.id): r.payload for r in store.scroll(NAME)} == expected_payloads(manifest)
