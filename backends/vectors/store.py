"""The vector store as fundstelle sees it: one interface for every engine, and the plain values that cross it.

Every write waits until it is applied and returns nothing; a caller that must be sure reads back. A write whose fate is
not known (time-out, connection lost) raises `UnknownOutcomeError`; one that was refused raises `StoreError`.
Counts are exact, deletes go by id list, and an existing collection's layout is never changed.

Ids are unsigned integers or UUIDs in their canonical spelling; they sort as the engine sorts them: integers first, then
UUIDs. Where the distance is cosine, dense vectors are stored with length 1, and that is what is read back; a vector
that has length 1 already is stored bit for bit, so what was read can be written back without a change.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

CURRENT_VERSIONS = "current_versions"
"""Metadata of a collection: document id → version, of documents that still have points of an older version too."""

ANALYZER = "analyzer"
"""Metadata of a collection: the version of the analyzer that made its BM25 terms."""

UNRECORDED_ANALYZER = "bm25-1"
"""What a collection counts as that has BM25 terms and does not say whose: the analyzer of before versions changed."""

GENERATION = "generation"
"""Metadata of a collection that was built to stand behind an alias: of which alias, before it, and how far it is."""

# What a collection that was built for an alias is called; others need not be opened to know that they are none.
_BUILT = re.compile(r".+\.v[0-9]+")

PointId = str | int
Floats = NDArray[np.float32]
IndexKind = Literal["keyword", "integer", "bool"]
Scalar = str | int | bool
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Layout:
    """How a collection stores vectors: names, size and distance.

    `dense` is the name of the dense vector ("" = the one unnamed vector of older collections); `sparse` the name of
    the BM25 vector with IDF modifier, or None where the collection has none.
    """

    dimension: int
    dense: str = "dense"
    sparse: str | None = "bm25"
    distance: str = "Cosine"


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Term ids (ascending, distinct, below 2^32) and their weights, which engines keep as 32-bit floats."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """One point to write. `dense` has the collection's dimension; `sparse` is None where the layout has no sparse.

    `dense` is None only for a point that is put back exactly as it was read (rollback of a point without vectors).
    """

    id: PointId
    dense: Floats | None
    sparse: SparseVector | None
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """One point as read back; vectors are None unless asked for (or absent)."""

    id: PointId
    payload: dict[str, Any]
    dense: Floats | None = None
    sparse: SparseVector | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result; a higher score is better."""

    id: PointId
    score: float
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Where:
    """A filter: every field of `must` has one of its values, no field of `must_not` has any of its values."""

    must: Mapping[str, Sequence[Scalar]] = field(default_factory=dict)
    must_not: Mapping[str, Sequence[Scalar]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Collection:
    """What a collection is: layout, indexed payload fields, own metadata (model identity), exact number of points.

    `others` are vectors of the collection that fundstelle neither reads nor writes.
    """

    name: str
    layout: Layout
    indexes: Mapping[str, str]
    metadata: Mapping[str, Any]
    points: int
    others: tuple[str, ...] = ()

    @property
    def analyzer(self) -> str | None:
        """The version of the analyzer that made the BM25 terms, or None where there are no terms to be of one."""
        if self.layout.sparse is None:
            return None
        return str(self.metadata.get(ANALYZER) or UNRECORDED_ANALYZER)


class VectorStore(Protocol):
    """One vector engine. Payload selection: True = all, False = none, a list = those fields."""

    def __enter__(self) -> Self:
        """Use the store in a `with` block, which closes it."""
        ...

    def __exit__(self, *_: object) -> None: ...

    @property
    def where(self) -> str:
        """Where the data lives, for people (never with a secret)."""
        ...

    def collections(self) -> list[str]:
        """Return the names of all collections, sorted."""
        ...

    def describe(self, collection: str) -> Collection | None:
        """Return what the collection is, or None if there is none of that name."""
        ...

    def create(
        self,
        collection: str,
        layout: Layout,
        indexes: Mapping[str, IndexKind],
        metadata: Mapping[str, Any],
    ) -> None:
        """Create a collection with its indexes; raises StoreError if the name is taken."""
        ...

    def ensure_indexes(self, collection: str, indexes: Mapping[str, IndexKind]) -> list[str]:
        """Create the indexes that are missing and return their fields, sorted."""
        ...

    def set_metadata(self, collection: str, metadata: Mapping[str, Any]) -> None:
        """Merge the collection's own metadata."""
        ...

    def upsert(self, collection: str, points: Sequence[Point]) -> None:
        """Write the points in byte-bounded requests; checked before anything is sent."""
        ...

    def overwrite_payloads(self, collection: str, payloads: Mapping[PointId, Mapping[str, Any]]) -> None:
        """Replace the payloads of existing points; their vectors stay."""
        ...

    def delete(self, collection: str, ids: Sequence[PointId]) -> None:
        """Delete exactly these points; ids that are not there are no error."""
        ...

    def retrieve(
        self, collection: str, ids: Sequence[PointId], *, payload: bool | list[str] = True, vectors: bool = False
    ) -> list[Record]:
        """Return those of the points that exist, in any order."""
        ...

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
        ...

    def count(self, collection: str, where: Where | None = None) -> int:
        """Return the exact number of matching points."""
        ...

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
        ...

    def query_batch(
        self,
        collection: str,
        queries: Sequence[tuple[Floats, Where | None]],
        limit: int,
        *,
        payload: bool | list[str] = True,
    ) -> list[list[Hit]]:
        """Return, for each (dense vector, filter), what `query_dense` does, with few requests."""
        ...

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
        ...

    def aliases(self) -> dict[str, str]:
        """Return the collection that each alias stands for; every call that reads takes an alias for a collection."""
        ...

    def switch_alias(self, alias: str, collection: str) -> None:
        """Let the alias stand for the collection, new or instead of another one, from one moment to the next.

        Raises StoreError if a collection has the alias' name, or if there is no such collection.
        """
        ...

    def pause_indexing(self, collection: str) -> None:
        """Have the engine build no graph while much is written; what it was set to is kept with the collection."""
        ...

    def resume_indexing(self, collection: str, seconds: float) -> bool:
        """Put back what a pause changed, if there was one, and wait so long at most until all is indexed.

        Return whether it is; a collection that was not paused is not waited for.
        """
        ...

    def size_bytes(self, collection: str) -> int | None:
        """Return how much room the collection takes, or None where the store cannot tell."""
        ...

    def free_bytes(self) -> int | None:
        """Return the free space where the vectors lie, or None where the store cannot tell."""
        ...

    def drop(self, collection: str) -> None:
        """Remove a whole collection (tests, blue/green); never called by the re-ingest of an existing one."""
        ...

    def close(self) -> None:
        """Flush and release everything."""
        ...


def real_name(store: VectorStore, name: str) -> str:
    """Return the collection that a name stands for: that of the alias, or the name itself."""
    return store.aliases().get(name, name)


def served(store: VectorStore) -> list[str]:
    """Return the names to read where none is given, sorted: each collection once, by its alias where it has one.

    What stands behind no alias but was built for one (a draft, the one before) is left out: it is another version.
    """
    by_collection: dict[str, str] = {}
    for alias, collection in store.aliases().items():
        by_collection.setdefault(collection, alias)
    names = []
    for name in store.collections():
        if name in by_collection:
            names.append(by_collection[name])
        elif _BUILT.fullmatch(name) is None or not _is_generation(store, name):
            names.append(name)
    return sorted(names)


def _is_generation(store: VectorStore, name: str) -> bool:
    about = store.describe(name)
    return about is not None and GENERATION in about.metadata


def in_batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items in lists of at most `size`."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
