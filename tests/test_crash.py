"""kill -9 at any moment of a re-ingest, then run again: the same points and bytes, nothing lost, nothing double."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from backends.vectors.edge import EdgeStore

ROOT = Path(__file__).resolve().parent.parent
NAME = "gesetze"
KILLS = 6


def command(home: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "cli", "--home", str(home), *arguments]


def run(home: Path, url: str, *arguments: str) -> None:
    subprocess.run(command(home, *arguments), env=environment(url), check=True, capture_output=True)


def environment(url: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "DATABASE_URL": url}


def points(home: Path) -> dict[str, dict[str, Any]]:
    with EdgeStore(home, 10.0) as store:
        return {str(record.id): record.payload for record in store.scroll(NAME)}


@pytest.mark.corpus
def test_killed_at_random_moments_and_run_again(shared: Path, database_url: str, tmp_path: Path) -> None:
    for name in ("bdsg_2024-12", "agg_2024-12", "gwg_2026-03"):
        shutil.copy(shared / f"corpus/gii-xml/{name}.xml", tmp_path)
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text("documents:\n  - glob: '*.xml'\n", "utf-8")
    step = ("reingest", "--collection", NAME, "--manifest", str(manifest))

    undisturbed = tmp_path / "undisturbed"
    started = time.perf_counter()
    run(undisturbed, database_url, *step)
    whole = time.perf_counter() - started
    expected = points(undisturbed)

    moments = random.Random(7)
    home = tmp_path / "killed"
    interrupted = 0
    for _ in range(KILLS):
        process = subprocess.Popen(
            command(home, *step), env=environment(database_url), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(timeout=whole * moments.uniform(0.3, 0.95))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            interrupted += 1
        else:
            shutil.rmtree(home / "vectors" / NAME)  # it got through: take its work away and try another moment
    assert interrupted > 0
    run(home, database_url, *step)
    assert points(home) == expected
    run(home, database_url, "verify", "--collection", NAME, "--sample", "1")
