"""Review, report and the options of re-link as an operator calls them."""

import json
from pathlib import Path

import pytest

from tests.test_cli import Run, chain, run

__all__ = ["run"]
EMBEDDING = ("relink", "--tiers", "hash,fuzzy,embedding")


def test_report_for_people_and_for_scripts(run: Run) -> None:
    chain(run)
    report = run("report", "--json").json
    assert report["controls"] == sum(row["controls"] for row in report["coverage"])
    assert report["controls"] == sum(row["controls"] for row in report["regulations"])
    assert report["after"]["cited"] > report["before"]["cited"]
    assert sum(row["controls"] for row in report["scores"]) == sum(
        row["controls"] for row in report["coverage"] if row["outcome"] == "linked"
    )
    shown = run("report")
    assert shown.code == 0
    for word in ("have a citation", "before", "left because", "similarity", "regulation"):
        assert word in shown.out


def test_the_review_from_export_to_undo(run: Run, tmp_path: Path) -> None:
    chain(run)
    rows = run("review", "export", "--outcome", "linked").lines
    chosen = rows[0]
    (candidate,) = chosen["candidates"]
    decision = {name: chosen[name] for name in ("control_uuid", "state")} | {
        name: candidate[name] for name in ("chunk_id", "article_label")
    }
    file = tmp_path / "decisions.jsonl"
    file.write_text(json.dumps(decision) + "\n", "utf-8")
    dry = run("review", "import", str(file), "--reviewer", "Anna", "--dry-run", "--json")
    assert (dry.code, dry.json["applied"], dry.json["run_id"]) == (0, 1, None)
    done = run("review", "import", str(file), "--reviewer", "Anna", "--json")
    assert (done.code, done.json["applied"]) == (0, 1)
    assert run("relink", "--json").json["outcomes"]["human"] == 1
    assert "1 were applied" in run("review", "import", str(file), "--reviewer", "Anna").out
    assert run("relink", "undo", str(done.json["run_id"])).code == 0
    assert [row["control_uuid"] for row in run("review", "export", "--outcome", "linked").lines] == [
        row["control_uuid"] for row in rows
    ]


def test_refused_rows_end_with_the_code_of_a_gate(run: Run, tmp_path: Path) -> None:
    chain(run)
    row = run("review", "export").lines[0]
    file = tmp_path / "d.jsonl"
    decision = {"control_uuid": row["control_uuid"], "state": "0" * 64, "chunk_id": None, "article_label": None}
    file.write_text(json.dumps(decision), "utf-8")
    refused = run("review", "import", str(file), "--reviewer", "Anna")
    assert refused.code == 3
    assert "refused, line 1" in refused.out


@pytest.mark.parametrize("name", ["r.jsonl", "r.csv", "r.html"])
def test_every_format_is_the_same_each_time(run: Run, tmp_path: Path, name: str) -> None:
    chain(run)
    one, two = tmp_path / f"1{name}", tmp_path / f"2{name}"
    report = run("review", "export", "-o", str(one), "--json").json
    assert report["controls"] > 0
    run("review", "export", "-o", str(two))
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("review", "export", "--format", "xls"), 2, "no format 'xls'"),
        (("review", "export", "--outcome", "kept"), 2, "no outcome 'kept'"),
        (("review", "export", "--json"), 2, "name one with --output"),
        (("review", "export", "-o", "nowhere/r.html"), 2, "cannot be written"),
        (("review", "import", "missing.jsonl"), 1, "cannot be read"),
        (("relink", "--regulation", "XYZ"), 2, "No chunk is of regulation 'XYZ'"),
        (("relink", "--tiers", "psychic"), 2, "no tier 'psychic'"),
        (("relink", "--tiers", "llm"), 2, "FUNDSTELLE_LLM_URL"),
    ],
)
def test_mistakes_get_one_sentence(run: Run, arguments: tuple[str, ...], code: int, message: str) -> None:
    chain(run)
    ended = run(*arguments)
    assert ended.code == code
    assert message in ended.err
    assert ended.err.count("\n") == 1


def test_the_preview_shows_changes_and_the_limits_hold(run: Run) -> None:
    chain(run)
    assert run("relink", "--limit", "1", "--json").json["writes"] == 0
    assert run("relink", "--only-unmatched", "--json").json["writes"] == 0
    run("relink", "undo", "2")
    dry = run("relink", "--dry-run")
    assert "Changes against the present citations: new " in dry.out
    assert "nothing → " in dry.out


def test_the_embedding_tier_says_that_hashing_is_lexical(run: Run) -> None:
    chain(run)
    ended = run(*EMBEDDING, "--threshold", "0.95", "--json")
    assert ended.code == 0
    assert "finds shared wording, not shared meaning" in ended.err
