"""The web service: both shapes, the key, the limits, no route that writes, and whatever a client may send."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance
from starlette.testclient import TestClient

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables
from backends.vectors.edge import EdgeStore
from backends.vectors.store import Layout, Point
from ingest.manifest import read_manifest
from ingest.reingest import reingest
from normalize.laws import LawTable
from retrieve.answer import response
from retrieve.search import Answer, SearchOptions, search
from retrieve.serve import MOST_BYTES, create_app

LAWS = LawTable.builtin()
EXAMPLES = Path(__file__).parent.parent / "examples"
KEY = "geheim-123"


@pytest.fixture(scope="module")
def find(shared_tables: Tables, tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    with EdgeStore(tmp_path_factory.mktemp("serve"), 5.0) as store:
        reingest(
            store, shared_tables, "dienst", read_manifest(EXAMPLES / "manifest.yaml"), LAWS,
            lambda d: HashingEmbedder(d or 256),
        )  # fmt: skip

        def ask(collection: str | None, question: str, options: SearchOptions) -> Answer:
            return search(store, collection or "dienst", HashingEmbedder(256), question, LAWS, options)

        yield ask


@pytest.fixture
def client(find: object) -> TestClient:
    return TestClient(create_app(find))  # type: ignore[arg-type]


def test_the_consumers_route_gives_the_fields_of_the_contract(client: TestClient) -> None:
    got = client.post("/sdk/v1/rag/search", json={"query": "Ab wann brauche ich einen Radbeauftragten?", "top_k": 3})
    assert got.status_code == 200
    results = got.json()["results"]
    assert len(results) == 3 and set(response({}, 0.0)) <= set(results[0])
    assert results[0]["source"] == results[0]["article_label"]


def test_the_retrievers_route_gives_raw_scores(client: TestClient) -> None:
    body = {"query": "Radbeauftragter", "mode": "hybrid", "top_k": 2, "expand": {"depth": 1}}
    got = client.post("/query", json=body).json()
    assert got["used_mode"] == "hybrid" and len(got["results"]) == 2
    assert {"total_score", "semantic_score", "edge_bonus", "centrality_bonus"} <= set(got["results"][0])
    assert got["results"][0]["total_score"] >= got["results"][1]["total_score"]
    assert set(response({}, 0.0)) <= set(got["results"][0]) and got["results"][0]["source"].startswith("LeihRadG")
    assert got["stages"] is None and got["wordings"] is None


def test_both_shapes_of_the_retrievers_route_mean_the_same(client: TestClient) -> None:
    def asked(**shape: object) -> list[object]:
        return client.post("/query", json={"query": "Radbeauftragter", "top_k": 9} | shape).json()["results"]

    nested, flat, none = asked(expand={"depth": 1}), asked(expand_depth=1), asked()
    assert nested == flat != none and none == asked(expand={}) == asked(expand_depth=0)
    twice = client.post("/query", json={"query": "Rad", "expand": {"depth": 1}, "expand_depth": 1})
    assert twice.status_code == 400 and "not in both" in twice.json()["detail"]


def test_a_query_can_be_explained(client: TestClient) -> None:
    got = client.post("/query", json={"query": "Ab wann brauche ich einen Radbeauftragten?", "explain": True}).json()
    assert [wording["name"] for wording in got["wordings"]] == ["original", "table"]
    assert {"embedding", "hybrid", "bm25", "score"} <= {stage["name"] for stage in got["stages"]}
    assert got["results"][0]["ranks"]["score"] == 1 and got["results"][0]["stage"] == "hybrid"


def test_a_collection_that_is_not_there_is_one_sentence(client: TestClient) -> None:
    got = client.post("/query", json={"query": "x", "collection": "fehlt"})
    assert got.status_code == 400 and "no collection 'fehlt'" in got.json()["detail"]


def test_chunks_of_an_older_pipeline_are_answered_with(tmp_path: Path) -> None:
    """Section instead of article, numbers instead of text, no text at all: the fall-backs of the contract's §7.1."""
    embedder = HashingEmbedder(64)
    old = {"regulation_id": "bdsg", "section": "§ 38", "paragraph": 1, "pages": [7], "chunk_text": "Rad und Tat"}
    with EdgeStore(tmp_path, 5.0) as store:
        store.create("alt", Layout(dimension=64, dense="", sparse=None), {}, {})
        vector = embedder.embed(["Rad"])[0]
        store.upsert("alt", [Point(1, vector, None, old), Point(2, vector, None, {"pages": "7"})])

        def ask(collection: str | None, question: str, options: SearchOptions) -> Answer:
            return search(store, "alt", embedder, question, LAWS, options)

        for path in ("/sdk/v1/rag/search", "/query"):
            got = TestClient(create_app(ask)).post(path, json={"query": "Rad"})
            assert got.status_code == 200, got.text
            found = {hit["source"]: hit for hit in got.json()["results"]}
            assert set(found) == {"bdsg § 38 1", "Unbekannt"}
            first = found["bdsg § 38 1"]
            assert (first["regulation_code"], first["article"], first["paragraph"]) == ("bdsg", "§ 38", "1")
            assert (first["pages"], first["is_recital"], first["article_label"]) == ([7], False, None)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"X-API-Key": "falsch"}, 401),
        ({"X-API-Key": KEY}, 200),
        ({"Authorization": f"Bearer {KEY}"}, 200),
    ],
)
def test_the_key_guards_all_but_the_health_route(find: object, headers: dict[str, str], status: int) -> None:
    guarded = TestClient(create_app(find, KEY))  # type: ignore[arg-type]
    assert guarded.post("/query", json={"query": "Rad"}, headers=headers).status_code == status
    assert guarded.get("/healthz").status_code == 200
    assert KEY not in guarded.post("/query", json={"query": "Rad"}, headers={"X-API-Key": "x"}).text


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"query": ""}, 422),
        ({"query": "x", "top_k": 51}, 422),
        ({"query": "x", "top_k": 0}, 422),
        ({"query": "x", "surprise": 1}, 422),
        ({"query": "x", "expand": {"depth": 9}}, 422),
        ({"query": "x" * (MOST_BYTES + 1)}, 413),
        ({"query": "  "}, 400),
    ],
)
def test_requests_are_bounded(client: TestClient, body: dict[str, object], status: int) -> None:
    assert client.post("/query", json=body).status_code == status


def test_there_is_no_route_that_writes(find: object) -> None:
    routes = create_app(find).openapi()["paths"]  # type: ignore[arg-type]
    assert {path: set(methods) for path, methods in routes.items()} == {
        "/healthz": {"get"},
        "/sdk/v1/rag/search": {"post"},
        "/query": {"post"},
    }


@pytest.mark.parametrize("key", [None, KEY])
def test_the_service_keeps_to_its_own_schema(find: object, key: str | None) -> None:
    app = create_app(find, key)  # type: ignore[arg-type]
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    headers = {"X-API-Key": key} if key else {}
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) == 3
    for operation in operations:

        @given(case=operation.as_strategy())
        @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
        def keeps(case: schemathesis.Case) -> None:
            # The right key is always sent; a blank question and an unknown collection are refused for what they mean.
            case.call_and_validate(headers=headers, excluded_checks=[ignored_auth, positive_data_acceptance])

        keeps()
