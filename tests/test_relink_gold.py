"""Floors of the re-link on real law: quotations damaged in known ways, against an eighth of federal law.

`benchmarks/relink.py` runs the same on all of it. The floors stand in `floors.toml`, with the digest of the gold.
"""

import dataclasses
import hashlib
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from relink.anchors import make_anchors
from relink.corpus import Corpus, build_corpus
from relink.tiers import TIERS, decide_anchors
from tests.relink_gold import BULK, GOLD, Row, in_share, is_held_out, read_gold, read_law, score, total

pytestmark = [pytest.mark.corpus, pytest.mark.floor]

FLOORS = tomllib.loads((Path(__file__).parent / "floors.toml").read_text("utf-8"))["relink"]
SHARES = 8
VERBATIM = ("exact", "softhyphen", "eol_hyphen", "truncated", "ocr", "nospace", "renumber", "combo")
HALVES = ("tuned", "held_out")
MASK = re.compile(r"\d+|\b(?:nicht|kein\w*|ein\w*|Bund\w*|Land\w*|Länder\w*|und|oder)\b")
Table = dict[tuple[str, str], Counter[str]]


@pytest.fixture(scope="module")
def corpus(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """The share of federal law, without the laws that the gold leaves out."""
    for name in (GOLD, BULK):
        digest = hashlib.sha256((shared / name).read_bytes()).hexdigest()
        assert digest == FLOORS["digests"][str(name)], f"{name} is not the file that the floors were measured on"
    excluded, _ = read_gold(shared)
    chunks = read_law(shared, tmp_path_factory.mktemp("law"), lambda code: in_share(code, SHARES))
    return build_corpus([chunk for chunk in chunks if chunk.regulation_code not in excluded])


@pytest.fixture(scope="module")
def tables(shared: Path, corpus: Corpus) -> dict[str, Table]:
    """The scores of all gold rows whose laws are in the share: of all, of those rules were tuned on, of the others."""
    codes = {chunk.regulation_code for chunk in corpus.chunks}
    rows: list[Row] = []
    for row in read_gold(shared)[1]:
        here = frozenset(place for place in row.places if place[0] in codes)
        if bool(here) == bool(row.places) and (row.hint is None or row.hint.upper() in codes):
            rows.append(dataclasses.replace(row, places=here))
    anchors = make_anchors(corpus, [(row.text, row.hint) for row in rows])
    decisions = decide_anchors(corpus, anchors, list(TIERS.values()))
    both = list(zip(rows, decisions, strict=True))
    found = {"all": score(corpus, rows, decisions)}
    for half in HALVES:
        mine = [pair for pair in both if is_held_out(pair[0]) == (half == "held_out")]
        found[half] = score(corpus, [row for row, _ in mine], [decision for _, decision in mine])
    return found


@pytest.fixture(scope="module")
def table(tables: dict[str, Table]) -> Table:
    return tables["all"]


def _share(counts: Counter[str], name: str) -> float:
    assert counts["rows"] > 40, "too few rows to say anything"
    return counts[name] / counts["rows"]


def test_links_are_right(table: Table) -> None:
    counts = sum(table.values(), Counter())
    assert counts["rows"] > 5000
    assert counts["right"] / (counts["right"] + counts["wrong"]) >= FLOORS["precision"]
    assert total(table, "nowhere")["wrong"] <= FLOORS["nowhere_linked"]
    for case in ("free open", "hint open"):
        assert total(table, case)["wrong"] + total(table, case)["right"] == 0, "what is open is never linked"


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


@pytest.mark.parametrize("half", HALVES)
def test_the_laws_that_nobody_tuned_on_are_no_worse(tables: dict[str, Table], half: str) -> None:
    floors = FLOORS[half]
    counts = sum(tables[half].values(), Counter())
    assert counts["wrong"] <= floors["wrong"]
    assert _share(total(tables[half], "hint decidable"), "right") >= floors["hinted"]
    assert _share(total(tables[half], "free decidable", VERBATIM), "right") >= floors["free_verbatim"]


@pytest.mark.parametrize("damage", sorted(FLOORS["kinds"]))
def test_every_kind_of_damage(table: Table, damage: str) -> None:
    """Wrong, ambiguous and refused are counted apart: at most so many of each, with a hint and without."""
    for case, floors in FLOORS["kinds"][damage].items():
        counts = total(table, case.replace("_", " "), (damage,))
        assert counts["rows"] == floors["rows"], case
        for what in ("wrong", "ambiguous") if case == "nowhere" else ("wrong", "ambiguous", "unmatched"):
            assert counts[what] <= floors.get(what, 0), (case, what)


def test_all_kinds_are_there(table: Table) -> None:
    assert {damage for damage, _ in table} == set(FLOORS["kinds"])


def _real_twins(corpus: Corpus) -> list[tuple[int, int]]:
    """Return pairs of chunks of different laws whose words are the same but for numbers or a key word."""
    masked: dict[str, list[int]] = {}
    for number, chunk in enumerate(corpus.chunks):
        text = MASK.sub("#", chunk.chunk_text)
        if 80 < len(text) < 900:
            masked.setdefault(text, []).append(number)
    pairs = []
    for group in masked.values():
        for one in group:
            for two in group:
                first, second = corpus.chunks[one], corpus.chunks[two]
                if first.document_id != second.document_id and first.chunk_text != second.chunk_text:
                    pairs.append((one, two))
    return sorted(pairs)[:: max(1, len(pairs) // 1500)]


def test_real_twins_of_federal_law_are_never_mistaken(corpus: Corpus) -> None:
    """What stands in one law is never linked to its near twin, with the hint of the first, of the second, or none."""
    pairs = _real_twins(corpus)
    assert len(pairs) > 200
    quotations = []
    for one, two in pairs:
        text = corpus.chunks[one].chunk_text
        laws = (corpus.chunks[one].regulation_code, None, corpus.chunks[two].regulation_code)
        quotations += [(text, hint) for hint in laws]
    decisions = decide_anchors(corpus, make_anchors(corpus, quotations), list(TIERS.values()))
    linked = 0
    for i, (one, two) in enumerate(pairs):
        for decision in decisions[3 * i : 3 * i + 3]:
            if decision.outcome == "linked" and decision.best is not None:
                linked += 1
                found = range(decision.best.first_chunk, decision.best.last_chunk + 1)
                text = " ".join(corpus.chunks[n].chunk_text for n in found)
                assert _said(corpus.chunks[one].chunk_text) in _said(text), (corpus.chunks[one], corpus.chunks[two])
    assert linked > len(pairs) // 2


def _said(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


def test_amended_text_without_a_hint_is_in_review_with_its_place_first(table: Table) -> None:
    counts = total(table, "free decidable", ("amended",))
    assert (counts["first"] + counts["right"]) / counts["rows"] >= FLOORS["free_amended_first"]
