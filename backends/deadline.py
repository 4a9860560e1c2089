"""Limits for a whole HTTP answer: in time, and in size.

httpx limits the wait for each piece of an answer, so a server that sends a byte now and then is never given up on, and
it reads whatever comes.
"""

import math
import time
from collections.abc import Callable, Iterator

import httpx


def answer_within(seconds: float, most_bytes: float = math.inf) -> Callable[[httpx.Response], None]:
    """Return a response hook for an httpx client: ReadTimeout when an answer takes longer than `seconds` to arrive.

    Of an answer of more than `most_bytes` no more is read than the piece that goes beyond them.
    """

    def bound(response: httpx.Response) -> None:
        if isinstance(response.stream, httpx.SyncByteStream):
            response.stream = _BoundedStream(response.stream, time.monotonic() + seconds, most_bytes)

    return bound


class _BoundedStream(httpx.SyncByteStream):
    """Passes the pieces of an answer on until the deadline, and until there are too many bytes."""

    def __init__(self, stream: httpx.SyncByteStream, until: float, most_bytes: float) -> None:
        self._stream = stream
        self._until = until
        self._most_bytes = most_bytes

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for piece in self._stream:
            if time.monotonic() > self._until:
                raise httpx.ReadTimeout("the answer came too slowly")
            yield piece
            size += len(piece)
            if size > self._most_bytes:
                return

    def close(self) -> None:
        self._stream.close()
