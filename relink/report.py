"""What the links are worth: coverage, scores, what was left and why, and what changed against the citations before."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from backends.tables.connect import Tables
from backends.tables.mapping import Controls, reflect_controls
from backends.tables.schema import link_audit, links
from relink.inherit import HUMAN, OUT_OF_SCOPE, present_citation, work

_EXAMPLES = 3
_BIN = 0.05
CITED = ("linked", "inherited", HUMAN, "kept")
"""Outcomes of controls that have a citation."""

UNKNOWN = "(not known)"
"""Regulation of controls that neither cite nor name one."""


def _label(citation: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Return how a citation reads; an older one, without label, by its parts."""
    old = sa.func.concat_ws(" ", citation["source"].astext, citation["article"].astext)
    return sa.func.coalesce(citation["article_label"].astext, sa.func.nullif(old, ""), "(no label)")


def _kind() -> sa.ColumnElement[str]:
    """Return what kind of change a row of the work table is: the coarsest part that differs."""
    old, new = work.c.previous, work.c.citation

    def differs(name: str) -> sa.ColumnElement[bool]:
        different: sa.ColumnElement[bool] = old[name].astext.is_distinct_from(new[name].astext)
        return different

    whens: list[tuple[sa.ColumnElement[bool], str]] = [
        (old.is_(None), "new"),
        (new.is_(None), "taken_away"),
        (differs("regulation_code"), "other_regulation"),
        (differs("article"), "other_article"),
        (differs("paragraph"), "other_paragraph"),
        (differs("sub"), "other_sub"),
    ]
    return sa.case(*whens, else_="details")


def changes_of(connection: sa.Connection) -> dict[str, Any]:
    """Return how the citations of this run's work table differ from those the controls have: counts and examples."""
    kind = _kind()
    changed = sa.and_(work.c.outcome != OUT_OF_SCOPE, work.c.citation.is_distinct_from(work.c.previous))
    counted = sa.select(kind, sa.func.count()).where(changed).group_by(kind)
    counts = {str(name): int(count) for name, count in connection.execute(counted)}
    old = sa.case((work.c.previous.is_not(None), _label(work.c.previous)))
    new = sa.case((work.c.citation.is_not(None), _label(work.c.citation)))
    examples: dict[str, list[dict[str, Any]]] = {}
    for name in sorted(counts):
        first = sa.select(work.c.control_uuid, old, new).where(changed, kind == name)
        rows = connection.execute(first.order_by(sa.collate(work.c.control_uuid, "C")).limit(_EXAMPLES))
        examples[name] = [{"control_uuid": row[0], "old": row[1], "new": row[2]} for row in rows]
    return {"counts": dict(sorted(counts.items())), "examples": examples}


def link_report(tables: Tables) -> dict[str, Any]:
    """Return what the links of a database are worth, as one JSON object.

    `coverage` counts controls by outcome and tier, `regulations` by regulation (of the citation, else the known one),
    `scores` how many linked quotations have a similarity from `from` up to the next, `left` why the others have none,
    `before` and `after` how many controls had a citation before the first re-link and have one now.
    """
    with tables.begin() as connection:
        controls = reflect_controls(connection, tables.columns)
        uuid = controls.read["control_uuid"].element
        both = controls.table.outerjoin(links, links.c.control_uuid == uuid)
        return {
            "controls": _one(connection, sa.select(sa.func.count()).select_from(controls.table)),
            "coverage": _coverage(connection, both),
            "regulations": _regulations(connection, controls, both),
            "scores": _scores(connection),
            "left": _left(connection),
            "before": _before(connection, controls),
            "after": _after(connection, controls),
        }


def _one(connection: sa.Connection, query: sa.Select[Any]) -> int:
    return int(connection.execute(query).scalar_one() or 0)


def _coverage(connection: sa.Connection, both: sa.FromClause) -> list[dict[str, Any]]:
    outcome = sa.func.coalesce(links.c.outcome, "not_seen")
    query = sa.select(outcome, links.c.tier, sa.func.count()).select_from(both).group_by(outcome, links.c.tier)
    rows = [{"outcome": str(o), "tier": t, "controls": int(n)} for o, t, n in connection.execute(query)]
    return sorted(rows, key=lambda row: (str(row["outcome"]), str(row["tier"] or "")))


def _regulations(connection: sa.Connection, controls: Controls, both: sa.FromClause) -> list[dict[str, Any]]:
    """Return a row a regulation: controls, those with a citation, those left for review; most controls first."""
    hint = sa.func.nullif(sa.func.btrim(controls.read["source_regulation"].element), "")
    name = sa.func.coalesce(present_citation(controls)["regulation_code"].astext, hint, UNKNOWN)
    outcome = sa.func.coalesce(links.c.outcome, "not_seen")
    query = sa.select(name, outcome, sa.func.count()).select_from(both).group_by(name, outcome)
    table: dict[str, Counter[str]] = {}
    for regulation, of, count in connection.execute(query):
        table.setdefault(str(regulation), Counter())[str(of)] += int(count)
    rows: list[dict[str, Any]] = [
        {
            "regulation": regulation,
            "controls": sum(counts.values()),
            "cited": sum(counts[of] for of in CITED),
            "outcomes": dict(sorted(counts.items())),
        }
        for regulation, counts in table.items()
    ]
    return sorted(rows, key=lambda row: (-row["controls"], row["regulation"]))


def _scores(connection: sa.Connection) -> list[dict[str, Any]]:
    """Return the histogram of the similarity of linked quotations, lowest first; exact ones have their own row."""
    bins = sa.func.least(sa.func.floor(links.c.score / _BIN + 1e-9), round(1 / _BIN))
    query = (
        sa.select(bins, sa.func.count()).where(links.c.outcome == "linked", links.c.score.is_not(None)).group_by(bins)
    )
    found = sorted((int(number), int(count)) for number, count in connection.execute(query))
    return [{"from": round(number * _BIN, 2), "controls": count} for number, count in found]


def _left(connection: sa.Connection) -> list[dict[str, Any]]:
    query = (
        sa.select(links.c.outcome, links.c.reason, sa.func.count())
        .where(links.c.outcome.in_(("ambiguous", "unmatched")))
        .group_by(links.c.outcome, links.c.reason)
    )
    rows = [{"outcome": o, "reason": r or "", "controls": int(n)} for o, r, n in connection.execute(query)]
    return sorted(rows, key=lambda row: (-row["controls"], row["outcome"], row["reason"]))


def _numbers(connection: sa.Connection, citation: sa.ColumnElement[Any], source: sa.FromClause) -> dict[str, int]:
    labelled = citation["article_label"].astext.is_not(None)
    query = sa.select(sa.func.count().filter(citation.is_not(None)), sa.func.count().filter(labelled)).select_from(
        source
    )
    cited, with_label = connection.execute(query).one()
    return {"cited": int(cited), "with_label": int(with_label)}


def _after(connection: sa.Connection, controls: Controls) -> dict[str, int]:
    return _numbers(connection, present_citation(controls), controls.table)


def _before(connection: sa.Connection, controls: Controls) -> dict[str, int]:
    """Count citations as they were before the first change that still holds."""
    order = sa.func.row_number().over(partition_by=link_audit.c.control_uuid, order_by=link_audit.c.run_id)
    held = (
        sa.select(link_audit.c.control_uuid, link_audit.c.previous_citation, order.label("number"))
        .where(link_audit.c.undone_by.is_(None))
        .subquery()
    )
    first = sa.select(held).where(held.c.number == 1).subquery()
    uuid = controls.read["control_uuid"].element
    then = sa.case((first.c.control_uuid.is_not(None), first.c.previous_citation), else_=present_citation(controls))
    rows = (
        sa.select(sa.cast(then, JSONB).label("citation"))
        .select_from(controls.table.outerjoin(first, first.c.control_uuid == uuid))
        .subquery()
    )
    return _numbers(connection, rows.c.citation, rows)


def coverage_share(report: dict[str, Any]) -> float:
    """Return the share of controls that have a citation, 0 to 1."""
    rows: Sequence[dict[str, Any]] = report["coverage"]
    cited = sum(row["controls"] for row in rows if row["outcome"] in CITED)
    return cited / report["controls"] if report["controls"] else 0.0
