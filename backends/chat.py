"""A language model behind an OpenAI-compatible endpoint (`/chat/completions`: Ollama, vLLM and many more)."""

import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import httpx

from backends.deadline import answer_within
from normalize.errors import FundstelleError

ATTEMPTS: Final = 4
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0
_RETRIED: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_LARGEST_ANSWER: Final = 1_000_000
# What a chat template, a fence or a mark-up might read as more than text.
_MEANINGFUL: Final = "<>|[]{}`#&\x7f\u2028\u2029"


class ChatError(FundstelleError):
    """The model's endpoint cannot be used at all: wrong address, key or model."""


class ChatNoAnswer(FundstelleError):  # noqa: N818 - says what happened
    """One request got no answer after all attempts; the next may."""


def inert(text: str) -> str:
    """Return a JSON string in which nothing but letters, digits and harmless signs stands as it is."""
    literal = json.dumps(text, ensure_ascii=False)
    for character in _MEANINGFUL:
        literal = literal.replace(character, f"\\u{ord(character):04x}")
    return literal


class Chat:
    """Asks one model at temperature 0 for an answer that follows a JSON schema; answers are kept in a folder.

    `requests` counts what was really sent, attempts included.
    """

    def __init__(
        self,
        url: str,
        model: str,
        api_key: str | None = None,
        *,
        cache: Path | None = None,
        timeout: float = 120.0,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Ask `model` at `url` (with or without `/chat/completions`); `timeout` in seconds is for one attempt."""
        self._url = url.rstrip("/").removesuffix("/chat/completions") + "/chat/completions"
        self.model = model
        self.requests = 0
        self._cache = cache
        self._pause = pause
        headers = {"Accept-Encoding": "identity"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self._client = httpx.Client(
            timeout=httpx.Timeout(timeout, connect=min(timeout, 10.0)),
            headers=headers,
            event_hooks={"response": [_as_it_came, answer_within(timeout, _LARGEST_ANSWER)]},
        )

    @property
    def shown(self) -> str:
        """The address without credentials and parameters."""
        parts = urlsplit(self._url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def body(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any], tokens: int) -> dict[str, Any]:
        """Return the request for some messages; the answer may have `tokens` tokens."""
        return {
            "model": self.model,
            "messages": [dict(message) for message in messages],
            "temperature": 0,
            "seed": 0,
            "max_tokens": tokens,
            "stream": False,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": dict(schema)},
            },
        }

    def cached(self, body: Mapping[str, Any]) -> str | None:
        """Return the kept answer to a request, or None."""
        path = self._path(body)
        try:
            kept = None if path is None else json.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return kept["answer"] if isinstance(kept, dict) and isinstance(kept.get("answer"), str) else None

    def keep(self, body: Mapping[str, Any], answer: str) -> None:
        """Keep an answer: the file is whole or not there."""
        path = self._path(body)
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, suffix=".part", delete=False) as file:
            json.dump({"model": self.model, "answer": answer}, file, ensure_ascii=False)
        Path(file.name).replace(path)

    def _path(self, body: Mapping[str, Any]) -> Path | None:
        if self._cache is None:
            return None
        key = hashlib.sha256(json.dumps([self.shown, body], sort_keys=True).encode()).hexdigest()
        return self._cache / key[:2] / f"{key}.json"

    def ask(self, body: Mapping[str, Any], attempts: int = ATTEMPTS) -> str:
        """Return the text of the answer, retrying with growing pauses, `attempts` times in all, what may pass.

        Raises ChatError where no request can succeed, ChatNoAnswer where only this one did not.
        """
        problem = ""
        for attempt in range(attempts):
            self.requests += 1
            try:
                response = self._client.post(self._url, json=body)
            except httpx.TimeoutException:
                problem = "it did not answer in time"
            except (httpx.ConnectError, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
                raise ChatError(
                    f"The language model at {self.shown} cannot be reached ({type(error).__name__}); check llm_url, "
                    "or go on without it."
                ) from None
            except httpx.HTTPError as error:
                problem = type(error).__name__
            else:
                if response.is_success:
                    return _content(response)
                if response.status_code not in _RETRIED:
                    raise ChatError(
                        f"The language model at {self.shown} refused the request (status {response.status_code}); "
                        "check llm_url, llm_model and llm_api_key."
                    )
                problem = f"status {response.status_code}"
                self._wait(attempt, attempts, response.headers.get("Retry-After"))
                continue
            self._wait(attempt, attempts, None)
        raise ChatNoAnswer(
            f"The language model at {self.shown} did not answer after {attempts} attempts ({problem}); "
            "check that it runs, then run again."
        )

    def _wait(self, attempt: int, attempts: int, asked: str | None) -> None:
        if attempt + 1 < attempts:
            pause = _FIRST_PAUSE * 2**attempt
            if asked and asked.isdigit():
                pause = max(pause, float(asked))
            self._pause(min(pause, _LONGEST_PAUSE))


def _as_it_came(response: httpx.Response) -> None:
    """Unpack no answer: none was asked for packed, and a small one may be made to grow without end."""
    response.headers.pop("Content-Encoding", None)


def _content(response: httpx.Response) -> str:
    """Return the text of an answer; "" for one that is none, which no schema accepts."""
    if len(response.content) > _LARGEST_ANSWER:
        return ""
    try:
        content = response.json()["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        return ""
    return content if isinstance(content, str) else ""
