"""The pool, its order and its constants: every stage adds, a failing one degrades and says so (the three specs)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backends.embedders import EmbedderError, HashingEmbedder
from backends.vectors.edge import EdgeStore
from backends.vectors.store import (
    ANALYZER,
    UNRECORDED_ANALYZER,
    Floats,
    Hit,
    Layout,
    Point,
    SparseVector,
    VectorStore,
    Where,
)
from normalize.analyzer import VERSION, sparse_document, sparse_query
from normalize.errors import UsageError
from normalize.laws import LawTable
from retrieve.candidates import Candidate, merge, score
from retrieve.config import load_retriever
from retrieve.cross_encoder import rerank
from retrieve.fusion import fuse
from retrieve.graph import bonuses
from retrieve.intent import asks_for_controls
from retrieve.rank import by_authority, varied_controls, with_binding_law
from retrieve.search import SearchOptions, search
from tests.vectors_points import uuid_of

LAWS = LawTable.builtin()
DEFAULT = load_retriever(environment={})
EMBEDDER = HashingEmbedder(256)


def payload(number: int, text: str, source_class: str, document: str, **more: Any) -> dict[str, Any]:
    return {
        "article_label": f"{document} § {number}", "regulation_code": document, "regulation_short": document,
        "article": str(number), "paragraph": None, "sub": None, "is_recital": False, "chunk_text": text,
        "document_id": document, "document_version": "1", "chunk_index": number, "source_class": source_class,
        "source_type": None, "references_out": [], "references_in": [],
    } | more  # fmt: skip


def point(number: int, content: dict[str, Any]) -> Point:
    text = content["chunk_text"]
    terms = sparse_document(text, "de")
    return Point(uuid_of(number), EMBEDDER.embed([text])[0], SparseVector(*terms), content)


GUIDANCE = [
    payload(
        n, f"Hinweis {n}: Passwörter müssen lang sein und regelmäßig geprüft werden.", "guidance", f"LEITFADEN{n % 4}"
    )
    for n in range(1, 41)
]
BINDING = payload(100, "Zugangsdaten sind nach dem Stand der Technik zu schützen.", "binding_law", "SCHUTZG",
                  references_out=["SCHUTZG|102|", "FREMDG|7|"])  # fmt: skip
CITED = payload(102, "Der Stand der Technik wird durch Verordnung bestimmt.", "binding_law", "SCHUTZG")
CONTROLS = [
    payload(200 + n, f"Control {n}: Passwörter", "control_framework", "KATALOG") for n in range(8)
]  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VectorStore]:
    with EdgeStore(tmp_path_factory.mktemp("pool"), 5.0) as edge:
        made_by = {"embedder": EMBEDDER.model, ANALYZER: VERSION}
        edge.create("pool", Layout(dimension=256), {"source_class": "keyword"}, made_by)
        edge.ensure_indexes("pool", {"document_id": "keyword", "article": "keyword"})
        everything = [*GUIDANCE, BINDING, CITED, *CONTROLS]
        edge.upsert("pool", [point(n, content) for n, content in enumerate(everything)])
        yield edge


QUESTION = "Wie müssen Passwörter geprüft werden?"


def labels(store: VectorStore, question: str = QUESTION, **options: Any) -> list[str]:
    found = search(store, "pool", EMBEDDER, question, LAWS, SearchOptions(**options), DEFAULT)
    return [source.source for source in found.sources]


def test_binding_law_is_among_the_sources_even_where_guidance_fills_both_legs(store: VectorStore) -> None:
    found = labels(store, top_k=5)
    assert [label.split()[0][:9] for label in found[:4]] == ["LEITFADEN"] * 4
    assert found[4] in ("SCHUTZG § 100", "SCHUTZG § 102")


@pytest.mark.parametrize("every", [1, 2, 3, 9], ids=lambda every: f"one in {every} binds")
def test_the_best_binding_law_is_that_of_a_search_among_binding_law(tmp_path: Path, every: int) -> None:
    kinds = ["binding_law" if n % every == 0 else "guidance" for n in range(60)]
    texts = [f"Passwörter müssen{' lang sein' * (n % 4)} und {n % 7} Zeichen haben." for n in range(60)]  # with ties
    where = Where(must={"source_class": ["binding_law"]})
    with EdgeStore(tmp_path, 5.0) as edge:
        edge.create("pool", Layout(dimension=256), {}, {"embedder": EMBEDDER.model, ANALYZER: VERSION})
        edge.upsert("pool", [point(n, payload(n, texts[n], kinds[n], "K")) for n in range(60)])
        found = search(edge, "pool", EMBEDDER, QUESTION, LAWS, SearchOptions(60), DEFAULT)
        dense = edge.query_dense("pool", EMBEDDER.embed([QUESTION])[0], 5, where)
        bm25 = edge.query_sparse("pool", SparseVector(*sparse_query(QUESTION)), 5, where)
    expected = [fused.hit.id for fused in fuse({"dense": dense, "bm25": bm25})][:5]
    binding = {
        source.ranks["binding"]: source.candidate.hit.id for source in found.sources if "binding" in source.ranks
    }
    assert {rank: expected[rank - 1] for rank in binding} == binding and 1 in binding


def test_controls_come_in_only_if_the_question_asks_for_them(store: VectorStore) -> None:
    plain = search(store, "pool", EMBEDDER, QUESTION, LAWS, SearchOptions(40), DEFAULT)
    asked = search(store, "pool", EMBEDDER, "Welche Maßnahme gilt für Passwörter?", LAWS, SearchOptions(5), DEFAULT)
    assert "controls" not in [stage.name for stage in plain.telemetry.stages]
    stages = {stage.name: stage for stage in asked.telemetry.stages}
    assert stages["controls"].candidates_out > stages["controls"].candidates_in or stages["hybrid"].candidates_out >= 8


def test_controls_may_be_told_by_their_type_or_their_class(tmp_path: Path) -> None:
    (tmp_path / "retriever.yaml").write_text("version: 1.0\n", "utf-8")
    (tmp_path / "types.yaml").write_text("types: {nist: {pool: control}, katalog: {pool: control}}\n", "utf-8")
    retriever = load_retriever(tmp_path / "retriever.yaml", {})
    kinds = [("katalog", None), ("guidance", "nist"), ("guidance", None), ("katalog", "nist")]
    with EdgeStore(tmp_path / "home", 5.0) as edge:
        edge.create("pool", Layout(dimension=256), {}, {"embedder": EMBEDDER.model, ANALYZER: VERSION})
        edge.upsert(
            "pool", [point(n, payload(n, f"Passwort {n}", k, "K", source_type=t)) for n, (k, t) in enumerate(kinds)]
        )
        found = search(edge, "pool", EMBEDDER, "Welche Maßnahmen für Zertifikate?", LAWS, SearchOptions(4), retriever)
        assert {source.source for source in found.sources if "controls" in source.ranks} == {"K § 0", "K § 1", "K § 3"}


def test_the_graph_follows_forward_edges_only_and_lifts_nothing(store: VectorStore) -> None:
    options = SearchOptions(3, graph=True)
    with_graph = search(store, "pool", EMBEDDER, "Zugangsdaten schützen", LAWS, options, DEFAULT)
    without = search(store, "pool", EMBEDDER, "Zugangsdaten schützen", LAWS, SearchOptions(3), DEFAULT)
    assert without.sources[0].source == with_graph.sources[0].source == "SCHUTZG § 100"
    assert "graph" in [stage.name for stage in with_graph.telemetry.stages]


class BrokenEmbedder(HashingEmbedder):
    """An embedder whose server is down."""

    def embed(self, texts: Sequence[str]) -> Floats:
        raise EmbedderError("Ollama does not answer.")


def test_without_vectors_the_sparse_leg_answers_and_the_operator_is_told(store: VectorStore) -> None:
    found = search(store, "pool", BrokenEmbedder(256), QUESTION, LAWS, SearchOptions(3), DEFAULT)
    assert len(found.sources) == 3
    assert all("bm25" in "".join(source.ranks) for source in found.sources[:2])
    assert any("Ollama does not answer" in fault for fault in found.telemetry.degraded)


def test_the_dense_leg_alone_has_no_fall_back(store: VectorStore) -> None:
    with pytest.raises(EmbedderError):
        search(store, "pool", BrokenEmbedder(256), QUESTION, LAWS, SearchOptions(3, mode="semantic"), DEFAULT)


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_a_cited_norm_is_answered_with_even_if_both_legs_fail(tmp_path: Path, mode: str) -> None:
    """No vectors for the question, and the BM25 terms are another analyzer's."""
    with EdgeStore(tmp_path / "home", 5.0) as edge:
        edge.create("pool", Layout(dimension=256), {}, {"embedder": EMBEDDER.model})
        edge.upsert("pool", [point(1, BINDING), point(2, CITED)])
        options = SearchOptions(3, mode=mode, graph=True)  # type: ignore[arg-type]
        found = search(edge, "pool", BrokenEmbedder(256), "Was sagt § 102 SCHUTZG?", LAWS, options, DEFAULT)
        assert [source.source for source in found.sources] == ["SCHUTZG § 102"]
        assert any("Ollama does not answer" in fault for fault in found.telemetry.degraded)


def test_what_an_older_pipeline_wrote_ends_no_look_up(tmp_path: Path) -> None:
    odd = [{"units": "x"}, {"units": ["Satz 1"]}, {"units": [{"sub": 3}]}, {"sub": 4}, {"chunk_index": "12a"}]
    with EdgeStore(tmp_path / "home", 5.0) as edge:
        edge.create("pool", Layout(dimension=256), {}, {"embedder": EMBEDDER.model, ANALYZER: VERSION})
        points = [point(n, payload(7, f"Text {n}", "binding_law", "BDSG", **more)) for n, more in enumerate(odd)]
        edge.upsert("pool", points)
        found = search(edge, "pool", EMBEDDER, "Was sagt § 7 Satz 2 BDSG?", LAWS, SearchOptions(9), DEFAULT)
        assert len(found.sources) == len(odd) and not found.telemetry.degraded
        assert {source.candidate.stage for source in found.sources} == {"citation"}


def test_semantic_mode_scores_by_the_cosine(store: VectorStore) -> None:
    found = search(store, "pool", EMBEDDER, QUESTION, LAWS, SearchOptions(3, mode="semantic"), DEFAULT)
    best = found.sources[0]
    stored = store.query_dense("pool", EMBEDDER.embed([QUESTION])[0], 1)[0]
    assert best.candidate.semantic == pytest.approx(stored.score)
    assert (best.candidate.edge, best.candidate.centrality) == (0.0, 0.0)


# --- BM25 terms of another analyzer --------------------------------------------------------------------------------


@pytest.fixture(params=["bm25-0", None])
def of_another_analyzer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
    """The same points in a collection that another analyzer made, or that does not say which one did."""
    made_by = {"embedder": EMBEDDER.model} | ({ANALYZER: request.param} if request.param else {})
    with EdgeStore(tmp_path / "home", 5.0) as edge:
        edge.create("pool", Layout(dimension=256), {}, made_by)
        edge.upsert("pool", [point(n, content) for n, content in enumerate([*GUIDANCE, BINDING, CITED])])
        yield edge


def test_bm25_terms_of_another_analyzer_are_not_asked(of_another_analyzer: VectorStore) -> None:
    found = search(of_another_analyzer, "pool", EMBEDDER, QUESTION, LAWS, SearchOptions(3), DEFAULT)
    assert len(found.sources) == 3
    assert not any(leg.startswith("bm25") for source in found.sources for leg in source.ranks)
    (fault,) = found.telemetry.degraded  # once, though both the hybrid and the binding stage would have asked
    about = of_another_analyzer.describe("pool")
    assert about is not None and fault.startswith("bm25: ")
    assert str(about.metadata.get(ANALYZER, UNRECORDED_ANALYZER)) in fault and VERSION in fault
    assert "re-ingest into a new collection" in fault


def test_without_vectors_and_without_usable_terms_the_embedder_is_what_failed(of_another_analyzer: VectorStore) -> None:
    with pytest.raises(EmbedderError, match="Ollama does not answer"):
        search(of_another_analyzer, "pool", BrokenEmbedder(256), QUESTION, LAWS, SearchOptions(3), DEFAULT)


def test_the_dense_leg_alone_asks_no_terms(of_another_analyzer: VectorStore) -> None:
    found = search(of_another_analyzer, "pool", EMBEDDER, QUESTION, LAWS, SearchOptions(3, mode="semantic"), DEFAULT)
    assert len(found.sources) == 3 and not found.telemetry.degraded


# --- Scoring -------------------------------------------------------------------------------------------------------


def candidate(number: int, semantic: float, **content: Any) -> Candidate:
    body = payload(number, f"Text {number}", content.pop("source_class", "binding_law"), content.pop("document", "G"))
    return Candidate(Hit(uuid_of(number), semantic, body | content), semantic, "hybrid", {})


def test_the_formula_of_the_specification() -> None:
    """total = W_sem · semantic · max(weight, 0) + W_edge · edge + W_cent · centrality, with 1.0, 0.7 and 0.5."""
    one = candidate(1, 0.4038)
    scored = score([one], DEFAULT, {one.hit.id: (1.591, 0.25)})[0]
    assert scored.total == pytest.approx(0.4038 + 0.7 * 1.591 + 0.5 * 0.25)
    assert (scored.edge, scored.centrality) == (1.591, 0.25)


def test_a_negative_weight_of_a_kind_counts_as_nothing(tmp_path: Path) -> None:
    (tmp_path / "retriever.yaml").write_text("version: 1.0\n", "utf-8")
    (tmp_path / "types.yaml").write_text("types: {guidance: {retriever_weight: -3}}\n", "utf-8")
    retriever = load_retriever(tmp_path / "retriever.yaml", {})
    assert score([candidate(1, 0.9, source_class="guidance")], retriever)[0].total == 0.0


def test_edges_within_the_pool() -> None:
    pool = [
        candidate(1, 0.5, references_out=["G|3|"]),
        candidate(2, 0.4),
        candidate(3, 0.3),
        candidate(9, 0.2, document="H"),
    ]
    found = bonuses(pool, DEFAULT.config.edge_types, 1)
    assert found[uuid_of(1)] == (pytest.approx(0.20 + 0.06), pytest.approx(2 / 3))  # cites 3, stands before 2
    assert found[uuid_of(2)] == (pytest.approx(0.06 + 0.06), pytest.approx(2 / 3))  # after 1, before 3
    assert found[uuid_of(9)] == (0.0, 0.0)
    two_hops = bonuses([pool[1], pool[2], candidate(5, 0.1, references_out=["G|3|"])], DEFAULT.config.edge_types, 2)
    assert two_hops[uuid_of(2)][0] == pytest.approx(0.06 + 0.20 / 2)


def test_chunks_of_one_article_belong_together() -> None:
    pool = [candidate(1, 0.5, article="7", paragraph="1"), candidate(5, 0.4, article="7", paragraph="2")]
    assert bonuses(pool, DEFAULT.config.edge_types, 1)[uuid_of(1)] == (pytest.approx(0.10), 1.0)


def test_merge_keeps_the_first_occurrence() -> None:
    first, again, new = candidate(1, 0.9), candidate(1, 0.1), candidate(2, 0.1)
    assert merge([first], [again, new]) == [first, new]


def test_authority_decides_only_between_equals() -> None:
    guidance = score([candidate(1, 0.5 / 0.85, source_class="guidance")], DEFAULT)
    near = score([candidate(2, 0.495)], DEFAULT)
    far = score([candidate(3, 0.3)], DEFAULT)
    ordered = by_authority([*guidance, *near, *far], DEFAULT)
    assert [c.payload["chunk_index"] for c in ordered] == [2, 1, 3]


def test_no_framework_fills_the_answer() -> None:
    ranked = [candidate(n, 1 - n / 10, source_class="control_framework", document="NIST") for n in range(5)]
    ranked.append(candidate(9, 0.1, source_class="control_framework", document="BSI"))
    assert [c.payload["chunk_index"] for c in varied_controls(ranked, DEFAULT)] == [0, 1, 2, 9, 3, 4]


def test_the_last_place_is_for_binding_law() -> None:
    ranked = [candidate(n, 1 - n / 10, source_class="guidance") for n in range(4)] + [candidate(9, 0.1)]
    assert [c.payload["chunk_index"] for c in with_binding_law(ranked, 3)] == [0, 1, 9, 2, 3]
    assert with_binding_law(ranked[:4], 3) == ranked[:4]


def test_a_cross_encoder_orders_the_head_and_leaves_the_tail() -> None:
    ranked = [candidate(n, 1 - n / 100) for n in range(60)]
    by_number = rerank(ranked, "?", lambda pairs: [float(t.rsplit(" ", 1)[1]) for _, t in pairs], DEFAULT, 5)
    assert [c.payload["chunk_index"] for c in by_number] == [*range(49, -1, -1), *range(50, 60)]


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("Welche Maßnahmen schützen Server?", True),
        ("Welche MASSNAHMEN?", True),
        ("NIST AC-2", True),
        ("Ab wann brauche ich einen Datenschutzbeauftragten?", False),
        ("Automatisierte Entscheidung", False),  # begins like TOM nowhere
    ],
)
def test_control_intent(question: str, asks: bool) -> None:
    assert asks_for_controls(question, DEFAULT) is asks


# --- Configuration -------------------------------------------------------------------------------------------------


def test_the_constants_of_the_specification() -> None:
    pool, weights = DEFAULT.config.pool, DEFAULT.config.scoring
    assert (pool.prefetch, pool.prefetch_factor, pool.rrf_k, pool.control_depth) == (20, 4, 60, 60)
    assert (pool.graph_seeds, pool.graph_most, pool.graph_hop_penalty, pool.query_characters) == (5, 15, 0.05, 2000)
    assert (weights.semantic_weight, weights.edge_weight, weights.centrality_weight) == (1.0, 0.7, 0.5)
    assert DEFAULT.config.edge_types["references"] == 0.20 and DEFAULT.config.edge_types["next"] == 0.06


def test_a_file_wins_over_the_environment_and_both_over_the_defaults(tmp_path: Path) -> None:
    environment = {"RETRIEVER_W_SEM": "2", "RETRIEVER_W_EDGE": "3"}
    assert load_retriever(environment=environment).config.scoring.semantic_weight == 2.0
    file = tmp_path / "mine.yaml"
    file.write_text("scoring: {edge_weight: 0}\npool: {prefetch: 7}\n", "utf-8")
    loaded = load_retriever(environment=environment | {"FUNDSTELLE_RETRIEVER_CONFIG": str(file)})
    assert (loaded.config.scoring.semantic_weight, loaded.config.scoring.edge_weight) == (2.0, 0.0)
    assert (loaded.config.pool.prefetch, loaded.config.pool.rrf_k, loaded.origin) == (7, 60, str(file))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("scoring: {edge_weight: -1}", "edge_weight"),
        ("scoring: {edge_wait: 1}", "edge_wait"),
        ("scoring: {edge_weight: .nan}", "edge_weight"),
        ("- 1", "table of settings"),
        ("a: [", "not valid YAML"),
    ],
)
def test_a_bad_configuration_names_the_value(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "bad.yaml").write_text(text, "utf-8")
    with pytest.raises(UsageError, match=says):
        load_retriever(tmp_path / "bad.yaml", {})


@pytest.mark.parametrize("value", ["viel", "-1", "inf"])
def test_a_bad_variable_is_named(value: str) -> None:
    with pytest.raises(UsageError, match="RETRIEVER_W_CENT"):
        load_retriever(environment={"RETRIEVER_W_CENT": value})


def test_vectors_of_the_fixture_are_distinct() -> None:
    """The pool test means something only if the texts are not all one to the embedder."""
    vectors = EMBEDDER.embed([BINDING["chunk_text"], GUIDANCE[0]["chunk_text"]])
    assert float(np.dot(vectors[0], vectors[1])) < 0.9
