"""What status and doctor print."""

from collections.abc import Mapping
from typing import Any

from printing.console import console, counts, table


def print_status(report: Mapping[str, Any]) -> None:
    """Print collections, links and runs."""
    out = console()
    if not report["collections"]:
        out.print("No collection yet: run 'fundstelle reingest'.")
    else:
        rows = [
            (c["collection"], c["points"], c["documents"], counts(c["states"]), c["model"], c["receipt"])
            for c in report["collections"]
        ]
        out.print(table(("collection", "points", "documents", "states", "model", "receipt"), rows))
    controls = report["controls"]
    out.print(f"Controls: {controls['controls']:,} ({counts(controls['outcomes']) or 'not linked yet'})")
    if report["runs"]:
        runs = [(r["run"], r["command"], r["collection"], r["status"], r["started"]) for r in report["runs"]]
        out.print(table(("run", "command", "collection", "status", "started"), runs))


def print_doctor(report: Mapping[str, Any]) -> None:
    """Print settings with their origin, and what each part says."""
    out = console()
    rows = [(s["setting"], s["value"], s["from"]) for s in report["settings"]]
    out.print(table(("setting", "value", "from"), rows))
    out.print()
    for finding in report["findings"]:
        out.print(f"{'ok     ' if finding['ok'] else 'MISSING'} {finding['part']}: {finding['says']}")
