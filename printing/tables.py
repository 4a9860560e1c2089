"""What the database, control and ledger commands print."""

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


def print_ledger(report: Mapping[str, Any]) -> None:
    """Print how the ledger and the store of a collection differ."""
    out = console()
    if report["agrees"]:
        out.print(f"The ledger of '{report['collection']}' says what its store holds: {report['store_rows']:,} texts.")
        return
    out.print(f"The ledger of '{report['collection']}' does not say what its store holds:")
    rows = [
        ("in the store", report["store_rows"]),
        ("in the ledger", report["ledger_rows"]),
        ("in the store, not in the ledger", report["missing"]),
        ("in the ledger, not in the store", report["extra"]),
    ]
    out.print(table(("texts", "count"), rows))
    for row in report["examples"]["missing"]:
        label = row["article_label"] or f"text {row['chunk_hash'][:12]}…"
        out.print(f"  not in the ledger: {label} ({row['document_version']})")
    for version, count in report["extra_by_version"].items():
        out.print(f"  not in the store: {count:,} of version {version}")


def print_rebuilt(report: Mapping[str, Any], *, dry_run: bool) -> None:
    """Print what a rebuild of the ledger did, or would do."""
    out = console()
    if report["agrees"]:
        print_ledger(report)
    elif dry_run:
        print_ledger(report)
        out.print(
            f"Would add {report['missing']:,} rows and remove {report['extra']:,}. Nothing was written (dry run)."
        )
    else:
        out.print(
            f"Added {report['added']:,} rows to the ledger of '{report['collection']}' and removed "
            f"{report['removed']:,}; it says what the store holds now."
        )
