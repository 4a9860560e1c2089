"""Chunks of a large first run are put aside on disk: the same points, and nothing left behind."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables
from backends.vectors.edge import EdgeStore
from ingest import reading
from ingest import reingest as module
from ingest.chunker import Chunk
from ingest.documents import load_file
from ingest.manifest import Manifest, read_manifest
from ingest.reading import Gathered
from ingest.reingest import reingest
from ingest.spool import put_aside, take_back, terms_of
from normalize.errors import SourceError
from normalize.laws import LawTable
from tests.payloads import expected_payloads

LAWS = LawTable.builtin()
NAME = "gesetze"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EdgeStore]:
    with EdgeStore(tmp_path / "home", 2.0) as opened:
        yield opened


@pytest.fixture
def manifest(shared: Path, tmp_path: Path) -> Manifest:
    for name in ("agg_2024-12", "gwg_2026-03", "bdsg_2024-12"):
        shutil.copy(shared / f"corpus/gii-xml/{name}.xml", tmp_path)
    path = tmp_path / "manifest.yaml"
    path.write_text("documents:\n  - glob: '*.xml'\n", "utf-8")
    return read_manifest(path)


def run(store: EdgeStore, tables: Tables, manifest: Manifest, name: str = NAME) -> dict[str, Any]:
    return reingest(store, tables, name, manifest, LAWS, lambda dimension: HashingEmbedder(dimension or 64))


def whole(store: EdgeStore, name: str) -> dict[str, Any]:
    """Payload, dense and sparse vector of every point."""
    return {
        str(r.id): (r.payload, None if r.dense is None else r.dense.tobytes(), r.sparse)
        for r in store.scroll(name, vectors=True)
    }


@pytest.mark.corpus
def test_the_points_are_the_same_and_every_source_is_read_once(
    store: EdgeStore, tables: Tables, manifest: Manifest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run(store, tables, manifest, "small")
    monkeypatch.setattr(reading, "_LARGE", 1000)
    monkeypatch.setattr(reading, "_processors", lambda: 2)
    monkeypatch.setattr(module, "load", None)  # a source read a second time would fail
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    run(store, tables, manifest)
    assert whole(store, NAME) == whole(store, "small")
    assert {key: value[0] for key, value in whole(store, NAME).items()} == expected_payloads(manifest)
    assert list(scratch.iterdir()) == []


@pytest.mark.corpus
def test_a_later_run_puts_nothing_aside(
    store: EdgeStore, tables: Tables, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_LARGE", 1000)
    run(store, tables, manifest)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("put aside")

    monkeypatch.setattr(module, "put_aside", never)
    report = run(store, tables, manifest)
    assert (report["written"], report["vectors_computed"]) == (0, 0)


@pytest.mark.corpus
def test_chunks_come_back_as_they_were(shared: Path, tmp_path: Path) -> None:
    loaded = load_file(shared / "corpus/gii-xml/bsig-2025_2026-03.xml", LAWS)
    chunks = list(loaded.chunks())
    put_aside(Gathered(None, loaded, chunks), tmp_path)  # type: ignore[arg-type]
    back = take_back(tmp_path, loaded.document.document_id)
    assert [(c.payload, c.embed_text, c.language) for c in back] == [
        (c.payload, c.embed_text, c.language) for c in chunks
    ]
    assert [c.terms for c in back] == [terms_of(Chunk(c.payload, c.embed_text, c.language)) for c in chunks]


@pytest.mark.corpus
def test_no_room_is_one_sentence(shared: Path, tmp_path: Path) -> None:
    loaded = load_file(shared / "corpus/gii-xml/agg_2024-12.xml", LAWS)
    with pytest.raises(SourceError, match=r"cannot be put aside .* TMPDIR .*\.$"):
        put_aside(Gathered(None, loaded, list(loaded.chunks())), tmp_path / "gone")  # type: ignore[arg-type]
