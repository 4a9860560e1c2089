"""The embedded vector engine: Qdrant's own (`qdrant-edge-py`), one shard directory a collection, no server.

What differs from a server on purpose: search is exact. The engine builds no graph index (for 60,000 points of 256
dimensions that takes 30 s, and saves next to nothing of the 5 ms an exact search needs), so rankings are reproducible.
"""

import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self
from uuid import UUID

import qdrant_edge as engine

from backends.vectors import edge_aliases, edge_shards
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
from backends.vectors.edge_shards import OpenShard, engine_errors
from backends.vectors.ranking import SPARE, ranked
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
    in_batches,
)
from normalize.errors import StoreError

_ID_PAGE = 10_000
_WRITE_IDS = 5_000
_QUERIES = 64


class EdgeStore:
    """Vector store inside this process; implements `VectorStore`.

    A collection is opened and locked at its first use and stays so until `close`. A write that has returned is on disk:
    it survives kill -9 and a power cut. Methods may be called from several threads.
    """

    def __init__(self, home: Path, lock_timeout: float) -> None:
        """Use `<home>/vectors`; wait at most `lock_timeout` seconds for a collection another process holds."""
        self._root = home / "vectors"
        self._lock_timeout = lock_timeout
        self._open: dict[str, OpenShard] = {}
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
        return edge_shards.names(self._root)

    def describe(self, collection: str) -> Collection | None:
        """Return what the collection is, or None if there is none of that name."""
        check_name(collection)
        if not edge_shards.exists(self._root, self._real(collection)):
            return None
        opened = self._get(collection)
        with engine_errors(collection, "describe"):
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
        with self._guard:
            if collection in self._open:
                raise self._taken(collection)
            lock = edge_shards.acquire(self._root, collection, self._lock_timeout)
            try:
                if edge_shards.exists(self._root, collection) or collection in self.aliases():
                    raise self._taken(collection)
                edge_shards.build(self._root, collection, layout, indexes, metadata)
            finally:
                lock.release()

    def ensure_indexes(self, collection: str, indexes: Mapping[str, IndexKind]) -> list[str]:
        """Create the indexes that are missing and return their fields, sorted."""
        shard = self._get(collection).shard
        with engine_errors(collection, "index"):
            present = shard.info().payload_schema
            missing = {field: kind for field, kind in indexes.items() if field not in present}
            edge_shards.create_indexes(shard, missing)
            shard.flush()
        return sorted(missing)

    def set_metadata(self, collection: str, metadata: Mapping[str, Any]) -> None:
        """Merge the collection's own metadata."""
        with self._guard:
            opened = self._get(collection)
            about = replace(opened.about, metadata={**opened.about.metadata, **metadata})
            edge_shards.describe(self._root, collection, about)
            opened.about = about

    def upsert(self, collection: str, points: Sequence[Point]) -> None:
        """Write the points in byte-bounded batches; all are checked before the first is written."""
        opened = self._get(collection)
        layout = opened.about.layout
        sized = check_points(collection, layout, points)
        with edge_shards.writing(collection, opened, "write to"):
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
        with edge_shards.writing(collection, opened, "write to"):
            for batch in by_bytes(sized):
                found = {from_id(record.id) for record in opened.shard.retrieve(list(batch), False, False)}
                absent = [point_id for point_id in batch if point_id not in found]
                if absent:
                    raise StoreError(
                        f"Point {absent[0]} is not in collection '{collection}', so its payload cannot be replaced; "
                        "read the collection again and write whole points for the missing ones."
                    )
                for point_id in batch:
                    opened.shard.update(engine.UpdateOperation.overwrite_payload([point_id], dict(payloads[point_id])))
            opened.shard.flush()

    def delete(self, collection: str, ids: Sequence[PointId]) -> None:
        """Delete exactly these points; ids that are not there are no error."""
        check_ids(collection, ids)
        opened = self._get(collection)
        with edge_shards.writing(collection, opened, "delete from"):
            for batch in in_batches(ids, _WRITE_IDS):
                opened.shard.update(engine.UpdateOperation.delete_points(list(batch)))
            opened.shard.flush()

    def retrieve(
        self, collection: str, ids: Sequence[PointId], *, payload: bool | list[str] = True, vectors: bool = False
    ) -> list[Record]:
        """Return those of the points that exist, each once, in any order."""
        check_ids(collection, ids)
        opened = self._get(collection)
        records: list[Record] = []
        for batch in in_batches(dict.fromkeys(ids), _WRITE_IDS):
            with engine_errors(collection, "read"):
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
        segment the distinct ids are counted. How many there are in all is remembered until something is written: no
        other process can have written to a collection that this one holds.
        """
        opened = self._get(collection)
        if where is not None:
            return self._count(collection, opened, where)
        state, counted = opened.state, opened.counted
        if counted is None or counted[0] is not state:
            opened.counted = counted = (state, self._count(collection, opened, None))
        return counted[1]

    def _count(self, collection: str, opened: OpenShard, where: Where | None) -> int:
        with engine_errors(collection, "count"):
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

    def query_batch(
        self,
        collection: str,
        queries: Sequence[tuple[Floats, Where | None]],
        limit: int,
        *,
        payload: bool | list[str] = True,
    ) -> list[list[Hit]]:
        """Return, for each (dense vector, filter), what `query_dense` does; the engine compares several in one pass."""
        opened = self._get(collection)
        layout = opened.about.layout
        checked = [(check_query(collection, layout, vector).tolist(), where) for vector, where in queries]
        found: list[list[Hit]] = []
        for batch in in_batches(checked if limit > 0 else [], _QUERIES):
            asked = [(engine.Query.Nearest(query, using=layout.dense), where) for query, where in batch]
            requests = [_request(query, limit + SPARE, to_filter(where)) for query, where in asked]
            with engine_errors(collection, "search"):
                answers = opened.shard.query_batch(engine.QueryBatchRequest(requests))
            for (query, where), answer in zip(asked, answers, strict=True):
                first = [Hit(from_id(one.id), one.score, {}) for one in answer]
                found.append(self._search(collection, opened.shard, query, limit, where, payload, first))
        return found or [[] for _ in queries]

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

    def aliases(self) -> dict[str, str]:
        """Return the collection that each alias stands for."""
        return edge_aliases.read(self._root)

    def switch_alias(self, alias: str, collection: str) -> None:
        """Let the alias stand for the collection; one file is replaced, so it stands for one of them at any moment."""
        check_name(alias)
        check_name(collection)
        edge_aliases.switch(self._root, alias, collection, self._lock_timeout)

    def pause_indexing(self, collection: str) -> None:
        """Nothing to pause: this engine keeps no graph, it compares with every vector."""

    def resume_indexing(self, collection: str, seconds: float) -> bool:
        """Nothing to resume; see `pause_indexing`."""
        return True

    def size_bytes(self, collection: str) -> int | None:
        """Return how much of the disk the collection's files take (less than their length where they are sparse)."""
        check_name(collection)
        return edge_shards.size(self._root, self._real(collection))

    def free_bytes(self) -> int | None:
        """Return the free space of the disk that the vectors lie on (or will lie on)."""
        root = self._root.resolve()
        return shutil.disk_usage(next(folder for folder in (root, *root.parents) if folder.is_dir())).free

    def drop(self, collection: str) -> None:
        """Remove a whole collection; one that is not there is no error."""
        check_name(collection)
        with self._guard:
            opened = self._open.pop(collection, None)
            lock = opened.lock if opened else edge_shards.acquire(self._root, collection, self._lock_timeout)
            try:
                if opened:
                    opened.shard.close()
                edge_shards.remove(self._root, collection)
            finally:
                lock.release()

    def close(self) -> None:
        """Flush and release everything; give back the space of deleted points where that is worth it."""
        with self._guard:
            while self._open:
                edge_shards.close(*self._open.popitem())

    def _get(self, collection: str) -> OpenShard:
        """Return the open collection, opening and locking it at first use."""
        check_name(collection)
        with self._guard:
            collection = self._real(collection)
            if collection not in self._open:
                if not edge_shards.exists(self._root, collection):
                    raise StoreError(
                        f"There is no collection '{collection}' in {self.where}; "
                        "check the name or ingest into it first."
                    )
                self._open[collection] = edge_shards.load(self._root, collection, self._lock_timeout)
            return self._open[collection]

    def _real(self, name: str) -> str:
        """Return the collection of an alias; asked anew each time, since another process may have switched it."""
        return name if name in self._open else self.aliases().get(name, name)

    def _taken(self, collection: str) -> StoreError:
        return StoreError(f"Collection '{collection}' already exists in {self.where}; take another name.")

    def _pages(
        self, collection: str, where: Where | None, payload: bool | list[str], vectors: bool, batch: int
    ) -> Iterator[list[engine.Record]]:
        shard = self._get(collection).shard
        conditions = to_filter(where)
        offset: PointId | UUID | None = None
        while True:
            with engine_errors(collection, "read"):
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
        first: list[Hit] | None = None,
    ) -> list[Hit]:
        """Return the best points; only the payloads of those are read, not of the spare ones that settle ties.

        `first` are the best `limit + SPARE` where they were fetched already.
        """
        conditions = to_filter(where)

        def fetch(wanted: int) -> list[Hit]:
            if first is not None and wanted == limit + SPARE:
                return first
            request = _request(query, wanted, conditions)
            return [Hit(from_id(one.id), one.score, {}) for one in shard.query(request)]

        with engine_errors(collection, "search"):
            hits = ranked(fetch, limit)
            if not payload or not hits:
                return hits
            found = {from_id(one.id): one.payload for one in shard.retrieve([hit.id for hit in hits], payload, False)}
        return [replace(hit, payload=found[hit.id] or {}) for hit in hits if hit.id in found]


def _request(query: engine.Query, limit: int, conditions: engine.Filter | None) -> engine.QueryRequest:
    exact = engine.SearchParams(exact=True)
    return engine.QueryRequest(limit=limit, query=query, filter=conditions, with_payload=False, params=exact)
