"""Migrations on real Postgres: create what is absent, leave alone what is there, never go back."""

from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

import migrations
from backends.tables import upgrade as upgrading
from backends.tables.connect import Tables
from backends.tables.mapping import ControlColumns, reflect_controls
from backends.tables.schema import METADATA
from backends.tables.upgrade import VERSION_TABLE, is_current, upgrade
from normalize.errors import LockedError, StoreError, UsageError

EVERY_TABLE = sorted(f"compliance.{table.name}" for table in METADATA.tables.values())
PLATFORM = ControlColumns(
    table="controls_v2",
    control_uuid="id",
    parent_control_uuid="parent_id",
    source_original_text="quotation",
    source_citation="citation",
    title="name",
    source_regulation="no_such_column",
    is_self_written="also_missing",
)
PLATFORM_TABLE = """
CREATE SCHEMA compliance;
CREATE TABLE compliance.controls_v2
    (id text PRIMARY KEY, parent_id text, quotation text, citation json, name varchar(80));
INSERT INTO compliance.controls_v2 VALUES
    ('C-1', NULL, 'Wortlaut', '{"article": "1"}', 'eins'), ('C-2', 'C-1', NULL, NULL, NULL);
CREATE TABLE compliance.atom_classification (control_uuid text, mine int DEFAULT 7);
INSERT INTO compliance.atom_classification VALUES ('C-2');
"""


def _fingerprint(tables: Tables) -> list[object]:
    with tables.begin() as connection:
        rows = connection.execute(sa.text("SELECT t::text FROM compliance.controls_v2 t ORDER BY 1")).all()
        others = connection.execute(sa.text("SELECT t::text FROM compliance.atom_classification t ORDER BY 1")).all()
        columns = connection.execute(
            sa.text(
                "SELECT table_name, column_name, data_type FROM information_schema.columns "
                "WHERE table_schema = 'compliance' AND table_name IN ('controls_v2', 'atom_classification') "
                "ORDER BY 1, ordinal_position"
            )
        ).all()
    return [tuple(row) for row in [*rows, *others, *columns]]


def test_fresh_database_gets_every_table_once(empty_tables: Tables) -> None:
    assert not is_current(empty_tables)
    assert upgrade(empty_tables) == EVERY_TABLE
    assert is_current(empty_tables)
    assert upgrade(empty_tables) == []


def test_the_migrations_give_what_the_schema_says(tables: Tables) -> None:
    with tables.begin() as connection:
        options = {
            "compare_type": True,
            "include_schemas": True,
            "include_name": lambda name, kind, _parents: kind != "schema" or name == "compliance",
            "include_object": lambda _object, name, *_rest: name != VERSION_TABLE,
        }
        assert compare_metadata(MigrationContext.configure(connection, opts=options), METADATA) == []


def test_a_platform_keeps_its_tables_and_names(empty_database_url: str, open_database: Callable[..., Tables]) -> None:
    tables = open_database(empty_database_url, columns=PLATFORM)
    with tables.begin() as connection:
        connection.execute(sa.text(PLATFORM_TABLE))
    before = _fingerprint(tables)
    created = upgrade(tables)
    assert "compliance.canonical_controls" not in created, "the platform has its own under another name"
    assert "compliance.atom_classification" not in created, "already there"
    assert "compliance.fundstelle_links" in created
    assert upgrade(tables) == []
    assert _fingerprint(tables) == before
    with tables.begin() as connection:
        controls = reflect_controls(connection, PLATFORM)
        rows = connection.execute(sa.select(*controls.read.values()).order_by(controls.read["control_uuid"])).all()
    assert [row._asdict() for row in rows] == [
        {
            "control_uuid": "C-1",
            "parent_control_uuid": None,
            "title": "eins",
            "source_original_text": "Wortlaut",
            "source_citation": {"article": "1"},
            "source_regulation": None,
            "is_self_written": None,
        },
        {
            "control_uuid": "C-2",
            "parent_control_uuid": "C-1",
            "title": None,
            "source_original_text": None,
            "source_citation": None,
            "source_regulation": None,
            "is_self_written": None,
        },
    ]


def test_an_existing_control_table_under_the_usual_name_stays(empty_tables: Tables) -> None:
    with empty_tables.begin() as connection:
        connection.execute(
            sa.text(
                "CREATE SCHEMA compliance; CREATE TABLE compliance.canonical_controls "
                "(control_uuid uuid PRIMARY KEY, source_original_text text, source_citation jsonb, extra int);"
                "INSERT INTO compliance.canonical_controls VALUES (gen_random_uuid(), 'x', NULL, 3)"
            )
        )
    assert "compliance.canonical_controls" not in upgrade(empty_tables)
    with empty_tables.begin() as connection:
        assert connection.execute(sa.text("SELECT extra FROM compliance.canonical_controls")).scalars().all() == [3]


def test_a_control_table_that_only_the_settings_know_is_refused(
    empty_database_url: str, open_database: Callable[..., Tables]
) -> None:
    tables = open_database(empty_database_url, columns=ControlColumns(table="contrls"))
    with pytest.raises(UsageError, match=r"compliance\.contrls"):
        upgrade(tables)
    with tables.begin() as connection:
        assert not sa.inspect(connection).has_schema("compliance"), "nothing half-made"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (ControlColumns(table="nowhere"), "compliance.nowhere does not exist"),
        (ControlColumns(source_citation="zitat"), "no column 'zitat' for source_citation"),
    ],
)
def test_wrong_names_in_the_settings_are_named(tables: Tables, columns: ControlColumns, message: str) -> None:
    with tables.begin() as connection, pytest.raises(StoreError, match=message):
        reflect_controls(connection, columns)


def test_there_is_no_way_back(tables: Tables) -> None:
    with tables.begin() as connection, pytest.raises(UsageError, match="never go back"):
        command.downgrade(upgrading._config(connection, tables.columns), "base")
    assert is_current(tables)


def test_upgrade_waits_for_nobody(tables: Tables, database_url: str, open_database: Callable[..., Tables]) -> None:
    from backends.tables.locks import relink_lock

    with relink_lock(tables), pytest.raises(LockedError):
        upgrade(open_database(database_url))


def test_the_head_that_every_command_looks_for_is_the_newest_script() -> None:
    folder = str(Path(migrations.__file__).parent)
    config = Config()
    config.set_main_option("script_location", folder)
    assert ScriptDirectory.from_config(config).get_current_head() == migrations.HEAD
