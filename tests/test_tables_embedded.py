"""The embedded Postgres: starts by itself, survives killed users, and is stopped by the last one to leave."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from backends.tables.connect import open_tables
from normalize.errors import StoreUnavailableError

ROOT = Path(__file__).resolve().parent.parent
HOLD = """
import sys, time
from pathlib import Path
from backends.tables.connect import open_tables
from backends.tables.locks import collection_lock
import sqlalchemy as sa
with open_tables(home=Path(sys.argv[1])) as tables, collection_lock(tables, "held"):
    print("ready", flush=True)
    sys.stdin.read()
"""


def _server_process(home: Path) -> int | None:
    """Return the id of the running server of a home, or None."""
    pid_file = home / "postgres" / "postmaster.pid"
    if not pid_file.exists():
        return None
    process_id = int(pid_file.read_text().splitlines()[0])
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return None
    return process_id


def _user(home: Path) -> subprocess.Popen[str]:
    """Start another process that uses the home until its standard input ends."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def _answers(home: Path) -> bool:
    with open_tables(home=home) as tables, tables.begin() as connection:
        return bool(connection.execute(sa.text("SELECT 1")).scalar_one() == 1)


def test_data_outlives_the_server_and_it_stops_with_its_user(home: Path) -> None:
    with open_tables(home=home) as tables:
        assert tables.where.endswith("postgres (embedded)")
        with tables.begin() as connection:
            connection.execute(sa.text("CREATE TABLE kept (n int); INSERT INTO kept VALUES (3)"))
    assert _server_process(home) is None
    with open_tables(home=home) as tables, tables.begin() as connection:
        assert connection.execute(sa.text("SELECT n FROM kept")).scalars().all() == [3]


def test_two_users_share_a_server_and_the_last_one_stops_it(home: Path) -> None:
    other = _user(home)
    process_id = _server_process(home)
    assert process_id is not None
    assert _answers(home)
    assert _server_process(home) == process_id, "the other one still works with it"
    other.communicate(timeout=30)
    assert other.returncode == 0
    assert _server_process(home) is None


def test_a_killed_user_leaves_nothing_that_the_next_run_trips_over(home: Path) -> None:
    killed = _user(home)
    killed.kill()
    killed.wait()
    left = _server_process(home)
    assert left is not None, "nobody was there to stop it"
    again = _user(home)  # takes the same lock: the killed one's is free
    assert _server_process(home) == left, "taken over"
    again.communicate(timeout=30)
    assert _server_process(home) is None, "and stopped, dead users do not count"


def test_a_killed_server_recovers(home: Path) -> None:
    with open_tables(home=home) as tables, tables.begin() as connection:
        connection.execute(sa.text("CREATE TABLE kept (n int); INSERT INTO kept VALUES (3)"))
    user = _user(home)
    process_id = _server_process(home)
    assert process_id is not None
    os.kill(process_id, signal.SIGKILL)
    user.kill()
    user.wait()
    with open_tables(home=home) as tables, tables.begin() as connection:
        assert connection.execute(sa.text("SELECT n FROM kept")).scalars().all() == [3]


def test_a_stale_process_id_of_another_program_is_no_server(home: Path) -> None:
    assert _answers(home)
    (home / "postgres" / "postmaster.pid").write_text(f"{os.getppid()}\n{home}/postgres\n1\n5432\n/tmp\n\n")
    assert _answers(home)


def test_an_interrupted_creation_is_begun_anew(home: Path) -> None:
    (home / "postgres.new").mkdir()
    (home / "postgres.new" / "PG_VERSION").write_text("18\n")
    assert _answers(home)


def test_a_long_path_gets_a_short_socket(home: Path) -> None:
    assert _answers(home / ("a folder with spaces " + "x" * 90))


def test_settings_of_other_postgres_tools_do_not_reach_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PGPORT": "1", "PGHOST": "nowhere", "PGDATABASE": "none", "PGUSER": "nobody"}.items():
        monkeypatch.setenv(name, value)
    assert _answers(home)


def test_a_folder_of_something_else_is_refused_in_one_sentence(home: Path) -> None:
    (home / "postgres").mkdir()
    (home / "postgres" / "PG_VERSION").write_text("9\n")
    with pytest.raises(StoreUnavailableError, match=r"embedded Postgres in .* failed at pg_ctl") as caught:
        _answers(home)
    assert "\n" not in str(caught.value)
