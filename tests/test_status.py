"""Status: whose the points are, what is old, verified or nobody's, whether the receipt holds, what never ended."""

import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables
from backends.tables.locks import collection_lock
from backends.tables.runs import start_run
from backends.vectors.edge import EdgeStore
from backends.vectors.qdrant import connect
from backends.vectors.store import Layout, Point, SparseVector, VectorStore
from ingest.blue_green.build import reingest_beside
from ingest.blue_green.retire import prune_alias
from ingest.blue_green.switch_back import switch_back
from ingest.manifest import Manifest, read_manifest
from ingest.prune import prune
from ingest.reingest import reingest
from ingest.rollback import rollback
from ingest.status import collections_status, runs_status
from ingest.verify import verify
from normalize.laws import LawTable
from tests.qdrant_app import Server
from tests.test_cli import EXAMPLES, MANIFEST, Run
from tests.test_cli import run as run
from tests.vectors_fixtures import running_server as running_server
from tests.vectors_fixtures import server as server

LAWS = LawTable.builtin()
NAME = "gesetze"
CHUNKS = 14
LEGACY = {"regulation_id": "leihradg", "section": "§ 1", "document_version": "1.0", "chunk_text": "alt"}
FOREIGN = {"regulation_id": "satzung", "section": "§ 1", "chunk_text": "fremd"}


def embedder_for(dimension: int | None) -> HashingEmbedder:
    return HashingEmbedder(dimension or 64)


@dataclass
class Bench:
    """A collection with its stores and manifest; each method is one command."""

    store: VectorStore
    tables: Tables
    folder: Path

    def use(self, *files: str) -> Manifest:
        for file in files:
            shutil.copy(EXAMPLES / file, self.folder)
        entries = "".join(f"  - path: {file}\n" for file in files)
        (self.folder / "manifest.yaml").write_text(f"documents:\n{entries}", "utf-8")
        return self.manifest

    @property
    def manifest(self) -> Manifest:
        return read_manifest(self.folder / "manifest.yaml")

    def reingest(self) -> None:
        reingest(self.store, self.tables, NAME, self.manifest, LAWS, embedder_for)

    def verify(self) -> None:
        assert verify(self.store, self.tables, NAME, self.manifest, LAWS)["ok"]

    def put(self, *payloads: dict[str, Any]) -> None:
        if self.store.describe(NAME) is None:
            self.store.create(NAME, Layout(dimension=64), {}, {})
        rng = np.random.default_rng(self.store.count(NAME))
        points = [
            Point(str(uuid.UUID(bytes=rng.bytes(16), version=4)), rng.random(64, np.float32),
                  SparseVector((1,), (1.0,)), payload)
            for payload in payloads
        ]  # fmt: skip
        self.store.upsert(NAME, points)

    def status(self) -> dict[str, Any]:
        (found,) = collections_status(self.store, self.tables)
        return found

    def counts(self) -> tuple[int, ...]:
        """New, verified, old, orphaned, unsorted."""
        found = self.status()
        kinds = ("new", "verified", "old", "orphaned", "unsorted")
        assert sum(found[kind]["points"] for kind in kinds if kind != "verified") == found["points"], "each point once"
        return tuple(found[kind]["points"] for kind in kinds)

    def receipt(self) -> tuple[str, str | None]:
        found = self.status()
        return found["receipt_state"], found["receipt_says"]


@pytest.fixture(params=["edge", "http"])
def bench(request: pytest.FixtureRequest, tmp_path: Path, tables: Tables) -> Iterator[Bench]:
    folder = tmp_path / "sources"
    folder.mkdir()
    if request.param == "edge":
        opened: Any = EdgeStore(tmp_path / "home", 2.0)
    else:
        running: Server = request.getfixturevalue("server")
        opened = connect(running.url, None, 5)
    with opened as store:
        made = Bench(store, tables, folder)
        made.use("leihradgesetz.xml")
        yield made


def test_the_points_of_each_step(bench: Bench) -> None:
    assert collections_status(bench.store, bench.tables) == []
    bench.put(LEGACY, LEGACY, FOREIGN)
    assert bench.counts() == (0, 0, 0, 0, 3), "nobody knows yet whose they are"
    bench.reingest()
    assert bench.counts() == (CHUNKS, 0, 0, 0, 3) and bench.receipt() == ("none", None)
    bench.verify()
    assert bench.counts() == (CHUNKS, CHUNKS, 2, 1, 0) and bench.receipt() == ("fit", None)
    assert bench.status()["old_versions"] == {"1.0": 2}
    prune(bench.store, bench.tables, NAME, bench.manifest, LAWS, bench.folder / "backups")
    assert bench.counts() == (CHUNKS, CHUNKS, 0, 1, 0) and bench.receipt() == ("used", "its old points are pruned")
    assert bench.status()["states"] == {"pruned": 1}
    bench.verify()
    assert bench.receipt() == ("fit", None)
    rollback(bench.store, bench.tables, NAME, bench.folder / "backups")
    assert bench.counts() == (CHUNKS, CHUNKS, 2, 1, 0)
    assert bench.receipt() == ("stale", "the old points have changed (first: BEISPIEL0001)")


def test_a_prune_that_died_in_the_middle_may_go_on(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.put(LEGACY, LEGACY, LEGACY)
    bench.reingest()
    bench.verify()
    monkeypatch.setattr("ingest.prune._BATCH", 1)
    delete, deleted = type(bench.store).delete, []

    def dying(store: Any, collection: str, ids: Any) -> None:
        if deleted:
            raise KeyboardInterrupt
        delete(store, collection, ids)
        deleted.extend(ids)

    monkeypatch.setattr(type(bench.store), "delete", dying)
    with pytest.raises(KeyboardInterrupt):
        prune(bench.store, bench.tables, NAME, bench.manifest, LAWS, bench.folder / "backups")
    monkeypatch.undo()
    assert bench.counts() == (CHUNKS, CHUNKS, 2, 0, 0)
    assert bench.receipt() == ("fit", "a prune under it was interrupted: run it again")
    assert runs_status(bench.tables)[0]["status"] == "interrupted"
    prune(bench.store, bench.tables, NAME, bench.manifest, LAWS, bench.folder / "backups")
    assert bench.receipt()[0] == "used" and bench.counts() == (CHUNKS, CHUNKS, 0, 0, 0)


def test_a_receipt_that_prune_would_refuse_is_called_stale(bench: Bench) -> None:
    bench.put(LEGACY)
    bench.reingest()
    bench.verify()
    source = bench.folder / "leihradgesetz.xml"
    whole = source.read_text("utf-8")
    source.write_text(whole.replace("zwei Jahre lang", "drei Jahre lang"), "utf-8")
    assert bench.receipt() == ("stale", "the manifest or its files have changed")
    source.write_text(whole, "utf-8")
    assert bench.receipt() == ("fit", None)
    victim = next(r for r in bench.store.scroll(NAME) if r.payload.get("chunk_id"))
    bench.store.overwrite_payloads(NAME, {victim.id: victim.payload | {"article_label": "LeihRadG § 99"}})
    assert bench.receipt() == ("stale", "the store or the books have changed (first: BEISPIEL0001)")
    assert bench.counts() == (CHUNKS, 0, 1, 0, 0), "a document is verified as a whole or not"
    bench.store.overwrite_payloads(NAME, {victim.id: victim.payload})
    bench.put(LEGACY)
    assert bench.receipt() == ("stale", "the old points have changed (first: BEISPIEL0001)")
    (bench.folder / "manifest.yaml").unlink()
    state, says = bench.receipt()
    assert state == "stale" and says is not None and "manifest" in says


def test_a_new_version_beside_the_old_one(bench: Bench) -> None:
    bench.reingest()
    bench.verify()
    source = bench.folder / "leihradgesetz.xml"
    source.write_text(source.read_text("utf-8").replace("zwei Jahre lang", "drei Jahre lang"), "utf-8")
    before = bench.status()
    bench.reingest()
    assert bench.counts() == (CHUNKS, 0, CHUNKS, 0, 0) and bench.receipt()[0] == "stale"
    assert list(bench.status()["old_versions"].values()) == [CHUNKS]
    assert bench.status()["bytes"] >= before["bytes"] > 0


def test_a_document_that_joined_and_one_that_left(bench: Bench) -> None:
    bench.reingest()
    bench.verify()
    bench.use("leihradgesetz.xml", "ladesaeulen-verordnung.xml")
    bench.reingest()
    assert bench.counts() == (25, CHUNKS, 0, 0, 0) and bench.receipt()[0] == "stale"
    bench.verify()
    assert bench.counts() == (25, 25, 0, 0, 0)
    bench.use("leihradgesetz.xml")
    bench.reingest()
    bench.verify()
    assert bench.counts() == (CHUNKS, CHUNKS, 0, 25 - CHUNKS, 0), "its points belong to no document any more"
    assert bench.receipt() == ("fit", None)


def test_bytes_are_measured_where_they_can_be(bench: Bench) -> None:
    bench.reingest()
    found = bench.status()
    if "embedded" in bench.store.where:
        assert found["bytes_from"] == "disk"
    else:
        assert found["bytes_from"] == f"estimate from {CHUNKS} points"
        payloads = found["bytes"] - CHUNKS * 64 * 4
        assert 500 * CHUNKS < payloads < 5_000 * CHUNKS
    assert found["new"]["bytes"] == found["bytes"]


def test_collections_behind_an_alias_say_what_they_are(bench: Bench) -> None:
    for text in ("zwei", "drei"):
        source = bench.folder / "leihradgesetz.xml"
        source.write_text(source.read_text("utf-8").replace("zwei Jahre lang", f"{text} Jahre lang"), "utf-8")
        reingest_beside(bench.store, bench.tables, NAME, bench.manifest, LAWS, embedder_for)
    first, second = collections_status(bench.store, bench.tables)
    assert (first["collection"], first["aliases"]) == ("gesetze.v1", [])
    assert first["built_for"] == {"alias": NAME, "previous": None, "state": "served"}
    assert (second["collection"], second["aliases"]) == ("gesetze.v2", [NAME])
    assert (second["receipt_state"], second["verified"]["points"]) == ("fit", CHUNKS)
    assert (second["last_run"]["command"], second["last_run"]["status"]) == ("verify", "done")  # within the reingest


def test_a_collection_put_back_from_its_backup_is_what_its_receipt_says(bench: Bench) -> None:
    for text in ("zwei", "drei"):
        source = bench.folder / "leihradgesetz.xml"
        source.write_text(source.read_text("utf-8").replace("zwei Jahre lang", f"{text} Jahre lang"), "utf-8")
        reingest_beside(bench.store, bench.tables, NAME, bench.manifest, LAWS, embedder_for)
    backups = bench.folder / "backups"
    prune_alias(bench.store, bench.tables, NAME, bench.manifest, LAWS, backups)
    assert [c["collection"] for c in collections_status(bench.store, bench.tables)] == ["gesetze.v2"]
    switch_back(bench.store, bench.tables, NAME, backups)
    first, second = collections_status(bench.store, bench.tables)
    assert (first["new"]["points"], first["verified"]["points"], first["old"]["points"]) == (CHUNKS, CHUNKS, 0)
    assert (first["receipt_state"], first["receipt_says"]) == ("stale", "the manifest or its files have changed")
    assert second["receipt_state"] == "fit"


def test_a_collection_that_only_the_books_know_is_missing(bench: Bench) -> None:
    bench.reingest()
    bench.store.drop(NAME)
    assert bench.status() == {"collection": NAME, "missing": True, "points": 0, "documents": 1}


def test_a_killed_run_is_interrupted_a_living_one_is_running(tables: Tables) -> None:
    start_run(tables, "reingest", NAME, {"manifest": "m.yaml"})
    assert runs_status(tables)[0]["status"] == "interrupted"
    with collection_lock(tables, NAME):
        assert runs_status(tables)[0]["status"] == "running"


def test_as_an_operator_sees_it(run: Run) -> None:
    assert "No collection yet" in run("status").out
    assert run("reingest", "-c", "beispiel", "-m", MANIFEST, "--strategy", "alias").code == 0
    shown = run("status").out
    assert "beispiel.v1: served as beispiel" in shown and "fit" in shown and "MiB" in shown
    assert "receipt" in shown and "reingest" in shown
    found = run("status", "--json").json["collections"][0]
    assert (found["points"], found["verified"]["points"], found["receipt_state"]) == (25, 25, "fit")
