"""Chunks put aside on disk while a large manifest is surveyed, so that a first run reads every source only once.

The processes that read the sources also make the BM25 terms; what they put aside is compressed JSON lines, a file a
document, in a folder of this run that is removed with it.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import zstandard

from backends.vectors.store import SparseVector
from ingest.chunker import Chunk
from ingest.reading import Gathered
from normalize.analyzer import sparse_document
from normalize.errors import SourceError


@contextmanager
def spool_folder() -> Iterator[Path]:
    """Yield an empty folder that is removed at the end; TMPDIR says where."""
    with tempfile.TemporaryDirectory(prefix="fundstelle-spool-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def terms_of(chunk: Chunk) -> SparseVector:
    """Return the BM25 terms of a chunk: those put aside with it, else made now."""
    if chunk.terms is not None:
        return chunk.terms
    terms = sparse_document(chunk.embed_text, "en" if chunk.language == "en" else "de")
    return SparseVector(tuple(terms.indices), tuple(terms.values))


def put_aside(gathered: Gathered, folder: Path) -> None:
    """Write the chunks of a document, with their BM25 terms. Raises SourceError if there is no room for them."""
    lines = [_line(chunk) for chunk in gathered.chunks]
    try:
        _file(folder, gathered.loaded.document.document_id).write_bytes(
            zstandard.ZstdCompressor(level=1).compress("".join(lines).encode())
        )
    except OSError as error:
        raise SourceError(
            f"The chunks of {gathered.loaded.origin} cannot be put aside in {folder} ({error.strerror}): nothing was "
            "written, let TMPDIR name a folder with more room."
        ) from None


def take_back(folder: Path, document_id: str) -> list[Chunk]:
    """Return the chunks of a document as they were put aside."""
    data = zstandard.ZstdDecompressor().decompress(_file(folder, document_id).read_bytes())
    return [_chunk(line) for line in data.split(b"\n") if line]


def _file(folder: Path, document_id: str) -> Path:
    return folder / f"{hashlib.sha256(document_id.encode()).hexdigest()}.zst"


def _line(chunk: Chunk) -> str:
    front = chunk.embed_text.removesuffix(chunk.payload["chunk_text"])  # the text itself stands in the payload
    terms = terms_of(chunk)
    row = [chunk.payload, front, chunk.language, list(terms.indices), list(terms.values)]
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"


def _chunk(line: bytes) -> Chunk:
    payload, front, language, indices, values = json.loads(line)
    return Chunk(payload, front + payload["chunk_text"], language, SparseVector(tuple(indices), tuple(values)))
