"""Take a re-link back: the audit rows say what each citation and link was before."""

from dataclasses import dataclass

import sqlalchemy as sa

from backends.tables.connect import Tables
from backends.tables.locks import relink_lock
from backends.tables.mapping import reflect_controls
from backends.tables.runs import finish_run, start_run
from backends.tables.schema import link_audit, links, runs
from normalize.errors import UsageError
from relink.inherit import present_citation
from relink.review import COMMAND as REVIEW
from relink.run import COMMAND as RELINK

COMMAND = "relink undo"


@dataclass(frozen=True, slots=True)
class UndoReport:
    """What an undo did: citations put back, and those that have changed since and were left alone."""

    run_id: int
    undone_run: int
    restored: int
    changed_since: int


def undo(tables: Tables, run_id: int) -> UndoReport:
    """Put back the citations and links that a re-link or an import of decisions changed, as they were before it.

    A citation that somebody has changed since is left alone and counted. Raises UsageError if there is no such run or
    it was undone already, LockedError while another run writes.
    """
    with relink_lock(tables):
        with tables.begin() as connection:
            known = connection.execute(sa.select(runs.c.command).where(runs.c.run_id == run_id)).scalar_one_or_none()
            open_rows = connection.execute(
                sa.select(sa.func.count()).where(link_audit.c.run_id == run_id, link_audit.c.undone_by.is_(None))
            ).scalar_one()
        if known not in (RELINK, REVIEW):
            raise UsageError(
                f"Run {run_id} is no re-link and no import of decisions; `fundstelle status` lists the runs."
            )
        if not open_rows:
            raise UsageError(f"Re-link {run_id} changed no citation, or was undone already.")
        undoing = start_run(tables, COMMAND, None, {"run": run_id})
        try:
            with tables.begin() as connection:
                restored = _restore(connection, tables, run_id, undoing)
        except BaseException:
            finish_run(tables, undoing, "failed", {})
            raise
        report = UndoReport(undoing, run_id, restored, int(open_rows) - restored)
        finish_run(tables, undoing, "done", {"restored": report.restored, "changed_since": report.changed_since})
    return report


def _restore(connection: sa.Connection, tables: Tables, run_id: int, undoing: int) -> int:
    controls = reflect_controls(connection, tables.columns)
    column = controls.column["source_citation"]
    put_back = (
        sa.update(controls.table)
        .where(
            sa.cast(controls.column["control_uuid"], sa.Text) == link_audit.c.control_uuid,
            link_audit.c.run_id == run_id,
            link_audit.c.undone_by.is_(None),
            present_citation(controls).is_not_distinct_from(link_audit.c.new_citation),
        )
        .values({column: sa.cast(link_audit.c.previous_citation, column.type)})
        .returning(sa.cast(controls.column["control_uuid"], sa.Text).label("control_uuid"))
        .cte("put_back")
    )
    restored = connection.execute(
        sa.update(link_audit)
        .where(link_audit.c.run_id == run_id, link_audit.c.control_uuid == put_back.c.control_uuid)
        .values(undone_by=undoing)
    ).rowcount
    mine = sa.and_(link_audit.c.run_id == run_id, link_audit.c.undone_by == undoing)
    connection.execute(sa.delete(links).where(links.c.control_uuid == link_audit.c.control_uuid, mine))
    names = [c.name for c in links.columns]
    connection.execute(
        sa.text(
            f"INSERT INTO {links.fullname} ({', '.join(names)}) SELECT {', '.join('(r).' + n for n in names)} "
            f"FROM (SELECT jsonb_populate_record(NULL::{links.fullname}, previous_link) AS r "
            f"FROM {link_audit.fullname} "
            "WHERE run_id = :run AND undone_by = :undoing AND previous_link IS NOT NULL) AS before"
        ),
        {"run": run_id, "undoing": undoing},
    )
    return restored
