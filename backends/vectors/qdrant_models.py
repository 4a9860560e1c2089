"""Between fundstelle's plain values and the models of the Qdrant client."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from qdrant_client import models

from backends.vectors.store import Layout, Point, PointId, Record, Scalar, SparseVector, Where
from normalize.errors import StoreError

DENSE: Final = "dense"
SPARSE: Final = "bm25"


def other_vectors(info: models.CollectionInfo, layout: Layout) -> tuple[str, ...]:
    """Return the names of the collection's vectors that the layout does not use, sorted."""
    vectors = info.config.params.vectors
    dense = {""} if isinstance(vectors, models.VectorParams) else set(vectors or {})
    names = dense | set(info.config.params.sparse_vectors or {})
    return tuple(sorted(names - {layout.dense, layout.sparse}))


def read_layout(collection: str, info: models.CollectionInfo) -> Layout:
    """Return how the collection stores vectors.

    Raises StoreError if it has no dense vector, or several and none called `dense`.
    """
    vectors = info.config.params.vectors
    named = {"": vectors} if isinstance(vectors, models.VectorParams) else dict(vectors or {})
    single = {name: params for name, params in named.items() if params.multivector_config is None}
    if len(single) > 1 and DENSE in single:
        single = {DENSE: single[DENSE]}
    if len(single) != 1:
        raise StoreError(
            f"Collection '{collection}' has {len(single)} dense vectors ({', '.join(sorted(single)) or 'none'}), so it "
            f"is not clear which holds the chunks; use a collection with one, or with one called '{DENSE}'."
        )
    dense, params = single.popitem()
    # Only a vector with the IDF modifier can hold our BM25 weights; another one belongs to somebody else.
    sparse = sorted(
        name
        for name, about in (info.config.params.sparse_vectors or {}).items()
        if about.modifier == models.Modifier.IDF
    )
    return Layout(
        dimension=params.size,
        dense=dense,
        sparse=SPARSE if SPARSE in sparse else (sparse[0] if sparse else None),
        distance=params.distance.value,
    )


def to_filter(where: Where | None) -> models.Filter | None:
    """Return the server's filter, or None where nothing is filtered."""
    if where is None or not (where.must or where.must_not):
        return None
    return models.Filter(
        must=[_any_of(field, values) for field, values in where.must.items()],
        must_not=[_any_of(field, values) for field, values in where.must_not.items()],
    )


def _any_of(field: str, values: Sequence[Scalar]) -> models.Condition:
    """Return the condition that the field has one of the values; no values match nothing."""
    matches: list[models.MatchAny | models.MatchValue] = []
    texts = [value for value in values if isinstance(value, str)]
    integers = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    if texts or not values:
        matches.append(models.MatchAny(any=texts))
    if integers:
        matches.append(models.MatchAny(any=integers))
    matches.extend(models.MatchValue(value=value) for value in values if isinstance(value, bool))
    conditions: list[models.Condition] = [models.FieldCondition(key=field, match=match) for match in matches]
    return conditions[0] if len(conditions) == 1 else models.Filter(should=conditions)


def to_struct(layout: Layout, point: Point) -> models.PointStruct:
    """Return a checked point as the client sends it."""
    dense = None if point.dense is None else point.dense.tolist()
    vector: Any
    if layout.dense == "" and point.sparse is None and dense is not None:
        vector = dense
    else:
        vector = {} if dense is None else {layout.dense: dense}
        if point.sparse is not None and layout.sparse is not None:
            vector[layout.sparse] = models.SparseVector(
                indices=list(point.sparse.indices), values=list(point.sparse.values)
            )
    return models.PointStruct(id=point.id, vector=vector, payload=dict(point.payload))


def from_record(layout: Layout, one: models.Record) -> Record:
    """Return a point as read back, with the vectors the layout names."""
    vectors: Any = one.vector if isinstance(one.vector, dict) else {"": one.vector}
    dense = vectors.get(layout.dense)
    sparse = vectors.get(layout.sparse) if layout.sparse is not None else None
    return Record(
        from_id(one.id),
        one.payload or {},
        None if dense is None else np.asarray(dense, dtype=np.float32),
        None
        if sparse is None
        else SparseVector(tuple(sparse.indices), tuple(np.asarray(sparse.values, dtype=np.float32).tolist())),
    )


def from_id(point_id: Any) -> PointId:
    """Return a point id in its plain spelling."""
    return point_id if isinstance(point_id, int) else str(point_id)
