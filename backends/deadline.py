"""A limit for a whole HTTP answer.

httpx limits the wait for each piece of an answer, so a server that sends a byte now and then is never given up on.
"""

import time
from collections.abc import Callable, Iterator

import httpx


def answer_within(seconds: float) -> Callable[[httpx.Response], None]:
    """Return a response hook for an httpx client: ReadTimeout when an answer takes longer than `seconds` to arrive."""

    def bound(response: httpx.Response) -> None:
        if isinstance(response.stream, httpx.SyncByteStream):
            response.stream = _BoundedStream(response.stream, time.monotonic() + seconds)

    return bound


class _BoundedStream(httpx.SyncByteStream):
    """Passes the pieces of an answer on until the deadline."""

    def __init__(self, stream: httpx.SyncByteStream, until: float) -> None:
        self._stream = stream
        self._until = until

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            if time.monotonic() > self._until:
                raise httpx.ReadTimeout("the answer came too slowly")
            yield piece

    def close(self) -> None:
        self._stream.close()
