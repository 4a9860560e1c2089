"""Digests of sets of points, so that a receipt of any size fits on one line and proves the same."""

import hashlib
from collections.abc import Iterable

from ingest.stored import PointSketch


def points_digest(points: Iterable[PointSketch]) -> str:
    """Return a sha256 over ids and payload digests, whatever their order."""
    digest = hashlib.sha256()
    for line in sorted(f"{point.id} {point.digest.hex()} {point.chunk_hash}" for point in points):
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()
