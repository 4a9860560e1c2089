"""Every control's outcome in the database: what is left alone, what was decided, and what atoms inherit (DESIGN §7).

All of it happens in one temporary table, a row a control, so that a dry run and a real one count the same.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from backends.tables.copy import copy_rows
from backends.tables.mapping import Controls
from backends.tables.schema import link_audit, links
from relink.cited import OldPlace, old_place
from relink.decision import MOVED

RESULT = (
    "outcome",
    "tier",
    "score",
    "margin",
    "chunk_id",
    "span_start",
    "span_end",
    "reason",
    "candidates",
    "citation",
)
"""Columns of a link that a run finds, in the order of their rows."""

HUMAN = "human"
"""Outcome of a control that a person decided in the review."""

OUT_OF_SCOPE = "out_of_scope"
"""Outcome of a control that a limited run does not look at; it is never written."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which quotations a limited run looks at; the controls below them inherit, all others stay as they are.

    `hints` are the known regulations that are asked for, `codes` the same as codes of present citations (for controls
    without a hint); None is every regulation. `limit` takes controls that no re-link has seen first, so that the same
    call goes on where the last one ended.
    """

    hints: tuple[str, ...] | None = None
    codes: tuple[str, ...] = ()
    limit: int | None = None
    only_unmatched: bool = False

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return self.hints is None and self.limit is None and not self.only_unmatched


# What a run may use of the server's memory, beside what the server itself holds.
_WORK_MEMORY = "64MB"
_TABLE_MEMORY = "384MB"

work = sa.Table(
    "fundstelle_relink_work",
    sa.MetaData(),
    sa.Column("control_uuid", sa.Text, nullable=False),
    sa.Column("parent", sa.Text),
    sa.Column("self_written", sa.Boolean, nullable=False),
    sa.Column("has_text", sa.Boolean, nullable=False),
    sa.Column("previous", JSONB),
    sa.Column("ours", sa.Boolean, nullable=False),
    sa.Column("human", sa.Boolean, nullable=False),
    *(sa.Column(name, links.c[name].type) for name in RESULT),
    prefixes=["TEMPORARY"],
    postgresql_on_commit="DROP",
)

decided = sa.Table(
    "fundstelle_relink_decided",
    sa.MetaData(),
    sa.Column("control_uuid", sa.Text, primary_key=True),
    *(sa.Column(name, links.c[name].type) for name in RESULT),
    prefixes=["TEMPORARY"],
    postgresql_on_commit="DROP",
)

_INDEXES = {"fundstelle_relink_by_control": "control_uuid", "fundstelle_relink_by_parent": "parent"}

heirs = sa.Table(
    "fundstelle_relink_heirs",
    sa.MetaData(),
    sa.Column("control_uuid", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    prefixes=["TEMPORARY"],
    postgresql_on_commit="DROP",
)


def present_citation(controls: Controls) -> sa.ColumnElement[Any]:
    """Return the citation that a control has; a JSON null is none."""
    null = sa.cast(sa.literal("null"), JSONB)
    return sa.func.nullif(sa.cast(controls.column["source_citation"], JSONB), null, type_=JSONB)


def open_work(connection: sa.Connection, controls: Controls, *, force: bool) -> None:
    """Fill the table of this run: a row a control, with what is left alone decided already.

    Self-written controls are left alone; so are, unless `force`, a citation that no re-link has written and what a
    person decided in the review.
    """
    _make_room(connection)
    work.create(connection)
    read = controls.read
    text = read["source_original_text"].element
    ours = sa.and_(
        links.c.outcome.in_(("linked", "inherited")),
        links.c.citation.is_not_distinct_from(present_citation(controls)),
    )
    reviewed = sa.and_(links.c.outcome == HUMAN, links.c.citation.is_not_distinct_from(present_citation(controls)))
    rows = sa.select(
        read["control_uuid"],
        read["parent_control_uuid"],
        sa.func.coalesce(read["is_self_written"].element, sa.false()),
        sa.func.coalesce(sa.func.btrim(text) != "", sa.false()),
        present_citation(controls),
        sa.func.coalesce(ours, sa.false()),
        sa.func.coalesce(reviewed, sa.false()),
    ).select_from(controls.table.outerjoin(links, links.c.control_uuid == read["control_uuid"].element))
    names = ["control_uuid", "parent", "self_written", "has_text", "previous", "ours", "human"]
    connection.execute(sa.insert(work).from_select(names, rows))
    for name, column in _INDEXES.items():  # after the rows: building an index is far faster than feeding it
        connection.execute(sa.text(f"CREATE INDEX {name} ON {work.name} ({column})"))
    connection.execute(sa.text(f"ANALYZE {work.name}"))
    alone = {"outcome": "self_written", "citation": work.c.previous}
    connection.execute(sa.update(work).where(work.c.self_written).values(alone))
    if not force:
        _as_before(connection, sa.and_(work.c.outcome.is_(None), work.c.human))
        waiting = sa.and_(links.c.reason == MOVED, links.c.citation == work.c.previous)
        _as_before(connection, sa.and_(work.c.outcome.is_(None), ~work.c.ours, waiting))
        human = sa.and_(work.c.outcome.is_(None), work.c.previous.is_not(None), ~work.c.ours)
        connection.execute(sa.update(work).where(human).values(outcome="kept", citation=work.c.previous))


def _make_room(connection: sa.Connection) -> None:
    """Let the tables of this run lie in memory: with the server's defaults they go through 8 MB of it, page by page."""
    connection.execute(sa.select(sa.func.set_config("work_mem", _WORK_MEMORY, True)))
    with suppress(sa.exc.DBAPIError), connection.begin_nested():  # refused where this session had such tables before
        connection.execute(sa.select(sa.func.set_config("temp_buffers", _TABLE_MEMORY, True)))


@contextmanager
def joined_without(connection: sa.Connection, *methods: str) -> Iterator[None]:
    """Keep the planner from ways of joining (as Postgres names them) that its guesses about new rows lead it into.

    What it knows of the outcomes is from before there were any, so it takes all of them for a handful, and a nested
    loop over that handful never ends.
    """
    for method in methods:
        connection.execute(sa.select(sa.func.set_config(f"enable_{method}", "off", True)))
    yield
    for method in methods:
        connection.execute(sa.select(sa.func.set_config(f"enable_{method}", "on", True)))


def _as_before(connection: sa.Connection, where: sa.ColumnElement[bool]) -> None:
    """Give controls what their link row says."""
    connection.execute(
        sa.update(work)
        .where(where, links.c.control_uuid == work.c.control_uuid)
        .values({name: links.c[name] for name in RESULT})
    )


def known_hints(connection: sa.Connection, controls: Controls) -> list[str]:
    """Return every known regulation of the controls as it is written there, in order."""
    hint = controls.read["source_regulation"].element
    found = connection.execute(sa.select(hint).distinct().select_from(controls.table).where(hint.is_not(None)))
    return sorted(str(value) for value in found.scalars())


def narrow(connection: sa.Connection, controls: Controls, scope: Scope) -> None:
    """Set every undecided quotation outside a scope aside."""
    if scope.is_everything:
        return
    hint = controls.read["source_regulation"].element
    uuid = controls.read["control_uuid"].element
    wanted = [work.c.has_text, work.c.outcome.is_(None)]
    if scope.hints is not None:
        cited = sa.and_(
            sa.func.coalesce(sa.func.btrim(hint), "") == "",
            sa.func.coalesce(work.c.previous["regulation_code"].astext.in_(scope.codes), sa.false()),
        )
        wanted.append(sa.or_(sa.func.coalesce(hint.in_(scope.hints), sa.false()), cited))
    if scope.only_unmatched:
        open_link = sa.or_(links.c.control_uuid.is_(None), links.c.outcome.in_(("unmatched", "ambiguous")))
        wanted += [open_link, work.c.previous.is_(None)]
    chosen = (
        sa.select(work.c.control_uuid)
        .select_from(
            work.join(controls.table, uuid == work.c.control_uuid).outerjoin(
                links, links.c.control_uuid == work.c.control_uuid
            )
        )
        .where(*wanted)
        .order_by(links.c.control_uuid.is_not(None), sa.collate(work.c.control_uuid, "C"))
        .limit(scope.limit)
        .subquery()
    )
    connection.execute(
        sa.update(work)
        .where(work.c.has_text, work.c.outcome.is_(None), work.c.control_uuid.not_in(sa.select(chosen.c.control_uuid)))
        .values(outcome=OUT_OF_SCOPE)
    )


def set_aside(connection: sa.Connection) -> None:
    """Leave every control alone that neither was decided by this limited run nor inherits from one that was."""
    mine = sa.or_(
        sa.exists().where(decided.c.control_uuid == work.c.control_uuid),
        sa.exists().where(
            heirs.c.control_uuid == work.c.control_uuid,
            heirs.c.source == decided.c.control_uuid,
        ),
    )
    nothing: dict[str, Any] = dict.fromkeys(RESULT, sa.null())
    connection.execute(
        sa.update(work).where(~mine).values(nothing | {"outcome": OUT_OF_SCOPE, "citation": work.c.previous})
    )


def quotations(connection: sa.Connection, controls: Controls) -> list[tuple[str, str, str | None, OldPlace | None]]:
    """Return (control id, text, hint, older place) of every control that a quotation has to decide, by ids.

    The older place is that of the citation the control has, or had before its wording was seen to have moved.
    """
    read = controls.read
    before = (
        sa.select(link_audit.c.previous_citation)
        .where(link_audit.c.control_uuid == work.c.control_uuid, link_audit.c.undone_by.is_(None))
        .order_by(link_audit.c.run_id.desc())
        .limit(1)
        .scalar_subquery()
    )
    cited = sa.func.coalesce(work.c.previous, sa.case((links.c.reason == MOVED, before)), type_=JSONB)
    query = (
        sa.select(read["control_uuid"], read["source_original_text"], read["source_regulation"], cited)
        .select_from(
            controls.table.join(work, work.c.control_uuid == read["control_uuid"].element).outerjoin(
                links, links.c.control_uuid == work.c.control_uuid
            )
        )
        .where(work.c.has_text, work.c.outcome.is_(None))
        .order_by(sa.collate(work.c.control_uuid, "C"))
    )
    return [
        (str(uuid), str(text), (str(hint).strip() or None) if hint else None, old_place(citation))
        for uuid, text, hint, citation in connection.execute(query)
    ]


def stage_decisions(connection: sa.Connection, rows: Iterable[Sequence[object]]) -> None:
    """Copy the decisions on quotations: control id, then the columns of `RESULT`."""
    decided.create(connection)
    copy_rows(connection, decided, ("control_uuid", *RESULT), rows)
    connection.execute(sa.text(f"ANALYZE {decided.name}"))


def settle(connection: sa.Connection, codes: Sequence[str]) -> list[str]:
    """Give every control its outcome: quotations first, then atoms over any depth.

    `codes` are the regulations that this run looked in: a citation of ours that names another one stays as it is.
    Returns the ids of the controls that hang on a cycle of parents, in order.
    """
    _keep_what_was_out_of_sight(connection, codes)
    connection.execute(
        sa.update(work)
        .where(work.c.control_uuid == decided.c.control_uuid, work.c.outcome.is_(None))
        .values({name: decided.c[name] for name in RESULT})
    )
    parent = sa.alias(work, "parent_row")
    orphan = sa.and_(
        work.c.parent.is_not(None), ~sa.exists().where(parent.c.control_uuid == work.c.parent).correlate(work)
    )
    for reason, where in (("no_quotation", work.c.parent.is_(None)), ("parent_missing", orphan)):
        connection.execute(
            sa.update(work).where(work.c.outcome.is_(None), where).values(outcome="unmatched", reason=reason)
        )
    _keep_what_nothing_replaces(connection)
    _inherit(connection)
    cycle = sa.update(work).where(work.c.outcome.is_(None)).values(outcome="unmatched", reason="parent_cycle")
    cycles = sorted(str(row[0]) for row in connection.execute(cycle.returning(work.c.control_uuid)))
    _keep_what_nothing_replaces(connection)
    return cycles


def _keep_what_nothing_replaces(connection: sa.Connection) -> None:
    """Keep a person's citation for which `force` found no other: it may be replaced, never erased.

    Where the run comes to what the person decided, the decision stays theirs. One whose wording stands elsewhere now
    waits in the review all the same.
    """
    nothing: dict[str, Any] = dict.fromkeys(RESULT, sa.null())
    _as_before(connection, sa.and_(work.c.human, work.c.outcome == "linked", work.c.citation == work.c.previous))
    lost = sa.and_(work.c.outcome.is_not(None), work.c.citation.is_(None), work.c.previous.is_not(None), ~work.c.ours)
    _as_before(connection, sa.and_(lost, work.c.human))
    moved = sa.and_(lost, work.c.outcome == "ambiguous", work.c.reason == MOVED)
    connection.execute(sa.update(work).where(moved).values(citation=work.c.previous))
    connection.execute(sa.update(work).where(lost).values(nothing | {"outcome": "kept", "citation": work.c.previous}))


def _keep_what_was_out_of_sight(connection: sa.Connection, codes: Sequence[str]) -> None:
    """Leave links alone that name a regulation this run did not look in, unless it found a better one."""
    elsewhere = sa.and_(work.c.ours, ~work.c.previous["regulation_code"].astext.in_(codes))
    not_linked = ~sa.exists().where(decided.c.control_uuid == work.c.control_uuid, decided.c.outcome == "linked")
    _as_before(connection, sa.and_(work.c.outcome.is_(None), work.c.has_text, elsewhere, not_linked))


def _inherit(connection: sa.Connection) -> None:
    """Hand each outcome down to the undecided controls below it.

    Every undecided control has one parent, so going down from the decided ones meets each once, and never one that
    hangs on a cycle: those are what is left over.
    """
    _find_heirs(connection)
    for name in _INDEXES:  # every row is written once more, and nothing looks a single one up after that
        connection.execute(sa.text(f"DROP INDEX {name}"))
    source = sa.alias(work, "source_row")
    cited = source.c.citation.is_not(None)
    found = sa.and_(cited, source.c.outcome != "ambiguous")
    handed_down = (
        sa.update(work)
        .where(work.c.control_uuid == heirs.c.control_uuid, source.c.control_uuid == heirs.c.source)
        .values(
            outcome=sa.case((cited, "inherited"), else_="unmatched"),
            tier=sa.case((found, source.c.tier)),
            score=sa.case((found, source.c.score)),
            margin=sa.case((found, source.c.margin)),
            chunk_id=sa.case((found, source.c.chunk_id)),
            reason=sa.case(
                (cited, sa.literal("from ") + source.c.control_uuid), else_=sa.literal("parent_") + source.c.outcome
            ),
            citation=source.c.citation,
        )
    )
    with joined_without(connection, "nestloop"):
        connection.execute(handed_down)


def _find_heirs(connection: sa.Connection) -> None:
    """Fill the table of heirs: each undecided control with the decided one above it."""
    root, child, below = (sa.alias(work, name) for name in ("root", "child", "below"))
    first = (
        sa.select(child.c.control_uuid.label("control_uuid"), root.c.control_uuid.label("source"))
        .select_from(child.join(root, child.c.parent == root.c.control_uuid))
        .where(child.c.outcome.is_(None), root.c.outcome.is_not(None))
        .cte("down", recursive=True)
    )
    down = first.union_all(
        sa.select(below.c.control_uuid, first.c.source)
        .select_from(below.join(first, below.c.parent == first.c.control_uuid))
        .where(below.c.outcome.is_(None))
    )
    heirs.create(connection)
    # the planner cannot know how few rows a level has, and would read the whole table for each
    with joined_without(connection, "hashjoin", "mergejoin"):
        connection.execute(sa.insert(heirs).from_select(["control_uuid", "source"], sa.select(down)))
    connection.execute(sa.text(f"ANALYZE {heirs.name}"))
