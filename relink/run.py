"""One re-link, from the quotations in the database to citations, links and audit rows (DESIGN §7).

    controls → work table → quotations → tiers → decisions → inheritance → one write

Nothing is regenerated; the dependents of a control are never touched; a second run writes nothing.
"""

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from backends.tables.connect import Tables
from backends.tables.locks import relink_lock
from backends.tables.mapping import Controls, reflect_controls
from backends.tables.runs import RUNNING, finish_run, start_run
from backends.tables.schema import link_audit, links, runs
from normalize.errors import UsageError
from relink.anchors import Anchor, make_anchors
from relink.chunks import LinkChunk
from relink.cited import OldPlace
from relink.corpus import Corpus, build_corpus
from relink.decision import Candidate, Decision
from relink.inherit import (
    HUMAN,
    OUT_OF_SCOPE,
    RESULT,
    Scope,
    joined_without,
    known_hints,
    narrow,
    open_work,
    present_citation,
    quotations,
    set_aside,
    settle,
    stage_decisions,
    work,
)
from relink.parallel import decide_in_parallel, processors
from relink.report import changes_of
from relink.spans import citation_of
from relink.tiers import TIERS, Tier

COMMAND = "relink"
_REVIEW_CANDIDATES = 8
_EXAMPLES = 3
_EXCERPT = 120


@dataclass(frozen=True, slots=True)
class RelinkOptions:
    """How to re-link: which tiers, whether to overwrite citations that are not ours, whether to write at all.

    `regulations` (in any spelling), `limit` and `only_unmatched` narrow a run: see `inherit.Scope`.
    """

    tiers: tuple[str, ...] = ("hash", "fuzzy")
    force: bool = False
    dry_run: bool = False
    regulations: tuple[str, ...] = ()
    limit: int | None = None
    only_unmatched: bool = False


@dataclass(frozen=True, slots=True)
class RelinkReport:
    """What a re-link found and wrote.

    `citations_written` and `links_written` are what changed (in a dry run: what would); `seconds` is per stage;
    `examples` are a few controls of each outcome; `changes` compares with the citations before; `cycles` are the
    controls that hang on a cycle of parents.
    """

    run_id: int | None
    controls: int
    quotations: int
    anchors: int
    chunks: int
    outcomes: dict[str, int]
    tiers: dict[str, int]
    reasons: dict[str, int]
    citations_written: int
    links_written: int
    cycles: tuple[str, ...]
    seconds: dict[str, float]
    examples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    changes: dict[str, Any] = field(default_factory=dict)

    @property
    def writes(self) -> int:
        """Rows changed in the control table and in the links; 0 when a run is repeated."""
        return self.citations_written + self.links_written

    def as_dict(self) -> dict[str, Any]:
        """Return the report as one JSON object."""
        return {
            "run_id": self.run_id,
            "controls": self.controls,
            "quotations": self.quotations,
            "anchors": self.anchors,
            "chunks": self.chunks,
            "outcomes": self.outcomes,
            "tiers": self.tiers,
            "reasons": self.reasons,
            "citations_written": self.citations_written,
            "links_written": self.links_written,
            "writes": self.writes,
            "cycles": list(self.cycles),
            "seconds": self.seconds,
            "examples": self.examples,
            "changes": self.changes,
        }


class _Clock:
    """Seconds per stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def stage(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] = round(now - self._last, 3)
        self._last = now


def relink(
    tables: Tables,
    chunks: Sequence[LinkChunk],
    options: RelinkOptions | None = None,
    more_tiers: Sequence[Tier] = (),
    index: Path | None = None,
) -> RelinkReport:
    """Link the controls of a database to chunks (in document order, see `relink.chunks`).

    `more_tiers` are tiers that need something from outside (a vector store, a model); `options.tiers` names which run.
    `index` is the folder in which the index of the chunks is kept for the next run (see `relink.kept`).
    Everything is written in one transaction, or with `dry_run` nothing: a killed run leaves nothing half-written, and
    the same call does the whole. Raises UsageError for an unknown tier or regulation, LockedError while another run
    writes, StoreError if the database refuses.
    """
    options = options or RelinkOptions()
    known = TIERS | {tier.name: tier for tier in more_tiers}
    unknown = [name for name in options.tiers if name not in known]
    if unknown:
        raise UsageError(f"There is no tier '{unknown[0]}'; choose from {', '.join(known)}.")
    tiers = [known[name] for name in options.tiers]
    if options.dry_run:
        return _relink(tables, chunks, options, tiers, None, index)
    with relink_lock(tables):
        _close_killed_runs(tables)
        run_id = start_run(tables, COMMAND, None, _details(options))
        try:
            report = _relink(tables, chunks, options, tiers, run_id, index)
        except BaseException:
            finish_run(tables, run_id, "failed", {})
            raise
        finish_run(tables, run_id, "done", report.as_dict())
    return report


def _details(options: RelinkOptions) -> dict[str, Any]:
    return {
        "tiers": list(options.tiers),
        "force": options.force,
        "regulations": list(options.regulations),
        "limit": options.limit,
        "only_unmatched": options.only_unmatched,
    }


def _close_killed_runs(tables: Tables) -> None:
    """Say of earlier re-links that were killed that they ended: whoever holds the lock knows that none is running."""
    with tables.begin() as connection:
        connection.execute(
            sa.update(runs)
            .where(runs.c.command == COMMAND, runs.c.status == RUNNING)
            .values(status="killed", finished_at=sa.func.now())
        )


def _scope(corpus: Corpus, hints: Sequence[str], options: RelinkOptions) -> Scope:
    """Return the scope of a run; raises UsageError for a regulation that no chunk has."""
    if not options.regulations:
        return Scope(limit=options.limit, only_unmatched=options.only_unmatched)
    wanted: set[int] = set()
    for name in options.regulations:
        documents = corpus.documents_of_hint(name)
        if not documents:
            raise UsageError(f"No chunk is of regulation '{name}'; correct --regulation, or ingest that law first.")
        wanted |= set(documents)
    return Scope(
        hints=tuple(hint for hint in hints if wanted & set(corpus.documents_of_hint(hint))),
        codes=tuple(sorted({corpus.chunks[corpus.document_starts[i]].regulation_code for i in wanted})),
        limit=options.limit,
        only_unmatched=options.only_unmatched,
    )


def _relink(
    tables: Tables,
    chunks: Sequence[LinkChunk],
    options: RelinkOptions,
    tiers: Sequence[Tier],
    run_id: int | None,
    index: Path | None,
) -> RelinkReport:
    clock = _Clock()
    corpus = build_corpus(chunks, processors(), index)
    clock.stage("index")
    with tables.begin() as connection:
        controls = reflect_controls(connection, tables.columns)
        scope = _scope(corpus, known_hints(connection, controls) if options.regulations else (), options)
        open_work(connection, controls, force=options.force)
        narrow(connection, controls, scope)
        quoted = quotations(connection, controls)
        clock.stage("read")
        anchors, decisions = _decide(corpus, quoted, tiers)
        clock.stage("decide")
        stage_decisions(connection, _rows(corpus, quoted, anchors, decisions))
        clock.stage("stage")
        cycles = settle(connection, sorted({chunk.regulation_code for chunk in chunks}))
        if not scope.is_everything:
            set_aside(connection)
        clock.stage("inherit")
        counts = _counts(connection)
        changes = changes_of(connection)
        examples = _examples(connection, counts["outcome"])
        with joined_without(connection, "nestloop"):  # every row of the run is joined once
            written = _write(connection, controls, run_id) if run_id is not None else _changes(connection)
        clock.stage("write")
    return RelinkReport(
        run_id=run_id,
        controls=sum(counts["outcome"].values()),
        quotations=len(quoted),
        anchors=len(decisions),
        chunks=len(chunks),
        outcomes=counts["outcome"],
        tiers=counts["tier"],
        reasons=counts["reason"],
        citations_written=written[0],
        links_written=written[1],
        cycles=tuple(cycles),
        seconds=clock.seconds,
        examples=examples,
        changes=changes,
    )


Quotation = tuple[str, str, str | None, OldPlace | None]
Key = tuple[str, str | None, OldPlace | None]


def _decide(
    corpus: Corpus, quoted: Sequence[Quotation], tiers: Sequence[Tier]
) -> tuple[dict[Key, int], list[Decision]]:
    """Decide every different (text, hint, older place) once; return which decision is whose."""
    numbers: dict[Key, int] = {}
    for _, text, hint, old in quoted:
        numbers.setdefault((text, hint, old), len(numbers))
    anchors = make_anchors(corpus, [key[:2] for key in numbers], [key[2] for key in numbers])
    decisions = decide_in_parallel(corpus, anchors, [tier for tier in tiers if tier.name in TIERS])
    for tier in tiers:
        if tier.name not in TIERS:
            _decide_what_is_left(corpus, anchors, decisions, tier)
    return numbers, decisions


def _decide_what_is_left(corpus: Corpus, anchors: Sequence[Anchor], decisions: list[Decision], tier: Tier) -> None:
    """Let a tier that reads meaning decide what no letters matched.

    What is ambiguous was found, and waits for a person: to a model, near twins are the same (DESIGN §7).
    """
    left = [i for i, decision in enumerate(decisions) if decision.outcome == "unmatched" or not decision.candidates]
    for i, decision in zip(left, tier.decide_all(corpus, [anchors[i] for i in left]), strict=True):
        before = decisions[i]
        if decision.outcome == "unmatched" and before.outcome != "unmatched":
            decisions[i] = before._replace(candidates=decision.candidates)
        elif decision.outcome != "unmatched" or decision.candidates or before.reason == "no_tier":
            decisions[i] = decision


def _rows(
    corpus: Corpus,
    quoted: Sequence[Quotation],
    numbers: Mapping[Key, int],
    decisions: Sequence[Decision],
) -> Iterator[tuple[object, ...]]:
    made: dict[int, tuple[object, ...]] = {}
    for control_uuid, text, hint, old in quoted:
        number = numbers[text, hint, old]
        if number not in made:
            made[number] = _row(corpus, decisions[number])
        yield (control_uuid, *made[number])


def _row(corpus: Corpus, decision: Decision) -> tuple[object, ...]:
    """Return the columns of `inherit.RESULT` for a decision."""
    best = decision.best
    if best is None:
        return (decision.outcome, decision.tier, None, None, None, None, None, decision.reason, None, None)
    citation, span = citation_of(corpus, best)
    linked = decision.outcome == "linked"
    score, margin = decision.score, decision.margin
    return (
        decision.outcome,
        decision.tier,
        None if score is None else round(score, 6),
        None if margin is None else round(margin, 6),
        span.first.chunk_id,
        span.start,
        span.end,
        decision.reason,
        None if linked else _json([_candidate(corpus, c) for c in decision.candidates[:_REVIEW_CANDIDATES]]),
        _json(citation) if linked else None,
    )


def _candidate(corpus: Corpus, candidate: Candidate) -> dict[str, Any]:
    """Return a candidate as the review shows it."""
    citation, span = citation_of(corpus, candidate)
    return {
        "article_label": citation["article_label"],
        "citation": citation,
        "chunk_id": span.first.chunk_id,
        "span": [span.start, span.end],
        "similarity": round(candidate.similarity, 6),
        "edits": candidate.edits,
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _counts(connection: sa.Connection) -> dict[str, dict[str, int]]:
    """Return how many controls have each outcome, tier (of linked ones) and reason, in the order of names."""
    heir = sa.case((work.c.outcome.in_(("inherited", HUMAN)), None), else_=work.c.reason)
    tier = sa.case((work.c.outcome == "linked", work.c.tier))
    query = sa.select(work.c.outcome, tier, heir, sa.func.count()).group_by(work.c.outcome, tier, heir)
    counts: dict[str, Counter[str]] = {"outcome": Counter(), "tier": Counter(), "reason": Counter()}
    for outcome, of_tier, reason, number in connection.execute(query):
        for name, value in (("outcome", outcome), ("tier", of_tier), ("reason", reason)):
            if value is not None:
                counts[name][value] += number
    return {name: dict(sorted(counter.items())) for name, counter in counts.items()}


def _differs() -> sa.ColumnElement[bool]:
    """Return whether a control's link row is not yet what this run found."""
    return sa.or_(*(links.c[name].is_distinct_from(work.c[name]) for name in RESULT))


def _changes(connection: sa.Connection) -> tuple[int, int]:
    """Count what a real run would write."""
    citations = sa.select(sa.func.count()).select_from(work).where(work.c.citation.is_distinct_from(work.c.previous))
    both = work.outerjoin(links, links.c.control_uuid == work.c.control_uuid)
    rows = (
        sa.select(sa.func.count())
        .select_from(both)
        .where(work.c.outcome != OUT_OF_SCOPE, sa.or_(links.c.control_uuid.is_(None), _differs()))
    )
    return int(connection.execute(citations).scalar_one()), int(connection.execute(rows).scalar_one())


def _write(connection: sa.Connection, controls: Controls, run_id: int) -> tuple[int, int]:
    """Write citations with their audit rows, and the link rows; only what is different. Returns how many of each."""
    column = controls.column["source_citation"]
    changed = (
        sa.update(controls.table)
        .where(
            sa.cast(controls.column["control_uuid"], sa.Text) == work.c.control_uuid,
            work.c.citation.is_distinct_from(work.c.previous),
            present_citation(controls).is_not_distinct_from(work.c.previous),  # nobody else wrote in between
        )
        .values({column: sa.cast(work.c.citation, column.type)})
        .returning(sa.cast(controls.column["control_uuid"], sa.Text).label("control_uuid"))
        .cte("changed")
    )
    found = sa.func.jsonb_build_object(*(part for name in RESULT[:-2] for part in (sa.literal(name), work.c[name])))
    audit = sa.insert(link_audit).from_select(
        ["run_id", "control_uuid", "previous_citation", "new_citation", "previous_link", "found"],
        sa.select(
            sa.literal(run_id, sa.BigInteger),
            work.c.control_uuid,
            work.c.previous,
            work.c.citation,
            sa.case((links.c.control_uuid.is_not(None), sa.func.to_jsonb(sa.literal_column(links.name)))),
            found,
        ).select_from(
            changed.join(work, work.c.control_uuid == changed.c.control_uuid).outerjoin(
                links, links.c.control_uuid == changed.c.control_uuid
            )
        ),
    )
    citations = connection.execute(audit, execution_options={"preserve_rowcount": True}).rowcount
    upsert = insert(links).from_select(
        ["control_uuid", *RESULT, "run_id"],
        sa.select(work.c.control_uuid, *(work.c[name] for name in RESULT), sa.literal(run_id, sa.BigInteger))
        .select_from(work.outerjoin(links, links.c.control_uuid == work.c.control_uuid))
        .where(work.c.outcome != OUT_OF_SCOPE, sa.or_(links.c.control_uuid.is_(None), _differs())),
    )
    upsert = upsert.on_conflict_do_update(
        index_elements=["control_uuid"],
        set_={name: upsert.excluded[name] for name in (*RESULT, "run_id")},
        where=sa.or_(*(links.c[name].is_distinct_from(upsert.excluded[name]) for name in RESULT)),
    )
    rows = connection.execute(upsert, execution_options={"preserve_rowcount": True}).rowcount
    return citations, rows


def _examples(connection: sa.Connection, outcomes: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the first few controls of each outcome with what they got."""
    label = work.c.citation["article_label"].astext
    examples: dict[str, list[dict[str, Any]]] = {}
    for outcome in sorted(outcomes):
        first = (
            sa.select(work.c.control_uuid, label, work.c.score, work.c.reason)
            .where(work.c.outcome == outcome)
            .order_by(sa.collate(work.c.control_uuid, "C"))
            .limit(_EXAMPLES)
        )
        examples[outcome] = [
            {"control_uuid": row[0], "article_label": row[1], "score": row[2], "reason": row[3]}
            for row in connection.execute(first)
        ]
    return examples
