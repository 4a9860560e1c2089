"""Faults of Postgres in the middle of the work: one sentence, nothing half-written, and the same call again does it.

The server is killed, refuses to wait for a lock, is set read-only, or has no room left on its disk.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy import event

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables, open_tables
from backends.tables.locks import collection_lock
from backends.tables.runs import document_states
from backends.tables.upgrade import upgrade
from backends.vectors.edge import EdgeStore
from backends.vectors.store import Point
from ingest.manifest import read_manifest
from ingest.prune import prune
from ingest.reingest import reingest
from ingest.verify import verify
from normalize.errors import FundstelleError, LockedError, StoreError
from normalize.laws import LawTable
from relink.controls import export_controls, import_controls
from relink.run import relink
from tests.payloads import expected_payloads
from tests.relink_cases import PROVISIONS, link_chunks

EXAMPLES = Path(__file__).parent.parent / "examples"
MANIFEST = read_manifest(EXAMPLES / "manifest.yaml")
LAWS = LawTable.builtin()
NAME = "beispiel"
CHUNKS = link_chunks()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EdgeStore]:
    with EdgeStore(tmp_path / "vectors", 2.0) as opened:
        yield opened


def run(store: EdgeStore, tables: Tables) -> dict[str, Any]:
    return reingest(store, tables, NAME, MANIFEST, LAWS, lambda dimension: HashingEmbedder(dimension or 32))


def held(store: EdgeStore) -> dict[str, dict[str, Any]]:
    return {str(record.id): record.payload for record in store.scroll(NAME)}


def sentence(error: BaseException) -> str:
    """The message of an error, which is one sentence."""
    text = str(error)
    assert isinstance(error, FundstelleError) and "\n" not in text and text.endswith("."), text
    return text


def kill_server(home: Path) -> None:
    """kill -9 of the embedded server's main process."""
    pid = int((home / "postgres" / "postmaster.pid").read_text().splitlines()[0])
    os.kill(pid, signal.SIGKILL)


def before(call: Callable[..., Any], action: Callable[[], object]) -> Callable[..., Any]:
    """The same call, with an action the first time it is made."""
    done: list[bool] = []

    def called(*arguments: Any, **named: Any) -> Any:
        if not done:
            done.append(True)
            action()
        return call(*arguments, **named)

    return called


@pytest.mark.parametrize("method", ["create", "upsert", "retrieve"])
def test_a_server_killed_in_the_middle_of_a_reingest(
    home: Path, store: EdgeStore, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    with open_tables(home=home) as tables:
        upgrade(tables)
        monkeypatch.setattr(store, method, before(getattr(store, method), lambda: kill_server(home)), raising=True)
        with pytest.raises(FundstelleError) as caught:
            run(store, tables)
        assert "Postgres" in sentence(caught.value) or "lock" in sentence(caught.value)
    monkeypatch.undo()
    with open_tables(home=home) as tables:
        assert all(state.state != "verified" for state in document_states(tables, NAME).values())
        run(store, tables)
        assert held(store) == expected_payloads(MANIFEST)
        assert verify(store, tables, NAME, MANIFEST, LAWS, sample=1.0)["ok"]


def test_a_server_killed_right_before_the_delete(
    home: Path, store: EdgeStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock is gone with the server: nothing is deleted without it."""
    with open_tables(home=home) as tables:
        upgrade(tables)
        run(store, tables)
        [victim, *_] = sorted(held(store))
        payload = held(store)[victim] | {"document_version": "1.0"}
        record = next(r for r in store.scroll(NAME, vectors=True) if str(r.id) == victim)
        old = "00000000-0000-4000-8000-000000000001"
        store.upsert(NAME, [Point(old, record.dense, record.sparse, payload)])
        assert verify(store, tables, NAME, MANIFEST, LAWS)["ok"]
        retrieve = before(store.retrieve, lambda: kill_server(home))  # the first thing the backup does
        monkeypatch.setattr(store, "retrieve", retrieve)
        with pytest.raises(FundstelleError) as caught:
            prune(store, tables, NAME, MANIFEST, LAWS, tmp_path / "backups")
        sentence(caught.value)
        assert old in held(store)
    monkeypatch.undo()
    with open_tables(home=home) as tables:
        assert prune(store, tables, NAME, MANIFEST, LAWS, tmp_path / "backups")["deleted"] == 1
        assert held(store) == expected_payloads(MANIFEST)


def load(tables: Tables) -> None:
    lines = [
        f'{{"control_uuid": "00000000-0000-4000-8000-{n:012d}", "source_original_text": "{text}"}}'
        for n, text in enumerate(provision[3] for provision in PROVISIONS[:3])
    ]
    import_controls(tables, lines, "test")


def citations(tables: Tables) -> list[Any]:
    return [(row["control_uuid"], row["source_citation"], row["outcome"]) for row in export_controls(tables)]


@pytest.mark.parametrize("statement", ["INSERT INTO compliance.fundstelle_link_audit", "UPDATE", "commit"])
def test_a_server_killed_in_the_middle_of_a_relink(home: Path, statement: str) -> None:
    with open_tables(home=home) as tables:
        upgrade(tables)
        load(tables)
        untouched = citations(tables)
        armed = [True]

        def strike(*event_arguments: object) -> None:
            sql = next((a for a in event_arguments if isinstance(a, str)), "commit")
            if armed and statement.lower() in sql.lower() and "runs" not in sql:
                armed.clear()
                kill_server(home)

        event.listen(tables.engine, "commit" if statement == "commit" else "before_cursor_execute", strike)
        with pytest.raises(FundstelleError) as caught:
            relink(tables, CHUNKS)
        sentence(caught.value)
        assert not armed
    with open_tables(home=home) as tables:
        assert citations(tables) == untouched  # one transaction: all of it or nothing
        relink(tables, CHUNKS)
        linked = citations(tables)
        assert [outcome for _, _, outcome in linked].count("linked") == 3
        relink(tables, CHUNKS)
        assert citations(tables) == linked


def test_a_lock_that_is_not_given_is_not_waited_for_without_end(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session of the platform holds the control table; the re-link gives up in one sentence and writes nothing."""
    load(tables)

    @event.listens_for(tables.engine, "begin")
    def _short(connection: sa.Connection) -> None:
        connection.exec_driver_sql("SET LOCAL lock_timeout = '300ms'")

    with tables.engine.connect() as other, other.begin():
        other.execute(sa.text("LOCK TABLE compliance.canonical_controls IN SHARE MODE"))
        with pytest.raises(StoreError) as caught:
            relink(tables, CHUNKS)
        assert "lock" in sentence(caught.value)
        assert all(outcome is None for _, _, outcome in citations(tables))
    relink(tables, CHUNKS)
    assert [outcome for _, _, outcome in citations(tables)].count("linked") == 3


def test_the_time_a_lock_is_waited_for_is_bounded(tables: Tables) -> None:
    with tables.begin() as connection:
        assert connection.execute(sa.text("SHOW lock_timeout")).scalar_one() == "30s"
        assert connection.execute(sa.text("SHOW statement_timeout")).scalar_one() == "15min"


def test_a_database_that_only_reads(database_url: str, store: EdgeStore, open_database: Callable[..., Tables]) -> None:
    """A standby, or a server in maintenance: said before anything is written to the vector store."""
    tables = open_database(database_url)
    with tables.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        name = connection.execute(sa.text("SELECT current_database()")).scalar_one()
        connection.execute(sa.text(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on'))
    tables.engine.dispose()
    with pytest.raises(StoreError) as caught:
        run(store, tables)
    assert "read-only" in sentence(caught.value)
    assert store.collections() == []
    with pytest.raises(StoreError) as caught:
        relink(tables, CHUNKS)
    assert "read-only" in sentence(caught.value)


def full(tables: Tables, part: str) -> Callable[[], None]:
    """Have the server answer that its disk is full at every statement with this part; return how to mend it."""

    def refuse(_c: object, _u: object, statement: str, *_: object) -> None:
        if part in statement:
            error = psycopg.errors.DiskFull("could not extend file: No space left on device")
            raise sa.exc.OperationalError(statement, {}, error)

    event.listen(tables.engine, "before_cursor_execute", refuse)
    return lambda: event.remove(tables.engine, "before_cursor_execute", refuse)


def test_a_full_disk_while_booking_a_reingest(store: EdgeStore, tables: Tables) -> None:
    mend = full(tables, "fundstelle_documents")
    with pytest.raises(StoreError) as caught:
        run(store, tables)
    assert "No space left" in sentence(caught.value)
    mend()
    assert document_states(tables, NAME) == {}
    run(store, tables)
    assert {state.state for state in document_states(tables, NAME).values()} == {"uploaded"}
    assert held(store) == expected_payloads(MANIFEST)


def test_a_full_disk_in_a_relink(tables: Tables) -> None:
    load(tables)
    untouched = citations(tables)
    mend = full(tables, "fundstelle_link_audit")
    with pytest.raises(StoreError) as caught:
        relink(tables, CHUNKS)
    assert "No space left" in sentence(caught.value)
    mend()
    assert citations(tables) == untouched
    relink(tables, CHUNKS)
    assert [outcome for _, _, outcome in citations(tables)].count("linked") == 3


def test_a_lock_outlives_no_killed_client(database_url: str, open_database: Callable[..., Tables]) -> None:
    """kill -9 of the client that holds the lock frees it; while it lives, others end with exit code 4."""
    holder = (
        "import sys, time; from pathlib import Path\n"
        "from backends.tables.connect import open_tables; from backends.tables.locks import collection_lock\n"
        "with open_tables(home=Path('unused'), database_url=sys.argv[1]) as tables:\n"
        "    with collection_lock(tables, 'beispiel'):\n        print('held', flush=True); time.sleep(60)"
    )
    tables = open_database(database_url)
    root = Path(__file__).resolve().parents[1]
    with subprocess.Popen(
        [sys.executable, "-c", holder, database_url], cwd=root, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        with pytest.raises(LockedError) as caught, collection_lock(tables, NAME):
            pass
        assert caught.value.exit_code == 4 and "fundstelle-" in sentence(caught.value)
        process.kill()
        process.wait()
    for _ in range(50):  # the server notices the broken connection in its own time
        try:
            with collection_lock(tables, NAME):
                return
        except LockedError:
            time.sleep(0.1)
    raise AssertionError("the lock of a killed client was never freed")
