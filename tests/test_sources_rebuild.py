"""Taking over a collection whose sources are gone: old points → files and manifest → reingest → verify → prune."""

import json
import random
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables
from backends.vectors.edge import EdgeStore
from backends.vectors.store import Layout, Point, SparseVector, VectorStore
from ingest.conservation.compare import Stretch, conserve, letters
from ingest.documents import load_file
from ingest.legacy.rebuild import MANIFEST, UNRECOVERED, rebuild_collection
from ingest.legacy.source import rebuild
from ingest.manifest import read_manifest
from ingest.prune import prune
from ingest.reingest import reingest
from ingest.sources.detect import detect_format, read_act
from ingest.sources.legacy import read_legacy, write_legacy
from ingest.verify import verify
from normalize.errors import SourceError, UsageError
from normalize.laws import LawTable

LAWS = LawTable.builtin()
NAME = "alt"
Payload = dict[str, Any]


def embedder_for(dimension: int | None) -> HashingEmbedder:
    return HashingEmbedder(dimension or 64)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EdgeStore]:
    with EdgeStore(tmp_path / "home", 2.0) as opened:
        yield opened


def put(store: VectorStore, payloads: Sequence[Payload]) -> None:
    if store.describe(NAME) is None:
        store.create(NAME, Layout(dimension=64), {}, {})
    rng = np.random.default_rng(7)
    points = [
        Point(
            str(uuid.UUID(bytes=rng.bytes(16), version=4)),
            rng.random(64, np.float32),
            SparseVector((1,), (1.0,)),
            payload,
        )
        for payload in payloads
    ]
    random.Random(7).shuffle(points)
    store.upsert(NAME, points)


def old_points(path: Path) -> list[Payload]:
    """The law as the old pipeline cut and named it: one chunk an Absatz, the number in a field of its own."""
    return [
        {
            "regulation_id": "bdsg",
            "regulation_short": "BDSG",
            "regulation_name": "Bundesdatenschutzgesetz",
            "section": f"§ {chunk.payload['article']}",
            "section_title": chunk.payload["section_header"],
            "paragraph": f"({chunk.payload['paragraph']})" if chunk.payload["paragraph"] else None,
            "document_id": "alt-17",
            "document_version": "1.0",
            "license": "§ 5 UrhG",
            "use_case": ["datenschutz"],
            "chunk_index": index,
            "chunk_text": chunk.payload["chunk_text"],
        }
        for index, chunk in enumerate(load_file(path, LAWS).chunks())
    ]


@pytest.mark.corpus
def test_bdsg_from_old_points_to_new_ones_with_nothing_lost(
    store: EdgeStore, tables: Tables, shared: Path, tmp_path: Path
) -> None:
    payloads = old_points(shared / "corpus/gii-xml/bdsg_2024-12.xml")
    put(store, payloads)
    folder = tmp_path / "wieder"
    report = rebuild_collection(store, NAME, folder, LAWS)
    [document] = report["documents"]
    assert (report["points"], document["points"], document["code"]) == (len(payloads), len(payloads), "BDSG")
    assert document["found_again"] == len(payloads)
    assert sorted(p.name for p in folder.iterdir()) == ["bdsg.jsonl", MANIFEST, UNRECOVERED]

    manifest = read_manifest(folder / MANIFEST)
    assert manifest.collection == NAME
    entry = manifest.documents[0].entry
    assert (entry.format, entry.code, entry.id, entry.license) == ("legacy", "BDSG", "alt-17", "§ 5 UrhG")
    written = reingest(store, tables, NAME, manifest, LAWS, embedder_for)
    assert written["written"] == document["chunks"]
    assert verify(store, tables, NAME, manifest, LAWS, sample=1.0)["ok"]
    pruned = prune(store, tables, NAME, manifest, LAWS, tmp_path / "backups", max_delete_ratio=0.75)
    assert pruned["deleted"] == len(payloads)

    new = sorted((r.payload for r in store.scroll(NAME)), key=lambda payload: payload["chunk_index"])
    assert all(payload["regulation_code"] == "BDSG" for payload in new)
    source = [Stretch(p["chunk_text"], None, p["section"]) for p in payloads]
    found = conserve(source, [payload["chunk_text"] for payload in new])
    assert found.law > 100_000
    assert (found.lost, found.invented) == (0, 0), found.faults[:5]
    by_label = {payload["article_label"]: payload["chunk_text"] for payload in new}
    first = next(p for p in payloads if p["section"] == "§ 38" and p["paragraph"] == "(1)")
    assert letters(by_label["BDSG § 38 Abs. 1"]) == letters(first["chunk_text"])


@pytest.mark.corpus
def test_the_same_points_give_the_same_files_whatever_their_ids(store: EdgeStore, shared: Path, tmp_path: Path) -> None:
    put(store, old_points(shared / "corpus/gii-xml/bdsg_2024-12.xml"))
    rebuild_collection(store, NAME, tmp_path / "a", LAWS)
    rebuild_collection(store, NAME, tmp_path / "b", LAWS)
    for file in ("bdsg.jsonl", MANIFEST, UNRECOVERED):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_points_of_fundstelle_itself_are_left_out(store: EdgeStore, tmp_path: Path) -> None:
    own = {"chunk_id": "a" * 40, "document_id": "BJNR1", "chunk_text": "Es gilt.", "regulation_code": "BDSG"}
    put(store, [own, {"regulation_id": "bdsg", "section": "§ 1", "chunk_text": "Es gilt dies.", "chunk_index": 0}])
    report = rebuild_collection(store, NAME, tmp_path / "wieder", LAWS)
    assert (report["points"], report["contract_points"]) == (1, 1)


def test_two_versions_of_a_law_do_not_take_each_others_points(store: EdgeStore, tables: Tables, tmp_path: Path) -> None:
    """No point is pruned before someone says which version holds."""
    made = [
        {
            "regulation_id": "bdsg", "section": f"§ {n}", "chunk_text": f"Es gilt Fassung {version}, Nummer {n}.",
            "chunk_index": n, "document_id": "d", "document_version": version,
        }
        for version in ("1.0", "2.0")
        for n in range(3)
    ]  # fmt: skip
    put(store, made)
    report = rebuild_collection(store, NAME, tmp_path / "wieder", LAWS)
    assert [d["one_of_many"] for d in report["documents"]] == [True, True]
    assert len({d["document_id"] for d in report["documents"]}) == 2
    manifest = read_manifest(tmp_path / "wieder" / MANIFEST)
    reingest(store, tables, NAME, manifest, LAWS, embedder_for)
    verify(store, tables, NAME, manifest, LAWS, sample=1.0)
    prune(store, tables, NAME, manifest, LAWS, tmp_path / "backups", max_delete_ratio=1.0)
    assert store.count(NAME) == 12


def test_what_names_no_law_is_written_but_not_ingested_unasked(store: EdgeStore, tmp_path: Path) -> None:
    put(
        store,
        [
            {"section": "§ 1", "chunk_text": "Niemand weiß, wovon dies handelt.", "document_id": "x", "chunk_index": 0},
            {"regulation_id": "bdsg", "section": "§ 1", "chunk_text": "Es gilt dies.", "chunk_index": 0},
            {"regulation_id": "bdsg", "section": "§ 2", "chunk_text": "  ", "chunk_index": 1},
        ],
    )
    report = rebuild_collection(store, NAME, tmp_path / "wieder", LAWS)
    manifest = read_manifest(tmp_path / "wieder" / MANIFEST)
    assert [d.entry.code for d in manifest.documents] == ["BDSG"]
    text = (tmp_path / "wieder" / MANIFEST).read_text("utf-8")
    assert "#- path: x.jsonl" in text
    assert "Niemand weiß" in (tmp_path / "wieder" / "x.jsonl").read_text("utf-8")
    lost = [json.loads(line) for line in (tmp_path / "wieder" / UNRECOVERED).read_text("utf-8").splitlines()]
    assert {(row["file"], row["field"], row["reason"]) for row in lost} >= {
        ("bdsg.jsonl", "chunk_text", "the chunk has no text")
    }
    assert all(row["point"] for row in lost if row["field"] == "chunk_text")
    assert report["unrecovered"]["chunk_text"] == 1


def test_nothing_is_written_over(store: EdgeStore, tmp_path: Path) -> None:
    put(store, [{"regulation_id": "bdsg", "section": "§ 1", "chunk_text": "Es gilt dies.", "chunk_index": 0}])
    (tmp_path / "notiz.txt").write_text("wichtig")
    with pytest.raises(UsageError, match="not empty"):
        rebuild_collection(store, NAME, tmp_path, LAWS)
    with pytest.raises(UsageError, match="no collection 'fehlt'"):
        rebuild_collection(store, "fehlt", tmp_path / "neu", LAWS)


# --- The format ----------------------------------------------------------------------------------------------------


ROWS = [
    {
        "regulation_id": "bdsg",
        "section": "§ 1",
        "section_title": "Zweck",
        "chunk_text": "(1) Dies\u2028gilt.",
        "page": 3,
    },
    {
        "regulation_id": "bdsg",
        "section": "§ 2",
        "paragraph": "(2)",
        "chunk_text": "Und dies gilt auch.",
        "chunk_index": 1,
    },
]


def test_an_act_is_written_and_read_back() -> None:
    [rebuilt] = rebuild(ROWS)
    data = write_legacy(rebuilt.act)
    assert detect_format(data, "x.jsonl").name == "legacy"
    assert read_act(data, "x.jsonl", "legacy")[0] == rebuilt.act


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: data[: data.index(b"\n") + 1], "without provisions"),
        (lambda data: data[:-20], "is no JSON"),
        (lambda data: data.replace(b"legacy-1", b"legacy-9"), "expected 'fundstelle-legacy-1'"),
        (lambda data: data.replace(b'"heading"', b'"title"'), "line 2: heading: Field required"),
        (lambda data: data.replace(b'"page": 3', b'"page": "3"'), "absaetze.0.blocks.0.page"),
        (lambda data: data.replace(b'"norm"', b'"law"', 1), "line 2: kind"),
        (lambda data: data.replace(b"gilt", b"g\xfflt", 1), "is not UTF-8"),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(change: Any, reason: str) -> None:
    [rebuilt] = rebuild(ROWS)
    with pytest.raises(SourceError, match=reason) as refused:
        read_legacy(change(write_legacy(rebuilt.act)), "x.jsonl")
    assert "\n" not in str(refused.value)
