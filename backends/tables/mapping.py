"""How a platform names its control table and its columns, and what types it gave them.

The names come from the settings; the types are read from the database, so that a `uuid` stays a `uuid` and a `text` a
`text`. Columns that a platform may lack read as null.
"""

from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from normalize.errors import StoreError

SCHEMA = "compliance"
OPTIONAL = ("parent_control_uuid", "title", "source_regulation", "is_self_written")


@dataclass(frozen=True, slots=True)
class ControlColumns:
    """Names of the control table and of its columns; the defaults are those of the development database."""

    schema: str = SCHEMA
    table: str = "canonical_controls"
    control_uuid: str = "control_uuid"
    parent_control_uuid: str = "parent_control_uuid"
    title: str = "title"
    source_original_text: str = "source_original_text"
    source_citation: str = "source_citation"
    source_regulation: str = "source_regulation"
    is_self_written: str = "is_self_written"

    @property
    def qualified(self) -> str:
        """The table's name for people."""
        return f"{self.schema}.{self.table}"

    def column_names(self) -> dict[str, str]:
        """Return the platform's column name for each of ours, in the order of the fields."""
        return {
            field.name: getattr(self, field.name) for field in fields(self) if field.name not in ("schema", "table")
        }


@dataclass(frozen=True, slots=True)
class Controls:
    """The control table as it is in this database.

    `read` holds, for each of our column names, an expression that reads it: strings for the uuids, text for texts,
    jsonb for the citation, null for an optional column that is not there. `column` holds the columns that are there.
    """

    table: sa.Table
    column: dict[str, sa.Column[Any]]
    read: dict[str, sa.ColumnElement[Any]]


def _reader(name: str, column: sa.Column[Any] | None) -> sa.ColumnElement[Any]:
    if column is None:
        kind: sa.types.TypeEngine[Any] = sa.Boolean() if name == "is_self_written" else sa.Text()
        return sa.cast(sa.null(), kind).label(name)
    if name == "source_citation":
        return sa.cast(column, JSONB).label(name)
    if name == "is_self_written":
        return sa.func.coalesce(sa.cast(column, sa.Boolean), sa.false()).label(name)
    return sa.cast(column, sa.Text).label(name)


def reflect_controls(connection: sa.Connection, columns: ControlColumns) -> Controls:
    """Return the control table as the database has it.

    Raises StoreError naming the table or column of the settings that does not exist.
    """
    try:
        table = sa.Table(columns.table, sa.MetaData(schema=columns.schema), autoload_with=connection, resolve_fks=False)
    except sa.exc.NoSuchTableError:
        raise StoreError(
            f"The control table {columns.qualified} does not exist; run `fundstelle db upgrade`, "
            "or name the table in the settings."
        ) from None
    found: dict[str, sa.Column[Any]] = {}
    read: dict[str, sa.ColumnElement[Any]] = {}
    for name, theirs in columns.column_names().items():
        column = table.columns.get(theirs)
        if column is None and name not in OPTIONAL:
            raise StoreError(
                f"The control table {columns.qualified} has no column '{theirs}' for {name}; "
                "name its column in the settings."
            )
        if column is not None:
            found[name] = column
        read[name] = _reader(name, column)
    return Controls(table, found, read)
