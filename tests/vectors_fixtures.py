"""The three stores every vector test runs against, and points to put into them."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from qdrant_client import QdrantClient

from backends.vectors.edge import EdgeStore
from backends.vectors.qdrant import QdrantStore, connect
from backends.vectors.store import Layout, Point, PointId, SparseVector, VectorStore
from tests.qdrant_app import Server, serve

LAYOUT = Layout(dimension=8)
INDEXES = {"regulation_code": "keyword", "chunk_index": "integer", "is_recital": "bool"}
METADATA = {"model": "hashing-1-8", "model_dimension": 8}

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


def uuid_of(number: int) -> PointId:
    """Return a UUID whose order has nothing to do with the number's."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, str(number)))


def vector(number: int, dimension: int = LAYOUT.dimension) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Return a random vector that is the same for the same number everywhere."""
    return np.random.default_rng(number).normal(size=dimension).astype(np.float32)


def point(number: int, make_id: Callable[[int], PointId] = uuid_of) -> Point:
    """Return point `number`: of law number % 3, a recital where it divides by five."""
    return Point(
        id=make_id(number),
        dense=vector(number),
        sparse=SparseVector((1, 100 + number % 4, 4_000_000_000), (1.0, 0.5, 0.25)),
        payload={
            "chunk_id": f"{number:040x}",
            "regulation_code": ("BDSG", "GG", "BGB")[number % 3],
            "chunk_index": number,
            "is_recital": number % 5 == 0,
            "use_case": ["privacy", "hr"] if number % 2 else [],
            "paragraph": None,
            "chunk_text": "Maßnahmen für Öffentliche Stellen „§“",
            "units": [{"start": 0, "end": 9, "sub": "Satz 1"}],
        },
    )
