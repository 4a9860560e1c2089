"""Points for the vector tests, the same in every process."""

import uuid
from collections.abc import Callable

import numpy as np

from backends.vectors.store import Floats, Layout, Point, PointId, SparseVector

LAYOUT = Layout(dimension=8)
INDEXES = {"regulation_code": "keyword", "chunk_index": "integer", "is_recital": "bool"}
METADATA = {"model": "hashing-1-8", "model_dimension": 8}


def uuid_of(number: int) -> PointId:
    """Return a UUID whose order has nothing to do with the number's."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, str(number)))


def vector(number: int, dimension: int = LAYOUT.dimension) -> Floats:
    """Return a random vector that is the same for the same number everywhere."""
    return np.random.default_rng(number).normal(size=dimension).astype(np.float32)


def point(number: int, make_id: Callable[[int], PointId] = uuid_of) -> Point:
    """Return point `number`: of law number % 3, a recital where it divides by five."""
    return Point(
        id=make_id(number),
        dense=vector(number),
        sparse=SparseVector((1, 100 + number % 4, 4_000_000_000), (1.0, 0.5, 0.25)),
        payload={
            "chunk_id": f"{number:040x}",
            "regulation_code": ("BDSG", "GG", "BGB")[number % 3],
            "chunk_index": number,
            "is_recital": number % 5 == 0,
            "use_case": ["privacy", "hr"] if number % 2 else [],
            "paragraph": None,
            "chunk_text": "Maßnahmen für Öffentliche Stellen „§“",
            "units": [{"start": 0, "end": 9, "sub": "Satz 1"}],
        },
    )
