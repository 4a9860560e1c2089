"""Go through the documents of a manifest one at a time, and make sure that they are what a run may write."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from backends.vectors.store import Record, VectorStore
from ingest.chunker import Chunk
from ingest.documents import Loaded, Names, load
from ingest.edges import EdgeCollector, Edges
from ingest.manifest import Manifest, ManifestDocument
from ingest.stored import Claims, PointSketch, claim, edges_digest, read_points, sketch
from normalize.errors import ContractError, SourceError, UsageError
from normalize.laws import LawTable

Progress = Callable[[str, int, int], None]


def no_progress(stage: str, done: int, total: int) -> None:
    """Show nothing."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """One document with its chunks."""

    entry: ManifestDocument
    loaded: Loaded
    chunks: list[Chunk]


@dataclass(frozen=True, slots=True)
class Expected:
    """What the store must hold of one document, condensed; `points` are in document order."""

    entry: ManifestDocument
    names: Names
    regulation_code: str
    version: str
    origin: str
    points: list[PointSketch]


def expect(gathered: Gathered) -> Expected:
    """Condense a gathered document."""
    document = gathered.loaded.document
    points = [sketch(Record(chunk.point_id, chunk.payload)) for chunk in gathered.chunks]
    names = gathered.loaded.names
    return Expected(
        gathered.entry, names, document.regulation_code, document.document_version, gathered.loaded.origin, points
    )


def gather(
    manifest: Manifest, laws: LawTable, progress: Progress = no_progress, skipped: list[Loaded] | None = None
) -> Iterator[Gathered]:
    """Yield each document with its chunks, in the order of the manifest.

    A file that a glob found and that has no text in force (a repealed law) is put on `skipped`: it counts as not being
    in the manifest, so its old points stay. Raises UsageError for two documents with one id, ContractError for two
    chunks with one id, SourceError for a document named by `path` that has no text; a caller that must not write half
    of a run goes through all of it first.
    """
    documents: dict[str, str] = {}
    ids: dict[bytes, str] = {}
    total = len(manifest.documents)
    for number, entry in enumerate(manifest.documents):
        progress("reading", number, total)
        loaded = load(entry, laws)
        document_id = loaded.document.document_id
        if document_id in documents:
            raise UsageError(
                f"{documents[document_id]} and {loaded.origin} are both document {document_id}: two versions of one "
                "document cannot be in one collection, keep one of them in the manifest or give them different ids."
            )
        documents[document_id] = loaded.origin
        chunks = list(loaded.chunks())
        if not chunks and entry.entry.glob is not None:
            if skipped is not None:
                skipped.append(loaded)
            continue
        if not chunks:
            raise SourceError(f"{loaded.origin} ({document_id}) has no text in force: remove it from the manifest.")
        for chunk in chunks:
            key = bytes.fromhex(chunk.chunk_id)[:16]
            if key in ids:
                raise ContractError(
                    f"Chunk id {chunk.chunk_id} ({chunk.payload['article_label']} of {loaded.origin}) is also that of "
                    f"{ids[key]}: nothing was written, give the two documents different codes."
                )
            ids[key] = loaded.origin
        yield Gathered(entry, loaded, chunks)
    progress("reading", total, total)


@dataclass(frozen=True, slots=True)
class Survey:
    """All documents of a manifest, condensed, with the edges between them and the files without text."""

    expected: list[Expected]
    edges: Edges
    skipped: list[Loaded]


def survey(
    manifest: Manifest,
    laws: LawTable,
    progress: Progress = no_progress,
    each: Callable[[Gathered], None] = lambda gathered: None,
) -> Survey:
    """Go through all documents once; `each` sees every document while its chunks are there (edges still empty).

    Raises the errors of `gather`.
    """
    expected: list[Expected] = []
    skipped: list[Loaded] = []
    collector = EdgeCollector()
    for gathered in gather(manifest, laws, progress, skipped):
        collector.add(gathered.loaded, gathered.chunks)
        expected.append(expect(gathered))
        each(gathered)
    edges = collector.resolve(laws)
    return Survey([_with_edges(document, edges) for document in expected], edges, skipped)


def _with_edges(document: Expected, edges: Edges) -> Expected:
    """Put the edges into the digests of a document's points; they come in the order of chunk_index."""
    document_id = document.names.document_id
    points = []
    for index, point in enumerate(document.points):
        place = {"document_id": document_id, "chunk_index": index, "article": point.article,
                 "paragraph": point.paragraph, "is_recital": point.is_recital}  # fmt: skip
        digest = point.digest[:16] + edges_digest(*edges.of(place))
        points.append(point if digest == point.digest else replace(point, digest=digest))
    return replace(document, points=points)


def claims_on(store: VectorStore, collection: str, expected: Sequence[Expected], skipped: Sequence[Loaded]) -> Claims:
    """Read the collection and sort its points by the document that owns them; skipped documents own none."""
    owners = [document.names for document in expected]
    return claim(read_points(store, collection), owners, [loaded.names for loaded in skipped])
