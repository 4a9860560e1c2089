"""One writer at a time (DESIGN §6): Postgres advisory locks on a connection of their own.

The server frees such a lock when the connection ends, however the client died. Keys are stable hashes of the name.
"""

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import sqlalchemy as sa

from backends.tables.connect import Tables
from normalize.errors import LockedError, StoreUnavailableError

_NOBODY = "it has just ended"


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock that is held while its context lasts."""

    name: str
    connection: sa.Connection

    def check(self) -> None:
        """Ask before what cannot be undone; raises StoreUnavailableError if the connection with the lock is gone."""
        try:
            self.connection.execute(sa.text("SELECT 1"))
        except sa.exc.SQLAlchemyError:
            raise StoreUnavailableError(
                f"The connection that holds the lock of {self.name} was lost; nothing more was written, run again."
            ) from None


def lock_key(name: str) -> int:
    """Return the signed 64-bit key of a lock's name."""
    return int.from_bytes(hashlib.sha256(f"fundstelle/{name}".encode()).digest()[:8], "big", signed=True)


def _holder(connection: sa.Connection, key: int) -> str:
    """Return who holds the key, for people."""
    row = connection.execute(
        sa.text(
            "SELECT a.pid, a.application_name, to_char(a.backend_start, 'YYYY-MM-DD HH24:MI:SS TZ') "
            "FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid "
            "WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 "
            "AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
            "AND l.classid::bigint = :high AND l.objid::bigint = :low"
        ),
        {"high": (key >> 32) & 0xFFFFFFFF, "low": key & 0xFFFFFFFF},
    ).first()
    return f"{row[1] or 'a client'}, server process {row[0]}, since {row[2]}" if row else _NOBODY


@contextlib.contextmanager
def _hold(tables: Tables, name: str) -> Iterator[Lock]:
    key = lock_key(name)
    with tables.errors():
        connection = tables.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    try:
        with tables.errors():
            got = connection.execute(sa.select(sa.func.pg_try_advisory_lock(key))).scalar_one()
            holder = "" if got else _holder(connection, key)
        if not got:
            raise LockedError(f"Another run is writing {name} ({holder}); wait until it ends and run again.")
        try:
            yield Lock(name, connection)
        finally:
            with contextlib.suppress(sa.exc.SQLAlchemyError):
                connection.execute(sa.select(sa.func.pg_advisory_unlock(key)))
    finally:
        with contextlib.suppress(sa.exc.SQLAlchemyError):
            connection.close()


def is_locked(tables: Tables, collection: str | None) -> bool:
    """Whether some run holds the lock of a collection (None: of the controls) right now; takes nothing."""
    name = "the controls" if collection is None else f"collection '{collection}'"
    with tables.begin() as connection:
        return _holder(connection, lock_key(name)) != _NOBODY


@contextlib.contextmanager
def collection_lock(tables: Tables, collection: str) -> Iterator[Lock]:
    """Hold the one writer's lock of a collection; raises LockedError if another run has it."""
    with _hold(tables, f"collection '{collection}'") as lock:
        yield lock


@contextlib.contextmanager
def relink_lock(tables: Tables) -> Iterator[Lock]:
    """Hold the one writer's lock of the controls and their links; raises LockedError if another run has it."""
    with _hold(tables, "the controls") as lock:
        yield lock
