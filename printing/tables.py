"""What the database and control commands print."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from printing.console import console, table
from relink.controls import ImportReport


def print_upgraded(created: Sequence[str], where: str) -> None:
    """Print which tables an upgrade created."""
    out = console()
    if created:
        out.print(f"Created in {where}: {', '.join(created)}")
    else:
        out.print(f"Nothing to do: the tables in {where} are up to date.")


def print_imported(report: ImportReport) -> None:
    """Print what an import of controls did."""
    console().print(
        f"Read {report.rows:,} controls: {report.inserted:,} new, {report.updated:,} changed, "
        f"{report.unchanged:,} unchanged."
    )


def print_controls(rows: Iterable[Mapping[str, Any]]) -> None:
    """Print the controls with their Fundstelle."""
    lines = [
        (r["control_uuid"], r["outcome"], (r["source_citation"] or {}).get("article_label"), r["tier"], r["score"])
        for r in rows
    ]
    console().print(table(("control", "outcome", "Fundstelle", "tier", "score"), lines))
