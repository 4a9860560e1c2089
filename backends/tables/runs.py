"""The books of the runs: what ran, how far each document is, and the receipts that verify writes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from backends.tables.connect import Tables
from backends.tables.schema import documents, receipts, runs

RUNNING = "running"


@dataclass(frozen=True, slots=True)
class DocumentState:
    """How far a document of a collection is: its version, the state of DESIGN §6, its chunks, the run that set it."""

    document_version: str
    state: str
    chunks: int
    run_id: int


@dataclass(frozen=True, slots=True)
class Run:
    """One run as the books have it; a run that was killed stays `running` and has no end."""

    run_id: int
    command: str
    collection: str | None
    status: str
    started_at: datetime
    finished_at: datetime | None
    details: dict[str, Any]
    summary: dict[str, Any] | None


def start_run(tables: Tables, command: str, collection: str | None, details: Mapping[str, Any]) -> int:
    """Open a run and return its number; numbers only grow."""
    with tables.begin() as connection:
        return int(
            connection.execute(
                sa.insert(runs)
                .values(command=command, collection=collection, status=RUNNING, details=dict(details))
                .returning(runs.c.run_id)
            ).scalar_one()
        )


def finish_run(tables: Tables, run_id: int, status: str, summary: Mapping[str, Any]) -> None:
    """Close a run with its status (`done`, `failed`, `refused`, …) and what it counted."""
    with tables.begin() as connection:
        connection.execute(
            sa.update(runs)
            .where(runs.c.run_id == run_id)
            .values(status=status, summary=dict(summary), finished_at=sa.func.now())
        )


def latest_runs(
    tables: Tables, limit: int = 10, *, command: str | None = None, collection: str | None = None
) -> list[Run]:
    """Return the last runs (of a command, on a collection), newest first."""
    query = sa.select(
        runs.c.run_id,
        runs.c.command,
        runs.c.collection,
        runs.c.status,
        runs.c.started_at,
        runs.c.finished_at,
        runs.c.details,
        runs.c.summary,
    )
    if command is not None:
        query = query.where(runs.c.command == command)
    if collection is not None:
        query = query.where(runs.c.collection == collection)
    with tables.begin() as connection:
        return [Run(*row) for row in connection.execute(query.order_by(runs.c.run_id.desc()).limit(limit))]


def set_document_states(
    tables: Tables, collection: str, run_id: int, states: Mapping[str, tuple[str, str, int]]
) -> None:
    """Set (document_version, state, chunks) for each document id of a collection, all in one transaction."""
    rows = [
        {
            "collection": collection,
            "document_id": document_id,
            "document_version": version,
            "state": state,
            "chunks": chunks,
            "run_id": run_id,
        }
        for document_id, (version, state, chunks) in sorted(states.items())
    ]
    if not rows:
        return
    statement = insert(documents)
    changed = ("document_version", "state", "chunks", "run_id")
    statement = statement.on_conflict_do_update(
        index_elements=["collection", "document_id"],
        set_={name: statement.excluded[name] for name in changed} | {"updated_at": sa.func.now()},
    )
    with tables.begin() as connection:
        connection.execute(statement, rows)


def document_states(tables: Tables, collection: str) -> dict[str, DocumentState]:
    """Return the state of every document of a collection, by document id, in the order of ids."""
    table = documents.c
    query = sa.select(table.document_id, table.document_version, table.state, table.chunks, table.run_id)
    with tables.begin() as connection:
        rows = connection.execute(query.where(table.collection == collection)).all()
    return {str(row[0]): DocumentState(*row[1:]) for row in sorted(rows, key=lambda row: str(row[0]))}


def booked_collections(tables: Tables) -> list[str]:
    """Return the names of all collections that have documents in the books, sorted."""
    with tables.begin() as connection:
        return sorted(str(name) for name in connection.execute(sa.select(documents.c.collection).distinct()).scalars())


def forget_documents(tables: Tables, collection: str, document_ids: list[str]) -> int:
    """Remove documents from the books of a collection (they left the manifest and were pruned)."""
    where = sa.and_(documents.c.collection == collection, documents.c.document_id.in_(document_ids))
    with tables.begin() as connection:
        return connection.execute(sa.delete(documents).where(where)).rowcount


def save_receipt(tables: Tables, collection: str, receipt: Mapping[str, Any]) -> int:
    """Keep the receipt of a passed verification and return its number."""
    with tables.begin() as connection:
        return int(
            connection.execute(
                sa.insert(receipts)
                .values(collection=collection, receipt=dict(receipt))
                .returning(receipts.c.receipt_id)
            ).scalar_one()
        )


def latest_receipt(tables: Tables, collection: str) -> dict[str, Any] | None:
    """Return the newest receipt of a collection, or None."""
    query = (
        sa.select(receipts.c.receipt)
        .where(receipts.c.collection == collection)
        .order_by(receipts.c.receipt_id.desc())
        .limit(1)
    )
    with tables.begin() as connection:
        found: dict[str, Any] | None = connection.execute(query).scalar_one_or_none()
    return found


def receipt_time(tables: Tables, collection: str) -> datetime | None:
    """Return when the newest receipt of a collection was given, or None."""
    query = sa.select(sa.func.max(receipts.c.created_at)).where(receipts.c.collection == collection)
    with tables.begin() as connection:
        found: datetime | None = connection.execute(query).scalar_one_or_none()
    return found
