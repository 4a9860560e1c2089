"""Identity of chunks and documents (DESIGN §4): equal input gives equal ids, on every machine and in every run."""

import hashlib
import unicodedata
import uuid
from collections.abc import Iterable

NO_DATE = "0000-00-00"


def chunk_id(
    regulation_code: str, article: str | None, paragraph: str | None, chunk_index: int, document_version: str
) -> str:
    """Return the sha1 hex id of a chunk (contract §1.2); absent parts count as empty strings.

    `chunk_index` runs from 0 through the document.
    """
    key = "|".join([regulation_code, article or "", paragraph or "", str(chunk_index), document_version])
    return hashlib.sha1(key.encode("utf-8"), usedforsecurity=False).hexdigest()


def point_id(chunk_id: str) -> str:
    """Return the Qdrant point id of a chunk: its first 16 sha1 bytes as a version-5 UUID."""
    return str(uuid.UUID(bytes=bytes.fromhex(chunk_id)[:16], version=5))


def chunk_hash(text: str) -> str:
    """Return the sha256 hex of a cleaned chunk text in UTF-8, NFC."""
    return hashlib.sha256(unicodedata.normalize("NFC", text).encode("utf-8")).hexdigest()


def document_version(date: str | None, sources: Iterable[bytes], chunker_version: str, normalizer_version: str) -> str:
    """Return `<date>-<digest>`: the source's own date and 8 hex digits over source bytes and rule versions.

    `date` is ISO (`2024-12-31`) or None where the source states none. The same source under new rules is a new
    version, so the ledger of processed chunks cannot collide. Each part is hashed with its length in front, so that
    no two different lists of sources run together.
    """
    digest = hashlib.sha256()
    for part in (*sources, chunker_version.encode(), normalizer_version.encode()):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return f"{date or NO_DATE}-{digest.hexdigest()[:8]}"
