"""Citation edges: certain, resolved against what the manifest holds, and there as soon as the cited law arrives."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables
from backends.vectors.edge import EdgeStore
from backends.vectors.store import VectorStore
from ingest.gather import nothing, survey
from ingest.manifest import Manifest, read_manifest
from ingest.prune import prune
from ingest.reingest import make_plan, reingest
from ingest.verify import verify
from normalize.edges import article_key, bare_article, norm_key, split_key
from normalize.errors import SourceError
from normalize.laws import LawTable
from tests.payloads import chunks_of, expected_payloads
from tests.sentence_gold import bulk_laws

LAWS = LawTable.builtin()
AGG, BDSG, DSGVO, TDDDG = "BJNR189710006", "BJNR209710017", "32016R0679", "BJNR198210021"
FILES = {
    AGG: "gii-xml/agg_2024-12.xml",
    BDSG: "gii-xml/bdsg_2024-12.xml",
    TDDDG: "gii-xml/tdddg_2026-03.xml",
    DSGVO: "eurlex-de/dsgvo_32016R0679_DE_formex_L_2016119DE.01000101.xml",
}


def manifest_of(shared: Path, folder: Path, *documents: str) -> Manifest:
    lines = "".join(f"  - path: {FILES[document]}\n" for document in documents)
    path = folder / f"{'-'.join(documents)}.yaml"
    path.write_text(f"root: {shared / 'corpus'}\ndocuments:\n{lines}", "utf-8")
    return read_manifest(path)


@pytest.fixture(scope="module")
def chunks(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    manifest = manifest_of(shared, tmp_path_factory.mktemp("edges"), AGG, BDSG, TDDDG, DSGVO)
    return list(expected_payloads(manifest).values())


@pytest.fixture
def payloads(chunks: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {payload["article_label"]: payload for payload in chunks}


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("label", "cites"),
    [
        ("BDSG § 38 Abs. 1", [f"{DSGVO}|37|1", f"{DSGVO}|35|"]),  # "die Verordnung (EU) 2016/679", by its number
        ("AGG § 15 Abs. 4", [f"{AGG}|15|1", f"{AGG}|15|2"]),  # "Absatz 1 oder 2": of this norm
        ("AGG § 7 Abs. 1", [f"{AGG}|1|"]),
        ("Art. 78 Abs. 2 DSGVO", [f"{DSGVO}|55|", f"{DSGVO}|56|", f"{DSGVO}|77|"]),
        ("BDSG § 3", []),
    ],
)
def test_what_a_norm_cites(payloads: dict[str, dict[str, Any]], label: str, cites: list[str]) -> None:
    assert payloads[label]["references_out"] == cites


@pytest.mark.corpus
def test_a_norm_is_cited_by_its_absatz_and_by_its_article(payloads: dict[str, dict[str, Any]]) -> None:
    assert f"{BDSG}|38|1" in payloads["Art. 37 Abs. 1 DSGVO"]["references_in"]
    assert f"{BDSG}|38|1" not in payloads["Art. 37 Abs. 2 DSGVO"]["references_in"]
    for paragraph in ("1", "2", "3"):  # § 38 cites Art. 35 as a whole
        assert f"{BDSG}|38|1" in payloads[f"Art. 35 Abs. {paragraph} DSGVO"]["references_in"]


@pytest.mark.corpus
def test_ranges_are_expanded_by_what_the_law_has(shared: Path, tmp_path: Path) -> None:
    """BDSG § 1 Abs. 4 Satz 3 excludes norms by a range; every norm between its ends has an edge."""
    found = {p["article_label"]: p for p in expected_payloads(manifest_of(shared, tmp_path, BDSG)).values()}
    cited = found["BDSG § 1 Abs. 4"]["references_out"]
    articles = [split_key(key)[1] for key in cited]
    assert {"8", "9", "10", "11", "12", "13", "14", "15", "16"} <= set(articles)


@pytest.mark.corpus
def test_references_in_is_the_inverse_of_references_out(chunks: list[dict[str, Any]]) -> None:
    cited_by: dict[str, set[str]] = {}
    for payload in chunks:
        for key in payload["references_out"]:
            cited_by.setdefault(key, set()).add(norm_key(payload) or "")
    edges = 0
    for payload in chunks:
        own = norm_key(payload) or ""
        expected = (cited_by.get(own, set()) | cited_by.get(article_key(own), set())) - {own}
        assert set(payload["references_in"]) == expected, payload["article_label"]
        assert len(payload["references_in"]) == len(expected)
        edges += len(payload["references_out"])
    assert edges > 1000


@pytest.mark.corpus
def test_an_edge_leads_to_a_norm_that_is_there(chunks: list[dict[str, Any]]) -> None:
    keys = {norm_key(p) for p in chunks}
    keys |= {article_key(key) for key in keys if key is not None}
    assert {key for p in chunks for key in p["references_out"]} <= keys


def embedder_for(dimension: int | None) -> HashingEmbedder:
    return HashingEmbedder(dimension or 64)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VectorStore]:
    with EdgeStore(tmp_path / "home", 2.0) as edge:
        yield edge


@pytest.mark.corpus
def test_a_law_that_arrives_later_gives_its_edges_to_all(
    shared: Path, tmp_path: Path, store: VectorStore, tables: Tables
) -> None:
    before, after = manifest_of(shared, tmp_path, AGG, BDSG), manifest_of(shared, tmp_path, AGG, BDSG, DSGVO)
    reingest(store, tables, "laws", before, LAWS, embedder_for)
    plan = {d.expected.names.document_id: d for d in make_plan(store, "laws", after, LAWS, embedder_for).documents}
    assert not plan[BDSG].write and len(plan[BDSG].rewrite) > 20  # payloads only, no vector
    assert not plan[AGG].write and not plan[AGG].rewrite  # cites no EU law
    report = reingest(store, tables, "laws", after, LAWS, embedder_for)
    assert report["vectors_computed"] == len(plan[DSGVO].write) == report["written"]
    assert {str(r.id): r.payload for r in store.scroll("laws")} == expected_payloads(after)
    assert verify(store, tables, "laws", after, LAWS, sample=1.0)["ok"]
    assert reingest(store, tables, "laws", after, LAWS, embedder_for)["rewritten"] == 0


@pytest.mark.corpus
def test_verify_sees_an_edge_that_the_sources_do_not_give(
    shared: Path, tmp_path: Path, store: VectorStore, tables: Tables
) -> None:
    manifest = manifest_of(shared, tmp_path, AGG)
    reingest(store, tables, "laws", manifest, LAWS, embedder_for)
    point, payload = next(iter(expected_payloads(manifest).items()))
    store.overwrite_payloads("laws", {point: payload | {"references_in": [f"{BDSG}|1|"]}})
    assert not verify(store, tables, "laws", manifest, LAWS, sample=0.0)["ok"]
    reingest(store, tables, "laws", manifest, LAWS, embedder_for)
    assert verify(store, tables, "laws", manifest, LAWS)["ok"]
    assert prune(store, tables, "laws", manifest, LAWS, tmp_path / "backups")["deleted"] == 0


TWIN = """<?xml version="1.0" encoding="UTF-8"?>
<dokumente builddate="20240101000000" doknr="{number}"><norm doknr="{number}"><metadaten><jurabk>{key}</jurabk>
<amtabk>ZWG</amtabk><langue>{name}</langue></metadaten></norm>
<norm doknr="{number}BJNE000100000"><metadaten><jurabk>{key}</jurabk><amtabk>ZWG</amtabk><enbez>§ 1</enbez></metadaten>
<textdaten><text format="XML"><Content><P>Es gilt § 2.</P></Content></text></textdaten></norm>
<norm doknr="{number}BJNE000200000"><metadaten><jurabk>{key}</jurabk><amtabk>ZWG</amtabk><enbez>§ 2</enbez></metadaten>
<textdaten><text format="XML"><Content><P>Ausnahmen regelt § 1 ZWG.</P></Content></text></textdaten></norm>
</dokumente>"""


def test_two_laws_of_one_code_keep_to_themselves_and_their_shared_name_leads_nowhere(tmp_path: Path) -> None:
    for number, name in (("BJNR000010001", "Zwillingsgesetz Nord"), ("BJNR000020002", "Zwillingsgesetz Süd")):
        text = TWIN.format(number=number, key=f"ZWG {number[-1]}", name=name)
        (tmp_path / f"{number}.xml").write_text(text, "utf-8")
    path = tmp_path / "manifest.yaml"
    path.write_text("documents:\n  - path: BJNR000010001.xml\n  - path: BJNR000020002.xml\n", "utf-8")
    found = expected_payloads(read_manifest(path)).values()
    assert {norm_key(p): p["references_out"] for p in found} == {
        "BJNR000010001|1|": ["BJNR000010001|2|"],
        "BJNR000010001|2|": [],
        "BJNR000020002|1|": ["BJNR000020002|2|"],
        "BJNR000020002|2|": [],
    }
    counts = survey(read_manifest(path), LAWS, nothing).edges.counts
    assert (counts["edges"], counts["resolved"]) == (2, 2)


@pytest.mark.corpus
def test_real_laws_of_one_code_are_told_apart_by_name(shared: Path, tmp_path: Path) -> None:
    """BKV is the Berufskrankheiten-Verordnung and an ordinance on vocational training; AEG are two railway acts."""
    names = ("bkv", "kraftfausbv_2001", "sgb_7", "aeg", "aeg_1994")
    for name, data in bulk_laws(shared / "corpus/bulk/gii-xml-all_2024-10.tar.zst", names):
        (tmp_path / f"{name}.xml").write_bytes(data)
    path = tmp_path / "manifest.yaml"
    path.write_text("documents:\n" + "".join(f"  - path: {name}.xml\n" for name in names), "utf-8")
    found = list(expected_payloads(read_manifest(path)).values())
    illness, sgb7, *railways = "BJNR262300997", "BJNR125410996", "BJNR002250951", "BJNR239600993"
    cites: dict[tuple[str, str, str | None], list[str]] = {}
    for p in found:  # an Absatz may be split
        cites.setdefault((p["document_id"], p["article"], p["paragraph"]), []).extend(p["references_out"])
    assert {p["document_id"] for p in found if p["regulation_code"] == "AEG"} == set(railways)
    assert f"{illness}|3|" in cites[sgb7, "11", "1"]  # "§ 3 der Berufskrankheiten-Verordnung"
    assert f"{sgb7}|193|2" in cites[illness, "4", "2"]
    assert f"{railways[1]}|5|1a" in cites[railways[1], "5", "1b"]
    ranged = [split_key(key)[1] for key in cites[railways[1], "5", "1e"]]
    assert ranged[:9] == ["10", "10a", "11", "11a", "12", "12a", "12b", "12c", "13"]  # "§§ 10 bis 13" of its own norms
    for payload in found:  # § 1 AEG is in both: nothing leads from one to the other
        if payload["document_id"] in railways:
            assert {split_key(key)[0] for key in payload["references_out"]} <= {payload["document_id"]}


@pytest.mark.corpus
def test_an_annex_is_cited_alone_and_in_a_range(shared: Path, tmp_path: Path) -> None:
    path = tmp_path / "manifest.yaml"
    path.write_text(f"root: {shared / 'corpus'}\ndocuments:\n  - path: gii-xml/stvo_2026-04.xml\n", "utf-8")
    found = {p["article_label"]: p for p in expected_payloads(read_manifest(path)).values()}
    annexes = [f"BJNR036710013|Anlage {number}|" for number in (1, 2, 3, 4)]
    assert found["StVO § 41 Abs. 1"]["references_out"] == annexes[1:2]
    assert found["StVO § 39 Abs. 9"]["references_out"] == annexes  # "Anlagen 1 bis 4"
    cited = [p for p in found.values() if p["article"] == "Anlage 2" and p["references_in"]]
    assert cited and all("BJNR036710013|41|1" in p["references_in"] for p in cited)


@pytest.mark.corpus
def test_an_act_in_two_languages_is_cited_in_the_language_of_the_text(shared: Path, tmp_path: Path) -> None:
    path = tmp_path / "manifest.yaml"
    english = "  - path: eurlex-en/gdpr_32016R0679_EN_oj.html\n    id: 32016R0679-EN\n    code: DSGVO\n"
    german = "".join(f"  - path: {FILES[document]}\n" for document in (BDSG, DSGVO))
    path.write_text(f"root: {shared / 'corpus'}\ndocuments:\n{english}{german}", "utf-8")
    found = {p["article_label"]: p for p in expected_payloads(read_manifest(path)).values()}
    assert found["BDSG § 38 Abs. 1"]["references_out"] == [f"{DSGVO}|37|1", f"{DSGVO}|35|"]


@pytest.mark.corpus
def test_the_number_of_processes_changes_nothing(shared: Path, tmp_path: Path) -> None:
    manifest = manifest_of(shared, tmp_path, AGG, BDSG, TDDDG, DSGVO)
    alone, together = (survey(manifest, LAWS, chunks_of, processes=count) for count in (1, 2))
    assert alone == together and sum(len(chunks) for chunks in together.picked) > 600


def test_an_error_in_another_process_is_the_error_of_the_first_bad_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.xml").write_text("<html>Not found</html>", "utf-8")
    path = tmp_path / "manifest.yaml"
    path.write_text("documents:\n  - path: a.xml\n  - path: b.xml\n", "utf-8")
    with pytest.raises(SourceError, match=r"a\.xml"):
        survey(read_manifest(path), LAWS, nothing, processes=2)


part = st.text(st.characters(exclude_characters="|", codec="utf-8"), min_size=1, max_size=12)


@given(document=part, article=part.filter(lambda text: not text.startswith("ErwG ")), paragraph=st.none() | part)
def test_a_key_is_read_back(document: str, article: str, paragraph: str | None) -> None:
    for is_recital in (False, True):
        payload = {"document_id": document, "article": article, "paragraph": paragraph, "is_recital": is_recital}
        key = norm_key(payload) or ""
        assert split_key(key)[0] == document and bare_article(split_key(key)[1]) == article
        assert split_key(key)[2] == (paragraph or "")
        assert article_key(key) == norm_key(payload | {"paragraph": None})
