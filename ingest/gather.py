"""Go through the documents of a manifest once, and make sure that they are what a run may write."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic

from backends.embedders import TokenLimit
from backends.vectors.store import VectorStore
from ingest.documents import Loaded
from ingest.edges import DocumentNorms, Edges, resolve
from ingest.manifest import Manifest
from ingest.reading import Condensed, Expected, Gathered, Picked, read_all
from ingest.stored import Claims, claim, edges_digest, read_points
from normalize.errors import ContractError, SourceError, UsageError
from normalize.laws import LawTable

Progress = Callable[[str, int, int], None]


def no_progress(stage: str, done: int, total: int) -> None:
    """Show nothing."""


def nothing(gathered: Gathered) -> None:
    """Keep nothing of a document's chunks."""


def gather(
    manifest: Manifest,
    laws: LawTable,
    pick: Callable[[Gathered], Picked],
    progress: Progress = no_progress,
    skipped: list[Loaded] | None = None,
    processes: int | None = None,
    tokens: TokenLimit | None = None,
) -> Iterator[Condensed[Picked]]:
    """Yield each document condensed, with what `pick` keeps of it, in the order of the manifest (see `read_all`).

    A file that a glob found and that has no text in force (a repealed law) is put on `skipped`: it counts as not being
    in the manifest, so its old points stay. Raises UsageError for two documents with one id, ContractError for two
    chunks with one id, SourceError for a document named by `path` that has no text; a caller that must not write half
    of a run goes through all of it first.
    """
    documents: dict[str, str] = {}
    ids: dict[bytes, str] = {}
    total = len(manifest.documents)
    progress("reading", 0, total)
    for number, condensed in enumerate(read_all(manifest, laws, pick, processes, tokens), 1):
        loaded, points = condensed.loaded, condensed.expected.points
        document_id = loaded.document.document_id
        if document_id in documents:
            raise UsageError(
                f"{documents[document_id]} and {loaded.origin} are both document {document_id}: two versions of one "
                "document cannot be in one collection, keep one of them in the manifest or give them different ids."
            )
        documents[document_id] = loaded.origin
        if not points and condensed.expected.entry.entry.glob is None:
            raise SourceError(f"{loaded.origin} ({document_id}) has no text in force: remove it from the manifest.")
        for point in points:
            key = bytes.fromhex(str(point.id).replace("-", ""))
            if key in ids:
                raise ContractError(
                    f"Chunk id {point.id} ({point.label} of {loaded.origin}) is also that of {ids[key]}: nothing was "
                    "written, give the two documents different codes."
                )
            ids[key] = loaded.origin
        progress("reading", number, total)
        if points:
            yield condensed
        elif skipped is not None:
            skipped.append(loaded)


@dataclass(frozen=True, slots=True)
class Survey(Generic[Picked]):
    """All documents of a manifest, condensed, with the edges between them and the files without text.

    `picked` holds what was picked of each document of `expected`.
    """

    expected: list[Expected]
    picked: list[Picked]
    edges: Edges
    skipped: list[Loaded]


def survey(
    manifest: Manifest,
    laws: LawTable,
    pick: Callable[[Gathered], Picked],
    progress: Progress = no_progress,
    processes: int | None = None,
    tokens: TokenLimit | None = None,
) -> Survey[Picked]:
    """Go through all documents once; `pick` sees every document while its chunks are there (edges still empty).

    `tokens` is the limit of the embedder that the collection is for.
    Raises the errors of `gather`.
    """
    expected: list[Expected] = []
    picked: list[Picked] = []
    skipped: list[Loaded] = []
    norms: list[DocumentNorms] = []
    for condensed in gather(manifest, laws, pick, progress, skipped, processes, tokens):
        expected.append(condensed.expected)
        picked.append(condensed.picked)
        norms.append(condensed.norms)
    edges = resolve(norms, laws)
    return Survey([_with_edges(document, edges) for document in expected], picked, edges, skipped)


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
