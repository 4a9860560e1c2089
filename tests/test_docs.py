"""What there is to call and to set stands in the docs."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

import cli
from settings import ENVIRONMENT, SECRETS, Settings

ROOT = Path(__file__).resolve().parent.parent
GUIDE = (ROOT / "docs" / "operator-guide.md").read_text("utf-8")
ALL = "\n".join([GUIDE, *((ROOT / name).read_text("utf-8") for name in ("README.md", "docs/contract.md"))])


def commands(app: typer.Typer, path: tuple[str, ...] = ()) -> Iterator[str]:
    for about in app.registered_commands:
        name = about.name or str(about.callback.__name__ if about.callback else "").replace("_", "-")
        yield " ".join((*path, name))
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield from commands(group.typer_instance, (*path, group.name) if group.name else path)


@pytest.mark.parametrize("command", sorted(commands(cli.app)))
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
