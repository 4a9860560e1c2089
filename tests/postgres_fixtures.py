"""A real Postgres for the tests: one embedded server a session, a fresh database a test."""

import itertools
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from backends.tables.connect import Tables, open_tables
from backends.tables.upgrade import upgrade

_numbers = itertools.count(1)
_TEMPLATE = "migrated"


def _create(server: Tables, name: str, template: str = "template0") -> str:
    """Create a database on the session's server and return its address."""
    with server.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'))
    return server.engine.url.set(database=name).render_as_string(hide_password=False)


@contextmanager
def embedded_home() -> Iterator[Path]:
    """Yield a folder for an embedded server, removed afterwards.

    Not in pytest's own: for root the server runs as another user, and every pytest that starts shuts that one's folder.
    """
    with tempfile.TemporaryDirectory(prefix="fundstelle-test-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def home() -> Iterator[Path]:
    """A fresh home folder with room for an embedded server."""
    with embedded_home() as folder:
        yield folder


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Tables]:
    """The session's embedded server; it holds a migrated database to copy from.

    It need not survive a power cut: without fsync a database a test costs little, and shutting down hardly anything.
    """
    with embedded_home() as folder, open_tables(home=folder) as server:
        with server.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for setting in ("fsync", "full_page_writes"):
                connection.execute(sa.text(f"ALTER SYSTEM SET {setting} = off"))
            connection.execute(sa.select(sa.func.pg_reload_conf()))
        with open_tables(home=Path("unused"), database_url=_create(server, _TEMPLATE)) as migrated:
            upgrade(migrated)
        yield server


@pytest.fixture
def empty_database_url(postgres_server: Tables) -> str:
    """The address of a fresh, empty database."""
    return _create(postgres_server, f"empty_{next(_numbers)}")


@pytest.fixture
def database_url(postgres_server: Tables) -> str:
    """The address of a fresh database in which every migration has run."""
    return _create(postgres_server, f"test_{next(_numbers)}", _TEMPLATE)


@pytest.fixture
def open_database() -> Iterator[Callable[..., Tables]]:
    """Open databases by address (and names of columns); all are closed with the test."""
    with ExitStack() as stack:

        def opened(url: str, **options: object) -> Tables:
            return stack.enter_context(open_tables(home=Path("unused"), database_url=url, **options))  # type: ignore[arg-type]

        yield opened


@pytest.fixture
def new_database(postgres_server: Tables) -> Iterator[Callable[[], tuple[str, Tables]]]:
    """Make fresh databases in which every migration has run, one at a time: an earlier one is closed and dropped.

    Dropped, since a server with many of them takes long to shut down.
    """
    with ExitStack() as stack:

        def drop(name: str) -> None:
            with postgres_server.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.execute(sa.text(f'DROP DATABASE "{name}" WITH (FORCE)'))

        def make() -> tuple[str, Tables]:
            stack.close()
            name = f"test_{next(_numbers)}"
            url = _create(postgres_server, name, _TEMPLATE)
            stack.callback(drop, name)
            return url, stack.enter_context(open_tables(home=Path("unused"), database_url=url))

        yield make


@pytest.fixture(scope="session")
def shared_tables(postgres_server: Tables) -> Iterator[Tables]:
    """The open tables of one migrated database for tests that only read what a fixture wrote."""
    with open_tables(home=Path("unused"), database_url=_create(postgres_server, "shared", _TEMPLATE)) as opened:
        yield opened


@pytest.fixture
def empty_tables(empty_database_url: str, open_database: Callable[..., Tables]) -> Tables:
    """The open tables of a fresh, empty database."""
    return open_database(empty_database_url)


@pytest.fixture
def tables(database_url: str, open_database: Callable[..., Tables]) -> Tables:
    """The open tables of a fresh database in which every migration has run."""
    return open_database(database_url)
