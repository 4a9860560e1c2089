"""Sources: prove that the chunks of files are their text; make sources of old points whose own are gone."""

from pathlib import Path
from typing import Annotated

import typer

import printing.sources as printed
from commands.opening import JsonFlag, open_vectors, print_json
from commands.texts import app as app
from commands.texts import sources
from ingest.conservation.run import FLOOR, WORKERS, Totals, check_sources
from ingest.legacy.rebuild import rebuild_collection
from normalize.laws import LawTable

BELOW_FLOOR = 3


@sources.command("check")
def sources_check(
    paths: Annotated[list[Path], typer.Argument(help="Files, folders, or archives (.tar, .tar.zst).")],
    floor: Annotated[
        float, typer.Option("--floor", min=0, max=1, help="Smallest share of a file's letters that its chunks hold.")
    ] = FLOOR,
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="Processes.")] = WORKERS,
    as_json: JsonFlag = False,
) -> None:
    """Check that the chunks of files hold all their text of law, in order and nothing else; exit 3 if a file does not.

    With --json a line a file, then one with the totals.
    """
    totals = Totals({})
    for checked in check_sources(paths, floor=floor, workers=workers):
        totals.add(checked)
        print_json(checked.report()) if as_json else printed.print_checked(checked.report())
    report = totals.report()
    print_json({"totals": report}) if as_json else printed.print_check_totals(report, floor)
    if not totals.ok:
        raise typer.Exit(BELOW_FLOOR)


@sources.command("rebuild")
def sources_rebuild(
    context: typer.Context,
    collection: Annotated[str, typer.Argument(help="The collection whose old points have no source any more.")],
    to: Annotated[Path, typer.Option("--to", help="New folder for the files and their manifest.")],
    as_json: JsonFlag = False,
) -> None:
    """Put the laws of old points together again: a file a document, a manifest, and what could not be recovered.

    Reads only; the points stay until the manifest is re-ingested, verified and pruned.
    """
    with open_vectors(context.obj.settings) as store:
        report = rebuild_collection(store, collection, to, LawTable.builtin())
    print_json(report) if as_json else printed.print_rebuilt(report)
