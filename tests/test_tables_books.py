"""The books on real Postgres: runs, document states, receipts, and the locks."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa

from backends.tables.connect import Tables
from backends.tables.locks import collection_lock, lock_key, relink_lock
from backends.tables.runs import (
    DocumentState,
    document_states,
    finish_run,
    forget_documents,
    latest_receipt,
    latest_runs,
    save_receipt,
    set_document_states,
    start_run,
)
from normalize.errors import LockedError, StoreUnavailableError


def test_runs_are_numbered_and_closed(tables: Tables) -> None:
    first = start_run(tables, "reingest", "law", {"manifest": "m.yaml"})
    second = start_run(tables, "relink", None, {})
    assert second > first
    finish_run(tables, first, "done", {"new": 3})
    newest, oldest = latest_runs(tables)
    assert (newest.run_id, newest.status, newest.finished_at, newest.summary) == (second, "running", None, None)
    assert (oldest.command, oldest.collection, oldest.status) == ("reingest", "law", "done")
    assert (oldest.details, oldest.summary) == ({"manifest": "m.yaml"}, {"new": 3})
    assert oldest.finished_at is not None
    assert [run.run_id for run in latest_runs(tables, 1, command="reingest")] == [first]


def test_document_states_are_the_last_ones_set(tables: Tables) -> None:
    run = start_run(tables, "reingest", "law", {})
    set_document_states(tables, "law", run, {"B": ("v1", "planned", 2), "A": ("v1", "planned", 1)})
    set_document_states(tables, "law", run, {"B": ("v2", "uploaded", 4)})
    set_document_states(tables, "other", run, {"B": ("v9", "pruned", 9)})
    set_document_states(tables, "law", run, {})
    assert document_states(tables, "law") == {
        "A": DocumentState("v1", "planned", 1, run),
        "B": DocumentState("v2", "uploaded", 4, run),
    }
    assert list(document_states(tables, "law")) == ["A", "B"]
    assert forget_documents(tables, "law", ["A", "Z"]) == 1
    assert list(document_states(tables, "law")) == ["B"]
    assert list(document_states(tables, "other")) == ["B"]


def test_the_newest_receipt_of_the_collection_counts(tables: Tables) -> None:
    assert latest_receipt(tables, "law") is None
    first = save_receipt(tables, "law", {"points": 1, "documents": {"A": "v1"}})
    second = save_receipt(tables, "law", {"points": 2, "ratio": 0.5, "none": None})
    save_receipt(tables, "other", {"points": 3})
    assert second > first
    assert latest_receipt(tables, "law") == {"points": 2, "ratio": 0.5, "none": None}


def test_a_collection_has_one_writer(tables: Tables, database_url: str, open_database: Callable[..., Tables]) -> None:
    other = open_database(database_url)
    with collection_lock(tables, "law"):
        message = r"collection 'law' \(fundstelle-.*wait until it ends"
        with pytest.raises(LockedError, match=message) as caught, collection_lock(other, "law"):
            pass
        assert caught.value.exit_code == 4
        with collection_lock(other, "another"), relink_lock(other):
            pass
    with collection_lock(other, "law") as lock:
        lock.check()


def test_the_lock_goes_with_its_connection(
    tables: Tables, database_url: str, open_database: Callable[..., Tables]
) -> None:
    other = open_database(database_url)
    with relink_lock(tables) as lock:
        with other.begin() as connection:
            connection.execute(
                sa.text(
                    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' "
                    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
                )
            )
        with relink_lock(other), pytest.raises(StoreUnavailableError, match="holds the lock of the controls was lost"):
            lock.check()


def test_lock_keys_are_the_same_everywhere() -> None:
    assert lock_key("collection 'law'") == -2040748233336349876
    assert lock_key("the controls") != lock_key("collection 'the controls'")
