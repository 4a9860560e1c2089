"""Between reingest and prune the old and the new text of a norm stand side by side: a search shows one of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables
from backends.vectors.edge import EdgeStore
from backends.vectors.store import CURRENT_VERSIONS, Point, SparseVector, VectorStore
from ingest.current import set_current
from ingest.manifest import Manifest, read_manifest
from ingest.prune import prune
from ingest.reingest import reingest
from ingest.rollback import rollback
from ingest.verify import verify
from normalize.analyzer import sparse_document
from normalize.laws import LawTable
from retrieve.search import SearchOptions, search

LAWS = LawTable.builtin()
EXAMPLES = Path(__file__).parent.parent / "examples"
NAME = "fenster"
QUESTION = "Radbeauftragte benennen"
EMBEDDER = HashingEmbedder(128)


def embedder_for(_dimension: int | None) -> HashingEmbedder:
    return EMBEDDER


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VectorStore]:
    with EdgeStore(tmp_path / "home", 2.0) as edge:
        yield edge


def version(folder: Path, number: int) -> Manifest:
    """The sample statute; each version says every "Radbeauftragte" a little differently."""
    text = (EXAMPLES / "leihradgesetz.xml").read_text("utf-8")
    (folder / "gesetz.xml").write_text(text.replace("Radbeauftragte", f"Radbeauftragte V{number}"), "utf-8")
    path = folder / "manifest.yaml"
    path.write_text("documents:\n  - path: gesetz.xml\n", "utf-8")
    return read_manifest(path)


def texts(store: VectorStore) -> list[str]:
    found = search(store, NAME, EMBEDDER, QUESTION, LAWS, SearchOptions(20)).sources
    labels = [source.source for source in found]
    assert len(labels) == len(set(labels)), "one norm twice"
    return [source.text for source in found]


def test_of_old_and_new_text_only_the_new_is_shown(tmp_path: Path, store: VectorStore, tables: Tables) -> None:
    reingest(store, tables, NAME, version(tmp_path, 1), LAWS, embedder_for)
    assert any("V1" in text for text in texts(store))
    manifest = version(tmp_path, 2)
    reingest(store, tables, NAME, manifest, LAWS, embedder_for)
    shown = texts(store)
    assert any("V2" in text for text in shown) and not any("V1" in text for text in shown)
    about = store.describe(NAME)
    assert about is not None and list(about.metadata[CURRENT_VERSIONS]) == ["BEISPIEL0001"]

    assert verify(store, tables, NAME, manifest, LAWS)["ok"]
    prune(store, tables, NAME, manifest, LAWS, tmp_path / "backups")
    about = store.describe(NAME)
    assert about is not None and about.metadata[CURRENT_VERSIONS] == {}
    assert texts(store)[0] == shown[0]


def test_of_a_run_that_was_killed_no_norm_is_shown_twice(tmp_path: Path, store: VectorStore, tables: Tables) -> None:
    reingest(store, tables, NAME, version(tmp_path, 1), LAWS, embedder_for)
    reingest(store, tables, NAME, version(tmp_path, 2), LAWS, embedder_for)
    set_current(store, NAME, {}, ["BEISPIEL0001"])  # what a kill before the last step leaves
    shown = texts(store)
    assert len({"V1" in text for text in shown if "Radbeauftragte" in text}) == 1


def test_an_older_point_without_version_gives_way_to_the_norm_it_is_of(
    tmp_path: Path, store: VectorStore, tables: Tables
) -> None:
    reingest(store, tables, NAME, version(tmp_path, 1), LAWS, embedder_for)
    old = [
        {"regulation_id": "LEIHRADG", "section": "§ 3", "chunk_text": "(1a) Alter Text: Radbeauftragte benennen."},
        {"regulation_id": "LEIHRADG", "section": "§ 99", "chunk_text": "Radbeauftragte benennen, nur im alten Text."},
    ]
    points = []
    for number, payload in enumerate(old, 1):
        sparse = SparseVector(*sparse_document(payload["chunk_text"]))
        points.append(Point(number, EMBEDDER.embed([payload["chunk_text"]])[0], sparse, payload))
    store.upsert(NAME, points)
    shown = texts(store)
    assert old[0]["chunk_text"] not in shown  # § 3 is there anew
    assert old[1]["chunk_text"] in shown  # nothing stands for this one


def test_a_rollback_of_an_older_prune_leaves_what_is_current_again(
    tmp_path: Path, store: VectorStore, tables: Tables
) -> None:
    """Version 1 → 2 (1 pruned) → 1 again: its points are current; putting back the first prune must not touch them."""
    backups = tmp_path / "backups"
    first = None
    for number in (1, 2, 1):
        manifest = version(tmp_path, number)
        reingest(store, tables, NAME, manifest, LAWS, embedder_for)
        assert verify(store, tables, NAME, manifest, LAWS)["ok"]
        run = prune(store, tables, NAME, manifest, LAWS, backups, max_delete_ratio=1.0)["run"]
        first = first or run
    some = next(iter(store.scroll(NAME)))
    changed = {**some.payload, "license": "set by hand since"}
    store.overwrite_payloads(NAME, {some.id: changed})
    report = rollback(store, tables, NAME, backups, run=first)
    assert (report["restored"], report["kept"]) == (0, 14)
    assert store.retrieve(NAME, [some.id])[0].payload == changed
