"""The review queue as a file: JSON lines, CSV for a spreadsheet, and decisions back from either."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from normalize.errors import SourceError
from relink.review import ReviewItem

COLUMNS = (
    "decision",
    "control_uuid",
    "outcome",
    "reason",
    "regulation",
    "title",
    "quotation",
    "candidate",
    "article_label",
    "similarity",
    "text",
    "chunk_id",
    "state",
)
"""Columns of the CSV file; a reviewer writes `x` under `decision` beside the right candidate, or `none`."""

LINK_MARKS = ("x", "link")
NONE_MARK = "none"
# What a spreadsheet would run as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_json_lines(items: Iterable[ReviewItem]) -> Iterator[str]:
    """Yield one line an item, keys sorted; the same items give the same bytes."""
    for item in items:
        yield json.dumps(item.as_dict(), ensure_ascii=False, sort_keys=True) + "\n"


def as_csv(items: Iterable[ReviewItem]) -> Iterator[str]:
    """Yield the CSV file line by line: a row a candidate, and one for a control that has none.

    A text that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    yield _csv_line(COLUMNS)
    for item in items:
        candidates: Sequence[dict[str, Any]] = item.candidates or ({},)
        for number, candidate in enumerate(candidates, start=1):
            values = {
                "control_uuid": item.control_uuid,
                "outcome": item.outcome,
                "reason": item.reason,
                "regulation": item.regulation,
                "title": item.title,
                "quotation": item.quotation,
                "candidate": number if candidate else None,
                "article_label": candidate.get("article_label"),
                "similarity": candidate.get("similarity"),
                "text": candidate.get("text"),
                "chunk_id": candidate.get("chunk_id"),
                "state": item.state,
            }
            yield _csv_line([values.get(name) for name in COLUMNS])


def _csv_line(values: Sequence[object]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow([_cell(value) for value in values])
    return line.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return "'" + value
    return "" if value is None else value


def decisions_of_csv(text: str, source: str) -> Iterator[str]:
    """Yield the decisions of a CSV file as JSON lines (see `review.parse_decisions`); rows without a mark are skipped.

    Raises SourceError for a file without the columns, and for a mark that is unknown or stands twice for a control.
    """
    rows = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=_delimiter(text))
    missing = [name for name in ("decision", "control_uuid", "chunk_id", "article_label", "state")
               if name not in (rows.fieldnames or ())]  # fmt: skip
    if missing:
        raise SourceError(f"{source} has no column '{missing[0]}'; nothing was imported, use the file of the export.")
    try:
        for row in rows:
            mark = (row["decision"] or "").strip().casefold()
            if not mark:
                continue
            if mark not in (*LINK_MARKS, NONE_MARK):
                raise SourceError(
                    f"{source} line {rows.line_num}: decision '{mark[:20]}' is unknown; nothing was imported, "
                    f"write {LINK_MARKS[0]} beside the right candidate, or {NONE_MARK}."
                )
            linked = mark in LINK_MARKS
            if linked and not row["chunk_id"]:
                raise SourceError(
                    f"{source} line {rows.line_num}: there is no candidate to link to; nothing was imported, "
                    f"write {NONE_MARK}."
                )
            yield json.dumps(
                {
                    "control_uuid": row["control_uuid"],
                    "state": row["state"],
                    "chunk_id": row["chunk_id"] if linked else None,
                    "article_label": row["article_label"] if linked else None,
                }
            )
    except csv.Error as error:
        raise SourceError(f"{source} line {rows.line_num}: {error}; nothing was imported, mend the line.") from None


def _delimiter(text: str) -> str:
    """Return what separates the cells: a spreadsheet of a German desk writes semicolons."""
    head = text.split("\n", 1)[0]
    return ";" if head.count(";") > head.count(",") else ","
