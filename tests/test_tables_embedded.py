"""The embedded Postgres: starts by itself, survives killed users, and is stopped by the last one to leave."""

import os
import signal
import subprocess
import sys
import time
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


def test_data_outlives_the_server_and_it_stops_with_its_user(tmp_path: Path) -> None:
    with open_tables(home=tmp_path / "home") as tables:
        assert tables.where.endswith("postgres (embedded)")
        with tables.begin() as connection:
            connection.execute(sa.text("CREATE TABLE kept (n int); INSERT INTO kept VALUES (3)"))
    assert _server_process(tmp_path / "home") is None
    started = time.perf_counter()
    with open_tables(home=tmp_path / "home") as tables, tables.begin() as connection:
        assert connection.execute(sa.text("SELECT n FROM kept")).scalars().all() == [3]
    assert time.perf_counter() - started < 5, "a start and a stop are what every command pays"


def test_two_users_share_a_server_and_the_last_one_stops_it(tmp_path: Path) -> None:
    other = _user(tmp_path)
    process_id = _server_process(tmp_path)
    assert process_id is not None
    assert _answers(tmp_path)
    assert _server_process(tmp_path) == process_id, "the other one still works with it"
    other.communicate(timeout=30)
    assert other.returncode == 0
    assert _server_process(tmp_path) is None


def test_a_killed_user_leaves_nothing_that_the_next_run_trips_over(tmp_path: Path) -> None:
    killed = _user(tmp_path)
    killed.kill()
    killed.wait()
    left = _server_process(tmp_path)
    assert left is not None, "nobody was there to stop it"
    again = _user(tmp_path)  # takes the same lock: the killed one's is free
    assert _server_process(tmp_path) == left, "taken over"
    again.communicate(timeout=30)
    assert _server_process(tmp_path) is None, "and stopped, dead users do not count"


def test_a_killed_server_recovers(tmp_path: Path) -> None:
    with open_tables(home=tmp_path) as tables, tables.begin() as connection:
        connection.execute(sa.text("CREATE TABLE kept (n int); INSERT INTO kept VALUES (3)"))
    user = _user(tmp_path)
    process_id = _server_process(tmp_path)
    assert process_id is not None
    os.kill(process_id, signal.SIGKILL)
    user.kill()
    user.wait()
    with open_tables(home=tmp_path) as tables, tables.begin() as connection:
        assert connection.execute(sa.text("SELECT n FROM kept")).scalars().all() == [3]


def test_a_stale_process_id_of_another_program_is_no_server(tmp_path: Path) -> None:
    assert _answers(tmp_path)
    (tmp_path / "postgres" / "postmaster.pid").write_text(f"{os.getppid()}\n{tmp_path}/postgres\n1\n5432\n/tmp\n\n")
    assert _answers(tmp_path)


def test_an_interrupted_creation_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "postgres.new").mkdir()
    (tmp_path / "postgres.new" / "PG_VERSION").write_text("18\n")
    assert _answers(tmp_path)


def test_a_long_path_gets_a_short_socket(tmp_path: Path) -> None:
    assert _answers(tmp_path / ("a folder with spaces " + "x" * 90))


def test_settings_of_other_postgres_tools_do_not_reach_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PGPORT": "1", "PGHOST": "nowhere", "PGDATABASE": "none", "PGUSER": "nobody"}.items():
        monkeypatch.setenv(name, value)
    assert _answers(tmp_path)


def test_a_folder_of_something_else_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres" / "PG_VERSION").write_text("9\n")
    with pytest.raises(StoreUnavailableError, match=r"embedded Postgres in .* failed at pg_ctl") as caught:
        _answers(tmp_path)
    assert "\n" not in str(caught.value)
