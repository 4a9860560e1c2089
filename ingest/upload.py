"""Write chunks as points: vectors made or reused, each batch written, read back, and only then counted.

A time-out means *unknown*: the store is asked what it holds, and only what is missing is sent again (DESIGN §6).
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from backends.vectors.store import Floats, Point, PointId, Record, SparseVector, VectorStore
from ingest.chunker import Chunk
from ingest.stored import LIGHT_FIELDS, PointSketch, light_digest
from ingest.target import Target
from normalize.analyzer import sparse_document
from normalize.errors import StoreError, UnknownOutcomeError

BATCH = 512
ATTEMPTS = 4
_PAUSE = 0.5


def in_batches(chunks: Iterable[Chunk], size: int = BATCH) -> Iterator[list[Chunk]]:
    """Yield the chunks in lists of at most `size`."""
    iterator = iter(chunks)
    while batch := list(islice(iterator, size)):
        yield batch


def write_chunks(store: VectorStore, target: Target, chunks: Sequence[Chunk], reuse: Mapping[str, PointSketch]) -> int:
    """Write the chunks and return how many vectors were computed (the others were taken from old points).

    Raises StoreError if the store does not hold all of them afterwards.
    """
    old = _old_vectors(store, target, [reuse[c.point_id].id for c in chunks if c.point_id in reuse])
    vectors: dict[str, Floats] = {
        c.point_id: old[reuse[c.point_id].id] for c in chunks if c.point_id in reuse and reuse[c.point_id].id in old
    }
    fresh = [c for c in chunks if c.point_id not in vectors]
    if fresh:
        limit = target.embedder.max_characters
        made = target.embedder.embed([c.embed_text[:limit] if limit else c.embed_text for c in fresh])
        vectors.update((c.point_id, made[n]) for n, c in enumerate(fresh))
    points = [_point(target, chunk, vectors[chunk.point_id]) for chunk in chunks]
    _write_until_there(store, target.name, points, {c.point_id: c.chunk_hash for c in chunks})
    return len(fresh)


def _old_vectors(store: VectorStore, target: Target, ids: Sequence[PointId]) -> dict[PointId, Floats]:
    if not ids:
        return {}
    records = store.retrieve(target.name, ids, payload=False, vectors=True)
    usable = (r for r in records if r.dense is not None and r.dense.shape == (target.layout.dimension,))
    return {record.id: dense for record in usable if (dense := record.dense) is not None and np.isfinite(dense).all()}


def _point(target: Target, chunk: Chunk, dense: Floats) -> Point:
    sparse = None
    if target.layout.sparse is not None:
        terms = sparse_document(chunk.embed_text, "en" if chunk.language == "en" else "de")
        sparse = SparseVector(tuple(terms.indices), tuple(terms.values))
    return Point(chunk.point_id, dense, sparse, chunk.payload)


def _write_until_there(store: VectorStore, collection: str, points: Sequence[Point], hashes: Mapping[str, str]) -> None:
    """Send, read back, and send again only what is missing."""
    waiting = list(points)
    problem: StoreError | None = None
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE * 2**attempt)
        try:
            store.upsert(collection, waiting)
            problem = None
        except UnknownOutcomeError as error:
            problem = error
        except StoreError as error:  # refused: part of it may have been applied all the same; read, do not insist
            problem = error
            attempt = ATTEMPTS
        held = {str(r.id): r for r in store.retrieve(collection, [p.id for p in waiting], payload=["chunk_hash"])}
        waiting = [p for p in waiting if not _is_there(held.get(str(p.id)), hashes[str(p.id)])]
        if not waiting:
            return
        if attempt >= ATTEMPTS:
            break
    if problem is not None:
        raise problem
    raise StoreError(
        f"The store says it wrote but does not return {len(waiting)} points of collection '{collection}' "
        f"(first: {waiting[0].id}): nothing was deleted, look at the store and run again."
    )


def rewrite_payloads(store: VectorStore, collection: str, chunks: Sequence[Chunk]) -> None:
    """Replace the payloads of chunks whose text and vectors are right; read back as the writes are.

    Raises StoreError if the store does not hold them afterwards.
    """
    for batch in in_batches(chunks):
        wanted = {chunk.point_id: light_digest(chunk.payload) for chunk in batch}
        store.overwrite_payloads(collection, {chunk.point_id: chunk.payload for chunk in batch})
        held = store.retrieve(collection, list(wanted), payload=LIGHT_FIELDS)
        right = sum(light_digest(record.payload) == wanted[str(record.id)] for record in held)
        if right != len(wanted):
            raise StoreError(
                f"{len(wanted) - right} payloads of collection '{collection}' were not rewritten: run again."
            )


def _is_there(record: Record | None, chunk_hash: str) -> bool:
    return record is not None and record.payload.get("chunk_hash") == chunk_hash
