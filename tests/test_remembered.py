"""An unchanged corpus is not read again; whatever differs, or is in doubt, is."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables
from backends.vectors.edge import EdgeStore
from ingest import reingest as module
from ingest import remembered
from ingest.manifest import Manifest, read_manifest
from ingest.reingest import reingest
from ingest.stored import read_points
from ingest.verify import verify
from normalize.laws import LawTable
from tests.payloads import expected_payloads

LAWS = LawTable.builtin()
NAME = "gesetze"
VARYING = ("seconds", "run", "takes")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EdgeStore]:
    with EdgeStore(tmp_path / "home", 2.0) as opened:
        yield opened


class Reading:
    """Counts how often the sources were read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        real = module.read_sources

        def counted(*arguments: Any, **named: Any) -> Any:
            self.times += 1
            return real(*arguments, **named)

        monkeypatch.setattr(module, "read_sources", counted)


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Reading:
    return Reading(monkeypatch)


@pytest.fixture
def folder(shared: Path, tmp_path: Path) -> Path:
    made = tmp_path / "law"
    made.mkdir()
    for name in ("agg_2024-12", "bdsg_2024-07"):
        shutil.copy(shared / f"corpus/gii-xml/{name}.xml", made / f"{name[:3]}.xml")
    (made / "manifest.yaml").write_text("documents:\n  - glob: '*.xml'\n    license: frei\n", "utf-8")
    return made


def manifest(folder: Path) -> Manifest:
    return read_manifest(folder / "manifest.yaml")


def run(store: EdgeStore, tables: Tables, folder: Path, dimension: int = 64) -> dict[str, Any]:
    memory = folder.parent / "cache" / "gesetze.zst"
    return reingest(
        store, tables, NAME, manifest(folder), LAWS, lambda found: HashingEmbedder(found or dimension), memory=memory
    )


@pytest.mark.corpus
def test_an_unchanged_corpus_is_read_once(store: EdgeStore, tables: Tables, folder: Path, reading: Reading) -> None:
    run(store, tables, folder)
    assert reading.times == 1
    report = {key: value for key, value in run(store, tables, folder).items() if key not in VARYING}
    assert reading.times == 1
    (folder.parent / "cache" / "gesetze.zst").unlink()
    read = {key: value for key, value in run(store, tables, folder).items() if key not in VARYING}
    assert reading.times == 2
    assert report == read
    assert (report["written"], report["totals"]["unchanged"]) == (0, report["totals"]["chunks"])


@pytest.mark.corpus
def test_what_is_remembered_of_a_point_is_what_the_store_says(store: EdgeStore, tables: Tables, folder: Path) -> None:
    run(store, tables, folder)
    key = module.memory_key(manifest(folder), module.find_target(store, NAME, lambda _: HashingEmbedder(64)))
    known = remembered.recall(folder.parent / "cache" / "gesetze.zst", key, manifest(folder))
    assert known is not None
    expected = {point.id: point for document in known.expected for point in document.points}
    plain = read_points(store, NAME)
    assert read_points(store, NAME, expected) == plain
    assert [expected[point.id] for point in plain] == plain
    store.overwrite_payloads(NAME, {plain[0].id: {"article_label": "§ 0"}})
    assert read_points(store, NAME, expected) == read_points(store, NAME) != plain


@pytest.mark.corpus
def test_a_lost_point_is_found_and_written(store: EdgeStore, tables: Tables, folder: Path, reading: Reading) -> None:
    run(store, tables, folder)
    store.delete(NAME, [sorted(str(r.id) for r in store.scroll(NAME))[3]])
    assert run(store, tables, folder)["written"] == 1
    assert reading.times == 2
    assert {str(r.id): r.payload for r in store.scroll(NAME)} == expected_payloads(manifest(folder))


@pytest.mark.corpus
@pytest.mark.parametrize("what", ["source", "manifest", "program"])
def test_what_differs_is_read(
    store: EdgeStore, tables: Tables, folder: Path, shared: Path, reading: Reading, what: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    run(store, tables, folder)
    if what == "source":
        shutil.copy(shared / "corpus/gii-xml/bdsg_2024-12.xml", folder / "bds.xml")
    elif what == "manifest":
        (folder / "manifest.yaml").write_text("documents:\n  - glob: '*.xml'\n    license: gemeinfrei\n", "utf-8")
    else:
        monkeypatch.setattr(remembered, "_program_digest", lambda: "another version")
    report = run(store, tables, folder)
    assert reading.times == 2
    assert bool(report["written"] or report["rewritten"]) == (what != "program")
    held = {str(r.id): r.payload for r in store.scroll(NAME)}
    expected = expected_payloads(manifest(folder))
    assert {key: held[key] for key in expected} == expected
    run(store, tables, folder)
    assert reading.times == 2


@pytest.mark.corpus
@pytest.mark.parametrize("damage", [b"", b"nothing of the kind", None])
def test_a_damaged_memory_is_as_none(
    store: EdgeStore, tables: Tables, folder: Path, reading: Reading, damage: bytes | None
) -> None:
    run(store, tables, folder)
    file = folder.parent / "cache" / "gesetze.zst"
    file.write_bytes(file.read_bytes()[:-20] if damage is None else damage)
    assert run(store, tables, folder)["written"] == 0
    assert reading.times == 2


@pytest.mark.corpus
def test_a_source_that_changes_while_it_is_read_is_not_remembered(
    store: EdgeStore, tables: Tables, folder: Path, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module.read_sources

    def and_change(*arguments: Any, **named: Any) -> Any:
        found = real(*arguments, **named)
        shutil.copy(shared / "corpus/gii-xml/bdsg_2024-12.xml", folder / "bds.xml")
        return found

    monkeypatch.setattr(module, "read_sources", and_change)
    run(store, tables, folder)
    monkeypatch.setattr(module, "read_sources", real)
    assert run(store, tables, folder)["written"] > 0
    held = {str(r.id): r.payload for r in store.scroll(NAME)}
    expected = expected_payloads(manifest(folder))
    assert {key: held[key] for key in expected} == expected


@pytest.mark.corpus
def test_verify_reads_the_sources_always(store: EdgeStore, tables: Tables, folder: Path) -> None:
    run(store, tables, folder)
    run(store, tables, folder)
    assert verify(store, tables, NAME, manifest(folder), LAWS, sample=1.0)["ok"]
