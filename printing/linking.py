"""What re-link prints."""

import sys
from collections.abc import Mapping
from typing import Any

from printing.console import console, counts, seconds, table
from relink.llm import Estimate


def print_relinked(report: Mapping[str, Any], *, dry_run: bool) -> None:
    """Print what a re-link found and wrote."""
    out = console()
    out.print(table(("outcome", "controls"), sorted(report["outcomes"].items())))
    if report["tiers"]:
        out.print("Linked by tier: " + counts(dict(sorted(report["tiers"].items()))))
    if report["reasons"]:
        out.print("Left for review because: " + counts(report["reasons"]))
    for outcome, examples in sorted(report["examples"].items()):
        for example in examples:
            reason = f"({example['reason']})" if example.get("reason") else ""
            parts = (f"  {outcome}:", example["control_uuid"], example.get("article_label") or "", reason)
            out.print(" ".join(part for part in parts if part))
    changes = report["changes"]
    if changes["counts"]:
        out.print("Changes against the present citations: " + counts(changes["counts"]))
    for kind, examples in sorted(changes["examples"].items()):
        for example in examples:
            old, new = example["old"] or "nothing", example["new"] or "nothing"
            out.print(f"  {kind}: {example['control_uuid']} {old} → {new}")
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


def print_embedder(model: str, description: str) -> None:
    """Say on standard error by what the embedding tier measures."""
    sys.stderr.write(f"Tier embedding: model {model} ({description}).\n")


def print_calibrated(report: Mapping[str, Any], *, dry_run: bool) -> None:
    """Print the thresholds that a calibration found."""
    console().print(
        f"Model {report['model']}: least cosine {report['score']:.4f}, least margin {report['margin']:.2f}, precision "
        f"{report['precision']:.4f} on {report['quotations']:,} quotations"
        + (" (dry run: nothing was kept)." if dry_run else "; kept with the collections.")
    )


def print_estimate(estimate: Estimate) -> None:
    """Say on standard error what the LLM tier is about to cost."""
    sys.stderr.write(
        f"Tier llm: {estimate.quotations:,} quotations left, {estimate.cached:,} answers in the cache, "
        f"{estimate.requests:,} requests to send ({estimate.over_budget:,} over --max-requests), about "
        f"{estimate.prompt_tokens:,} tokens of prompt and at most {estimate.answer_tokens:,} of answers.\n"
    )


def print_undone(report: Mapping[str, Any]) -> None:
    """Print what an undo put back."""
    console().print(
        f"Put back {report['restored']:,} citations of run {report['undone_run']}; {report['changed_since']:,} had "
        "been changed since and stay."
    )
