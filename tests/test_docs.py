"""What there is to call and to set stands in the docs."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import typer.main

import cli
from settings import ENVIRONMENT, SECRETS, Settings

ROOT = Path(__file__).resolve().parent.parent
GUIDE = (ROOT / "docs" / "operator-guide.md").read_text("utf-8")
ALL = "\n".join([GUIDE, *((ROOT / name).read_text("utf-8") for name in ("README.md", "docs/contract.md"))])


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name))


@pytest.mark.parametrize("command", sorted(commands(typer.main.get_group(cli.app))))
def test_every_command_is_documented(command: str) -> None:
    """By its full name, or as one of a list ("ledger check|rebuild")."""
    group, _, name = command.rpartition(" ")
    pattern = rf"\b{group} ([a-z|]*\|)?{name}\b" if group else rf"(fundstelle |`){name}\b"
    assert re.search(pattern, ALL), f"'{command}' stands in no document"


def test_every_setting_and_variable_is_in_the_operator_guide() -> None:
    variables = {*ENVIRONMENT, *(f"{variable}_FILE" for variable, name in ENVIRONMENT.items() if name in SECRETS)}
    assert [name for name in sorted(variables) if f"`{name}`" not in GUIDE] == []
    assert [name for name in Settings.model_fields if f"`{name}`" not in GUIDE and f"`[{name}]`" not in GUIDE] == []


def test_every_exit_code_is_in_the_operator_guide() -> None:
    rows = re.findall(r"^\| (\d) \|", GUIDE.split("## Exit codes")[1], flags=re.M)
    assert rows == ["0", "1", "2", "3", "4", "5"]
