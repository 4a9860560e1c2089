"""Search: a cited norm comes first, both legs are fused by rank, and lay words meet the words of statutes."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables
from backends.vectors.edge import EdgeStore
from backends.vectors.store import Hit, VectorStore
from ingest.manifest import read_manifest
from ingest.reingest import reingest
from normalize.analyzer import words
from normalize.errors import GateError, UsageError
from normalize.laws import LawTable
from retrieve.answer import response, source_line
from retrieve.config import load_retriever
from retrieve.expand import expand
from retrieve.fusion import fuse
from retrieve.retest import read_retest, run_retest
from retrieve.search import SearchOptions, search

LAWS = LawTable.builtin()
ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
RETRIEVE = ROOT / "retrieve"
REAL = """root: {root}
documents:
  - path: gii-xml/agg_2024-12.xml
  - path: gii-xml/bdsg_2024-12.xml
  - path: gii-xml/ddg_2026-03.xml
  - path: gii-xml/tdddg_2026-03.xml
  - path: gii-xml/bsig-2025_2026-03.xml
  - path: gii-xml/gg_2025-03.xml
  - path: eurlex-de/dsgvo_32016R0679_DE_formex_L_2016119DE.01000101.xml
"""


def hit(name: str) -> Hit:
    return Hit(name, 1.0, {})


def test_fusion_counts_ranks_not_scores() -> None:
    fused = fuse({"dense": [hit("a"), hit("b")], "bm25": [hit("b"), hit("c")]})
    assert [f.hit.id for f in fused] == ["b", "a", "c"]
    assert fused[0].score == pytest.approx(1 / 62 + 1 / 61)
    assert dict(fused[0].ranks) == {"dense": 2, "bm25": 1}


def test_equal_scores_are_ordered_by_id() -> None:
    assert [f.hit.id for f in fuse({"x": [hit("b")], "y": [hit("a")]})] == ["a", "b"]


@pytest.mark.parametrize(("top_k", "limit"), [(1, 20), (20, 20), (21, 84)])
def test_the_prefetch_window_of_the_spec(top_k: int, limit: int) -> None:
    assert load_retriever(environment={}).config.pool.prefetch_limit(top_k) == limit


@pytest.mark.parametrize(
    ("payload", "line"),
    [
        ({"article_label": " BDSG § 38 Abs. 1 "}, "BDSG § 38 Abs. 1"),
        ({"article_label": "", "regulation_short": "BDSG", "section": "§ 38", "paragraph": "(1)"}, "BDSG § 38 (1)"),
        ({"regulation_name": "Gesetz", "article": "3", "sub": "Satz 2"}, "Gesetz 3 Satz 2"),
        ({"regulation_name_de": "Gesetz", "regulation_id": "g", "section": "§ 3", "paragraph": 1}, "Gesetz § 3 1"),
        ({"regulation_id": "bdsg"}, "bdsg"),
        ({}, "Unbekannt"),
    ],
)
def test_the_source_line_and_its_fall_backs(payload: dict[str, str], line: str) -> None:
    assert source_line(payload) == line


def test_the_response_of_an_older_chunk_falls_back() -> None:
    fields = response({"regulation_id": "bdsg", "section": "§ 38", "chunk_text": "Text"}, 0.5)
    assert (fields["regulation_code"], fields["article"], fields["is_recital"]) == ("bdsg", "§ 38", False)


def test_what_an_older_pipeline_wrote_may_be_of_any_type() -> None:
    """As the consumer reads it (contract §7.1): numbers become text, lists of pages stay whole numbers."""
    odd = {"article": 38, "paragraph": 1, "sub": ["x"], "is_recital": "false", "pages": [3, 4.0, "5", None, True],
           "chunk_text": None, "source": {"url": "x"}, "regulation_short": True}  # fmt: skip
    fields = response(odd, 0.5)
    assert (fields["article"], fields["paragraph"], fields["sub"], fields["is_recital"]) == ("38", "1", None, False)
    assert (fields["pages"], fields["text"], fields["source_url"]) == ([3, 4], None, None)
    assert response({"pages": "3"}, 0.5)["pages"] is None and fields["regulation_short"] is None


def test_expansion_adds_and_never_replaces() -> None:
    question = "Wie lange muss ich Fahrtdaten löschen?"
    expanded = expand(question)
    assert expanded is not None and expanded.startswith(question) and "Frist" in expanded
    assert expand("Fahrtdaten") is None


@pytest.mark.parametrize(
    ("question", "added"),
    [
        ("Darf mein Chef das?", "zulässig Arbeitgeber"),
        ("Was sagt das BDSG?", "Bundesdatenschutzgesetz"),
        ("Was sagt das Bundesdatenschutzgesetz?", "BDSG"),
        ("Was sagt die Datenschutz-Grundverordnung?", "DSGVO"),
        ("Wann gilt KI als riskant?", "künstliche Intelligenz"),
        ("Was ist künstliche Intelligenz?", "KI"),
        ("Wer ist Brandschutzbeauftragter?", "benennen bestellen"),
        ("Beauftragte", None),  # the end of a word is no whole word
        ("Wer ist auf dem Weg?", None),  # no law, though one is called WEG
        ("Was weiß ki?", None),  # an abbreviation counts as it is written
        ("Ist das zulässig, Arbeitgeber?", None),
        ("Mein Chef ist Arbeitgeber", None),  # it says already what would be added
    ],
)
def test_what_is_added(question: str, added: str | None) -> None:
    assert expand(question, LAWS) == (f"{question} {added}" if added else None)


def test_the_table_says_something_in_every_row() -> None:
    """Each row is found by its own left side, and adds what is not there."""
    table = tomllib.loads((RETRIEVE / "synonyms.toml").read_text("utf-8"))
    for left, right in table["words"].items():
        said = f"Musterling{left[1:]}" if left.startswith("-") else left
        assert right and all(set(words(text)) - set(words(said)) for text in right), left
        assert all(text in (expand(f"X {said}") or "") for text in right), left
    for short, long in table["abbreviations"].items():
        assert long in (expand(f"X {short}") or ""), short
        assert short in (expand(f"X {long}") or "").split(), long


@pytest.fixture(scope="module")
def laws_store(shared: Path, shared_tables: Tables, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VectorStore]:
    folder = tmp_path_factory.mktemp("search")
    (folder / "manifest.yaml").write_text(REAL.format(root=shared / "corpus"), "utf-8")
    with EdgeStore(folder / "home", 5.0) as store:
        manifest = read_manifest(folder / "manifest.yaml")
        reingest(store, shared_tables, "gesetze", manifest, LAWS, lambda d: HashingEmbedder(d or 512))
        yield store


def sources(store: VectorStore, question: str, top_k: int = 5) -> list[str]:
    return [
        s.source for s in search(store, "gesetze", HashingEmbedder(512), question, LAWS, SearchOptions(top_k)).sources
    ]


@pytest.mark.corpus
def test_the_question_of_the_contract(laws_store: VectorStore) -> None:
    assert sources(laws_store, "Ab wann brauche ich einen Datenschutzbeauftragten?")[0] == "BDSG § 38 Abs. 1"


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Was sagt Art. 13 Abs. 1 lit. c DSGVO?", "Art. 13 Abs. 1 DSGVO"),
        ("§ 38 BDSG", "BDSG § 38 Abs. 1"),
        ("Was steht in § 15 Absatz 4 des Allgemeinen Gleichbehandlungsgesetzes?", "AGG § 15 Abs. 4"),
        ("Erwägungsgrund 26 DSGVO", "ErwG 26 DSGVO"),
        ("Art. 2 Abs. 1 GG", "Art. 2 Abs. 1 GG"),
    ],
)
def test_a_cited_norm_comes_first(laws_store: VectorStore, question: str, first: str) -> None:
    assert sources(laws_store, question)[0] == first


@pytest.mark.corpus
def test_the_retest_of_the_contract_passes(laws_store: VectorStore) -> None:
    def ask(question: str, k: int) -> list[dict[str, Any]]:
        return search(laws_store, "gesetze", HashingEmbedder(512), question, LAWS, SearchOptions(k)).results()

    outcomes = run_retest(ask, read_retest(EXAMPLES / "retest.yaml", LAWS))
    assert [outcome.question.text for outcome in outcomes if not outcome.passed] == []
    assert len(outcomes) == 6


@pytest.mark.corpus
def test_both_legs_take_part(laws_store: VectorStore) -> None:
    answer = search(laws_store, "gesetze", HashingEmbedder(512), "Kündigung wegen Benachteiligung", LAWS)
    legs = {leg for source in answer.sources for leg in source.ranks}
    assert {"dense", "bm25"} <= legs
    stages = [stage.name for stage in answer.telemetry.stages]
    assert stages[:8] == ["citation", "embedding", "hybrid", "dense", "bm25", "binding", "dense", "bm25"]
    assert stages[8:] == ["score", "authority", "answer"]
    assert not answer.telemetry.degraded


@pytest.mark.corpus
def test_every_stage_that_orders_says_where_a_source_stood(laws_store: VectorStore) -> None:
    question = "Welche Maßnahmen verlangt § 38 BDSG bei einer Benachteiligung?"
    options = SearchOptions(20, expand_depth=1, graph=True, judge=lambda pairs: [float(len(text)) for _, text in pairs])
    answer = search(laws_store, "gesetze", HashingEmbedder(512), question, LAWS, options)
    ordering = ["hybrid", "binding", "graph", "score", "authority", "controls variety", "cross-encoder"]
    for stage in ["citation", "dense", "bm25", *ordering]:
        ranks = [source.ranks[stage] for source in answer.sources if stage in source.ranks]
        assert ranks and len(set(ranks)) == len(ranks) and min(ranks) >= 1, stage
    assert set(ordering) <= {stage.name for stage in answer.telemetry.stages}
    assert all(stage.milliseconds >= 0 for stage in answer.telemetry.stages)
    last = [s.ranks["cross-encoder"] for s in answer.sources if s.candidate.stage != "citation"]
    assert last == sorted(last)
    assert answer.report()["results"][0]["ranks"]["citation"] == 1


@pytest.mark.corpus
def test_the_same_question_gives_the_same_answer(laws_store: VectorStore) -> None:
    question = "Wie lange dürfen Daten gespeichert werden?"
    assert sources(laws_store, question, 20) == sources(laws_store, question, 20)


@pytest.mark.corpus
def test_mistakes(laws_store: VectorStore) -> None:
    with pytest.raises(UsageError, match="empty"):
        sources(laws_store, " \n")
    with pytest.raises(UsageError, match="known: gesetze"):
        search(laws_store, "fehlt", HashingEmbedder(512), "Frage", LAWS)
    with pytest.raises(GateError, match="was written with"):
        search(laws_store, "gesetze", HashingEmbedder(64), "Frage", LAWS)
