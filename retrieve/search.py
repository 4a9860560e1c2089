"""Search: cited norms first, then dense and BM25 side by side, joined by rank (spec/retrieval-pipeline 1 and 2)."""

import time
from dataclasses import dataclass
from typing import Any

from backends.embedders import Embedder
from backends.vectors.store import Collection, Hit, SparseVector, VectorStore
from normalize.analyzer import sparse_query
from normalize.errors import GateError, UsageError
from normalize.laws import LawTable
from normalize.text import clean_inline
from retrieve.answer import response, source_line
from retrieve.expand import expand
from retrieve.fusion import Fused, fuse
from retrieve.lookup import look_up

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


def search(
    store: VectorStore, collection: str, embedder: Embedder, question: str, laws: LawTable, *, top_k: int = 5
) -> Answer:
    """Return the `top_k` best chunks for a question; the question is capped at 2000 characters.

    Norms the question cites come first. The rest is the fusion of dense and BM25 over the question, and over the
    question in the words of statutes where the table has some.
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
    cited = look_up(store, collection, query, laws)
    looked_up = time.perf_counter()
    legs: dict[str, list[Hit]] = {}
    for name, asked in (("", query), ("+", expand(query))):
        if asked is not None:
            legs |= {f"{leg}{name}": hits for leg, hits in _legs(store, about, embedder, asked, limit).items()}
    found = time.perf_counter()
    fused = [Fused(hit, 1.0, {"citation": rank}) for rank, hit in enumerate(cited, 1)] + fuse(legs)
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
    times = {"look_up": looked_up - started, "retrieve": found - looked_up, "fuse": time.perf_counter() - found}
    return Answer(query, collection, sources, {stage: round(seconds * 1000, 2) for stage, seconds in times.items()})


def _legs(store: VectorStore, about: Collection, embedder: Embedder, query: str, limit: int) -> dict[str, list[Hit]]:
    """Return the ranked list of each leg; a collection without a BM25 vector has the dense one alone."""
    legs = {"dense": store.query_dense(about.name, embedder.embed([query])[0], limit)}
    if about.layout.sparse is not None:
        terms = sparse_query(query)
        if terms.indices:
            legs["bm25"] = store.query_sparse(about.name, SparseVector(*terms), limit)
    return legs
