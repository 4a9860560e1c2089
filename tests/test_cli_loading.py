"""A command loads what it needs, and the table of commands says where each is."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

import cli

ROOT = Path(__file__).resolve().parent.parent


def test_every_command_of_every_module_is_in_the_table() -> None:
    found = {}
    for file in sorted((ROOT / "commands").glob("*.py")):
        app = getattr(importlib.import_module(f"commands.{file.stem}"), "app", None)
        if app is not None:
            found |= dict.fromkeys(typer.main.get_group(app).commands, app)
    assert set(found) == set(cli.MODULES)
    for name, module in cli.MODULES.items():
        assert importlib.import_module(f"commands.{module}").app is found[name], name


def test_the_group_of_sources_is_whole() -> None:
    group = typer.main.get_group(cli.app)
    assert isinstance(sources := group.commands["sources"], typer.main.TyperGroup)
    assert {"fetch", "check", "rebuild"} <= set(sources.commands)


@pytest.mark.parametrize("arguments", ["search --help", "serve --help"])
def test_a_search_loads_nothing_of_the_database_and_of_re_link(arguments: str) -> None:
    code = (
        "import sys, cli\n"
        f"sys.argv = ['fundstelle', *{arguments.split()!r}]\n"
        "try:\n    cli.main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stderr.splitlines()[-1].strip("[]").replace("'", "").split(", "))
    assert "retrieve" in loaded
    assert not loaded & {"sqlalchemy", "psycopg", "numba", "relink", "ingest", "lxml"}, loaded


def test_a_command_that_is_none_is_told_with_those_that_are_like_it() -> None:
    done = subprocess.run([sys.executable, "cli.py", "serch"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and "'search'" in done.stderr
