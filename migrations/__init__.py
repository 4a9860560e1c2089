"""Alembic migrations of schema `compliance`; run by `backends.tables.upgrade`, or by Alembic's own command."""

HEAD = "0001"
"""The newest revision; a test holds it against the scripts."""
