"""The pool of candidates, built in the fixed order of the specification; each stage adds, none replaces.

    embedding → hybrid (RRF) → binding law → controls (if asked for) → citation edges (if switched on) → merge

The score of a candidate (`semantic`, 0..1) is its fused score over the best a candidate can have: rank 1 in every list.
A chunk that only a later stage found counts as if one list of the hybrid stage had it behind its last rank, so a stage
widens the pool and lifts nothing. In mode `semantic` it is the cosine of the dense vector.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from backends.embedders import Embedder
from backends.vectors.store import CURRENT_VERSIONS, Collection, Floats, Hit, PointId, SparseVector, VectorStore, Where
from normalize.analyzer import VERSION, Language, is_stop_word, sparse_query, words
from normalize.errors import StoreError
from retrieve.candidates import Candidate, merge, numbered
from retrieve.config import Retriever
from retrieve.fusion import fuse
from retrieve.graph import cited_by
from retrieve.rank import BINDING
from retrieve.telemetry import Telemetry
from retrieve.wordings import Wording

Mode = Literal["semantic", "hybrid"]
_LANGUAGES: tuple[Language, Language] = ("de", "en")


@dataclass(frozen=True, slots=True)
class Request:
    """What is looked for: the question in its wordings (the original first, always sent), how many, and how.

    `has_cited` says that the norms a question cites are found already: then even both legs may fail.
    """

    wordings: tuple[Wording, ...]
    top_k: int
    mode: Mode = "hybrid"
    asks_for_controls: bool = False
    graph: bool = False
    has_cited: bool = False


def build_pool(
    store: VectorStore,
    about: Collection,
    embedder: Embedder,
    request: Request,
    retriever: Retriever,
    telemetry: Telemetry,
) -> list[Candidate]:
    """Return the candidates for a request, in the order of the stages that brought them.

    A stage that fails is marked in `telemetry` and the others go on; without vectors the BM25 leg works alone.
    """
    constants = retriever.config.pool
    limit = constants.prefetch_limit(request.top_k)
    if about.metadata.get(CURRENT_VERSIONS):
        limit *= 2  # the old points of a re-ingest are still there and are dropped afterwards
    vectors: list[Floats] = []
    terms_serve = about.analyzer == VERSION and request.mode == "hybrid"
    with telemetry.stage("embedding", len(request.wordings), may_fail=terms_serve or request.has_cited) as stage:
        stage.candidates_out = 0
        vectors = list(embedder.embed([wording.text for wording in request.wordings]))
        stage.candidates_out = len(vectors)
    pool: list[Candidate] = []
    if request.mode == "semantic":
        with telemetry.stage("dense", may_fail=request.has_cited) as stage:
            pool = [
                Candidate(hit, max(hit.score, 0.0), "dense", {"dense": rank})
                for vector in vectors[:1]
                for rank, hit in enumerate(store.query_dense(about.name, vector, limit), 1)
            ]
            stage.candidates_out = len(pool)
        return pool
    lists: Mapping[str, list[Hit]] = {}
    best = 1 / (constants.rrf_k + 1)
    with telemetry.stage("hybrid", may_fail=request.has_cited) as stage:
        lists = _lists(store, about, vectors, request.wordings, limit, telemetry)
        best *= max(len(lists), 1)
        fused = fuse(lists, k=constants.rrf_k)
        pool = numbered([Candidate(f.hit, f.score / best, "hybrid", f.ranks) for f in fused], "hybrid")
        stage.candidates_out = len(pool)

    def added(name: str, hits: Sequence[Hit]) -> list[Candidate]:
        return [
            Candidate(hit, 1 / (constants.rrf_k + limit + rank) / best, name, {name: rank})
            for rank, hit in enumerate(hits, 1)
        ]

    with telemetry.stage("binding", len(pool), may_fail=True) as stage:
        most, known = constants.binding_limit, _binding_law(lists, constants.binding_limit)
        where = Where(must={"source_class": [BINDING]})
        found = _lists(store, about, vectors[:1], request.wordings[:1], most, telemetry, where=where, known=known)
        hits = [one.hit for one in fuse(found, k=constants.rrf_k)][:most]
        pool = merge(pool, added("binding", hits))
        stage.candidates_out = len(pool)
    if request.asks_for_controls and vectors and retriever.control_classes:
        with telemetry.stage("controls", len(pool), may_fail=True) as stage:
            pool = merge(pool, added("controls", _controls(store, about, vectors[0], retriever)))
            stage.candidates_out = len(pool)
    if request.graph:
        with telemetry.stage("graph", len(pool), may_fail=True) as stage:
            seeds = pool[: constants.graph_seeds]
            lowest = min((candidate.semantic for candidate in pool), default=0.0)
            reached = [
                Candidate(hit, max(min(lowest, seed.semantic) - constants.graph_hop_penalty, 0.0), "graph", {})
                for hit, seed in cited_by(store, about.name, seeds, known=pool, most=constants.graph_most)
            ]
            pool = merge(pool, numbered(reached, "graph"))
            stage.candidates_out = len(pool)
    return pool


def _controls(store: VectorStore, about: Collection, vector: Floats, retriever: Retriever) -> list[Hit]:
    """Return the nearest chunks of the kinds that hold controls, which are named by source_class or by source_type."""
    depth = retriever.config.pool.control_depth
    found: dict[PointId, Hit] = {}
    for field in ("source_class", "source_type"):
        where = Where(must={field: list(retriever.control_classes)})
        found |= {hit.id: hit for hit in store.query_dense(about.name, vector, depth, where)}
    return sorted(found.values(), key=lambda hit: (-hit.score, str(hit.id)))[:depth]


def _binding_law(lists: Mapping[str, Sequence[Hit]], most: int) -> dict[str, list[Hit]]:
    """Return what a search among binding law would find, of the lists that tell: those with so much binding law.

    Their first hits of binding law are the first among binding law, so the store need not compare every vector again.
    """
    found = {}
    for name, hits in lists.items():
        binding = [hit for hit in hits if BINDING in _values(hit.payload.get("source_class"))]
        if len(binding) >= most:
            found[name] = binding[:most]
    return found


def _values(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else [value]


def _lists(
    store: VectorStore,
    about: Collection,
    vectors: Sequence[Floats],
    wordings: Sequence[Wording],
    limit: int,
    telemetry: Telemetry,
    *,
    where: Where | None = None,
    known: Mapping[str, list[Hit]] | None = None,
) -> Mapping[str, list[Hit]]:
    """Return the ranked lists of both legs for every wording, by the name of the list (`Wording.list_name`).

    The store is asked for those that are not `known`. One leg carries on without the other. Raises StoreError if there
    was one to ask and none answered.
    """
    known = known or {}
    lists: dict[str, list[Hit]] = {}
    failures: list[str] = []
    if vectors:
        with telemetry.stage("dense", may_fail=True) as stage:
            dense = {wording.list_name("dense"): vector for wording, vector in zip(wordings, vectors, strict=True)}
            asked = [(vector, where) for name, vector in dense.items() if name not in known]
            answers = iter(store.query_batch(about.name, asked, limit))
            for name in dense:
                lists[name] = known[name] if name in known else next(answers)
            stage.candidates_out = len({hit.id for hits in lists.values() for hit in hits})
        failures += [stage.degraded] if stage.degraded else []
    if about.layout.sparse is not None:
        with telemetry.stage("bm25", may_fail=True) as stage:
            _refuse_other_terms(about)
            found: dict[str, list[Hit]] = {}
            for wording in wordings:
                terms = _terms(wording.text)
                name = wording.list_name("bm25")
                if wording.by_terms and terms.indices:
                    found[name] = known.get(name) or store.query_sparse(about.name, terms, limit, where)
            lists |= found
            stage.candidates_out = len({hit.id for hits in found.values() for hit in hits})
        failures += [stage.degraded] if stage.degraded else []
    if failures and not lists:
        raise StoreError(failures[0])
    return lists


def _terms(question: str) -> SparseVector:
    """Return the terms of a question under the analyzers of both languages, each term once with weight 1.

    Chunks of an English act have English terms, and a collection may hold both. Under the other language's analyzer
    only words count that are no stop words of the question's own: "man" and "die" of a German question would find the
    English words. Its own language is the one whose stop words it has more of, else German.
    """
    asked = words(question)
    counts = {language: sum(is_stop_word(word, language) for word in asked) for language in _LANGUAGES}
    own, other = _LANGUAGES if counts["de"] >= counts["en"] else _LANGUAGES[::-1]
    content = " ".join(word for word in asked if not is_stop_word(word, own))
    weights = {
        index: value
        for found in (sparse_query(content, other), sparse_query(question, own))
        for index, value in zip(*found, strict=True)
    }
    indices = sorted(weights)
    return SparseVector(tuple(indices), tuple(weights[index] for index in indices))


def _refuse_other_terms(about: Collection) -> None:
    """Raise StoreError if another analyzer made the BM25 terms: a question's terms would meet them by chance only."""
    if about.analyzer != VERSION:
        raise StoreError(
            f"the BM25 terms of collection '{about.name}' were made by {about.analyzer}, this version asks with "
            f"{VERSION}, so the dense leg works alone; re-ingest into a new collection (behind an alias: 'reingest "
            "--strategy alias')."
        )
