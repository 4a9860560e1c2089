"""Write chunks as points: vectors made or reused, each batch written, read back, and only then counted.

A time-out means *unknown*: the store is asked what it holds, and only what is missing is sent again (DESIGN §6).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from backends.embedders.cache import from_cache
from backends.vectors.store import Floats, Point, PointId, VectorStore, in_batches
from ingest.certain import until_certain
from ingest.chunker import Chunk
from ingest.spool import terms_of
from ingest.stored import LIGHT_FIELDS, PointSketch, light_digest
from ingest.target import Target

BATCH = 512


@dataclass(frozen=True, slots=True)
class Prepared:
    """A batch ready to be written: its points, the digest of each payload by id, and how many vectors were computed."""

    points: list[Point]
    digests: dict[str, bytes]
    computed: int


def prepare(store: VectorStore, target: Target, chunks: Sequence[Chunk], reuse: Mapping[str, PointSketch]) -> Prepared:
    """Make points of chunks: vectors taken from the old points that `reuse` names, or computed; BM25 terms; digests."""
    old = _old_vectors(store, target, [reuse[c.point_id].id for c in chunks if c.point_id in reuse])
    vectors: dict[str, Floats] = {
        c.point_id: old[reuse[c.point_id].id] for c in chunks if c.point_id in reuse and reuse[c.point_id].id in old
    }
    fresh = [c for c in chunks if c.point_id not in vectors]
    cached = from_cache(target.embedder)
    if fresh:
        limit = target.embedder.max_characters
        made = target.embedder.embed([c.embed_text[:limit] if limit else c.embed_text for c in fresh])
        vectors.update((c.point_id, made[n]) for n, c in enumerate(fresh))
    points = [_point(target, chunk, vectors[chunk.point_id]) for chunk in chunks]
    computed = len(fresh) - (from_cache(target.embedder) - cached)
    return Prepared(points, {c.point_id: light_digest(c.payload) for c in chunks}, computed)


def _old_vectors(store: VectorStore, target: Target, ids: Sequence[PointId]) -> dict[PointId, Floats]:
    if not ids:
        return {}
    records = store.retrieve(target.reuse_from or target.name, ids, payload=False, vectors=True)
    usable = (r for r in records if r.dense is not None and r.dense.shape == (target.layout.dimension,))
    return {record.id: dense for record in usable if (dense := record.dense) is not None and np.isfinite(dense).all()}


def _point(target: Target, chunk: Chunk, dense: Floats) -> Point:
    sparse = terms_of(chunk) if target.layout.sparse is not None else None
    return Point(chunk.point_id, dense, sparse, chunk.payload)


def write(store: VectorStore, collection: str, prepared: Prepared) -> None:
    """Write the points and read them back. Raises StoreError if the store does not hold all of them afterwards."""
    digests = prepared.digests

    def missing(sent: Sequence[Point]) -> Sequence[Point]:
        records = store.retrieve(collection, [point.id for point in sent], payload=LIGHT_FIELDS)
        held = {str(record.id): light_digest(record.payload) for record in records}
        return [point for point in sent if held.get(str(point.id)) != digests[str(point.id)]]

    until_certain(
        prepared.points, lambda sent: store.upsert(collection, sent), missing, f"in collection '{collection}'"
    )


def rewrite_payloads(store: VectorStore, collection: str, chunks: Sequence[Chunk]) -> None:
    """Replace the payloads of chunks whose text and vectors are right; read back as the writes are.

    Raises StoreError if the store does not hold them afterwards.
    """

    def rewrite(sent: Sequence[Chunk]) -> None:
        store.overwrite_payloads(collection, {chunk.point_id: chunk.payload for chunk in sent})

    def other(sent: Sequence[Chunk]) -> Sequence[Chunk]:
        records = store.retrieve(collection, [chunk.point_id for chunk in sent], payload=LIGHT_FIELDS)
        held = {str(record.id): light_digest(record.payload) for record in records}
        return [chunk for chunk in sent if held.get(chunk.point_id) != light_digest(chunk.payload)]

    for batch in in_batches(chunks, BATCH):
        until_certain(batch, rewrite, other, f"rewritten in collection '{collection}'")
