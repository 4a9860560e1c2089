"""Take over a collection whose sources are gone: its old points become one file a document, and a manifest of them.

Nothing is written over, nothing is deleted: the files are sources like any other, and the way on is `reingest`,
`verify`, `prune`. What the old points do not tell stands in `unrecovered.jsonl`, row by row.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from backends.vectors.store import Record, VectorStore
from ingest.chunker import Document, chunk_act
from ingest.conservation.compare import letters
from ingest.legacy.chunks import documents
from ingest.legacy.source import Rebuilt, rebuild
from ingest.sources.legacy import write_legacy
from normalize.errors import SourceError, UsageError
from normalize.laws import LawTable
from normalize.legacy_fields import payload_text

MANIFEST: Final = "manifest.yaml"
UNRECOVERED: Final = "unrecovered.jsonl"
# Fields of old payloads that a manifest entry says for all chunks of a document.
_PASSED_ON: Final = ("source_type", "license", "bundesland")
_URL_FIELDS: Final = ("source_url", "url", "source")
_NO_NAME: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class _Document:
    """A rebuilt document, the points it came from, and its file and id in the manifest."""

    rebuilt: Rebuilt
    records: Sequence[Record]
    file: str
    id: str
    other_id: str | None
    is_one_of_many: bool


def rebuild_collection(store: VectorStore, collection: str, folder: Path, laws: LawTable) -> dict[str, Any]:
    """Rebuild the documents of a collection's old points into `folder`, and return what was found.

    Points that fundstelle itself wrote are left out: their source is known. Raises UsageError if the collection is not
    there, or the folder already holds something.
    """
    if store.describe(collection) is None:
        known = ", ".join(store.collections()) or "none"
        raise UsageError(f"There is no collection '{collection}' to rebuild; there are: {known}.")
    _empty(folder)
    contract, records = 0, []
    for record in store.scroll(collection, vectors=False):
        if record.payload.get("chunk_id") and record.payload.get("document_id"):
            contract += 1
        else:
            records.append(record)
    found = list(_documents(records, laws))
    try:
        for document in found:
            (folder / document.file).write_bytes(write_legacy(document.rebuilt.act))
        losses = [loss for document in found for loss in _losses(document, records)]
        lines = "".join(json.dumps(loss, ensure_ascii=False) + "\n" for loss in losses)
        (folder / UNRECOVERED).write_text(lines, "utf-8")
        (folder / MANIFEST).write_text(_manifest(collection, found), "utf-8")
    except OSError as error:
        raise SourceError(f"{folder} cannot be written ({error.strerror}): give another folder with --to.") from None
    return {
        "collection": collection,
        "folder": str(folder),
        "manifest": str(folder / MANIFEST),
        "points": len(records),
        "contract_points": contract,
        "documents": [_report(document) for document in found],
        "unrecovered": dict(sorted(Counter(loss["field"] for loss in losses).items())),
    }


def _empty(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_empty = next(folder.iterdir(), None) is None
    except OSError as error:
        raise UsageError(f"{folder} cannot be used ({error.strerror}): give another folder with --to.") from None
    if not is_empty:
        raise UsageError(f"{folder} is not empty: nothing is written over, give a new folder with --to.")


def _documents(records: Sequence[Record], laws: LawTable) -> Iterator[_Document]:
    """Yield the documents in order of code and id.

    Where one law has two documents or versions, each gets an id of its own: so none claims the old points of the other,
    and none of them is pruned before someone says which one holds.
    """
    groups = list(documents(records, laws))
    rebuilt = rebuild(records, laws)
    ids = Counter(_id(act) for act in rebuilt)
    old_ids = Counter(key[1] for key, _, _ in groups)
    names: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for (key, rows, _), act in zip(groups, rebuilt, strict=True):
        name = _NO_NAME.sub("-", (act.act.short or key[0] or key[1] or "unnamed").lower()).strip("-") or "unnamed"
        names[name] += 1
        wanted = _id(act)
        seen[wanted] += 1
        is_one_of_many = ids[wanted] > 1
        own_id = f"{wanted}@{key[2] or 'version'}-{seen[wanted]}" if is_one_of_many else wanted
        other = key[1] if key[1] and key[1] != own_id and old_ids[key[1]] == 1 and not is_one_of_many else None
        file = f"{name}-{names[name]}.jsonl" if names[name] > 1 else f"{name}.jsonl"
        yield _Document(act, [records[row.number] for row in rows], file, own_id, other, is_one_of_many)


def _id(rebuilt: Rebuilt) -> str:
    return rebuilt.act.document_id or rebuilt.act.code or "unnamed"


def _manifest(collection: str, found: Sequence[_Document]) -> str:
    """Write the manifest; a document whose law no point names stands in it as a comment, to be completed by hand."""
    entries: list[_Document] = []
    incomplete: list[_Document] = []
    for document in found:
        (entries if document.rebuilt.act.code and document.rebuilt.act.provisions else incomplete).append(document)
    text = yaml.safe_dump({"collection": collection}, allow_unicode=True)
    if entries:
        text += "documents:\n"
    for document in entries:
        text += yaml.safe_dump([_entry(document)], allow_unicode=True, sort_keys=False, width=1000)
    for document in incomplete:
        text += f"# {document.file}: no point says which law it is. Add its code and take the # away.\n"
        text += f"#- path: {document.file}\n#  format: legacy\n#  id: {json.dumps(document.id)}\n#  code:\n"
    return text


def _entry(document: _Document) -> dict[str, Any]:
    act = document.rebuilt.act
    entry: dict[str, Any] = {"path": document.file, "format": "legacy", "id": document.id, "code": act.code}
    if act.short and act.short != act.code:
        entry["short"] = act.short
    if act.name:
        entry["name"] = act.name
    if document.other_id:
        entry["replaces"] = [document.other_id]
    payloads = [record.payload for record in document.records]
    for field in _PASSED_ON:
        if value := _same([payload_text(payload, field) for payload in payloads]):
            entry[field] = value
    if url := _same([payload_text(payload, *_URL_FIELDS) for payload in payloads]):
        entry["source_url"] = url
    uses = {tuple(value) if isinstance(value := p.get("use_case"), list) else value for p in payloads}
    use = uses.pop() if len(uses) == 1 else None
    if use:
        entry["use_case"] = [use] if isinstance(use, str) else [str(value) for value in use]
    return entry


def _same(values: Sequence[str | None]) -> str | None:
    """Return what all points say, or None if they do not agree."""
    different = set(values)
    return different.pop() if len(different) == 1 else None


def _losses(document: _Document, records: Sequence[Record]) -> Iterator[dict[str, Any]]:
    for loss in document.rebuilt.unrecovered:
        point = records[loss.row].id if loss.row is not None else None
        yield {
            "file": document.file,
            "point": str(point) if point is not None else None,
            "article": loss.article,
            "field": loss.field,
            "value": loss.value,
            "reason": loss.reason,
        }


def _report(document: _Document) -> dict[str, Any]:
    """Return what became of a document; `found_again` counts the points whose text stands whole in its new chunks."""
    act = document.rebuilt.act
    somebody = Document("check", "0000-00-00", "CHECK", "CHECK", None)
    chunks = [chunk.payload["chunk_text"] for chunk in chunk_act(somebody, act.provisions)]
    text = letters("".join(chunks))
    olds = [payload_text(record.payload, "chunk_text", "text", "content") or "" for record in document.records]
    return {
        "file": document.file,
        "document_id": document.id,
        "code": act.code,
        "points": len(document.records),
        "provisions": len(act.provisions),
        "chunks": len(chunks),
        "found_again": sum(letters(old) in text for old in olds),
        "unrecovered": len(document.rebuilt.unrecovered),
        "one_of_many": document.is_one_of_many,
    }
