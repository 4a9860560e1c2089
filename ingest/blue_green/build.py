"""Re-ingest behind an alias: build a new collection beside the one that is served, verify it, switch the alias to it.

Order of a run: plan against the served collection → fill a draft (vectors of unchanged text copied, points that no
document claims carried over) → verify the draft, receipt → switch the alias in one step → mark the draft as served.
Killed between any two of these, a run that is started again goes on with the same draft. The served collection is only
read; it stays for `rollback` until `prune`.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from backends.tables.connect import Tables
from backends.tables.locks import collection_lock
from backends.tables.runs import finish_run, start_run
from backends.vectors.store import Layout, Point, Record, VectorStore, in_batches
from ingest.blue_green.generations import DRAFT, SERVED, drop, generation, switch, written
from ingest.blue_green.plan import BesidePlan, plan_beside, runs_behind
from ingest.certain import until_certain
from ingest.checks import EXAMPLES, Check
from ingest.estimate import refuse_if_full
from ingest.gather import Progress, no_progress
from ingest.manifest import Manifest
from ingest.reingest import resume_indexing, write_plan
from ingest.stored import PointSketch, read_points
from ingest.target import EmbedderFor, Target
from ingest.verify import verify
from normalize.errors import FundstelleError
from normalize.laws import LawTable

_BATCH = 500


def reingest_beside(
    store: VectorStore,
    tables: Tables,
    alias: str,
    manifest: Manifest,
    laws: LawTable,
    embedder_for: EmbedderFor,
    progress: Progress = no_progress,
    *,
    rebuild: bool = False,
) -> dict[str, Any]:
    """Build, verify, switch, and return the report; `verified` false means that the alias was not switched.

    Raises the errors of `plan_beside`, LockedError if another run works on this alias, StoreError. After any error the
    alias stands for what it stood for, and running again goes on where this run ended.
    """
    with collection_lock(tables, alias) as lock:
        runs = runs_behind(tables, alias)
        beside = plan_beside(store, alias, manifest, laws, embedder_for, progress, rebuild=rebuild, runs=runs)
        live = generation(store, beside.live)
        if live is not None and live.state == DRAFT:  # what a kill right after the switch leaves
            store.set_metadata(live.name, live.metadata(SERVED))
        if not beside.pending:
            return _report(beside, None, 0, {"plan": round(beside.plan.seconds, 3)}) | {"verified": None}
        refuse_if_full(beside.plan.takes, store.where)
        details = {"manifest": str(manifest.path.resolve()), "strategy": "alias", "builds": beside.plan.target.name}
        run_id = start_run(tables, "reingest", alias, details)
        try:
            lock.check()
            started = time.perf_counter()
            embedded = _build(store, beside, laws, progress)
            built = time.perf_counter()
            draft = beside.plan.target.name
            verdict = verify(store, tables, draft, manifest, laws, progress=progress, embedder_for=embedder_for)
            carried = _check_carried(store, beside)
            verified = bool(verdict["ok"]) and not carried.failed
            if verified:
                lock.check()
                switch(store, alias, draft)
                store.set_metadata(draft, written(alias, beside.live, SERVED))
        except FundstelleError as error:
            finish_run(tables, run_id, "failed", {"error": str(error)})
            raise
        seconds = {
            "plan": round(beside.plan.seconds, 3),
            "write": round(built - started, 3),
            "verify": round(time.perf_counter() - built, 3),
        }
        summary = {"model": beside.plan.target.embedder.model, "totals": beside.plan.totals, "seconds": seconds}
        finish_run(tables, run_id, "done" if verified else "refused", summary | {"vectors_computed": embedded})
        checks = {"verified": verified, "receipt": verdict["receipt"], "checks": [*verdict["checks"], asdict(carried)]}
        return _report(beside, run_id, embedded, seconds) | checks


def _report(beside: BesidePlan, run_id: int | None, embedded: int, seconds: dict[str, float]) -> dict[str, Any]:
    totals = beside.plan.totals
    return beside.report() | {
        "run": run_id,
        "written": totals["to_write"],
        "rewritten": totals["to_rewrite"],
        "vectors_computed": embedded,
        "seconds": seconds,
    }


def _build(store: VectorStore, beside: BesidePlan, laws: LawTable, progress: Progress) -> int:
    """Fill the draft; return how many vectors were computed."""
    if beside.unusable is not None:
        drop(store, beside.unusable)  # it was never served, and all of it can be made again
    target = beside.plan.target
    if beside.stale:
        _remove(store, target.name, beside.stale)
    embedded = write_plan(store, beside.plan, laws, progress)
    if target.reuse_from is not None:
        _carry(store, target.reuse_from, target, beside.plan.unclaimed, progress)
    resume_indexing(store, target.name, progress)
    return embedded


def _remove(store: VectorStore, draft: str, stale: Sequence[PointSketch]) -> None:
    """Delete from a draft what an earlier run put there and the sources no longer say; it was never served."""
    for ids in in_batches([point.id for point in stale], _BATCH):
        until_certain(
            ids,
            lambda left: store.delete(draft, left),
            lambda left: [record.id for record in store.retrieve(draft, left, payload=False)],
            f"deleted from the draft '{draft}'",
        )


def _carry(store: VectorStore, live: str, target: Target, unclaimed: Sequence[PointSketch], progress: Progress) -> None:
    """Copy the points that no document claims, whole: they are not ours to lose."""
    done = 0
    for ids in in_batches([point.id for point in unclaimed], _BATCH):
        points = [_copied(r, target.layout) for r in store.retrieve(live, ids, payload=True, vectors=True)]

        def missing(sent: Sequence[Point]) -> Sequence[Point]:
            records = store.retrieve(target.name, [point.id for point in sent], payload=True)
            held = {record.id: record.payload for record in records}
            return [point for point in sent if held.get(point.id) != point.payload]

        until_certain(
            points, lambda sent: store.upsert(target.name, sent), missing, f"carried over into '{target.name}'"
        )
        done += len(ids)
        progress("carrying over", done, len(unclaimed))


def _copied(record: Record, layout: Layout) -> Point:
    return Point(record.id, record.dense, record.sparse if layout.sparse is not None else None, record.payload)


def _check_carried(store: VectorStore, beside: BesidePlan) -> Check:
    """Every point that no document claims is in the draft as it was planned."""
    wanted = {point.id: point for point in beside.plan.unclaimed}
    held = {}
    if wanted:
        held = {point.id: point.digest for point in read_points(store, beside.plan.target.name) if point.id in wanted}
    lost = [point.name for point_id, point in wanted.items() if held.get(point_id) != point.digest]
    return Check("points of no document are carried over", len(wanted), len(lost), lost[:EXAMPLES])
