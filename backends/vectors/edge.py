"""The embedded vector engine: Qdrant's own (`qdrant-edge-py`), one shard directory a collection, no server.

`<home>/vectors/<collection>/` holds `shard/` (the engine's files) and `collection.json` (layout and metadata); locks
lie in `<home>/vectors/.locks/`. One process at a time has a collection open, for reading too: the engine can no more.

What differs from a server on purpose: search is exact. The engine builds no graph index (for 60,000 points of 256
dimensions that takes 30 s, and saves next to nothing of the 5 ms an exact search needs), so rankings are reproducible.
"""

import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self
from uuid import UUID

import qdrant_edge as engine
from filelock import FileLock, Timeout

from backends.vectors import sidecar
from backends.vectors.batches import POINT_BYTES, by_bytes
from backends.vectors.checks import (
    check_ids,
    check_name,
    check_points,
    check_query,
    check_query_sparse,
    payload_bytes,
)
from backends.vectors.edge_models import from_id, from_record, to_filter, to_point
from backends.vectors.ranking import ranked
from backends.vectors.store import (
    Collection,
    Floats,
    Hit,
    IndexKind,
    Layout,
    Point,
    PointId,
    Record,
    SparseVector,
    Where,
    batched_ids,
)
from normalize.errors import FundstelleError, LockedError, StoreError

_ID_PAGE = 10_000
_WRITE_IDS = 5_000
# In KB of vectors: high enough that the engine never builds a graph.
_NO_GRAPH = 10**12

_KINDS: Mapping[str, engine.PayloadSchemaType] = {
    "keyword": engine.PayloadSchemaType.Keyword,
    "integer": engine.PayloadSchemaType.Integer,
    "bool": engine.PayloadSchemaType.Bool,
}
_DISTANCES: Mapping[str, engine.Distance] = {
    "Cosine": engine.Distance.Cosine,
    "Dot": engine.Distance.Dot,
    "Euclid": engine.Distance.Euclid,
    "Manhattan": engine.Distance.Manhattan,
}


@dataclass(slots=True)
class _Open:
    """A collection this process holds: its lock, its shard, its description, and whether it was written to."""

    lock: FileLock
    shard: engine.EdgeShard
    about: sidecar.Sidecar
    dirty: bool = False


class EdgeStore:
    """Vector store inside this process; implements `VectorStore`.

    A collection is opened and locked at its first use and stays so until `close`. A write that has returned is on disk:
    it survives kill -9 and a power cut. Methods may be called from several threads.
    """

    def __init__(self, home: Path, lock_timeout: float) -> None:
        """Use `<home>/vectors`; wait at most `lock_timeout` seconds for a collection another process holds."""
        self._root = home / "vectors"
        self._lock_timeout = lock_timeout
        self._open: dict[str, _Open] = {}
        self._guard = threading.RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def where(self) -> str:
        """Where the data lives, for people."""
        return f"{self._root} (embedded)"

    def collections(self) -> list[str]:
        """Return the names of all collections, sorted."""
        if not self._root.is_dir():
            return []
        return sorted(path.parent.name for path in self._root.glob("*/collection.json") if path.parent.name[0] != ".")

    def describe(self, collection: str) -> Collection | None:
        """Return what the collection is, or None if there is none of that name."""
        if not self._exists(collection):
            return None
        opened = self._get(collection)
        with _engine(collection, "describe"):
            schema = opened.shard.info().payload_schema
        indexes = {field: str(about.data_type).rpartition(".")[2].lower() for field, about in sorted(schema.items())}
        return Collection(
            name=collection,
            layout=opened.about.layout,
            indexes=indexes,
            metadata=dict(opened.about.metadata),
            points=self.count(collection),
        )

    def create(
        self,
        collection: str,
        layout: Layout,
        indexes: Mapping[str, IndexKind],
        metadata: Mapping[str, Any],
    ) -> None:
        """Create a collection with its indexes; raises StoreError if the name is taken.

        It is built aside and moved into place, so a crash leaves it whole or not there.
        """
        check_name(collection)
        if layout.distance not in _DISTANCES:
            raise StoreError(f"Distance {layout.distance!r} is none of {', '.join(_DISTANCES)}; nothing was created.")
        with self._guard:
            lock = self._open[collection].lock if collection in self._open else self._lock(collection)
            try:
                if self._exists(collection):
                    raise StoreError(f"Collection '{collection}' already exists in {self.where}; take another name.")
                self._build(collection, layout, indexes, metadata)
            finally:
                if collection not in self._open:
                    lock.release()

    def ensure_indexes(self, collection: str, indexes: Mapping[str, IndexKind]) -> list[str]:
        """Create the indexes that are missing and return their fields, sorted."""
        shard = self._get(collection).shard
        with _engine(collection, "index"):
            missing = sorted(set(indexes) - set(shard.info().payload_schema))
            for field in missing:
                shard.update(engine.UpdateOperation.create_field_index(field, _KINDS[indexes[field]]))
            shard.flush()
        return missing

    def set_metadata(self, collection: str, metadata: Mapping[str, Any]) -> None:
        """Merge the collection's own metadata."""
        with self._guard:
            opened = self._get(collection)
            about = replace(opened.about, metadata={**opened.about.metadata, **metadata})
            sidecar.write(self._path(collection) / "collection.json", about)
            opened.about = about

    def upsert(self, collection: str, points: Sequence[Point]) -> None:
        """Write the points in byte-bounded batches; all are checked before the first is written."""
        opened = self._get(collection)
        layout = opened.about.layout
        sized = check_points(collection, layout, points)
        with _engine(collection, "write to"):
            opened.dirty = True
            for batch in by_bytes(sized):
                opened.shard.update(engine.UpdateOperation.upsert_points([to_point(layout, one) for one in batch]))
            opened.shard.flush()

    def overwrite_payloads(self, collection: str, payloads: Mapping[PointId, Mapping[str, Any]]) -> None:
        """Replace the payloads of existing points; their vectors stay. Raises StoreError if one does not exist."""
        check_ids(collection, payloads)
        sized = [
            (point_id, POINT_BYTES + payload_bytes(collection, point_id, payloads[point_id])) for point_id in payloads
        ]
        opened = self._get(collection)
        with _engine(collection, "write to"):
            for batch in by_bytes(sized):
                found = {from_id(record.id) for record in opened.shard.retrieve(list(batch), False, False)}
                absent = [point_id for point_id in batch if point_id not in found]
                if absent:
                    raise StoreError(
                        f"Point {absent[0]} is not in collection '{collection}', so its payload cannot be replaced; "
                        "read the collection again and write whole points for the missing ones."
                    )
                opened.dirty = True
                for point_id in batch:
                    opened.shard.update(engine.UpdateOperation.overwrite_payload([point_id], dict(payloads[point_id])))
            opened.shard.flush()

    def delete(self, collection: str, ids: Sequence[PointId]) -> None:
        """Delete exactly these points; ids that are not there are no error."""
        check_ids(collection, ids)
        opened = self._get(collection)
        with _engine(collection, "delete from"):
            opened.dirty = True
            for batch in batched_ids(ids, _WRITE_IDS):
                opened.shard.update(engine.UpdateOperation.delete_points(list(batch)))
            opened.shard.flush()

    def retrieve(
        self, collection: str, ids: Sequence[PointId], *, payload: bool | list[str] = True, vectors: bool = False
    ) -> list[Record]:
        """Return those of the points that exist, each once, in any order."""
        check_ids(collection, ids)
        opened = self._get(collection)
        records: list[Record] = []
        for batch in batched_ids(dict.fromkeys(ids), _WRITE_IDS):
            with _engine(collection, "read"):
                found = opened.shard.retrieve(list(batch), payload or False, vectors)
                records.extend(from_record(opened.about.layout, one) for one in found)
        return records

    def scroll(
        self,
        collection: str,
        where: Where | None = None,
        *,
        payload: bool | list[str] = True,
        vectors: bool = False,
        batch: int = 1000,
    ) -> Iterator[Record]:
        """Yield every matching point once, in the order of ids."""
        layout = self._get(collection).about.layout
        for page in self._pages(collection, where, payload, vectors, batch):
            for one in page:
                yield from_record(layout, one)

    def count(self, collection: str, where: Where | None = None) -> int:
        """Return the exact number of matching points.

        The engine's own count takes a point twice that lies in two segments (qdrant#9789), so with more than one
        segment the distinct ids are counted.
        """
        opened = self._get(collection)
        with _engine(collection, "count"):
            if opened.shard.info().segments_count == 1:
                return int(opened.shard.count(engine.CountRequest(exact=True, filter=to_filter(where))))
            seen: set[PointId | UUID] = set()
            for page in self._pages(collection, where, False, False, _ID_PAGE):
                seen.update(one.id for one in page)
            return len(seen)

    def query_dense(
        self,
        collection: str,
        vector: Floats,
        limit: int,
        where: Where | None = None,
        *,
        payload: bool | list[str] = True,
    ) -> list[Hit]:
        """Return the nearest points by the dense vector, best first; equal scores by id."""
        opened = self._get(collection)
        layout = opened.about.layout
        query = check_query(collection, layout, vector).tolist()
        nearest = engine.Query.Nearest(query, using=layout.dense)
        return self._search(collection, opened.shard, nearest, limit, where, payload)

    def query_sparse(
        self,
        collection: str,
        vector: SparseVector,
        limit: int,
        where: Where | None = None,
        *,
        payload: bool | list[str] = True,
    ) -> list[Hit]:
        """Return the best points by the sparse vector (IDF applied by the engine), best first; equal scores by id."""
        opened = self._get(collection)
        using = check_query_sparse(collection, opened.about.layout, vector)
        query = engine.SparseVector(list(vector.indices), list(vector.values))
        return self._search(collection, opened.shard, engine.Query.Nearest(query, using=using), limit, where, payload)

    def drop(self, collection: str) -> None:
        """Remove a whole collection; one that is not there is no error."""
        check_name(collection)
        with self._guard:
            opened = self._open.pop(collection, None)
            lock = opened.lock if opened else self._lock(collection)
            try:
                if opened:
                    opened.shard.close()
                if self._exists(collection):
                    doomed = self._root / f".dropped-{collection}"
                    shutil.rmtree(doomed, ignore_errors=True)
                    self._path(collection).rename(doomed)
                    sidecar.sync_directory(self._root)
                    shutil.rmtree(doomed)
            finally:
                lock.release()

    def close(self) -> None:
        """Flush and release everything; give back the space of deleted points where that is worth it."""
        with self._guard:
            while self._open:
                collection, opened = self._open.popitem()
                try:
                    with _engine(collection, "close"):
                        if opened.dirty:
                            # Cheap by design: merges and vacuums when the engine's own thresholds (a fifth of a
                            # segment deleted) are passed, else returns at once. Safe to kill at any moment.
                            opened.shard.optimize()
                        opened.shard.close()
                finally:
                    opened.lock.release()

    def _path(self, collection: str) -> Path:
        check_name(collection)
        return self._root / collection

    def _exists(self, collection: str) -> bool:
        return (self._path(collection) / "collection.json").is_file()

    def _lock(self, collection: str) -> FileLock:
        locks = self._root / ".locks"
        locks.mkdir(parents=True, exist_ok=True)
        lock = FileLock(locks / f"{collection}.lock", thread_local=False)
        try:
            lock.acquire(timeout=self._lock_timeout, poll_interval=0.02)
        except Timeout:
            raise LockedError(
                f"Collection '{collection}' of the embedded vector store is in use by another run, which holds the "
                f"lock {lock.lock_file} (waited {self._lock_timeout:g} s); wait for that run to end and try again."
            ) from None
        return lock

    def _get(self, collection: str) -> _Open:
        """Return the open collection, opening and locking it at first use."""
        with self._guard:
            if collection in self._open:
                return self._open[collection]
            if not self._exists(collection):
                raise StoreError(
                    f"There is no collection '{collection}' in {self.where}; check the name or ingest into it first."
                )
            lock = self._lock(collection)
            try:
                about = sidecar.read(self._path(collection) / "collection.json")
                with _engine(collection, "open"):
                    shard = engine.EdgeShard.load(str(self._path(collection) / "shard"))
            except BaseException:
                lock.release()
                raise
            self._open[collection] = _Open(lock, shard, about)
            return self._open[collection]

    def _build(
        self, collection: str, layout: Layout, indexes: Mapping[str, IndexKind], metadata: Mapping[str, Any]
    ) -> None:
        draft = self._root / f".new-{collection}"
        shutil.rmtree(draft, ignore_errors=True)
        (draft / "shard").mkdir(parents=True)
        dense = engine.EdgeVectorParams(size=layout.dimension, distance=_DISTANCES[layout.distance])
        sparse = {layout.sparse: engine.EdgeSparseVectorParams(modifier=engine.Modifier.Idf)} if layout.sparse else None
        config = engine.EdgeConfig(
            vectors={layout.dense: dense},
            sparse_vectors=sparse,
            optimizers=engine.EdgeOptimizersConfig(indexing_threshold=_NO_GRAPH),
        )
        with _engine(collection, "create"):
            shard = engine.EdgeShard.create(str(draft / "shard"), config)
            for field in sorted(indexes):
                shard.update(engine.UpdateOperation.create_field_index(field, _KINDS[indexes[field]]))
            shard.flush()
            shard.close()
        sidecar.write(draft / "collection.json", sidecar.Sidecar(layout, metadata))
        draft.rename(self._path(collection))
        sidecar.sync_directory(self._root)

    def _pages(
        self, collection: str, where: Where | None, payload: bool | list[str], vectors: bool, batch: int
    ) -> Iterator[list[engine.Record]]:
        shard = self._get(collection).shard
        conditions = to_filter(where)
        offset: PointId | UUID | None = None
        while True:
            with _engine(collection, "read"):
                page, offset = shard.scroll(
                    engine.ScrollRequest(
                        offset=offset,
                        limit=batch,
                        filter=conditions,
                        with_payload=payload or False,
                        with_vector=vectors,
                    )
                )
            yield page
            if offset is None:
                return

    def _search(
        self,
        collection: str,
        shard: engine.EdgeShard,
        query: engine.Query,
        limit: int,
        where: Where | None,
        payload: bool | list[str],
    ) -> list[Hit]:
        conditions = to_filter(where)

        def fetch(wanted: int) -> list[Hit]:
            request = engine.QueryRequest(
                limit=wanted,
                query=query,
                filter=conditions,
                with_payload=payload or False,
                params=engine.SearchParams(exact=True),
            )
            with _engine(collection, "search"):
                return [Hit(from_id(one.id), one.score, one.payload or {}) for one in shard.query(request)]

        return ranked(fetch, limit)


@contextmanager
def _engine(collection: str, doing: str) -> Iterator[None]:
    """Turn the engine's untyped exceptions into a StoreError of one sentence."""
    try:
        yield
    except FundstelleError:
        raise
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StoreError(
            f"The embedded vector engine could not {doing} collection '{collection}': {reason}; check the free space "
            "and the permissions of the home directory, then run again."
        ) from error
