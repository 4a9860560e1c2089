"""The review queue out and a person's decisions in: what no rule may decide, a reader of both texts can.

Each exported row has a `state`, the digest of all that the reviewer saw. A decision is applied only while that still
holds, so nobody decides on a text that has changed since.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, insert

from backends.tables.connect import Tables
from backends.tables.locks import relink_lock
from backends.tables.mapping import Controls, reflect_controls
from backends.tables.runs import finish_run, start_run
from backends.tables.schema import link_audit, links
from backends.vectors.store import VectorStore
from normalize.errors import SourceError
from normalize.identity import point_id
from relink.inherit import HUMAN, RESULT, present_citation

COMMAND = "review import"
QUEUE = ("ambiguous", "unmatched")
"""Outcomes that wait for a person."""

OUTCOMES = (*QUEUE, "linked", HUMAN)
"""Outcomes that can be reviewed."""

_BATCH = 1000


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """One control as the reviewer sees it; `candidates` are as re-link left them, each with the `text` of its chunk.

    `state` is the digest of all of it.
    """

    control_uuid: str
    title: str | None
    outcome: str
    reason: str | None
    tier: str | None
    score: float | None
    margin: float | None
    regulation: str | None
    quotation: str
    citation: dict[str, Any] | None
    candidates: tuple[dict[str, Any], ...]
    state: str

    def as_dict(self) -> dict[str, Any]:
        """Return the item as one JSON object."""
        return {**asdict(self), "candidates": [dict(candidate) for candidate in self.candidates]}


class ReviewDecision(BaseModel):
    """One line of decisions: the candidate that is right (by chunk and label), or none of them."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    control_uuid: str = Field(min_length=1)
    state: str = Field(pattern="^[0-9a-f]{64}$")
    chunk_id: str | None
    article_label: str | None
    reviewer: str | None = Field(default=None, max_length=200)
    decided_at: AwareDatetime | None = None


@dataclass(frozen=True, slots=True)
class ReviewReport:
    """What an import of decisions did: applied, had been applied already, and refused with the reason for each."""

    run_id: int | None
    rows: int
    applied: int
    unchanged: int
    refused: tuple[dict[str, Any], ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the report as one JSON object."""
        return {**asdict(self), "refused": [dict(row) for row in self.refused]}


def review_items(
    tables: Tables,
    store: VectorStore,
    collections: Sequence[str],
    *,
    outcomes: Sequence[str] = QUEUE,
    limit: int | None = None,
) -> list[ReviewItem]:
    """Return the controls with some outcomes as a reviewer needs them, in the order of ids."""
    with tables.begin() as connection:
        controls = reflect_controls(connection, tables.columns)
        rows = _rows(connection, controls, links.c.outcome.in_(outcomes), limit)
    return _items(rows, store, collections)


def _rows(
    connection: sa.Connection, controls: Controls, where: sa.ColumnElement[bool], limit: int | None = None
) -> list[Mapping[str, Any]]:
    read = controls.read
    uuid = read["control_uuid"].element
    query = (
        sa.select(
            uuid.label("uuid"),
            read["title"].element.label("title"),
            read["source_original_text"].element.label("quotation"),
            read["source_regulation"].element.label("regulation"),
            present_citation(controls).label("present"),
            links,
        )
        .select_from(controls.table.join(links, links.c.control_uuid == uuid))
        .where(where, sa.func.coalesce(sa.func.btrim(read["source_original_text"].element) != "", sa.false()))
        .order_by(sa.collate(links.c.control_uuid, "C"))
        .limit(limit)
    )
    return [dict(row) for row in connection.execute(query).mappings()]


def _candidates(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the candidates of a link row; a linked one has the citation it got."""
    if row["candidates"]:
        return [dict(candidate) for candidate in row["candidates"]]
    if row["citation"] is None or row["chunk_id"] is None:
        return []
    return [
        {
            "article_label": row["citation"].get("article_label"),
            "citation": row["citation"],
            "chunk_id": row["chunk_id"],
            "span": [row["span_start"], row["span_end"]],
            "similarity": row["score"],
            "edits": None,
        }
    ]


def _items(rows: Sequence[Mapping[str, Any]], store: VectorStore, collections: Sequence[str]) -> list[ReviewItem]:
    wanted = {candidate["chunk_id"] for row in rows for candidate in _candidates(row)}
    texts = chunk_texts(store, collections, wanted)
    items = []
    for row in rows:
        candidates = [{**candidate, "text": texts.get(candidate["chunk_id"])} for candidate in _candidates(row)]
        seen = (row["quotation"], row["regulation"], row["present"], row["outcome"], row["reason"], candidates)
        items.append(
            ReviewItem(
                control_uuid=row["uuid"],
                title=row["title"],
                outcome=row["outcome"],
                reason=row["reason"],
                tier=row["tier"],
                score=row["score"],
                margin=row["margin"],
                regulation=row["regulation"],
                quotation=row["quotation"],
                citation=row["present"],
                candidates=tuple(candidates),
                state=hashlib.sha256(_json(seen).encode()).hexdigest(),
            )
        )
    return items


def chunk_texts(store: VectorStore, collections: Sequence[str], chunk_ids: Iterable[str]) -> dict[str, str]:
    """Return the texts of those chunks that are in the collections, by chunk id."""
    ids = [point_id(chunk) for chunk in sorted(chunk_ids)]
    texts: dict[str, str] = {}
    for collection in collections:
        for begin in range(0, len(ids), _BATCH):
            found = store.retrieve(collection, ids[begin : begin + _BATCH], payload=["chunk_id", "chunk_text"])
            for record in found:
                if record.payload.get("chunk_id") and record.payload.get("chunk_text"):
                    texts.setdefault(record.payload["chunk_id"], record.payload["chunk_text"])
    return texts


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def parse_decisions(lines: Iterable[bytes | str], source: str) -> Iterator[tuple[int, ReviewDecision]]:
    """Yield (line, decision) of JSON lines; blank lines are skipped.

    Raises SourceError naming `source` and the line for one that is no decision, or whose control comes twice.
    """
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        raw = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
        raw = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
        if not raw.strip():
            continue
        try:
            decision = ReviewDecision.model_validate_json(raw)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise SourceError(
                f"{source} line {number}: {where + ': ' if where else ''}{first['msg']}; nothing was imported, "
                "mend the line."
            ) from None
        if decision.control_uuid in seen:
            raise SourceError(
                f"{source} line {number}: control {decision.control_uuid[:80]} stands in line "
                f"{seen[decision.control_uuid]} already; nothing was imported, keep one of them."
            )
        seen[decision.control_uuid] = number
        yield number, decision


@dataclass(frozen=True, slots=True)
class _Change:
    """One decision ready to be written."""

    line: int
    item: ReviewItem
    candidate: dict[str, Any] | None
    reviewer: str
    decided_at: str

    @property
    def citation(self) -> dict[str, Any] | None:
        return None if self.candidate is None else self.candidate["citation"]

    def link(self) -> dict[str, Any]:
        """Return the link row of the decision, by the names of `inherit.RESULT`."""
        span = (self.candidate or {}).get("span") or [None, None]
        kept = [{k: v for k, v in candidate.items() if k != "text"} for candidate in self.item.candidates]
        return {
            "outcome": HUMAN,
            "tier": None,
            "score": self.candidate and self.candidate.get("similarity"),
            "margin": None,
            "chunk_id": self.candidate and self.candidate["chunk_id"],
            "span_start": span[0],
            "span_end": span[1],
            "reason": f"reviewed by {self.reviewer} at {self.decided_at}",
            "candidates": kept or None,
            "citation": self.citation,
        }


def import_decisions(
    tables: Tables,
    store: VectorStore,
    collections: Sequence[str],
    lines: Iterable[bytes | str],
    source: str,
    *,
    reviewer: str | None = None,
    dry_run: bool = False,
) -> ReviewReport:
    """Apply a reviewer's decisions as `human` links, which no later re-link overwrites unless forced.

    `reviewer` signs the rows that name none. Decisions on something that has changed since the export are refused one
    by one; the others are written in one transaction, with audit rows (`relink undo` takes the import back). With
    `dry_run` nothing is written. Raises SourceError for a bad line, LockedError while another run writes.
    """
    decisions = list(parse_decisions(lines, source))
    if dry_run:
        with tables.begin() as connection:
            changes, unchanged, refused = _judge(connection, tables, store, collections, decisions, reviewer)
        return ReviewReport(None, len(decisions), len(changes), unchanged, tuple(refused))
    with relink_lock(tables):
        run_id = start_run(tables, COMMAND, None, {"file": source, "reviewer": reviewer})
        try:
            with tables.begin() as connection:
                changes, unchanged, refused = _judge(connection, tables, store, collections, decisions, reviewer)
                late = _write(connection, reflect_controls(connection, tables.columns), changes, run_id)
        except BaseException:
            finish_run(tables, run_id, "failed", {})
            raise
        refused = sorted(refused + late, key=lambda row: row["line"])
        report = ReviewReport(run_id, len(decisions), len(changes) - len(late), unchanged, tuple(refused))
        finish_run(tables, run_id, "done", report.as_dict())
    return report


def _judge(
    connection: sa.Connection,
    tables: Tables,
    store: VectorStore,
    collections: Sequence[str],
    decisions: Sequence[tuple[int, ReviewDecision]],
    reviewer: str | None,
) -> tuple[list[_Change], int, list[dict[str, Any]]]:
    """Return the decisions that hold, how many were applied before, and those refused with the reason."""
    controls = reflect_controls(connection, tables.columns)
    named = _among([decision.control_uuid for _, decision in decisions])
    items = {item.control_uuid: item for item in _items(_rows(connection, controls, named), store, collections)}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    changes: list[_Change] = []
    refused: list[dict[str, Any]] = []
    unchanged = 0
    for line, decision in decisions:
        item = items.get(decision.control_uuid)
        candidate, reason = _chosen(item, decision)
        signed = (decision.reviewer or reviewer or "").strip()
        if item is not None and reason is None and _is_applied(item, candidate):
            unchanged += 1
            continue
        if reason is None and item is not None and item.state != decision.state:
            reason = "the control, its link or a candidate's text has changed since the export: export and decide again"
        if reason is None and not signed:
            reason = "no reviewer is named: fill the field in the page, or give --reviewer"
        if reason is None and candidate is not None and candidate["text"] is None:
            reason = "the candidate's chunk is in no collection any more: run `fundstelle relink` and export again"
        if item is None or reason is not None:
            refused.append({"line": line, "control_uuid": decision.control_uuid, "reason": reason})
            continue
        when = decision.decided_at.astimezone(UTC).isoformat(timespec="seconds") if decision.decided_at else now
        changes.append(_Change(line, item, candidate, signed, when))
    return changes, unchanged, refused


def _chosen(item: ReviewItem | None, decision: ReviewDecision) -> tuple[dict[str, Any] | None, str | None]:
    """Return the candidate that was chosen (None for none of them), and why the choice cannot be made."""
    if item is None:
        return None, "there is no such control with a quotation and a link"
    if item.outcome not in OUTCOMES:
        return None, f"the control is {item.outcome}, which is no matter of review"
    if decision.chunk_id is None and decision.article_label is None:
        return None, None
    for candidate in item.candidates:
        if (candidate["chunk_id"], candidate["article_label"]) == (decision.chunk_id, decision.article_label):
            return candidate, None
    return None, "the chosen candidate is none of the control's: export and decide again"


def _is_applied(item: ReviewItem, candidate: Mapping[str, Any] | None) -> bool:
    """Return whether a control already has what was decided."""
    return item.outcome == HUMAN and item.citation == (candidate["citation"] if candidate else None)


def _write(
    connection: sa.Connection, controls: Controls, changes: Sequence[_Change], run_id: int
) -> list[dict[str, Any]]:
    """Write citations, links and audit rows; returns those whose citation somebody wrote in between."""
    key, column = controls.column["control_uuid"], controls.column["source_citation"]
    before = sa.select(links.c.control_uuid, sa.func.to_jsonb(sa.literal_column(links.name))).where(
        _among([change.item.control_uuid for change in changes])
    )
    previous = {str(uuid): link for uuid, link in connection.execute(before)}
    late: list[dict[str, Any]] = []
    written: list[_Change] = []
    for change in changes:
        same = present_citation(controls).is_not_distinct_from(_jsonb(change.item.citation))
        done = connection.execute(
            sa.update(controls.table)
            .where(key == sa.cast(change.item.control_uuid, key.type), same)
            .values({column: sa.cast(_jsonb(change.citation), column.type)})
        ).rowcount
        if done:
            written.append(change)
        else:
            reason = "somebody else wrote its citation just now: export and decide again"
            late.append({"line": change.line, "control_uuid": change.item.control_uuid, "reason": reason})
    if not written:
        return late
    for change in written:
        connection.execute(
            sa.insert(link_audit).values(
                run_id=run_id,
                control_uuid=change.item.control_uuid,
                previous_citation=_jsonb(change.item.citation),
                new_citation=_jsonb(change.citation),
                previous_link=_jsonb(previous[change.item.control_uuid]),
                found={
                    "outcome": HUMAN,
                    "reviewer": change.reviewer,
                    "decided_at": change.decided_at,
                    "chunk_id": change.candidate and change.candidate["chunk_id"],
                    "state": change.item.state,
                },
            )
        )
    upsert = insert(links)
    upsert = upsert.on_conflict_do_update(
        index_elements=["control_uuid"], set_={name: upsert.excluded[name] for name in (*RESULT, "run_id")}
    )
    for change in written:
        row = {name: sa.null() if value is None else value for name, value in change.link().items()}
        connection.execute(upsert.values(control_uuid=change.item.control_uuid, run_id=run_id, **row))
    return late


def _among(uuids: Sequence[str]) -> sa.ColumnElement[bool]:
    """Return whether a link is one of these; one array, since a statement may have only so many parameters."""
    return links.c.control_uuid == sa.any_(sa.literal(list(uuids), ARRAY(sa.Text)))


def _jsonb(value: object) -> sa.ColumnElement[Any]:
    text = sa.null() if value is None else sa.literal(json.dumps(value), sa.Text())
    return sa.cast(text, JSONB)
