"""Blue/green: a new collection beside the served one, verified, and the alias switched in one step; on edge and HTTP.

Small cases run on the example law, in two versions.
"""

import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables
from backends.tables.locks import collection_lock
from backends.tables.runs import latest_runs
from backends.vectors.edge import EdgeStore
from backends.vectors.qdrant import connect
from backends.vectors.store import Layout, Point, Record, SparseVector, VectorStore, served
from ingest.blue_green.build import reingest_beside
from ingest.blue_green.generations import generations, is_behind_alias, refuse_beside
from ingest.blue_green.plan import plan_beside
from ingest.blue_green.retire import prune_alias
from ingest.blue_green.switch_back import switch_back
from ingest.manifest import Manifest, read_manifest
from ingest.rollback import rollback
from ingest.verify import verify
from normalize.errors import FundstelleError, GateError, LockedError, UsageError
from normalize.laws import LawTable
from retrieve.search import SearchOptions, search
from tests.patience import connect_patiently
from tests.payloads import expected_payloads
from tests.qdrant_app import Fault, Server
from tests.test_cli import Run
from tests.test_cli import run as run
from tests.vectors_fixtures import running_server as running_server
from tests.vectors_fixtures import server as server

EXAMPLES = Path(__file__).parent.parent / "examples"
LAWS = LawTable.builtin()
NAME = "gesetze"
CHUNKS = 14


class Counting(HashingEmbedder):
    """Counts the texts it embeds."""

    def __init__(self, dimension: int, model: str | None = None) -> None:
        super().__init__(dimension)
        self.model = model or self.model
        self.texts = 0

    def embed(self, texts: Sequence[str]) -> Any:
        self.texts += len(texts)
        return super().embed(texts)


@dataclass
class Bench:
    """A store with its tables and manifest; each method is one command on the alias."""

    store: VectorStore
    tables: Tables
    folder: Path
    embedder: Counting

    def use(self, version: int, extra: str = "") -> Manifest:
        """The sample statute; each version says one of its Absätze a little differently."""
        text = (EXAMPLES / "leihradgesetz.xml").read_text("utf-8")
        (self.folder / "gesetz.xml").write_text(text.replace("zwei Jahre lang", f"{version + 1} Jahre lang"), "utf-8")
        (self.folder / "manifest.yaml").write_text(f"documents:\n  - path: gesetz.xml\n{extra}", "utf-8")
        return self.manifest

    @property
    def manifest(self) -> Manifest:
        return read_manifest(self.folder / "manifest.yaml")

    def embedder_for(self, _dimension: int | None) -> Counting:
        return self.embedder

    def plan(self) -> dict[str, Any]:
        return plan_beside(self.store, NAME, self.manifest, LAWS, self.embedder_for).report()

    def reingest(self, *, rebuild: bool = False) -> dict[str, Any]:
        return reingest_beside(self.store, self.tables, NAME, self.manifest, LAWS, self.embedder_for, rebuild=rebuild)

    def prune(self, ratio: float = 0.75, *, dry_run: bool = False) -> dict[str, Any]:
        backups = self.folder / "backups"
        return prune_alias(
            self.store, self.tables, NAME, self.manifest, LAWS, backups, max_delete_ratio=ratio, dry_run=dry_run
        )

    def verify_served(self) -> None:
        assert verify(self.store, self.tables, self.store.aliases()[NAME], self.manifest, LAWS)["ok"]

    def back(self, *, dry_run: bool = False) -> dict[str, Any]:
        return switch_back(self.store, self.tables, NAME, self.folder / "backups", dry_run=dry_run)

    def points(self, name: str = NAME) -> dict[str, dict[str, Any]]:
        return {str(r.id): r.payload for r in self.store.scroll(name)}

    def whole(self, name: str = NAME) -> dict[str, tuple[Any, ...]]:
        """Every point of a collection, comparable bit for bit."""
        return {str(r.id): as_bytes(r) for r in self.store.scroll(name, vectors=True)}


def as_bytes(record: Record) -> tuple[Any, ...]:
    return record.payload, None if record.dense is None else record.dense.tobytes(), record.sparse


@pytest.fixture(params=["edge", "http"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
    if request.param == "edge":
        with EdgeStore(tmp_path / "home", 2.0) as edge:
            yield edge
    else:
        running: Server = request.getfixturevalue("server")
        with connect(running.url, None, 5) as remote:
            yield remote


@pytest.fixture
def bench(tmp_path: Path, store: VectorStore, tables: Tables) -> Bench:
    made = Bench(store, tables, tmp_path, Counting(64))
    made.use(1)
    return made


def add_foreign(bench: Bench, collection: str, count: int = 3) -> dict[str, tuple[Any, ...]]:
    """Points of a statute that is in no manifest, in a collection; random ids as older pipelines give them."""
    rng = np.random.default_rng(5)
    payload = {"regulation_id": "satzung", "section": "§ 1", "chunk_text": "fremd"}
    points = [
        Point(str(uuid.UUID(bytes=rng.bytes(16), version=4)), rng.random(64, np.float32), SparseVector((1,), (1.0,)),
              payload | {"paragraph": f"({n})"})
        for n in range(count)
    ]  # fmt: skip
    bench.store.upsert(collection, points)
    ids = [point.id for point in points]
    return {str(r.id): as_bytes(r) for r in bench.store.retrieve(collection, ids, vectors=True)}


# --- Build, verify, switch -----------------------------------------------------------------------------------------


def test_a_first_run_builds_verifies_and_gives_the_alias(bench: Bench) -> None:
    assert bench.plan()["builds"] == "gesetze.v1" and bench.store.collections() == []
    report = bench.reingest()
    assert (report["written"], report["verified"], report["served"]) == (CHUNKS, True, None)
    assert bench.store.aliases() == {NAME: "gesetze.v1"} and report["receipt"]
    assert bench.points() == expected_payloads(bench.manifest)


def test_a_second_run_builds_writes_and_computes_nothing(bench: Bench) -> None:
    bench.reingest()
    bench.embedder.texts = 0
    report = bench.reingest()
    assert (report["builds"], report["written"], report["verified"]) == (None, 0, None)
    assert bench.store.collections() == ["gesetze.v1"] and bench.embedder.texts == 0
    assert len(latest_runs(bench.tables, command="reingest")) == 1


def test_a_new_version_is_built_beside_and_only_what_changed_is_embedded(bench: Bench) -> None:
    bench.reingest()
    before = bench.whole("gesetze.v1")
    bench.use(2)
    plan = bench.plan()
    assert (plan["served"], plan["builds"]) == ("gesetze.v1", "gesetze.v2")
    assert (plan["totals"]["changed"], plan["totals"]["to_write"]) == (1, CHUNKS)
    bench.embedder.texts = 0
    report = bench.reingest()
    assert report["vectors_computed"] == bench.embedder.texts < CHUNKS / 2  # a split Absatz is embedded anew
    assert bench.store.aliases() == {NAME: "gesetze.v2"}
    assert bench.points() == expected_payloads(bench.manifest)
    assert bench.whole("gesetze.v1") == before, "the served collection is only read"


def test_readers_see_through_the_alias(bench: Bench) -> None:
    bench.reingest()
    bench.use(2)
    bench.reingest()
    found = search(bench.store, NAME, bench.embedder, "Wie lange aufbewahren?", LAWS, SearchOptions(CHUNKS)).sources
    assert any("3 Jahre lang" in source.text for source in found)
    assert not any("2 Jahre lang" in source.text for source in found)
    assert served(bench.store) == [NAME], "relink and review read each law once"
    assert verify(bench.store, bench.tables, "gesetze.v2", bench.manifest, LAWS)["ok"]


def test_metadata_alone_copies_every_vector(bench: Bench) -> None:
    bench.reingest()
    bench.use(1, extra="    license: neu\n")
    bench.embedder.texts = 0
    bench.reingest()
    assert bench.embedder.texts == 0 and bench.store.aliases() == {NAME: "gesetze.v2"}
    assert {p["license"] for p in bench.points().values()} == {"neu"}


def test_another_model_is_what_a_new_collection_is_for(bench: Bench) -> None:
    bench.reingest()
    bench.embedder = Counting(32, "another-model")
    report = bench.reingest()
    assert report["vectors_computed"] == CHUNKS and report["verified"]
    about = bench.store.describe(NAME)
    assert about is not None and about.layout.dimension == 32 and about.metadata["embedder"] == "another-model"


def test_points_of_no_document_are_carried_over_whole(bench: Bench) -> None:
    bench.reingest()
    foreign = add_foreign(bench, "gesetze.v1")
    bench.use(2)
    report = bench.reingest()
    assert report["carried"] == 3 and report["unclaimed"] == {"points": 3, "by_document": {"satzung": 3}}
    assert foreign.items() <= bench.whole().items()
    assert bench.store.count(NAME) == CHUNKS + 3


def test_points_of_no_document_under_another_model_stop_the_run(bench: Bench) -> None:
    bench.reingest()
    add_foreign(bench, "gesetze.v1")
    bench.embedder = Counting(32, "another-model")
    with pytest.raises(GateError, match=r"3 points .* cannot be carried over"):
        bench.reingest()
    assert bench.store.collections() == ["gesetze.v1"]


def test_a_draft_that_does_not_verify_is_not_switched_to(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program takes a text away between the write and the verification; a plan reads no texts."""
    bench.reingest()
    bench.use(2)

    def spoil(*_: object) -> None:
        victim = next(r for r in bench.store.scroll("gesetze.v2") if r.payload["article_label"] == "LeihRadG § 6")
        bench.store.overwrite_payloads("gesetze.v2", {victim.id: victim.payload | {"chunk_text": "x"}})

    monkeypatch.setattr("ingest.blue_green.build._carry", spoil)
    report = bench.reingest()
    assert report["verified"] is False and bench.store.aliases() == {NAME: "gesetze.v1"}
    assert latest_runs(bench.tables, 1, command="reingest")[0].status == "refused"
    monkeypatch.undo()
    assert bench.reingest()["verified"] is False
    report = bench.reingest(rebuild=True)
    assert report["verified"] and (report["written"], report["rewritten"]) == (0, CHUNKS)
    assert bench.store.aliases() == {NAME: "gesetze.v2"} and bench.points() == expected_payloads(bench.manifest)


# --- What is refused -----------------------------------------------------------------------------------------------


def test_a_collection_under_the_plain_name_is_refused(bench: Bench) -> None:
    bench.store.create(NAME, Layout(dimension=64), {}, {})
    with pytest.raises(GateError, match=r"exists under this very name.*--strategy coexist.*name of its own"):
        bench.plan()
    with pytest.raises(GateError, match="exists under this very name"):
        bench.reingest()
    assert bench.store.collections() == [NAME] and bench.store.aliases() == {}


def test_a_collection_behind_an_alias_is_not_written_into(bench: Bench) -> None:
    bench.reingest()
    with pytest.raises(GateError, match=r"'gesetze' is an alias, of 'gesetze\.v1'.*--strategy alias"):
        refuse_beside(bench.store, NAME)
    refuse_beside(bench.store, "gesetze.v1")
    assert is_behind_alias(bench.store, NAME) and not is_behind_alias(bench.store, "gesetze.v1")


def test_a_second_writer_is_refused(bench: Bench) -> None:
    with collection_lock(bench.tables, NAME), pytest.raises(LockedError, match=NAME):
        bench.reingest()


def test_an_alias_that_others_made_is_taken_over(bench: Bench) -> None:
    """A platform's own alias on a collection of an older pipeline: its layout is kept, BM25 comes with the new one."""
    bench.store.create("law_2024", Layout(dimension=64, dense="", sparse=None), {}, {})
    bench.store.upsert("law_2024", [
        Point(7, np.ones(64, np.float32), None, {"regulation_id": "leihradg", "section": "§ 1", "chunk_text": "alt"}),
        Point(8, np.ones(64, np.float32), None, {"regulation_id": "satzung", "section": "§ 1", "chunk_text": "fremd"}),
    ])  # fmt: skip
    bench.store.switch_alias(NAME, "law_2024")
    report = bench.reingest()
    assert (report["served"], report["carried"], report["totals"]["old_points"]) == ("law_2024", 1, 1)
    about = bench.store.describe(NAME)
    assert about is not None and about.layout == Layout(dimension=64, dense="", sparse="bm25")
    assert bench.store.count(NAME) == CHUNKS + 1
    assert bench.prune()["collections"] == {"law_2024": 2}
    assert bench.back()["restored"] == 2
    about = bench.store.describe(NAME)
    assert about is not None and about.layout == Layout(dimension=64, dense="", sparse=None) and about.points == 2


# --- Prune and rollback --------------------------------------------------------------------------------------------


def two_versions(bench: Bench) -> dict[str, tuple[Any, ...]]:
    """Serve version 1, then 2; return every point of version 1."""
    bench.reingest()
    add_foreign(bench, "gesetze.v1")
    before = bench.whole("gesetze.v1")
    bench.use(2)
    bench.reingest()
    return before


def test_rollback_switches_back_and_forth_is_a_new_collection(bench: Bench) -> None:
    before = two_versions(bench)
    assert bench.back(dry_run=True)["to"] == "gesetze.v1" and bench.store.aliases() == {NAME: "gesetze.v2"}
    report = bench.back()
    assert (report["from"], report["to"], report["restored"]) == ("gesetze.v2", "gesetze.v1", 0)
    assert bench.whole() == before
    with pytest.raises(UsageError, match="nothing to go back to"):
        bench.back()
    assert bench.reingest()["builds"] == "gesetze.v3"
    assert bench.store.collections() == ["gesetze.v1", "gesetze.v2", "gesetze.v3"]


def test_prune_removes_what_was_served_before_and_rollback_brings_it_back(bench: Bench) -> None:
    before = two_versions(bench)
    assert bench.prune(dry_run=True)["collections"] == {"gesetze.v1": CHUNKS + 3}
    assert bench.store.collections() == ["gesetze.v1", "gesetze.v2"]
    pruned = bench.prune()
    assert (pruned["deleted"], pruned["to_delete"]) == (CHUNKS + 3, 0)
    assert bench.store.collections() == ["gesetze.v2"] and Path(pruned["backup"]).is_file()
    assert bench.prune()["deleted"] == 0
    report = bench.back()
    assert report["restored"] == CHUNKS + 3 and bench.store.aliases() == {NAME: "gesetze.v1"}
    assert bench.whole() == before, "byte for byte, vectors included"
    about = bench.store.describe(NAME)
    assert about is not None and "chunk_hash" in about.indexes and about.metadata["embedder"] == bench.embedder.model


def test_a_name_that_was_served_once_is_never_given_again(bench: Bench) -> None:
    """Else the backup of one collection would be taken for that of another."""
    two_versions(bench)
    bench.back()
    bench.use(1)
    bench.verify_served()
    bench.prune()
    assert bench.store.collections() == ["gesetze.v1"]
    bench.use(2)
    assert bench.plan()["builds"] == "gesetze.v2", "a plan without books knows no better"
    assert bench.reingest()["builds"] == "gesetze.v3"


def test_prune_needs_a_receipt_that_fits(bench: Bench) -> None:
    two_versions(bench)
    bench.use(3)
    with pytest.raises(GateError, match="verify --collection gesetze"):
        bench.prune()
    bench.use(2)
    victim = next(i for i, p in sorted(bench.points().items()) if p.get("article_label") == "LeihRadG § 6")
    bench.store.delete("gesetze.v2", [victim])
    with pytest.raises(GateError, match="every chunk is in the store"):
        bench.prune()
    assert bench.store.collections() == ["gesetze.v1", "gesetze.v2"]


def test_the_brake_holds_for_whole_collections(bench: Bench) -> None:
    two_versions(bench)
    with pytest.raises(GateError, match=r"17 of 34 points \(50%\)"):
        bench.prune(ratio=0.4)
    assert bench.store.collections() == ["gesetze.v1", "gesetze.v2"]


def test_a_collection_with_a_point_that_is_nowhere_else_stays(bench: Bench) -> None:
    two_versions(bench)
    point = Point(
        99, np.ones(64, np.float32), None, {"regulation_id": "satzung", "section": "§ 9", "chunk_text": "neu"}
    )
    bench.store.upsert("gesetze.v1", [point])
    with pytest.raises(GateError, match=r"1 points of 'gesetze\.v1' .* not in 'gesetze\.v2'"):
        bench.prune()
    assert bench.store.count("gesetze.v1") == CHUNKS + 4


def test_a_collection_that_another_alias_serves_stays(bench: Bench) -> None:
    two_versions(bench)
    bench.store.switch_alias("archiv", "gesetze.v1")
    with pytest.raises(GateError, match="also served as 'archiv'"):
        bench.prune()


# --- Killed between any two steps ----------------------------------------------------------------------------------


class KilledError(BaseException):
    """Stands for kill -9: nothing of ours catches it, nothing is cleaned up in the books."""


class Mortal:
    """A store whose process dies at the n-th call that changes something, before or after it is done."""

    CHANGES = (
        "create",
        "ensure_indexes",
        "set_metadata",
        "upsert",
        "overwrite_payloads",
        "delete",
        "drop",
        "switch_alias",
    )

    def __init__(self, store: VectorStore, dies_at: int, *, after: bool) -> None:
        self.store, self.left, self.after = store, dies_at, after

    def __getattr__(self, name: str) -> Any:
        real = getattr(self.store, name)
        if name not in self.CHANGES:
            return real

        def call(*arguments: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left == 0 and not self.after:
                raise KilledError
            result = real(*arguments, **named)
            if self.left == 0:
                raise KilledError
            return result

        return call


def killed_at(bench: Bench, step: int, act: Callable[[], Any], *, after: bool) -> bool:
    """Run a command that is killed at its n-th change; return False if it has no so many and got through."""
    store = bench.store
    bench.store = Mortal(store, step, after=after)  # type: ignore[assignment]
    try:
        act()
    except KilledError:
        return True
    finally:
        bench.store = store
    return False


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_killed_at_each_step_and_run_again(bench: Bench, monkeypatch: pytest.MonkeyPatch, after: bool) -> None:
    """The end is that of a run that was never disturbed, whichever step was the last one."""
    monkeypatch.setattr("ingest.reingest.BATCH", 5)
    bench.reingest()
    foreign = add_foreign(bench, "gesetze.v1")
    before = bench.whole("gesetze.v1")
    expected = expected_payloads(bench.use(2))

    step = 1
    while killed_at(bench, step, bench.reingest, after=after):
        assert bench.store.aliases()[NAME] in bench.store.collections(), "the alias always stands for something"
        bench.reingest()
        assert len(bench.store.collections()) == 2
        assert [one.state for one in generations(bench.store, NAME)] == ["served", "served"]
        assert {i: p for i, p in bench.points().items() if i not in foreign} == expected
        assert foreign.items() <= bench.whole().items() and bench.store.count(NAME) == len(expected) + len(foreign)
        assert bench.whole("gesetze.v1") == before
        bench.store.switch_alias(NAME, "gesetze.v1")  # and once more from the start
        bench.store.drop(bench.store.collections()[1])
        step += 1
    assert step >= 8
    last = bench.store.aliases()[NAME]

    step = 1
    while killed_at(bench, step, bench.prune, after=after):
        step += 1
    bench.prune()
    assert step == 2 and bench.store.collections() == [last]
    step = 1
    while killed_at(bench, step, bench.back, after=after):
        step += 1
    assert bench.store.aliases() == {NAME: "gesetze.v1"} and bench.whole() == before


def test_a_draft_of_other_sources_is_mended_not_kept(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed in the middle of version 2, and version 3 is there by the time it is run again."""
    monkeypatch.setattr("ingest.reingest.BATCH", 5)
    bench.reingest()
    bench.use(2)
    whole = bench.store
    bench.store = Mortal(whole, 3, after=True)  # type: ignore[assignment]
    with pytest.raises(KilledError):
        bench.reingest()
    bench.store = whole
    bench.use(3)
    assert bench.reingest()["builds"] == "gesetze.v2"
    assert bench.points() == expected_payloads(bench.manifest)


def test_a_draft_of_another_model_is_thrown_away(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.reingest.BATCH", 5)
    bench.reingest()
    bench.use(2)
    whole, first = bench.store, bench.embedder
    bench.store, bench.embedder = Mortal(whole, 3, after=True), Counting(32, "another")  # type: ignore[assignment]
    with pytest.raises(KilledError):
        bench.reingest()
    bench.store, bench.embedder = whole, first
    bench.reingest()
    assert bench.store.collections() == ["gesetze.v1", "gesetze.v3"]
    assert bench.points() == expected_payloads(bench.manifest)


def test_half_a_collection_put_back_is_not_served_and_not_taken_for_a_backup(bench: Bench) -> None:
    before = two_versions(bench)
    bench.prune()
    whole = bench.store
    bench.store = Mortal(whole, 2, after=False)  # type: ignore[assignment]
    with pytest.raises(KilledError):
        bench.back()
    bench.store = whole
    assert bench.store.count("gesetze.v1") == 0 and bench.store.aliases() == {NAME: "gesetze.v2"}
    assert bench.prune()["collections"] == {"gesetze.v1": 0}, "the operator changed their mind"
    assert bench.store.collections() == ["gesetze.v2"]
    assert bench.back()["restored"] == CHUNKS + 3 and bench.whole() == before


FAULTS = [
    Fault("500", "POST", "/collections/aliases"),
    Fault("500_after", "POST", "/collections/aliases"),
    Fault("timeout_before", "POST", "/collections/aliases", seconds=1.5),
    Fault("timeout_after", "POST", "/collections/aliases", seconds=1.5),
    Fault("reset_after", "POST", "/collections/aliases"),
    Fault("dropped_200", "POST", "/collections/aliases"),
    Fault("429", "POST", "/collections/aliases"),
    Fault("html", "POST", "/collections/aliases"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: str(fault.kind))
def test_the_switch_is_certain_whatever_the_server_answers(
    fault: Fault, server: Server, tmp_path: Path, tables: Tables
) -> None:
    with connect_patiently(server) as remote:
        bench = Bench(remote, tables, tmp_path, Counting(64))
        bench.use(1)
        bench.reingest()
        bench.use(2)
        server.faults.add(replace(fault))
        try:
            bench.reingest()
        except FundstelleError:
            assert bench.store.aliases() == {NAME: "gesetze.v1"}
            bench.reingest()
        assert bench.store.aliases() == {NAME: "gesetze.v2"}
        assert bench.points() == expected_payloads(bench.manifest)


def test_the_coexisting_rollback_knows_nothing_of_collections(bench: Bench) -> None:
    two_versions(bench)
    with pytest.raises(UsageError, match="no backup"):
        rollback(bench.store, bench.tables, "gesetze.v2", bench.folder / "backups")


@pytest.mark.parametrize("store", ["http"], indirect=True)
@pytest.mark.parametrize("seed", range(6))
def test_any_order_of_commands_and_kills_serves_one_whole_version(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Whatever happens, the alias leads to all points of one version and every point of no document, bit for bit."""
    monkeypatch.setattr("ingest.reingest.BATCH", 4)
    moments = random.Random(seed)
    versions = {number: expected_payloads(bench.use(number)) for number in range(1, 5)}
    bench.use(1)
    bench.reingest()
    foreign = add_foreign(bench, "gesetze.v1")
    seen, refused = set(), 0
    for _ in range(14):
        act = moments.choice([bench.reingest, bench.reingest, bench.prune, bench.back])
        if act == bench.reingest:
            bench.use(moments.randint(1, 4))
        try:
            if moments.random() < 0.6:
                killed_at(bench, moments.randint(1, 9), act, after=moments.random() < 0.5)
            else:
                act()
        except FundstelleError:
            refused += 1
        whole = bench.whole()
        assert foreign.items() <= whole.items()
        ours = {point_id: held[0] for point_id, held in whole.items() if point_id not in foreign}
        assert ours in versions.values()
        seen.add(next(number for number, expected in versions.items() if expected == ours))
    assert len(seen) > 1 and refused < 10
    bench.use(2)
    bench.reingest()
    bench.prune(ratio=1.0)
    assert len(bench.store.collections()) == 1 and len(bench.points()) == CHUNKS + len(foreign)


# --- As an operator calls it ---------------------------------------------------------------------------------------


def test_the_commands_behind_an_alias(run: Run) -> None:
    manifest = str(EXAMPLES / "manifest.yaml")
    first = ("reingest", "-c", "beispiel", "-m", manifest, "--strategy", "alias")
    assert run(*first, "--dry-run", "--exit-code").code == 5
    done = run(*first)
    assert done.code == 0 and "'beispiel' stands for 'beispiel.v1' now" in done.out
    assert run(*first, "--dry-run", "--exit-code").code == 0
    assert "Nothing to write" in run(*first).out

    refused = run("reingest", "-c", "beispiel", "-m", manifest)
    assert refused.code == 3 and "--strategy alias" in refused.err
    assert run("reingest", "-c", "beispiel.v1", "-m", manifest, "--strategy", "alias").code == 2  # not its manifest
    assert run("verify", "-c", "beispiel", "--json").json["ok"]
    assert run("search", "Radbeauftragter").out.startswith("[Quelle 1: LeihRadG")

    again = run("reingest", "-c", "beispiel", "--strategy", "alias", "--rewrite")
    assert again.code == 0 and "'beispiel.v1' stays for 'rollback' until 'prune'." in again.out
    assert run("controls", "import", str(EXAMPLES / "controls.jsonl")).code == 0
    assert run("relink", "--json").json["outcomes"]["linked"] == 7  # each law once, not once a collection
    assert run("rollback", "-c", "beispiel", "--run", "1").code == 2
    assert run("prune", "-c", "beispiel", "--dry-run", "--json").json["collections"] == {"beispiel.v1": 25}
    assert "beispiel.v1" in run("prune", "-c", "beispiel").out
    back = run("rollback", "-c", "beispiel")
    assert back.code == 0 and "25 points put back" in back.out
    assert "Let 'beispiel' stand for 'beispiel.v1' again" in back.out


def test_a_plain_collection_is_told_what_to_do(run: Run) -> None:
    plain = ("reingest", "-c", "beispiel", "-m", str(EXAMPLES / "manifest.yaml"))
    assert run(*plain).code == 0
    refused = run(*plain, "--strategy", "alias")
    assert refused.code == 3 and "--strategy coexist" in refused.err and len(refused.err.strip().splitlines()) == 1
