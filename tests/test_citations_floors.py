"""Quality floors of the citation finder on gold data, pinned to the digests of the gold files (tests/floors.toml)."""

import tomllib
from pathlib import Path

import pytest

from normalize.citing import find
from normalize.laws import LawTable
from tests import citation_scores as scores

FLOORS = tomllib.loads(Path(__file__).with_name("floors.toml").read_text(encoding="utf-8"))["citations"]
LAWS = LawTable.builtin()

pytestmark = pytest.mark.floor


@pytest.fixture(scope="module")
def gold(shared: Path) -> Path:
    return shared / "gold"


@pytest.mark.parametrize(("name", "digest"), FLOORS["digests"].items())
def test_gold_is_the_one_the_floors_were_measured_on(name: str, digest: str, gold: Path) -> None:
    assert scores.digest(gold / name) == digest


def test_ler(gold: Path) -> None:
    path = gold / "citations" / "ler_dev.conll"
    finder = scores.our_spans(LAWS)
    assert scores.ler_score(path, finder).f1 >= FLOORS["ler_span_f1"]
    assert scores.ler_score(path, finder, spaced=True).f1 >= FLOORS["ler_spaced_span_f1"]


def test_refex(gold: Path) -> None:
    score = scores.refex_score(gold / "citations", LAWS)
    assert score.spans.f1 >= FLOORS["refex_span_f1"]
    assert score.book_number >= FLOORS["refex_book_number"]
    assert score.structure >= FLOORS["refex_structure"]


def test_strings(gold: Path) -> None:
    lines = list(scores.string_lines(gold / "citations" / "strings"))
    unread = [line for line in lines if not scores.is_read_completely(line, LAWS)]
    assert len(lines) > 200
    assert 1 - len(unread) / len(lines) >= FLOORS["strings_complete"], unread


def test_styles(gold: Path) -> None:
    lines = [
        line for line in (gold / "citations" / "citation_styles.txt").read_text(encoding="utf-8").splitlines() if line
    ]
    unread = [line for line in lines if not scores.is_covered(line, find(line, LAWS))]
    assert len(lines) > 20
    assert 1 - len(unread) / len(lines) >= FLOORS["styles_complete"], unread
