"""The retest: which result meets a Fundstelle, and a question file that says what is wrong with it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from normalize.citing import parse
from normalize.errors import UsageError
from normalize.laws import LawTable
from retrieve.retest import meets, read_retest, retest_report, run_retest

LAWS = LawTable.builtin()


def result(
    code: str, article: str, paragraph: str | None = None, sub: str | None = None, **more: Any
) -> dict[str, Any]:
    return {
        "regulation_code": code, "regulation_short": code, "article": article, "paragraph": paragraph, "sub": sub,
        "is_recital": False, "source": f"{code} {article} {paragraph}",
    } | more  # fmt: skip


@pytest.mark.parametrize(
    ("found", "wanted", "met"),
    [
        (result("BDSG", "38", "1"), "BDSG § 38 Abs. 1", True),
        (result("BDSG", "38", "1"), "BDSG § 38", True),  # an Absatz of it
        (result("BDSG", "38", "2"), "BDSG § 38 Abs. 1", False),
        (result("BDSG", "38"), "BDSG § 38 Abs. 1", False),  # another norm: one without Absätze
        (result("BDSG", "37", "1"), "BDSG § 38 Abs. 1", False),
        (result("DSGVO", "38", "1"), "BDSG § 38 Abs. 1", False),
        (result("BDSG", "38", "1"), "BDSG § 38 Abs. 1 Satz 2", True),  # the chunk that holds it
        (result("BDSG", "38", "1", "Satz 2 Nr. 1"), "BDSG § 38 Abs. 1 Satz 2", True),  # a part of it
        (result("BDSG", "38", "1", "Satz 1"), "BDSG § 38 Abs. 1 Satz 2", False),
        (result("BDSG", "38", "1", "Satz 1"), "BDSG § 38 Abs. 1 Satz 11", False),
        (result("ESTG", "3", units=["Nr. 50", "Nr. 51"]), "EStG § 3 Nr. 51", True),  # a piece of a long norm
        (result("ESTG", "3", units=["Nr. 1", "Nr. 1 lit. a"]), "EStG § 3 Nr. 51", False),
        (result("BDSG", "4", "1", units=["Satz 1", "Satz 1 Nr. 2"]), "BDSG § 4 Abs. 1 Nr. 2", True),
        (result("BDSG", "4", "1", units=[{"start": 0, "end": 9, "sub": "Satz 1"}]), "BDSG § 4 Abs. 1 Satz 2", False),
        (result("DSGVO", "26", is_recital=True), "ErwG 26 DSGVO", True),
        (result("DSGVO", "26"), "ErwG 26 DSGVO", False),
        (result("BDSG", "38", "1", regulation_code="bdsg"), "BDSG § 38 Abs. 1", True),
    ],
)
def test_which_result_meets_a_fundstelle(found: dict[str, Any], wanted: str, met: bool) -> None:
    assert meets(found, parse(wanted, LAWS)) is met


FILE = """
questions:
  - question: Wer braucht einen Datenschutzbeauftragten?
    any_of: [BDSG § 38 Abs. 1, Art. 37 DSGVO]
    k: 2
  - question: Was gilt für beide?
    all_of: [BDSG § 38 Abs. 1, BDSG § 38 Abs. 2]
"""


def ask(_question: str, k: int) -> Sequence[Mapping[str, Any]]:
    return [result("BDSG", "5", "1"), result("BDSG", "38", "1"), result("BDSG", "5", "2")][:k]


def test_any_of_needs_one_and_all_of_every_one(tmp_path: Path) -> None:
    path = tmp_path / "retest.yaml"
    path.write_text(FILE, "utf-8")
    outcomes = run_retest(ask, read_retest(path, LAWS))
    assert [(o.passed, o.rank, o.ranks) for o in outcomes] == [(True, 2, (2, None)), (False, None, (2, None))]
    report = retest_report(outcomes, outcomes)
    assert (report["passed"], report["failed"], report["before"]) == (1, 1, {"passed": 1})
    assert report["questions"][1]["before"]["passed"] is False


def test_a_norm_behind_rank_k_is_missed(tmp_path: Path) -> None:
    path = tmp_path / "retest.yaml"
    path.write_text(FILE.replace("k: 2", "k: 1"), "utf-8")
    assert [o.passed for o in run_retest(ask, read_retest(path, LAWS))] == [False, False]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("questions: []", "questions"),
        ("- 1", "the file"),
        ("questions: [{question: x}]", "any_of"),
        ("questions: [{question: x, any_of: [BDSG § 1], all_of: [BDSG § 1]}]", "any_of"),
        ("questions: [{question: x, any_of: [irgendetwas ganz anderes]}]", "question 1"),
        ("questions: [{question: x, any_of: [BDSG § 1], k: 0}]", "questions.1.k"),
        ("questions: [", "not valid YAML"),
    ],
)
def test_a_bad_file_says_what_is_wrong(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "retest.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=says):
        read_retest(path, LAWS)
