"""Embeddings from an Ollama server (`/api/embed`)."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import httpx
import numpy as np
from numpy.typing import NDArray

from backends.deadline import answer_within
from backends.embedders.protocol import EmbedderError, TokenLimit, check_rows

DEFAULT_URL: Final = "http://localhost:11434"
DEFAULT_MODEL: Final = "bge-m3"
MAX_CHARACTERS: Final = 2000
"""bge-m3 on Ollama gets the first 2,000 characters of a text (spec/retrieval-pipeline, stage 1)."""

_BATCH: Final = 32
_ATTEMPTS: Final = 5
_FIRST_PAUSE: Final = 0.5
_RETRIED: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


class OllamaEmbedder:
    """Embeds in batches, with growing pauses between attempts while the server is busy, loading or away.

    The identity carries the digest of the model's files, so that a new version pulled under the old name counts as
    another model. Embedding is a read: asking again after a time-out harms nothing.
    """

    description = "a language model on an Ollama server: finds shared meaning"
    max_characters = MAX_CHARACTERS
    token_limit: TokenLimit | None = None

    def __init__(
        self,
        url: str,
        model: str,
        dimension: int | None,
        *,
        timeout: float = 120.0,
        batch: int = _BATCH,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Ask `model` at `url`; `timeout` in seconds is for one batch, `pause` waits between attempts."""
        self._url = url.rstrip("/")
        self._name = model
        self._dimension = dimension
        self._batch = batch
        self._pause = pause
        self._identity: str | None = None
        self._client = httpx.Client(
            timeout=httpx.Timeout(timeout, connect=min(timeout, 10.0)),
            event_hooks={"response": [answer_within(timeout)]},
        )

    @property
    def model(self) -> str:
        """Name and digest of the model, e.g. `ollama:bge-m3@790764642607`."""
        if self._identity is None:
            listed = self._request("GET", "/api/tags").get("models", [])
            names = {self._name, f"{self._name}:latest"}
            digests = [str(one.get("digest", "")) for one in listed if {one.get("name"), one.get("model")} & names]
            if not digests:
                raise EmbedderError(
                    f"The Ollama server {self._shown} has no model '{self._name}'; "
                    f"run `ollama pull {self._name}` there."
                )
            self._identity = f"ollama:{self._name}@{digests[0].removeprefix('sha256:')[:12]}"
        return self._identity

    @property
    def dimension(self) -> int:
        """Number of components: as set, else as the model answers."""
        if self._dimension is None:
            self._dimension = len(self._vectors(["Absatz"])[0])
        return self._dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row a text, shape (len(texts), dimension); of each text the first 2,000 characters count."""
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), self._batch):
            # The server refuses an empty text with some models; a space embeds to the same everywhere.
            batch = [text[:MAX_CHARACTERS] or " " for text in texts[start : start + self._batch]]
            try:
                found = np.asarray(self._vectors(batch), dtype=np.float32)
            except ValueError:
                raise EmbedderError(
                    f"Model {self._name} at {self._shown} answered with vectors of different lengths; "
                    "check the model server."
                ) from None
            rows[start : start + len(batch)] = check_rows(found, len(batch), self.dimension, self._name)
        return rows

    @property
    def _shown(self) -> str:
        """The address without credentials."""
        parts = urlsplit(self._url)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))

    def _vectors(self, texts: list[str]) -> list[list[float]]:
        body = {"model": self._name, "input": texts, "truncate": True}
        answer = self._request("POST", "/api/embed", body)
        vectors = answer.get("embeddings")
        if not isinstance(vectors, list) or len(vectors) != len(texts):
            raise EmbedderError(
                f"The server {self._shown} did not answer {len(texts)} texts with as many embeddings; "
                "check that it is an Ollama server of version 0.3 or later."
            )
        return vectors

    def _request(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the JSON answer, retrying what may pass; raises EmbedderError in one sentence."""
        problem = ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                self._pause(_FIRST_PAUSE * 2 ** (attempt - 1))
            try:
                response = self._client.request(method, self._url + path, json=body)
            except httpx.TimeoutException:
                problem = "it did not answer in time"
                continue
            except httpx.HTTPError as error:
                problem = str(error) or type(error).__name__
                continue
            if response.status_code in _RETRIED:
                problem = f"status {response.status_code}, {_reason(response)}"
                continue
            if response.is_error:
                raise EmbedderError(
                    f"The Ollama server {self._shown} refused model '{self._name}' (status {response.status_code}, "
                    f"{_reason(response)}); check the model's name, or pull it there."
                )
            return _json(response, self._shown)
        raise EmbedderError(
            f"The Ollama server {self._shown} could not be used after {_ATTEMPTS} attempts ({problem}); "
            "check that it runs and has the memory for the model, then run again."
        )


def _reason(response: httpx.Response) -> str:
    try:
        return str(response.json()["error"])
    except (ValueError, KeyError, TypeError):
        return response.text[:200].strip() or response.reason_phrase


def _json(response: httpx.Response, shown: str) -> dict[str, Any]:
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise EmbedderError(
            f"The server {shown} did not answer with JSON; check that the address is an Ollama server's."
        )
    return answer
