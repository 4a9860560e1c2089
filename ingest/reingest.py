"""Re-ingest a collection: plan everything, then write what is missing beside the old points. Nothing is deleted here.

Order of a run: go through all documents once and plan (any error ends the run before the first write) → prepare the
collection → write, read back, then book each document. The old points stay until `verify` and `prune`.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from backends.tables.connect import Tables
from backends.tables.locks import collection_lock
from backends.tables.runs import Run, document_states, finish_run, latest_runs, set_document_states, start_run
from backends.vectors.store import VectorStore, in_batches
from ingest.ahead import ahead
from ingest.chunker import Chunk, in_force, limit_name
from ingest.current import set_current
from ingest.documents import load
from ingest.edges import Edges
from ingest.estimate import Estimate, estimate, measured_rate, refuse_if_full
from ingest.gather import Progress, Survey, claims_on, no_progress, nothing, survey
from ingest.manifest import Manifest
from ingest.plan import DocumentPlan, plan_document
from ingest.reading import Gathered, is_large
from ingest.remembered import recall, remember, survey_key
from ingest.spool import put_aside, spool_folder, take_back
from ingest.stored import PointSketch, claim, read_points
from ingest.target import MODEL, EmbedderFor, Target, find_target, ready
from ingest.upload import BATCH, prepare, rewrite_payloads, write
from normalize.errors import FundstelleError, SourceError
from normalize.laws import LawTable

# Points from which on the graph is built once at the end, and how long that may take before the run ends without it.
BULK = 20_000
INDEX_SECONDS = 1_800.0

_TOTALS = (
    "chunks",
    "new",
    "changed",
    "unchanged",
    "obsolete",
    "to_write",
    "to_rewrite",
    "vectors_reused",
    "old_points",
)


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a run: what each document needs, the points no document claims, the files that have no text.

    `kept` are the chunks of a small manifest, by document; `spool` is where those of a large one were put aside.
    """

    target: Target
    documents: list[DocumentPlan]
    unclaimed: list[PointSketch]
    skipped: list[str]
    takes: Estimate
    seconds: float
    edges: Edges = field(repr=False)
    kept: dict[str, list[Chunk]] = field(repr=False)
    spool: Path | None = None

    @property
    def totals(self) -> dict[str, int]:
        """The sums over all documents."""
        summaries = [document.summary() for document in self.documents]
        return {name: sum(summary[name] for summary in summaries) for name in _TOTALS}

    @property
    def pending(self) -> bool:
        """Whether there is anything to write."""
        return any(document.write or document.rewrite for document in self.documents)

    def report(self) -> dict[str, Any]:
        """Return the plan as one JSON object."""
        return {
            "collection": self.target.name,
            "stored_points": len(self.unclaimed) + sum(_held(document) for document in self.documents),
            "model": self.target.embedder.model,
            "documents": [document.summary() for document in self.documents],
            "totals": self.totals,
            "unclaimed": list_unclaimed(self.unclaimed),
            "skipped": self.skipped,
            "citations": dict(self.edges.counts),
            "takes": self.takes.report(),
            "warning": self.target.warning,
            "seconds": {"plan": round(self.seconds, 3)},
        }


def _held(document: DocumentPlan) -> int:
    return len(document.old) + len(document.expected.points) - len(document.write)


def list_unclaimed(points: list[PointSketch]) -> dict[str, Any]:
    """Count the points no document claims, by the document or law they name; they are never touched."""
    by_document: dict[str, int] = {}
    for point in points:
        name = point.document_id or (point.names[0] if point.names else "unknown")
        by_document[name] = by_document.get(name, 0) + 1
    return {"points": len(points), "by_document": dict(sorted(by_document.items()))}


def make_plan(
    store: VectorStore,
    collection: str,
    manifest: Manifest,
    laws: LawTable,
    embedder_for: EmbedderFor,
    progress: Progress = no_progress,
    *,
    rewrite_all: bool = False,
    runs: Sequence[Run] = (),
    spool: Path | None = None,
    memory: Path | None = None,
) -> Plan:
    """Read all documents and the collection, and compare. Writes nothing but what it is given a place for.

    A first run puts the chunks of a large manifest aside in the folder `spool`. Where the file `memory` has what the
    same sources said before and the store holds just that, they are not read again; else they are, and remembered.

    With `rewrite_all` the payload of every chunk is to be written again, whatever the store says it is. `runs` are
    earlier re-ingests, newest first, for the estimate of the time.

    Raises the errors of `gather` (documents), GateError (another model or vector size) and StoreError.
    """
    started = time.perf_counter()
    target = find_target(store, collection, embedder_for)
    is_first = target.existing is None or MODEL not in target.existing.metadata
    if not (is_first and is_large(manifest)):
        spool = None
    before = memory_key(manifest, target) if memory is not None else ""
    known = recalled(store, target, manifest, memory, before) if not (is_first or rewrite_all) else None
    if known is not None:
        return replace(known, seconds=time.perf_counter() - started)
    found, kept = read_sources(manifest, laws, target, progress, spool)
    if memory is not None and memory_key(manifest, target) == before:  # no source changed while it was read
        remember(memory, before, found, manifest)
    claims = claims_on(store, collection, found.expected, found.skipped)
    plans = [
        plan_document(e, claims.by_document.get(e.names.document_id, []), rewrite_all=rewrite_all)
        for e in found.expected
    ]
    names = [loaded.origin for loaded in found.skipped]
    rate = measured_rate(runs, target.embedder.model)
    takes = estimate(store, plans, target.layout.dimension, is_new=target.existing is None, rate=rate)
    seconds = time.perf_counter() - started
    return Plan(target, plans, claims.unclaimed, names, takes, seconds, found.edges, kept, spool)


def memory_key(manifest: Manifest, target: Target) -> str:
    """Return what a memory of these sources for this collection is good for."""
    return survey_key(manifest, limit_name(in_force(target.embedder.token_limit)))


def recalled(store: VectorStore, target: Target, manifest: Manifest, memory: Path | None, key: str) -> Plan | None:
    """Return the plan of a run that has nothing to write, if the memory and the store say so; None if in doubt."""
    known = recall(memory, key, manifest) if memory is not None else None
    if known is None:
        return None
    owners, others = [document.names for document in known.expected], [names for names, _ in known.skipped]
    expected = {point.id: point for document in known.expected for point in document.points}
    claims = claim(read_points(store, target.name, expected), owners, others)
    plans = [plan_document(e, claims.by_document.get(e.names.document_id, [])) for e in known.expected]
    takes = estimate(store, plans, target.layout.dimension, is_new=False, rate=None)
    skipped = [origin for _, origin in known.skipped]
    plan = Plan(target, plans, claims.unclaimed, skipped, takes, 0.0, Edges({}, {}, {}, known.citations), {})
    return None if plan.pending else plan


def read_sources(
    manifest: Manifest, laws: LawTable, target: Target, progress: Progress = no_progress, spool: Path | None = None
) -> tuple[Survey[list[Chunk] | None], dict[str, list[Chunk]]]:
    """Go through all documents once; return what must be there, and by document id the chunks of a small manifest.

    Those of a large one are put aside in `spool`, if it is given.
    """
    pick: Callable[[Gathered], list[Chunk] | None] = nothing if is_large(manifest) else _all_chunks
    if spool is not None:
        pick = partial(put_aside, folder=spool)
    found = survey(manifest, laws, pick, progress, tokens=target.embedder.token_limit)
    return found, {
        document.names.document_id: chunks
        for document, chunks in zip(found.expected, found.picked, strict=True)
        if chunks is not None
    }


def _all_chunks(gathered: Gathered) -> list[Chunk]:
    return gathered.chunks


def reingest(
    store: VectorStore,
    tables: Tables,
    collection: str,
    manifest: Manifest,
    laws: LawTable,
    embedder_for: EmbedderFor,
    progress: Progress = no_progress,
    *,
    rewrite_all: bool = False,
    memory: Path | None = None,
) -> dict[str, Any]:
    """Write what the plan asks for and return the report: plan, points written, vectors computed, seconds per stage.

    `memory` is a file that remembers what the sources said (see `make_plan`).

    Raises LockedError if another run writes this collection. After any error the old points are all there, and running
    again goes on where this run ended.
    """
    with collection_lock(tables, collection) as lock, spool_folder() as spool:
        runs = latest_runs(tables, 100, command="reingest")
        plan = make_plan(
            store,
            collection,
            manifest,
            laws,
            embedder_for,
            progress,
            rewrite_all=rewrite_all,
            runs=runs,
            spool=spool,
            memory=memory,
        )
        refuse_if_full(plan.takes, store.where)
        run_id = start_run(tables, "reingest", collection, {"manifest": str(manifest.path.resolve())})
        try:
            lock.check()
            started = time.perf_counter()
            embedded = write_plan(store, plan, laws, progress) if plan.pending else 0
            indexed = plan.target.existing is None and not plan.pending
            indexed = indexed or resume_indexing(store, collection, progress)
            _mark_current(store, plan)
            book_uploaded(tables, plan, run_id)
            seconds = {"plan": round(plan.seconds, 3), "write": round(time.perf_counter() - started, 3)}
            totals = plan.totals
            result = plan.report() | {
                "run": run_id,
                "written": totals["to_write"],
                "rewritten": totals["to_rewrite"],
                "vectors_computed": embedded,
                "indexed": indexed,
                "seconds": seconds,
            }
        except FundstelleError as error:
            finish_run(tables, run_id, "failed", {"error": str(error)})
            raise
        summary = {"model": plan.target.embedder.model, "totals": totals, "vectors_computed": embedded}
        finish_run(tables, run_id, "done", summary | {"seconds": seconds})
        return result


def write_plan(store: VectorStore, plan: Plan, laws: LawTable, progress: Progress) -> int:
    """Write batch by batch over document borders; return how many vectors were computed.

    Three stages side by side: read and chunk, embed, write and read back.
    """
    ready(store, plan.target)
    if sum(len(document.write) for document in plan.documents) >= BULK:
        store.pause_indexing(plan.target.name)
    work = [document for document in plan.documents if document.write or document.rewrite]
    reuse = {new: old for document in work for new, old in document.reuse.items()}
    total = sum(len(document.write) for document in work)
    done = embedded = 0
    progress("writing", 0, total)
    batches = ahead(in_batches(_chunks_to_write(work, plan, laws), BATCH))
    for prepared in ahead(prepare(store, plan.target, batch, reuse) for batch in batches):
        write(store, plan.target.name, prepared)
        embedded += prepared.computed
        done += len(prepared.points)
        progress("writing", done, total)
    for document in work:
        if document.rewrite:
            chunks = [c for c in _chunks_of(document, plan, laws) if c.point_id in document.rewrite]
            rewrite_payloads(store, plan.target.name, chunks)
    return embedded


def resume_indexing(store: VectorStore, collection: str, progress: Progress) -> bool:
    """Have the graph built that a bulk run put off, this one or one that was killed; return whether it is complete.

    Searches find everything before that, only more slowly.
    """
    progress("indexing", 0, 1)
    done = store.resume_indexing(collection, INDEX_SECONDS)
    progress("indexing", 1, 1)
    return done


def _chunks_to_write(work: list[DocumentPlan], plan: Plan, laws: LawTable) -> Iterator[Chunk]:
    for document in work:
        if document.write:
            yield from (c for c in _chunks_of(document, plan, laws) if c.point_id in document.write)


def _chunks_of(document: DocumentPlan, plan: Plan, laws: LawTable) -> list[Chunk]:
    expected = document.expected
    kept = plan.kept.get(expected.names.document_id)
    if kept is not None:
        return [plan.edges.fill(chunk) for chunk in kept]
    if plan.spool is not None:
        return [plan.edges.fill(chunk) for chunk in take_back(plan.spool, expected.names.document_id)]
    loaded = load(expected.entry, laws, plan.target.embedder.token_limit)
    if loaded.document.document_version != expected.version:
        raise SourceError(f"{expected.origin} changed while the run was under way: run again.")
    return [plan.edges.fill(chunk) for chunk in loaded.chunks()]


def _mark_current(store: VectorStore, plan: Plan) -> None:
    names = {document.expected.names.document_id: document for document in plan.documents}
    both = {name: document.expected.version for name, document in names.items() if document.old}
    set_current(store, plan.target.name, both, names.keys() - both.keys())


def book_uploaded(tables: Tables, plan: Plan, run_id: int) -> None:
    """Book every document of the run as uploaded, unless its version already is (effect first, state second)."""
    known = document_states(tables, plan.target.name)
    states = {}
    for document in plan.documents:
        expected = document.expected
        before = known.get(expected.names.document_id)
        if before is None or before.document_version != expected.version or document.write or document.rewrite:
            states[expected.names.document_id] = (expected.version, "uploaded", len(expected.points))
    set_document_states(tables, plan.target.name, run_id, states)
