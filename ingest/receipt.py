"""The receipt of a passed verification: digests of what was expected and of what was old, document by document.

`prune` computes those anew and compares. `status` has no time to read all sources, so the receipt also says by which
names the documents claim points, and the digest of the files it was made from.
"""

import hashlib
from typing import Any

from ingest.checks import Evidence
from ingest.digests import points_digest
from ingest.documents import Names
from ingest.manifest import Manifest


def make_receipt(
    collection: str, evidence: Evidence, *, sample: float, seed: int, manifest: Manifest, sources: str
) -> dict[str, Any]:
    """Return the receipt; `sources` is the `sources_digest` from before the sources were read."""
    documents = receipt_documents(evidence)
    lines = [f"{key} {value}" for key, value in sorted(documents.items())]
    return {
        "collection": collection,
        "digest": hashlib.sha256("\n".join([collection, *lines]).encode()).hexdigest()[:16],
        "sample": sample,
        "seed": seed,
        "documents": documents,
        "names": {document.names.document_id: _written(document.names) for document in evidence.expected},
        "without_text": {loaded.names.document_id: _written(loaded.names) for loaded in evidence.skipped},
        "manifest": str(manifest.path.resolve()),
        "sources": sources,
    }


def receipt_documents(evidence: Evidence) -> dict[str, dict[str, Any]]:
    """Return for every document its version, and digests of what is expected and of what is old."""
    return {
        document.names.document_id: {
            "version": document.version,
            "chunks": len(document.points),
            "expected": points_digest(document.points),
            "old": len(evidence.old[document.names.document_id]),
            "old_digest": points_digest(evidence.old[document.names.document_id]),
        }
        for document in evidence.expected
    }


def _written(names: Names) -> dict[str, list[str]]:
    return {"replaces": list(names.replaces), "aliases": sorted(names.aliases)}


def names_of(receipt: dict[str, Any], part: str = "names") -> list[Names]:
    """Return the names the receipt has of its documents, or of those `without_text`."""
    return [
        Names(document_id, tuple(names["replaces"]), frozenset(names["aliases"]))
        for document_id, names in receipt.get(part, {}).items()
    ]


def sources_digest(manifest: Manifest) -> str:
    """Return a sha256 over the manifest and the content of all its files; a file that is not there counts as such.

    Much cheaper than reading them as law: 286 MB take about a second.
    """
    digest = hashlib.sha256()
    for path in (manifest.path, *(file for document in manifest.documents for file in document.files)):
        try:
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").digest()
        except OSError:
            content = b"missing"
        digest.update(path.name.encode() + b"\0" + content)
    return digest.hexdigest()
