"""Re-link: tie the controls to the chunks their texts quote."""

from dataclasses import asdict
from typing import Annotated

import typer

import printing.linking as printed
from backends.tables.runs import document_states
from commands.opening import DryRun, JsonFlag, open_stores, open_the_tables, print_json
from normalize.errors import UsageError
from relink.chunks import read_chunks
from relink.run import RelinkOptions
from relink.run import relink as relink_controls
from relink.undo import undo

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
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Link the controls to the chunks their texts quote, and let atoms inherit."""
    if context.invoked_subcommand is not None:
        return
    settings = context.obj.settings
    options = RelinkOptions(tiers=tuple(t.strip() for t in tiers.split(",")), force=force, dry_run=dry_run)
    with open_stores(settings) as (store, tables):
        names = collection or store.collections()
        if not names:
            raise UsageError("There is no collection to link to: run 'fundstelle reingest' first.")
        current = {
            name: {document_id: s.document_version for document_id, s in document_states(tables, name).items()}
            for name in names
        }
        report = relink_controls(tables, read_chunks(store, names, current), options).as_dict()
    print_json(report) if as_json else printed.print_relinked(report, dry_run=dry_run)


@relinking.command("undo")
def relink_undo(
    context: typer.Context,
    run: Annotated[int, typer.Argument(help="The re-link run to take back ('fundstelle status' lists them).")],
    as_json: JsonFlag = False,
) -> None:
    """Put back the citations that a re-link changed, as they were before it."""
    with open_the_tables(context.obj.settings) as tables:
        report = asdict(undo(tables, run))
    print_json(report) if as_json else printed.print_undone(report)
