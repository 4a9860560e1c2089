"""Every kind of request of a run meets every kind of fault: it ends well at last, and nothing is lost or doubled.

`test_reingest_faults` looks closely at writes and deletes; here it is the rest too: what is asked, created, indexed,
described, counted, aliased. In CI each request meets three of the faults, in the nightly profile all of them.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from backends.tables.connect import Tables
from backends.vectors.store import Layout, Point, VectorStore
from ingest import certain
from ingest.prune import prune
from ingest.reingest import reingest
from ingest.verify import verify
from tests.patience import connect_patiently
from tests.payloads import expected_payloads
from tests.qdrant_app import Fault, Kind, Server
from tests.test_blue_green import LAWS, NAME, Bench, Counting
from tests.test_reingest_faults import OLD, OLD_IDS, until_it_ends
from tests.vectors_fixtures import running_server as running_server
from tests.vectors_fixtures import server as server

SLOW = 1.3
FAULTS: list[Kind] = [
    "500", "timeout_after", "html", "429", "timeout_before", "reset_after", "500_after", "reset_before",
]  # fmt: skip
HERE = r"/collections/[^/]+"
# Every request of the runs below: the last test says if one is missing.
REQUESTS = [
    ("GET", "/"), ("GET", "/collections"), ("GET", "/collections/aliases|/aliases"), ("GET", HERE),
    ("GET", f"{HERE}/exists"), ("PUT", HERE), ("PATCH", HERE), ("PUT", f"{HERE}/index"), ("DELETE", HERE),
    ("POST", f"{HERE}/points"), ("POST", f"{HERE}/points/scroll"), ("POST", f"{HERE}/points/count"),
    ("PUT", f"{HERE}/points"), ("PUT", f"{HERE}/points/payload"), ("POST", f"{HERE}/points/delete"),
    ("POST", f"{HERE}/points/batch"), ("POST", f"{HERE}/points/query"), ("POST", "/collections/aliases"),
]  # fmt: skip


def cases() -> list[tuple[str, str, Kind, int]]:
    """Return method, path, fault and how many such requests go before it."""
    nightly = bool(os.environ.get("FUNDSTELLE_NIGHTLY"))
    found: list[tuple[str, str, Kind, int]] = []
    for number, (method, path) in enumerate(REQUESTS):
        kinds = FAULTS if nightly else [FAULTS[(3 * number + n) % len(FAULTS)] for n in range(3)]
        found += [
            (method, path, kind, skip) for n, kind in enumerate(kinds) for skip in ((0, 1) if nightly else (n % 2,))
        ]
    return found


@pytest.fixture
def store(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[VectorStore]:
    monkeypatch.setattr(certain, "_PAUSE", 0.01)
    with connect_patiently(server) as made:
        yield made


@pytest.fixture
def bench(store: VectorStore, tables: Tables, tmp_path: Path) -> Bench:
    made = Bench(store, tables, tmp_path, Counting(32))
    made.use(1)
    return made


def of_an_older_pipeline(bench: Bench) -> None:
    """Fill a collection with random ids, one unnamed vector, no BM25."""
    bench.use(1, "    aliases: [leihradg_alt]\n")
    bench.store.create(NAME, Layout(dimension=32, dense="", sparse=None), {}, {})
    old = [Point(point_id, np.eye(32, dtype=np.float32)[n], None, OLD) for n, point_id in enumerate(OLD_IDS)]
    bench.store.upsert(NAME, old)


def beside_old_points(bench: Bench) -> None:
    """Every step with the old points beside the new ones."""
    store = bench.store

    def go() -> None:
        reingest(store, bench.tables, NAME, bench.manifest, LAWS, bench.embedder_for)
        if not verify(store, bench.tables, NAME, bench.manifest, LAWS)["ok"]:
            raise AssertionError("a chunk was lost")
        prune(store, bench.tables, NAME, bench.manifest, LAWS, bench.folder / "backups")

    until_it_ends(go)
    assert bench.points() == expected_payloads(bench.manifest)


def behind_an_alias(bench: Bench) -> None:
    """A first version, a second one built beside it, the first one pruned."""

    def version(number: int) -> None:
        bench.use(number)
        bench.reingest()

    until_it_ends(lambda: version(1))
    until_it_ends(lambda: version(2))
    bench.verify_served()
    until_it_ends(bench.prune)
    assert bench.points() == expected_payloads(bench.manifest)
    assert list(bench.store.aliases()) == [NAME]
    assert len(bench.store.collections()) == 1


@pytest.mark.parametrize(("method", "path", "kind", "skip"), cases())
@pytest.mark.parametrize("strategy", ["coexist", "alias"])
def test_a_fault_of_any_request_is_got_over(
    bench: Bench, server: Server, strategy: str, method: str, path: str, kind: Kind, skip: int
) -> None:
    if strategy == "coexist":
        of_an_older_pipeline(bench)
    fault = Fault(kind, method, f"^(?:{path})$", skip=skip, seconds=SLOW)
    server.faults.add(fault)
    (beside_old_points if strategy == "coexist" else behind_an_alias)(bench)


def test_the_table_knows_every_request(bench: Bench, server: Server) -> None:
    of_an_older_pipeline(bench)
    beside_old_points(bench)
    seen = {(one.method, one.path) for one in server.log}
    bench.store.drop(NAME)
    behind_an_alias(bench)
    seen |= {(one.method, one.path) for one in server.log}
    unknown = [one for one in seen if not any(one[0] == m and re.fullmatch(path, one[1]) for m, path in REQUESTS)]
    assert not unknown
