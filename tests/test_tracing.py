"""OpenTelemetry: each stage of a search is a span with what it did, and no span holds a secret or the question.

    pip install 'fundstelle[telemetry]'

With the real SDK, its exporter in memory, and a collector on this machine. Without the packages most tests are left
out; the one that says what an operator is told then is run.
"""

import importlib.util
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from backends.embedders import EmbedderError, HashingEmbedder
from backends.tracing import is_configured, traced
from backends.vectors.edge import EdgeStore
from backends.vectors.store import ANALYZER, Floats, Layout, Point, SparseVector, VectorStore
from normalize.analyzer import VERSION, sparse_document
from normalize.errors import UsageError
from normalize.laws import LawTable
from retrieve.search import Answer, SearchOptions, search
from tests.vectors_points import uuid_of

ROOT = Path(__file__).resolve().parent.parent
LAWS = LawTable.builtin()
QUESTION = "Wie viel Urlaub hat Erika Mustermann?"
TEXTS = ["Jeder Arbeitnehmer hat Anspruch auf Urlaub.", "Die Katze ist zu füttern."]


def has(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


has_sdk = pytest.mark.skipif(not has("opentelemetry.sdk"), reason="needs opentelemetry-sdk")
has_exporter = pytest.mark.skipif(
    not has("opentelemetry.exporter.otlp.proto.http"), reason="needs opentelemetry-exporter-otlp-proto-http"
)


def fill(home: Path) -> None:
    embedder = HashingEmbedder(64)
    with EdgeStore(home, 5.0) as edge:
        edge.create("law", Layout(dimension=64), {}, {"embedder": embedder.model, ANALYZER: VERSION})
        edge.upsert(
            "law",
            [
                Point(
                    uuid_of(number), embedder.embed([text])[0], SparseVector(*sparse_document(text)),
                    {"article_label": f"TESTG § {number}", "chunk_text": text, "source_class": "binding_law"},
                )
                for number, text in enumerate(TEXTS, 1)
            ],
        )  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VectorStore]:
    fill(tmp_path / "home")
    with EdgeStore(tmp_path / "home", 5.0) as edge:
        yield edge


@pytest.fixture(scope="module")
def provider() -> Any:
    """The SDK's provider, set once: a process can have but one."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider

    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        trace.set_tracer_provider(TracerProvider())
    return trace.get_tracer_provider()


@pytest.fixture
def spans(provider: Any) -> Iterator[Any]:
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    processor = SimpleSpanProcessor(exporter)
    provider.add_span_processor(processor)
    yield exporter
    processor.shutdown()


class Down(HashingEmbedder):
    """An embedder that fails, and says of what."""

    def embed(self, texts: Sequence[str]) -> Floats:
        raise EmbedderError(f"Ollama cannot embed '{texts[0]}'.")


def asked(store: VectorStore, embedder: HashingEmbedder | None = None, **options: Any) -> Answer:
    return search(store, "law", embedder or HashingEmbedder(64), QUESTION, LAWS, SearchOptions(2, **options))


def by_name(spans: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for span in spans.get_finished_spans():
        found.setdefault(span.name, []).append(span)
    return found


def everything(spans: Any) -> str:
    return "\n".join(span.to_json() for span in spans.get_finished_spans())


@has_sdk
def test_every_stage_is_a_span_with_what_it_did(store: VectorStore, spans: Any) -> None:
    answer = asked(store)
    found = by_name(spans)
    assert sorted(name for name, several in found.items() for _ in several) == sorted(
        ["retrieve.search", *(f"retrieve.{stage.name}" for stage in answer.telemetry.stages)]
    )
    for stage in answer.telemetry.stages:
        told = [dict(span.attributes) for span in found[f"retrieve.{stage.name}"]]
        assert {
            "fundstelle.candidates_in": stage.candidates_in,
            "fundstelle.candidates_out": stage.candidates_out,
            "fundstelle.milliseconds": stage.milliseconds,
            "fundstelle.degraded": False,
            "fundstelle.reason": "",
        } in told
    (root,) = found["retrieve.search"]
    assert dict(root.attributes) == {
        "fundstelle.collection": "law",
        "fundstelle.mode": "hybrid",
        "fundstelle.top_k": 2,
        "fundstelle.question_characters": len(QUESTION),
        "fundstelle.sources": 2,
        "fundstelle.degraded": False,
    }
    (hybrid,) = found["retrieve.hybrid"]
    assert hybrid.parent.span_id == root.context.span_id
    assert {span.parent.span_id for span in found["retrieve.dense"]} >= {hybrid.context.span_id}


@has_sdk
def test_a_stage_that_fell_short_says_so_without_the_question(store: VectorStore, spans: Any) -> None:
    answer = asked(store, Down(64))
    assert answer.sources and QUESTION in answer.telemetry.degraded[0]  # the asker may see it
    (span,) = by_name(spans)["retrieve.embedding"]
    assert span.attributes["fundstelle.degraded"] is True
    assert span.attributes["fundstelle.reason"] == "Ollama cannot embed '[question]'."
    assert by_name(spans)["retrieve.search"][0].attributes["fundstelle.degraded"] is True
    assert "Mustermann" not in everything(spans)


@has_sdk
def test_the_question_is_in_a_span_only_if_that_is_switched_on(store: VectorStore, spans: Any) -> None:
    asked(store)
    assert "Mustermann" not in everything(spans) and "Erika" not in everything(spans)
    spans.clear()
    asked(store, trace_question=True)
    assert by_name(spans)["retrieve.search"][0].attributes["fundstelle.question"] == QUESTION


@has_sdk
def test_an_error_that_ends_a_search_is_named_and_its_text_is_not_recorded(store: VectorStore, spans: Any) -> None:
    with pytest.raises(EmbedderError):
        asked(store, Down(64), mode="semantic")
    (root,) = by_name(spans)["retrieve.search"]
    assert (root.status.status_code.name, root.status.description) == ("ERROR", "EmbedderError")
    assert root.events == () and "Mustermann" not in everything(spans)
    with pytest.raises(UsageError):
        search(store, "fehlt", HashingEmbedder(64), QUESTION, LAWS)
    assert "Mustermann" not in everything(spans)


@pytest.mark.parametrize(
    ("environment", "configured"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_what_asks_for_spans(environment: dict[str, str], configured: bool) -> None:
    assert is_configured(environment) is configured


@pytest.mark.parametrize("asked_for", [False, True])
def test_where_nothing_can_be_traced_nothing_is_told(monkeypatch: pytest.MonkeyPatch, asked_for: bool) -> None:
    """Nobody has set OpenTelemetry up; or a collector is configured and the package is not there."""
    if asked_for:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
        monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    else:
        monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
        monkeypatch.delitem(sys.modules, "opentelemetry", raising=False)
    with traced("retrieve.x") as span:
        span.tell(anything=1)
    assert span.span is None


# --- The command line ----------------------------------------------------------------------------------------------


class Collector:
    """A collector on this machine that keeps what it is sent."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.received.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    started = Collector()
    yield started
    started.close()


def run(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Search with the command line in a process of its own, as OpenTelemetry is set up once a process."""
    fill(folder / "home")
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "FUNDSTELLE_", "QDRANT"))
    }
    command = [sys.executable, str(ROOT / "cli.py"), "--home", str(folder / "home"), "search", QUESTION]
    return subprocess.run(
        command, env=kept | environment, cwd=folder, capture_output=True, text=True, encoding="utf-8", timeout=120
    )


@has_exporter
@pytest.mark.parametrize(("switched_on", "holds"), [("false", False), ("true", True)])
def test_the_command_sends_its_spans(collector: Collector, tmp_path: Path, switched_on: str, holds: bool) -> None:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    done = run(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, FUNDSTELLE_TRACE_QUESTION=switched_on)
    assert done.returncode == 0 and "TESTG § 1" in done.stdout and done.stderr == ""
    sent = [ExportTraceServiceRequest.FromString(body) for body in collector.received]
    resources = [resource for request in sent for resource in request.resource_spans]
    names = {span.name for resource in resources for scope in resource.scope_spans for span in scope.spans}
    assert {"retrieve.search", "retrieve.embedding", "retrieve.hybrid", "retrieve.score"} <= names
    services = {a.value.string_value for r in resources for a in r.resource.attributes if a.key == "service.name"}
    assert services == {"fundstelle"}
    assert any(b"Mustermann" in body for body in collector.received) is holds


@has_exporter
def test_a_collector_that_is_down_costs_nothing_but_the_spans(collector: Collector, tmp_path: Path) -> None:
    collector.close()
    done = run(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    assert done.returncode == 0 and "TESTG § 1" in done.stdout


@pytest.mark.skipif(has("opentelemetry.sdk"), reason="OpenTelemetry is installed")
def test_without_the_packages_the_operator_is_told(collector: Collector, tmp_path: Path) -> None:
    done = run(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    assert done.returncode == 0 and "TESTG § 1" in done.stdout
    assert "pip install 'fundstelle[telemetry]'" in done.stderr and len(done.stderr.splitlines()) == 1


def test_another_protocol_is_told(collector: Collector, tmp_path: Path) -> None:
    done = run(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_EXPORTER_OTLP_PROTOCOL="grpc")
    assert done.returncode == 0 and "http/protobuf" in done.stderr and collector.received == []
