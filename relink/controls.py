"""Controls in and out as JSON lines: the interface that others rely on.

Import is all or nothing: a bad line stops it with one sentence, and what is the same already is not written again.
"""

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
import zstandard
from psycopg.types.json import Jsonb
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator
from sqlalchemy.dialects.postgresql import JSONB

from backends.tables.connect import Tables
from backends.tables.copy import copy_rows
from backends.tables.locks import relink_lock
from backends.tables.mapping import Controls, reflect_controls
from backends.tables.schema import links
from normalize.errors import SourceError

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_WINDOW = 2**27
_NUL = "\x00"


class Control(BaseModel):
    """One control as a line of the file; what is missing is null, what is unknown is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    control_uuid: str
    parent_control_uuid: str | None = None
    title: str | None = None
    source_original_text: str | None = None
    source_regulation: str | None = None
    is_self_written: bool | None = None
    source_citation: dict[str, Any] | None = None

    @field_validator("control_uuid", "parent_control_uuid")
    @classmethod
    def _uuid(cls, value: str | None) -> str | None:
        if value is not None and not _UUID.fullmatch(value.lower()):
            raise ValueError(f"'{value[:50]}' is no UUID")
        return value.lower() if value else None

    @field_validator("title", "source_original_text", "source_regulation")
    @classmethod
    def _storable(cls, value: str | None) -> str | None:
        if value is not None and _NUL in value:
            raise ValueError("holds a NUL character, which Postgres cannot store")
        return value


FIELDS = tuple(Control.model_fields)


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did: rows read, and how many of them were new, changed and as they were."""

    rows: int
    inserted: int
    updated: int

    @property
    def unchanged(self) -> int:
        """Rows that were there already, the same."""
        return self.rows - self.inserted - self.updated


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a `.jsonl` or `.jsonl.zst` file, streamed; raises SourceError if it cannot be read."""
    try:
        with path.open("rb") as file:
            if path.suffix == ".zst":
                with zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(file) as stream:
                    yield from io.BufferedReader(stream, 1 << 20)
            else:
                yield from file
    except (OSError, zstandard.ZstdError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SourceError(f"The controls in {path} cannot be read ({reason}); check the file and run again.") from None


def _reason(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    message = {
        "extra_forbidden": "unknown key",
        "missing": "key is missing",
        "json_invalid": first["msg"].removeprefix("Invalid JSON: "),
    }.get(first["type"], first["msg"].removeprefix("Value error, "))
    return f"{where}: {message}" if where else message


def parse_controls(lines: Iterable[bytes | str], source: str) -> Iterator[Control]:
    """Yield the controls of JSON lines; blank lines are skipped.

    Raises SourceError naming `source` and the line for a line that is no control, or that comes twice.
    """
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        raw = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
        if number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        if not raw.strip():
            continue
        try:
            control = Control.model_validate_json(raw)
        except ValidationError as error:
            raise SourceError(
                f"{source} line {number}: {_reason(error)}; nothing was imported, mend the line."
            ) from None
        if control.control_uuid in seen:
            raise SourceError(
                f"{source} line {number}: control {control.control_uuid} stands in line {seen[control.control_uuid]} "
                "already; nothing was imported, keep one of them."
            )
        seen[control.control_uuid] = number
        yield control


def _stage(
    connection: sa.Connection, controls: Iterable[Control], there: Controls, source: str
) -> tuple[sa.Table, int]:
    """Copy controls to a table of this transaction and return it and the number of rows."""
    kinds: dict[str, sa.types.TypeEngine[Any]] = {"is_self_written": sa.Boolean(), "source_citation": JSONB()}
    stage = sa.Table(
        "fundstelle_controls_stage",
        sa.MetaData(),
        *(sa.Column(name, kinds.get(name, sa.Text())) for name in FIELDS),
        prefixes=["TEMPORARY"],
        postgresql_on_commit="DROP",
    )
    stage.create(connection)
    absent = [name for name in FIELDS if name not in there.column]

    def rows() -> Iterator[tuple[object, ...]]:
        for control in controls:
            for name in absent:
                if getattr(control, name):
                    raise SourceError(
                        f"{source}: control {control.control_uuid} has a {name}, but the control table has no column "
                        "for it; name one in the settings or leave the key out."
                    )
            citation = control.source_citation
            yield (
                control.control_uuid,
                control.parent_control_uuid,
                control.title,
                control.source_original_text,
                control.source_regulation,
                control.is_self_written,
                None if citation is None else Jsonb(citation),
            )

    count = copy_rows(connection, stage, FIELDS, rows())
    connection.execute(sa.text("ANALYZE fundstelle_controls_stage"))
    return stage, count


def _stored(there: Controls, name: str) -> sa.ColumnElement[Any]:
    """Return what a control has in a column, in the type of the stage."""
    kind: sa.types.TypeEngine[Any] = sa.Text()
    if name == "source_citation":
        kind = JSONB()
    elif name == "is_self_written":
        kind = sa.Boolean()
    return sa.cast(there.column[name], kind)


def _new_value(name: str, stage: sa.Table, there: Controls) -> sa.ColumnElement[Any]:
    """Return what an existing control gets: the file's value; but a file without citation takes none away."""
    value = stage.c[name]
    return sa.func.coalesce(value, _stored(there, name))


def import_controls(tables: Tables, lines: Iterable[bytes | str], source: str) -> ImportReport:
    """Write the controls of JSON lines: new ones are added, changed ones updated, the rest is not touched.

    All in one transaction. What a line does not say is not taken away from an existing control (a re-link may have
    written its citation). Raises SourceError (see `parse_controls`), LockedError while another run writes.
    """
    with relink_lock(tables), tables.begin() as connection:
        there = reflect_controls(connection, tables.columns)
        stage, rows = _stage(connection, parse_controls(lines, source), there, source)
        names = [name for name in FIELDS if name in there.column]
        # A platform may keep its ids as text, in capitals; the stage has them in lower case.
        same = sa.func.lower(sa.cast(there.column["control_uuid"], sa.Text)) == stage.c.control_uuid
        values = {name: _new_value(name, stage, there) for name in names if name != "control_uuid"}
        differs = sa.or_(*(_stored(there, name).is_distinct_from(value) for name, value in values.items()))
        updated = connection.execute(
            sa.update(there.table)
            .values({there.column[name]: sa.cast(value, there.column[name].type) for name, value in values.items()})
            .where(same, differs)
        ).rowcount
        new = {name: stage.c[name] for name in names} | {
            name: sa.func.coalesce(stage.c[name], sa.false()) for name in names if name == "is_self_written"
        }
        fresh = sa.select(*(sa.cast(new[name], there.column[name].type) for name in names)).where(
            ~sa.exists().where(same)
        )
        inserted = connection.execute(
            sa.insert(there.table).from_select([there.column[name] for name in names], fresh),
            execution_options={"preserve_rowcount": True},
        ).rowcount
        stage.drop(connection)
    return ImportReport(rows, inserted, updated)


def export_controls(tables: Tables) -> Iterator[dict[str, Any]]:
    """Yield every control with its citation and how it came by it, in the order of ids; streamed.

    `outcome` and what follows are null for a control that no re-link has seen.
    """
    with tables.errors(), tables.engine.connect() as connection:
        there = reflect_controls(connection, tables.columns)
        control_uuid = there.read["control_uuid"]
        found = (links.c.outcome, links.c.tier, links.c.score, links.c.margin, links.c.chunk_id)
        query = (
            sa.select(control_uuid, there.read["source_citation"], *found)
            .select_from(
                there.table.outerjoin(links, links.c.control_uuid == sa.cast(there.column["control_uuid"], sa.Text))
            )
            .order_by(sa.collate(sa.cast(there.column["control_uuid"], sa.Text), "C"))
        )
        rows = connection.execution_options(yield_per=5000).execute(query)
        keys = ("control_uuid", "source_citation", "outcome", "tier", "score", "margin", "chunk_id")
        for row in rows:
            yield dict(zip(keys, row, strict=True))


def link_counts(tables: Tables) -> dict[str, Any]:
    """Return how many controls there are, and how many of them have each outcome (by name)."""
    with tables.begin() as connection:
        there = reflect_controls(connection, tables.columns)
        total = int(connection.execute(sa.select(sa.func.count()).select_from(there.table)).scalar_one())
        counted = sa.select(links.c.outcome, sa.func.count()).group_by(links.c.outcome)
        outcomes = {str(outcome): int(count) for outcome, count in connection.execute(counted)}
    return {"controls": total, "outcomes": dict(sorted(outcomes.items()))}
