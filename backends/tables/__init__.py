"""The relational store: one Postgres, embedded or a server, through SQLAlchemy and psycopg.

`connect.open_tables` yields a `Tables`; everything else takes it as its first argument. `upgrade` brings a database up
to date, `mapping` reads a platform's own control table, `runs` and `ledger` keep the books, `locks` keeps others out.
"""

from backends.tables.connect import Tables, open_tables
from backends.tables.mapping import ControlColumns

__all__ = ["ControlColumns", "Tables", "open_tables"]
