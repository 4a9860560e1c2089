"""What search and retest print."""

from collections.abc import Mapping
from typing import Any

from printing.console import console, table
from retrieve.search import Answer


def print_answer(answer: Answer, *, explain: bool = False) -> None:
    """Print the sources as the advisor does (contract §7.2); with `explain` scores, ranks and stages."""
    out = console()
    if not answer.sources:
        out.print("Nothing found.")
    for number, source in enumerate(answer.sources, 1):
        if explain:
            raw = source.scores()
            out.print(
                f"[{number}] {source.source}  total={raw['total']:.4f} (semantic={raw['semantic']:.4f} "
                f"edge={raw['edge']:.4f} centrality={raw['centrality']:.4f})  from {source.candidate.stage}"
                + "".join(f", {leg} {rank}" for leg, rank in source.ranks.items())
            )
            continue
        out.print(f"[Quelle {number}: {source.source}]")
        if source.also:
            out.print(f"(same text: {'; '.join(source.also)})")
        out.print(source.text)
        out.print()
    if explain:
        for wording in answer.wordings:
            out.print(f"searched ({wording.name or 'original'}): {wording.text}")
        rows = [
            (s.name, s.candidates_in, s.candidates_out, s.milliseconds, s.degraded or "")
            for s in answer.telemetry.stages
        ]
        out.print(table(("stage", "in", "out", "ms", "degraded"), rows))
    for fault in answer.telemetry.degraded:
        out.print(f"Warning: stage {fault}")


def print_retest(report: Mapping[str, Any]) -> None:
    """Print which questions found what they must, beside an older state if there is one."""
    out = console()
    columns = ["", "question", "expected", "rank"]
    if report["against"]:
        columns.append(f"before ({report['against']})")
    rows = []
    for row in report["questions"]:
        joined = (" and " if row["need"] == "all" else " or ").join(row["expected"])
        cells = ["ok" if row["passed"] else "MISSED", row["question"], joined, _rank(row)]
        if report["against"]:
            cells.append(_rank(row["before"]))
        rows.append(cells)
    out.print(table(columns, rows))
    for row in report["questions"]:
        if not row["passed"]:
            out.print(f"  missed: {row['question']} Found within {row['k']}: {'; '.join(row['sources']) or 'nothing'}")
    total = report["passed"] + report["failed"]
    for fault, count in report["degraded"].items():
        out.print(f"Warning: stage {fault} ({count:,} times)")
    earlier = f" (before: {report['before']['passed']:,})" if report["against"] else ""
    out.print(
        f"{report['passed']:,} of {total:,} questions found their Fundstelle in '{report['collection']}'{earlier}."
    )


def _rank(row: Mapping[str, Any]) -> str:
    return f"{row['rank']}" if row["rank"] is not None else "–"
