"""Bulk rows in by COPY, over the connection and in the transaction of the caller."""

from collections.abc import Iterable, Sequence

import psycopg
import sqlalchemy as sa
from psycopg import sql


def copy_rows(
    connection: sa.Connection, table: sa.Table, columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> int:
    """Append rows to a table and return how many; values are bound by type, an iterable is streamed."""
    driver = connection.connection.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError("COPY needs a psycopg connection")
    name = sql.Identifier(table.schema, table.name) if table.schema else sql.Identifier(table.name)
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(name, sql.SQL(", ").join(map(sql.Identifier, columns)))
    count = 0
    with driver.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)
            count += 1
    return count
