"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent


def shared_folder() -> Path | None:
    """Return the folder with real law texts and gold data, or None where this machine has none."""
    folder = Path(os.environ.get("FUNDSTELLE_SHARED") or ROOT.parent / "shared")
    return folder if (folder / "corpus").is_dir() else None


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real law texts (`corpus/`) and gold data (`gold/`)."""
    folder = shared_folder()
    if folder is None:
        pytest.skip("real law texts are absent: set FUNDSTELLE_SHARED to the folder that holds corpus/ and gold/")
    return folder


pytest_plugins = ["tests.postgres_fixtures"]

# Continuous integration must not fail by chance: there the examples are always the same.
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=100)
settings.register_profile("default", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
