"""The three stores every vector test runs against."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from qdrant_client import QdrantClient

from backends.vectors.edge import EdgeStore
from backends.vectors.qdrant import QdrantStore, connect
from backends.vectors.store import VectorStore
from tests.qdrant_app import Server, serve
from tests.vectors_points import INDEXES, LAYOUT, METADATA, point

NAMES = ("edge", "in-process", "http")


@pytest.fixture(scope="session")
def running_server() -> Iterator[Server]:
    """The session's test server with Qdrant's routes."""
    with serve() as running:
        yield running


@pytest.fixture
def server(running_server: Server) -> Server:
    """The test server, empty."""
    running_server.app.reset()
    return running_server


@pytest.fixture(params=NAMES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
    """Each engine in turn, empty."""
    if request.param == "edge":
        with EdgeStore(tmp_path, lock_timeout=1) as edge:
            yield edge
    elif request.param == "in-process":
        with QdrantStore(QdrantClient(":memory:")) as local:
            yield local
    else:
        running: Server = request.getfixturevalue("server")
        with connect(running.url, None, 5) as remote:
            yield remote


@pytest.fixture
def filled(store: VectorStore) -> VectorStore:
    """A store with collection `law` of 30 points."""
    store.create("law", LAYOUT, INDEXES, METADATA)  # type: ignore[arg-type]
    store.upsert("law", [point(number) for number in range(30)])
    return store
