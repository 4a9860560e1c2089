"""The database: its tables, the controls in and out of it, and the ledger of processed chunks."""

from pathlib import Path
from typing import Annotated

import typer

import printing.tables as printed
from backends.tables.upgrade import upgrade
from commands.opening import CollectionName, DryRun, JsonFlag, open_stores, open_the_tables, print_json
from ingest.ledger import check_ledger, rebuild_ledger
from printing.console import progress_bars
from relink.controls import export_controls, import_controls, read_lines

REFUSED = 3

app = typer.Typer()
db = typer.Typer(no_args_is_help=True, help="The database: create and upgrade the tables.")
controls = typer.Typer(no_args_is_help=True, help="The controls: bring them in, bring them out.")
app.add_typer(db, name="db")
app.add_typer(controls, name="controls")
ledger = typer.Typer(no_args_is_help=True, help="The ledger of processed chunks: does it say what the store holds?")
app.add_typer(ledger, name="ledger")


@db.command("upgrade")
def db_upgrade(context: typer.Context, as_json: JsonFlag = False) -> None:
    """Create what is missing in schema compliance; tables that are there stay as they are."""
    with open_the_tables(context.obj.settings, upgraded=False) as tables:
        created = upgrade(tables)
        where = tables.where
    print_json({"created": created, "where": where}) if as_json else printed.print_upgraded(created, where)


@controls.command("import")
def controls_import(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="Controls as JSON lines, .jsonl or .jsonl.zst.")],
    as_json: JsonFlag = False,
) -> None:
    """Bring controls in: new ones are added, changed ones updated; a bad line stops all of it."""
    with open_the_tables(context.obj.settings) as tables:
        report = import_controls(tables, read_lines(file), file.name)
    counts = {"rows": report.rows, "inserted": report.inserted, "updated": report.updated}
    print_json(counts | {"unchanged": report.unchanged}) if as_json else printed.print_imported(report)


@controls.command("export")
def controls_export(context: typer.Context, as_json: JsonFlag = False) -> None:
    """Print every control with its Fundstelle and how it came by it; with --json a line a control."""
    with open_the_tables(context.obj.settings) as tables:
        rows = export_controls(tables)
        if as_json:
            for row in rows:
                print_json(row)
        else:
            printed.print_controls(rows)


@ledger.command("check")
def ledger_check(context: typer.Context, collection: CollectionName, as_json: JsonFlag = False) -> None:
    """Compare the ledger with the store both ways; exit 3 if they differ. Changes nothing."""
    with open_stores(context.obj.settings) as (store, tables), progress_bars() as progress:
        report = check_ledger(store, tables, collection, progress)
    print_json(report) if as_json else printed.print_ledger(report)
    if not report["agrees"]:
        raise typer.Exit(REFUSED)


@ledger.command("rebuild")
def ledger_rebuild(
    context: typer.Context,
    collection: CollectionName,
    max_delete_ratio: Annotated[
        float | None, typer.Option(min=0, max=1, help="Refuse to remove a larger share of the ledger's rows.")
    ] = None,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Make the ledger say what the store holds: every chunk in it counts as processed, nothing else does."""
    settings = context.obj.settings
    ratio = settings.max_delete_ratio if max_delete_ratio is None else max_delete_ratio
    with open_stores(settings) as (store, tables), progress_bars() as progress:
        report = rebuild_ledger(store, tables, collection, max_delete_ratio=ratio, dry_run=dry_run, progress=progress)
    print_json(report) if as_json else printed.print_rebuilt(report, dry_run=dry_run)
