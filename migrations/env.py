"""Run the migrations over the connection that `backends.tables.upgrade` hands in (no alembic.ini)."""

import sqlalchemy as sa
from alembic import context

from backends.tables.mapping import SCHEMA
from backends.tables.schema import METADATA
from normalize.errors import UsageError

connection: sa.Connection | None = context.config.attributes.get("connection")
if connection is None:
    raise UsageError("Migrations run over an open connection; use `fundstelle db upgrade`.")
# CREATE SCHEMA IF NOT EXISTS wants the right to create even where the schema exists, which a platform may not give
if not sa.inspect(connection).has_schema(SCHEMA):
    connection.execute(sa.schema.CreateSchema(SCHEMA))
context.configure(
    connection=connection,
    target_metadata=METADATA,
    version_table="fundstelle_alembic_version",
    version_table_schema=SCHEMA,
    include_schemas=True,
)
with context.begin_transaction():
    context.run_migrations()
