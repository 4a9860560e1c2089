"""The public faults of other ingest tools (shared/INGEST-FAULTS.md): each row a test that fundstelle does not have it.

`ROWS` says which test stands for which row; most are here, on a server whose every request is logged.
"""

import importlib
import json
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables
from backends.tables.locks import collection_lock
from backends.tables.runs import document_states
from backends.vectors.batches import BATCH_BYTES
from backends.vectors.edge import EdgeStore
from backends.vectors.qdrant import QdrantStore
from backends.vectors.store import Floats, Layout, Point, SparseVector
from ingest import certain
from ingest.manifest import Manifest, read_manifest
from ingest.prune import prune
from ingest.reingest import reingest
from ingest.verify import verify
from normalize.errors import ContractError, FundstelleError, GateError, LockedError, StoreError
from normalize.identity import point_id
from normalize.laws import LawTable
from tests.patience import connect_patiently
from tests.payloads import expected_payloads
from tests.qdrant_app import Fault, Seen, Server
from tests.vectors_fixtures import running_server, server
from tests.vectors_points import INDEXES, LAYOUT, METADATA, point

__all__ = ["running_server", "server"]

EXAMPLES = Path(__file__).parent.parent / "examples"
MANIFEST = read_manifest(EXAMPLES / "manifest.yaml")
LAWS = LawTable.builtin()
NAME = "beispiel"
OLD = {"regulation_id": "leihradg_alt", "section": "§ 1", "paragraph": "(1)", "document_version": "1.0",
       "chunk_text": "Alter Text."}  # fmt: skip

HERE = "tests.test_ingest_faults"
ROWS = {
    "langchain#39937, #40226": f"{HERE}.test_a_ledger_that_says_done_is_not_believed",
    "langchain#22135": f"{HERE}.test_an_unchanged_run_deletes_and_adds_nothing",
    "langchain PR#5515, llama_index PR#22046": f"{HERE}.test_equal_texts_keep_a_chunk_each_and_equal_ids_are_an_error",
    "llama_index#22638, #19579": f"{HERE}.test_a_document_that_failed_is_not_skipped_the_next_time",
    "llama_index (UPSERTS)": f"{HERE}.test_old_points_outlive_an_embedder_that_fails",
    "langflow#12641, rowboat PR#622": f"{HERE}.test_a_collection_does_not_grow_by_being_run_again",
    "qdrant#9364, #9521": f"{HERE}.test_half_a_batch_or_none_applied_is_read_back_and_mended",
    "qdrant#3654, qdrant-client#138": f"{HERE}.test_a_time_out_is_settled_by_reading",
    "qdrant-client#463, pr-agent#3545": f"{HERE}.test_batches_are_bounded_by_bytes",
    "qdrant#2775, #10120": f"{HERE}.test_counts_are_exact",
    "qdrant#9789 (edge)": f"{HERE}.test_distinct_ids_are_counted_while_the_engine_optimizes",
    "qdrant-client#408, Engram#626": f"{HERE}.test_indexes_are_made_first_and_strict_mode_is_no_obstacle",
    "qdrant#6401, #6556": f"{HERE}.test_points_are_deleted_by_id_only",
    "qdrant#9579": f"{HERE}.test_every_write_waits",
    "qdrant#7813": "tests.test_estimate.test_a_run_that_does_not_fit_is_refused_before_its_first_write",
    "qdrant-client#1018": f"{HERE}.test_a_second_writer_is_told_which_lock_is_held",
    "qdrant-client#545, #973": f"{HERE}.test_a_batch_is_sent_once_and_a_stalled_server_noticed",
    "dlt#3023, #4052": "tests.test_crash_matrix.test_killed_and_run_again",
    "deja-vu#1098": f"{HERE}.test_decomposed_letters_are_composed_before_hashing",
    "openrag PR#671": f"{HERE}.test_a_failure_deletes_nothing",
    "migration PR#287": f"{HERE}.test_what_was_written_since_the_receipt_stops_the_delete",
    "edge engine": f"{HERE}.test_no_point_of_a_call_with_a_bad_one_is_stored",
}


def test_every_row_of_the_list_has_its_test(shared: Path) -> None:
    rows = [
        re.sub(r" \(seen again.*", "", line.split(" | ")[0].removeprefix("| ").strip())
        for line in (shared / "INGEST-FAULTS.md").read_text("utf-8").splitlines()
        if line.startswith("| ") and not line.startswith(("| seen at", "|---"))
    ]
    assert rows == list(ROWS)
    for path in ROWS.values():
        module, _, name = path.rpartition(".")
        assert callable(getattr(importlib.import_module(module), name)), path


@pytest.fixture
def store(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[QdrantStore]:
    """A server whose log is empty."""
    monkeypatch.setattr(certain, "_PAUSE", 0.01)
    with connect_patiently(server) as made:
        yield made


def embedder_for(dimension: int | None) -> HashingEmbedder:
    return HashingEmbedder(dimension or 32)


def run(store: Any, tables: Tables, manifest: Manifest = MANIFEST, embedder: Any = embedder_for) -> dict[str, Any]:
    return reingest(store, tables, NAME, manifest, LAWS, embedder)


def held(store: Any) -> dict[str, dict[str, Any]]:
    return {str(record.id): record.payload for record in store.scroll(NAME)}


def put_old(store: Any, count: int = 3) -> list[str]:
    """A collection as an older pipeline left it."""
    store.create(NAME, Layout(dimension=32), {}, {})
    ids = [f"00000000-0000-4000-8000-{number:012d}" for number in range(count)]
    vectors = np.eye(32, dtype=np.float32)
    store.upsert(NAME, [Point(old, vectors[n], SparseVector((1,), (1.0,)), OLD) for n, old in enumerate(ids)])
    return ids


def writes(log: Sequence[Seen]) -> list[Seen]:
    """Requests that change points."""
    ends = ("/points", "/points/delete", "/points/payload", "/points/batch")
    reads = {("POST", "/points")}
    return [s for s in log if s.path.endswith(ends) and (s.method, s.path[s.path.rindex("/") :]) not in reads]


def law(folder: Path, *texts: str, name: str = "X1") -> Path:
    """A small statute of one paragraph a text."""
    norms = "".join(
        f"<norm><metadaten><jurabk>XPrüfG</jurabk><enbez>§ {number}</enbez></metadaten><textdaten>"
        f'<text format="XML"><Content><P>{text}</P></Content></text></textdaten></norm>'
        for number, text in enumerate(texts, 1)
    )
    path = folder / f"{name}.xml"
    path.write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE dokumente SYSTEM '
        '"http://www.gesetze-im-internet.de/dtd/1.01/gii-norm.dtd">\n<dokumente builddate="20240101000000" '
        f'doknr="{name}"><norm><metadaten><jurabk>XPrüfG</jurabk></metadaten></norm>{norms}</dokumente>',
        "utf-8",
    )
    return path


def manifest_of(folder: Path, *files: Path, extra: str = "") -> Manifest:
    path = folder / "manifest.yaml"
    path.write_text("documents:\n" + "".join(f"  - path: {file.name}\n{extra}" for file in files), "utf-8")
    return read_manifest(path)


def test_a_ledger_that_says_done_is_not_believed(store: QdrantStore, tables: Tables) -> None:
    run(store, tables)
    expected = expected_payloads(MANIFEST)
    lost = sorted(expected)[1:]
    store.delete(NAME, lost)
    assert {state.state for state in document_states(tables, NAME).values()} == {"uploaded"}
    report = verify(store, tables, NAME, MANIFEST, LAWS)
    assert not report["ok"] and report["checks"][0]["failed"] == len(lost)
    assert run(store, tables)["written"] == len(lost)
    assert held(store) == expected


def test_an_unchanged_run_deletes_and_adds_nothing(store: QdrantStore, server: Server, tables: Tables) -> None:
    run(store, tables)
    server.log.clear()
    report = run(store, tables)
    assert (report["written"], report["rewritten"], report["vectors_computed"]) == (0, 0, 0)
    assert server.log and not writes(server.log)


def test_equal_texts_keep_a_chunk_each_and_equal_ids_are_an_error(
    store: QdrantStore, tables: Tables, tmp_path: Path
) -> None:
    same = law(tmp_path, "Das Nähere regelt eine Verordnung.", "Das Nähere regelt eine Verordnung.")
    manifest = manifest_of(tmp_path, same)
    run(store, tables, manifest)
    assert sorted(p["article"] for p in held(store).values()) == ["1", "2"]
    assert len({p["chunk_hash"] for p in held(store).values()}) == 1
    twice = law(tmp_path, "Das Nähere regelt eine Verordnung.", name="X2")
    twice.write_bytes(same.read_bytes())
    with pytest.raises(FundstelleError, match=r"X1\.xml and X2\.xml are both document X1"):
        run(store, tables, manifest_of(tmp_path, same, twice))
    assert len(held(store)) == 2


def test_a_document_that_failed_is_not_skipped_the_next_time(
    store: QdrantStore, server: Server, tables: Tables
) -> None:
    server.faults.add(Fault("500", method="PUT", path="/points$", times=50))
    with pytest.raises(StoreError):
        run(store, tables)
    assert document_states(tables, NAME) == {}
    server.faults.clear()
    assert run(store, tables)["written"] == len(expected_payloads(MANIFEST))
    assert held(store) == expected_payloads(MANIFEST)


class Failing(HashingEmbedder):
    """Fails at the second batch."""

    def embed(self, texts: Sequence[str]) -> Floats:
        raise StoreError("The embedder is gone.")


def test_old_points_outlive_an_embedder_that_fails(store: QdrantStore, server: Server, tables: Tables) -> None:
    old = put_old(store)
    server.log.clear()
    with pytest.raises(StoreError, match="embedder is gone"):
        run(store, tables, embedder=lambda dimension: Failing(dimension or 32))
    assert set(held(store)) == set(old)
    assert not [seen for seen in writes(server.log) if "delete" in seen.path]


def test_a_collection_does_not_grow_by_being_run_again(store: QdrantStore, tables: Tables) -> None:
    run(store, tables)
    ids = set(held(store))
    for _ in range(3):
        run(store, tables)
    assert set(held(store)) == ids
    assert store.count(NAME) == len(ids)


@pytest.mark.parametrize("kind", ["half_400", "dropped_200", "acknowledged_lost", "500_after"])
def test_half_a_batch_or_none_applied_is_read_back_and_mended(
    store: QdrantStore, server: Server, tables: Tables, kind: Any
) -> None:
    server.faults.add(Fault(kind, method="PUT", path="/points$"))
    for _ in range(3):
        try:
            run(store, tables)
            break
        except StoreError as error:
            assert str(error).endswith(".")
    assert held(store) == expected_payloads(MANIFEST)


@pytest.mark.parametrize("kind", ["timeout_before", "timeout_after", "reset_before", "reset_after"])
def test_a_time_out_is_settled_by_reading(store: QdrantStore, server: Server, tables: Tables, kind: Any) -> None:
    server.faults.add(Fault(kind, method="PUT", path="/points$", seconds=1.5))
    server.log.clear()
    run(store, tables)
    assert held(store) == expected_payloads(MANIFEST)
    sent = [seen for seen in server.log if seen.method == "PUT" and seen.path.endswith("/points")]
    assert len(sent) == (1 if kind.endswith("after") else 2)


def test_batches_are_bounded_by_bytes(store: QdrantStore, server: Server) -> None:
    store.create("gross", Layout(dimension=32, sparse=None), {}, {})
    vector = np.eye(32, dtype=np.float32)[0]
    long = [Point(number, vector, None, {"chunk_id": str(number), "chunk_text": "ä" * 400_000}) for number in range(20)]
    server.log.clear()
    store.upsert("gross", long)
    sent = [seen.bytes for seen in server.log if seen.method == "PUT"]
    assert len(sent) >= 4 and max(sent) <= BATCH_BYTES + 100_000
    oversize = Point(99, vector, None, {"chunk_id": "abc123", "chunk_text": "ä" * 20_000_000})
    server.log.clear()
    with pytest.raises(StoreError, match="abc123"):
        store.upsert("gross", [*long[:2], oversize])
    assert not server.log  # nothing of the call was sent


def test_counts_are_exact(store: QdrantStore, server: Server, tables: Tables) -> None:
    """The test server refuses any count that is not exact; a wrong one fails the verification."""
    run(store, tables)
    server.log.clear()
    assert verify(store, tables, NAME, MANIFEST, LAWS)["ok"]
    assert [seen for seen in server.log if seen.path.endswith("/points/count")]
    server.faults.add(Fault("wrong_count", method="POST", path="/points/count", times=9))
    assert not verify(store, tables, NAME, MANIFEST, LAWS)["ok"]


def test_distinct_ids_are_counted_while_the_engine_optimizes(tmp_path: Path) -> None:
    with EdgeStore(tmp_path, 1.0) as edge:
        edge.create("law", LAYOUT, INDEXES, METADATA)
        for _ in range(6):  # the same points over and over: versions pile up until the engine clears them away
            edge.upsert("law", [point(number) for number in range(400)])
            ids = [record.id for record in edge.scroll("law")]
            assert edge.count("law") == len(ids) == len(set(ids)) == 400


def test_indexes_are_made_first_and_strict_mode_is_no_obstacle(
    store: QdrantStore, server: Server, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server.app, "_strict", True)
    server.log.clear()
    run(store, tables)
    assert verify(store, tables, NAME, MANIFEST, LAWS)["ok"]
    last_index = max(n for n, seen in enumerate(server.log) if seen.path.endswith("/index"))
    first_point = min(n for n, seen in enumerate(server.log) if seen.path.endswith("/points") and seen.method == "PUT")
    assert last_index < first_point


def test_points_are_deleted_by_id_only(store: QdrantStore, server: Server, tables: Tables, tmp_path: Path) -> None:
    old = put_old(store)
    run(store, tables)
    assert verify(store, tables, NAME, MANIFEST, LAWS)["ok"]
    server.log.clear()
    prune(store, tables, NAME, MANIFEST, LAWS, tmp_path)
    deletes = [seen for seen in server.log if seen.path.endswith("/points/delete")]
    assert deletes and all("points" in seen.keys and "filter" not in seen.keys for seen in deletes)
    assert not set(old) & set(held(store))


def test_every_write_waits(store: QdrantStore, server: Server, tables: Tables, tmp_path: Path) -> None:
    put_old(store)
    server.log.clear()
    run(store, tables)
    verify(store, tables, NAME, MANIFEST, LAWS)
    prune(store, tables, NAME, MANIFEST, LAWS, tmp_path)
    changed = writes(server.log)
    assert Counter(seen.path.rpartition("/")[2] for seen in changed).keys() >= {"points", "delete"}
    assert all("wait=true" in seen.query for seen in changed), changed


def test_a_second_writer_is_told_which_lock_is_held(store: QdrantStore, tables: Tables) -> None:
    """One writer a collection, across processes and hosts: Postgres' lock (the engine's own: test_vectors_edge)."""
    with collection_lock(tables, NAME), pytest.raises(LockedError, match=NAME) as caught:
        run(store, tables)
    assert caught.value.exit_code == 4


def test_a_batch_is_sent_once_and_a_stalled_server_noticed(store: QdrantStore, server: Server, tables: Tables) -> None:
    server.log.clear()
    run(store, tables)
    assert len([s for s in server.log if s.method == "PUT" and s.path.endswith("/points")]) == 1
    server.faults.add(Fault("slow_drip", method="POST", path="/points/scroll", times=9, seconds=60.0))
    started = time.monotonic()
    with pytest.raises(StoreError):
        run(store, tables)
    assert time.monotonic() - started < 30


def test_decomposed_letters_are_composed_before_hashing(store: QdrantStore, tables: Tables, tmp_path: Path) -> None:
    text = "Die Prüfung der Größe erfolgt jährlich."
    run(store, tables, manifest_of(tmp_path, law(tmp_path, unicodedata.normalize("NFD", text))))
    [payload] = held(store).values()
    assert payload["chunk_text"] == text == unicodedata.normalize("NFC", payload["chunk_text"])
    composed = tmp_path / "nfc"
    composed.mkdir()
    [same] = expected_payloads(manifest_of(composed, law(composed, text))).values()
    assert same["chunk_hash"] == payload["chunk_hash"]


@pytest.mark.parametrize(("method", "path"), [("PUT", "/points$"), ("PUT", "/index$"), ("POST", "/points/scroll")])
def test_a_failure_deletes_nothing(store: QdrantStore, server: Server, tables: Tables, method: str, path: str) -> None:
    old = put_old(store)
    server.log.clear()
    server.faults.add(Fault("500", method=method, path=path, times=50))
    with pytest.raises(FundstelleError):
        run(store, tables)
    server.faults.clear()
    assert not [seen for seen in server.log if seen.method == "DELETE" or "delete" in seen.path]
    assert set(old) <= set(held(store))


def test_what_was_written_since_the_receipt_stops_the_delete(
    store: QdrantStore, tables: Tables, tmp_path: Path
) -> None:
    old = put_old(store)
    run(store, tables)
    assert verify(store, tables, NAME, MANIFEST, LAWS)["ok"]
    late = "00000000-0000-4000-8000-0000000000ff"
    store.upsert(NAME, [Point(late, np.eye(32, dtype=np.float32)[9], SparseVector((1,), (1.0,)), OLD)])
    with pytest.raises(GateError, match="changed since the receipt"):
        prune(store, tables, NAME, MANIFEST, LAWS, tmp_path)
    assert {*old, late} <= set(held(store))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_no_point_of_a_call_with_a_bad_one_is_stored(tmp_path: Path, bad: float) -> None:
    with EdgeStore(tmp_path, 1.0) as edge:
        edge.create("law", LAYOUT, INDEXES, METADATA)
        good = [point(number) for number in range(5)]
        assert good[3].dense is not None
        broken = good[3].dense.copy()
        broken[0] = bad
        with pytest.raises(StoreError):
            edge.upsert("law", [*good[:3], replace(good[3], dense=broken), good[4]])
        assert edge.count("law") == 0


def test_the_examples_are_what_these_tests_think(shared: Path) -> None:
    assert len(expected_payloads(MANIFEST)) == 25
    assert point_id("8d5332772031aa48d65d8a522d66c988937c04ac") == "8d533277-2031-5a48-965d-8a522d66c988"
    assert json.loads((EXAMPLES / "legacy_points.jsonl").read_text("utf-8").splitlines()[0])["payload"]
    assert issubclass(ContractError, FundstelleError)
