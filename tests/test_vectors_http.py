"""The Qdrant store over HTTP: requests counted, faults turned into the right error, foreign servers and secrets."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import numpy as np
import pytest
from qdrant_client import QdrantClient, models

from backends.vectors import open_store
from backends.vectors.batches import BATCH_BYTES
from backends.vectors.checks import payload_bytes
from backends.vectors.qdrant import QdrantStore, connect, without_credentials
from backends.vectors.store import Layout, PointId, SparseVector, Where
from normalize.errors import FundstelleError, StoreError, StoreUnavailableError, UnknownOutcomeError, UsageError
from tests.patience import connect_patiently
from tests.qdrant_app import REQUEST_BYTES, Fault, Kind, QdrantApp, Server, serve
from tests.vectors_fixtures import running_server as running_server
from tests.vectors_fixtures import server as server
from tests.vectors_points import INDEXES, LAYOUT, METADATA, point, uuid_of, vector

WRITES = "PUT|POST|DELETE|PATCH"
POINTS = "/collections/law/points"


@pytest.fixture
def law(server: Server) -> Iterator[QdrantStore]:
    """A store with collection `law` of 30 points; the log is empty."""
    with connect_patiently(server) as store:
        store.create("law", LAYOUT, INDEXES, METADATA)  # type: ignore[arg-type]
        store.upsert("law", [point(number) for number in range(30)])
        server.log.clear()
        yield store


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class TestRequests:
    def test_each_batch_is_sent_exactly_once_and_is_bounded(self, law: QdrantStore, server: Server) -> None:
        text = "Die Verarbeitung ist rechtmäßig. " * 3000  # about 100 KB a point
        points = [replace(point(n), payload={**point(n).payload, "chunk_text": text}) for n in range(100)]
        law.upsert("law", points)
        sizes = [seen.bytes for seen in server.log]
        assert {(seen.method, seen.path) for seen in server.log} == {("PUT", POINTS)}
        assert len(sizes) == 3 and max(sizes) <= BATCH_BYTES
        assert sum(sizes) >= 100 * payload_bytes("law", 0, points[0].payload)
        assert law.count("law") == 100

    def test_the_estimate_is_above_what_is_sent_also_for_long_numbers(self, server: Server) -> None:
        layout = Layout(dimension=1024)
        awkward = np.float32(-1.1754943508222875e-38) * np.linspace(1, 9, 1024, dtype=np.float32)
        sparse = SparseVector(tuple(range(2**32 - 500, 2**32)), (float(np.float32(1 / 3)),) * 500)
        with connect(server.url, None, 5) as store:
            store.create("law", layout, {}, {})
            server.log.clear()
            for rows in (awkward, vector(1, 1024) * np.float32(1e-30)):
                store.upsert("law", [replace(point(n), dense=rows, sparse=sparse) for n in range(400)])
        assert len(server.log) > 2 and max(seen.bytes for seen in server.log) <= BATCH_BYTES

    def test_other_writes_are_single_requests_too(self, law: QdrantStore, server: Server) -> None:
        law.delete("law", [uuid_of(number) for number in range(10)])
        law.overwrite_payloads("law", {uuid_of(number): {"new": number} for number in range(10, 20)})
        assert [(seen.method, seen.path) for seen in server.log] == [
            ("POST", f"{POINTS}/delete"),
            ("POST", POINTS),  # do they exist?
            ("POST", f"{POINTS}/batch"),
        ]

    def test_empty_calls_send_nothing(self, law: QdrantStore, server: Server) -> None:
        law.upsert("law", [])
        law.delete("law", [])
        law.overwrite_payloads("law", {})
        assert law.retrieve("law", []) == []
        assert server.log == []

    def test_a_scroll_asks_once_a_page(self, law: QdrantStore, server: Server) -> None:
        assert len(list(law.scroll("law", batch=10))) == 30
        assert len(server.log) == 3

    def test_the_server_refuses_what_is_too_large_and_we_never_send_it(self, law: QdrantStore, server: Server) -> None:
        answer = httpx.put(server.url + POINTS, content=b" " * (REQUEST_BYTES + 1))
        assert answer.status_code == 413
        server.log.clear()
        huge = replace(point(50), payload={"chunk_id": "c" * 40, "chunk_text": "x" * REQUEST_BYTES})
        with pytest.raises(StoreError, match=f"Chunk {'c' * 40} .* split the chunk"):
            law.upsert("law", [point(49), huge])
        assert server.log == []


def upsert(store: QdrantStore) -> None:
    store.upsert("law", [point(number) for number in range(100, 104)])


def overwrite(store: QdrantStore) -> None:
    store.overwrite_payloads("law", {uuid_of(number): {"new": number} for number in range(4)})


def delete(store: QdrantStore) -> None:
    store.delete("law", [uuid_of(number) for number in range(4)])


def applied(store: QdrantStore, write: Callable[[QdrantStore], None]) -> int:
    """Return how many of the write's four points were reached."""
    if write is upsert:
        return len(store.retrieve("law", [uuid_of(number) for number in range(100, 104)]))
    found = store.retrieve("law", [uuid_of(number) for number in range(4)])
    return 4 - len(found) if write is delete else sum("new" in record.payload for record in found)


TARGETS = {"upsert": ("PUT", "points$"), "overwrite": ("POST", "batch$"), "delete": ("POST", "delete$")}


class TestWriteFaults:
    """(fault, error, how many of four points are applied): the kind of error says whether reading must come first."""

    TABLE: tuple[tuple[Kind, type[FundstelleError], int], ...] = (
        ("500", UnknownOutcomeError, 0),
        ("500_after", UnknownOutcomeError, 4),
        ("timeout_before", UnknownOutcomeError, 0),
        ("timeout_after", UnknownOutcomeError, 4),
        ("reset_before", UnknownOutcomeError, 0),
        ("reset_after", UnknownOutcomeError, 4),
        ("slow_drip", UnknownOutcomeError, 4),
        ("acknowledged", UnknownOutcomeError, 4),
        ("acknowledged_lost", UnknownOutcomeError, 0),
        ("html", UnknownOutcomeError, 0),
    )

    @pytest.mark.parametrize("write", [upsert, overwrite, delete], ids=lambda write: write.__name__)
    @pytest.mark.parametrize(("kind", "error", "reached"), TABLE, ids=[row[0] for row in TABLE])
    def test_the_write_is_sent_once_and_its_fate_is_said(
        self,
        law: QdrantStore,
        server: Server,
        write: Callable[[QdrantStore], None],
        kind: Kind,
        error: type[FundstelleError],
        reached: int,
    ) -> None:
        method, path = TARGETS[write.__name__]
        seconds = 1.3 if "timeout" in kind else 60.0
        server.faults.add(Fault(kind, method, path, seconds=seconds))
        with pytest.raises(error) as caught:
            write(law)
        assert type(caught.value) is error
        assert "'law'" in str(caught.value) and "\n" not in str(caught.value)
        assert sum(seen.method == method and seen.path.endswith(path.rstrip("$")) for seen in server.log) == 1
        assert applied(law, write) == reached
        write(law)  # the fault is over; writing again gives the same end
        assert applied(law, write) == 4

    def test_half_of_a_batch_and_then_400_is_a_refusal_with_the_servers_reason(
        self, law: QdrantStore, server: Server
    ) -> None:
        server.faults.add(Fault("half_400", "PUT"))
        with pytest.raises(StoreError, match="injected after half") as caught:
            upsert(law)
        assert type(caught.value) is StoreError
        assert applied(law, upsert) == 2, "reading back is what finds this"

    def test_a_server_that_says_completed_and_drops_the_points_is_found_by_reading(
        self, law: QdrantStore, server: Server
    ) -> None:
        server.faults.add(Fault("dropped_200", "PUT"))
        upsert(law)
        assert applied(law, upsert) == 0

    def test_too_busy_is_waited_for_because_nothing_was_touched(self, server: Server, law: QdrantStore) -> None:
        pauses: list[float] = []
        client = QdrantClient(url=server.url, check_compatibility=False)
        with QdrantStore(client, server.url, pause=pauses.append) as store:
            server.faults.add(Fault("429", "PUT", times=2))
            upsert(store)
            assert pauses == [1.0, 1.0]
            assert applied(store, upsert) == 4
            server.faults.add(Fault("429", "PUT", times=99))
            with pytest.raises(StoreError, match="too busy") as caught:
                upsert(store)
            assert type(caught.value) is StoreError
            assert len(pauses) == 5

    def test_the_first_batches_of_an_upload_stay_when_a_later_one_fails(self, law: QdrantStore, server: Server) -> None:
        text = "x" * 1_000_000
        points = [replace(point(n), payload={"chunk_id": str(n), "chunk_text": text}) for n in range(200, 212)]
        server.faults.add(Fault("500", "PUT", skip=2))
        with pytest.raises(UnknownOutcomeError):
            law.upsert("law", points)
        assert [seen.method for seen in server.log] == ["PUT"] * 3
        assert law.count("law") == 30 + 8

    def test_creating_and_metadata(self, law: QdrantStore, server: Server) -> None:
        server.faults.add(Fault("reset_after", "PUT", "/collections/new$"))
        with pytest.raises(UnknownOutcomeError, match="'new'"):
            law.create("new", LAYOUT, {}, {})
        server.faults.add(Fault("500", "PATCH"))
        with pytest.raises(UnknownOutcomeError, match="'law'"):
            law.set_metadata("law", {"a": 1})
        server.faults.add(Fault("timeout_before", "PUT", "/index$", seconds=1.3))
        with pytest.raises(UnknownOutcomeError):
            law.ensure_indexes("law", {"document_id": "keyword"})
        assert law.ensure_indexes("law", {"document_id": "keyword"}) == ["document_id"]


class TestReadFaults:
    READS: tuple[tuple[str, Callable[[QdrantStore], object]], ...] = (
        ("count", lambda store: store.count("law")),
        ("scroll", lambda store: list(store.scroll("law"))),
        ("retrieve", lambda store: store.retrieve("law", [uuid_of(1)])),
        ("dense", lambda store: store.query_dense("law", vector(1), 5)),
        ("sparse", lambda store: store.query_sparse("law", SparseVector((1,), (1.0,)), 5)),
        ("batch", lambda store: store.query_batch("law", [(vector(1), None), (vector(2), None)], 5)),
        ("collections", lambda store: store.collections()),
        ("describe", lambda store: store.describe("law")),
    )
    FAULTS: tuple[tuple[Kind, type[FundstelleError]], ...] = (
        ("500", StoreError),
        ("html", StoreError),
        ("reset_before", StoreUnavailableError),
        ("timeout_before", StoreUnavailableError),
    )

    @pytest.mark.parametrize(("kind", "error"), FAULTS, ids=[row[0] for row in FAULTS])
    @pytest.mark.parametrize("read", [row[1] for row in READS], ids=[row[0] for row in READS])
    def test_a_read_that_fails_is_one_sentence(
        self,
        law: QdrantStore,
        server: Server,
        read: Callable[[QdrantStore], object],
        kind: Kind,
        error: type[FundstelleError],
    ) -> None:
        server.faults.add(Fault(kind, seconds=1.3))
        with pytest.raises(error) as caught:
            read(law)
        assert type(caught.value) is error
        assert server.url in str(caught.value) and "\n" not in str(caught.value)
        assert read(law) is not None

    def test_a_scroll_that_breaks_in_the_middle_does_not_end_quietly(self, law: QdrantStore, server: Server) -> None:
        server.faults.add(Fault("reset_before", path="scroll$", skip=1))
        seen: list[PointId] = []
        with pytest.raises(StoreUnavailableError):
            seen.extend(record.id for record in law.scroll("law", batch=10))
        assert len(set(seen)) <= 10

    def test_counts_are_asked_exactly(self, law: QdrantStore, server: Server) -> None:
        # The test server answers a count that is not asked exactly with 400.
        inexact = httpx.post(f"{server.url}{POINTS}/count", json={"exact": False})
        assert inexact.status_code == 400
        assert law.count("law") == 30

    def test_a_wrong_count_is_not_hidden(self, law: QdrantStore, server: Server) -> None:
        server.faults.add(Fault("wrong_count", path="count$"))
        assert law.count("law") == 20  # what verify compares with the ids it scrolls
        assert len(list(law.scroll("law"))) == 30

    def test_strict_mode_wants_indexes_first(self) -> None:
        with serve(QdrantApp(strict=True)) as strict, connect(strict.url, None, 5) as store:
            store.create("law", LAYOUT, {}, {})
            where = Where({"regulation_code": ["BDSG"]}, {"is_recital": [True]})
            with pytest.raises(StoreError, match="Index required but not found"):
                store.count("law", where)
            store.ensure_indexes("law", {"regulation_code": "keyword", "is_recital": "bool"})
            assert store.count("law", where) == 0


class TestConnecting:
    def test_nothing_listens(self) -> None:
        url = f"http://operator:hunter2@127.0.0.1:{free_port()}"
        with pytest.raises(StoreUnavailableError, match="cannot be reached") as caught:
            connect(url, "secret-key", 1)
        message = str(caught.value)
        assert "hunter2" not in message and "secret-key" not in message and "127.0.0.1" in message
        assert "QDRANT_URL" in message and "\n" not in message

    def test_a_server_that_goes_away(self) -> None:
        with serve() as server:
            store = connect(server.url, None, 5)
            store.create("law", LAYOUT, {}, {})
        with pytest.raises(StoreUnavailableError):
            store.count("law")
        with pytest.raises(StoreUnavailableError):
            store.upsert("law", [point(1)])
        store.close()

    def test_something_else_listens(self, server: Server) -> None:
        server.faults.add(Fault("html"))
        with pytest.raises(StoreError, match="not one of Qdrant's"):
            connect(server.url, None, 5)

    @pytest.mark.parametrize("url", ["ftp://host", "http://", "http://host:port"])
    def test_an_impossible_address(self, url: str) -> None:
        with pytest.raises(UsageError, match="address"):
            connect(url, None, 1)

    def test_the_api_key_is_sent_and_never_shown(self, caplog: pytest.LogCaptureFixture) -> None:
        with serve(QdrantApp(api_key="right-key")) as server:
            with connect(server.url, "right-key", 5) as store:
                assert store.collections() == []
            for wrong in (None, "wrong-key"):
                with (
                    connect(server.url, wrong, 5) as store,
                    pytest.raises(StoreError, match="QDRANT_API_KEY") as caught,
                ):
                    store.create("law", LAYOUT, {}, {})
                assert "key" not in str(caught.value).replace("QDRANT_API_KEY", "").replace("API key", "")
                assert "key" not in store.where
        assert "unencrypted" in caplog.text
        assert "right-key" not in caplog.text and "wrong-key" not in caplog.text

    def test_open_store_takes_the_server_where_there_is_a_url(self, server: Server, tmp_path: Path) -> None:
        with open_store(home=tmp_path, url=server.url, api_key=None, timeout=5, lock_timeout=1) as store:
            assert store.where == server.url
            assert store.collections() == []
        assert list(tmp_path.iterdir()) == []

    def test_a_url_without_scheme_is_http(self, server: Server) -> None:
        with connect(server.url.removeprefix("http://"), None, 5) as store:
            assert store.where == server.url

    def test_credentials_are_taken_out_of_urls(self) -> None:
        assert without_credentials("https://a:b@host:6333/path?api-key=x") == "https://host:6333/path"

    def test_a_server_that_drops_metadata_is_too_old(self) -> None:
        too_old = pytest.raises(StoreError, match=r"did not keep model, model_dimension .* Qdrant 1\.16")
        with serve(QdrantApp(keeps_metadata=False)) as server, connect(server.url, None, 5) as store, too_old:
            store.create("law", LAYOUT, {}, METADATA)


class TestForeignCollections:
    """Collections that others made: described as they are, written to as they are, never changed."""

    def test_unnamed_vector_without_sparse(self, server: Server) -> None:
        client = QdrantClient(url=server.url, check_compatibility=False)
        client.create_collection("old", models.VectorParams(size=1024, distance=models.Distance.COSINE))
        client.upsert("old", [models.PointStruct(id=7, vector=[0.1] * 1024, payload={"section": "§ 38"})])
        with connect(server.url, None, 5) as store:
            about = store.describe("old")
            assert about is not None
            assert about.layout == Layout(dimension=1024, dense="", sparse=None)
            assert (about.indexes, about.metadata, about.points) == ({}, {}, 1)
            new = replace(point(1), dense=vector(1, 1024), sparse=None)
            store.upsert("old", [new])
            assert {record.id for record in store.scroll("old")} == {7, new.id}
            assert store.query_dense("old", vector(1, 1024), 1)[0].id == new.id
            with pytest.raises(StoreError, match="1024 dimensions"):
                store.upsert("old", [point(2)])
        assert client.get_collection("old").config.params.vectors == models.VectorParams(
            size=1024, distance=models.Distance.COSINE
        )

    def test_several_vectors(self, server: Server) -> None:
        client = QdrantClient(url=server.url, check_compatibility=False)
        size = models.VectorParams(size=4, distance=models.Distance.DOT)
        client.create_collection("both", {"dense": size, "image": size})
        client.create_collection("neither", {"text": size, "image": size})
        plain = {"splade": models.SparseVectorParams()}
        client.create_collection("foreign-sparse", {"text": size}, sparse_vectors_config=plain)
        with connect(server.url, None, 5) as store:
            both, foreign = store.describe("both"), store.describe("foreign-sparse")
            assert both is not None and both.layout == Layout(4, "dense", None, "Dot")
            assert foreign is not None and foreign.layout == Layout(4, "text", None, "Dot")
            with pytest.raises(StoreError, match="2 dense vectors"):
                store.describe("neither")

    def test_an_alias_is_switched_in_one_request(self, law: QdrantStore, server: Server) -> None:
        law.create("law.v2", LAYOUT, {}, {})
        law.switch_alias("current", "law")
        server.log.clear()
        law.switch_alias("current", "law.v2")
        assert [seen.path for seen in server.log if seen.method != "GET"] == ["/collections/aliases"]
        assert law.aliases() == {"current": "law.v2"}

    def test_an_alias_is_read_like_its_collection(self, law: QdrantStore, server: Server) -> None:
        client = QdrantClient(url=server.url, check_compatibility=False)
        alias = models.CreateAlias(collection_name="law", alias_name="current")
        client.update_collection_aliases([models.CreateAliasOperation(create_alias=alias)])
        assert law.count("current") == 30
        assert len(list(law.scroll("current", vectors=True))) == 30


def test_the_app_runs_as_a_process_with_faults_set_over_http() -> None:
    port = free_port()
    script = Path(__file__).with_name("qdrant_app.py")
    process = subprocess.Popen([sys.executable, str(script), "--port", str(port)])
    url = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 30
        while True:
            try:
                store = connect(url, None, 2)
                break
            except StoreUnavailableError:
                assert time.monotonic() < until
                time.sleep(0.1)
        with store:
            store.create("law", LAYOUT, {}, METADATA)
            httpx.post(f"{url}/_faults", content=json.dumps({"kind": "500", "method": "PUT"})).raise_for_status()
            with pytest.raises(UnknownOutcomeError):
                store.upsert("law", [point(1)])
            store.upsert("law", [point(1)])
            assert store.count("law") == 1
        log = httpx.get(f"{url}/_log").json()
        assert [seen["method"] for seen in log if seen["path"] == POINTS] == ["PUT", "PUT"]
    finally:
        process.kill()
        process.wait()
