"""What a run will take, refused before its first write where it does not fit; and a dry run that writes nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables, open_tables
from backends.tables.runs import latest_runs
from backends.vectors.edge import EdgeStore
from ingest.estimate import EMBEDDED_BASE, POINT_OVERHEAD, estimate, measured_rate
from ingest.manifest import Manifest, read_manifest
from ingest.reingest import make_plan, reingest
from normalize.errors import GateError, StoreError
from normalize.laws import LawTable

LAWS = LawTable.builtin()
EXAMPLES = Path(__file__).parent.parent / "examples"
NAME = "platz"


class Disk(EdgeStore):
    """The embedded store on a disk with this much room."""

    free = 10 * 1024**3

    def free_bytes(self) -> int:
        return self.free


@pytest.fixture
def manifest() -> Manifest:
    return read_manifest(EXAMPLES / "manifest.yaml")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Disk]:
    with Disk(tmp_path / "home", 2.0) as disk:
        yield disk


def embedder_for(dimension: int | None) -> HashingEmbedder:
    return HashingEmbedder(dimension or 64)


def test_a_run_that_does_not_fit_is_refused_before_its_first_write(
    store: Disk, tables: Tables, manifest: Manifest
) -> None:
    """qdrant#7813: the disk fills up while old and new points stand side by side."""
    store.free = 1_000_000
    with pytest.raises(GateError, match=r"need \d+ MiB beside the old ones and .* has 1 MiB free: nothing was written"):
        reingest(store, tables, NAME, manifest, LAWS, embedder_for)
    assert store.collections() == [] and latest_runs(tables) == []
    store.free = 10 * 1024**3
    assert reingest(store, tables, NAME, manifest, LAWS, embedder_for)["written"] == 25
    store.free = 0  # nothing to write needs no room
    assert reingest(store, tables, NAME, manifest, LAWS, embedder_for)["written"] == 0


def test_the_bytes_are_those_of_text_vectors_and_fields(store: Disk, manifest: Manifest) -> None:
    takes = make_plan(store, NAME, manifest, LAWS, embedder_for).takes
    text = takes.bytes_to_write - 25 * (64 * 4 + POINT_OVERHEAD)
    assert 2_000 < text < 20_000
    assert takes.bytes_needed == 2 * takes.bytes_to_write + EMBEDDED_BASE
    assert (takes.seconds, takes.free) == (None, 10 * 1024**3)


def test_a_store_that_cannot_tell_is_not_guessed(manifest: Manifest, store: Disk) -> None:
    plans = make_plan(store, NAME, manifest, LAWS, embedder_for).documents
    store.free = None  # type: ignore[assignment]
    takes = estimate(store, plans, 64, is_new=True, rate=None)
    assert takes.free is None and takes.bytes_needed is None


def test_the_rate_is_that_of_the_last_large_run_with_this_model(
    store: Disk, tables: Tables, manifest: Manifest
) -> None:
    reingest(store, tables, NAME, manifest, LAWS, embedder_for)
    runs = latest_runs(tables, command="reingest")
    assert measured_rate(runs, embedder_for(None).model) is None  # 25 points say nothing
    details = {"model": "m", "totals": {"to_write": 5_000}, "seconds": {"write": 10.0}}
    large = [type(run)(*(getattr(run, f) for f in run.__slots__[:-1]), details) for run in runs]
    assert measured_rate(large, "m") == 500.0
    assert measured_rate(large, "other") is None
    takes = estimate(
        store, make_plan(store, "neu", manifest, LAWS, embedder_for).documents, 64, is_new=True, rate=500.0
    )
    assert takes.seconds == 0.1 and "500 points/s" in takes.rate_from


def test_a_session_that_only_reads_cannot_write(tmp_path: Path) -> None:
    with open_tables(home=tmp_path) as tables:
        with tables.begin() as connection:
            connection.execute(sa.text("CREATE TABLE t (n int)"))
        with open_tables(home=tmp_path, read_only=True) as reading:
            with reading.begin() as connection:
                assert connection.execute(sa.text("SELECT count(*) FROM t")).scalar_one() == 0
            with pytest.raises(StoreError, match="read-only"), reading.begin() as connection:
                connection.execute(sa.text("INSERT INTO t VALUES (1)"))
