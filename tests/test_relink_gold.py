"""Floors of the re-link on real law: quotations damaged in known ways, against an eighth of federal law.

`benchmarks/relink.py` runs the same on all of it. The floors stand in `floors.toml`, with the digest of the gold.
"""

import dataclasses
import hashlib
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from relink.anchors import make_anchors
from relink.corpus import build_corpus
from relink.tiers import TIERS, decide_anchors
from tests.relink_gold import BULK, GOLD, in_share, read_gold, read_law, score, total

pytestmark = [pytest.mark.corpus, pytest.mark.floor]

FLOORS = tomllib.loads((Path(__file__).parent / "floors.toml").read_text("utf-8"))["relink"]
SHARES = 8
VERBATIM = ("exact", "softhyphen", "eol_hyphen", "truncated", "ocr", "nospace", "renumber", "combo")
Table = dict[tuple[str, str], Counter[str]]


@pytest.fixture(scope="module")
def table(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """The scores of all gold rows whose laws are in the share."""
    for name in (GOLD, BULK):
        digest = hashlib.sha256((shared / name).read_bytes()).hexdigest()
        assert digest == FLOORS["digests"][str(name)], f"{name} is not the file that the floors were measured on"
    excluded, gold = read_gold(shared)
    chunks = read_law(shared, tmp_path_factory.mktemp("law"), lambda code: in_share(code, SHARES))
    chunks = [chunk for chunk in chunks if chunk.regulation_code not in excluded]
    codes = {chunk.regulation_code for chunk in chunks}
    rows = []
    for row in gold:
        here = frozenset(place for place in row.places if place[0] in codes)
        if bool(here) == bool(row.places) and (row.hint is None or row.hint.upper() in codes):
            rows.append(dataclasses.replace(row, places=here))
    corpus = build_corpus(chunks)
    anchors = make_anchors(corpus, [(row.text, row.hint) for row in rows])
    return score(corpus, rows, decide_anchors(corpus, anchors, list(TIERS.values())))


def _share(counts: Counter[str], name: str) -> float:
    assert counts["rows"] > 40, "too few rows to say anything"
    return counts[name] / counts["rows"]


def test_links_are_right(table: Table) -> None:
    counts = sum(table.values(), Counter())
    assert counts["rows"] > 5000
    assert counts["right"] / (counts["right"] + counts["wrong"]) >= FLOORS["precision"]
    assert total(table, "nowhere")["wrong"] <= FLOORS["nowhere_linked"]
    assert total(table, "free open")["wrong"] + total(table, "free open")["right"] == 0, (
        "open without a hint is never linked"
    )


@pytest.mark.parametrize(
    ("floor", "case", "damages"),
    [
        ("hinted", "hint decidable", ()),
        ("hinted_verbatim", "hint decidable", VERBATIM),
        ("hinted_short_ellipsis", "hint decidable", ("short", "ellipsis")),
        ("hinted_amended", "hint decidable", ("amended",)),
        ("hinted_span2", "hint decidable", ("span2",)),
        ("free_verbatim", "free decidable", VERBATIM),
    ],
)
def test_decidable_quotations_are_linked(table: Table, floor: str, case: str, damages: tuple[str, ...]) -> None:
    assert _share(total(table, case, damages), "right") >= FLOORS[floor]


def test_amended_text_without_a_hint_is_in_review_with_its_place_first(table: Table) -> None:
    counts = total(table, "free decidable", ("amended",))
    assert (counts["first"] + counts["right"]) / counts["rows"] >= FLOORS["free_amended_first"]
