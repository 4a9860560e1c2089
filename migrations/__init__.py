"""Alembic migrations of schema `compliance`; run by `backends.tables.upgrade`, or by Alembic's own command."""
