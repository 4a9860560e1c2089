"""Vectors on a Qdrant server, through `qdrant-client` over REST.

Every write waits until it is applied on the server and counts only with status `completed`. A write whose answer is
lost is never sent again here: its fate is unknown, and the caller has to read before it decides.
"""

import logging
import ssl
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Self, TypeVar
from urllib.parse import urlsplit

import httpx
from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import UnexpectedResponse

from backends.deadline import answer_within
from backends.vectors.batches import POINT_BYTES, by_bytes
from backends.vectors.checks import (
    check_ids,
    check_name,
    check_points,
    check_query,
    check_query_sparse,
    payload_bytes,
)
from backends.vectors.qdrant_bulk import OFF, PAUSED, is_indexed, paused_threshold, to_keep
from backends.vectors.qdrant_errors import check_completed, reading, writing
from backends.vectors.qdrant_models import from_id, from_record, other_vectors, read_layout, to_filter, to_struct
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
from normalize.errors import StoreError, UsageError

METADATA_SINCE: Final = "1.16"

_IDS = 5_000
_QUERIES = 64
_BUSY_ATTEMPTS = 4
_LONGEST_PAUSE = 30.0

_KINDS: Mapping[str, models.PayloadSchemaType] = {
    "keyword": models.PayloadSchemaType.KEYWORD,
    "integer": models.PayloadSchemaType.INTEGER,
    "bool": models.PayloadSchemaType.BOOL,
}

_POLL_SECONDS = 1.0

_log = logging.getLogger(__name__)

Answer = TypeVar("Answer")


def connect(url: str, api_key: str | None, timeout: float, ca_file: Path | None = None) -> "QdrantStore":
    """Return the store at `url` once the server there has answered; `timeout` in seconds is for every request.

    A URL without scheme is taken as http, one without port as port 6333. Over https the server's certificate must come
    from an authority in `ca_file` (PEM), or without it from one that the system trusts; it is never left unchecked.
    Raises UsageError for a URL or `ca_file` that is none, StoreUnavailableError if nothing answers or the certificate
    is not trusted, and StoreError if what answers is no Qdrant server.
    """
    trusted = True if ca_file is None else _trusting(ca_file)
    address = url if "://" in url else f"http://{url}"
    shown = without_credentials(address)
    try:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise ValueError("it needs http or https, and a host")
        with warnings.catch_warnings(category=UserWarning, action="ignore"):
            client = QdrantClient(
                url=address,
                api_key=api_key,
                timeout=max(1, round(timeout)),
                check_compatibility=False,
                verify=trusted,
                event_hooks={"response": [answer_within(timeout)]},
            )
    except ValueError as error:
        raise UsageError(
            f"The Qdrant address {shown} cannot be used ({error}); write it like http://host:6333."
        ) from None
    if api_key and parts.scheme == "http":
        _log.warning("The API key for Qdrant goes to %s unencrypted; use https.", shown)
    store = QdrantStore(client, shown)
    try:
        store.greet()
    except BaseException:
        client.close()
        raise
    return store


def _trusting(ca_file: Path) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # an SSLError is one too
        reason = error.strerror or "it holds no certificate"
        raise UsageError(
            f"The certificates in {ca_file} (QDRANT_CA_FILE) cannot be used ({reason}): give a PEM file."
        ) from None


def without_credentials(url: str) -> str:
    """Return scheme, host, port and path of a URL: what may be shown."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


class QdrantStore:
    """Vector store on a server; implements `VectorStore`.

    Collections that others made are taken as they are: one unnamed dense vector, no sparse vector, other metadata.
    """

    def __init__(
        self, client: QdrantClient, where: str = "in-process Qdrant", pause: Callable[[float], None] = time.sleep
    ) -> None:
        """Use the client, which `close` closes; `where` is how people see the place, `pause` waits when it is busy."""
        self._client = client
        self._where = where
        self._pause = pause
        self._layouts: dict[str, Layout] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def where(self) -> str:
        """Where the data lives, for people; without credentials."""
        return self._where

    def greet(self) -> str:
        """Return the server's version; raises StoreUnavailableError or StoreError if no Qdrant server answers."""
        return self._read("greet the server", self._client.info).version

    def collections(self) -> list[str]:
        """Return the names of all collections, sorted."""
        found = self._read("list the collections", self._client.get_collections)
        return sorted(one.name for one in found.collections)

    def describe(self, collection: str) -> Collection | None:
        """Return what the collection is, or None if there is none of that name.

        Raises StoreError if it has no dense vector, or several and none called `dense`.
        """
        check_name(collection)
        info = self._info(collection)
        if info is None:
            return None
        layout = read_layout(collection, info)
        self._layouts[collection] = layout
        return Collection(
            name=collection,
            layout=layout,
            indexes={field: about.data_type.value for field, about in sorted(info.payload_schema.items())},
            metadata=dict(info.config.metadata or {}),
            points=self.count(collection),
            others=other_vectors(info, layout),
        )

    def create(
        self,
        collection: str,
        layout: Layout,
        indexes: Mapping[str, IndexKind],
        metadata: Mapping[str, Any],
    ) -> None:
        """Create a collection with its indexes; raises StoreError if the name is taken."""
        check_name(collection)
        if self._info(collection) is not None:
            raise StoreError(f"Collection '{collection}' already exists in {self.where}; take another name.")
        try:
            dense = models.VectorParams(size=layout.dimension, distance=models.Distance(layout.distance))
        except ValueError as error:
            raise StoreError(f"A collection with {layout} is impossible ({error}); nothing was created.") from None
        sparse = {layout.sparse: models.SparseVectorParams(modifier=models.Modifier.IDF)} if layout.sparse else None
        self._write(
            collection,
            lambda: self._client.create_collection(
                collection,
                vectors_config={layout.dense: dense} if layout.dense else dense,
                sparse_vectors_config=sparse,
                metadata=dict(metadata),
            ),
        )
        self._layouts[collection] = layout
        self._check_metadata(collection, metadata)
        self._create_indexes(collection, indexes)

    def ensure_indexes(self, collection: str, indexes: Mapping[str, IndexKind]) -> list[str]:
        """Create the indexes that are missing and return their fields, sorted."""
        present = self._existing(collection).payload_schema
        missing = {field: kind for field, kind in indexes.items() if field not in present}
        self._create_indexes(collection, missing)
        return sorted(missing)

    def set_metadata(self, collection: str, metadata: Mapping[str, Any]) -> None:
        """Merge the collection's own metadata."""
        self._existing(collection)
        if metadata:
            self._write(collection, lambda: self._client.update_collection(collection, metadata=dict(metadata)))
            self._check_metadata(collection, metadata)

    def upsert(self, collection: str, points: Sequence[Point]) -> None:
        """Write the points in byte-bounded requests; all are checked before the first is sent."""
        layout = self._layout(collection)
        for batch in by_bytes(check_points(collection, layout, points)):
            structs = [to_struct(layout, point) for point in batch]
            self._update(collection, partial(self._client.upsert, collection, structs, wait=True))

    def overwrite_payloads(self, collection: str, payloads: Mapping[PointId, Mapping[str, Any]]) -> None:
        """Replace the payloads of existing points; their vectors stay. Raises StoreError if one does not exist."""
        check_ids(collection, payloads)
        sized = [(one, POINT_BYTES + payload_bytes(collection, one, payload)) for one, payload in payloads.items()]
        for batch in by_bytes(sized):
            found = {record.id for record in self.retrieve(collection, batch, payload=False)}
            absent = [point_id for point_id in batch if point_id not in found]
            if absent:
                raise StoreError(
                    f"Point {absent[0]} is not in collection '{collection}', so its payload cannot be replaced; "
                    "read the collection again and write whole points for the missing ones."
                )
            operations = [
                models.OverwritePayloadOperation(
                    overwrite_payload=models.SetPayload(payload=dict(payloads[point_id]), points=[point_id])
                )
                for point_id in batch
            ]
            self._update_batch(collection, operations)

    def delete(self, collection: str, ids: Sequence[PointId]) -> None:
        """Delete exactly these points; ids that are not there are no error."""
        check_ids(collection, ids)
        for batch in in_batches(ids, _IDS):
            selector = models.PointIdsList(points=list(batch))
            self._update(collection, partial(self._client.delete, collection, selector, wait=True))

    def retrieve(
        self, collection: str, ids: Sequence[PointId], *, payload: bool | list[str] = True, vectors: bool = False
    ) -> list[Record]:
        """Return those of the points that exist, each once, in any order."""
        check_ids(collection, ids)
        layout = self._layout(collection)
        records: list[Record] = []
        for batch in in_batches(dict.fromkeys(ids), _IDS):
            found = self._read(
                f"read collection '{collection}'",
                partial(self._client.retrieve, collection, batch, with_payload=payload or False, with_vectors=vectors),
            )
            records.extend(from_record(layout, one) for one in found)
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
        layout = self._layout(collection)
        conditions = to_filter(where)
        offset: Any = None
        while True:
            page, offset = self._read(
                f"read collection '{collection}'",
                partial(
                    self._client.scroll,
                    collection,
                    scroll_filter=conditions,
                    limit=batch,
                    offset=offset,
                    with_payload=payload or False,
                    with_vectors=vectors,
                ),
            )
            for one in page:
                yield from_record(layout, one)
            if offset is None:
                return

    def count(self, collection: str, where: Where | None = None) -> int:
        """Return the exact number of matching points."""
        counted = self._read(
            f"count collection '{collection}'",
            lambda: self._client.count(collection, count_filter=to_filter(where), exact=True),
        )
        return int(counted.count)

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
        layout = self._layout(collection)
        query = check_query(collection, layout, vector).tolist()
        return self._search(collection, query, layout.dense or None, limit, where, payload)

    def query_batch(
        self,
        collection: str,
        queries: Sequence[tuple[Floats, Where | None]],
        limit: int,
        *,
        payload: bool | list[str] = True,
    ) -> list[list[Hit]]:
        """Return, for each (dense vector, filter), what `query_dense` does, with few requests."""
        layout = self._layout(collection)
        checked = [(check_query(collection, layout, vector).tolist(), where) for vector, where in queries]
        using = layout.dense or None
        found: list[list[Hit]] = []
        for batch in in_batches(checked if limit > 0 else [], _QUERIES):
            requests = [
                models.QueryRequest(
                    query=query,
                    using=using,
                    filter=to_filter(where),
                    limit=limit + SPARE,
                    with_payload=payload or False,
                )
                for query, where in batch
            ]
            answers = self._read(
                f"search collection '{collection}'", partial(self._client.query_batch_points, collection, requests)
            )
            for (query, where), answer in zip(batch, answers, strict=True):
                first = [Hit(from_id(one.id), float(one.score), one.payload or {}) for one in answer.points]
                found.append(self._search(collection, query, using, limit, where, payload, first))
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
        using = check_query_sparse(collection, self._layout(collection), vector)
        if not vector.indices:
            return []
        query = models.SparseVector(indices=list(vector.indices), values=list(vector.values))
        return self._search(collection, query, using, limit, where, payload)

    def aliases(self) -> dict[str, str]:
        """Return the collection that each alias stands for."""
        found = self._read("list the aliases", self._client.get_aliases)
        return {one.alias_name: one.collection_name for one in sorted(found.aliases, key=lambda one: one.alias_name)}

    def switch_alias(self, alias: str, collection: str) -> None:
        """Let the alias stand for the collection: one request, which the server applies as one change."""
        check_name(alias)
        self._existing(collection)
        known = self.aliases()
        if alias not in known and alias in self.collections():
            raise StoreError(f"Collection '{alias}' has the name that was to be an alias; take another name.")
        create = models.CreateAlias(collection_name=collection, alias_name=alias)
        actions: list[models.AliasOperations] = [models.CreateAliasOperation(create_alias=create)]
        if alias in known:
            actions.insert(0, models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias)))
        self._layouts.pop(alias, None)
        self._write(collection, lambda: self._client.update_collection_aliases(change_aliases_operations=actions))

    def pause_indexing(self, collection: str) -> None:
        """Switch the building of the graph off; its threshold is kept in the collection's metadata first."""
        info = self._existing(collection)
        keep = to_keep(info)
        if keep is None or paused_threshold(info.config.metadata) is not None:
            return
        self.set_metadata(collection, keep)
        self._set_threshold(collection, OFF)

    def resume_indexing(self, collection: str, seconds: float) -> bool:
        """Set the threshold back, and wait at most so long until the server has built its graph."""
        threshold = paused_threshold(self._existing(collection).config.metadata)
        if threshold is None:
            return True
        self._set_threshold(collection, threshold)
        self.set_metadata(collection, {PAUSED: None})
        until = time.monotonic() + seconds
        while not is_indexed(self._existing(collection)):
            if time.monotonic() >= until:
                return False
            self._pause(_POLL_SECONDS)
        return True

    def _set_threshold(self, collection: str, threshold: int) -> None:
        config = models.OptimizersConfigDiff(indexing_threshold=threshold)
        self._write(collection, lambda: self._client.update_collection(collection, optimizers_config=config))

    def size_bytes(self, collection: str) -> int | None:
        """Return None: a server does not say how much room a collection takes."""
        return None

    def free_bytes(self) -> int | None:
        """Return None: a server does not say how much room it has."""
        return None

    def drop(self, collection: str) -> None:
        """Remove a whole collection; one that is not there is no error."""
        check_name(collection)
        self._layouts.pop(collection, None)
        self._write(collection, lambda: self._client.delete_collection(collection))

    def close(self) -> None:
        """Release the connections."""
        self._client.close()

    def _info(self, collection: str) -> models.CollectionInfo | None:
        def get() -> models.CollectionInfo | None:
            try:
                return self._client.get_collection(collection)
            except UnexpectedResponse as error:
                if error.status_code == httpx.codes.NOT_FOUND:
                    return None
                raise
            except ValueError:
                # The client in process has no status codes.
                if self._client.collection_exists(collection):
                    raise
                return None

        return self._read(f"describe collection '{collection}'", get)

    def _existing(self, collection: str) -> models.CollectionInfo:
        check_name(collection)
        info = self._info(collection)
        if info is None:
            raise StoreError(
                f"There is no collection '{collection}' in {self.where}; check the name or ingest into it first."
            )
        return info

    def _layout(self, collection: str) -> Layout:
        if collection not in self._layouts:
            self._layouts[collection] = read_layout(collection, self._existing(collection))
        return self._layouts[collection]

    def _check_metadata(self, collection: str, metadata: Mapping[str, Any]) -> None:
        """Refuse a server that drops the metadata silently: model identity must not get lost."""
        kept = self._existing(collection).config.metadata or {}
        lost = sorted(key for key, value in metadata.items() if value is not None and kept.get(key) != value)
        if lost:
            raise StoreError(
                f"The server {self.where} did not keep {', '.join(lost)} in the metadata of collection '{collection}'; "
                f"it needs Qdrant {METADATA_SINCE} or later, update the server."
            )

    def _create_indexes(self, collection: str, indexes: Mapping[str, IndexKind]) -> None:
        for field, kind in sorted(indexes.items()):
            self._update(
                collection,
                partial(self._client.create_payload_index, collection, field, field_schema=_KINDS[kind], wait=True),
            )

    def _search(
        self,
        collection: str,
        query: list[float] | models.SparseVector,
        using: str | None,
        limit: int,
        where: Where | None,
        payload: bool | list[str],
        first: list[Hit] | None = None,
    ) -> list[Hit]:
        """Return the best points; `first` are the best `limit + SPARE` where they were fetched already."""
        conditions = to_filter(where)

        def fetch(wanted: int) -> list[Hit]:
            if first is not None and wanted == limit + SPARE:
                return first
            found = self._read(
                f"search collection '{collection}'",
                lambda: self._client.query_points(
                    collection,
                    query=query,
                    using=using,
                    query_filter=conditions,
                    limit=wanted,
                    with_payload=payload or False,
                ),
            )
            return [Hit(from_id(one.id), float(one.score), one.payload or {}) for one in found.points]

        return ranked(fetch, limit)

    def _update(self, collection: str, call: Callable[[], models.UpdateResult]) -> None:
        check_completed(self._where, collection, [self._write(collection, call)])

    def _update_batch(self, collection: str, operations: list[models.OverwritePayloadOperation]) -> None:
        results = self._write(
            collection, lambda: self._client.batch_update_points(collection, update_operations=operations, wait=True)
        )
        check_completed(self._where, collection, results)

    def _read(self, doing: str, call: Callable[[], Answer]) -> Answer:
        with reading(self._where, doing):
            return self._patiently(call)

    def _write(self, collection: str, call: Callable[[], Answer]) -> Answer:
        with writing(self._where, collection):
            return self._patiently(call)

    def _patiently(self, call: Callable[[], Answer]) -> Answer:
        """Call again when the server is too busy to take the request (429): it has not touched it."""
        for attempt in range(_BUSY_ATTEMPTS):
            try:
                return call()
            except ResourceExhaustedResponse as error:
                if attempt == _BUSY_ATTEMPTS - 1:
                    raise
                self._pause(min(float(error.retry_after_s), _LONGEST_PAUSE))
            except UnexpectedResponse as error:
                if error.status_code != httpx.codes.TOO_MANY_REQUESTS or attempt == _BUSY_ATTEMPTS - 1:
                    raise
                self._pause(float(2**attempt))
        raise AssertionError("unreachable: the last attempt returns or raises")
