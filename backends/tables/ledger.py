"""The ledger of processed chunks (`canonical_processed_chunks`): what controls were generated from.

A row says that the text with this hash, in this collection and document version, has been through the generation of
controls. The generator writes rows as it works; here the whole ledger of a collection is held against what the store
holds, or made to agree with it. The platform's table need not have a unique index: rows are kept single here.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import sqlalchemy as sa

from backends.tables.connect import Tables
from backends.tables.copy import copy_rows
from backends.tables.schema import processed_chunks

_EXAMPLES = 5
_VERSIONS = 20

LedgerRow = tuple[str, str]
"""(chunk_hash, document_version)."""


@dataclass(frozen=True, slots=True)
class LedgerDifference:
    """How the ledger of a collection and the rows of its store differ; all counts are of distinct rows.

    `missing` are in the store and not in the ledger, `extra` in the ledger and not in the store, with a few examples of
    each and the extra ones by document version (the most frequent ones).
    """

    store_rows: int
    ledger_rows: int
    missing: int
    extra: int
    missing_examples: list[LedgerRow]
    extra_examples: list[LedgerRow]
    extra_by_version: dict[str, int]

    @property
    def agrees(self) -> bool:
        """Whether the ledger says what the store holds."""
        return not (self.missing or self.extra)


def _temporary(name: str) -> sa.Table:
    return sa.Table(
        name,
        sa.MetaData(),
        sa.Column("chunk_hash", sa.Text, nullable=False),
        sa.Column("document_version", sa.Text, nullable=False),
        prefixes=["TEMPORARY"],
        postgresql_on_commit="DROP",
    )


def _stage(connection: sa.Connection, rows: Iterable[LedgerRow]) -> sa.Table:
    """Copy the distinct rows into a table of this transaction; rows are streamed."""
    raw, stage = _temporary("fundstelle_ledger_raw"), _temporary("fundstelle_ledger_stage")
    raw.create(connection)
    stage.create(connection)
    copy_rows(connection, raw, ["chunk_hash", "document_version"], rows)
    distinct = sa.select(raw.c.chunk_hash, raw.c.document_version).distinct()
    connection.execute(sa.insert(stage).from_select(["chunk_hash", "document_version"], distinct))
    raw.drop(connection)
    connection.execute(sa.text(f"ANALYZE {stage.name}"))
    return stage


def _ledger(collection: str) -> sa.Subquery:
    """The distinct rows of a collection's ledger."""
    ledger = processed_chunks.c
    return (
        sa.select(ledger.chunk_hash, ledger.document_version)
        .where(ledger.collection == collection)
        .distinct()
        .subquery("ledger")
    )


def _without(left: sa.FromClause, right: sa.FromClause) -> sa.Select[tuple[str, str]]:
    """The rows of one side that the other lacks."""
    same = sa.and_(left.c.chunk_hash == right.c.chunk_hash, left.c.document_version == right.c.document_version)
    return sa.select(left.c.chunk_hash, left.c.document_version).where(~sa.exists().where(same))


def _compare(connection: sa.Connection, collection: str, stage: sa.Table) -> LedgerDifference:
    ledger = _ledger(collection)
    missing, extra = _without(stage, ledger).subquery(), _without(ledger, stage).subquery()

    def count(rows: sa.FromClause) -> int:
        return int(connection.execute(sa.select(sa.func.count()).select_from(rows)).scalar_one())

    def some(rows: sa.Subquery) -> list[LedgerRow]:
        ordered = sa.select(rows).order_by(rows.c.document_version, rows.c.chunk_hash).limit(_EXAMPLES)
        return [(str(row[0]), str(row[1])) for row in connection.execute(ordered)]

    number = sa.func.count().label("number")
    by_version = sa.select(extra.c.document_version, number).group_by(extra.c.document_version)
    versions = connection.execute(by_version.order_by(number.desc(), extra.c.document_version).limit(_VERSIONS))
    return LedgerDifference(
        store_rows=count(stage),
        ledger_rows=count(ledger),
        missing=count(missing),
        extra=count(extra),
        missing_examples=some(missing),
        extra_examples=some(extra),
        extra_by_version={str(version): int(found) for version, found in versions},
    )


def compare_ledger(tables: Tables, collection: str, rows: Iterable[LedgerRow]) -> LedgerDifference:
    """Return how the ledger of a collection differs from the rows of its store. Changes nothing."""
    with tables.begin() as connection:
        stage = _stage(connection, rows)
        found = _compare(connection, collection, stage)
        stage.drop(connection)
    return found


def set_ledger(tables: Tables, collection: str, rows: Iterable[LedgerRow]) -> tuple[int, int]:
    """Make the ledger of a collection say exactly these rows; return how many were added and removed.

    All in one transaction; rows that are there already stay as they are, with the time they were processed. Other
    collections are not touched.
    """
    ledger = processed_chunks.c
    with tables.begin() as connection:
        stage = _stage(connection, rows)
        fresh = _without(stage, _ledger(collection)).subquery()
        added = connection.execute(
            sa.insert(processed_chunks).from_select(
                ["chunk_hash", "collection", "document_version"],
                sa.select(fresh.c.chunk_hash, sa.literal(collection), fresh.c.document_version),
            ),
            execution_options={"preserve_rowcount": True},
        ).rowcount
        same = sa.and_(stage.c.chunk_hash == ledger.chunk_hash, stage.c.document_version == ledger.document_version)
        gone = sa.and_(ledger.collection == collection, ~sa.exists().where(same))
        removed = connection.execute(sa.delete(processed_chunks).where(gone)).rowcount
        stage.drop(connection)
    return added, removed
