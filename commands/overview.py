"""What there is and whether it works: status and doctor."""

from dataclasses import asdict

import typer

import printing.overview as printed
from backends.health import check_disk, check_embedder, check_extras, check_tables, check_vectors
from commands.opening import JsonFlag, make_the_embedder, open_stores, open_the_tables, open_vectors, print_json
from ingest.status import collections_status, runs_status
from relink.controls import link_counts
from settings import LoadedSettings, Settings, shown

app = typer.Typer()


@app.command()
def status(context: typer.Context, as_json: JsonFlag = False) -> None:
    """Show every collection, how far its documents are, the links of the controls, and the last runs."""
    with open_stores(context.obj.settings) as (store, tables):
        report = {
            "collections": collections_status(store, tables),
            "controls": link_counts(tables),
            "runs": runs_status(tables),
        }
    print_json(report) if as_json else printed.print_status(report)


@app.command()
def doctor(context: typer.Context, as_json: JsonFlag = False) -> None:
    """Show where each setting comes from, what it connects to, and what is missing."""
    loaded: LoadedSettings = context.obj.loaded
    settings = loaded.settings
    findings = [
        check_vectors(lambda: open_vectors(settings)),
        check_tables(lambda: open_the_tables(settings, upgraded=False)),
        check_embedder(lambda: make_the_embedder(settings, None)),
        check_disk(settings.home),
        check_extras(),
    ]
    values = [
        {"setting": name, "value": shown(getattr(settings, name)), "from": loaded.origins[name]}
        for name in Settings.model_fields
    ]
    report = {"settings": values, "findings": [asdict(finding) for finding in findings]}
    print_json(report) if as_json else printed.print_doctor(report)
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)
