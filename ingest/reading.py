"""Read, chunk and condense the documents of a manifest, in its order; a large manifest on all processors at once.

What comes out is the same with any number of processes, since every document is read by itself.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

from backends.embedders import TokenLimit
from backends.vectors.store import Record
from ingest.chunker import Chunk
from ingest.documents import Loaded, Names, load
from ingest.edges import DocumentNorms, norms_of
from ingest.manifest import Manifest, ManifestDocument
from ingest.stored import PointSketch, sketch
from normalize.errors import SourceError
from normalize.laws import LawTable

# Sources of more bytes than this are large: starting processes pays, and their chunks are not kept in memory.
_LARGE = 5_000_000
# Each process holds the grammar and one document; more of them would wait for the one that gathers.
_MOST_PROCESSES = 4
_DOCUMENTS_AT_ONCE = 8

Picked = TypeVar("Picked")


@dataclass(frozen=True, slots=True)
class Gathered:
    """One document with its chunks."""

    entry: ManifestDocument
    loaded: Loaded
    chunks: list[Chunk]


@dataclass(frozen=True, slots=True)
class Expected:
    """What the store must hold of one document, condensed; `points` are in document order, `text_bytes` is UTF-8."""

    entry: ManifestDocument
    names: Names
    regulation_code: str
    version: str
    origin: str
    points: list[PointSketch]
    text_bytes: int


@dataclass(frozen=True, slots=True)
class Condensed(Generic[Picked]):
    """What stays of a document once it is read: its points, what its edges need, and what the caller picked of it.

    `loaded` has its provisions and its token limit no more.
    """

    loaded: Loaded
    expected: Expected
    norms: DocumentNorms
    picked: Picked


def is_large(manifest: Manifest) -> bool:
    """Whether the sources of a manifest are too large to keep their chunks in memory."""
    size = 0
    for document in manifest.documents:
        for file in document.files:
            try:
                size += file.stat().st_size
            except OSError:
                continue  # reading it will say why
    return size > _LARGE


def read_all(
    manifest: Manifest,
    laws: LawTable,
    pick: Callable[[Gathered], Picked],
    processes: int | None = None,
    tokens: TokenLimit | None = None,
) -> Iterator[Condensed[Picked]]:
    """Yield every document condensed, in the order of the manifest.

    `pick` says what to keep of a document's chunks; with several processes it runs in them, so it must be a function of
    a module (or a `partial` of one). `processes` None means as many as a manifest of this size deserves. `tokens` is
    the embedder's limit. Raises the errors of `ingest.documents` for the first document that has one.
    """
    read = partial(_read, laws=laws, pick=pick, tokens=tokens)
    count = processes or (min(_processors(), _MOST_PROCESSES) if is_large(manifest) else 1)
    if count == 1:
        yield from map(read, manifest.documents)
        return
    context = multiprocessing.get_context("spawn")  # a fork would copy open stores and their locks
    try:
        with ProcessPoolExecutor(count, context, _leave_interrupts_to_the_parent) as pool:
            yield from pool.map(read, manifest.documents, chunksize=_DOCUMENTS_AT_ONCE)
    except BrokenProcessPool:
        raise SourceError(
            "A process that reads the sources was ended from outside (is the memory used up?): nothing was written, "
            "run again."
        ) from None


def _processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _read(
    entry: ManifestDocument, laws: LawTable, pick: Callable[[Gathered], Picked], tokens: TokenLimit | None
) -> Condensed[Picked]:
    loaded = load(entry, laws, tokens)
    gathered = Gathered(entry, loaded, list(loaded.chunks()))
    return Condensed(
        replace(loaded, provisions=(), tokens=None),
        _expect(gathered),
        norms_of(loaded, gathered.chunks),
        pick(gathered),
    )


def _expect(gathered: Gathered) -> Expected:
    document = gathered.loaded.document
    points = [sketch(Record(chunk.point_id, chunk.payload)) for chunk in gathered.chunks]
    return Expected(
        gathered.entry,
        gathered.loaded.names,
        document.regulation_code,
        document.document_version,
        gathered.loaded.origin,
        points,
        sum(len(chunk.payload["chunk_text"].encode()) for chunk in gathered.chunks),
    )
