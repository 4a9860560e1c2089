"""Prune: delete the old points of re-ingested documents, by id, after a backup, and only with a valid receipt.

The receipt must still match sources and store right before the delete: a new source, a lost chunk or a point written
since `verify` all refuse. Points of documents that are not in the manifest are never touched (DESIGN §6).
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from backends.tables.connect import Tables
from backends.tables.locks import collection_lock
from backends.tables.runs import document_states, finish_run, latest_receipt, set_document_states, start_run
from backends.vectors.store import Collection, PointId, Record, VectorStore, in_batches
from ingest.backup import write_backup
from ingest.certain import until_certain
from ingest.checks import Evidence, check_present, check_same, check_texts, gather_evidence
from ingest.current import set_current
from ingest.deleted import backup_of, with_deleted
from ingest.gather import Progress, no_progress, nothing, survey
from ingest.manifest import Manifest
from ingest.receipt import receipt_documents
from ingest.reingest import list_unclaimed
from ingest.stored import PointSketch
from ingest.target import EmbedderFor, held_limit
from normalize.errors import FundstelleError, GateError, StoreError
from normalize.laws import LawTable

MAX_DELETE_RATIO = 0.75
_BATCH = 1000


def prune(
    store: VectorStore,
    tables: Tables,
    collection: str,
    manifest: Manifest,
    laws: LawTable,
    backups: Path,
    *,
    max_delete_ratio: float = MAX_DELETE_RATIO,
    dry_run: bool = False,
    progress: Progress = no_progress,
    embedder_for: EmbedderFor | None = None,
) -> dict[str, Any]:
    """Delete the old points and return the report; with `dry_run` only say what would be deleted.

    `embedder_for` is asked only for a collection that was chunked under the token limit of its embedder.
    Raises GateError (no receipt, receipt out of date, too much to delete), LockedError, StoreError.
    """
    if dry_run:
        evidence = _evidence_to_delete(
            store, tables, collection, manifest, laws, backups, max_delete_ratio, progress, embedder_for
        )
        return _report(collection, evidence, deleted=0, backup=None, run_id=None, seconds={})
    with collection_lock(tables, collection) as lock:
        started = time.perf_counter()
        evidence = _evidence_to_delete(
            store, tables, collection, manifest, laws, backups, max_delete_ratio, progress, embedder_for
        )
        old = [point for points in evidence.old.values() for point in points]
        checked = time.perf_counter()
        if not old:
            set_current(store, collection, {}, evidence.current)
            _book(tables, collection, evidence, None)
            return _report(
                collection,
                evidence,
                deleted=0,
                backup=None,
                run_id=None,
                seconds={"check": round(checked - started, 3)},
            )
        receipt = latest_receipt(tables, collection) or {}
        details = {"manifest": str(manifest.path.resolve()), "points": len(old), "receipt": receipt.get("digest")}
        run_id = start_run(tables, "prune", collection, details)
        try:
            backup = backup_of(backups, collection, run_id)
            _back_up(store, collection, old, backup, progress)
            saved = time.perf_counter()
            lock.check()
            _delete(store, collection, old, progress)
            _confirm(store, collection, evidence, old)
            set_current(store, collection, {}, evidence.current)
        except FundstelleError as error:
            finish_run(tables, run_id, "failed", {"error": str(error)})
            raise
        seconds = {
            "check": round(checked - started, 3),
            "backup": round(saved - checked, 3),
            "delete": round(time.perf_counter() - saved, 3),
        }
        _book(tables, collection, evidence, run_id)
        finish_run(tables, run_id, "done", {"deleted": len(old), "backup": str(backup), "seconds": seconds})
        return _report(collection, evidence, deleted=len(old), backup=backup, run_id=run_id, seconds=seconds)


def _evidence_to_delete(
    store: VectorStore,
    tables: Tables,
    collection: str,
    manifest: Manifest,
    laws: LawTable,
    backups: Path,
    max_delete_ratio: float,
    progress: Progress,
    embedder_for: EmbedderFor | None,
) -> Evidence:
    """Return the evidence, checked against the receipt, if what is old may be deleted."""
    evidence = checked_evidence(store, tables, collection, manifest, laws, progress, embedder_for, backups=backups)
    about = store.describe(collection)
    if about is not None:
        refuse_others(about)
    old = sum(len(points) for points in evidence.old.values())
    total = old + len(evidence.claims.unclaimed) + sum(len(points) for points in evidence.current.values())
    refuse_too_many(old, total, max_delete_ratio)
    return evidence


def refuse_others(about: Collection) -> None:
    """Raise GateError for a collection with vectors that a backup would not hold."""
    if about.others:
        raise GateError(
            f"Collection '{about.name}' has further vectors ({', '.join(about.others)}) that a backup would not hold: "
            "nothing was deleted, move the old points out by hand."
        )


def refuse_too_many(old: int, total: int, max_delete_ratio: float) -> None:
    """Raise GateError if deleting `old` of `total` points is more than the allowed share."""
    if total and old / total > max_delete_ratio:
        raise GateError(
            f"{old} of {total} points ({old / total:.0%}) would be deleted, more than the allowed "
            f"{max_delete_ratio:.0%}: if that is right, raise --max-delete-ratio; nothing was deleted."
        )


def checked_evidence(
    store: VectorStore,
    tables: Tables,
    collection: str,
    manifest: Manifest,
    laws: LawTable,
    progress: Progress = no_progress,
    embedder_for: EmbedderFor | None = None,
    *,
    called: str | None = None,
    backups: Path | None = None,
) -> Evidence:
    """Compute everything anew and hold it against the receipt; raises GateError where they differ.

    `called` is the name that operators know the collection by, where it is another (its alias). Old points that a prune
    under this receipt has deleted already are accounted for if they are in its backup in `backups`.
    """
    verify_it = f"run 'fundstelle verify --collection {called or collection}'"
    receipt = latest_receipt(tables, collection)
    if receipt is None:
        raise GateError(f"Collection '{collection}' has no receipt: {verify_it} first; nothing was deleted.")
    about = store.describe(collection)
    tokens = held_limit(about, collection, embedder_for) if about is not None else None
    found = survey(manifest, laws, nothing, progress, tokens=tokens)
    evidence = gather_evidence(store, collection, found.expected, found.skipped)
    again = f"{verify_it} again; nothing was deleted."
    for check in (check_present(evidence), check_same(evidence), check_texts(store, collection, evidence, progress)):
        if check.failed:
            raise GateError(f"{check.failed} chunks fail '{check.name}' (first: {check.examples[0]}): {again}")
    now, then = receipt_documents(evidence), receipt["documents"]
    if now != then and backups is not None:
        now = receipt_documents(with_deleted(tables, collection, receipt, evidence, backups))
    if now != then:
        changed = sorted(k for k, v in now.items() if then.get(k) != v)
        changed += sorted(set(then) - set(now))
        raise GateError(f"Sources or store have changed since the receipt (first: {changed[0]}): {again}")
    return evidence


def _back_up(store: VectorStore, collection: str, old: Sequence[PointSketch], path: Path, progress: Progress) -> None:
    def records() -> Iterator[Record]:
        for ids in in_batches((point.id for point in old), _BATCH):
            yield from store.retrieve(collection, ids, payload=True, vectors=True)

    saved = write_backup(path, shown(records(), len(old), progress))
    if saved != len(old):
        raise StoreError(f"Only {saved} of {len(old)} old points could be read for the backup: nothing was deleted.")


def shown(records: Iterable[Record], total: int, progress: Progress) -> Iterator[Record]:
    """Yield the records and show how far it is."""
    for seen, record in enumerate(records, 1):
        yield record
        if seen % _BATCH == 0 or seen == total:
            progress("backing up", seen, total)


def _delete(store: VectorStore, collection: str, old: Sequence[PointSketch], progress: Progress) -> None:
    def still_there(ids: Sequence[PointId]) -> Sequence[PointId]:
        return [record.id for record in store.retrieve(collection, ids, payload=False)]

    done = 0
    for ids in in_batches((point.id for point in old), _BATCH):
        until_certain(ids, lambda left: store.delete(collection, left), still_there, f"deleted from '{collection}'")
        done += len(ids)
        progress("deleting", done, len(old))


def _confirm(store: VectorStore, collection: str, evidence: Evidence, old: Sequence[PointSketch]) -> None:
    """Read back: the old points are gone and every expected one is still there."""
    left = _held(store, collection, [point.id for point in old])
    wanted = [point.id for points in evidence.current.values() for point in points]
    there = _held(store, collection, wanted)
    if left or there != len(wanted):
        raise StoreError(
            f"After deleting, {left} old points are still there and {len(wanted) - there} new ones are missing in "
            f"collection '{collection}': the backup holds the old ones, run 'fundstelle verify'."
        )


def _held(store: VectorStore, collection: str, ids: Sequence[PointId]) -> int:
    return sum(len(store.retrieve(collection, batch, payload=False)) for batch in in_batches(ids, _BATCH))


def _book(tables: Tables, collection: str, evidence: Evidence, run_id: int | None) -> None:
    known = document_states(tables, collection)
    states = {}
    for document in evidence.expected:
        before = known.get(document.names.document_id)
        if before is None or before.state != "pruned" or before.document_version != document.version:
            states[document.names.document_id] = (document.version, "pruned", len(document.points))
    if states:
        booking = run_id or start_run(tables, "prune", collection, {"points": 0})
        set_document_states(tables, collection, booking, states)
        if run_id is None:
            finish_run(tables, booking, "done", {"deleted": 0})


def _report(
    collection: str,
    evidence: Evidence,
    *,
    deleted: int,
    backup: Path | None,
    run_id: int | None,
    seconds: dict[str, float],
) -> dict[str, Any]:
    return {
        "collection": collection,
        "run": run_id,
        "deleted": deleted,
        "to_delete": sum(len(points) for points in evidence.old.values()) - deleted,
        "kept": sum(len(points) for points in evidence.current.values()),
        "documents": {
            document.names.document_id: len(evidence.old[document.names.document_id])
            for document in evidence.expected
            if evidence.old[document.names.document_id]
        },
        "unclaimed": list_unclaimed(evidence.claims.unclaimed),
        "backup": str(backup) if backup else None,
        "seconds": seconds,
    }
