"""Hybrid search: dense and BM25 side by side, joined by rank (spec/retrieval-pipeline stages 1 and 2)."""

import time
from dataclasses import dataclass
from typing import Any

from backends.embedders import Embedder
from backends.vectors.store import Hit, SparseVector, VectorStore
from normalize.analyzer import sparse_query
from normalize.errors import GateError, UsageError
from normalize.text import clean_inline
from retrieve.answer import response, source_line
from retrieve.fusion import fuse

MAX_QUERY_CHARACTERS = 2000
PREFETCH = 20
_PREFETCH_FACTOR = 4


@dataclass(frozen=True, slots=True)
class Source:
    """One answer: its source line, its text, its fields, its fused score, and its rank in each leg."""

    source: str
    text: str
    fields: dict[str, Any]
    score: float
    ranks: dict[str, int]


@dataclass(frozen=True, slots=True)
class Answer:
    """The sources for a question, best first, and the milliseconds of each stage."""

    query: str
    collection: str
    sources: list[Source]
    milliseconds: dict[str, float]

    def report(self) -> dict[str, Any]:
        """Return the answer as one JSON object: the response fields of each source, its source line and ranks."""
        results = [source.fields | {"source": source.source, "ranks": source.ranks} for source in self.sources]
        return {
            "query": self.query,
            "collection": self.collection,
            "results": results,
            "milliseconds": self.milliseconds,
        }


def prefetch_limit(top_k: int) -> int:
    """Return how many hits each leg fetches: 20, or four times topK above 20."""
    return PREFETCH if top_k <= PREFETCH else top_k * _PREFETCH_FACTOR


def search(store: VectorStore, collection: str, embedder: Embedder, question: str, *, top_k: int = 5) -> Answer:
    """Return the `top_k` best chunks for a question; the question is capped at 2000 characters.

    A collection without a BM25 vector is searched by the dense vector alone.
    Raises UsageError (no question, no such collection) or GateError (vectors of another model).
    """
    query = clean_inline(question)[:MAX_QUERY_CHARACTERS]
    if not query:
        raise UsageError("The question is empty: write what you are looking for.")
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
    limit = prefetch_limit(top_k)
    started = time.perf_counter()
    vector = embedder.embed([query])[0]
    embedded = time.perf_counter()
    legs: dict[str, list[Hit]] = {"dense": store.query_dense(collection, vector, limit)}
    if about.layout.sparse is not None:
        terms = sparse_query(query)
        if terms.indices:
            sparse = SparseVector(tuple(terms.indices), tuple(terms.values))
            legs["bm25"] = store.query_sparse(collection, sparse, limit)
    found = time.perf_counter()
    fused = fuse(legs)
    sources: list[Source] = []
    seen: set[tuple[str, str]] = set()
    for item in fused:
        payload = item.hit.payload
        key = (source_line(payload), str(payload.get("chunk_text")))
        if key in seen:  # the old and the new point of one norm, side by side until prune
            continue
        seen.add(key)
        sources.append(Source(*key, response(payload, item.score), item.score, dict(item.ranks)))
        if len(sources) == top_k:
            break
    times = {"embed": embedded - started, "retrieve": found - embedded, "fuse": time.perf_counter() - found}
    return Answer(query, collection, sources, {stage: round(seconds * 1000, 2) for stage, seconds in times.items()})
