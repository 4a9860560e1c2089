"""Roll back behind an alias: switch it to the collection it stood for before, put back from its backup if need be."""

import time
from pathlib import Path
from typing import Any

from backends.tables.connect import Tables
from backends.tables.locks import collection_lock
from backends.tables.runs import finish_run, start_run
from backends.vectors.store import GENERATION, Collection, VectorStore
from ingest.blue_green.described import read_description
from ingest.blue_green.generations import RESTORING, SERVED, Generation, generation, is_restoring, switch, written
from ingest.gather import Progress, no_progress
from ingest.rollback import find_backup, put_back
from ingest.target import INDEXES
from normalize.errors import FundstelleError, StoreError, UsageError


def switch_back(
    store: VectorStore,
    tables: Tables,
    alias: str,
    backups: Path,
    *,
    dry_run: bool = False,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Switch the alias to the collection before the one it stands for, and return the report. Deletes nothing.

    Raises UsageError (there was none before, or neither it nor a backup of it is there), LockedError, StoreError.
    """
    if dry_run:
        live, previous = _places(store, alias)
        backup = None if _is_whole(store, previous) else find_backup(backups / previous)
        return _report(alias, live.name, previous, backup, 0, None, {})
    with collection_lock(tables, alias) as lock:
        started = time.perf_counter()
        live, previous = _places(store, alias)
        backup = None if _is_whole(store, previous) else find_backup(backups / previous)
        run_id = start_run(tables, "rollback", alias, {"from": live.name, "to": previous})
        try:
            restored = _restore(store, alias, previous, backup, progress) if backup is not None else 0
            lock.check()
            if live.state != SERVED:  # it was: a kill came between the switch and this mark
                store.set_metadata(live.name, live.metadata(SERVED))
            switch(store, alias, previous)
        except FundstelleError as error:
            finish_run(tables, run_id, "failed", {"error": str(error)})
            raise
        seconds = {"restore": round(time.perf_counter() - started, 3)}
        finish_run(tables, run_id, "done", {"restored": restored, "seconds": seconds})
        return _report(alias, live.name, previous, backup, restored, run_id, seconds)


def _places(store: VectorStore, alias: str) -> tuple[Generation, str]:
    live = generation(store, store.aliases().get(alias))
    if live is None or live.previous is None:
        raise UsageError(
            f"'{alias}' stands for nothing that was built beside another collection: nothing to go back to."
        )
    return live, live.previous


def _is_whole(store: VectorStore, name: str) -> bool:
    """Whether the collection is there, and not half put back."""
    about = store.describe(name)
    return about is not None and not is_restoring(about)


def _restore(store: VectorStore, alias: str, name: str, backup: Path, progress: Progress) -> int:
    """Make the collection anew from its backup; it counts as whole only when every point is there again."""
    was = read_description(backup)
    if store.describe(name) is None:
        _create(store, alias, name, was)
    done, _ = put_back(store, name, was.layout.dimension, backup, was.points, progress)
    if (count := store.count(name)) != was.points:
        raise StoreError(f"'{name}' had {was.points} points and has {count} now: '{alias}' was not switched to it.")
    previous = (was.metadata.get(GENERATION) or {}).get("previous")
    store.set_metadata(name, written(alias, previous, SERVED))
    return done


def _create(store: VectorStore, alias: str, name: str, was: Collection) -> None:
    previous = (was.metadata.get(GENERATION) or {}).get("previous")
    indexes = {key: kind for key, kind in INDEXES.items() if key in was.indexes}
    store.create(name, was.layout, indexes, dict(was.metadata) | written(alias, previous, RESTORING))


def _report(
    alias: str,
    live: str,
    previous: str,
    backup: Path | None,
    restored: int,
    run_id: int | None,
    seconds: dict[str, float],
) -> dict[str, Any]:
    return {
        "collection": alias,
        "strategy": "alias",
        "run": run_id,
        "from": live,
        "to": previous,
        "backup": str(backup) if backup is not None else None,
        "restored": restored,
        "seconds": seconds,
    }
