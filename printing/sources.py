"""What the commands on sources print."""

from collections.abc import Mapping
from typing import Any

from printing.console import console, counts, table

_MOST_FAULTS = 20


def print_checked(report: Mapping[str, Any]) -> None:
    """Print a file that has something to say: refused, unmeasured, or with faults."""
    out = console()
    if report["status"] in ("refused", "unmeasured"):
        out.print(f"{report['file']}: {report['status']}: {report['reason']}")
        return
    faults = report["faults"]
    if not faults:
        return
    out.print(
        f"{report['file']}: {report['status']}: {report['share']:.4%} of {report['letters']:,} letters, "
        f"{report['lost']:,} lost, {report['invented']:,} invented"
    )
    for fault in faults[:_MOST_FAULTS]:
        out.print(f"  {fault['kind']} in {fault['place']}: {fault['letters']:,} letters: {fault['excerpt']}")
    if len(faults) > _MOST_FAULTS:
        out.print(f"  and {len(faults) - _MOST_FAULTS:,} more places (--json lists all)")


def print_check_totals(report: Mapping[str, Any], floor: float) -> None:
    """Print what the check found in all, and which rules left out how much."""
    out = console()
    out.print(f"Files: {counts(report['files'])}; chunks: {report['chunks']:,}")
    out.print(
        f"Letters of law: {report['letters']:,}, of which {report['share']:.6%} are in the chunks in order; "
        f"lost {report['lost']:,}, invented {report['invented']:,}"
    )
    if report["removed"]:
        rows = [(entry["rule"], entry["count"], entry["letters"]) for entry in report["removed"]]
        out.print(table(("left out by rule", "places", "letters"), rows))
    if not report["ok"]:
        out.print(f"Below the floor of {floor:.2%}: {report['files']['faulty']:,} files; see above.")


def print_rebuilt(report: Mapping[str, Any]) -> None:
    """Print which documents came out of old points, and what to do next."""
    out = console()
    found = report["documents"]
    rows = [
        (
            d["file"],
            d["code"],
            d["points"],
            d["chunks"],
            d["found_again"],
            d["unrecovered"],
            "yes" if d["one_of_many"] else "",
        )
        for d in found
    ]
    if rows:
        columns = ("file", "code", "points", "chunks", "points found whole", "not recovered", "one of several")
        out.print(table(columns, rows))
    out.print(f"{report['points']:,} old points, {report['contract_points']:,} of fundstelle's own left out")
    if report["unrecovered"]:
        out.print(f"Not recovered: {counts(report['unrecovered'])}; each is in {report['folder']}/unrecovered.jsonl")
    if found:
        manifest = report["manifest"]
        out.print(f"Look through {manifest}, then: fundstelle reingest -c {report['collection']} -m {manifest}")
