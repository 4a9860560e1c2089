"""A candidate on its way from the pool to the answer, and the score that puts it in order (spec/retriever-scoring 3).

total = W_sem · semantic · max(weight, 0) + W_edge · edge_bonus + W_cent · centrality_bonus
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from backends.vectors.store import Hit, PointId
from retrieve.config import Retriever


@dataclass(frozen=True, slots=True)
class Candidate:
    """One chunk in the pool.

    `semantic` is in 0..1 (see `retrieve.pool`), `stage` is the stage that brought it, `ranks` its rank (from 1) in each
    list that has it and after each stage that orders the pool; `edge`, `centrality` and `total` are set by scoring.
    """

    hit: Hit
    semantic: float
    stage: str
    ranks: Mapping[str, int]
    edge: float = 0.0
    centrality: float = 0.0
    total: float = 0.0

    @property
    def payload(self) -> dict[str, Any]:
        """The chunk's payload."""
        return self.hit.payload


def numbered(ranked: Sequence[Candidate], stage: str) -> list[Candidate]:
    """Return the candidates, each with its place among them noted as its rank after a stage."""
    return [replace(one, ranks={**one.ranks, stage: rank}) for rank, one in enumerate(ranked, 1)]


def merge(pool: Sequence[Candidate], added: Sequence[Candidate]) -> list[Candidate]:
    """Return the pool with what is new in `added` behind it: the first occurrence of a point stays where it is.

    It only takes over the ranks that later stages gave it.
    """
    result = {candidate.hit.id: candidate for candidate in pool}
    for candidate in added:
        known = result.get(candidate.hit.id)
        result[candidate.hit.id] = (
            candidate if known is None else replace(known, ranks={**known.ranks, **candidate.ranks})
        )
    return list(result.values())


def score(
    pool: Sequence[Candidate], retriever: Retriever, bonuses: Mapping[PointId, tuple[float, float]] | None = None
) -> list[Candidate]:
    """Return the candidates with their totals, best first; equal totals by id.

    `bonuses` are the raw (edge_bonus, centrality_bonus) of points, by id. A negative weight of a kind counts as 0.
    """
    weights = retriever.config.scoring
    scored = []
    for candidate in pool:
        edge, centrality = (bonuses or {}).get(candidate.hit.id, (0.0, 0.0))
        kind_weight = max(retriever.kind(candidate.payload).retriever_weight, 0.0)
        total = (
            weights.semantic_weight * candidate.semantic * kind_weight
            + weights.edge_weight * edge
            + weights.centrality_weight * centrality
        )
        scored.append(replace(candidate, edge=edge, centrality=centrality, total=total))
    return sorted(scored, key=lambda candidate: (-candidate.total, str(candidate.hit.id)))
