"""What an operator sees: reports as short tables and sentences. JSON output never comes through here."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from ingest.gather import Progress as ProgressCallback
from ingest.gather import no_progress
from relink.controls import ImportReport
from retrieve.search import Answer

_MANY_DOCUMENTS = 30
_PIPE_WIDTH = 200


def console() -> Console:
    """Standard output; plain text, as wide as its lines are, when it is no terminal."""
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(highlight=False, markup=False, soft_wrap=True, width=width)


@contextmanager
def progress_bars() -> Iterator[ProgressCallback]:
    """Yield a callback that draws a bar a stage on a terminal's standard error, and nothing in a pipe."""
    errors = Console(stderr=True)
    if not errors.is_terminal:
        yield no_progress
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True) as progress:
        tasks: dict[str, Any] = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, total=total)
            progress.update(tasks[stage], completed=done, total=total)

        yield show


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """Return a plain table; numbers to the right."""
    result = Table(box=None, pad_edge=False, header_style="bold")
    for index, name in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[index], int | float) for row in rows)
        result.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        result.add_row(*(_cell(value) for value in row))
    return result


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def seconds(stages: Mapping[str, float]) -> str:
    """Return "plan 0.12 s, write 1.30 s"."""
    return ", ".join(f"{stage} {value:.2f} s" for stage, value in stages.items())


def print_plan(report: Mapping[str, Any], *, dry_run: bool) -> None:
    """Print the plan of a re-ingest, or what a re-ingest did."""
    out = console()
    totals = report["totals"]
    columns = ("document", "code", "chunks", "new", "changed", "unchanged", "obsolete", "old points", "version")
    documents = [d for d in report["documents"] if d["to_write"] or d["to_rewrite"] or d["old_points"]]
    shown = documents[:_MANY_DOCUMENTS] if documents else report["documents"][:_MANY_DOCUMENTS]
    rows = [
        (d["document_id"], d["regulation_code"], d["chunks"], d["new"], d["changed"], d["unchanged"], d["obsolete"],
         d["old_points"], _versions(d))
        for d in shown
    ]  # fmt: skip
    out.print(table(columns, rows))
    if len(shown) < len(report["documents"]):
        out.print(f"… and {len(report['documents']) - len(shown):,} more documents")
    for document in shown:
        for kind in ("obsolete", "changed", "new"):
            if document["old_points"] and document["examples"][kind]:
                more = document[kind] - len(document["examples"][kind])
                tail = f" and {more:,} more" if more > 0 else ""
                out.print(f"  {document['regulation_code']} {kind}: {', '.join(document['examples'][kind])}{tail}")
    _print_unclaimed(out, report["unclaimed"])
    if report["skipped"]:
        more = " …" if len(report["skipped"]) > 10 else ""
        out.print(f"{len(report['skipped']):,} files have no text in force: {', '.join(report['skipped'][:10])}{more}")
    if report["warning"]:
        out.print(f"Warning: {report['warning']}")
    if not totals["to_write"] and not totals["to_rewrite"]:
        out.print(f"Nothing to write: all {totals['chunks']:,} chunks of '{report['collection']}' are in the store.")
    elif dry_run:
        out.print(
            f"Would write {totals['to_write']:,} points and {totals['to_rewrite']:,} payloads to "
            f"'{report['collection']}'; {totals['vectors_reused']:,} vectors reused. Nothing was written (dry run)."
        )
    else:
        out.print(
            f"Wrote {report['written']:,} points and {report['rewritten']:,} payloads to '{report['collection']}' with "
            f"{report['model']}; {report['vectors_computed']:,} vectors computed, {totals['vectors_reused']:,} reused."
        )
    if totals["old_points"] and not dry_run:
        out.print(f"{totals['old_points']:,} old points stay until 'verify' has passed and 'prune' deletes them.")
    out.print(f"Time: {seconds(report['seconds'])}")


def _versions(document: Mapping[str, Any]) -> str:
    old = ", ".join(v for v in document["old_versions"] if v != document["version"])
    return f"{old} → {document['version']}" if old else str(document["version"])


def _print_unclaimed(out: Console, unclaimed: Mapping[str, Any]) -> None:
    if unclaimed["points"]:
        laws = list(unclaimed["by_document"].items())
        named = ", ".join(f"{name} ({count:,})" for name, count in laws[:10])
        more = f" and {len(laws) - 10:,} more" if len(laws) > 10 else ""
        out.print(f"{unclaimed['points']:,} points belong to no document of the manifest and stay: {named}{more}")


def print_verdict(report: Mapping[str, Any]) -> None:
    """Print what verify found."""
    out = console()
    rows = [("ok" if not c["failed"] else "FAILED", c["name"], c["checked"], c["failed"]) for c in report["checks"]]
    out.print(table(("", "check", "checked", "failed"), rows))
    for check in report["checks"]:
        for example in check["examples"]:
            out.print(f"  {check['name']}: {example}")
    _print_unclaimed(out, report["unclaimed"])
    if report["ok"]:
        out.print(
            f"Verified: {report['chunks']:,} chunks of {report['documents']:,} documents in "
            f"'{report['collection']}' are exactly what the sources say. {report['old_points']:,} old points may be "
            f"pruned. Receipt {report['receipt'] or 'not written (dry run)'}."
        )
    else:
        out.print("NOT verified: nothing may be deleted. Run 'fundstelle reingest' again, then 'verify'.")
    out.print(f"Time: {seconds(report['seconds'])}")


def print_pruned(report: Mapping[str, Any], *, dry_run: bool) -> None:
    """Print what prune deleted, or would delete."""
    out = console()
    if report["documents"]:
        out.print(table(("document", "old points"), list(report["documents"].items())[:_MANY_DOCUMENTS]))
    _print_unclaimed(out, report["unclaimed"])
    if dry_run:
        out.print(f"Would delete {report['to_delete']:,} old points of '{report['collection']}'. Nothing was deleted.")
    elif report["deleted"]:
        out.print(
            f"Deleted {report['deleted']:,} old points of '{report['collection']}'; {report['kept']:,} new ones "
            f"checked to be there. Backup: {report['backup']}"
        )
    else:
        out.print(f"Nothing to prune in '{report['collection']}': its {report['kept']:,} points are all current.")
    if report["seconds"]:
        out.print(f"Time: {seconds(report['seconds'])}")


def print_rolled_back(report: Mapping[str, Any], *, dry_run: bool) -> None:
    """Print what a rollback put back."""
    out = console()
    if dry_run:
        out.print(f"Would put back {report['points']:,} points from {report['backup']}. Nothing was written.")
    else:
        out.print(f"Put back {report['restored']:,} points into '{report['collection']}' from {report['backup']}.")


def print_upgraded(created: Sequence[str], where: str) -> None:
    """Print which tables an upgrade created."""
    out = console()
    if created:
        out.print(f"Created in {where}: {', '.join(created)}")
    else:
        out.print(f"Nothing to do: the tables in {where} are up to date.")


def print_chunks(payloads: Iterable[Mapping[str, Any]]) -> None:
    """Print chunks for reading: label, heading, text."""
    out = console()
    for payload in payloads:
        header = f"  {payload['section_header']}" if payload["section_header"] else ""
        out.print(f"[{payload['article_label']}]{header}")
        out.print(payload["chunk_text"])
        out.print()


def print_status(report: Mapping[str, Any]) -> None:
    """Print collections, links and runs."""
    out = console()
    if not report["collections"]:
        out.print("No collection yet: run 'fundstelle reingest'.")
    else:
        rows = [
            (c["collection"], c["points"], c["documents"], _counts(c["states"]), c["model"], c["receipt"])
            for c in report["collections"]
        ]
        out.print(table(("collection", "points", "documents", "states", "model", "receipt"), rows))
    controls = report["controls"]
    out.print(f"Controls: {controls['controls']:,} ({_counts(controls['outcomes']) or 'not linked yet'})")
    if report["runs"]:
        runs = [(r["run"], r["command"], r["collection"], r["status"], r["started"]) for r in report["runs"]]
        out.print(table(("run", "command", "collection", "status", "started"), runs))


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def print_doctor(report: Mapping[str, Any]) -> None:
    """Print settings with their origin, and what each part says."""
    out = console()
    rows = [(s["setting"], s["value"], s["from"]) for s in report["settings"]]
    out.print(table(("setting", "value", "from"), rows))
    out.print()
    for finding in report["findings"]:
        out.print(f"{'ok     ' if finding['ok'] else 'MISSING'} {finding['part']}: {finding['says']}")


def print_answer(answer: Answer) -> None:
    """Print the sources as the advisor does (contract §7.2)."""
    out = console()
    if not answer.sources:
        out.print("Nothing found.")
    for number, source in enumerate(answer.sources, 1):
        out.print(f"[Quelle {number}: {source.source}]")
        out.print(source.text)
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


def print_relinked(report: Mapping[str, Any], *, dry_run: bool) -> None:
    """Print what a re-link found and wrote."""
    out = console()
    out.print(table(("outcome", "controls"), sorted(report["outcomes"].items())))
    if report["tiers"]:
        out.print("Linked by tier: " + _counts(dict(sorted(report["tiers"].items()))))
    if report["reasons"]:
        out.print("Left for review because: " + _counts(report["reasons"]))
    for outcome, examples in sorted(report["examples"].items()):
        for example in examples:
            reason = f"({example['reason']})" if example.get("reason") else ""
            parts = (f"  {outcome}:", example["control_uuid"], example.get("article_label") or "", reason)
            out.print(" ".join(part for part in parts if part))
    if report["cycles"]:
        out.print(f"{len(report['cycles'])} controls hang on a cycle of parents: {', '.join(report['cycles'][:3])}")
    wrote = "Would write" if dry_run else "Wrote"
    if report["writes"]:
        out.print(f"{wrote} {report['citations_written']:,} citations and {report['links_written']:,} link rows.")
    else:
        out.print("Nothing to write: every control already has what its text says.")
    if report["run_id"] is not None:
        out.print(f"Run {report['run_id']}; take it back with 'fundstelle relink undo {report['run_id']}'.")
    out.print(f"Time: {seconds(report['seconds'])}")


def print_undone(report: Mapping[str, Any]) -> None:
    """Print what an undo put back."""
    console().print(
        f"Put back {report['restored']:,} citations of run {report['undone_run']}; {report['changed_since']:,} had "
        "been changed since and stay."
    )


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
