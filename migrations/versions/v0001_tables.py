"""The first tables: the development database's, and fundstelle's own; each only where it is absent.

Written out rather than taken from `backends.tables.schema`: a migration says what was created then, the schema what is
there today. A test holds the two against each other.
"""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic import context, op
from sqlalchemy.dialects.postgresql import JSONB, UUID

from backends.tables.mapping import SCHEMA, ControlColumns
from normalize.errors import UsageError

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _when(name: str = "created_at") -> sa.Column[Any]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now())


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, sa.Identity(), primary_key=True)


def _control(name: str = "control_uuid", *, key: bool = False, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, UUID(as_uuid=False), primary_key=key, nullable=nullable, index=not key)


def _create(name: str, *columns: sa.Column[Any]) -> None:
    op.create_table(name, *columns, schema=SCHEMA)


def _controls() -> None:
    _create(
        "canonical_controls",
        _control(key=True),
        _control("parent_control_uuid", nullable=True),
        sa.Column("title", sa.Text),
        sa.Column("source_original_text", sa.Text),
        sa.Column("source_citation", JSONB),
        sa.Column("source_regulation", sa.Text),
        sa.Column("is_self_written", sa.Boolean, nullable=False, server_default=sa.false()),
    )


def _processed_chunks() -> None:
    _create(
        "canonical_processed_chunks",
        sa.Column("chunk_hash", sa.Text, primary_key=True),
        sa.Column("collection", sa.Text, primary_key=True),
        sa.Column("document_version", sa.Text, primary_key=True),
        _when("processed_at"),
    )


def _atom_classification() -> None:
    _create("atom_classification", _number("id"), _control(), sa.Column("classification", JSONB), _when())


def _control_classification() -> None:
    _create("control_classification", _number("id"), _control(), sa.Column("classification", JSONB), _when())


def _doc_check_controls() -> None:
    texts = [sa.Column(name, sa.Text) for name in ("doc_type", "article", "source")]
    _create("doc_check_controls", _number("id"), _control(), *texts, _when())


def _runs() -> None:
    _create(
        "fundstelle_runs",
        _number("run_id"),
        sa.Column("command", sa.Text, nullable=False),
        sa.Column("collection", sa.Text),
        sa.Column("status", sa.Text, nullable=False),
        _when("started_at"),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.Column("details", JSONB, nullable=False),
        sa.Column("summary", JSONB),
    )


def _documents() -> None:
    _create(
        "fundstelle_documents",
        sa.Column("collection", sa.Text, primary_key=True),
        sa.Column("document_id", sa.Text, primary_key=True),
        sa.Column("document_version", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("chunks", sa.Integer, nullable=False),
        sa.Column("run_id", sa.BigInteger, nullable=False),
        _when("updated_at"),
    )


def _receipts() -> None:
    _create(
        "fundstelle_receipts",
        _number("receipt_id"),
        sa.Column("collection", sa.Text, nullable=False, index=True),
        sa.Column("receipt", JSONB, nullable=False),
        _when(),
    )


def _links() -> None:
    _create(
        "fundstelle_links",
        sa.Column("control_uuid", sa.Text, primary_key=True),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("tier", sa.Text),
        sa.Column("score", sa.Double),
        sa.Column("margin", sa.Double),
        sa.Column("chunk_id", sa.Text),
        sa.Column("span_start", sa.Integer),
        sa.Column("span_end", sa.Integer),
        sa.Column("reason", sa.Text),
        sa.Column("candidates", JSONB),
        sa.Column("citation", JSONB),
        sa.Column("run_id", sa.BigInteger, nullable=False),
    )


def _link_audit() -> None:
    _create(
        "fundstelle_link_audit",
        sa.Column("run_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("control_uuid", sa.Text, primary_key=True),
        sa.Column("previous_citation", JSONB),
        sa.Column("new_citation", JSONB),
        sa.Column("previous_link", JSONB),
        sa.Column("found", JSONB, nullable=False),
        sa.Column("undone_by", sa.BigInteger),
        _when(),
    )


_TABLES: dict[str, Callable[[], None]] = {
    "canonical_controls": _controls,
    "canonical_processed_chunks": _processed_chunks,
    "atom_classification": _atom_classification,
    "control_classification": _control_classification,
    "doc_check_controls": _doc_check_controls,
    "fundstelle_runs": _runs,
    "fundstelle_documents": _documents,
    "fundstelle_receipts": _receipts,
    "fundstelle_links": _links,
    "fundstelle_link_audit": _link_audit,
}


def upgrade() -> None:
    """Create what is absent; a table of that name that is already there stays as it is."""
    columns: ControlColumns = context.config.attributes.get("columns") or ControlColumns()
    existing = set(sa.inspect(op.get_bind()).get_table_names(schema=SCHEMA))
    if columns.qualified != ControlColumns().qualified:
        existing.add("canonical_controls")  # the platform has its controls under another name
    for name, create in _TABLES.items():
        if name not in existing:
            create()


def downgrade() -> None:
    """Refuse: nothing is ever dropped."""
    raise UsageError("Migrations never go back, since that would drop data; restore a backup instead.")
