"""What status and doctor print."""

from collections.abc import Mapping
from typing import Any

from printing.console import console, counts, table

_COLUMNS = ("collection", "points", "new", "verified", "old", "orphaned", "size", "documents", "receipt", "last run")


def print_status(report: Mapping[str, Any]) -> None:
    """Print collections, links and runs."""
    out = console()
    if not report["collections"]:
        out.print("No collection yet: run 'fundstelle reingest'.")
    for missing in (c for c in report["collections"] if c["missing"]):
        out.print(f"'{missing['collection']}' is not in the store; {missing['documents']:,} documents are booked.")
    there = [c for c in report["collections"] if not c["missing"]]
    if there:
        columns = (
            "collection",
            "points",
            "new",
            "verified",
            "old",
            "orphaned",
            "size",
            "documents",
            "receipt",
            "last run",
        )
        out.print(table(columns, [_row(c) for c in there]))
    for c in there:
        for line in _remarks(c):
            out.print(f"  {c['collection']}: {line}")
    controls = report["controls"]
    out.print(f"Controls: {controls['controls']:,} ({counts(controls['outcomes']) or 'not linked yet'})")
    if report["runs"]:
        runs = [(r["run"], r["command"], r["collection"], r["status"], r["started"], _took(r)) for r in report["runs"]]
        out.print(table(("run", "command", "collection", "status", "started", "took"), runs))


def _row(c: Mapping[str, Any]) -> tuple[object, ...]:
    last = c["last_run"]
    return (
        c["collection"],
        c["points"],
        *(c[kind]["points"] for kind in ("new", "verified", "old", "orphaned")),
        _mib(c["bytes"]),
        counts(c["states"]),
        c["receipt_state"],
        f"{last['command']} {last['run']} {last['status']}" if last else None,
    )


def _remarks(c: Mapping[str, Any]) -> list[str]:
    """What a row of the table does not say."""
    remarks = []
    if c["aliases"]:
        remarks.append(f"served as {', '.join(c['aliases'])}")
    elif c["built_for"]:
        state = {"draft": "a draft for", "served": "served before as", "restoring": "half put back for"}
        remarks.append(f"{state.get(c['built_for']['state'], 'built for')} {c['built_for']['alias']}")
    if c["old"]["points"]:
        remarks.append(f"old: {counts(c['old_versions'])}, {_mib(c['old']['bytes'])}")
    if c["unsorted"]["points"]:
        remarks.append(f"{c['unsorted']['points']:,} points of an older pipeline: 'verify' says whose they are")
    if c["receipt_says"]:
        remarks.append(f"receipt {c['receipt']}: {c['receipt_says']}")
    return remarks


def _mib(size: int) -> str:
    return f"{size / 1024**2:,.1f} MiB"


def _took(run: Mapping[str, Any]) -> str | None:
    return None if run["seconds"] is None else f"{run['seconds']:,.1f} s"


def print_doctor(report: Mapping[str, Any]) -> None:
    """Print settings with their origin, and what each part says."""
    out = console()
    rows = [(s["setting"], s["value"], s["from"]) for s in report["settings"]]
    out.print(table(("setting", "value", "from"), rows))
    out.print()
    for finding in report["findings"]:
        out.print(f"{'ok     ' if finding['ok'] else 'MISSING'} {finding['part']}: {finding['says']}")
