"""A store that waits long for every answer but the one the test server is going to withhold.

One short time-out for all requests would also meet those that a busy machine answers late, and a test would fail that
has nothing to do with time.
"""

import httpx

from backends.deadline import answer_within
from backends.vectors.qdrant import QdrantStore, connect
from tests.qdrant_app import Server

SHORT = 1.0
"""Seconds for a request whose answer will not come; a fault with a time-out has to last longer."""
_LONG = 60.0
_WITHHELD = ("timeout_before", "timeout_after", "slow_drip")


def connect_patiently(server: Server) -> QdrantStore:
    """Return the store of `server` with a time-out of `SHORT` where a planned fault withholds the answer."""
    store = connect(server.url, None, _LONG)
    client: httpx.Client = store._client._client.openapi_client.client._client  # type: ignore[attr-defined]

    def hurry(request: httpx.Request) -> None:
        fault = server.faults.next(request.method, request.url.path)
        if fault and fault.kind in _WITHHELD:
            request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), SHORT)

    def hurry_drips(response: httpx.Response) -> None:
        seconds: float = response.request.extensions["timeout"]["read"]
        answer_within(seconds)(response)

    client.event_hooks = {
        "request": [*client.event_hooks["request"], hurry],
        "response": [*client.event_hooks["response"], hurry_drips],
    }
    return store
