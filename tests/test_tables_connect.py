"""Addresses, refusals and errors of the tables: one sentence each, never a password, never a traceback."""

from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from backends.tables.connect import Tables, open_tables
from normalize.errors import StoreError, StoreUnavailableError, UsageError


@pytest.mark.parametrize(
    ("address", "error", "message"),
    [
        (
            "postgresql://u:geheim@127.0.0.1:1/db",
            StoreUnavailableError,
            r"127\.0\.0\.1:1/db cannot be reached .*refused",
        ),
        ("postgres://u:geheim@127.0.0.1:1/db", StoreUnavailableError, "start it, or mend DATABASE_URL"),
        ("postgresql://u:geheim@no-such-host.invalid/db", StoreUnavailableError, r"no-such-host\.invalid:5432/db"),
        ("mysql://u:geheim@127.0.0.1/db", UsageError, "only postgresql://"),
        ("geheim", UsageError, "is not a database address"),
        ("postgresql://u:geheim@host:port/db", UsageError, "is not a database address"),
    ],
)
def test_a_database_that_is_not_there(address: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught, open_tables(home=Path("unused"), database_url=address):
        pass
    assert "geheim" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_where_names_the_database_without_the_password(tables: Tables) -> None:
    assert "-@" not in tables.where
    assert str(tables.engine.url.database) in tables.where


def test_a_refused_statement_becomes_one_sentence_and_writes_nothing(tables: Tables) -> None:
    with pytest.raises(StoreError, match="division by zero") as caught, tables.begin() as connection:
        connection.execute(sa.text("CREATE TABLE gone (n int)"))
        connection.execute(sa.text("SELECT 1/0"))
    assert "\n" not in str(caught.value)
    with tables.begin() as connection:
        assert not sa.inspect(connection).has_table("gone")


def test_a_lost_connection_is_named_as_such(tables: Tables) -> None:
    with pytest.raises(StoreUnavailableError, match="connection to Postgres"), tables.begin() as connection:
        connection.execute(sa.text("SELECT pg_terminate_backend(pg_backend_pid())"))


def test_sessions_have_time_outs_and_utc(tables: Tables) -> None:
    names = ("statement_timeout", "lock_timeout", "TimeZone")
    with tables.begin() as connection:
        got = [connection.execute(sa.text(f"SHOW {name}")).scalar_one() for name in names]
    assert got == ["15min", "30s", "UTC"]


def test_one_address_opens_twice(database_url: str, open_database: Callable[..., Tables]) -> None:
    for opened in (open_database(database_url), open_database(database_url)):
        with opened.begin() as connection:
            assert connection.execute(sa.text("SELECT 1")).scalar_one() == 1
