"""Between fundstelle's plain values and the classes of the embedded engine."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import numpy as np
import qdrant_edge as engine

from backends.vectors.store import Floats, Layout, Point, PointId, Record, Scalar, SparseVector, Where


def to_filter(where: Where | None) -> engine.Filter | None:
    """Return the engine's filter, or None where nothing is filtered."""
    if where is None:
        return None
    must = [_any_of(field, values) for field, values in where.must.items()]
    must_not = [_any_of(field, values) for field, values in where.must_not.items()]
    return engine.Filter(must=must, must_not=must_not) if must or must_not else None


def _any_of(field: str, values: Sequence[Scalar]) -> Any:
    """Return the condition that the field has one of the values; no values match nothing."""
    matches: list[engine.MatchAny | engine.MatchValue] = []
    texts = [value for value in values if isinstance(value, str)]
    integers = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    if texts or not values:
        matches.append(engine.MatchAny(texts))
    if integers:
        matches.append(engine.MatchAny(integers))
    # A plain Python bool arrives in the engine as the integer 0 or 1 and matches nothing; numpy's stays a bool.
    matches.extend(engine.MatchValue(np.bool_(value)) for value in values if isinstance(value, bool))  # type: ignore[arg-type]
    conditions = [engine.FieldCondition(field, match=match) for match in matches]
    return conditions[0] if len(conditions) == 1 else engine.Filter(should=list(conditions))


def to_point(layout: Layout, point: Point) -> engine.Point:
    """Return a checked point as the engine takes it."""
    vectors: dict[str, Any] = {}
    if point.dense is not None:
        vectors[layout.dense] = point.dense.tolist()
    if point.sparse is not None and layout.sparse is not None:
        vectors[layout.sparse] = engine.SparseVector(list(point.sparse.indices), list(point.sparse.values))
    return engine.Point(point.id, vectors, dict(point.payload))


def from_record(layout: Layout, one: engine.Record) -> Record:
    """Return a point as read back, with the vectors the layout names."""
    dense: Floats | None = None
    sparse: SparseVector | None = None
    # Where only an unnamed vector is there, the engine returns it bare.
    vectors: Any = one.vector if isinstance(one.vector, dict) else {"": one.vector}
    if vectors.get(layout.dense) is not None:
        dense = np.asarray(vectors[layout.dense], dtype=np.float32)
    if layout.sparse is not None and vectors.get(layout.sparse) is not None:
        found = vectors[layout.sparse]
        sparse = SparseVector(tuple(found.indices), tuple(found.values))
    return Record(from_id(one.id), one.payload or {}, dense, sparse)


def from_id(point_id: PointId | UUID) -> PointId:
    """Return a point id in its plain spelling."""
    return str(point_id) if isinstance(point_id, UUID) else point_id
