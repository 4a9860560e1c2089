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
from backends.vectors.store import CURRENT_VERSIONS, Collection, Floats, Hit, SparseVector, VectorStore, Where
from normalize.analyzer import VERSION, sparse_query
from normalize.errors import StoreError
from retrieve.candidates import Candidate, merge
from retrieve.config import Retriever
from retrieve.fusion import fuse
from retrieve.graph import cited_by
from retrieve.rank import BINDING
from retrieve.telemetry import Telemetry

Mode = Literal["semantic", "hybrid"]


@dataclass(frozen=True, slots=True)
class Request:
    """What is looked for: the questions (the original first, always sent; then its rewordings), how many, and how."""

    questions: tuple[str, ...]
    top_k: int
    mode: Mode = "hybrid"
    asks_for_controls: bool = False
    graph: bool = False


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
    with telemetry.stage("embedding", may_fail=about.analyzer == VERSION and request.mode == "hybrid"):
        vectors = list(embedder.embed(list(request.questions)))
    pool: list[Candidate] = []
    if request.mode == "semantic":
        with telemetry.stage("dense") as stage:
            pool = [
                Candidate(hit, max(hit.score, 0.0), "dense", {"dense": rank})
                for vector in vectors[:1]
                for rank, hit in enumerate(store.query_dense(about.name, vector, limit), 1)
            ]
            stage.candidates_out = len(pool)
        return pool
    with telemetry.stage("hybrid") as stage:
        lists = _lists(store, about, vectors, request.questions, limit, telemetry)
        best = max(len(lists), 1) / (constants.rrf_k + 1)
        pool = [Candidate(f.hit, f.score / best, "hybrid", dict(f.ranks)) for f in fuse(lists, k=constants.rrf_k)]
        stage.candidates_out = len(pool)

    def added(name: str, hits: Sequence[Hit]) -> list[Candidate]:
        return [
            Candidate(hit, 1 / (constants.rrf_k + limit + rank) / best, name, {name: rank})
            for rank, hit in enumerate(hits, 1)
        ]

    with telemetry.stage("binding", len(pool), may_fail=True) as stage:
        where = Where(must={"source_class": [BINDING]})
        found = _lists(
            store, about, vectors[:1], request.questions[:1], constants.binding_limit, telemetry, where=where
        )
        hits = [fused.hit for fused in fuse(found, k=constants.rrf_k)][: constants.binding_limit]
        pool = merge(pool, added("binding", hits))
        stage.candidates_out = len(pool)
    if request.asks_for_controls and vectors and retriever.control_classes:
        with telemetry.stage("controls", len(pool), may_fail=True) as stage:
            where = Where(must={"source_class": list(retriever.control_classes)})
            hits = store.query_dense(about.name, vectors[0], constants.control_depth, where)
            pool = merge(pool, added("controls", hits))
            stage.candidates_out = len(pool)
    if request.graph:
        with telemetry.stage("graph", len(pool), may_fail=True) as stage:
            seeds = pool[: constants.graph_seeds]
            lowest = min((candidate.semantic for candidate in pool), default=0.0)
            reached = cited_by(store, about.name, seeds, known=pool, most=constants.graph_most)
            pool = merge(
                pool,
                [
                    Candidate(hit, max(min(lowest, seed.semantic) - constants.graph_hop_penalty, 0.0), "graph", {})
                    for hit, seed in reached
                ],
            )
            stage.candidates_out = len(pool)
    return pool


def _lists(
    store: VectorStore,
    about: Collection,
    vectors: Sequence[Floats],
    questions: Sequence[str],
    limit: int,
    telemetry: Telemetry,
    *,
    where: Where | None = None,
) -> Mapping[str, list[Hit]]:
    """Return the ranked lists of both legs for every question; the lists of a rewording end in "+", "++", …

    One leg carries on without the other. Raises StoreError if there was one to ask and none answered.
    """
    lists: dict[str, list[Hit]] = {}
    failures: list[str] = []
    if vectors:
        with telemetry.stage("dense", may_fail=True) as stage:
            for number, vector in enumerate(vectors):
                lists["dense" + "+" * number] = store.query_dense(about.name, vector, limit, where)
            stage.candidates_out = len({hit.id for hits in lists.values() for hit in hits})
        failures += [stage.degraded] if stage.degraded else []
    if about.layout.sparse is not None:
        with telemetry.stage("bm25", may_fail=True) as stage:
            _refuse_other_terms(about)
            found: dict[str, list[Hit]] = {}
            for number, question in enumerate(questions):
                terms = sparse_query(question)
                if terms.indices:
                    found["bm25" + "+" * number] = store.query_sparse(about.name, SparseVector(*terms), limit, where)
            lists |= found
            stage.candidates_out = len({hit.id for hits in found.values() for hit in hits})
        failures += [stage.degraded] if stage.degraded else []
    if failures and not lists:
        raise StoreError(failures[0])
    return lists


def _refuse_other_terms(about: Collection) -> None:
    """Raise StoreError if another analyzer made the BM25 terms: a question's terms would meet them by chance only."""
    if about.analyzer != VERSION:
        raise StoreError(
            f"the BM25 terms of collection '{about.name}' were made by {about.analyzer}, this version asks with "
            f"{VERSION}, so the dense leg works alone; re-ingest into a new collection (behind an alias: 'reingest "
            "--strategy alias')."
        )
