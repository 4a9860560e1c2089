"""`search` and `retest` as an operator calls them: what is switched on, what falls short, and what is refused."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import cli
from backends.embedders import Embedder, HashingEmbedder
from backends.vectors.edge import EdgeStore
from backends.vectors.store import ANALYZER, Layout, Point, SparseVector
from commands.opening import make_the_embedder
from normalize.analyzer import VERSION, sparse_document
from settings import ENVIRONMENT, Settings
from tests.test_cli import Done
from tests.test_relink_llm import Model, say
from tests.vectors_points import uuid_of

QUESTION = "Wann habe ich Ferien?"
GOOD = {"rewriting": "Erholungsurlaub der Beschäftigten", "expansion": ["Dauer der Ferien"], "hyde": "Urlaub gibt es."}
TEXTS = ["Jeder Arbeitnehmer hat Anspruch auf bezahlten Erholungsurlaub.", "Die Katze ist zu füttern."]
Call = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Call the command line in this process, on a home that has one collection, without any variable of ours set."""
    monkeypatch.chdir(tmp_path)
    for variable in ENVIRONMENT:
        monkeypatch.delenv(variable, raising=False)
    embedder = HashingEmbedder(64)
    with EdgeStore(tmp_path / "home", 5.0) as store:
        store.create("law", Layout(dimension=64), {}, {"embedder": embedder.model, ANALYZER: VERSION})
        store.upsert(
            "law",
            [
                Point(
                    uuid_of(number), embedder.embed([text])[0], SparseVector(*sparse_document(text)),
                    {"article_label": f"TESTG § {number}", "regulation_code": "TESTG", "article": str(number),
                     "is_recital": False, "chunk_text": text, "source_class": "binding_law"},
                )
                for number, text in enumerate(TEXTS, 1)
            ],
        )  # fmt: skip

    def call(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["fundstelle", "--home", str(tmp_path / "home"), *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        code = ended.value.code
        return Done(code if isinstance(code, int) else int(code is not None), captured.out, captured.err)

    return call


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    """A language model on this machine, set in the environment."""
    started = Model()
    started.answer = lambda _body: say(json.dumps(GOOD))
    monkeypatch.setenv("FUNDSTELLE_LLM_URL", started.url)
    monkeypatch.setenv("FUNDSTELLE_LLM_MODEL", "m")
    monkeypatch.setenv("FUNDSTELLE_LLM_API_KEY", "geheim")
    yield started
    started.close()


def test_the_model_words_the_question_anew_and_all_wordings_are_shown(run: Call, model: Model) -> None:
    done = run("search", QUESTION, "--understand", "rewriting,expansion,hyde", "--json")
    assert done.code == 0, done.err
    assert [(w["name"], w["text"]) for w in done.json["wordings"]] == [
        ("original", QUESTION),
        ("rewriting", GOOD["rewriting"]),
        ("paraphrase1", "Dauer der Ferien"),
        ("hyde", "Urlaub gibt es."),
    ]
    shown = run("search", QUESTION, "--understand", "rewriting,expansion,hyde", "--explain")
    assert f"searched (original): {QUESTION}" in shown.out and f"searched (rewriting): {GOOD['rewriting']}" in shown.out
    assert "understanding" in shown.out and "geheim" not in shown.out + shown.err


def test_it_is_off_unless_switched_on_and_the_flag_wins(
    run: Call, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(run("search", QUESTION, "--json").json["wordings"]) == 1 and model.bodies == []
    monkeypatch.setenv("FUNDSTELLE_UNDERSTAND", "rewriting, hyde")
    model.answer = lambda _body: say(json.dumps({"rewriting": "Erholungsurlaub", "hyde": "Ferien."}))
    assert [w["name"] for w in run("search", QUESTION, "--json").json["wordings"]] == ["original", "rewriting", "hyde"]
    assert len(run("search", QUESTION, "--understand", "none", "--json").json["wordings"]) == 1
    assert len(model.bodies) == 1


@pytest.mark.parametrize("arguments", [("search", QUESTION), ("search", QUESTION, "--explain")])
def test_a_model_that_fails_is_told_of_and_the_sources_come(
    run: Call, model: Model, arguments: tuple[str, ...]
) -> None:
    model.answer = lambda _body: (500, {})
    done = run(*arguments, "--understand", "hyde")
    assert done.code == 0 and "TESTG § 1" in done.out
    assert "Warning: stage understanding: The language model at" in done.out and "geheim" not in done.out


def test_a_slow_model_has_the_time_that_is_given(run: Call, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUNDSTELLE_UNDERSTAND_TIMEOUT", "0.1")
    with model.held():
        done = run("search", QUESTION, "--understand", "hyde", "--json")
        flagged = run("search", QUESTION, "--understand", "hyde", "--understand-timeout", "0.2", "--json")
    assert done.code == flagged.code == 0 and len(done.json["results"]) == 2
    assert "did not answer" in done.json["degraded"][0] and "did not answer" in flagged.json["degraded"][0]


def test_a_retest_tells_what_fell_short(run: Call, model: Model, tmp_path: Path) -> None:
    model.answer = lambda _body: (500, {})
    file = tmp_path / "fragen.yaml"
    file.write_text(
        "questions:\n  - {question: Urlaub, any_of: [TESTG § 1]}\n  - {question: Katze, any_of: [TESTG § 2]}\n"
    )
    done = run("retest", str(file), "--understand", "hyde")
    assert done.code == 0, done.out + done.err
    assert "(2 times)" in done.out
    assert list(run("retest", str(file), "--understand", "hyde", "--json").json["degraded"].values()) == [2]
    assert run("retest", str(file), "--json").json["degraded"] == {}


def test_a_cross_encoder_that_cannot_be_loaded_is_told_of(run: Call, tmp_path: Path) -> None:
    done = run("search", QUESTION, "--cross-encoder", str(tmp_path / "fehlt"))
    assert done.code == 0 and "TESTG § 1" in done.out and "Warning: stage cross-encoder: " in done.out


@pytest.mark.parametrize(
    ("environment", "arguments", "says"),
    [
        ({}, ["--understand", "hyde"], "set FUNDSTELLE_LLM_URL"),
        ({"FUNDSTELLE_UNDERSTAND": "hyde"}, [], "set FUNDSTELLE_LLM_URL"),
        ({}, ["--understand", "magic"], "'magic' is no part of --understand"),
        ({"FUNDSTELLE_UNDERSTAND": "hyde,magic"}, [], "environment FUNDSTELLE_UNDERSTAND"),
        ({"FUNDSTELLE_UNDERSTAND_TIMEOUT": "0"}, [], "environment FUNDSTELLE_UNDERSTAND_TIMEOUT"),
    ],
)
def test_mistakes_are_one_sentence(
    run: Call, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], arguments: list[str], says: str
) -> None:
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    done = run("search", QUESTION, *arguments)
    assert done.code == 2 and says in done.err and len(done.err.splitlines()) == 1


def test_the_service_may_use_the_model_too_within_the_same_budget(
    run: Call, model: Model, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What uvicorn would serve is asked here, while the stores are open."""
    answers: list[dict[str, Any]] = []

    def served(app: Any, **_: object) -> None:
        client = TestClient(app)
        answers.append(client.post("/query", json={"query": QUESTION, "explain": True}).json())
        with model.held():
            answers.append(client.post("/query", json={"query": "Was frisst die Katze?", "explain": True}).json())
            answers.append(client.post("/sdk/v1/rag/search", json={"query": "Hat sie Ferien?"}).json())

    monkeypatch.setattr("uvicorn.run", served)
    monkeypatch.setenv("FUNDSTELLE_UNDERSTAND", "rewriting,expansion,hyde")
    monkeypatch.setenv("FUNDSTELLE_UNDERSTAND_TIMEOUT", "0.5")
    done = run("serve", "--cross-encoder", str(tmp_path / "fehlt"))
    assert done.code == 0, done.err
    good, slow, consumer = answers
    assert [w["name"] for w in good["wordings"]] == ["original", "rewriting", "paraphrase1", "hyde"]
    assert [fault.split(":")[0] for fault in good["degraded"]] == ["cross-encoder"]
    for late in (slow, consumer):
        assert len(late["results"]) == 2
        assert [fault.split(":")[0] for fault in late["degraded"]] == ["understanding", "cross-encoder"]
        assert "did not answer" in late["degraded"][0]


def test_the_service_makes_one_embedder_for_all_questions(run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int | None] = []
    answers: list[int] = []

    def make(settings: Settings, dimension: int | None) -> Embedder:
        made.append(dimension)
        return make_the_embedder(settings, dimension)

    def served(app: Any, **_: object) -> None:
        client = TestClient(app)
        answers.extend(client.post("/query", json={"query": QUESTION}).status_code for _ in range(3))

    monkeypatch.setattr("commands.retrieving.make_the_embedder", make)
    monkeypatch.setattr("uvicorn.run", served)
    assert run("serve").code == 0
    assert answers == [200, 200, 200] and len(made) == 1


@pytest.mark.parametrize("command", ["search", "retest", "serve"])
def test_the_help_names_flags_and_variables(run: Call, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    shown = run(command, "--help").out
    for name in ("--understand", "--understand-timeout", "--cross-encoder", "FUNDSTELLE_LLM_URL",
                 "FUNDSTELLE_UNDERSTAND", "FUNDSTELLE_UNDERSTAND_TIMEOUT", "RAG_GRAPH_EXPANSION"):  # fmt: skip
        assert name in shown
