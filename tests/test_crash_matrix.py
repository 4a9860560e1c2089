"""kill -9 in every state of every command that writes, then the same command again: nothing lost, nothing double.

Commands die at counted moments (before and after each write, statement, commit and file; `tests.crash_driver`) and
after random times, on the embedded engine and over HTTP. Run again, each must end where an undisturbed run ends: the
same ids, the same bytes, the same rows. 36 kills at moments and 12 after times here, 228 and 60 with
FUNDSTELLE_NIGHTLY=1 (a command may end before its time comes).
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables
from backends.vectors.edge import EdgeStore
from backends.vectors.qdrant import connect
from backends.vectors.store import Layout, Point, SparseVector, VectorStore, real_name
from ingest.manifest import read_manifest
from normalize.analyzer import sparse_document
from tests.payloads import expected_payloads
from tests.qdrant_app import Server
from tests.vectors_fixtures import running_server, server

__all__ = ["running_server", "server"]

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
NAME = "beispiel"
MANIFEST = EXAMPLES / "manifest.yaml"
SEED = 20261201
NIGHTLY = os.environ.get("FUNDSTELLE_NIGHTLY") == "1"
AT_MOMENTS, AT_TIMES = (19, 5) if NIGHTLY else (3, 1)
KILLED = -9

Old = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def driver() -> Iterator[subprocess.Popen[str]]:
    """The process whose forks run the commands."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.crash_driver"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "FUNDSTELLE_LOCK_TIMEOUT": "5"},
    ) as started:
        yield started
        assert started.stdin is not None
        started.stdin.close()


@dataclass
class World:
    """A platform as it stood before: a collection of old points, a database with controls, and a home for the rest."""

    driver: subprocess.Popen[str]
    home: Path
    environment: dict[str, str]
    open_store: Callable[[], VectorStore]
    tables: Tables
    old: Old = field(default_factory=dict)

    def run(self, *arguments: str, at: int | None = None, after: float | None = None) -> int:
        """Run one command and return its exit code (-9 if it was killed)."""
        job = {
            "arguments": ["--home", str(self.home), *arguments],
            "environment": self.environment,
            "log": str(self.home / "log.txt"),
            "at": at,
            "after": after,
        }
        assert self.driver.stdin is not None and self.driver.stdout is not None
        self.driver.stdin.write(json.dumps(job) + "\n")
        self.driver.stdin.flush()
        code: int = json.loads(self.driver.stdout.readline())["code"]
        return code

    def must(self, *arguments: str) -> int:
        """Run one command that must succeed, and return the moments it passed."""
        code = self.run(*arguments)
        assert code == 0, (self.home / "log.txt").read_text("utf-8")
        return int((self.home / "log.moments").read_text())

    def points(self) -> dict[str, tuple[dict[str, Any], bytes]]:
        """Every point that is served, by id: payload and dense vector."""
        with self.open_store() as store:
            name = real_name(store, NAME)
            return {
                str(r.id): (r.payload, b"" if r.dense is None else r.dense.tobytes())
                for r in store.scroll(name, vectors=True)
            }

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """The controls and what was written about them, without the numbers and times of runs."""
        queries = {
            "controls": "SELECT control_uuid, title, source_original_text, source_citation::text "
            "FROM compliance.canonical_controls ORDER BY 1",
            "links": "SELECT control_uuid, outcome, tier, chunk_id, citation::text "
            "FROM compliance.fundstelle_links ORDER BY 1",
            "audit": "SELECT control_uuid, count(*) FROM compliance.fundstelle_link_audit GROUP BY 1 ORDER BY 1",
        }
        with self.tables.engine.connect() as connection:
            return {name: [tuple(row) for row in connection.execute(sa.text(sql))] for name, sql in queries.items()}


def seed(store: VectorStore) -> Old:
    """Make the collection as an older pipeline left it; return its points."""
    lines = (EXAMPLES / "legacy_points.jsonl").read_text("utf-8").splitlines()
    old = [json.loads(line) for line in lines if line]
    texts = [point["payload"]["chunk_text"] for point in old]
    embedder = HashingEmbedder(64)
    store.create(NAME, Layout(dimension=64), {}, {})
    rows = zip(old, embedder.embed(texts), map(sparse_document, texts), strict=True)
    store.upsert(NAME, [Point(p["id"], dense, SparseVector(*terms), p["payload"]) for p, dense, terms in rows])
    return {str(point["id"]): point["payload"] for point in old}


@pytest.fixture(params=["edge", "http"])
def new_world(
    request: pytest.FixtureRequest,
    driver: subprocess.Popen[str],
    new_database: Callable[[], tuple[str, Tables]],
    tmp_path: Path,
) -> Iterator[Callable[[], World]]:
    """Make worlds, each untouched; over HTTP one after the other on the same server."""
    count = 0

    def make() -> World:
        nonlocal count
        count += 1
        home = tmp_path / f"home-{count}"
        home.mkdir()
        url, tables = new_database()
        environment = {"DATABASE_URL": url, "QDRANT_URL": ""}
        if request.param == "http":
            running: Server = request.getfixturevalue("server")
            running.app.reset()
            environment["QDRANT_URL"] = running.url
            world = World(driver, home, environment, lambda: connect(running.url, None, 5), tables)
        else:
            world = World(driver, home, environment, lambda: EdgeStore(home, 5.0), tables)
        with world.open_store() as store:
            world.old = seed(store)
        return world

    yield make


REINGEST = ("reingest", "-c", NAME, "-m", str(MANIFEST))
VERIFY = ("verify", "-c", NAME, "--sample", "1")
PRUNE = ("prune", "-c", NAME)
ROLLBACK = ("rollback", "-c", NAME)
IMPORT = ("controls", "import", str(EXAMPLES / "controls.jsonl"))
RELINK = ("relink",)
BESIDE = (*REINGEST, "--strategy", "alias")

# The command that is killed, and those that went before it.
CASES: dict[str, tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]] = {
    "reingest": (REINGEST, ()),
    "verify": (VERIFY, (REINGEST,)),
    "prune": (PRUNE, (REINGEST, VERIFY)),
    "rollback": (ROLLBACK, (REINGEST, VERIFY, PRUNE)),
    "relink": (RELINK, (IMPORT, REINGEST, VERIFY)),
}


@contextmanager
def described(case: str, how: str) -> Iterator[None]:
    """Say with a failure which kill it was."""
    try:
        yield
    except AssertionError as error:
        error.add_note(f"{case}, killed {how}")
        raise


def kills(case: str, moments: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the kills of a case: at the first and last moment, at seeded ones between, and after seeded times."""
    rng = random.Random(f"{SEED}{case}")
    between = rng.sample(range(2, moments), min(AT_MOMENTS - 2, moments - 2)) if moments > 2 else []
    for at in sorted({1, moments, *between}):
        yield f"at moment {at} of {moments}", {"at": at}
    for _ in range(AT_TIMES):
        after = rng.uniform(0.02, 0.5)
        yield f"after {after:.3f} s", {"after": after}


@pytest.mark.parametrize("case", CASES)
def test_killed_and_run_again(new_world: Callable[[], World], case: str) -> None:
    command, before = CASES[case]
    undisturbed = new_world()
    for earlier in before:
        undisturbed.must(*earlier)
    moments = undisturbed.must(*command)
    assert moments > 2
    points, rows = undisturbed.points(), undisturbed.rows()
    assert set(expected_payloads(read_manifest(MANIFEST))) <= set(points)

    for how, moment in kills(case, moments):
        with described(case, how):
            world = new_world()
            for earlier in before:
                world.must(*earlier)
            code = world.run(*command, **moment)
            assert code in ((KILLED, 0) if "after" in moment else (KILLED,))
            _check_nothing_lost(world, points, case)
            world.must(*command)
            assert world.points() == points
            assert world.rows() == rows
            if case != "rollback":
                world.must(*VERIFY)


def _check_nothing_lost(world: World, final: dict[str, Any], case: str) -> None:
    """At the moment of death: no old point is gone that is neither in the backup nor replaced for good."""
    there = set(world.points())
    gone = set(world.old) - there
    if case == "prune":
        assert set(final) <= there
        assert gone <= set(world.old) - set(final)
        assert not gone or list((world.home / "backups" / NAME).glob("run-*.jsonl.zst"))
    elif case == "rollback":
        assert set(expected_payloads(read_manifest(MANIFEST))) <= there
    else:
        assert not gone


def test_killed_while_a_collection_is_built_beside_another(new_world: Callable[[], World]) -> None:
    """Blue/green: at any moment the alias leads to the old points or to all new ones, never to a part."""
    first = new_world()
    with first.open_store() as store:
        store.drop(NAME)
    moments = first.must(*BESIDE)
    points = {key: payload for key, (payload, _) in first.points().items()}
    assert points == expected_payloads(read_manifest(MANIFEST))
    for how, moment in kills("beside", moments):
        with described("reingest --strategy alias", how):
            world = new_world()
            with world.open_store() as store:
                store.drop(NAME)
            code = world.run(*BESIDE, **moment)
            assert code in ((KILLED, 0) if "after" in moment else (KILLED,))
            with world.open_store() as store:
                served = store.aliases().get(NAME)
            if served is not None:
                assert {key: payload for key, (payload, _) in world.points().items()} == points
            world.must(*BESIDE)
            assert {key: payload for key, (payload, _) in world.points().items()} == points
