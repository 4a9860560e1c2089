"""Own checks before anything is sent to an engine.

The engines accept what they should not (NaN and infinite components, unsorted or double term ids), or refuse a batch
after storing half of it (qdrant#9364), so a write is checked completely first. Each error names the chunk.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np

from backends.vectors.batches import FLOAT_BYTES, POINT_BYTES, SERVER_BYTES, TERM_BYTES
from backends.vectors.store import Floats, Layout, Point, PointId, SparseVector
from normalize.errors import StoreError, UsageError

MAX_INTEGER_ID = 2**64 - 1
MAX_TERM = 2**32 - 1

# Qdrant keeps a vector as it is when its squared length, added up in 32 bits, is within 1e-6 of 1. Half of that is
# safely inside for every order of adding up.
UNIT_TOLERANCE = 5e-7

_COLLECTION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_CONTAINERS = (dict, list, tuple)
_LONG_INTEGER = re.compile(r"[:\[,] ?-?[0-9]{19,}")


def check_name(collection: str) -> None:
    """Raise UsageError unless the name is letters, digits, `_`, `-` and `.` only, and starts with none of the last two.

    The name becomes a directory and a part of a URL; a leading dot would hide it or climb out of its place.
    """
    if not _COLLECTION.fullmatch(collection):
        raise UsageError(
            f"Collection name {collection!r} is not usable: take letters, digits, '_', '-' and '.' (at most 200), "
            "beginning with a letter, digit or '_'."
        )


def id_key(point_id: PointId) -> tuple[int, int, str]:
    """Return the sort key of a point id: integers by value, then UUIDs, as the engines order them."""
    return (0, point_id, "") if isinstance(point_id, int) else (1, 0, point_id)


def check_ids(collection: str, ids: Iterable[PointId]) -> None:
    """Raise StoreError at the first id that is neither an unsigned 64-bit integer nor a canonical UUID."""
    for point_id in ids:
        if isinstance(point_id, str):
            good = _UUID.fullmatch(point_id) is not None
        else:
            good = type(point_id) is int and 0 <= point_id <= MAX_INTEGER_ID
        if not good:
            raise StoreError(
                f"Point id {point_id!r} for collection '{collection}' is neither an unsigned integer nor a lower-case "
                "UUID with hyphens; nothing was written, make ids with normalize.identity.point_id."
            )


def check_points(collection: str, layout: Layout, points: Sequence[Point]) -> list[tuple[Point, int]]:
    """Return the points ready to write, each with an upper bound of its JSON size in bytes.

    Dense vectors come back as 32-bit floats, under cosine with length 1 (see `unit_length`). Zero vectors are allowed:
    the engines keep them as they are, and a rollback must be able to put one back.

    Raises StoreError naming the chunk for: a bad id, an id twice in the call, wrong dimension, NaN or infinite
    components, a sparse vector the layout has no place for or that is not ascending and finite, a payload that is not
    plain JSON, and a point larger than a server accepts.
    """
    check_ids(collection, (point.id for point in points))
    _check_distinct(collection, points)
    dense = _checked_dense(collection, layout, points)
    checked = []
    for point, vector in zip(points, dense, strict=True):
        size = POINT_BYTES + (0 if vector is None else len(vector) * FLOAT_BYTES)
        if point.sparse is not None:
            _check_sparse(collection, layout, point, point.sparse)
            size += len(point.sparse.indices) * (TERM_BYTES + FLOAT_BYTES)
        size += payload_bytes(collection, point.id, point.payload)
        if size > SERVER_BYTES:
            raise StoreError(
                f"{_chunk(point.id, point.payload)} needs up to {size:,} bytes in collection '{collection}', more than "
                f"the {SERVER_BYTES:,} a server accepts; nothing was written, split the chunk."
            )
        checked.append((replace(point, dense=vector), size))
    return checked


def check_query(collection: str, layout: Layout, vector: Floats) -> Floats:
    """Return the query vector as 32-bit floats; raises StoreError for a wrong dimension, NaN or infinity."""
    query = np.asarray(vector, dtype=np.float32)
    if query.shape != (layout.dimension,):
        raise StoreError(
            f"The query vector has shape {query.shape} but collection '{collection}' has {layout.dimension} "
            "dimensions; search with the model the collection was built with."
        )
    if not np.isfinite(query).all():
        raise StoreError(
            f"The query vector for collection '{collection}' contains NaN or infinity; check the embedder."
        )
    return query


def check_query_sparse(collection: str, layout: Layout, vector: SparseVector) -> str:
    """Return the name of the sparse vector to search; raises StoreError if there is none or the query is malformed."""
    if layout.sparse is None:
        raise StoreError(
            f"Collection '{collection}' has no sparse vector, so it cannot be searched by terms; "
            "search by the dense vector only, or re-ingest into a new collection."
        )
    problem = _sparse_problem(vector)
    if problem:
        raise StoreError(f"The term query for collection '{collection}' {problem}; check the analyzer.")
    return layout.sparse


def payload_bytes(collection: str, point_id: PointId, payload: Mapping[str, Any]) -> int:
    """Return the size of the payload as JSON in bytes; raises StoreError naming the chunk if it is not plain JSON."""
    try:
        text = json.dumps(dict(payload), allow_nan=False, ensure_ascii=False)
        size = len(text.encode("utf-8"))
        if _LONG_INTEGER.search(text):
            _check_integers(dict(payload))
        _check_keys(dict(payload))
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            f"The payload of {_chunk(point_id, payload)} for collection '{collection}' is not plain JSON ({error}); "
            "nothing was written, mend the payload."
        ) from None
    return size


def unit_length(vectors: Floats) -> Floats:
    """Return the rows with length 1, as 32-bit floats; rows of length 0 or 1 come back bit for bit.

    The engines normalise at storage under cosine, each in its own arithmetic. Doing it here, the same way everywhere
    and without touching what is normal already, makes backup and restore byte-stable on every engine.
    """
    rows = np.array(vectors, dtype=np.float32)
    squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    odd = (squares > 0) & (np.abs(squares - 1.0) > UNIT_TOLERANCE)
    if odd.any():
        scaled = rows[odd].astype(np.float64) / np.sqrt(squares[odd])[:, None]
        rows[odd] = scaled.astype(np.float32)
    return rows


def _chunk(point_id: PointId, payload: Mapping[str, Any]) -> str:
    chunk_id = payload.get("chunk_id")
    return f"Chunk {chunk_id} (point {point_id})" if chunk_id else f"Point {point_id}"


def _check_distinct(collection: str, points: Sequence[Point]) -> None:
    seen: set[PointId] = set()
    for point in points:
        if point.id in seen:
            raise StoreError(
                f"{_chunk(point.id, point.payload)} occurs twice in one write to collection '{collection}'; "
                "nothing was written, two chunks must not share an id."
            )
        seen.add(point.id)


def _checked_dense(collection: str, layout: Layout, points: Sequence[Point]) -> list[Floats | None]:
    """Return the dense vectors as 32-bit floats, normalised under cosine, in the order of the points."""
    places = []
    vectors = []
    for place, point in enumerate(points):
        if point.dense is None:
            continue
        vector = np.asarray(point.dense)
        if vector.shape != (layout.dimension,):
            raise StoreError(
                f"The vector of {_chunk(point.id, point.payload)} has shape {vector.shape} but collection "
                f"'{collection}' has {layout.dimension} dimensions; nothing was written, embed with the model the "
                "collection was built with."
            )
        places.append(place)
        vectors.append(vector)
    dense: list[Floats | None] = [None] * len(points)
    if not vectors:
        return dense
    with np.errstate(over="ignore"):
        rows = np.stack(vectors).astype(np.float32)
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        point = points[places[int(np.argmin(finite))]]
        raise StoreError(
            f"The vector of {_chunk(point.id, point.payload)} contains NaN or infinity; nothing was written to "
            f"collection '{collection}', check the embedder."
        )
    if layout.distance == "Cosine":
        rows = unit_length(rows)
    for place, row in zip(places, rows, strict=True):
        dense[place] = row
    return dense


def _check_sparse(collection: str, layout: Layout, point: Point, sparse: SparseVector) -> None:
    if layout.sparse is None:
        raise StoreError(
            f"{_chunk(point.id, point.payload)} carries a sparse vector but collection '{collection}' has none; "
            "nothing was written, leave the sparse vector out."
        )
    problem = _sparse_problem(sparse)
    if problem:
        raise StoreError(
            f"The sparse vector of {_chunk(point.id, point.payload)} {problem}; nothing was written to collection "
            f"'{collection}', check the analyzer."
        )


def _sparse_problem(sparse: SparseVector) -> str | None:
    if len(sparse.indices) != len(sparse.values):
        return "has not as many weights as terms"
    if any(type(term) is not int or not 0 <= term <= MAX_TERM for term in sparse.indices):
        return "has a term id that is not an unsigned 32-bit integer"
    if any(left >= right for left, right in pairwise(sparse.indices)):
        return "has term ids that are not ascending and distinct"
    if not all(isfinite(value) for value in sparse.values):
        return "contains NaN or infinity"
    return None


def _check_keys(value: Any) -> None:
    """Refuse keys that are not strings: JSON would turn them into strings silently."""
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"key {key!r} is not a string")
        value = value.values()
    for inner in value:
        if isinstance(inner, _CONTAINERS):
            _check_keys(inner)


def _check_integers(value: Any) -> None:
    """Refuse integers beyond 64 bits: the engines turn them into floats silently."""
    if isinstance(value, dict):
        value = value.values()
    for inner in value:
        if isinstance(inner, _CONTAINERS):
            _check_integers(inner)
        elif isinstance(inner, int) and not -(2**63) <= inner < 2**64:
            raise ValueError(f"integer {inner} does not fit into 64 bits")
