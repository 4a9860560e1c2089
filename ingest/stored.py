"""What a collection holds today, and which of its points belong to which document of the manifest (DESIGN §6).

Points of fundstelle say their `document_id`. Older points do not, or carry a random one: they belong to a document only
if code or name leads to exactly one document. Whatever is not claimed is never touched, only listed.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from sys import intern
from typing import Any

from backends.vectors.store import PointId, Record, VectorStore
from ingest.documents import Names, alias_key
from normalize.legacy_fields import legacy_citation

# Everything of a payload but its long fields, which chunk_hash and the versions stand for.
LIGHT_FIELDS = [
    "article_label", "regulation_code", "citation_style", "article", "paragraph", "sub", "is_recital",
    "regulation_name", "regulation_name_de", "regulation_short", "page", "pages", "section_header", "chunk_id",
    "chunk_hash", "document_id", "document_version", "chunk_index", "doc_type", "use_case", "source_type",
    "source_class", "category", "license", "source", "source_url", "bundesland", "year", "chunker_version",
    "normalizer_version", "references_out", "references_in",
]  # fmt: skip
_EDGE_FIELDS = ("references_out", "references_in")
_FIELDS_BUT_EDGES = frozenset(LIGHT_FIELDS) - frozenset(_EDGE_FIELDS)
_SORTED_JSON = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))
LEGACY_FIELDS = ["regulation_id", "section", "section_title", "paragraph_num"]
# Ids that official sources give: federal law (BJNR…), CELEX numbers.
_OFFICIAL_ID = re.compile(r"BJNR|\d{5}[A-Z]{1,2}\d")
_LEGACY_NAMES = ("regulation_code", "regulation_id", "regulation_short", "regulation_name", "regulation_name_de")


@dataclass(frozen=True, slots=True)
class PointSketch:
    """A point without its text and vectors, as stored or as expected; small enough to hold 300,000 of them.

    `name` is what to call it in a list, `digest` stands for all light fields of the payload, `names` are the names of
    the law in an older payload.
    """

    id: PointId
    is_contract: bool
    document_id: str | None
    version: str | None
    chunk_hash: str | None
    article: str | None
    paragraph: str | None
    sub: str | None
    is_recital: bool
    label: str | None
    name: str
    header: str | None
    rules: tuple[str | None, str | None]
    names: tuple[str, ...]
    full_name: str | None
    digest: bytes


def sketch(record: Record, digest: bytes | None = None) -> PointSketch:
    """Condense a record read with the light fields; older payloads are read by the table of the contract's §3.

    `digest` is the `light_digest` of its payload, where that is known already.
    """
    payload = record.payload
    is_contract = bool(payload.get("chunk_id")) and bool(payload.get("document_id"))
    article, paragraph = payload.get("article"), payload.get("paragraph")
    names: tuple[str, ...] = ()
    full_name = None
    if not is_contract:
        fields = legacy_citation(payload)
        article, paragraph = fields.article, fields.paragraph
        names = tuple(intern(str(payload[f])) for f in _LEGACY_NAMES if payload.get(f))
        full_name = payload.get("regulation_name_de") or payload.get("regulation_name")
    return PointSketch(
        id=record.id,
        is_contract=is_contract,
        document_id=_interned(payload.get("document_id")),
        version=_interned(payload.get("document_version")),
        chunk_hash=payload.get("chunk_hash"),
        article=_interned(article),
        paragraph=_interned(paragraph),
        sub=_interned(payload.get("sub")),
        is_recital=bool(payload.get("is_recital")),
        label=_interned(payload.get("article_label")),
        name=intern(_name(record)),
        header=_interned(payload.get("section_header")),
        rules=(_interned(payload.get("chunker_version")), _interned(payload.get("normalizer_version"))),
        names=names,
        full_name=_interned(full_name),
        digest=digest or light_digest(payload),
    )


def light_digest(payload: Mapping[str, Any]) -> bytes:
    """Return 32 bytes that stand for the light fields of a payload; a missing field is not an absent (null) one.

    The last 16 are those of its edges (`edges_digest`), which are known later than the rest.
    """
    light = {name: value for name, value in payload.items() if name in _FIELDS_BUT_EDGES}
    edges = {name: payload[name] for name in _EDGE_FIELDS if name in payload}
    return _digest(light) + _digest(edges)


def edges_digest(references_out: Sequence[str], references_in: Sequence[str]) -> bytes:
    """Return the part of `light_digest` that stands for the edges."""
    return _digest(dict(zip(_EDGE_FIELDS, (references_out, references_in), strict=True)))


def _digest(fields: Mapping[str, Any]) -> bytes:
    return hashlib.blake2b(_SORTED_JSON.encode(fields).encode(), digest_size=16).digest()


def _interned(value: object) -> str | None:
    return intern(str(value)) if value not in (None, "") else None


def _name(record: Record) -> str:
    payload = record.payload
    if payload.get("article_label"):
        return str(payload["article_label"])
    law = payload.get("regulation_short") or payload.get("regulation_id") or payload.get("regulation_code")
    parts = [str(part) for part in (law, payload.get("section"), payload.get("paragraph")) if part]
    return " ".join(parts) or f"point {record.id}"


@dataclass(frozen=True, slots=True)
class Claims:
    """The points of each document (by document id), and the points that no document claims."""

    by_document: dict[str, list[PointSketch]]
    unclaimed: list[PointSketch]


def read_points(
    store: VectorStore, collection: str, expected: Mapping[PointId, PointSketch] | None = None
) -> list[PointSketch]:
    """Return every point of a collection, light. A collection that does not exist has none.

    A point whose light fields all are as those of its `expected` sketch is that sketch: it need not be made anew.
    """
    if store.describe(collection) is None:
        return []
    return [
        _as_expected(record, expected or {})
        for record in store.scroll(collection, payload=LIGHT_FIELDS + LEGACY_FIELDS, vectors=False)
    ]


def _as_expected(record: Record, expected: Mapping[PointId, PointSketch]) -> PointSketch:
    digest, known = light_digest(record.payload), expected.get(record.id)
    return known if known is not None and known.digest == digest else sketch(record, digest)


def claim(points: Iterable[PointSketch], documents: Sequence[Names], others: Sequence[Names] = ()) -> Claims:
    """Sort the points by the document that owns them.

    `others` are documents that own nothing in this run (files without text): a name they share leads nowhere.
    """
    owners: dict[str, str] = {}
    for names in documents:
        for replaced in names.replaces:
            owners[replaced] = names.document_id
    owners.update({names.document_id: names.document_id for names in documents})
    by_alias: dict[str, set[str]] = defaultdict(set)
    for names in (*documents, *others):
        for alias in names.aliases - {""}:
            by_alias[alias].add(names.document_id)

    by_document: dict[str, list[PointSketch]] = defaultdict(list)
    unclaimed: list[PointSketch] = []
    legacy: dict[str, list[PointSketch]] = defaultdict(list)
    for point in points:
        owner = owners.get(point.document_id or "")
        if owner is not None:
            by_document[owner].append(point)
        elif point.is_contract:
            unclaimed.append(point)
        else:
            candidates = _named_documents(point, by_alias)
            if len(candidates) == 1 and candidates <= set(owners):
                legacy[candidates.pop()].append(point)
            else:
                unclaimed.append(point)
    for document_id, found in legacy.items():
        if _is_one_document(found):
            by_document[document_id].extend(found)
        else:
            unclaimed.extend(found)
    return Claims(dict(by_document), unclaimed)


def _named_documents(point: PointSketch, by_alias: dict[str, set[str]]) -> set[str]:
    if point.full_name and alias_key(point.full_name) not in by_alias:
        return set()  # it names a law, and none of these: an alias in the manifest says so if it is one of them
    if point.document_id is not None and _OFFICIAL_ID.match(point.document_id):
        return set()  # it says itself which other document it is of
    keys = [alias_key(name) for name in point.names]
    if point.document_id is not None:
        keys.append(alias_key(point.document_id))
    return {document for key in keys for document in by_alias.get(key, ())}


def _is_one_document(points: Sequence[PointSketch]) -> bool:
    """Old points under one code are one document unless their own ids or names say they are two (DESIGN §4: AEG)."""
    ids = {p.document_id for p in points if p.document_id is not None}
    names = {alias_key(p.full_name) for p in points if p.full_name}
    return len(ids) <= 1 and len(names) <= 1
