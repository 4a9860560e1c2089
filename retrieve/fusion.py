"""Reciprocal rank fusion: join ranked lists whose scores cannot be compared (spec/retrieval-architecture 5.3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backends.vectors.store import Hit, PointId

RRF_K = 60


@dataclass(frozen=True, slots=True)
class Fused:
    """A hit with its fused score, and its rank (from 1) in each list that has it."""

    hit: Hit
    score: float
    ranks: Mapping[str, int]


def fuse(lists: Mapping[str, Sequence[Hit]], *, k: int = RRF_K) -> list[Fused]:
    """Return all hits, best first, scored by the sum of 1 / (k + rank) over the lists; equal scores by id."""
    ranks: dict[PointId, dict[str, int]] = {}
    hits: dict[PointId, Hit] = {}
    for name, ranked in lists.items():
        for rank, hit in enumerate(ranked, 1):
            ranks.setdefault(hit.id, {}).setdefault(name, rank)
            hits.setdefault(hit.id, hit)
    fused = [Fused(hits[i], sum(1 / (k + rank) for rank in found.values()), found) for i, found in ranks.items()]
    return sorted(fused, key=lambda f: (-f.score, str(f.hit.id)))
