"""The unit table: one table reads, orders and writes."""

import pytest
from hypothesis import given

from normalize.units import PATTERN, RANK, UNIT_WORDS, UNITS, Path, Step, may_follow, read_path, sibling, write_path
from tests.citation_strategies import paths


def path(*steps: str) -> Path:
    """Return a path from "absatz 1" and the like."""
    return tuple(Step(*step.split(" ", 1)) for step in steps)


def test_markers_name_one_unit_each() -> None:
    words = [word for unit in UNITS for word in unit.words]
    assert len(words) == len(set(words))
    for word, level in [
        ("Abs", "absatz"),
        ("Absätzen", "absatz"),
        ("UAbs", "unterabsatz"),
        ("S", "satz"),
        ("Hs", "halbsatz"),
        ("Nrn", "nummer"),
        ("Buchst", "buchstabe"),
        ("lit", "buchstabe"),
        ("Doppelbuchstaben", "doppelbuchstabe"),
        ("Spiegelstrich", "gedankenstrich"),
    ]:
        assert UNIT_WORDS[word].level == level


def test_every_pattern_has_room_for_one_value() -> None:
    assert all(pattern.count("{}") == 1 for pattern in PATTERN.values())
    assert list(RANK.values()) == list(range(len(UNITS)))


@pytest.mark.parametrize(
    ("above", "level", "allowed"),
    [
        ((), "absatz", True),
        (("absatz 1",), "satz", True),
        (("absatz 1",), "absatz", False),
        # "§ 3 Nummer 40 Satz 1 Buchstabe d Satz 3"
        (("nummer 40",), "satz", True),
        (("nummer 40", "satz 1", "buchstabe d"), "satz", True),
        # "Artikels V Nummer 5 Absatz 1", but no second Absatz
        (("nummer 5",), "absatz", True),
        (("absatz 1", "nummer 5"), "absatz", False),
        (("satz 1",), "absatz", False),
        # "Anhang IV Teil I Buchstabe a Unterabsatz 1 Satz 1"
        (("teil I", "buchstabe a"), "unterabsatz", True),
    ],
)
def test_order(above: tuple[str, ...], level: str, allowed: bool) -> None:
    assert may_follow(path(*above), level) is allowed


@pytest.mark.parametrize(
    ("before", "level", "kept"),
    [
        (("absatz 1", "satz 2"), "satz", ("absatz 1",)),
        (("absatz 1", "satz 2"), "absatz", ()),
        (("absatz 1", "nummer 2"), "satz", ("absatz 1",)),
        (("absatz 1", "nummer 2", "buchstabe a"), "buchstabe", ("absatz 1", "nummer 2")),
    ],
)
def test_what_a_list_item_inherits(before: tuple[str, ...], level: str, kept: tuple[str, ...]) -> None:
    assert sibling(path(*before), level) == path(*kept)


@given(paths(in_annex=True))
def test_written_path_is_read_back(units: Path) -> None:
    assert read_path(write_path(units)) == units


@pytest.mark.parametrize("text", ["", "Absatz 1", "Abs.1", "Nr. 1 und 2", "Abs. 1 ", "lit. abcd"])
def test_what_is_no_label_is_not_read(text: str) -> None:
    assert read_path(text) is None
