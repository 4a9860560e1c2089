"""The tables of schema `compliance`: those a development database needs, and fundstelle's own (`fundstelle_*`).

A platform's tables that are already there win over the definitions here: they are never altered, and the control table
is always read through `mapping`.
"""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, UUID

from backends.tables.mapping import SCHEMA

METADATA = sa.MetaData(schema=SCHEMA)


def _now() -> sa.Column[object]:
    return sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now())


canonical_controls = sa.Table(
    "canonical_controls",
    METADATA,
    sa.Column("control_uuid", UUID(as_uuid=False), primary_key=True),
    sa.Column("parent_control_uuid", UUID(as_uuid=False), index=True),
    sa.Column("title", sa.Text),
    sa.Column("source_original_text", sa.Text),
    sa.Column("source_citation", JSONB),
    sa.Column("source_regulation", sa.Text),
    sa.Column("is_self_written", sa.Boolean, nullable=False, server_default=sa.false()),
)

processed_chunks = sa.Table(
    "canonical_processed_chunks",
    METADATA,
    sa.Column("chunk_hash", sa.Text, primary_key=True),
    sa.Column("collection", sa.Text, primary_key=True),
    sa.Column("document_version", sa.Text, primary_key=True),
    sa.Column("processed_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
)

atom_classification = sa.Table(
    "atom_classification",
    METADATA,
    sa.Column("id", sa.BigInteger, sa.Identity(), primary_key=True),
    sa.Column("control_uuid", UUID(as_uuid=False), nullable=False, index=True),
    sa.Column("classification", JSONB),
    _now(),
)

control_classification = sa.Table(
    "control_classification",
    METADATA,
    sa.Column("id", sa.BigInteger, sa.Identity(), primary_key=True),
    sa.Column("control_uuid", UUID(as_uuid=False), nullable=False, index=True),
    sa.Column("classification", JSONB),
    _now(),
)

doc_check_controls = sa.Table(
    "doc_check_controls",
    METADATA,
    sa.Column("id", sa.BigInteger, sa.Identity(), primary_key=True),
    sa.Column("control_uuid", UUID(as_uuid=False), nullable=False, index=True),
    sa.Column("doc_type", sa.Text),
    sa.Column("article", sa.Text),
    sa.Column("source", sa.Text),
    _now(),
)

DEPENDENTS = (atom_classification, control_classification, doc_check_controls)

runs = sa.Table(
    "fundstelle_runs",
    METADATA,
    sa.Column("run_id", sa.BigInteger, sa.Identity(), primary_key=True),
    sa.Column("command", sa.Text, nullable=False),
    sa.Column("collection", sa.Text),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("started_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
    sa.Column("finished_at", sa.DateTime(timezone=True)),
    sa.Column("details", JSONB, nullable=False),
    sa.Column("summary", JSONB),
)

documents = sa.Table(
    "fundstelle_documents",
    METADATA,
    sa.Column("collection", sa.Text, primary_key=True),
    sa.Column("document_id", sa.Text, primary_key=True),
    sa.Column("document_version", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("chunks", sa.Integer, nullable=False),
    sa.Column("run_id", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
)

receipts = sa.Table(
    "fundstelle_receipts",
    METADATA,
    sa.Column("receipt_id", sa.BigInteger, sa.Identity(), primary_key=True),
    sa.Column("collection", sa.Text, nullable=False, index=True),
    sa.Column("receipt", JSONB, nullable=False),
    _now(),
)

links = sa.Table(
    "fundstelle_links",
    METADATA,
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

link_audit = sa.Table(
    "fundstelle_link_audit",
    METADATA,
    sa.Column("run_id", sa.BigInteger, primary_key=True),
    sa.Column("control_uuid", sa.Text, primary_key=True),
    sa.Column("previous_citation", JSONB),
    sa.Column("new_citation", JSONB),
    sa.Column("previous_link", JSONB),
    sa.Column("found", JSONB, nullable=False),
    sa.Column("undone_by", sa.BigInteger),
    _now(),
)

OWN = (runs, documents, receipts, links, link_audit)
