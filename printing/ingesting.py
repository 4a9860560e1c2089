"""What re-ingest, verify, prune and rollback print."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from printing.console import MANY_DOCUMENTS, console, seconds, table


def print_plan(report: Mapping[str, Any], *, dry_run: bool) -> None:
    """Print the plan of a re-ingest, or what a re-ingest did."""
    out = console()
    totals = report["totals"]
    columns = ("document", "code", "chunks", "new", "changed", "unchanged", "obsolete", "old points", "version")
    documents = [d for d in report["documents"] if d["to_write"] or d["to_rewrite"] or d["old_points"]]
    shown = documents[:MANY_DOCUMENTS] if documents else report["documents"][:MANY_DOCUMENTS]
    rows = [
        (d["document_id"], d["regulation_code"], d["chunks"], d["new"], d["changed"], d["unchanged"], d["obsolete"],
         d["old_points"], _versions(d))
        for d in shown
    ]  # fmt: skip
    out.print(table(columns, rows))
    if further := len(documents or report["documents"]) - len(shown):
        out.print(f"… and {further:,} more documents")
    if documents and (idle := len(report["documents"]) - len(documents)):
        out.print(f"{idle:,} of the documents need nothing.")
    for document in shown:
        for replaced, count in document["replaces"].items():
            name = f"{document['regulation_code']} ({document['document_id']})"
            out.print(f"  {name} takes the place of {replaced}, which has {count:,} points.")
        for kind in ("obsolete", "changed", "new"):
            examples = document["examples"][kind]
            if document["old_points"] and examples:
                named = ", ".join(f"{label} ({n} chunks)" if n > 1 else label for label, n in examples.items())
                more = document[kind] - sum(examples.values())
                tail = f" and {more:,} more" if more > 0 else ""
                out.print(f"  {document['regulation_code']} {kind}: {named}{tail}")
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
            f"{report['model']}; {report['vectors_computed']:,} vectors computed, {totals['vectors_reused']:,} reused"
            f"{_cached(report)}."
        )
    if report.get("indexed") is False:
        out.print(
            "The server is still building its index: searches find everything, only more slowly until it is done."
        )
    if dry_run and totals["to_write"]:
        out.print(_takes(report["takes"], totals["to_write"] - totals["vectors_reused"]))
    if report.get("strategy") == "alias":
        _print_alias(out, report, dry_run=dry_run)
    elif totals["old_points"] and not dry_run:
        out.print(f"{totals['old_points']:,} old points stay until 'verify' has passed and 'prune' deletes them.")
    out.print(f"Time: {seconds(report['seconds'])}")


def _print_alias(out: Console, report: Mapping[str, Any], *, dry_run: bool) -> None:
    """Print what happens, or happened, to the alias."""
    name, built = report["collection"], report["builds"]
    if built is None:
        return
    carried = f", {report['carried']:,} points of no document carried over" if report["carried"] else ""
    if dry_run:
        out.print(f"Would build '{built}'{carried}, verify it and let '{name}' stand for it.")
    elif report["verified"]:
        before = f"'{report['served']}' stays for 'rollback' until 'prune'." if report["served"] else ""
        out.print(
            f"'{name}' stands for '{built}' now{carried}; verified, receipt {report['receipt']}. {before}".rstrip()
        )
    else:
        for check in report["checks"]:
            for example in check["examples"]:
                out.print(f"  {check['name']}: {example}")
        out.print(f"NOT verified: '{name}' was not switched to '{built}'. Run again with --rewrite.")


def _takes(takes: Mapping[str, Any], vectors: int) -> str:
    mib = 1024**2
    free = "unknown"
    if takes["free"] is not None:
        free = f"{takes['free'] / mib:,.0f} MiB ({takes['bytes_needed'] / mib:,.0f} needed)"
    time = "unknown" if takes["seconds"] is None else f"about {takes['seconds']:,.0f} s"
    return (
        f"Takes {vectors:,} vectors to compute and {takes['bytes_to_write'] / mib:,.1f} MiB; free: {free}; "
        f"time: {time} ({takes['rate_from']})."
    )


def _cached(report: Mapping[str, Any]) -> str:
    """How many vectors came from the cache of this machine, where some did."""
    cached = report["written"] - report["vectors_computed"] - report["totals"]["vectors_reused"]
    return f", {cached:,} from the cache" if cached > 0 else ""


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
    if report.get("collections"):
        out.print(table(("collection served before", "points"), list(report["collections"].items())))
    if report["documents"]:
        out.print(table(("document", "old points"), list(report["documents"].items())[:MANY_DOCUMENTS]))
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
    if report.get("strategy") == "alias":
        restored = f" ({report['restored']:,} points put back from {report['backup']})" if report["restored"] else ""
        does = "Would let" if dry_run else "Let"
        out.print(
            f"{does} '{report['collection']}' stand for '{report['to']}' again instead of '{report['from']}'{restored}."
        )
    elif dry_run:
        out.print(f"Would put back {report['points']:,} points from {report['backup']}. Nothing was written.")
    else:
        out.print(f"Put back {report['restored']:,} points into '{report['collection']}' from {report['backup']}.")
        if report["kept"]:
            out.print(
                f"{report['kept']:,} points of the backup are in the collection already and were left as they are."
            )
