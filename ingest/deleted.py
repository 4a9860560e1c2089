"""What earlier prunes under the same receipt have deleted: a killed prune goes on, a finished one has nothing to do.

The receipt proves which old points there were. Those that are gone by now are accounted for if a prune that began under
this receipt has them in its backup; whatever else is gone has been lost, and the receipt no longer holds.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from backends.tables.connect import Tables
from backends.tables.runs import latest_runs
from ingest.backup import read_backup
from ingest.checks import Evidence
from ingest.stored import PointSketch, claim, sketch

_RUNS = 100


def backup_of(backups: Path, collection: str, run_id: int) -> Path:
    """Return where the backup of a prune lies."""
    return backups / collection / f"run-{run_id:06d}.jsonl.zst"


def with_deleted(
    tables: Tables, collection: str, receipt: dict[str, Any], evidence: Evidence, backups: Path
) -> Evidence:
    """Return the evidence as it was before any prune under `receipt` deleted a point.

    Raises SourceError if one of their backups is damaged.
    """
    points = [*evidence.claims.unclaimed, *(p for found in evidence.claims.by_document.values() for p in found)]
    there = {str(point.id) for point in points}
    gone = {str(p.id): p for p in _backed_up(tables, collection, receipt, backups) if str(p.id) not in there}
    if not gone:
        return evidence
    owners = [document.names for document in evidence.expected]
    claims = claim([*points, *gone.values()], owners, [loaded.names for loaded in evidence.skipped])
    old = {
        document.names.document_id: [
            point
            for point in claims.by_document.get(document.names.document_id, [])
            if str(point.id) not in {str(wanted.id) for wanted in document.points}
        ]
        for document in evidence.expected
    }
    return replace(evidence, claims=claims, old=old)


def _backed_up(tables: Tables, collection: str, receipt: dict[str, Any], backups: Path) -> Iterator[PointSketch]:
    for run in latest_runs(tables, _RUNS, command="prune", collection=collection):
        path = backup_of(backups, collection, run.run_id)
        if run.details.get("receipt") == receipt["digest"] and path.exists():
            for record in read_backup(path):
                yield sketch(record)
