"""The order of the scored pool: authority, variety of controls, and the sources that must not be missing.

Ranking only orders what the pool holds (spec/retrieval-pipeline); nothing is dropped before the cut to topK.
"""

from collections import Counter
from collections.abc import Sequence

from retrieve.candidates import Candidate
from retrieve.config import Retriever

BINDING = "binding_law"


def by_authority(ranked: Sequence[Candidate], retriever: Retriever) -> list[Candidate]:
    """Where totals hardly differ, put what binds before what explains.

    Candidates whose totals lie within `authority_band` of the first of their group are equal; within a group the order
    is authority, then total.
    """
    band = retriever.config.rank.authority_band
    result: list[Candidate] = []
    group: list[Candidate] = []
    for candidate in ranked:
        if group and candidate.total < group[0].total * (1 - band):
            result += _authority_first(group, retriever)
            group = []
        group.append(candidate)
    return result + _authority_first(group, retriever)


def _authority_first(group: Sequence[Candidate], retriever: Retriever) -> list[Candidate]:
    return sorted(group, key=lambda candidate: retriever.kind(candidate.payload).authority)


def varied_controls(ranked: Sequence[Candidate], retriever: Retriever) -> list[Candidate]:
    """Let no framework fill the answer: what exceeds `controls_of_one_source` of one source goes behind all others."""
    most = retriever.config.rank.controls_of_one_source
    seen: Counter[str] = Counter()
    first: list[Candidate] = []
    behind: list[Candidate] = []
    for candidate in ranked:
        if retriever.kind(candidate.payload).pool != "control":
            first.append(candidate)
            continue
        source = str(candidate.payload.get("document_id") or candidate.payload.get("regulation_code"))
        seen[source] += 1
        (first if seen[source] <= most else behind).append(candidate)
    return first + behind


def with_binding_law(ranked: Sequence[Candidate], top_k: int) -> list[Candidate]:
    """Give the last place of the answer to the best binding law, if otherwise no binding law would be in it."""
    if any(candidate.payload.get("source_class") == BINDING for candidate in ranked[:top_k]):
        return list(ranked)
    best = next((candidate for candidate in ranked if candidate.payload.get("source_class") == BINDING), None)
    if best is None:
        return list(ranked)
    others = [candidate for candidate in ranked if candidate is not best]
    return [*others[: top_k - 1], best, *others[top_k - 1 :]]
