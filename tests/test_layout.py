"""The arrows of DESIGN §2: who may import whom."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {
    "normalize",
    "ingest",
    "relink",
    "retrieve",
    "backends",
    "migrations",
    "commands",
    "printing",
    "cli",
    "settings",
}
ALLOWED = {
    "normalize": set(),
    "backends": {"normalize", "migrations"},  # the upgrade runs the migrations
    "migrations": {"backends", "normalize"},  # the first migration creates what the schema describes
    "ingest": {"normalize", "backends"},
    "relink": {"normalize", "backends"},
    "retrieve": {"normalize", "backends"},
    "settings": {"normalize"},
    "printing": {"ingest", "relink", "retrieve"},  # for the types of what it prints
    "cli": {"commands", "settings", "normalize"},
}


def imported(file: Path) -> set[str]:
    tree = ast.parse(file.read_text("utf-8"))
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.split(".")[0])
    return names & PACKAGES


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_a_package_imports_only_what_it_may(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py")) or [ROOT / f"{package}.py"]
    assert files[0].exists()
    for file in files:
        extra = imported(file) - {package} - ALLOWED[package]
        assert not extra, f"{file.relative_to(ROOT)} imports {sorted(extra)}"


def test_relative_imports_are_not_used() -> None:
    for package in sorted(ALLOWED):
        for file in sorted((ROOT / package).rglob("*.py")):
            nodes = ast.walk(ast.parse(file.read_text("utf-8")))
            assert not [n for n in nodes if isinstance(n, ast.ImportFrom) and n.level], file
