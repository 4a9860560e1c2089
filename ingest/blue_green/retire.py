"""Prune behind an alias: back up and remove the collections that are served no more.

The gates are those of `prune`: a receipt of the served collection that still matches sources and store, the brake on
deleting too much, a backup (vectors included) that has been read back. Besides, every point of a collection that no
document of the manifest claims must be in the served one too.
"""

import time
from pathlib import Path
from typing import Any

from backends.tables.connect import Tables
from backends.tables.locks import collection_lock
from backends.tables.runs import document_states, finish_run, forget_documents, start_run
from backends.vectors.store import Collection, VectorStore
from ingest.backup import write_backup
from ingest.blue_green.described import write_description
from ingest.blue_green.generations import drop, generations, is_restoring
from ingest.checks import Evidence
from ingest.gather import Progress, claims_on, no_progress
from ingest.manifest import Manifest
from ingest.prune import MAX_DELETE_RATIO, checked_evidence, refuse_others, refuse_too_many, shown
from ingest.reingest import list_unclaimed
from ingest.rollback import find_backup
from ingest.target import EmbedderFor
from normalize.errors import FundstelleError, GateError, StoreError
from normalize.laws import LawTable


def prune_alias(
    store: VectorStore,
    tables: Tables,
    alias: str,
    manifest: Manifest,
    laws: LawTable,
    backups: Path,
    *,
    max_delete_ratio: float = MAX_DELETE_RATIO,
    dry_run: bool = False,
    progress: Progress = no_progress,
    embedder_for: EmbedderFor | None = None,
) -> dict[str, Any]:
    """Remove the collections that the alias stood for before and return the report; `dry_run` only says which.

    Raises GateError (no receipt, receipt out of date, too much to delete, points that are nowhere else), LockedError,
    StoreError.
    """
    if dry_run:
        live, evidence, old = _to_remove(store, tables, alias, manifest, laws, max_delete_ratio, progress, embedder_for)
        return _report(alias, live, evidence, old, {}, None, {})
    with collection_lock(tables, alias) as lock:
        started = time.perf_counter()
        live, evidence, old = _to_remove(store, tables, alias, manifest, laws, max_delete_ratio, progress, embedder_for)
        checked = time.perf_counter()
        if not old:
            return _report(alias, live, evidence, old, {}, None, {"check": round(checked - started, 3)})
        names = [about.name for about in old]
        run_id = start_run(tables, "prune", alias, {"manifest": str(manifest.path.resolve()), "collections": names})
        saved: dict[str, Path] = {}
        try:
            for about in old:
                backup = backups / about.name / f"run-{run_id:06d}.jsonl.zst"
                if is_restoring(about):  # half of what its backup holds: that one stays the backup
                    backup = find_backup(backup.parent)
                else:
                    _back_up(store, about, backup, progress)
                lock.check()
                drop(store, about.name)
                saved[about.name] = backup
                forget_documents(tables, about.name, list(document_states(tables, about.name)))
        except FundstelleError as error:
            finish_run(tables, run_id, "failed", {"error": str(error), "removed": list(saved)})
            raise
        seconds = {"check": round(checked - started, 3), "delete": round(time.perf_counter() - checked, 3)}
        paths = {name: str(path) for name, path in saved.items()}
        deleted = sum(about.points for about in old)
        finish_run(tables, run_id, "done", {"deleted": deleted, "backups": paths, "seconds": seconds})
        return _report(alias, live, evidence, old, saved, run_id, seconds)


def _back_up(store: VectorStore, about: Collection, backup: Path, progress: Progress) -> None:
    write_description(backup, about)
    records = shown(store.scroll(about.name, payload=True, vectors=True), about.points, progress)
    if (count := write_backup(backup, records)) != store.count(about.name):
        raise StoreError(
            f"The backup of '{about.name}' has {count} points and the collection another number: nothing "
            "of it was deleted, see that nothing writes to it and run again."
        )


def _to_remove(
    store: VectorStore,
    tables: Tables,
    alias: str,
    manifest: Manifest,
    laws: LawTable,
    max_delete_ratio: float,
    progress: Progress,
    embedder_for: EmbedderFor | None,
) -> tuple[str, Evidence, list[Collection]]:
    """Return the served collection with its evidence, and the collections that may go; refuse if any may not."""
    live = store.aliases()[alias]
    evidence = checked_evidence(store, tables, live, manifest, laws, progress, embedder_for, called=alias)
    old = _before(store, alias, live)
    aliases = store.aliases()
    kept = {str(point.id) for point in evidence.claims.unclaimed}
    for about in old:
        others = sorted(name for name, collection in aliases.items() if collection == about.name)
        if others:
            raise GateError(f"'{about.name}' is also served as '{others[0]}': nothing was deleted, move that alias.")
        refuse_others(about)
        nowhere = [
            point
            for point in claims_on(store, about.name, evidence.expected, evidence.skipped).unclaimed
            if str(point.id) not in kept
        ]
        if nowhere:
            raise GateError(
                f"{len(nowhere)} points of '{about.name}' belong to no document of the manifest and are "
                f"not in '{live}' (first: {nowhere[0].name}): nothing was deleted, move them out or claim them."
            )
    points = sum(about.points for about in old)
    held = sum(len(found) for found in evidence.claims.by_document.values()) + len(evidence.claims.unclaimed)
    refuse_too_many(points, points + held, max_delete_ratio)
    return live, evidence, old


def _before(store: VectorStore, alias: str, live: str) -> list[Collection]:
    """Return what the alias stood for before, and drafts left by killed runs, oldest first.

    The receipt says that the served collection is what the sources say, so a draft is of no more use.
    """
    found = generations(store, alias)
    names = [*(one.previous for one in found if one.previous is not None), *(one.name for one in found)]
    described = [store.describe(name) for name in dict.fromkeys(names) if name != live]
    return [about for about in described if about is not None]


def _report(
    alias: str,
    live: str,
    evidence: Evidence,
    old: list[Collection],
    saved: dict[str, Path],
    run_id: int | None,
    seconds: dict[str, float],
) -> dict[str, Any]:
    points = {about.name: about.points for about in old}
    return {
        "collection": alias,
        "strategy": "alias",
        "served": live,
        "run": run_id,
        "deleted": sum(points[name] for name in saved),
        "to_delete": sum(count for name, count in points.items() if name not in saved),
        "kept": sum(len(found) for found in evidence.current.values()),
        "collections": points,
        "documents": {},
        "unclaimed": list_unclaimed(evidence.claims.unclaimed),
        "backup": ", ".join(str(path) for path in saved.values()) or None,
        "seconds": seconds,
    }
