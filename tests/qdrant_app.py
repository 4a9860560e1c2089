"""A test server with Qdrant's REST routes and faults on demand.

Behind it is the local mode of `qdrant-client` itself, so filters, cosine, IDF and the order of a scroll are Qdrant's.
What the local mode leaves out is added here: payload indexes, strict mode, the 32 MB limit, status codes.

In a test: `with serve() as server: connect(server.url, None, 5)`; as a process: `python qdrant_app.py --port 6333`.
Faults are set with `server.faults.add(Fault(...))`, or over HTTP with `POST /_faults` (a JSON object with the fields of
`Fault`) and taken away with `DELETE /_faults`; `GET /_log` lists the requests that arrived.
"""

import argparse
import json
import re
import socket
import threading
import time
import warnings
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import anyio
import numpy as np
import uvicorn
from pydantic import BaseModel, TypeAdapter, ValidationError
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse
from starlette.responses import HTMLResponse, JSONResponse, Response

warnings.filterwarnings("ignore", message="Payload indexes have no effect in the local Qdrant")

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

VERSION = "1.16.0"
REQUEST_BYTES = 33_554_432

Kind = Literal[
    "500",  # fails, nothing applied
    "500_after",  # applied, then fails
    "429",  # too busy, nothing applied
    "timeout_before",  # no answer for `seconds`, nothing applied
    "timeout_after",  # applied, then no answer for `seconds`
    "reset_before",  # connection cut, nothing applied
    "reset_after",  # applied, then connection cut
    "half_400",  # half of the points applied, then refused
    "acknowledged",  # applied, but the answer does not say completed
    "acknowledged_lost",  # the same, and not applied
    "dropped_200",  # says completed, but nothing applied
    "wrong_count",  # a count a third too low
    "html",  # a web page with status 200, nothing applied
    "slow_drip",  # applied; the answer comes byte by byte over `seconds`
]


@dataclass
class Fault:
    """One planned fault: the `times` next requests that match method and path, after the first `skip` of them."""

    kind: Kind
    method: str = ".*"
    path: str = ".*"
    times: int = 1
    skip: int = 0
    seconds: float = 30.0


@dataclass
class Faults:
    """The faults that are still to come."""

    planned: list[Fault] = field(default_factory=list)

    def add(self, fault: Fault) -> None:
        self.planned.append(fault)

    def clear(self) -> None:
        self.planned.clear()

    def next(self, method: str, path: str) -> Fault | None:
        """Return the fault the next such request will meet."""
        return Faults([replace(fault) for fault in self.planned]).take(method, path)

    def take(self, method: str, path: str) -> Fault | None:
        """Return the fault this request meets, and use it up."""
        for fault in self.planned:
            if fault.times and re.fullmatch(fault.method, method) and re.search(fault.path, path):
                if fault.skip:
                    fault.skip -= 1
                    continue
                fault.times -= 1
                return fault
        return None


@dataclass
class Seen:
    """One request that arrived; `keys` are those of its JSON object."""

    method: str
    path: str
    bytes: int
    query: str = ""
    keys: tuple[str, ...] = ()


class RefusedError(Exception):
    """The server says no."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class QdrantApp:
    """The ASGI application, its data, its log and its faults."""

    def __init__(self, *, api_key: str | None = None, strict: bool = False, keeps_metadata: bool = True) -> None:
        """`strict` refuses filters on fields without index; `keeps_metadata` off is a server before 1.16."""
        self.faults = Faults()
        self.log: list[Seen] = []
        self.reset()
        self._api_key = api_key
        self._strict = strict
        self._keeps_metadata = keeps_metadata
        self._lock = threading.Lock()

    def reset(self) -> None:
        """Forget all data, requests and faults."""
        self.client = QdrantClient(":memory:")
        self.faults.clear()
        self.log.clear()
        self._indexes: dict[str, dict[str, str]] = {}
        self._thresholds: dict[str, int] = {}
        self._status: list[str] = []
        self._dense: dict[str, dict[Any, dict[str, list[float]]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method, path = scope["method"], scope["path"]
        if path.startswith("/_"):
            await self._control(scope, receive, send)
            return
        body = await _body(receive)
        self.log.append(Seen(method, path, len(body), scope["query_string"].decode(), _keys(body)))
        fault = self.faults.take(method, path)
        kind = fault.kind if fault else None
        seconds = fault.seconds if fault else 0.0
        if kind == "timeout_before":
            await anyio.sleep(seconds)
        if kind in ("timeout_before", "reset_before"):
            _cut(send)
            return
        answer = await anyio.to_thread.run_sync(self._respond, scope, body, kind)
        if kind == "timeout_after":
            await anyio.sleep(seconds)
        if kind in ("timeout_after", "reset_after"):
            _cut(send)
            return
        if kind == "slow_drip":
            await _drip(answer, send, seconds)
            return
        await answer(scope, receive, send)

    async def _control(self, scope: Scope, receive: Receive, send: Send) -> None:
        method, path = scope["method"], scope["path"]
        body = await _body(receive)
        if path == "/_faults" and method == "POST":
            self.faults.add(Fault(**json.loads(body)))
        elif path == "/_faults" and method == "DELETE":
            self.faults.clear()
        elif path == "/_log" and method == "DELETE":
            self.log.clear()
        await JSONResponse([asdict(seen) for seen in self.log])(scope, receive, send)

    def _respond(self, scope: Scope, body: bytes, kind: str | None) -> Response:
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        method, path = scope["method"], scope["path"]
        if self._api_key is not None and headers.get("api-key") != self._api_key and path != "/":
            return Response("Must provide an API key or an Authorization bearer token", 401)
        if len(body) > REQUEST_BYTES:
            return _error(
                413, f"Payload error: JSON payload ({len(body)} bytes) is larger than allowed (limit: 33554432 bytes)."
            )
        if kind == "500":
            return _error(500, "Service internal error: injected")
        if kind == "429":
            return _error(429, "Rate limiting exceeded: injected", {"Retry-After": "1"})
        if kind == "html":
            return HTMLResponse("<html><body>Welcome</body></html>")
        if path == "/":
            return JSONResponse({"title": "qdrant - vector search engine", "version": VERSION})
        raw = json.loads(body) if body else {}
        if kind == "half_400":
            raw = _first_half(raw)
        try:
            if kind in ("acknowledged_lost", "dropped_200"):
                result: Any = {"operation_id": 0, "status": "completed"}
            else:
                with self._lock:
                    result = self._call(method, path.strip("/").split("/"), raw)
        except RefusedError as error:
            return _error(error.status, error.reason)
        except UnexpectedResponse as error:
            return Response(error.content, error.status_code or 500, media_type="application/json")
        except ValidationError as error:
            return _error(400, f"Format error in JSON body: {error.errors()[0]['msg']}")
        except ValueError as error:
            return _error(404 if "not found" in str(error) else 400, str(error))
        if kind == "half_400":
            return _error(400, "Wrong input: injected after half of the points")
        if kind == "500_after":
            return _error(500, "Service internal error: injected after the write")
        if kind in ("acknowledged", "acknowledged_lost"):
            result = _acknowledged(result)
        if kind == "wrong_count":
            result = {"count": result["count"] * 2 // 3}
        return JSONResponse({"result": _plain(result), "status": "ok", "time": 0.0})

    def _call(self, method: str, parts: list[str], raw: dict[str, Any]) -> Any:
        if parts[0] == "aliases":
            return self.client.get_aliases()
        if parts[0] != "collections":
            raise RefusedError(404, "Not found")
        if len(parts) == 1:
            return self.client.get_collections()
        if parts[1] == "aliases":
            actions = TypeAdapter(list[models.AliasOperations]).validate_python(raw["actions"])
            return self.client.update_collection_aliases(actions)
        name, rest = parts[1], "/".join(parts[2:])
        if rest == "":
            return self._collection(method, name, raw)
        if rest == "exists":
            return {"exists": self.client.collection_exists(name)}
        self._require(name)
        if rest == "aliases":
            return self.client.get_collection_aliases(name)
        if rest.startswith("index"):
            return self._index(method, name, parts, raw)
        return self._points(method, name, rest, raw)

    def _collection(self, method: str, name: str, raw: dict[str, Any]) -> Any:
        if method == "GET":
            self._require(name)
            info = self.client.get_collection(name).model_dump(mode="json")
            info["payload_schema"] = {
                key: {"data_type": kind, "points": 0} for key, kind in self._indexes.get(self._real(name), {}).items()
            }
            threshold = self._thresholds.get(self._real(name), 20_000)
            info["config"]["optimizer_config"]["indexing_threshold"] = threshold
            info["status"] = self._status.pop(0) if self._status else "green"
            return info
        if method == "PUT":
            if self.client.collection_exists(name):
                raise RefusedError(409, f"Wrong input: Collection `{name}` already exists!")
            wanted = models.CreateCollection.model_validate(raw)
            self._indexes[name], self._dense[name] = {}, {}
            return self.client.create_collection(
                name,
                vectors_config=wanted.vectors,
                sparse_vectors_config=wanted.sparse_vectors,
                metadata=wanted.metadata if self._keeps_metadata else None,
            )
        if method == "PATCH":
            self._require(name)
            threshold = (raw.get("optimizers_config") or {}).get("indexing_threshold")
            if threshold is not None:
                self._thresholds[self._real(name)] = threshold
            metadata = raw.get("metadata") if self._keeps_metadata else None
            return self.client.update_collection(name, metadata=metadata)
        self._indexes.pop(name, None)
        return self.client.collection_exists(name) and self.client.delete_collection(name)

    def _index(self, method: str, name: str, parts: list[str], raw: dict[str, Any]) -> Any:
        schema = self._indexes[self._real(name)]
        if method == "PUT":
            kind = raw["field_schema"]
            schema[raw["field_name"]] = kind if isinstance(kind, str) else kind["type"]
        else:
            schema.pop(parts[3], None)
        return {"operation_id": 0, "status": "completed"}

    def _points(self, method: str, name: str, rest: str, raw: dict[str, Any]) -> Any:
        self._check_strict(name, raw)
        client = self.client
        if rest == "points" and method == "PUT":
            points = TypeAdapter(list[models.PointStruct]).validate_python(raw["points"])
            result = client.upsert(name, points)
            self._keep_dense(name, points)
            return result
        if rest == "points":
            return self._with_kept(
                name,
                client.retrieve(
                    name, raw["ids"], with_payload=_with_payload(raw, True), with_vectors=raw.get("with_vector", False)
                ),
            )
        if rest == "points/delete":
            return client.delete(name, _selector(raw))
        if rest == "points/payload":
            write = client.overwrite_payload if method == "PUT" else client.set_payload
            return write(name, raw["payload"], _selector(raw))
        if rest == "points/payload/delete":
            return client.delete_payload(name, raw["keys"], _selector(raw))
        if rest == "points/payload/clear":
            return client.clear_payload(name, _selector(raw))
        if rest == "points/batch":
            operations = models.UpdateOperations.model_validate(raw).operations
            return client.batch_update_points(name, operations)
        if rest == "points/scroll":
            wanted = models.ScrollRequest.model_validate(raw)
            page, offset = client.scroll(
                name,
                scroll_filter=wanted.filter,
                limit=wanted.limit or 10,
                offset=wanted.offset,
                with_payload=_with_payload(raw, True),
                with_vectors=wanted.with_vector or False,
            )
            return {"points": self._with_kept(name, page), "next_page_offset": offset}
        if rest == "points/count":
            counted = models.CountRequest.model_validate(raw)
            if counted.exact is not True:
                raise RefusedError(400, "this test server counts exactly only")
            return client.count(name, count_filter=counted.filter).model_dump()
        if rest == "points/query":
            return self._query(name, models.QueryRequest.model_validate(raw))
        if rest == "points/query/batch":
            return [self._query(name, models.QueryRequest.model_validate(one)) for one in raw["searches"]]
        raise RefusedError(404, f"Not found: {rest}")

    def _keep_dense(self, name: str, points: list[models.PointStruct]) -> None:
        """Keep unit vectors bit for bit, as the server does; the local mode normalises them again."""
        kept = self._dense[self._real(name)]
        for point in points:
            vectors: Any = point.vector if isinstance(point.vector, dict) else {"": point.vector}
            kept[point.id] = {}
            for key, value in vectors.items():
                if isinstance(value, list):
                    row = np.asarray(value, dtype=np.float32)
                    if abs(float(row @ row) - 1.0) <= 1e-6:
                        kept[point.id][key] = value

    def _with_kept(self, name: str, records: list[models.Record]) -> list[models.Record]:
        kept = self._dense[self._real(name)]
        for record in records:
            if isinstance(record.vector, dict):
                record.vector.update({k: v for k, v in kept[record.id].items() if k in record.vector})
            elif record.vector is not None:
                record.vector = kept[record.id].get("", record.vector)
        return records

    def _query(self, name: str, wanted: models.QueryRequest) -> Any:
        return self.client.query_points(
            name,
            query=wanted.query,
            using=wanted.using,
            prefetch=wanted.prefetch,
            query_filter=wanted.filter,
            limit=wanted.limit or 10,
            with_payload=False if wanted.with_payload is None else wanted.with_payload,
            with_vectors=wanted.with_vector or False,
        )

    def _require(self, name: str) -> None:
        if not self.client.collection_exists(self._real(name)):
            raise RefusedError(404, f"Not found: Collection `{name}` doesn't exist!")

    def _real(self, name: str) -> str:
        aliases = {one.alias_name: one.collection_name for one in self.client.get_aliases().aliases}
        return aliases.get(name, name)

    def _check_strict(self, name: str, raw: dict[str, Any]) -> None:
        if not self._strict:
            return
        for key in _filtered_fields(raw.get("filter")):
            if key not in self._indexes[self._real(name)]:
                raise RefusedError(
                    400,
                    f'Bad request: Index required but not found for "{key}" of one of the following types: [keyword].',
                )


@dataclass
class Server:
    """A running test server."""

    url: str
    app: QdrantApp

    @property
    def faults(self) -> Faults:
        return self.app.faults

    @property
    def log(self) -> list[Seen]:
        return self.app.log


@contextmanager
def serve(app: QdrantApp | None = None, *, certificate: tuple[Path, Path] | None = None) -> Iterator[Server]:
    """Run the app in a thread on a free port of the loopback interface; over TLS with a certificate and its key."""
    served = app or QdrantApp()
    tls = {} if certificate is None else {"ssl_certfile": certificate[0], "ssl_keyfile": certificate[1]}
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(served, log_level="critical", lifespan="off", timeout_graceful_shutdown=1, **tls)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        until = time.monotonic() + 10
        while not server.started:
            assert time.monotonic() < until, "the test server did not start"
            time.sleep(0.01)
        try:
            scheme = "http" if certificate is None else "https"
            yield Server(f"{scheme}://127.0.0.1:{listener.getsockname()[1]}", served)
        finally:
            server.should_exit = True
            server.force_exit = True
            thread.join(timeout=10)


async def _body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return bytes(body)


def _cut(send: Send) -> None:
    """Cut the connection without an answer: uvicorn's own object behind `send` holds the transport."""
    send.__self__.transport.abort()  # type: ignore[attr-defined]


async def _drip(answer: Response, send: Send, seconds: float) -> None:
    headers = [(name, value) for name, value in answer.raw_headers]
    await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
    body = bytes(answer.body)
    for place in range(len(body)):
        await anyio.sleep(seconds / len(body))
        await send({"type": "http.response.body", "body": body[place : place + 1], "more_body": place < len(body) - 1})


def _keys(body: bytes) -> tuple[str, ...]:
    try:
        value = json.loads(body)
    except ValueError:  # no body, or one that is no JSON: the answer says what of it
        return ()
    return tuple(value) if isinstance(value, dict) else ()


def _error(status: int, reason: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"status": {"error": reason}, "time": 0.0}, status, headers)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value


def _acknowledged(result: Any) -> Any:
    if isinstance(result, list):
        return [_acknowledged(one) for one in result]
    return {"operation_id": 0, "status": "acknowledged"}


def _first_half(raw: dict[str, Any]) -> dict[str, Any]:
    for key in ("points", "operations"):
        if isinstance(raw.get(key), list):
            return {**raw, key: raw[key][: len(raw[key]) // 2]}
    return raw


def _selector(raw: dict[str, Any]) -> Any:
    if "points" in raw and raw["points"] is not None:
        return models.PointIdsList(points=raw["points"])
    return models.FilterSelector(filter=models.Filter.model_validate(raw["filter"]))


def _with_payload(raw: dict[str, Any], default: bool) -> Any:
    wanted = raw.get("with_payload")
    return default if wanted is None else TypeAdapter(models.WithPayloadInterface).validate_python(wanted)


def _filtered_fields(conditions: Any) -> Iterator[str]:
    if isinstance(conditions, dict):
        if isinstance(conditions.get("key"), str):
            yield conditions["key"]
        for inner in conditions.values():
            yield from _filtered_fields(inner)
    elif isinstance(conditions, list):
        for inner in conditions:
            yield from _filtered_fields(inner)


def main() -> None:
    """Serve on a fixed port until killed."""
    parser = argparse.ArgumentParser(description="A test server with Qdrant's REST routes.")
    parser.add_argument("--port", type=int, default=6333)
    parser.add_argument("--api-key")
    parser.add_argument("--strict", action="store_true")
    given = parser.parse_args()
    app = QdrantApp(api_key=given.api_key, strict=given.strict)
    uvicorn.run(app, host="127.0.0.1", port=given.port, log_level="warning", lifespan="off")


if __name__ == "__main__":
    main()
