"""Search: from a question to its sources (spec/retrieval-pipeline, retrieval-architecture and retriever-scoring).

    cited norms → wordings (the original, a model's if switched on, the table's) → pool (embedding, hybrid, binding law,
    controls, graph) → score → authority → variety of controls → cross-encoder → binding law kept → the same text once
    → topK

The original question is always searched, whatever rewordings are searched beside it. What a stage did, and whether it
fell short, is in the answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from backends.embedders import Embedder
from backends.tracing import traced
from backends.vectors.store import Collection, VectorStore
from normalize.errors import GateError, UsageError
from normalize.laws import LawTable
from normalize.text import clean_inline
from retrieve.answer import response, source_line, text_of, unit_names
from retrieve.candidates import Candidate, merge, numbered, score
from retrieve.coexist import one_version
from retrieve.config import Retriever, load_retriever
from retrieve.cross_encoder import Judge, rerank
from retrieve.expand import expand
from retrieve.graph import bonuses
from retrieve.intent import asks_for_controls
from retrieve.lookup import look_up
from retrieve.pool import Mode, Request, build_pool
from retrieve.rank import by_authority, varied_controls, with_binding_law
from retrieve.telemetry import Telemetry
from retrieve.wordings import Wording

Understand = Callable[[str], Sequence[Wording]]
"""Return other wordings of a question, or raise a FundstelleError that says why there are none."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search.

    `mode` semantic is the dense leg alone; `expand_depth` is over how many edges a candidate lifts another (0 = none);
    `graph` adds norms that the best candidates cite; `judge` is a cross-encoder; `understand` makes further wordings of
    the question (mode hybrid only). `trace_question` lets the question stand in OpenTelemetry spans.
    """

    top_k: int = 5
    mode: Mode = "hybrid"
    expand_depth: int = 0
    graph: bool = False
    judge: Judge | None = None
    understand: Understand | None = None
    trace_question: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """One answer: its source line, the Fundstellen of the same text elsewhere, its text, its fields, its scores."""

    source: str
    also: tuple[str, ...]
    text: str
    fields: dict[str, Any]
    candidate: Candidate

    @property
    def ranks(self) -> dict[str, int]:
        """Its rank (from 1) in each list that had it and after each stage that put the pool in order."""
        return dict(self.candidate.ranks)

    def scores(self) -> dict[str, float]:
        """Return total, semantic, edge and centrality, the last three raw (without the global weights)."""
        found = self.candidate
        return {
            "total": round(found.total, 6),
            "semantic": round(found.semantic, 6),
            "edge": round(found.edge, 6),
            "centrality": round(found.centrality, 6),
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """The sources for a question, best first, the wordings that were searched, and what each stage did."""

    query: str
    collection: str
    sources: list[Source]
    telemetry: Telemetry
    wordings: tuple[Wording, ...] = ()

    def results(self) -> list[dict[str, Any]]:
        """Return each source as a JSON object: the response fields of the contract's §7.1, source line, scores, ids."""
        return [
            source.fields
            | {
                "units": unit_names(source.candidate.payload),
                "chunk_id": text_of(source.candidate.payload.get("chunk_id")),
                "document_id": text_of(source.candidate.payload.get("document_id")),
                "source": source.source,
                "also": list(source.also),
                "ranks": source.ranks,
                "stage": source.candidate.stage,
                "scores": source.scores(),
            }
            for source in self.sources
        ]

    def report(self) -> dict[str, Any]:
        """Return the answer as one JSON object."""
        return {
            "query": self.query,
            "collection": self.collection,
            "wordings": [{"name": wording.name or "original", "text": wording.text} for wording in self.wordings],
            "results": self.results(),
            "degraded": self.telemetry.degraded,
            "stages": self.telemetry.report(),
        }


def search(
    store: VectorStore,
    collection: str,
    embedder: Embedder,
    question: str,
    laws: LawTable,
    options: SearchOptions | None = None,
    retriever: Retriever | None = None,
) -> Answer:
    """Return the best chunks for a question, which is capped at 2000 characters.

    Raises UsageError (no question, no such collection) or GateError (vectors of another model).
    """
    options = options or SearchOptions()
    with traced("retrieve.search") as span:
        span.tell(collection=collection, mode=options.mode, top_k=options.top_k, question_characters=len(question))
        if options.trace_question:
            span.tell(question=question)
        answer = _search(store, collection, embedder, question, laws, options, retriever or load_retriever())
        span.tell(sources=len(answer.sources), degraded=bool(answer.telemetry.degraded))
    return answer


def _search(
    store: VectorStore,
    collection: str,
    embedder: Embedder,
    question: str,
    laws: LawTable,
    options: SearchOptions,
    retriever: Retriever,
) -> Answer:
    query = clean_inline(question)[: retriever.config.pool.query_characters]
    if not query:
        raise UsageError("The question is empty: write what you are looking for.")
    about = _collection(store, collection, embedder)
    telemetry = Telemetry("" if options.trace_question else query)
    with telemetry.stage("citation", may_fail=True) as stage:
        cited = [
            Candidate(hit, 1.0, "citation", {"citation": rank}, total=1.0)
            for rank, hit in enumerate(look_up(store, collection, query, laws), 1)
        ]
        stage.candidates_out = len(cited)
    wordings = _wordings(query, options, laws, retriever, telemetry)
    request = Request(
        wordings=wordings,
        top_k=options.top_k,
        mode=options.mode,
        asks_for_controls=asks_for_controls(query, retriever),
        graph=options.graph,
        has_cited=bool(cited),
    )
    pool = build_pool(store, about, embedder, request, retriever, telemetry)
    ranked = _rank(pool, query, request, options, retriever, telemetry)
    both = one_version(merge(cited, ranked), about.metadata)
    with telemetry.stage("answer", len(both)) as stage:
        sources = _sources(both, options.top_k)
        stage.candidates_out = len(sources)
    return Answer(query, collection, sources, telemetry, wordings)


def _wordings(
    query: str, options: SearchOptions, laws: LawTable, retriever: Retriever, telemetry: Telemetry
) -> tuple[Wording, ...]:
    """Return what is searched: the question itself first, then the table's wording of it, then those of a model."""
    if options.mode != "hybrid":
        return (Wording(query),)
    found = [Wording(query)]
    if (reworded := expand(query, laws)) is not None:
        found.append(Wording(reworded, "table"))
    if options.understand is not None:
        with telemetry.stage("understanding", len(found), may_fail=True) as stage:
            found += options.understand(query)
            stage.candidates_out = len(found)
    most = retriever.config.pool.query_characters
    return tuple(replace(wording, text=wording.text[:most]) for wording in found)


def _collection(store: VectorStore, collection: str, embedder: Embedder) -> Collection:
    about = store.describe(collection)
    if about is None:
        known = ", ".join(store.collections()) or "none"
        raise UsageError(f"There is no collection '{collection}' in {store.where}; known: {known}.")
    model = about.metadata.get("embedder")
    if embedder.dimension != about.layout.dimension or (model is not None and model != embedder.model):
        raise GateError(
            f"Collection '{collection}' was written with {model or 'another model'}, not with {embedder.model}: "
            "choose the embedder it was built with."
        )
    return about


def _rank(
    pool: Sequence[Candidate],
    query: str,
    request: Request,
    options: SearchOptions,
    retriever: Retriever,
    telemetry: Telemetry,
) -> list[Candidate]:
    with telemetry.stage("score", len(pool)):
        edges = None
        if request.mode == "hybrid" and options.expand_depth > 0:
            edges = bonuses(pool, retriever.config.edge_types, options.expand_depth)
        ranked = numbered(score(pool, retriever, edges), "score")
    with telemetry.stage("authority", len(ranked)):
        ranked = numbered(by_authority(ranked, retriever), "authority")
    if request.asks_for_controls:
        with telemetry.stage("controls variety", len(ranked)):
            ranked = numbered(varied_controls(ranked, retriever), "controls variety")
    if options.judge is not None:
        with telemetry.stage("cross-encoder", len(ranked), may_fail=True):
            ranked = numbered(rerank(ranked, query, options.judge, retriever, options.top_k), "cross-encoder")
    return with_binding_law(ranked, options.top_k)


def _sources(ranked: Sequence[Candidate], top_k: int) -> list[Source]:
    """Return the first `top_k` different texts; a text that several norms have is one source with their Fundstellen."""
    first: dict[str, Candidate] = {}
    also: dict[str, list[str]] = {}
    for candidate in ranked:
        text = str(candidate.payload.get("chunk_text") or candidate.hit.id)  # without a text nothing is a twin
        line = source_line(candidate.payload)
        if text not in first:
            if len(first) == top_k:
                continue  # a later twin of a source may still come
            first[text] = candidate
            also[text] = []
        elif line != source_line(first[text].payload) and line not in also[text]:
            also[text].append(line)
    return [
        Source(
            source_line(candidate.payload),
            tuple(also[text]),
            str(candidate.payload.get("chunk_text") or ""),
            response(candidate.payload, candidate.total),
            candidate,
        )
        for text, candidate in first.items()
    ]
