"""Edges between chunks: citations (from the payload), neighbours in the text, and chunks of one article.

Forward edges (`references_out`) widen the pool; backward edges (`references_in`) are shown only, since an annex that
everything cites would flood it (spec/retrieval-pipeline). The subgraph of the pool gives the two bonuses of scoring.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from backends.vectors.store import Hit, PointId, VectorStore, Where
from normalize.edges import bare_article, norm_key, split_key
from retrieve.answer import place_of
from retrieve.candidates import Candidate

_MOST_RECORDS = 500
"""Chunks looked at for the norms that the seeds cite; articles of many Absätze end there."""


def cited_by(
    store: VectorStore, collection: str, seeds: Sequence[Candidate], *, known: Iterable[Candidate], most: int
) -> list[tuple[Hit, Candidate]]:
    """Return up to `most` chunks that the seeds cite and that are not known yet, each with the seed that cites it.

    Order: by seed, then by the order in which it cites, then by place in the law. One request to the store.
    """
    cited: dict[str, Candidate] = {}
    for seed in seeds:
        for key in seed.payload.get("references_out") or []:
            cited.setdefault(str(key), seed)
    if not cited:
        return []
    parts = [split_key(key) for key in cited]
    where = Where(
        must={"document_id": sorted({p[0] for p in parts}), "article": sorted({bare_article(p[1]) for p in parts})}
    )
    ids = {candidate.hit.id for candidate in known}
    by_key: dict[str, list[Hit]] = defaultdict(list)
    for number, record in enumerate(store.scroll(collection, where)):
        if number == _MOST_RECORDS:
            break
        for key in _names(record.payload):
            if key in cited:
                by_key[key].append(Hit(record.id, 0.0, record.payload))
    reached: list[tuple[Hit, Candidate]] = []
    for key, seed in cited.items():
        for hit in sorted(by_key[key], key=lambda hit: place_of(hit.payload)):
            if hit.id not in ids:
                ids.add(hit.id)
                reached.append((hit, seed))
    return reached[:most]


def _names(payload: Mapping[str, object]) -> list[str]:
    """The keys by which a chunk is cited: its Absatz, and its article as a whole."""
    key = norm_key(payload)
    if key is None:
        return []
    document_id, article, paragraph = split_key(key)
    return [key, norm_key({**payload, "paragraph": None}) or key] if paragraph else [f"{document_id}|{article}|"]


def bonuses(pool: Sequence[Candidate], weights: Mapping[str, float], depth: int) -> dict[PointId, tuple[float, float]]:
    """Return (edge_bonus, centrality_bonus) of every candidate in the subgraph of the pool, by point id.

    edge_bonus is the sum, over the candidates within `depth` hops, of the weight of the edge that reaches them divided
    by the number of hops; centrality_bonus is the degree centrality (neighbours over all others).
    """
    edges = _edges(pool)
    result: dict[PointId, tuple[float, float]] = {}
    others = max(len(pool) - 1, 1)
    for candidate in pool:
        start = candidate.hit.id
        bonus = 0.0
        seen = {start}
        frontier = [start]
        for hops in range(1, depth + 1):
            reached: list[PointId] = []
            for node in frontier:
                for neighbour, kind in edges[node].items():
                    if neighbour not in seen:
                        seen.add(neighbour)
                        reached.append(neighbour)
                        bonus += weights.get(kind, 0.0) / hops
            frontier = reached
        result[start] = (bonus, len(edges[start]) / others if depth > 0 else 0.0)
    return result


def _edges(pool: Sequence[Candidate]) -> dict[PointId, dict[PointId, str]]:
    """Return the neighbours of each point and the kind of edge; of two kinds the one named first here counts."""
    edges: dict[PointId, dict[PointId, str]] = {candidate.hit.id: {} for candidate in pool}
    cited: dict[str, list[PointId]] = defaultdict(list)
    articles: dict[tuple[object, ...], list[PointId]] = defaultdict(list)
    places: dict[tuple[object, ...], PointId] = {}
    for candidate in pool:
        payload, here = candidate.payload, candidate.hit.id
        for name in _names(payload):
            cited[name].append(here)
        if payload.get("document_id") and payload.get("article"):
            articles[(*_version(payload), payload["article"], payload.get("is_recital"))].append(here)
        if payload.get("document_id") and isinstance(payload.get("chunk_index"), int):
            places[(*_version(payload), payload["chunk_index"])] = here

    def join(one: PointId, other: PointId, kind: str, back: str) -> None:
        if one != other:
            edges[one].setdefault(other, kind)
            edges[other].setdefault(one, back)

    for candidate in pool:
        for key in candidate.payload.get("references_out") or []:
            for other in cited.get(str(key), ()):
                join(candidate.hit.id, other, "references", "references")
    for members in articles.values():
        for number, one in enumerate(members):
            for other in members[number + 1 :]:
                join(one, other, "belongs_to", "belongs_to")
    for place, here in places.items():
        following = places.get((*place[:-1], int(str(place[-1])) + 1))
        if following is not None:
            join(here, following, "next", "prev")
    return edges


def _version(payload: Mapping[str, object]) -> tuple[object, ...]:
    return payload.get("document_id"), payload.get("document_version")
