"""Bring a database up to date: run the migrations, never touch what is already there.

Alembic is only loaded where a migration runs; every other command just looks at the version it left.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

import migrations
from backends.tables.connect import Tables
from backends.tables.locks import relink_lock
from backends.tables.mapping import SCHEMA, ControlColumns
from normalize.errors import UsageError

if TYPE_CHECKING:
    from alembic.config import Config

VERSION_TABLE = "fundstelle_alembic_version"


def _config(connection: sa.Connection, columns: ControlColumns) -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["columns"] = columns
    return config


def _table_names(connection: sa.Connection) -> set[str]:
    return set(sa.inspect(connection).get_table_names(schema=SCHEMA))


def upgrade(tables: Tables) -> list[str]:
    """Create what is missing and return the names of the new tables, sorted; a second call returns nothing.

    All in one transaction. Raises UsageError when the settings name a control table that is not there, LockedError
    while another run writes.
    """
    from alembic import command

    columns = tables.columns
    with relink_lock(tables), tables.begin() as connection:
        inspector = sa.inspect(connection)
        if columns.qualified != ControlColumns().qualified and not inspector.has_table(columns.table, columns.schema):
            raise UsageError(
                f"The settings name the control table {columns.qualified}, which does not exist; mend the name, "
                "or leave it out to have one created."
            )
        before = _table_names(connection)
        command.upgrade(_config(connection, columns), "head")
        return sorted(f"{SCHEMA}.{name}" for name in _table_names(connection) - before if name != VERSION_TABLE)


def is_current(tables: Tables) -> bool:
    """Return whether the newest migration has run here."""
    with tables.begin() as connection:
        if VERSION_TABLE not in _table_names(connection):
            return False
        table = sa.table(VERSION_TABLE, sa.column("version_num"), schema=SCHEMA)
        return migrations.HEAD in set(connection.execute(sa.select(table.c.version_num)).scalars())
