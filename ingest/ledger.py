"""The ledger of processed chunks against the store: checked both ways, and made anew from what the store holds.

`reingest` does not write it: a row says that controls were generated from a text, which a re-ingest does not do. But a
re-ingest gives chunks new hashes and versions, so that a later generation would take all of them for new and pay for
them again; `rebuild` says of every chunk in the store that it has been dealt with (spec/reingest-contract §0, §5.6).
"""

import hashlib
import time
from collections.abc import Iterator
from typing import Any

from backends.tables.connect import Tables
from backends.tables.ledger import LedgerDifference, LedgerRow, compare_ledger, set_ledger
from backends.tables.locks import collection_lock
from backends.tables.runs import finish_run, start_run
from backends.vectors.store import VectorStore, Where, in_batches
from ingest.gather import Progress, no_progress
from ingest.prune import MAX_DELETE_RATIO
from normalize.errors import FundstelleError, GateError, StoreError

# What the older pipeline wrote for every document (spec/reingest-contract §1.4).
LEGACY_VERSION = "1.0"
_BATCH = 1000


def store_rows(store: VectorStore, collection: str, progress: Progress = no_progress) -> Iterator[LedgerRow]:
    """Yield (chunk_hash, document_version) of every point with a text; older points are hashed as they were then."""
    total, seen = store.count(collection), 0
    fields = ["chunk_hash", "document_version"]
    for batch in in_batches(store.scroll(collection, payload=fields), _BATCH):
        bare = []
        for record in batch:
            if record.payload.get("chunk_hash"):
                version = record.payload.get("document_version")
                yield str(record.payload["chunk_hash"]), str(version or LEGACY_VERSION)
            else:
                bare.append(record.id)
        for record in store.retrieve(collection, bare, payload=["chunk_text", "document_version"]):
            text, version = record.payload.get("chunk_text"), record.payload.get("document_version")
            if text:
                yield hashlib.sha256(str(text).encode()).hexdigest(), str(version or LEGACY_VERSION)
        seen += len(batch)
        progress("reading the collection", seen, total)


def check_ledger(
    store: VectorStore, tables: Tables, collection: str, progress: Progress = no_progress
) -> dict[str, Any]:
    """Return how the ledger of a collection (or an alias) and its store differ, both ways. Changes nothing.

    The ledger knows the collection by the name given here. Raises GateError if there is no such collection.
    """
    started = time.perf_counter()
    _refuse_missing(store, collection)
    found = compare_ledger(tables, collection, store_rows(store, collection, progress))
    return _report(store, collection, found) | {"seconds": {"check": round(time.perf_counter() - started, 3)}}


def rebuild_ledger(
    store: VectorStore,
    tables: Tables,
    collection: str,
    *,
    max_delete_ratio: float = MAX_DELETE_RATIO,
    dry_run: bool = False,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Make the ledger say what the store holds, read it back, and return the report; with `dry_run` only compare.

    Raises GateError (no such collection; more than the allowed share of all rows would go, as when the store is the
    wrong one), LockedError, StoreError.
    """
    if dry_run:
        return check_ledger(store, tables, collection, progress) | {"added": 0, "removed": 0, "run": None}
    with collection_lock(tables, collection):
        started = time.perf_counter()
        _refuse_missing(store, collection)
        rows = sorted(set(store_rows(store, collection, progress)))
        found = compare_ledger(tables, collection, rows)
        report = _report(store, collection, found) | {"added": 0, "removed": 0, "run": None}
        _refuse_too_many(collection, found, max_delete_ratio)
        if not found.agrees:
            run_id = start_run(tables, "ledger rebuild", collection, {"missing": found.missing, "extra": found.extra})
            try:
                added, removed = set_ledger(tables, collection, rows)
                after = compare_ledger(tables, collection, rows)
                if not after.agrees:
                    raise StoreError(
                        f"The ledger of '{collection}' was rebuilt and differs from the store again ({after.missing} "
                        f"rows missing, {after.extra} too many): something else writes to it, run again."
                    )
            except FundstelleError as error:
                finish_run(tables, run_id, "failed", {"error": str(error)})
                raise
            finish_run(tables, run_id, "done", {"added": added, "removed": removed})
            report |= {"added": added, "removed": removed, "run": run_id}
        return report | {"seconds": {"rebuild": round(time.perf_counter() - started, 3)}}


def _refuse_missing(store: VectorStore, collection: str) -> None:
    if store.describe(collection) is None:
        raise GateError(f"There is no collection '{collection}' in {store.where}: run 'fundstelle reingest' first.")


def _refuse_too_many(collection: str, found: LedgerDifference, max_delete_ratio: float) -> None:
    everything = found.ledger_rows + found.missing
    if everything and found.extra / everything > max_delete_ratio:
        raise GateError(
            f"{found.extra:,} of {everything:,} rows ({found.extra / everything:.0%}) of the ledger of '{collection}' "
            f"are not in the store, more than the allowed {max_delete_ratio:.0%}: see that this is the right store; if "
            "it is, raise --max-delete-ratio; nothing was removed."
        )


def _report(store: VectorStore, collection: str, found: LedgerDifference) -> dict[str, Any]:
    return {
        "collection": collection,
        "agrees": found.agrees,
        "store_rows": found.store_rows,
        "ledger_rows": found.ledger_rows,
        "missing": found.missing,
        "extra": found.extra,
        "extra_by_version": found.extra_by_version,
        "examples": {
            "missing": [_named(store, collection, row) for row in found.missing_examples],
            "extra": [{"chunk_hash": chunk_hash, "document_version": v} for chunk_hash, v in found.extra_examples],
        },
    }


def _named(store: VectorStore, collection: str, row: LedgerRow) -> dict[str, Any]:
    """A row of the store with the label of its chunk; points of older pipelines have none."""
    about = store.describe(collection)
    if about is None or "chunk_hash" not in about.indexes:  # not re-ingested yet, and a strict server would refuse
        return {"chunk_hash": row[0], "document_version": row[1], "article_label": None}
    where = Where(must={"chunk_hash": [row[0]], "document_version": [row[1]]})
    labels = [r.payload.get("article_label") for r in store.scroll(collection, where, payload=["article_label"])]
    return {"chunk_hash": row[0], "document_version": row[1], "article_label": next(iter(labels), None)}
