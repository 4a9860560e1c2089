"""The Ollama embedder against a small server that speaks `/api/embed` and `/api/tags`."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from backends.embedders import EmbedderError
from backends.embedders.ollama import MAX_CHARACTERS, OllamaEmbedder

DIMENSION = 16
DIGEST = "7907646426070047a77226ac3e684fbbe8410524f7b4a74d02837e43f2146bab"


@dataclass
class Model:
    """The server's model: what it was asked, and what it answers first instead of vectors."""

    url: str = ""
    batches: list[list[str]] = field(default_factory=list)
    faults: list[Callable[[], Response]] = field(default_factory=list)

    async def embed(self, request: Request) -> Response:
        asked = await request.json()
        self.batches.append(asked["input"])
        if self.faults:
            return self.faults.pop(0)()
        if asked["model"] != "bge-m3":
            return JSONResponse({"error": f'model "{asked["model"]}" not found, try pulling it first'}, 404)
        return JSONResponse({"model": asked["model"], "embeddings": [vector(text) for text in asked["input"]]})

    async def tags(self, _: Request) -> Response:
        models = [
            {"name": "bge-m3:latest", "model": "bge-m3:latest", "digest": DIGEST},
            {"name": "other", "digest": "0"},
        ]
        return JSONResponse({"models": models})


def vector(text: str) -> list[float]:
    """Return a vector that tells texts apart, with the length first."""
    return [float(len(text)), *(float(ord(text[place % len(text)])) for place in range(DIMENSION - 1))]


@pytest.fixture
def model() -> Iterator[Model]:
    model = Model()
    app = Starlette(routes=[Route("/api/embed", model.embed, methods=["POST"]), Route("/api/tags", model.tags)])
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        model.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        yield model
        server.should_exit = server.force_exit = True
        thread.join(timeout=10)


def embedder(model: Model, **settings: Any) -> OllamaEmbedder:
    given: dict[str, Any] = {"dimension": DIMENSION, "pause": lambda seconds: None, **settings}
    return OllamaEmbedder(given.pop("url", model.url), given.pop("name", "bge-m3"), given.pop("dimension"), **given)


def test_texts_become_rows_in_their_order_and_in_batches(model: Model) -> None:
    texts = [f"Absatz {number}" for number in range(70)]
    rows = embedder(model, batch=32).embed(texts)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows, np.array([vector(text) for text in texts], dtype=np.float32))
    assert [len(batch) for batch in model.batches] == [32, 32, 6]
    assert embedder(model).embed([]).shape == (0, DIMENSION)


def test_a_text_is_capped_and_an_empty_one_is_embedded(model: Model) -> None:
    embedder(model).embed(["x" * 5000, ""])
    assert [len(text) for text in model.batches[0]] == [MAX_CHARACTERS, 1] == [2000, 1]


def test_identity_has_the_digest_and_dimension_is_the_models(model: Model) -> None:
    one = embedder(model, dimension=None)
    assert one.model == "ollama:bge-m3@790764642607"
    assert one.dimension == DIMENSION
    assert one.dimension == DIMENSION and len(model.batches) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again_with_growing_pauses(model: Model, status: int) -> None:
    pauses: list[float] = []
    model.faults = [lambda: JSONResponse({"error": "loading"}, status)] * 3
    rows = embedder(model, pause=pauses.append).embed(["Absatz"])
    assert rows[0].tolist() == vector("Absatz")
    assert pauses == [0.5, 1.0, 2.0]


def test_a_server_that_stays_down_is_given_up(model: Model) -> None:
    model.faults = [lambda: JSONResponse({"error": "out of memory"}, 500)] * 99
    with pytest.raises(EmbedderError, match=r"after 5 attempts .*out of memory"):
        embedder(model).embed(["Absatz"])
    assert len(model.batches) == 5


def test_a_stalled_server_is_noticed(model: Model) -> None:
    def stall() -> Response:
        time.sleep(0.6)
        return PlainTextResponse("late")

    model.faults = [stall] * 5
    began = time.monotonic()
    with pytest.raises(EmbedderError, match="did not answer in time"):
        embedder(model, timeout=0.2).embed(["Absatz"])
    assert time.monotonic() - began < 10


# (what is wrong, the answer, what the error says)
WRONG: tuple[tuple[str, Callable[[], Response], str], ...] = (
    ("refused", lambda: JSONResponse({"error": "input too long"}, 400), "input too long"),
    ("no JSON", lambda: PlainTextResponse("hello"), "did not answer with JSON"),
    ("no object", lambda: JSONResponse([1]), "did not answer with JSON"),
    ("too few vectors", lambda: JSONResponse({"embeddings": [[1.0] * DIMENSION]}), "did not answer 2 texts"),
    ("wrong dimension", lambda: JSONResponse({"embeddings": [[1.0] * 8] * 2}), r"shape \(2, 8\) instead of \(2, 16\)"),
    ("ragged", lambda: JSONResponse({"embeddings": [[1.0], [1.0] * 2]}), "different lengths"),
    ("zeros", lambda: JSONResponse({"embeddings": [[0.0] * DIMENSION] * 2}), "zeros, NaN or infinity"),
    ("NaN", lambda: JSONResponse({"embeddings": [[None] * DIMENSION] * 2}), "NaN"),
)


@pytest.mark.parametrize(("answer", "message"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_wrong_answer_is_one_sentence(model: Model, answer: Callable[[], Response], message: str) -> None:
    model.faults = [answer]
    with pytest.raises(EmbedderError, match=message) as caught:
        embedder(model).embed(["Absatz 1", "Absatz 2"])
    assert "\n" not in str(caught.value)
    assert len(model.batches) == 1, "what cannot pass is not tried again"


def test_a_model_that_is_not_there(model: Model) -> None:
    with pytest.raises(EmbedderError, match="ollama pull nomic"):
        _ = embedder(model, name="nomic").model
    with pytest.raises(EmbedderError, match="not found, try pulling"):
        embedder(model, name="nomic").embed(["Absatz"])


def test_nothing_listens_and_no_credentials_are_shown() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    one = OllamaEmbedder(f"http://user:hunter2@127.0.0.1:{port}", "bge-m3", DIMENSION, pause=lambda seconds: None)
    with pytest.raises(EmbedderError, match="after 5 attempts") as caught:
        one.embed(["Absatz"])
    assert "hunter2" not in str(caught.value) and str(port) in str(caught.value)
