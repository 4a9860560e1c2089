"""Review: what re-link left to a person, out as a file and the decisions back in; and what all links are worth."""

import sys
from pathlib import Path
from typing import Annotated

import typer

import printing.reviewing as printed
from backends.vectors.store import served
from commands.opening import DryRun, JsonFlag, open_stores, open_the_tables, print_json
from normalize.errors import SourceError, UsageError
from relink.controls import read_lines
from relink.report import link_report
from relink.review import OUTCOMES, QUEUE, import_decisions, review_items
from relink.review_files import as_csv, as_json_lines, decisions_of_csv
from relink.review_page import review_page

app = typer.Typer()
reviewing = typer.Typer(no_args_is_help=True, help="Decide what re-link left to a person.")
app.add_typer(reviewing, name="review")

REFUSED = 3


@reviewing.command("export")
def review_export(
    context: typer.Context,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File (.jsonl, .csv or .html); default: standard output.")
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", help="jsonl, csv or html (default: by the file's name, else jsonl).")
    ] = None,
    outcome: Annotated[
        list[str] | None, typer.Option("--outcome", help=f"Only these of {', '.join(OUTCOMES)} (default: the queue).")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="At most so many controls.")] = None,
    collection: Annotated[
        list[str] | None, typer.Option("--collection", "-c", help="Where the chunks are (default: all).")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Write the controls that wait for a person, each with its candidates: for a script, a spreadsheet or a browser."""
    kind = form or (output.suffix.lstrip(".").lower() if output else "jsonl")
    if kind not in ("jsonl", "csv", "html"):
        raise UsageError(f"There is no format '{kind}': choose jsonl, csv or html with --format.")
    if as_json and output is None:
        raise UsageError("--json says what was written to a file: name one with --output.")
    for name in outcome or ():
        if name not in OUTCOMES:
            raise UsageError(f"There is no outcome '{name}' to review; choose from {', '.join(OUTCOMES)}.")
    with open_stores(context.obj.settings) as (store, tables):
        names = collection or served(store)
        items = review_items(tables, store, names, outcomes=outcome or QUEUE, limit=limit)
        if kind == "html":
            text = review_page(items, link_report(tables))
        else:
            text = "".join(as_csv(items) if kind == "csv" else as_json_lines(items))
    if output is None:
        sys.stdout.write(text)
        return
    try:
        output.write_bytes(text.encode("utf-8"))
    except OSError as error:
        raise UsageError(f"File {output} cannot be written ({error.strerror}): choose another.") from None
    report = {"file": str(output), "format": kind, "controls": len(items)}
    print_json(report) if as_json else printed.print_exported(report)


@reviewing.command("import")
def review_import(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="Decisions: the page's .jsonl, or the .csv with its column filled.")],
    reviewer: Annotated[str | None, typer.Option("--reviewer", help="Who decided the rows that name nobody.")] = None,
    collection: Annotated[
        list[str] | None, typer.Option("--collection", "-c", help="Where the chunks are (default: all).")
    ] = None,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Apply decisions as links that no later re-link overwrites; what has changed since the export is refused."""
    lines: list[bytes | str] = list(read_lines(file))
    if file.suffix.lower() == ".csv":
        raw = b"".join(line for line in lines if isinstance(line, bytes))
        try:
            lines = list(decisions_of_csv(raw.decode("utf-8-sig"), str(file)))
        except UnicodeDecodeError:
            raise SourceError(f"{file} is not UTF-8; nothing was imported, save it as CSV UTF-8.") from None
    with open_stores(context.obj.settings) as (store, tables):
        names = collection or served(store)
        report = import_decisions(tables, store, names, lines, str(file), reviewer=reviewer, dry_run=dry_run).as_dict()
    print_json(report) if as_json else printed.print_imported(report, dry_run=dry_run)
    if report["refused"]:
        raise typer.Exit(REFUSED)


@app.command("report")
def report(context: typer.Context, as_json: JsonFlag = False) -> None:
    """Show what the links are worth: coverage, scores, what was left and why, before and after."""
    with open_the_tables(context.obj.settings) as tables:
        found = link_report(tables)
    print_json(found) if as_json else printed.print_report(found)
