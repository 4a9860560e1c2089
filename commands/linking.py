"""Re-link: tie the controls to the chunks their texts quote."""

from contextlib import ExitStack
from dataclasses import asdict
from typing import Annotated

import typer

import printing.linking as printed
from backends.chat import Chat
from backends.tables.runs import document_states
from backends.vectors.store import real_name, served
from commands.opening import DryRun, JsonFlag, make_the_embedder, open_stores, open_the_tables, print_json
from normalize.errors import UsageError
from relink.calibration import (
    FEWEST,
    KEY,
    PRECISION,
    SAMPLE,
    calibrate_collection,
    known_quotations,
    stored_thresholds,
)
from relink.chunks import read_chunks
from relink.corpus import build_corpus
from relink.embedding import EmbeddingTier, Neighbours, Thresholds, thresholds_for
from relink.llm import LlmTier
from relink.run import RelinkOptions
from relink.run import relink as relink_controls
from relink.tiers import Tier
from relink.undo import undo
from settings import Settings

app = typer.Typer()
relinking = typer.Typer(invoke_without_command=True, help="Link the controls to the chunks their texts quote.")
app.add_typer(relinking, name="relink")


@relinking.callback()
def relink(
    context: typer.Context,
    collection: Annotated[
        list[str] | None, typer.Option("--collection", "-c", help="Link to these collections (default: all).")
    ] = None,
    tiers: Annotated[str, typer.Option("--tiers", help="Which tiers to run, in order.")] = "hash,fuzzy",
    force: Annotated[bool, typer.Option("--force", help="Overwrite citations that people have set, too.")] = False,
    regulation: Annotated[
        list[str] | None,
        typer.Option("--regulation", "-r", help="Only controls of this regulation (code or name; repeatable)."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="At most so many quotations, those no re-link saw first.")
    ] = None,
    only_unmatched: Annotated[
        bool, typer.Option("--only-unmatched", help="Only controls that have no citation yet.")
    ] = False,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", min=0, max=1, help="Tier embedding: least cosine (default: calibrated)."),
    ] = None,
    margin: Annotated[
        float | None, typer.Option("--margin", min=0, max=1, help="Tier embedding: least distance to the runner-up.")
    ] = None,
    max_requests: Annotated[
        int, typer.Option("--max-requests", min=0, help="Tier llm: most requests that are sent.")
    ] = 200,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Link the controls to the chunks their texts quote, and let atoms inherit."""
    if context.invoked_subcommand is not None:
        return
    settings = context.obj.settings
    options = RelinkOptions(
        tiers=tuple(t.strip() for t in tiers.split(",")),
        force=force,
        dry_run=dry_run,
        regulations=tuple(regulation or ()),
        limit=limit,
        only_unmatched=only_unmatched,
    )
    chat = _chat(settings) if "llm" in options.tiers else None
    with open_stores(settings) as (store, tables), ExitStack() as stack:
        names = collection or served(store)
        if not names:
            raise UsageError("There is no collection to link to: run 'fundstelle reingest' first.")
        current = {
            name: {key: s.document_version for key, s in document_states(tables, real_name(store, name)).items()}
            for name in names
        }
        more: list[Tier] = []
        if {"embedding", "llm"} & set(options.tiers):
            about = store.describe(names[0])
            neighbours = Neighbours(
                store, names, make_the_embedder(settings, about.layout.dimension if about else None)
            )
            if "embedding" in options.tiers:
                stored = stored_thresholds(store, names, neighbours.embedder.model)
                more.append(_embedding_tier(neighbours, threshold, margin, stored))
            if chat is not None:
                stack.callback(chat.close)
                more.append(LlmTier(chat, neighbours, max_requests, printed.print_estimate))
        index = settings.home / "cache" / "relink-index"
        report = relink_controls(tables, read_chunks(store, names, current), options, more, index).as_dict()
    print_json(report) if as_json else printed.print_relinked(report, dry_run=dry_run)


def _embedding_tier(
    neighbours: Neighbours, threshold: float | None, margin: float | None, stored: Thresholds | None
) -> EmbeddingTier:
    """Return the embedding tier; a model that only knows letters is announced as such."""
    embedder = neighbours.embedder
    thresholds = thresholds_for(embedder.model, threshold, margin, stored)
    printed.print_embedder(embedder.model, embedder.description)
    return EmbeddingTier(neighbours, thresholds)


def _chat(settings: Settings) -> Chat:
    """Return the language model of the settings; raises UsageError if none is set."""
    if not settings.llm_url or not settings.llm_model:
        raise UsageError("The llm tier needs a language model: set FUNDSTELLE_LLM_URL and FUNDSTELLE_LLM_MODEL.")
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else None
    return Chat(settings.llm_url, settings.llm_model, key, cache=settings.home / "llm-cache")


@relinking.command("calibrate")
def relink_calibrate(
    context: typer.Context,
    collection: Annotated[
        list[str] | None, typer.Option("--collection", "-c", help="Calibrate for these collections (default: all).")
    ] = None,
    precision: Annotated[
        float, typer.Option("--precision", min=0.5, max=1, help="Share of accepted links that have to be right.")
    ] = PRECISION,
    sample: Annotated[
        int, typer.Option("--sample", min=FEWEST, help="Most linked quotations that are measured.")
    ] = SAMPLE,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Find the thresholds of the embedding tier on what is linked by letters already, and keep them."""
    settings = context.obj.settings
    with open_stores(settings) as (store, tables):
        names = collection or served(store)
        if not names:
            raise UsageError("There is no collection to calibrate for: run 'fundstelle reingest' first.")
        current = {
            name: {key: s.document_version for key, s in document_states(tables, real_name(store, name)).items()}
            for name in names
        }
        corpus = build_corpus(read_chunks(store, names, current))
        about = store.describe(names[0])
        neighbours = Neighbours(store, names, make_the_embedder(settings, about.layout.dimension if about else None))
        printed.print_embedder(neighbours.embedder.model, neighbours.embedder.description)
        found = calibrate_collection(corpus, neighbours, known_quotations(tables, sample), precision).as_dict()
        if not dry_run:
            for name in names:
                store.set_metadata(real_name(store, name), {KEY: found})
    print_json(found) if as_json else printed.print_calibrated(found, dry_run=dry_run)


@relinking.command("undo")
def relink_undo(
    context: typer.Context,
    run: Annotated[
        int, typer.Argument(help="The re-link or import of decisions to take back ('fundstelle status' lists them).")
    ],
    as_json: JsonFlag = False,
) -> None:
    """Put back the citations that a re-link changed, as they were before it."""
    with open_the_tables(context.obj.settings) as tables:
        report = asdict(undo(tables, run))
    print_json(report) if as_json else printed.print_undone(report)
