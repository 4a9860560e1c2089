"""The ledger of processed chunks (`canonical_processed_chunks`): what was generated from, by text, collection, version.

The ledger is a claim, the vector store is the truth (DESIGN §6). Key = (chunk_hash, collection, document_version); the
platform's table need not have a unique index on it, so the code keeps rows single itself.
"""

from collections.abc import Iterable

import sqlalchemy as sa

from backends.tables.connect import Tables
from backends.tables.copy import copy_rows
from backends.tables.schema import processed_chunks

LedgerRow = tuple[str, str]


def _stage(connection: sa.Connection, rows: Iterable[LedgerRow]) -> sa.Table:
    """Copy (chunk_hash, document_version) rows into a table of this transaction."""
    stage = sa.Table(
        "fundstelle_ledger_stage",
        sa.MetaData(),
        sa.Column("chunk_hash", sa.Text, nullable=False),
        sa.Column("document_version", sa.Text, nullable=False),
        prefixes=["TEMPORARY"],
        postgresql_on_commit="DROP",
    )
    stage.create(connection)
    copy_rows(connection, stage, ["chunk_hash", "document_version"], rows)
    return stage


def _same(collection: str, stage: sa.Table) -> sa.ColumnElement[bool]:
    ledger = processed_chunks.c
    return sa.and_(
        ledger.chunk_hash == stage.c.chunk_hash,
        ledger.document_version == stage.c.document_version,
        ledger.collection == collection,
    )


def ledger_add(tables: Tables, collection: str, rows: Iterable[LedgerRow]) -> int:
    """Add (chunk_hash, document_version) rows of a collection and return how many were new."""
    with tables.begin() as connection:
        stage = _stage(connection, rows)
        fresh = (
            sa.select(stage.c.chunk_hash, sa.literal(collection), stage.c.document_version)
            .where(~sa.exists().where(_same(collection, stage)))
            .distinct()
        )
        added = connection.execute(
            sa.insert(processed_chunks).from_select(["chunk_hash", "collection", "document_version"], fresh),
            execution_options={"preserve_rowcount": True},
        ).rowcount
        stage.drop(connection)
    return added


def ledger_remove(tables: Tables, collection: str, rows: Iterable[LedgerRow]) -> int:
    """Remove (chunk_hash, document_version) rows of a collection and return how many were there."""
    with tables.begin() as connection:
        stage = _stage(connection, rows)
        removed = connection.execute(sa.delete(processed_chunks).where(_same(collection, stage))).rowcount
        stage.drop(connection)
    return removed


def ledger_rows(tables: Tables, collection: str) -> set[LedgerRow]:
    """Return every (chunk_hash, document_version) of a collection."""
    ledger = processed_chunks.c
    with tables.begin() as connection:
        rows = connection.execute(
            sa.select(ledger.chunk_hash, ledger.document_version).where(ledger.collection == collection)
        )
        return {(str(chunk_hash), str(version)) for chunk_hash, version in rows}
