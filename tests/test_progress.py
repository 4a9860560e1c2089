"""Progress on a terminal: a bar a stage with its rate and the time left; in a pipe nothing at all."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
STEP = ["chunk", str(ROOT / "examples" / "leihradgesetz.xml")]


def reingest(home: Path) -> list[str]:
    manifest = str(ROOT / "examples" / "manifest.yaml")
    return [sys.executable, "-m", "cli", "--home", str(home), "reingest", "-c", "beispiel", "-m", manifest, "--json"]


def environment(url: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "DATABASE_URL": url, "TERM": "xterm", "COLUMNS": "120"}


def test_bars_on_a_terminal(database_url: str, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        reingest(tmp_path), cwd=ROOT, env=environment(database_url), stdout=subprocess.PIPE, stderr=theirs
    ) as process:
        os.close(theirs)
        drawn = b""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            ready, _, _ = select.select([ours], [], [], 1.0)
            try:
                data = os.read(ours, 65_536) if ready else b"-"
            except OSError:  # the terminal is closed when the command has ended
                break
            if not data:
                break
            drawn += data if ready else b""
        assert process.stdout is not None
        printed = process.stdout.read()
        assert process.wait(30) == 0
    os.close(ours)
    shown = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", drawn).decode("utf-8", "replace")
    assert "writing" in shown and "25/25" in shown and "/s" in shown, shown
    assert printed.startswith(b"{") and printed.count(b"\n") == 1  # the report is not disturbed


def test_nothing_in_a_pipe(database_url: str, tmp_path: Path) -> None:
    ended = subprocess.run(reingest(tmp_path), cwd=ROOT, env=environment(database_url), capture_output=True, check=True)
    assert ended.stderr == b""
    assert ended.stdout.startswith(b"{")


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_a_command_without_stages_says_nothing_beside_its_output(option: list[str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "cli", *STEP, *option], cwd=ROOT, env=environment(""), capture_output=True, check=True
    )
    assert ended.stderr == b"" and ended.stdout
