"""Chunks as re-link reads them: from a vector store, or from any iterable of payloads."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backends.vectors.store import VectorStore
from normalize.errors import StoreError

Unit = tuple[int, int, str]

FIELDS = [
    "chunk_id",
    "chunk_hash",
    "chunk_text",
    "regulation_code",
    "regulation_short",
    "regulation_name",
    "citation_style",
    "article",
    "paragraph",
    "sub",
    "is_recital",
    "article_label",
    "page",
    "source_type",
    "license",
    "source",
    "source_url",
    "document_id",
    "document_version",
    "chunk_index",
    "units",
]


@dataclass(frozen=True, slots=True)
class LinkChunk:
    """What re-link needs of a chunk's payload (fields as in the payload contract)."""

    chunk_id: str
    chunk_hash: str
    chunk_text: str
    regulation_code: str
    regulation_short: str
    regulation_name: str | None
    citation_style: str
    article: str | None
    paragraph: str | None
    sub: str | None
    is_recital: bool
    article_label: str
    page: int | None
    source_type: str | None
    license: str | None
    source_url: str | None
    document_id: str
    document_version: str
    chunk_index: int
    units: tuple[Unit, ...] = ()

    @property
    def place(self) -> tuple[str, str | None, str | None, bool]:
        """The citation down to the Absatz; two chunks of one place are no rivals."""
        return (self.document_id, self.article, self.paragraph, self.is_recital)

    @property
    def order(self) -> tuple[str, str, int, str]:
        """Sort key: document by document, each in its own order."""
        return (self.document_id, self.document_version, self.chunk_index, self.chunk_id)


def chunk_from_payload(payload: Mapping[str, Any]) -> LinkChunk | None:
    """Return the chunk of a payload, or None for one from before the contract (no id, label or text to cite by)."""
    needed = (
        "chunk_id",
        "chunk_hash",
        "chunk_text",
        "regulation_code",
        "article_label",
        "document_id",
        "document_version",
    )
    if not all(payload.get(field) for field in needed):
        return None
    units = tuple((int(u["start"]), int(u["end"]), str(u["sub"])) for u in payload.get("units") or ())
    return LinkChunk(
        chunk_id=payload["chunk_id"],
        chunk_hash=payload["chunk_hash"],
        chunk_text=payload["chunk_text"],
        regulation_code=payload["regulation_code"],
        regulation_short=payload.get("regulation_short") or payload["regulation_code"],
        regulation_name=payload.get("regulation_name"),
        citation_style=payload.get("citation_style") or "paragraph",
        article=payload.get("article"),
        paragraph=payload.get("paragraph"),
        sub=payload.get("sub"),
        is_recital=bool(payload.get("is_recital")),
        article_label=payload["article_label"],
        page=payload.get("page"),
        source_type=payload.get("source_type"),
        license=payload.get("license"),
        source_url=payload.get("source_url") or payload.get("source"),
        document_id=payload["document_id"],
        document_version=payload["document_version"],
        chunk_index=int(payload.get("chunk_index") or 0),
        units=units,
    )


def chunks_from_payloads(payloads: Iterable[Mapping[str, Any]]) -> list[LinkChunk]:
    """Return the chunks of payloads in document order, those from before the contract left out."""
    chunks = [chunk for payload in payloads if (chunk := chunk_from_payload(payload)) is not None]
    chunks.sort(key=lambda chunk: chunk.order)
    return chunks


def current_only(chunks: Sequence[LinkChunk], current: Mapping[str, str]) -> list[LinkChunk]:
    """Return the chunks of one version a document: the one in `current`, else the newest by its date.

    Between upload and prune a collection holds two versions; a link must go to the one that stays.
    """
    newest: dict[str, str] = {}
    for chunk in chunks:
        newest[chunk.document_id] = max(newest.get(chunk.document_id, ""), chunk.document_version)
    held = {(chunk.document_id, chunk.document_version) for chunk in chunks}
    newest |= {document: version for document, version in current.items() if (document, version) in held}
    return [chunk for chunk in chunks if newest[chunk.document_id] == chunk.document_version]


def read_chunks(
    store: VectorStore, collections: Sequence[str], current: Mapping[str, Mapping[str, str]]
) -> list[LinkChunk]:
    """Return the citable chunks of some collections, one version a document, in document order.

    `current` gives, for each collection, the version of each document as the books have it. A document that
    stands in two collections is taken from the first. Raises StoreError for a collection that is not there.
    """
    chunks: list[LinkChunk] = []
    seen: set[str] = set()
    for collection in collections:
        if store.describe(collection) is None:
            raise StoreError(
                f"There is no collection '{collection}' in {store.where}; run `fundstelle reingest` first."
            )
        found = current_only(chunks_from_payloads(_payloads(store, collection)), current.get(collection, {}))
        chunks += [chunk for chunk in found if chunk.document_id not in seen]
        seen |= {chunk.document_id for chunk in found}
    return sorted(chunks, key=lambda chunk: chunk.order)


def _payloads(store: VectorStore, collection: str) -> Iterator[Mapping[str, Any]]:
    for record in store.scroll(collection, payload=FIELDS, batch=5000):
        yield record.payload
