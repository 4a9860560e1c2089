"""Open the tables: the server of DATABASE_URL, or the embedded Postgres of the home folder."""

import contextlib
import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, make_url

from backends.tables.embedded import embedded_server
from backends.tables.mapping import ControlColumns
from normalize.errors import StoreError, StoreUnavailableError, UsageError

CONNECT_SECONDS = 10
STATEMENT_SECONDS = 900
LOCK_SECONDS = 30
_SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
# Set by statement, not as start-up options: poolers refuse those. Names a server does not know are left out.
_SESSION = {
    "timezone": "UTC",
    "statement_timeout": f"{STATEMENT_SECONDS}s",
    "lock_timeout": f"{LOCK_SECONDS}s",
    "idle_session_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "transaction_timeout": "0",
    "temp_buffers": "256MB",
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}


@dataclass(frozen=True, slots=True)
class Tables:
    """An open database: the engine, how the platform names its control table, and where it is (never a password)."""

    engine: sa.Engine
    where: str
    columns: ControlColumns = field(default_factory=ControlColumns)

    @contextlib.contextmanager
    def begin(self) -> Iterator[sa.Connection]:
        """Yield a connection in one transaction: all of it is committed, or nothing.

        Raises StoreError (StoreUnavailableError when the connection is gone) instead of the driver's own errors.
        """
        with self.errors(), self.engine.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turn the driver's errors into one sentence."""
        try:
            yield
        except sa.exc.DBAPIError as error:
            reason = _first_line(error.orig)
            if error.connection_invalidated or (isinstance(error, sa.exc.OperationalError) and not _sqlstate(error)):
                raise StoreUnavailableError(
                    f"The connection to Postgres at {self.where} failed ({reason}); try again."
                ) from None
            raise StoreError(
                f"Postgres at {self.where} refused a statement ({reason}); nothing of it was written."
            ) from None
        except psycopg.Error as error:  # COPY goes past SQLAlchemy
            kind = StoreError if error.sqlstate else StoreUnavailableError
            raise kind(
                f"Postgres at {self.where} refused a statement ({_first_line(error)}); nothing of it was written."
            ) from None
        except sa.exc.SQLAlchemyError as error:
            raise StoreError(f"A statement for Postgres at {self.where} failed ({_first_line(error)}).") from None


def _sqlstate(error: sa.exc.DBAPIError) -> str | None:
    return getattr(error.orig, "sqlstate", None)


def _first_line(error: BaseException | None) -> str:
    lines = str(error or "no reason given").strip().splitlines()
    return re.sub(r"\s+", " ", lines[0]).rstrip(".;") if lines else "no reason given"


def _server_url(database_url: str, password: str | None) -> URL:
    try:
        url = make_url(database_url.strip())
    except (sa.exc.ArgumentError, ValueError):
        raise UsageError(
            "DATABASE_URL is not a database address; write it as postgresql://user:password@host:5432/database."
        ) from None
    if "@" in (url.host or "") or "@" in (url.database or ""):
        raise UsageError("DATABASE_URL holds an @ or / in its password: write them as %40 and %2F.")
    if url.drivername not in ("postgres", "postgresql", "postgresql+psycopg"):
        raise UsageError(f"DATABASE_URL names the database '{url.drivername}'; only postgresql:// is supported.")
    if password is not None and url.password is not None:
        raise UsageError("DATABASE_URL holds a password and DATABASE_PASSWORD is set too: leave one of them out.")
    mode = url.query.get("sslmode", "prefer")
    if mode not in _SSL_MODES:
        raise UsageError(f"DATABASE_URL has sslmode={mode}, which does not exist; choose from {', '.join(_SSL_MODES)}.")
    return url.set(drivername="postgresql+psycopg", password=password or url.password)


def _engine(url: URL, name: str, *, read_only: bool) -> sa.Engine:
    session = _SESSION | ({"default_transaction_read_only": "on"} if read_only else {})
    engine = sa.create_engine(
        url,
        connect_args={"connect_timeout": CONNECT_SECONDS, "application_name": name},
        pool_size=4,
        max_overflow=6,
        pool_pre_ping=True,
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: object, _record: object) -> None:
        with connection.cursor() as cursor:  # type: ignore[attr-defined]
            cursor.execute(
                "SELECT set_config(s.name, w.value, false) FROM pg_settings s "
                "JOIN unnest(%s::text[], %s::text[]) AS w(name, value) ON lower(s.name) = lower(w.name)",
                [list(session), list(session.values())],
            )
        connection.commit()  # type: ignore[attr-defined]

    return engine


def _ping(engine: sa.Engine, where: str) -> None:
    try:
        with engine.connect() as connection:
            connection.execute(sa.text("SELECT 1"))
    except sa.exc.SQLAlchemyError as error:
        reason = _first_line(getattr(error, "orig", None) or error)
        if "SSL" in reason or "certificate" in reason:
            raise StoreUnavailableError(
                f"Postgres at {where} cannot be reached as encrypted as DATABASE_URL asks ({reason}); mend sslmode and "
                "sslrootcert there, or the server's certificate."
            ) from None
        raise StoreUnavailableError(
            f"Postgres at {where} cannot be reached ({reason}); start it, or mend DATABASE_URL "
            "(unset it to use the embedded Postgres)."
        ) from None


@contextlib.contextmanager
def open_tables(
    *,
    home: Path,
    database_url: str | None = None,
    password: str | None = None,
    columns: ControlColumns | None = None,
    read_only: bool = False,
) -> Iterator[Tables]:
    """Yield the tables of the server at `database_url`, or of the embedded Postgres in `home/postgres`.

    The address may say how to encrypt (`?sslmode=verify-full&sslrootcert=ca.pem`, as libpq reads it); `password` is for
    an address without one. With `read_only` the server itself refuses every write of this session (a dry run).

    Raises UsageError for an address that is none, StoreUnavailableError when the database cannot be reached.
    """
    name = f"fundstelle-{os.getpid()}-{secrets.token_hex(4)}"
    with contextlib.ExitStack() as stack:
        if database_url:
            url = _server_url(database_url, password)
            where = f"{url.host or 'localhost'}:{url.port or 5432}/{url.database or ''}"
        else:
            server = stack.enter_context(embedded_server(home / "postgres", name))
            url = URL.create(
                "postgresql+psycopg",
                username=server.user,
                password="-",  # noqa: S106  see embedded: the socket trusts its owner
                database=server.database,
                query={"host": str(server.socket_folder), "port": str(server.port)},
            )
            where = f"{server.folder} (embedded)"
        engine = _engine(url, name, read_only=read_only)
        stack.callback(engine.dispose)
        _ping(engine, where)
        yield Tables(engine, where, columns or ControlColumns())
