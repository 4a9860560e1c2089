"""Byte-bounded batches: what goes into one request, so that none is too large for the server.

A Qdrant server refuses requests above 32 MB, and its client then shows a time-out instead of the reason
(qdrant-client#463), so the limit must never be reached.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

BATCH_BYTES = 4 * 1024 * 1024
SERVER_BYTES = 32 * 1024 * 1024

# What the longest 64-bit rendering of a 32-bit float takes in JSON, with its comma: "-1.1754943508222875e-38,".
FLOAT_BYTES = 24
# A 32-bit term id with its comma.
TERM_BYTES = 11
# Braces, field names, id and vector names of one point.
POINT_BYTES = 160

Item = TypeVar("Item")


def by_bytes(sized: Iterable[tuple[Item, int]], limit: int = BATCH_BYTES) -> Iterator[list[Item]]:
    """Yield the items in order, in lists whose sizes add up to at most `limit` bytes.

    An item that is larger than the limit on its own makes a list of one.
    """
    batch: list[Item] = []
    total = 0
    for item, size in sized:
        if batch and total + size > limit:
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size
    if batch:
        yield batch
