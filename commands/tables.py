"""The database: its tables, and the controls in and out of it."""

from pathlib import Path
from typing import Annotated

import typer

import printing.tables as printed
from backends.tables.upgrade import upgrade
from commands.opening import JsonFlag, open_the_tables, print_json
from relink.controls import export_controls, import_controls, read_lines

app = typer.Typer()
db = typer.Typer(no_args_is_help=True, help="The database: create and upgrade the tables.")
controls = typer.Typer(no_args_is_help=True, help="The controls: bring them in, bring them out.")
app.add_typer(db, name="db")
app.add_typer(controls, name="controls")


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
