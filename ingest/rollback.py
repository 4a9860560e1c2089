"""Roll back a prune: put the backed-up points back, vectors included, and check them. Deletes nothing."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from backends.tables.connect import Tables
from backends.tables.locks import collection_lock
from backends.tables.runs import document_states, finish_run, set_document_states, start_run
from backends.vectors.store import Point, Record, VectorStore, in_batches
from ingest.backup import read_backup
from ingest.certain import until_certain
from ingest.gather import Progress, no_progress
from normalize.errors import FundstelleError, GateError, UsageError

_BATCH = 500


def rollback(
    store: VectorStore,
    tables: Tables,
    collection: str,
    backups: Path,
    *,
    run: int | None = None,
    dry_run: bool = False,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Put back what prune run `run` (default: the last one) deleted and return the report.

    Raises UsageError (no such backup), GateError (the collection cannot take the vectors), LockedError, StoreError.
    """
    backup = find_backup(backups / collection, run)
    total = sum(1 for _ in read_backup(backup))
    report = {"collection": collection, "backup": str(backup), "points": total, "restored": 0, "kept": 0, "seconds": {}}
    about = store.describe(collection)
    if about is None:
        raise GateError(f"There is no collection '{collection}' in {store.where} to put the backup back into.")
    if dry_run:
        return report
    with collection_lock(tables, collection):
        started = time.perf_counter()
        run_id = start_run(tables, "rollback", collection, {"backup": str(backup), "points": total})
        try:
            done, restored = put_back(store, collection, about.layout.dimension, backup, total, progress)
        except FundstelleError as error:
            finish_run(tables, run_id, "failed", {"error": str(error)})
            raise
        _book(tables, collection, run_id, restored)
        seconds = {"restore": round(time.perf_counter() - started, 3)}
        finish_run(tables, run_id, "done", {"restored": done, "seconds": seconds})
        return report | {"restored": done, "kept": total - done, "seconds": seconds, "run": run_id}


def put_back(
    store: VectorStore, collection: str, dimension: int, backup: Path, total: int, progress: Progress
) -> tuple[int, set[str]]:
    """Put back the points of a backup that are not there; return how many, and all documents of the backup."""
    done = seen = 0
    documents: set[str] = set()
    for batch in in_batches(read_backup(backup), _BATCH):
        absent = _absent(store, collection, batch)
        _put_back(store, collection, [_point(record, dimension, backup) for record in absent])
        documents.update(str(record.payload.get("document_id")) for record in batch)
        seen += len(batch)
        done += len(absent)
        progress("restoring", seen, total)
    return done, documents


def _book(tables: Tables, collection: str, run_id: int, restored: set[str]) -> None:
    """Book the documents whose points came back; older points name none, then every document is meant."""
    known = document_states(tables, collection)
    named = restored & set(known) or set(known)
    states = {name: (known[name].document_version, "rolled_back", known[name].chunks) for name in sorted(named)}
    set_document_states(tables, collection, run_id, states)


def _absent(store: VectorStore, collection: str, batch: Sequence[Record]) -> list[Record]:
    """Return the records whose points are not there.

    A point that is there is current again (the same version was re-ingested since) or was put back before a crash; its
    payload is newer than the backup's and is never overwritten.
    """
    held = {str(record.id) for record in store.retrieve(collection, [r.id for r in batch], payload=False)}
    return [record for record in batch if str(record.id) not in held]


def _put_back(store: VectorStore, collection: str, points: Sequence[Point]) -> None:
    def missing(sent: Sequence[Point]) -> Sequence[Point]:
        held = {str(record.id) for record in store.retrieve(collection, [point.id for point in sent], payload=False)}
        return [point for point in sent if str(point.id) not in held]

    until_certain(points, lambda sent: store.upsert(collection, sent), missing, f"back in collection '{collection}'")


def find_backup(folder: Path, run: int | None = None) -> Path:
    """Return the backup of a prune run, or the last one; raises UsageError if there is none."""
    found = sorted(folder.glob("run-*.jsonl.zst"))
    if run is not None:
        found = [path for path in found if path.name == f"run-{run:06d}.jsonl.zst"]
    if not found:
        which = "any prune" if run is None else f"prune run {run}"
        raise UsageError(f"There is no backup of {which} in {folder}: nothing to roll back.")
    return found[-1]


def _point(record: Record, dimension: int, backup: Path) -> Point:
    if record.dense is not None and record.dense.shape != (dimension,):
        raise GateError(f"Backup {backup} has vectors of another size than the collection ({dimension}): use its own.")
    return Point(record.id, record.dense, record.sparse, record.payload)
