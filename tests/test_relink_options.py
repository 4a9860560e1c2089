"""Limited runs: which controls they look at, what they leave alone, and that the same call goes on."""

import os
import random
import signal
import subprocess
import sys
from typing import Any

import pytest
import sqlalchemy as sa

from backends.tables import schema
from backends.tables.connect import Tables
from backends.tables.runs import latest_runs, start_run
from normalize.errors import UsageError
from relink.run import RelinkOptions, relink
from tests.conftest import ROOT
from tests.test_relink_run import CHUNKS, EXCEPTION, FORCE, WATER, c, everything, load, outcomes

DOG = "Wer einen Hund hält, hat ihm täglich Auslauf von mindestens zwei Stunden zu gewähren."


@pytest.mark.parametrize("name", ["KATZG", "KatzG", "Katzengesetz"])
def test_only_the_controls_of_a_regulation(tables: Tables, name: str) -> None:
    load(
        tables,
        c(1, WATER, source_regulation="Katzengesetz"),
        c(2, None, under=1),
        c(3, DOG, source_regulation="HundG"),
        c(4, None, under=3),
        c(5, EXCEPTION),
        c(6, EXCEPTION, under=1, source_regulation="HundG"),
        c(7, None, under=6),
    )
    report = relink(tables, CHUNKS, RelinkOptions(regulations=(name,)))
    assert report.outcomes == {"inherited": 1, "linked": 1, "out_of_scope": 5}
    assert report.quotations == 1
    found = outcomes(tables)
    assert found[1] == ("linked", "KatzG § 1 Abs. 1")
    assert found[2] == ("inherited", "KatzG § 1 Abs. 1")
    assert all(found[n] == (None, None) for n in range(3, 8)), "no row, not even that nothing was found"


def test_a_control_without_hint_belongs_to_the_regulation_it_cites(tables: Tables) -> None:
    load(tables, c(1, WATER), c(2, DOG))
    relink(tables, CHUNKS)
    dry = relink(tables, CHUNKS, RelinkOptions(regulations=("HundG",), dry_run=True))
    assert (dry.quotations, dry.writes) == (1, 0)


def test_a_regulation_that_is_not_there(tables: Tables) -> None:
    load(tables, c(1, WATER))
    with pytest.raises(UsageError, match="No chunk is of regulation 'VogelG'"):
        relink(tables, CHUNKS, RelinkOptions(regulations=("VogelG",)))


def test_a_limited_run_leaves_the_links_of_the_others_as_they_are(tables: Tables) -> None:
    load(tables, c(1, WATER, source_regulation="KatzG"), c(2, None, under=1), c(3, DOG, source_regulation="HundG"))
    relink(tables, CHUNKS)
    before = everything(tables, "fundstelle_runs")
    for options in (
        RelinkOptions(regulations=("HundG",)),
        RelinkOptions(limit=1),
        RelinkOptions(only_unmatched=True),
        RelinkOptions(only_unmatched=True, force=True),
    ):
        assert relink(tables, CHUNKS, options).writes == 0, options
    assert everything(tables, "fundstelle_runs") == before


def test_the_same_call_with_a_limit_goes_on_to_what_was_not_seen(tables: Tables) -> None:
    load(tables, c(1, WATER), c(2, FORCE), c(3, DOG), c(4, EXCEPTION), c(5, None, under=4))
    seen = []
    for _ in range(3):
        relink(tables, CHUNKS, RelinkOptions(limit=2))
        seen.append(sorted(n for n, (outcome, _) in outcomes(tables).items() if outcome))
    assert seen == [[1, 2], [1, 2, 3, 4, 5], [1, 2, 3, 4, 5]]
    assert outcomes(tables)[5] == ("inherited", "KatzG § 1 Abs. 2")


def test_only_what_has_no_citation_yet(tables: Tables) -> None:
    load(tables, c(1, WATER), c(2, FORCE), c(3, DOG, source_citation={"article": "9"}))
    relink(tables, CHUNKS)
    load(tables, c(2, FORCE, source_regulation="KatzG"))
    report = relink(tables, CHUNKS, RelinkOptions(only_unmatched=True))
    assert (report.quotations, report.outcomes) == (1, {"linked": 1, "out_of_scope": 2})
    assert outcomes(tables) == {1: ("linked", "KatzG § 1 Abs. 1"), 2: ("linked", "KatzG § 3"), 3: ("kept", None)}


def test_limited_runs_add_up_to_a_whole_one(tables: Tables) -> None:
    controls = [
        c(1, WATER, source_regulation="KatzG"),
        c(2, None, under=1),
        c(3, FORCE),
        c(4, DOG),
        c(5, None, under=3),
    ]
    load(tables, *controls)
    relink(tables, CHUNKS)
    whole = outcomes(tables)
    with tables.begin() as connection:
        connection.execute(sa.delete(schema.links))
        connection.execute(sa.update(schema.canonical_controls).values(source_citation=sa.null()))
    for _ in range(len(controls)):
        relink(tables, CHUNKS, RelinkOptions(limit=1))
    assert outcomes(tables) == whole


def test_changes_against_the_present_citations(tables: Tables) -> None:
    load(
        tables,
        c(1, WATER),
        c(2, None, under=1, source_citation={"source": "KatzG", "article": "9"}),
        c(3, WATER, source_citation={"regulation_code": "KATZG", "article": "1", "article_label": "KatzG § 1"}),
        c(4, FORCE, source_regulation="HundG", source_citation={"regulation_code": "KATZG"}),
    )
    dry = relink(tables, CHUNKS, RelinkOptions(force=True, dry_run=True))
    assert dry.changes["counts"] == {"new": 1, "other_paragraph": 1, "other_regulation": 2}
    shown = {kind: [(e["old"], e["new"]) for e in examples] for kind, examples in dry.changes["examples"].items()}
    assert shown == {
        "new": [(None, "KatzG § 1 Abs. 1")],
        "other_paragraph": [("KatzG § 1", "KatzG § 1 Abs. 1")],
        "other_regulation": [("KatzG 9", "KatzG § 1 Abs. 1"), ("(no label)", "HundG § 3")],
    }
    assert relink(tables, CHUNKS, RelinkOptions(force=True)).changes == dry.changes


def test_a_killed_run_is_closed_by_the_next(tables: Tables) -> None:
    load(tables, c(1, WATER))
    start_run(tables, "relink", None, {})
    relink(tables, CHUNKS)
    assert [run.status for run in latest_runs(tables, 2)] == ["done", "killed"]


KILLED = """
import os, signal, sys
from pathlib import Path
import relink.run
from backends.tables.connect import open_tables
from tests.conftest import ROOT
from tests.test_relink_run import CHUNKS

stage = relink.run._Clock.stage

def killing(clock, name):
    stage(clock, name)
    if name == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)

relink.run._Clock.stage = killing
with open_tables(home=Path("unused"), database_url=sys.argv[1]) as tables:
    relink.run.relink(tables, CHUNKS)
"""


@pytest.mark.parametrize("stage", ["read", "decide", "inherit", "write"])
def test_a_run_killed_anywhere_leaves_nothing_half_written(tables: Tables, database_url: str, stage: str) -> None:
    load(tables, c(1, WATER), c(2, None, under=1), c(3, FORCE))
    before = everything(tables, "fundstelle_runs")
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, database_url, stage], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert killed.returncode == -signal.SIGKILL
    assert everything(tables, "fundstelle_runs") == before
    assert relink(tables, CHUNKS).outcomes == {"ambiguous": 1, "inherited": 1, "linked": 1}
    assert [run.status for run in latest_runs(tables, 2)] == ["done", "killed"]


@pytest.mark.parametrize("seed", range(4))
def test_inheritance_in_random_forests_is_what_the_rule_says(tables: Tables, seed: int) -> None:
    """The nearest control above that was decided hands its citation down; what hangs on a cycle gets nothing."""
    chance = random.Random(seed)
    total = 120
    parent: dict[int, int | None] = {}
    controls: dict[int, dict[str, Any]] = {}
    for n in range(1, total + 1):
        parent[n] = chance.choice([None, *(chance.randint(1, total + 3) for _ in range(6))])
        text = chance.choice([None] * 6 + [WATER, FORCE, DOG])
        written = chance.random() < 0.08
        citation = {"article": "9", "article_label": f"von Hand {n}"} if chance.random() < 0.08 else None
        controls[n] = c(n, text, under=parent[n], is_self_written=written, source_citation=citation)
    load(tables, *controls.values())
    cited = {WATER: "KatzG § 1 Abs. 1", DOG: "HundG § 1 Abs. 1"}

    def expected(n: int, below: frozenset[int] = frozenset()) -> tuple[str, str | None]:
        control = controls[n]
        own = control["source_citation"] and control["source_citation"]["article_label"]
        if control["is_self_written"]:
            return ("self_written", own)
        if own:
            return ("kept", own)
        text = control["source_original_text"]
        if text:
            return ("linked", cited[text]) if text in cited else ("ambiguous", None)
        above = parent[n]
        if above is None or above not in controls or n in below:
            return ("unmatched", None)
        label = expected(above, below | {n})[1]
        return ("inherited", label) if label else ("unmatched", None)

    relink(tables, CHUNKS)
    assert outcomes(tables) == {n: expected(n) for n in controls}
    assert relink(tables, CHUNKS).writes == 0
