"""What the commands on single texts print."""

from collections.abc import Iterable, Mapping
from typing import Any

from printing.console import console, table


def print_chunks(payloads: Iterable[Mapping[str, Any]]) -> None:
    """Print chunks for reading: label, heading, text."""
    out = console()
    for payload in payloads:
        header = f"  {payload['section_header']}" if payload["section_header"] else ""
        out.print(f"[{payload['article_label']}]{header}")
        out.print(payload["chunk_text"])
        out.print()


def print_citations(rows: Iterable[Mapping[str, Any]]) -> None:
    """Print the citations of a text, a line a target."""
    lines = [
        (row["text"], f"{row['start']}-{row['end']}", target["label"], _verdict(row, target))
        for row in rows
        for target in row["targets"] or [{"label": None, "resolved": False}]
    ]
    out = console()
    if lines:
        out.print(table(("text", "characters", "label", ""), lines))
    else:
        out.print("No citation found.")


def _verdict(row: Mapping[str, Any], target: Mapping[str, Any]) -> str:
    if not row["complete"]:
        return "read in part"
    return "" if target["resolved"] else "unresolved"


def print_text_report(report: Mapping[str, Any]) -> None:
    """Print what the text rules did to a file, and the text after them."""
    out = console()
    if report["refused"]:
        out.print(f"Refused: {report['refused']}")
    if report["rules"]:
        out.print(table(("rule", "changes", "why"), [(r["rule"], r["count"], r["reason"]) for r in report["rules"]]))
    for rule in report["rules"]:
        for example in rule["examples"]:
            out.print(f"  {rule['rule']}: {example['before']!r} → {example['after']!r}")
    for removed in report["removed"]:
        out.print(f"  removed by {removed['rule']}: {removed['text']!r}")
    for found in report["debris"]:
        out.print(
            f"  damage, not mended: {found['kind']} {found['count']:,} ({', '.join(map(repr, found['examples']))})"
        )
    out.print("Nothing to change." if not report["changed"] else "")
    out.print(report["after"])


def print_converted(row: Mapping[str, Any]) -> None:
    """Print an old payload as the contract has it, and what could not be recovered."""
    out = console()
    payload = row["payload"]
    out.print(f"[{payload['article_label']}] {payload['section_header'] or ''}".rstrip())
    out.print(payload["chunk_text"])
    for rule in row["rules"]:
        out.print(f"  {rule['rule']}: {rule['count']:,} changes")
    for removed in row["removed"]:
        out.print(f"  removed by {removed['rule']}: {removed['text']!r}")
    for lost in row["unrecovered"]:
        out.print(f"  not recovered: {lost['field']} from {lost['value']!r} ({lost['reason']})")
    out.print()


def print_fetched(report: Mapping[str, Any]) -> None:
    """Print which file came in."""
    news = "new" if report["changed"] else "unchanged"
    console().print(f"{report['path']} ({news}), sha256 {report['sha256']}")
