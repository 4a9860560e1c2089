"""Search, retest and serve: the sources for a question, and whether known questions find what they must."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import printing.retrieving as printed
from backends.chat import Chat
from backends.embedders import Embedder
from backends.tracing import exporting
from backends.vectors.store import VectorStore
from commands.opening import JsonFlag, make_the_embedder, only_collection, open_vectors, print_json
from normalize.errors import UsageError
from normalize.laws import LawTable
from retrieve.config import load_retriever
from retrieve.cross_encoder import CrossEncoderJudge
from retrieve.retest import read_retest, retest_report, run_retest
from retrieve.search import Answer, SearchOptions
from retrieve.search import search as search_collection
from retrieve.understand import PARTS, Understander
from settings import Settings

app = typer.Typer()

Where = Annotated[
    str | None, typer.Option("--collection", "-c", help="Where to search (default: the only collection).")
]
ModeOption = Annotated[
    Literal["hybrid", "semantic"], typer.Option("--mode", help="Both legs joined, or the dense leg alone.")
]
Depth = Annotated[
    int, typer.Option("--expand-depth", min=0, max=3, help="Over how many edges a source lifts another (0 = none).")
]
GraphFlag = Annotated[
    bool, typer.Option("--graph", envvar="RAG_GRAPH_EXPANSION", help="Also consider norms that the best sources cite.")
]
JudgeName = Annotated[
    str | None, typer.Option("--cross-encoder", help="Model that reads question and source together (extra: models).")
]
ConfigFile = Annotated[
    Path | None, typer.Option("--retriever", help="A retriever.yaml (default: FUNDSTELLE_RETRIEVER_CONFIG).")
]
UnderstandParts = Annotated[
    str | None,
    typer.Option(
        "--understand",
        help="Let the language model of FUNDSTELLE_LLM_URL and FUNDSTELLE_LLM_MODEL word the question anew, beside the "
        "original (mode hybrid): rewriting, expansion (paraphrases), hyde (a passage that might answer it), a comma "
        "between them, or none (default: setting understand, FUNDSTELLE_UNDERSTAND).",
    ),
]
UnderstandTimeout = Annotated[
    float | None,
    typer.Option(
        "--understand-timeout", min=0.01, max=600,
        help="Seconds it has for one question; then the question is searched as it is (default: setting "
        "understand_timeout, FUNDSTELLE_UNDERSTAND_TIMEOUT, 5).",
    ),
]  # fmt: skip
Find = Callable[[str, int], Answer]


@contextmanager
def _understander(settings: Settings, parts: str | None, seconds: float | None) -> Iterator[Understander | None]:
    """Yield what words questions anew, or None where it is not switched on. Raises UsageError if there is no model."""
    chosen = settings.understand if parts is None else tuple(part.strip() for part in parts.split(","))
    if unknown := [part for part in chosen if part not in (*PARTS, "none")]:
        raise UsageError(f"'{unknown[0]}' is no part of --understand: take {', '.join(PARTS)}, or none.")
    wanted = [part for part in PARTS if part in chosen]
    if not wanted:
        yield None
        return
    if not settings.llm_url or not settings.llm_model:
        raise UsageError(
            "--understand needs a language model: set FUNDSTELLE_LLM_URL and FUNDSTELLE_LLM_MODEL, or leave it out."
        )
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else None
    budget = seconds or settings.understand_timeout
    chat = Chat(settings.llm_url, settings.llm_model, key, timeout=budget)
    try:
        yield Understander(chat, wanted, budget)
    finally:
        chat.close()


@contextmanager
def _spans() -> Iterator[None]:
    """Send the spans of the searches to the configured collector; a warning says why that cannot be."""
    with exporting() as fault:
        if fault is not None:
            sys.stderr.write(f"Warning: {fault}\n")
        yield


@contextmanager
def _searching(
    settings: Settings, options: SearchOptions, judge: str | None, understand: str | None, seconds: float | None,
    config: Path | None,
) -> Iterator[tuple[VectorStore, Callable[[str], Find]]]:  # fmt: skip
    """Yield the store, and for the name of a collection the function that searches it."""
    retriever = load_retriever(config)
    laws = LawTable.builtin()
    with ExitStack() as stack:
        stack.enter_context(_spans())
        options = replace(
            options,
            trace_question=settings.trace_question,
            judge=CrossEncoderJudge(judge) if judge else None,
            understand=stack.enter_context(_understander(settings, understand, seconds)),
        )
        store = stack.enter_context(open_vectors(settings))

        def finder(collection: str) -> Find:
            about = store.describe(collection)
            embedder = make_the_embedder(settings, about.layout.dimension if about else None)

            def find(question: str, top_k: int) -> Answer:
                asked = replace(options, top_k=top_k)
                return search_collection(store, collection, embedder, question, laws, asked, retriever)

            return find

        yield store, finder


@app.command()
def search(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="The question, in German or English.")],
    collection: Where = None,
    limit: Annotated[int, typer.Option("--limit", "-k", min=1, max=200, help="How many sources.")] = 5,
    mode: ModeOption = "hybrid",
    expand_depth: Depth = 0,
    graph: GraphFlag = False,
    cross_encoder: JudgeName = None,
    understand: UnderstandParts = None,
    understand_timeout: UnderstandTimeout = None,
    retriever: ConfigFile = None,
    explain: Annotated[bool, typer.Option("--explain", help="Also print scores, ranks and every stage.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Print the sources for a question with their Fundstelle: cited norms first, then dense and BM25 joined."""
    options = SearchOptions(limit, mode, expand_depth, graph)
    extras = (cross_encoder, understand, understand_timeout, retriever)
    with _searching(context.obj.settings, options, *extras) as (store, finder):
        answer = finder(collection or only_collection(store))(question, limit)
    if as_json:
        print_json(answer.report())
    else:
        printed.print_answer(answer, explain=explain)


@app.command()
def retest(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="Questions with the Fundstellen that must be found (YAML).")],
    collection: Where = None,
    against: Annotated[
        str | None, typer.Option("--against", help="Ask this collection too and show it as 'before'.")
    ] = None,
    mode: ModeOption = "hybrid",
    expand_depth: Depth = 0,
    graph: GraphFlag = False,
    cross_encoder: JudgeName = None,
    understand: UnderstandParts = None,
    understand_timeout: UnderstandTimeout = None,
    retriever: ConfigFile = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask the questions of a file and fail (exit 3) if an expected Fundstelle is not among the sources."""
    questions = read_retest(file, LawTable.builtin())
    options = SearchOptions(mode=mode, expand_depth=expand_depth, graph=graph)
    extras = (cross_encoder, understand, understand_timeout, retriever)
    faults: dict[str, int] = {}
    with _searching(context.obj.settings, options, *extras) as (store, finder):
        name = collection or questions.collection or only_collection(store)

        def asked(find: Find) -> Callable[[str, int], list[dict[str, Any]]]:
            def ask(question: str, k: int) -> list[dict[str, Any]]:
                answer = find(question, k)
                for fault in answer.telemetry.degraded:
                    faults[fault] = faults.get(fault, 0) + 1
                return answer.results()

            return ask

        outcomes = run_retest(asked(finder(name)), questions)
        before = run_retest(asked(finder(against)), questions) if against else None
    report = {"file": str(file), "collection": name, "against": against} | retest_report(outcomes, before)
    report["degraded"] = faults
    print_json(report) if as_json else printed.print_retest(report)
    if report["failed"]:
        raise typer.Exit(3)


@app.command()
def serve(
    context: typer.Context,
    collection: Where = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port to listen on.")] = 8080,
    graph: GraphFlag = False,
    cross_encoder: JudgeName = None,
    understand: UnderstandParts = None,
    understand_timeout: UnderstandTimeout = None,
    retriever: ConfigFile = None,
) -> None:
    """Answer questions over HTTP: /sdk/v1/rag/search, /query, /healthz. Reads only; FUNDSTELLE_API_KEY guards it."""
    try:
        import uvicorn

        from retrieve.serve import create_app
    except ImportError:
        raise UsageError("'serve' needs two more packages: pip install 'fundstelle[serve]'.") from None
    settings = context.obj.settings
    key = settings.serve_api_key.get_secret_value() if settings.serve_api_key else None
    configured = load_retriever(retriever)
    laws = LawTable.builtin()
    judge = CrossEncoderJudge(cross_encoder) if cross_encoder else None
    with (
        _spans(),
        _understander(settings, understand, understand_timeout) as wording,
        open_vectors(settings) as store,
    ):
        default = collection or only_collection(store)

        @cache  # a model is loaded once, not for every question
        def embedder_of(dimension: int | None) -> Embedder:
            return make_the_embedder(settings, dimension)

        def find(name: str | None, question: str, options: SearchOptions) -> Answer:
            about = store.describe(name or default)
            embedder = embedder_of(about.layout.dimension if about else None)
            asked = replace(
                options, graph=graph, judge=judge, understand=wording, trace_question=settings.trace_question
            )
            return search_collection(store, name or default, embedder, question, laws, asked, configured)

        uvicorn.run(create_app(find, key), host=host, port=port, log_level="warning")
