"""The collection a run writes to: created with our layout if new, otherwise respected as it is (DESIGN §6, §8)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from backends.embedders import Embedder, TokenLimit
from backends.vectors.store import ANALYZER, Collection, IndexKind, Layout, VectorStore
from ingest.chunker import in_force, limit_name
from normalize.analyzer import VERSION as ANALYZER_VERSION
from normalize.errors import GateError

# Every field a consumer, the re-ingest or a search filters on.
INDEXES: Mapping[str, IndexKind] = {
    "document_id": "keyword",
    "document_version": "keyword",
    "regulation_code": "keyword",
    "regulation_short": "keyword",
    "article": "keyword",
    "paragraph": "keyword",
    "is_recital": "bool",
    "source_class": "keyword",
    "source_type": "keyword",
    "doc_type": "keyword",
    "use_case": "keyword",
    "bundesland": "keyword",
    "year": "integer",
    "chunk_hash": "keyword",
}
MODEL = "embedder"
LIMIT = "chunk_limit"

# Given the dimension of an existing collection (None = free choice), return the embedder of the settings.
EmbedderFor = Callable[[int | None], Embedder]


@dataclass(frozen=True, slots=True)
class Target:
    """A collection, what it is today (None = not there yet), its layout and the embedder that serves it.

    `reuse_from` is the collection that has the vectors to reuse (None: the collection itself), `extra` further metadata
    to create it with.
    """

    name: str
    existing: Collection | None
    layout: Layout
    embedder: Embedder
    warning: str | None
    reuse_from: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def metadata(self) -> dict[str, Any]:
        """What is kept with the collection so that no other model ever writes to it, and no other limit verifies it."""
        return {
            MODEL: self.embedder.model,
            "dimension": self.layout.dimension,
            ANALYZER: ANALYZER_VERSION,
            LIMIT: limit_name(in_force(self.embedder.token_limit)),
            **self.extra,
        }


def find_target(store: VectorStore, name: str, embedder_for: EmbedderFor) -> Target:
    """Look at the collection without changing it.

    Raises GateError if its vectors are of another size, model or analyzer than this run's.
    """
    existing = store.describe(name)
    if existing is None:
        embedder = embedder_for(None)
        return Target(name, None, Layout(dimension=embedder.dimension), embedder, None)
    embedder = embedder_for(existing.layout.dimension)
    if embedder.dimension != existing.layout.dimension:
        raise GateError(
            f"Collection '{name}' has vectors of {existing.layout.dimension} dimensions but {embedder.model} makes "
            f"{embedder.dimension}: choose the embedder it was built with, or another collection."
        )
    model = existing.metadata.get(MODEL)
    if model is not None and model != embedder.model:
        raise GateError(
            f"Collection '{name}' was written with {model}, not with {embedder.model}: choose that embedder, or "
            "another collection (vectors of two models cannot be compared)."
        )
    recorded = existing.metadata.get(ANALYZER)
    if recorded is not None and existing.analyzer not in (None, ANALYZER_VERSION):
        raise GateError(
            f"The BM25 terms of collection '{name}' were made by {recorded}, this version makes {ANALYZER_VERSION}: "
            "re-ingest into a new collection (terms of two analyzers do not find each other)."
        )
    warnings = []
    if model is None and existing.points:
        warnings.append(
            f"Collection '{name}' does not say which model made its {existing.points} vectors; it will be marked as "
            f"{embedder.model}. Points that stay beside the new ones are only found if that is true."
        )
    if recorded is None and existing.points and existing.analyzer not in (None, ANALYZER_VERSION):
        warnings.append(
            f"Collection '{name}' does not say which analyzer made its BM25 terms; it will be marked as "
            f"{ANALYZER_VERSION}. Points that stay beside the new ones are only found by their vectors."
        )
    warning = " ".join(warnings) or None
    return Target(name, existing, existing.layout, embedder, warning)


def held_limit(collection: Collection, name: str, embedder_for: EmbedderFor | None) -> TokenLimit | None:
    """Return the token limit that a collection was chunked under; no model is loaded where it says there is none.

    Where it says nothing (a server that keeps no metadata) the embedder at hand decides. Raises GateError if the
    embedder's limit is not the collection's.
    """
    held = collection.metadata.get(LIMIT)
    if held == limit_name(None):
        return None
    tokens = in_force(embedder_for(collection.layout.dimension).token_limit) if embedder_for is not None else None
    if held is not None and limit_name(tokens) != held:
        raise GateError(
            f"Collection '{name}' was chunked under the limit {held}, not {limit_name(tokens)}: choose the embedder it "
            "was built with."
        )
    return tokens


def ready(store: VectorStore, target: Target) -> None:
    """Create what is missing: the collection, its indexes (first, before any point), its metadata. Never recreate."""
    if target.existing is None:
        store.create(target.name, target.layout, INDEXES, target.metadata)
        return
    store.ensure_indexes(target.name, INDEXES)
    if any(target.existing.metadata.get(key) != value for key, value in target.metadata.items()):
        store.set_metadata(target.name, target.metadata)
