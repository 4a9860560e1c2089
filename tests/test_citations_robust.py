"""Any text is read without an error, with exact spans, and in time linear in its length."""

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from normalize.citing import find
from normalize.laws import LawTable
from normalize.units import UNIT_WORDS
from tests.work import work

LAWS = LawTable.builtin()

PIECES = [
    *re.findall(
        r"\S+",
        """§ §§ Art. Artikel Art Anhang Anlage ErwG Erwägungsgrund Absatz Verordnung Richtlinie vom BGBl. I II
        IV i.V.m. und oder , ; / - – ( ) . a b s i aa bb 1 2 3a 12 2016/679 (EU) (BGBl. ff. f. a.F. n.F. bis
        des der dieses Gesetzes BDSG DSGVO SGB V XyzG TV-L Halbsatz letzte Alternative 2. zu in Fassung Nr.
        Buchst. lit. Bekanntmachung 1. Mai 2020 geändert""",
    ),
    *sorted(UNIT_WORDS)[:40],
    "\n",
    "\u00a0",
]
citation_like = st.lists(st.sampled_from(PIECES), max_size=60).map(" ".join)


@given(st.one_of(st.text(max_size=300), citation_like, st.lists(st.sampled_from(PIECES), max_size=60).map("".join)))
@settings(max_examples=1500, deadline=None)
def test_any_text_is_read(text: str) -> None:
    end = 0
    for found in find(text, LAWS, this_law=LAWS.by_code("BDSG"), this_norm="1"):
        assert end <= found.start < found.end <= len(text)
        assert text[found.start : found.end] == found.text
        assert found.targets
        for target in found.targets:
            assert target.citation.label or not target.resolved
            assert not (target.resolved and target.citation.regulation_code == "unknown")
        end = found.end


@given(citation_like)
@settings(max_examples=300, deadline=None)
def test_reading_depends_on_nothing_else(text: str) -> None:
    assert find(text, LAWS) == find(text, LawTable.builtin())


HOSTILE = {
    "marker without value": "§ 1 Abs. ",
    "signs": "§",
    "brackets": "(",
    "list": ("§ ", "1, "),
    "slashes": ("§ ", "1/"),
    "letters": ("§ 1 lit. ", "a, "),
    "digits": ("§ ", "1"),
    "dotted digits": ("§ ", "1."),
    "artikel": "Artikel ",
    "chain": "§ 1 i.V.m. ",
    "deep path": ("§ 1 ", "Nr. 1 Satz 1 "),
    "roman": ("§ ", "1 I "),
    "units first": "Satz 1 des ",
    "spaces": "§ 1 " + " " * 50,
    "gazette": "vom 1. Mai 2020 (BGBl",
    "statute": "Gesetz vom 1. Mai 2020 (BGBl. I S. 1) ",
    "amended": ", das durch Artikel 1 des Gesetzes vom 1. Mai 2020 (BGBl. I S. 1)",
    "title": "§ 1 des Gesetzes über die ",
    "title words": ("§ 1 des Gesetzes über ", "Wort und "),
    "adjectives": "§ 1 der aaaen bbben ",
    "directives": "Richtlinie 2000/1/EG und ",
    "regulation": "Verordnung (EU) ",
    "journal": "Verordnung (EU) 2016/679 vom 1. Mai 2016 (",
    "name": "Bürgerliches ",
    "hyphens": ("§ 1 ", "A-"),
    "capitals": ("§ 1 ", "AB "),
    "abbreviation": "§ 1 TV A",
    "two readings": "§§ 1, 2 Abs. 2, 3 BGB, ",
    "law first": "BGB § 1 ",
}


@pytest.mark.parametrize("seed", HOSTILE.values(), ids=HOSTILE.keys())
def test_work_grows_with_the_length(seed: str | tuple[str, str]) -> None:
    """Four times the text is about four times the work; what is quadratic does sixteen times as much."""
    head, unit = ("", seed) if isinstance(seed, str) else seed
    short, long = (head + unit * (size // len(unit)) for size in (15_000, 60_000))
    find(short, LAWS)
    assert work(lambda: find(long, LAWS)) < 6 * work(lambda: find(short, LAWS)) + 1_000


@pytest.mark.parametrize("seed", ["§ 1 Abs. ", "(", ("§ ", "1, "), "§"], ids=str)
def test_a_megabyte_of_hostile_text_is_read(seed: str | tuple[str, str]) -> None:
    head, unit = ("", seed) if isinstance(seed, str) else seed
    text = head + unit * (1_000_000 // len(unit))
    found = find(text, LAWS)
    assert all(text[item.start : item.end] == item.text for item in found)


def test_random_letters_of_citations() -> None:
    generator = random.Random(7)
    text = "".join(generator.choice("§ArtAbs.1 2a,()/-IVSatz\n") for _ in range(50_000))
    assert all(text[item.start : item.end] == item.text for item in find(text, LAWS))
