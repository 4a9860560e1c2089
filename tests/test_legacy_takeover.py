"""Taking over what older pipelines left: random ids, version "1.0", raw payloads, one unnamed vector, no BM25.

On the embedded engine and over HTTP. Which document an old point is of is told by code, id, short name, name or alias,
and only if that leads to one document: of laws that share their code (AEG, BSIG) none touches the other's points.
"""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables
from backends.vectors.edge import EdgeStore
from backends.vectors.qdrant import connect
from backends.vectors.store import Layout, Point, VectorStore
from ingest.documents import load_file, shared_names
from ingest.manifest import Manifest, read_manifest
from ingest.prune import prune
from ingest.reingest import make_plan, reingest
from ingest.rollback import rollback
from ingest.verify import verify
from normalize.laws import LawTable
from retrieve.search import SearchOptions, search
from tests.payloads import expected_payloads
from tests.qdrant_app import Server
from tests.sentence_gold import bulk_laws
from tests.vectors_fixtures import running_server as running_server
from tests.vectors_fixtures import server as server

EXAMPLES = Path(__file__).parent.parent / "examples"
NAME = "gesetze"
LAWS = LawTable.builtin()
OLD_LAYOUT = Layout(dimension=1024, dense="", sparse=None)
EMBEDDER = HashingEmbedder(1024)


def embedder_for(_dimension: int | None) -> HashingEmbedder:
    return EMBEDDER


@dataclass
class Bench:
    """A collection of an older pipeline with its stores and manifest; each method is one command."""

    store: VectorStore
    tables: Tables
    folder: Path

    def use(self, *entries: str) -> None:
        """Write the manifest; an entry is the lines of one document."""
        listed = "".join("  - " + entry.replace("\n", "\n    ") + "\n" for entry in entries)
        (self.folder / "manifest.yaml").write_text(f"documents:\n{listed}", "utf-8")

    @property
    def manifest(self) -> Manifest:
        return read_manifest(self.folder / "manifest.yaml")

    def put(self, payloads: Sequence[dict[str, Any]]) -> set[str]:
        """Write raw points with random ids and return the ids."""
        if self.store.describe(NAME) is None:
            self.store.create(NAME, OLD_LAYOUT, {}, {})
        rng = np.random.default_rng(self.store.count(NAME))
        vectors = EMBEDDER.embed([str(payload["chunk_text"]) for payload in payloads])
        ids = [str(uuid.UUID(bytes=rng.bytes(16), version=4)) for _ in payloads]
        points = [Point(i, v, None, p) for i, v, p in zip(ids, vectors, payloads, strict=True)]
        self.store.upsert(NAME, points)
        return set(ids)

    def plan(self) -> dict[str, Any]:
        return make_plan(self.store, NAME, self.manifest, LAWS, embedder_for).report()

    def reingest(self) -> dict[str, Any]:
        return reingest(self.store, self.tables, NAME, self.manifest, LAWS, embedder_for)

    def verify(self) -> dict[str, Any]:
        return verify(self.store, self.tables, NAME, self.manifest, LAWS, sample=0.1)

    def prune(self) -> dict[str, Any]:
        return prune(self.store, self.tables, NAME, self.manifest, LAWS, self.folder / "backups")

    def points(self) -> dict[str, dict[str, Any]]:
        return {str(r.id): r.payload for r in self.store.scroll(NAME)}

    def whole(self) -> dict[str, tuple[Any, ...]]:
        """Every point, comparable bit for bit."""
        return {
            str(r.id): (r.payload, None if r.dense is None else r.dense.tobytes(), r.sparse)
            for r in self.store.scroll(NAME, vectors=True)
        }

    def asked(self, question: str) -> list[str]:
        """The printed sources for a question; no norm may be among them twice."""
        found = [
            source.source for source in search(self.store, NAME, EMBEDDER, question, LAWS, SearchOptions(10)).sources
        ]
        assert len(found) == len(set(found))
        return found


@pytest.fixture(params=["edge", "http"])
def bench(request: pytest.FixtureRequest, tmp_path: Path, tables: Tables) -> Iterator[Bench]:
    folder = tmp_path / "sources"
    folder.mkdir()
    if request.param == "edge":
        opened: Any = EdgeStore(tmp_path / "home", 2.0)
    else:
        running: Server = request.getfixturevalue("server")
        opened = connect(running.url, None, 10)
    with opened as store:
        yield Bench(store, tables, folder)


def raw(payload: dict[str, Any], **law: str) -> dict[str, Any]:
    """A payload as the older pipeline wrote it (spec/reingest-contract §3); `law` is how it names the law."""
    sign = "Artikel " if payload["citation_style"] == "article" else "§ "
    section = f"{sign if payload['article'][0].isdigit() else ''}{payload['article']}"
    return {
        **law,
        "section": section,
        "section_title": payload["section_header"],
        "paragraph": f"({payload['paragraph']})" if payload["paragraph"] else None,
        "document_version": "1.0",
        "chunk_text": f"{section} {payload['section_header'] or ''} {payload['chunk_text']}",
    }


def raws(file: Path, **law: str) -> list[dict[str, Any]]:
    return [raw(chunk.payload, **law) for chunk in load_file(file, LAWS).chunks()]


def law_of(bench: Bench, name: str = "leihradgesetz.xml") -> Path:
    file = bench.folder / name
    file.write_bytes((EXAMPLES / name).read_bytes())
    return file


# --- How an old point says whose it is -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "law",
    [
        {"regulation_code": "LEIHRADG"},
        {"regulation_id": "leihradg"},
        {"regulation_short": "LeihRadG"},
        {"regulation_name_de": "Leihradgesetz"},
        {"regulation_id": "leihradg", "regulation_name": "Leihradgesetz", "document_id": "upload-77"},
        {"regulation_id": "BEISPIEL0001"},
        {"document_id": "BEISPIEL0001"},
        {"regulation_id": "leihrad-alt"},
    ],
    ids=str,
)
def test_old_points_are_matched_by_every_name_a_document_has(bench: Bench, law: dict[str, str]) -> None:
    old = bench.put(raws(law_of(bench), **law))
    bench.use("path: leihradgesetz.xml\naliases: [Leihrad-Alt]")
    document = bench.plan()["documents"][0]
    assert (document["old_points"], document["old_versions"]) == (len(old), ["1.0"])
    assert (document["new"], document["obsolete"]) == (0, 0), "the same norms, whatever they are called"


@pytest.mark.parametrize(
    "law",
    [
        {"regulation_id": "satzung"},
        {"regulation_id": "leihradg", "regulation_name_de": "Leihradgesetz Bremen"},
        {"regulation_id": "leihradg", "document_id": "BJNR123450009"},
        {},
    ],
    ids=str,
)
def test_points_that_name_another_law_or_none_stay(bench: Bench, law: dict[str, str]) -> None:
    old = bench.put(raws(law_of(bench), **law))
    bench.use("path: leihradgesetz.xml")
    report = bench.reingest()
    assert report["totals"]["old_points"] == 0 and report["unclaimed"]["points"] == len(old)
    assert bench.verify()["ok"] and bench.prune()["deleted"] == 0
    assert old <= set(bench.points())


# --- The whole way -------------------------------------------------------------------------------------------------


def test_the_whole_way_on_the_layout_that_is_there(bench: Bench) -> None:
    """Plan, write, search between, verify, prune, search after, roll back: the unnamed vector stays the only one."""
    source = law_of(bench)
    old = bench.put(raws(source, regulation_id="leihradg"))
    before = bench.whole()
    bench.use("path: leihradgesetz.xml")
    plan = bench.plan()
    assert plan["warning"] is not None and "does not say which model" in plan["warning"]
    assert plan["totals"]["to_write"] == 14 and plan["totals"]["vectors_reused"] == 0, "raw texts have other vectors"
    assert bench.whole() == before

    bench.reingest()
    about = bench.store.describe(NAME)
    assert about is not None and about.layout == OLD_LAYOUT and "document_id" in about.indexes
    assert before.items() <= bench.whole().items(), "what is old is as it was until prune"
    question = "Ab wann muss ein Radbeauftragter benannt werden?"
    assert bench.asked(question)[0] == "LeihRadG § 3 Abs. 1a"

    assert bench.verify()["ok"] and bench.prune()["deleted"] == len(old)
    assert bench.points() == expected_payloads(bench.manifest)
    assert bench.asked(question)[0] == "LeihRadG § 3 Abs. 1a"
    assert bench.reingest()["written"] == 0
    assert rollback(bench.store, bench.tables, NAME, bench.folder / "backups")["restored"] == len(old)
    assert before.items() <= bench.whole().items()


@pytest.mark.corpus
def test_a_real_law_is_taken_over(bench: Bench, shared: Path) -> None:
    """BDSG of July 2024 as the older pipeline stored it, re-ingested from December; § 12 (5) is gone since."""
    july, december = (shared / f"corpus/gii-xml/bdsg_2024-{month}.xml" for month in ("07", "12"))
    old = bench.put(raws(july, regulation_id="bdsg", regulation_short="BDSG"))
    (bench.folder / "bdsg.xml").write_bytes(december.read_bytes())
    bench.use("path: bdsg.xml")
    document = bench.plan()["documents"][0]
    assert document["examples"]["obsolete"] == {"BDSG § 12 (5)": 1} and document["new"] == 0
    bench.reingest()
    assert "BDSG § 38 Abs. 1" in bench.asked("Was steht in § 38 Abs. 1 BDSG?")
    assert bench.verify()["ok"] and bench.prune()["deleted"] == len(old)
    about = bench.store.describe(NAME)
    assert about is not None and about.layout == OLD_LAYOUT
    assert bench.points() == expected_payloads(bench.manifest)


# --- Same code, two laws -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def railway_acts(shared: Path) -> dict[str, bytes]:
    """Both laws with the code AEG and the name "Allgemeines Eisenbahngesetz": of 1951 (three §§ are left) and 1994."""
    return dict(bulk_laws(shared / "corpus/bulk/gii-xml-all_2024-10.tar.zst", ("aeg", "aeg_1994")))


@pytest.fixture
def twins(bench: Bench, railway_acts: dict[str, bytes]) -> dict[str, Path]:
    """Their files beside the manifest."""
    for name, data in railway_acts.items():
        (bench.folder / f"{name}.xml").write_bytes(data)
    return {name: bench.folder / f"{name}.xml" for name in railway_acts}


@pytest.mark.corpus
@pytest.mark.parametrize(("ingested", "other"), [("aeg", "aeg_1994"), ("aeg_1994", "aeg")])
@pytest.mark.parametrize("named", ["code", "name", "contract"])
def test_reingesting_one_aeg_never_touches_the_other(
    bench: Bench, twins: dict[str, Path], ingested: str, other: str, named: str
) -> None:
    """The other's points are old ones that know the code or the name they share, or new ones with their own id."""
    if named == "contract":
        payloads = [chunk.payload for chunk in load_file(twins[other], LAWS).chunks()]
    elif named == "code":
        payloads = raws(twins[other], regulation_id="aeg", regulation_short="AEG")
    else:
        payloads = raws(twins[other], regulation_id="aeg", regulation_name_de="Allgemeines Eisenbahngesetz")
    bench.put(payloads)
    before = bench.whole()
    bench.use(f"path: {ingested}.xml")
    report = bench.reingest()
    assert report["totals"]["old_points"] == 0 and report["unclaimed"]["points"] == len(payloads)
    assert bench.verify()["ok"] and bench.prune()["deleted"] == 0
    assert before.items() <= bench.whole().items()


@pytest.mark.corpus
def test_both_aeg_side_by_side_keep_apart(bench: Bench, twins: dict[str, Path]) -> None:
    """With both in one manifest an old point of the shared code is of neither; their new points never meet."""
    old = bench.put(raws(twins["aeg_1994"], regulation_id="aeg"))
    bench.use("path: aeg.xml", "path: aeg_1994.xml")
    report = bench.reingest()
    assert report["totals"]["old_points"] == 0 and report["unclaimed"]["by_document"] == {"aeg": len(old)}
    twins["aeg"].write_text(twins["aeg"].read_text("utf-8").replace("Ausgleich", "Ausgleich neu"), "utf-8")
    plan = {d["document_id"]: (d["old_points"], d["to_write"]) for d in bench.plan()["documents"]}
    assert plan["BJNR239600993"] == (0, 0) and plan["BJNR002250951"][0] > 0


@pytest.mark.corpus
def test_an_operator_who_knows_whose_they_are_says_so(bench: Bench, twins: dict[str, Path]) -> None:
    old = bench.put(raws(twins["aeg_1994"], regulation_id="aeg", regulation_name="Allgemeines Eisenbahngesetz"))
    bench.use("path: aeg_1994.xml\naliases: [AEG]")
    assert bench.reingest()["totals"]["old_points"] == len(old)
    assert bench.verify()["ok"] and bench.prune()["deleted"] == len(old)


def test_a_shared_name_of_the_list_is_told_apart_in_any_spelling() -> None:
    assert {"aeg", "bkv", "gbv", "bsig", "allgemeineseisenbahngesetz"} <= shared_names()
    assert not {"bdsg", "bgb", "stgb", "gewo"} & shared_names()


# --- A law in the place of another ---------------------------------------------------------------------------------


@pytest.mark.corpus
def test_bsig_2025_takes_the_place_of_bsig_2009(bench: Bench, shared: Path) -> None:
    """Two laws, one code: the plan says that one replaces the other, and takes its points only if the manifest does."""
    for old in ("bsig-2009_2024-02", "bsig-2025_2026-03"):
        (bench.folder / f"{old}.xml").write_bytes((shared / f"corpus/gii-xml/{old}.xml").read_bytes())
    bench.use("path: bsig-2009_2024-02.xml")
    bench.reingest()
    legacy = bench.put(raws(bench.folder / "bsig-2009_2024-02.xml", regulation_id="bsig"))
    before = set(bench.points())

    bench.use("path: bsig-2025_2026-03.xml")
    plan = bench.plan()
    assert plan["totals"]["old_points"] == 0 and plan["unclaimed"]["points"] == len(before)

    bench.use("path: bsig-2025_2026-03.xml\nreplaces: [BJNR282110009]")
    document = bench.plan()["documents"][0]
    assert document["document_id"] == "BJNR12D0B0025"
    assert document["replaces"] == {"BJNR282110009": len(before) - len(legacy)}
    assert document["old_points"] == len(before) and document["vectors_reused"] == 0
    bench.reingest()
    assert before <= set(bench.points())
    assert bench.verify()["ok"] and bench.prune()["deleted"] == len(before)
    assert bench.points() == expected_payloads(bench.manifest)
