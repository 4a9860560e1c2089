"""The gated re-ingest on the real engines: plan, write, verify, prune; what it never does, and how it heals.

Small cases run on the example law, versions and take-over on the BDSG of the corpus.
"""

import shutil
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables
from backends.tables.locks import collection_lock
from backends.tables.runs import document_states
from backends.vectors.edge import EdgeStore
from backends.vectors.store import Layout, Point, SparseVector, VectorStore
from ingest.backup import read_backup, write_backup
from ingest.documents import load, load_file
from ingest.manifest import Manifest, read_manifest
from ingest.prune import prune
from ingest.reingest import make_plan, reingest
from ingest.rollback import rollback
from ingest.verify import verify
from normalize.analyzer import VERSION
from normalize.errors import GateError, LockedError, SourceError, StoreError, UsageError
from normalize.laws import LawTable
from tests.payloads import expected_payloads

EXAMPLES = Path(__file__).parent.parent / "examples"
NAME = "gesetze"
LAWS = LawTable.builtin()


def embedder_for(dimension: int | None) -> HashingEmbedder:
    return HashingEmbedder(dimension or 64)


@dataclass
class Bench:
    """A collection with its stores and manifest; each method is one command."""

    store: VectorStore
    tables: Tables
    folder: Path
    manifest: Manifest

    def use(self, *files: Path, extra: str = "") -> None:
        for file in files:
            shutil.copy(file, self.folder / file.name)
        entries = "".join(f"  - path: {file.name}\n{extra}" for file in files)
        (self.folder / "manifest.yaml").write_text(f"documents:\n{entries}", "utf-8")
        self.manifest = read_manifest(self.folder / "manifest.yaml")

    def plan(self) -> dict[str, Any]:
        return make_plan(self.store, NAME, self.manifest, LAWS, embedder_for).report()

    def reingest(self) -> dict[str, Any]:
        return reingest(self.store, self.tables, NAME, self.manifest, LAWS, embedder_for)

    def verify(self, sample: float = 1.0) -> dict[str, Any]:
        return verify(self.store, self.tables, NAME, self.manifest, LAWS, sample=sample)

    def prune(self, ratio: float = 0.75, *, dry_run: bool = False) -> dict[str, Any]:
        backups = self.folder / "backups"
        return prune(
            self.store, self.tables, NAME, self.manifest, LAWS, backups, max_delete_ratio=ratio, dry_run=dry_run
        )

    def points(self) -> dict[str, dict[str, Any]]:
        return {str(r.id): r.payload for r in self.store.scroll(NAME)}

    def rewrite(self, point_id: str, **changes: object) -> None:
        payload = self.points()[point_id] | changes
        self.store.overwrite_payloads(NAME, {point_id: payload})


@pytest.fixture
def bench(tmp_path: Path, tables: Tables) -> Iterator[Bench]:
    with EdgeStore(tmp_path / "home", 2.0) as store:
        folder = tmp_path / "sources"
        folder.mkdir()
        made = Bench(store, tables, folder, Manifest(folder, None, ()))
        made.use(EXAMPLES / "leihradgesetz.xml")
        yield made


def put(bench: Bench, payloads: Sequence[dict[str, Any]], layout: Layout | None = None) -> list[str]:
    """Write raw points with random ids, as an older pipeline did, and return the ids."""
    layout = layout or Layout(dimension=64)
    if bench.store.describe(NAME) is None:
        bench.store.create(NAME, layout, {}, {})
    sparse = SparseVector((1,), (1.0,)) if layout.sparse else None
    rng = np.random.default_rng(bench.store.count(NAME))
    points = [
        Point(str(uuid.UUID(bytes=rng.bytes(16), version=4)), rng.random(layout.dimension, np.float32), sparse, payload)
        for payload in payloads
    ]
    bench.store.upsert(NAME, points)
    return [str(point.id) for point in points]


# --- A first run ---------------------------------------------------------------------------------------------------


def test_a_first_run_writes_every_chunk_with_its_own_id(bench: Bench) -> None:
    report = bench.reingest()
    expected = expected_payloads(bench.manifest)
    assert report["written"] == report["vectors_computed"] == len(expected) == 14
    assert bench.points() == expected


def test_a_plan_writes_nothing(bench: Bench) -> None:
    assert bench.plan()["totals"]["new"] == 14
    assert bench.store.collections() == []


def test_a_second_run_writes_and_computes_nothing(bench: Bench) -> None:
    bench.reingest()
    before = bench.points()
    report = bench.reingest()
    assert (report["written"], report["rewritten"], report["vectors_computed"]) == (0, 0, 0)
    assert report["totals"]["unchanged"] == 14 and bench.points() == before


def test_lost_points_are_found_and_written_again(bench: Bench) -> None:
    """The ledger says uploaded, the store lost some: the store is the truth (langchain#39937)."""
    bench.reingest()
    before = bench.points()
    bench.store.delete(NAME, sorted(before)[:5])
    assert document_states(bench.tables, NAME)["BEISPIEL0001"].state == "uploaded"
    assert bench.reingest()["written"] == 5
    assert bench.points() == before


def test_metadata_alone_rewrites_payloads_and_embeds_nothing(bench: Bench) -> None:
    bench.reingest()
    bench.use(EXAMPLES / "leihradgesetz.xml", extra="    license: neu\n")
    report = bench.reingest()
    assert (report["written"], report["rewritten"], report["vectors_computed"]) == (0, 14, 0)
    assert {p["license"] for p in bench.points().values()} == {"neu"}


def test_an_error_in_one_document_stops_the_run_before_the_first_write(bench: Bench) -> None:
    bench.use(EXAMPLES / "leihradgesetz.xml", EXAMPLES / "ladesaeulen-verordnung.xml")
    (bench.folder / "ladesaeulen-verordnung.xml").write_text("<html>Not found</html>")
    with pytest.raises(Exception, match="HTML page"):
        bench.reingest()
    assert bench.store.collections() == []


def test_another_model_is_refused(bench: Bench) -> None:
    bench.reingest()

    class Other(HashingEmbedder):
        pass

    other = Other(64)
    other.model = "other-model"
    with pytest.raises(GateError, match="was written with hashing"):
        reingest(bench.store, bench.tables, NAME, bench.manifest, LAWS, lambda _: other)


def test_another_analyzer_is_refused(bench: Bench) -> None:
    bench.reingest()
    bench.store.set_metadata(NAME, {"analyzer": "bm25-0"})
    with pytest.raises(GateError, match="bm25-0"):
        bench.reingest()


def test_terms_of_which_nobody_says_whose_they_are_are_told_of(bench: Bench) -> None:
    put(bench, OLD)
    assert "which analyzer made its BM25 terms" in str(bench.plan()["warning"])
    bench.reingest()
    about = bench.store.describe(NAME)
    assert about is not None and about.analyzer == VERSION
    assert bench.plan()["warning"] is None


def test_a_second_writer_is_refused(bench: Bench) -> None:
    with collection_lock(bench.tables, NAME), pytest.raises(LockedError, match=NAME):
        bench.reingest()


# --- Verify --------------------------------------------------------------------------------------------------------


def failed(report: dict[str, Any]) -> list[str]:
    return [check["name"] for check in report["checks"] if check["failed"]]


def test_verify_passes_and_gives_one_receipt_however_often(bench: Bench) -> None:
    bench.reingest()
    first, second = bench.verify(), bench.verify()
    assert first["ok"] and first["receipt"] == second["receipt"]
    assert document_states(bench.tables, NAME)["BEISPIEL0001"].state == "verified"


def test_verify_finds_a_lost_chunk(bench: Bench) -> None:
    bench.reingest()
    bench.store.delete(NAME, sorted(bench.points())[:1])
    report = bench.verify()
    assert not report["ok"] and report["receipt"] is None
    assert "every chunk is in the store" in failed(report)


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"article_label": "LeihRadG § 99"}, "hash and payload are as the source gives them"),
        ({"chunk_hash": "0" * 64}, "hash and payload are as the source gives them"),
        ({"chunk_text": "Gefälscht."}, "sampled points are whole (contract, source, vectors)"),
        ({"units": []}, "sampled points are whole (contract, source, vectors)"),
        ({"article": None}, "article and label are filled"),
        ({"article_label": None}, "article and label are filled"),
    ],
)
def test_verify_finds_a_changed_payload(bench: Bench, changes: dict[str, Any], check: str) -> None:
    bench.reingest()
    victim = next(i for i, p in sorted(bench.points().items()) if p["article_label"] == "LeihRadG § 3 Abs. 1")
    bench.rewrite(victim, **changes)
    assert check in failed(bench.verify())


def test_verify_of_a_collection_that_is_not_there(bench: Bench) -> None:
    with pytest.raises(GateError, match="no collection"):
        bench.verify()


# --- Prune ---------------------------------------------------------------------------------------------------------

OLD = [
    {"regulation_id": "leihradg", "section": "§ 1", "paragraph": "(1)", "document_version": "1.0", "chunk_text": "alt"},
    {"regulation_id": "LeihRadG", "section": "§ 8", "paragraph": "(1)", "document_version": "1.0", "chunk_text": "alt"},
]
FOREIGN = {"regulation_id": "satzung", "section": "§ 1", "paragraph": "(1)", "chunk_text": "fremd"}


def test_prune_without_a_receipt_is_refused(bench: Bench) -> None:
    old = put(bench, OLD)
    bench.reingest()
    with pytest.raises(GateError, match="no receipt"):
        bench.prune()
    assert set(old) <= set(bench.points())


def test_old_points_stay_until_prune_and_foreign_points_for_ever(bench: Bench) -> None:
    old = put(bench, OLD)
    foreign = put(bench, [FOREIGN])
    report = bench.reingest()
    assert report["totals"]["old_points"] == 2
    assert report["documents"][0]["examples"]["obsolete"] == {"LeihRadG § 8 (1)": 1}
    assert report["unclaimed"] == {"points": 1, "by_document": {"satzung": 1}}
    assert bench.verify()["ok"]
    assert set(old) <= set(bench.points())
    assert bench.prune(dry_run=True)["to_delete"] == 2
    pruned = bench.prune()
    assert pruned["deleted"] == 2 and pruned["kept"] == 14
    assert not set(old) & set(bench.points()) and set(foreign) <= set(bench.points())
    assert document_states(bench.tables, NAME)["BEISPIEL0001"].state == "pruned"
    bench.verify()
    assert bench.prune()["deleted"] == 0


def test_rollback_puts_the_old_points_back_unchanged(bench: Bench) -> None:
    old = put(bench, OLD)
    before = {str(r.id): r for r in bench.store.retrieve(NAME, old, vectors=True)}
    bench.reingest()
    bench.verify()
    bench.prune()
    report = rollback(bench.store, bench.tables, NAME, bench.folder / "backups")
    assert report["restored"] == 2
    after = {str(r.id): r for r in bench.store.retrieve(NAME, old, vectors=True)}
    assert {i: r.payload for i, r in after.items()} == {i: r.payload for i, r in before.items()}
    for point_id, record in before.items():
        dense = after[point_id].dense
        assert record.dense is not None and dense is not None
        np.testing.assert_allclose(dense, record.dense, rtol=1e-6)
        assert after[point_id].sparse == record.sparse


def test_a_receipt_of_other_sources_is_refused(bench: Bench) -> None:
    put(bench, OLD)
    bench.reingest()
    bench.verify()
    source = bench.folder / "leihradgesetz.xml"
    source.write_text(source.read_text("utf-8").replace("zwei Jahre lang", "drei Jahre lang"), "utf-8")
    with pytest.raises(GateError, match="nothing was deleted"):
        bench.prune()


def test_a_point_written_since_the_receipt_is_not_deleted(bench: Bench) -> None:
    """Writes during the run are seen: everything is compared again right before the delete (migration PR#287)."""
    put(bench, OLD)
    bench.reingest()
    bench.verify()
    put(bench, [OLD[0] | {"paragraph": "(7)"}, OLD[0], OLD[0]])
    with pytest.raises(GateError, match="changed since the receipt"):
        bench.prune()


def test_a_new_point_lost_since_the_receipt_stops_the_prune(bench: Bench) -> None:
    put(bench, OLD)
    bench.reingest()
    bench.verify()
    lost = next(i for i, p in sorted(bench.points().items()) if p.get("article_label") == "LeihRadG § 6")
    bench.store.delete(NAME, [lost])
    with pytest.raises(GateError, match="every chunk is in the store"):
        bench.prune()


def test_the_brake_on_deleting_too_much(bench: Bench) -> None:
    put(bench, OLD)
    bench.reingest()
    bench.verify()
    with pytest.raises(GateError, match="max-delete-ratio"):
        bench.prune(ratio=0.1)
    assert bench.prune(ratio=0.5)["deleted"] == 2


# --- Who owns an old point -----------------------------------------------------------------------------------------


def test_another_law_of_the_same_code_is_not_touched(bench: Bench) -> None:
    """13 codes name two laws each (DESIGN §4): the other law's chunks carry another document id."""
    other = [replace_id(c.payload) for c in load_file(EXAMPLES / "leihradgesetz.xml", LAWS).chunks()]
    put(bench, other)
    report = bench.reingest()
    assert report["totals"]["old_points"] == 0
    assert report["unclaimed"]["by_document"] == {"ANDERES_GESETZ": 14}


def replace_id(payload: dict[str, Any]) -> dict[str, Any]:
    return payload | {"document_id": "ANDERES_GESETZ"}


def test_old_points_of_two_documents_under_one_code_belong_to_none(bench: Bench) -> None:
    put(bench, [OLD[0] | {"document_id": "upload-1"}, OLD[1] | {"document_id": "upload-2"}])
    report = bench.reingest()
    assert report["totals"]["old_points"] == 0 and report["unclaimed"]["points"] == 2


def test_a_code_that_leads_to_two_documents_of_the_manifest_claims_nothing(bench: Bench) -> None:
    bench.use(EXAMPLES / "leihradgesetz.xml", EXAMPLES / "ladesaeulen-verordnung.xml", extra="    aliases: [doppelt]\n")
    put(bench, [{"regulation_id": "doppelt", "section": "§ 1", "chunk_text": "alt"}])
    assert bench.reingest()["unclaimed"]["by_document"] == {"doppelt": 1}


def test_a_law_that_replaces_another_takes_its_points_over(bench: Bench) -> None:
    put(bench, [replace_id(c.payload) for c in load_file(EXAMPLES / "leihradgesetz.xml", LAWS).chunks()])
    bench.use(EXAMPLES / "leihradgesetz.xml", extra="    replaces: [ANDERES_GESETZ]\n")
    assert bench.reingest()["totals"]["old_points"] == 14


def test_an_existing_layout_is_respected(bench: Bench) -> None:
    """An unnamed vector of the old pipeline's size, without BM25: kept as it is."""
    layout = Layout(dimension=32, dense="", sparse=None)
    put(bench, OLD, layout)
    assert bench.plan()["warning"] is not None
    bench.reingest()
    about = bench.store.describe(NAME)
    assert about is not None and about.layout == layout and about.metadata["embedder"] == "hashing-1-32"
    assert bench.verify()["ok"]


# --- Versions of a real law ----------------------------------------------------------------------------------------


@pytest.mark.corpus
def test_bdsg_taken_over_from_legacy_payloads(bench: Bench, shared: Path) -> None:
    """2024-07 as the old pipeline stored it, re-ingested from 2024-12 (issue: seen working)."""
    july = load_file(shared / "corpus/gii-xml/bdsg_2024-07.xml", LAWS)
    old = put(bench, [legacy(c.payload) for c in july.chunks()])
    bench.use(shared / "corpus/gii-xml/bdsg_2024-12.xml")
    plan = bench.plan()["documents"][0]
    assert plan["examples"]["obsolete"] == {"BDSG § 12 (5)": 1}  # lost under an unchanged `Stand` (corpus README 9)
    assert plan["old_points"] == len(old) and plan["new"] == 0
    bench.reingest()
    assert set(old) <= set(bench.points())
    with pytest.raises(GateError, match="no receipt"):
        bench.prune()
    assert bench.verify(sample=0.1)["ok"]
    assert set(old) <= set(bench.points())
    assert bench.prune()["deleted"] == len(old)
    labels = {p["article_label"] for p in bench.points().values()}
    assert "BDSG § 38 Abs. 1" in labels and "BDSG § 12 Abs. 5" not in labels


def legacy(payload: dict[str, Any]) -> dict[str, Any]:
    return {
        "regulation_id": "bdsg",
        "regulation_short": "BDSG",
        "section": f"§ {payload['article']}",
        "section_title": payload["section_header"],
        "paragraph": f"({payload['paragraph']})" if payload["paragraph"] else None,
        "document_version": "1.0",
        "chunk_text": payload["chunk_text"],
    }


@pytest.mark.corpus
def test_a_new_version_reuses_the_vectors_of_unchanged_norms(bench: Bench, shared: Path) -> None:
    july, december = (shared / f"corpus/gii-xml/bdsg_2024-{month}.xml" for month in ("07", "12"))
    bench.use(july)
    bench.reingest()
    bench.use(december)
    plan = bench.plan()["documents"][0]
    assert plan["examples"]["obsolete"] == {"BDSG § 12 Abs. 5": 1}
    report = bench.reingest()
    assert report["vectors_computed"] < 20 < report["totals"]["vectors_reused"]
    assert bench.verify()["ok"] and bench.prune()["deleted"] == plan["old_points"]
    expected = {c.point_id for c in load_file(december, LAWS).chunks()}
    assert set(bench.points()) == expected
    fresh = {c.point_id: c for c in load_file(december, LAWS).chunks()}
    some = sorted(expected)[:40]
    for record in bench.store.retrieve(NAME, some, vectors=True):
        made = embedder_for(64).embed([fresh[str(record.id)].embed_text])[0]
        assert record.dense is not None
        np.testing.assert_allclose(record.dense, made, atol=1e-6)


def test_unknown_backups(bench: Bench) -> None:
    with pytest.raises(UsageError, match="no backup"):
        rollback(bench.store, bench.tables, NAME, bench.folder / "backups")


# --- What a safety review found ------------------------------------------------------------------------------------


def test_old_points_that_name_another_law_of_the_same_code_stay(bench: Bench) -> None:
    """DESIGN §4: a code may name two laws, of which the manifest knows one."""
    put(bench, [OLD[0] | {"regulation_name_de": "Landesleihradgesetz Bremen"}])
    put(bench, [OLD[1] | {"document_id": "BJNR999999999"}])
    report = bench.reingest()
    assert report["totals"]["old_points"] == 0 and report["unclaimed"]["points"] == 2


def test_a_repealed_law_of_the_same_code_makes_the_code_ambiguous(bench: Bench) -> None:
    head = "<norm><metadaten><jurabk>LeihRadG</jurabk><amtabk>LeihRadG</amtabk></metadaten></norm>"
    gone = "<norm><metadaten><jurabk>LeihRadG</jurabk><enbez>§ 1</enbez></metadaten><textdaten><text><Content><P>-</P>"
    tail = "</Content></text></textdaten></norm></dokumente>"
    (bench.folder / "alt.xml").write_text(f'<dokumente doknr="ALT">{head}{gone}{tail}', "utf-8")
    (bench.folder / "manifest.yaml").write_text("documents:\n  - glob: '*.xml'\n", "utf-8")
    bench.manifest = read_manifest(bench.folder / "manifest.yaml")
    put(bench, OLD)
    assert bench.reingest()["totals"]["old_points"] == 0
    assert bench.verify()["ok"] and bench.prune()["deleted"] == 0


def test_a_new_label_gets_new_vectors(bench: Bench) -> None:
    bench.reingest()
    bench.use(EXAMPLES / "leihradgesetz.xml", extra="    code: LEIHRADG\n    short: LRG\n")
    report = bench.reingest()
    assert (report["written"], report["vectors_computed"]) == (14, 14)
    fresh = {c.point_id: c for c in load(bench.manifest.documents[0], LAWS).chunks()}
    for record in bench.store.retrieve(NAME, sorted(fresh), vectors=True):
        made = embedder_for(64).embed([fresh[str(record.id)].embed_text])[0]
        assert record.dense is not None
        np.testing.assert_allclose(record.dense, made, atol=1e-6)


def test_rewrite_heals_what_another_program_changed(bench: Bench) -> None:
    bench.reingest()
    victim = sorted(bench.points())[0]
    bench.rewrite(victim, chunk_text="", platform_tag=1)
    assert not bench.verify()["ok"]
    reingest(bench.store, bench.tables, NAME, bench.manifest, LAWS, embedder_for, rewrite_all=True)
    assert bench.verify()["ok"]


def test_a_backup_is_never_overwritten_and_a_cut_one_is_refused(bench: Bench) -> None:
    put(bench, OLD)
    bench.reingest()
    bench.verify()
    backup = Path(bench.prune()["backup"])
    with pytest.raises(StoreError, match="already"):
        write_backup(backup, [])
    whole = backup.read_bytes()
    for size in (0, 3, len(whole) // 2, len(whole) - 4):
        backup.write_bytes(whole[:size])
        with pytest.raises(SourceError, match=r"cut off|cannot be read"):
            list(read_backup(backup))
    backup.write_bytes(whole)
    assert rollback(bench.store, bench.tables, NAME, bench.folder / "backups")["restored"] == 2
    assert document_states(bench.tables, NAME)["BEISPIEL0001"].state == "rolled_back"
