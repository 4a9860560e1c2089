"""Re-ingest: plan and write, verify, prune, roll back."""

from functools import partial
from typing import Annotated, Literal

import typer

import printing.ingesting as printed
from backends.tables.runs import latest_runs
from backends.vectors.store import real_name
from commands.opening import (
    CollectionName,
    DryRun,
    JsonFlag,
    ManifestFile,
    make_the_embedder,
    manifest_of,
    open_stores,
    open_to_plan,
    print_json,
)
from ingest.blue_green.build import reingest_beside
from ingest.blue_green.generations import is_behind_alias, refuse_beside
from ingest.blue_green.plan import plan_beside, runs_behind
from ingest.blue_green.retire import prune_alias
from ingest.blue_green.switch_back import switch_back
from ingest.prune import prune as prune_collection
from ingest.reingest import make_plan
from ingest.reingest import reingest as reingest_collection
from ingest.rollback import rollback as rollback_collection
from ingest.verify import SAMPLE, SEED
from ingest.verify import verify as verify_collection
from normalize.errors import UsageError
from normalize.laws import LawTable
from printing.console import progress_bars

REFUSED = 3
PENDING = 5

app = typer.Typer()


@app.command()
def reingest(
    context: typer.Context,
    collection: CollectionName,
    manifest: ManifestFile = None,
    strategy: Annotated[
        Literal["coexist", "alias"],
        typer.Option("--strategy", help="Write beside the old points, or build a new collection and switch an alias."),
    ] = "coexist",
    dry_run: DryRun = False,
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="Write every payload again (heals what another program changed).")
    ] = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="With --dry-run: exit 5 if changes are pending.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Read the documents of a collection and write what the store lacks. Deletes nothing that was ever served."""
    settings = context.obj.settings
    laws = LawTable.builtin()
    embedder_for = partial(make_the_embedder, settings, keeps=True)
    pending = False
    if dry_run:
        with open_to_plan(settings) as (store, books), progress_bars() as progress:
            known = manifest_of(settings, books, collection, manifest)
            if strategy == "alias":
                runs = runs_behind(books, collection) if books is not None else []
                beside = plan_beside(store, collection, known, laws, embedder_for, progress, rebuild=rewrite, runs=runs)
                report, pending = beside.report(), beside.pending
            else:
                refuse_beside(store, collection)
                name = real_name(store, collection)
                runs = latest_runs(books, 100, command="reingest") if books is not None else []
                plan = make_plan(store, name, known, laws, embedder_for, progress, rewrite_all=rewrite, runs=runs)
                report, pending = plan.report(), plan.pending
    else:
        with open_stores(settings) as (store, tables), progress_bars() as progress:
            known = manifest_of(settings, tables, collection, manifest)
            if strategy == "alias":
                report = reingest_beside(
                    store, tables, collection, known, laws, embedder_for, progress, rebuild=rewrite
                )
            else:
                refuse_beside(store, collection)
                name = real_name(store, collection)
                memory = settings.home / "cache" / "surveys" / f"{name}.zst"
                report = reingest_collection(
                    store, tables, name, known, laws, embedder_for, progress, rewrite_all=rewrite, memory=memory
                )
    print_json(report) if as_json else printed.print_plan(report, dry_run=dry_run)
    if dry_run and exit_code and pending:
        raise typer.Exit(PENDING)
    if report.get("verified") is False:
        raise typer.Exit(REFUSED)


@app.command()
def verify(
    context: typer.Context,
    collection: CollectionName,
    manifest: ManifestFile = None,
    sample: Annotated[
        float, typer.Option(min=0, max=1, help="Share of chunks compared whole (at least one a document).")
    ] = SAMPLE,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = SEED,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check, but write no receipt.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Check that the store holds exactly what the sources say, and write the receipt that prune needs."""
    settings = context.obj.settings
    with open_stores(settings) as (store, tables), progress_bars() as progress:
        known = manifest_of(settings, tables, collection, manifest)
        report = verify_collection(
            store, tables, real_name(store, collection), known, LawTable.builtin(),
            sample=sample, seed=seed, write_receipt=not dry_run, progress=progress,
            embedder_for=partial(make_the_embedder, settings),
        )  # fmt: skip
    print_json(report) if as_json else printed.print_verdict(report)
    if not report["ok"]:
        raise typer.Exit(REFUSED)


@app.command()
def prune(
    context: typer.Context,
    collection: CollectionName,
    manifest: ManifestFile = None,
    max_delete_ratio: Annotated[
        float | None, typer.Option(min=0, max=1, help="Refuse to delete a larger share of the collection.")
    ] = None,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Back up and delete the old points of re-ingested documents. Needs a receipt of verify that still holds."""
    settings = context.obj.settings
    ratio = settings.max_delete_ratio if max_delete_ratio is None else max_delete_ratio
    with open_stores(settings) as (store, tables), progress_bars() as progress:
        known = manifest_of(settings, tables, collection, manifest)
        behind = is_behind_alias(store, collection)
        report = (prune_alias if behind else prune_collection)(
            store, tables, collection if behind else real_name(store, collection), known, LawTable.builtin(),
            settings.home / "backups",
            max_delete_ratio=ratio, dry_run=dry_run, progress=progress,
            embedder_for=partial(make_the_embedder, settings),
        )  # fmt: skip
    print_json(report) if as_json else printed.print_pruned(report, dry_run=dry_run)


@app.command()
def rollback(
    context: typer.Context,
    collection: CollectionName,
    run: Annotated[int | None, typer.Option("--run", help="The prune run to take back (default: the last).")] = None,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Put the points back that a prune deleted, or switch an alias back to the collection before. Deletes nothing."""
    settings = context.obj.settings
    backups = settings.home / "backups"
    with open_stores(settings) as (store, tables), progress_bars() as progress:
        if is_behind_alias(store, collection):
            if run is not None:
                raise UsageError(f"'{collection}' is an alias, which goes back one collection: leave --run out.")
            report = switch_back(store, tables, collection, backups, dry_run=dry_run, progress=progress)
        else:
            report = rollback_collection(
                store, tables, real_name(store, collection), backups, run=run, dry_run=dry_run, progress=progress
            )
    print_json(report) if as_json else printed.print_rolled_back(report, dry_run=dry_run)
