"""The embedded store across processes: locks, kill -9, half-made collections, optimising, damage."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from backends.vectors import open_store
from backends.vectors.edge import EdgeStore
from backends.vectors.store import VectorStore, Where
from normalize.errors import LockedError, StoreError
from tests.vectors_points import INDEXES, LAYOUT, METADATA, point, uuid_of, vector

ROOT = Path(__file__).resolve().parent.parent
BATCH = 200

WRITER = """
import sys
from pathlib import Path
from backends.vectors.edge import EdgeStore
from tests.vectors_points import point, uuid_of

job, home = sys.argv[1], Path(sys.argv[2])
store = EdgeStore(home, lock_timeout=1)
if job == "hold":
    print(store.count("law"), flush=True)
    sys.stdin.read()
elif job == "upsert":
    for number in range(10_000):
        store.upsert("law", [point(number * BATCH + place) for place in range(BATCH)])
        print(number + 1, flush=True)
elif job == "mixed":  # write a batch, replace its payloads, take the one before away
    for number in range(10_000):
        ids = [number * BATCH + place for place in range(BATCH)]
        store.upsert("law", [point(one) for one in ids])
        store.overwrite_payloads("law", {point(one).id: {"new": one} for one in ids})
        store.delete("law", [uuid_of(one - BATCH) for one in ids])
        print(number + 1, flush=True)
elif job == "create":
    from tests.vectors_points import INDEXES, LAYOUT
    for number in range(10_000):
        store.create(f"law{number}", LAYOUT, INDEXES, {"number": number})
        print(number + 1, flush=True)
elif job == "close":  # optimises
    print(store.count("law"), flush=True)
    store.delete("law", [uuid_of(number) for number in range(1_500)])
    print("closing", flush=True)
    store.close()
    print("closed", flush=True)
""".replace("BATCH", str(BATCH))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with an empty collection `law`."""
    with EdgeStore(tmp_path, lock_timeout=1) as store:
        store.create("law", LAYOUT, INDEXES, METADATA)  # type: ignore[arg-type]
    return tmp_path


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose collection `law` has 3,000 points; to be copied."""
    home = tmp_path_factory.mktemp("large")
    with EdgeStore(home, lock_timeout=1) as store:
        store.create("law", LAYOUT, INDEXES, METADATA)  # type: ignore[arg-type]
        store.upsert("law", [point(number) for number in range(3_000)])
    return home


def start(job: str, home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, job, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def kill(process: subprocess.Popen[str]) -> int:
    """Kill -9, and return how many rounds it had reported by then."""
    process.send_signal(signal.SIGKILL)
    assert process.stdout is not None
    reported = process.stdout.read().split()
    process.wait()
    return int(reported[-1]) if reported else 0


class TestLock:
    def test_a_second_process_gets_a_sentence_with_collection_and_lock(self, home: Path) -> None:
        holder = start("hold", home)
        try:
            assert line(holder) == "0"
            began = time.monotonic()
            with EdgeStore(home, lock_timeout=0.3) as store, pytest.raises(LockedError) as caught:
                store.count("law")
            assert 0.2 < time.monotonic() - began < 5
            assert caught.value.exit_code == 4
            assert "'law'" in str(caught.value) and str(home / "vectors" / ".locks" / "law.lock") in str(caught.value)
        finally:
            kill(holder)
        with EdgeStore(home, lock_timeout=1) as store:
            assert store.count("law") == 0, "a killed holder leaves no lock behind"

    def test_a_waiting_process_goes_on_when_the_holder_ends(self, home: Path) -> None:
        holder = start("hold", home)
        assert line(holder) == "0" and holder.stdin is not None
        holder.stdin.close()
        with EdgeStore(home, lock_timeout=20) as store:
            assert store.count("law") == 0
        assert holder.wait(timeout=10) == 0

    def test_other_collections_are_free(self, home: Path) -> None:
        with EdgeStore(home, lock_timeout=1) as first, EdgeStore(home, lock_timeout=0.1) as second:
            first.create("other", LAYOUT, {}, {})
            assert first.count("other") == 0
            assert second.count("law") == 0
            with pytest.raises(LockedError):
                second.count("other")
            assert second.collections() == ["law", "other"]

    def test_closing_gives_the_lock_back_and_may_be_repeated(self, home: Path) -> None:
        first = EdgeStore(home, lock_timeout=1)
        assert first.count("law") == 0
        first.close()
        first.close()
        with EdgeStore(home, lock_timeout=0.1) as second:
            assert second.count("law") == 0


class TestKill:
    """Kill -9 at a random moment: what had returned is there, the rest is whole or absent, and work goes on."""

    @pytest.mark.parametrize("seed", range(6))
    def test_upserts(self, home: Path, seed: int) -> None:
        process = start("upsert", home)
        assert line(process) == "1"
        time.sleep(random.Random(seed).uniform(0, 0.25))
        returned = max(1, kill(process)) * BATCH
        with EdgeStore(home, lock_timeout=1) as store:
            found = {record.id: record for record in store.scroll("law", vectors=True)}
            assert store.count("law") == len(found)
            assert {uuid_of(number) for number in range(returned)} <= set(found)
            assert len(found) <= returned + BATCH
            assert all(record.dense is not None and record.sparse is not None for record in found.values())
            expected = {point(number).id: point(number).payload for number in range(returned + BATCH)}
            assert all(record.payload == expected[key] for key, record in found.items())
            store.upsert("law", [point(number) for number in range(returned + BATCH)])
            assert store.count("law") == returned + BATCH

    @pytest.mark.parametrize("seed", range(4))
    def test_overwrites_and_deletes(self, home: Path, seed: int) -> None:
        process = start("mixed", home)
        assert line(process) == "1"
        time.sleep(random.Random(seed).uniform(0, 0.3))
        rounds = max(1, kill(process))
        with EdgeStore(home, lock_timeout=1) as store:
            found = {record.id: record.payload for record in store.scroll("law")}
            last = range((rounds - 1) * BATCH, rounds * BATCH)
            gone = {uuid_of(number) for number in range((rounds - 1) * BATCH)}
            assert not gone & set(found)
            in_next_round = {uuid_of(number) for number in range(rounds * BATCH, (rounds + 1) * BATCH)}
            for number in last:
                # The next round may have taken it away already, never changed it.
                assert found.get(uuid_of(number)) in ({"new": number}, None)
            assert set(found) <= {uuid_of(number) for number in last} | in_next_round
            if not in_next_round & set(found):
                assert len(found) == BATCH

    @pytest.mark.parametrize("seed", range(3))
    def test_creating(self, tmp_path: Path, seed: int) -> None:
        process = start("create", tmp_path)
        assert line(process) == "1"
        time.sleep(random.Random(seed).uniform(0, 0.2))
        returned = max(1, kill(process))
        with EdgeStore(tmp_path, lock_timeout=1) as store:
            names = store.collections()
            assert set(names) >= {f"law{number}" for number in range(returned)}
            assert len(names) <= returned + 1
            for name in names:
                about = store.describe(name)
                assert about is not None and about.layout == LAYOUT and about.indexes == INDEXES
                assert about.metadata == {"number": int(name.removeprefix("law"))}
            if f"law{returned}" not in names:
                store.create(f"law{returned}", LAYOUT, {}, {})

    @pytest.mark.parametrize("wait", [0.0, 0.02, 0.05, 0.1, 0.2])
    def test_optimising(self, tmp_path: Path, large: Path, wait: float) -> None:
        shutil.copytree(large / "vectors", tmp_path / "vectors")
        process = start("close", tmp_path)
        assert line(process) == "3000"
        assert line(process) == "closing"
        time.sleep(wait)
        process.kill()
        process.wait()
        with EdgeStore(tmp_path, lock_timeout=1) as store:
            assert store.count("law") == 1_500
            assert {record.id for record in store.scroll("law")} == {uuid_of(number) for number in range(1_500, 3_000)}


class TestFiles:
    def test_everything_survives_closing(self, home: Path) -> None:
        with EdgeStore(home, lock_timeout=1) as store:
            store.upsert("law", [point(number) for number in range(100)])
            store.set_metadata("law", {"more": [1, None]})
            before = store.describe("law"), [(r.id, r.payload, r.sparse) for r in store.scroll("law", vectors=True)]
        with EdgeStore(home, lock_timeout=1) as store:
            after = store.describe("law"), [(r.id, r.payload, r.sparse) for r in store.scroll("law", vectors=True)]
        assert before == after

    def test_counts_are_of_distinct_points_over_several_segments(self, tmp_path: Path, large: Path) -> None:
        shutil.copytree(large / "vectors", tmp_path / "vectors")
        with EdgeStore(tmp_path, lock_timeout=1) as store:
            store.delete("law", [uuid_of(number) for number in range(1_500)])
        with EdgeStore(tmp_path, lock_timeout=1) as store:  # closing has optimised: a write may open a new segment
            store.upsert("law", [replace(point(number), dense=vector(1)) for number in range(1_000, 2_000)])
            assert store.count("law") == 2_000 == len({record.id for record in store.scroll("law", payload=False)})
            assert store.count("law", Where({"regulation_code": ["BDSG"]})) == sum(
                n % 3 == 0 for n in range(1000, 3000)
            )

    def test_the_remembered_count_follows_every_write(self, home: Path) -> None:
        with EdgeStore(home, lock_timeout=1) as store:
            counts = [store.count("law")]
            for first in (0, 20, 10):
                store.upsert("law", [point(number) for number in range(first, first + 20)])
                counts += [store.count("law"), store.count("law")]
            store.delete("law", [uuid_of(0), uuid_of(1), uuid_of(500)])
            about = store.describe("law")
            assert counts == [0, 20, 20, 40, 40, 40, 40] and about is not None and about.points == 38
            assert store.count("law", Where(must={"regulation_code": ["BDSG"]})) == 13

    def test_a_search_stays_exact_after_optimising(self, tmp_path: Path, large: Path) -> None:
        shutil.copytree(large / "vectors", tmp_path / "vectors")
        with EdgeStore(tmp_path, lock_timeout=1) as store:
            store.delete("law", [uuid_of(number) for number in range(1_500)])
            before = [store.query_dense("law", vector(number), 20, payload=False) for number in range(20)]
        with EdgeStore(tmp_path, lock_timeout=1) as store:
            after = [store.query_dense("law", vector(number), 20, payload=False) for number in range(20)]
        assert after == before

    def test_half_made_and_half_dropped_collections_are_none(self, home: Path) -> None:
        vectors = home / "vectors"
        shutil.copytree(vectors / "law", vectors / ".new-other")
        shutil.copytree(vectors / "law", vectors / ".dropped-third")
        with EdgeStore(home, lock_timeout=1) as store:
            assert store.collections() == ["law"]
            store.create("other", LAYOUT, {}, {})
            store.create("third", LAYOUT, {}, {})
            store.drop("third")
            assert store.collections() == ["law", "other"]

    def test_looking_leaves_nothing_behind(self, tmp_path: Path) -> None:
        with EdgeStore(tmp_path / "home", lock_timeout=1) as store:
            assert store.collections() == [] and store.describe("law") is None
        assert not (tmp_path / "home").exists()

    @pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 99}', '{"format": 1, "layout": {"x": 1}}'])
    def test_a_damaged_description_is_named(self, home: Path, content: str) -> None:
        (home / "vectors" / "law" / "collection.json").write_text(content)
        with EdgeStore(home, lock_timeout=1) as store, pytest.raises(StoreError, match=r"collection\.json"):
            store.count("law")

    def test_a_damaged_shard_is_one_sentence(self, home: Path) -> None:
        shutil.rmtree(home / "vectors" / "law" / "shard")
        with EdgeStore(home, lock_timeout=1) as store, pytest.raises(StoreError, match="could not open") as caught:
            store.count("law")
        assert "\n" not in str(caught.value)

    def test_the_description_is_plain_json(self, home: Path) -> None:
        raw = json.loads((home / "vectors" / "law" / "collection.json").read_text(encoding="utf-8"))
        assert raw["metadata"] == METADATA and raw["layout"]["dimension"] == LAYOUT.dimension

    def test_open_store_takes_the_embedded_engine_without_a_url(self, home: Path) -> None:
        store: VectorStore
        with open_store(home=home, url=None, api_key=None, timeout=5, lock_timeout=1) as store:
            assert store.collections() == ["law"]
            assert str(home) in store.where


def test_several_threads_may_use_one_store(home: Path) -> None:
    def write(worker: int) -> None:
        for number in range(5):
            store.upsert("law", [point(worker * 1000 + number * 100 + place) for place in range(100)])

    def read(_: int) -> None:
        for _ in range(10):
            ids = [record.id for record in store.scroll("law", payload=False, batch=50)]
            assert len(ids) == len(set(ids))
            store.query_dense("law", vector(1), 5)

    with EdgeStore(home, lock_timeout=1) as store, ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(work, worker) for worker in range(4) for work in (write, read)]
        for job in jobs:
            job.result(timeout=60)
        assert store.count("law") == 2_000


def test_a_damaged_alias_file_is_named(tmp_path: Path) -> None:
    with EdgeStore(tmp_path, 1) as store:
        store.create("law", LAYOUT, {}, {})
        store.switch_alias("current", "law")
        (tmp_path / "vectors" / "aliases.json").write_text("{", "utf-8")
        with pytest.raises(StoreError, match=r"aliases\.json .* cannot be read"):
            store.count("current")


def test_an_alias_that_another_process_switched_is_followed_at_once(tmp_path: Path) -> None:
    with EdgeStore(tmp_path, 1) as store:
        store.create("law.v1", LAYOUT, {}, {})
        store.create("law.v2", LAYOUT, {}, {})
        store.switch_alias("law", "law.v1")
        store.upsert("law", [point(1)])
        with EdgeStore(tmp_path, 1) as another:
            another.switch_alias("law", "law.v2")
        assert store.count("law") == 0 and store.count("law.v1") == 1


def test_the_size_of_a_collection_is_what_it_takes_on_disk(tmp_path: Path) -> None:
    with EdgeStore(tmp_path, 1) as store:
        store.create("law", LAYOUT, {}, {})
        store.switch_alias("current", "law")
        size = store.size_bytes("law")
        assert size is not None and 0 < size == store.size_bytes("current")
