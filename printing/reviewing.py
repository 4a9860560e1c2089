"""What review and report print."""

from collections.abc import Mapping
from typing import Any

from printing.console import console, table
from relink.report import coverage_share

_MOST_ROWS = 20
_BAR = 40


def print_exported(report: Mapping[str, Any]) -> None:
    """Print what a review export wrote."""
    console().print(f"Wrote {report['controls']:,} controls to {report['file']}.")


def print_imported(report: Mapping[str, Any], *, dry_run: bool) -> None:
    """Print what an import of decisions did, and why rows were refused."""
    out = console()
    wrote = "Would apply" if dry_run else "Applied"
    out.print(f"{wrote} {report['applied']:,} of {report['rows']:,} decisions; {report['unchanged']:,} were applied.")
    for row in report["refused"][:_MOST_ROWS]:
        out.print(f"  refused, line {row['line']}, {row['control_uuid']}: {row['reason']}.")
    if len(report["refused"]) > _MOST_ROWS:
        out.print(f"  … and {len(report['refused']) - _MOST_ROWS:,} more; --json has them all.")
    if report["applied"] and report["run_id"] is not None:
        out.print("Atoms below get the citation with the next 'fundstelle relink'.")
        out.print(f"Run {report['run_id']}; take it back with 'fundstelle relink undo {report['run_id']}'.")


def print_report(report: Mapping[str, Any]) -> None:
    """Print what the links are worth."""
    out = console()
    out.print(f"{coverage_share(dict(report)):.1%} of {report['controls']:,} controls have a citation.")
    before, after = report["before"], report["after"]
    rows = [(name, before[name], after[name]) for name in ("cited", "with_label")]
    out.print(table(("", "before", "after"), rows))
    out.print()
    coverage = [(r["outcome"], r["tier"], r["controls"]) for r in report["coverage"]]
    out.print(table(("outcome", "tier", "controls"), coverage))
    if report["scores"]:
        out.print()
        most = max(row["controls"] for row in report["scores"])
        bars = [
            (f"{r['from']:.2f}", r["controls"], "█" * max(1, round(_BAR * r["controls"] / most)))
            for r in report["scores"]
        ]
        out.print(table(("similarity", "linked", ""), bars))
    if report["left"]:
        out.print()
        out.print(
            table(
                ("left because", "outcome", "controls"),
                [(r["reason"], r["outcome"], r["controls"]) for r in report["left"]],
            )
        )
    out.print()
    shown = [(r["regulation"], r["controls"], r["cited"]) for r in report["regulations"][:_MOST_ROWS]]
    out.print(table(("regulation", "controls", "with a citation"), shown))
    if len(report["regulations"]) > _MOST_ROWS:
        out.print(f"… and {len(report['regulations']) - _MOST_ROWS:,} more; --json has them all.")
