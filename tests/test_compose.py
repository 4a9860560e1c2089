"""Text and units of one Absatz: every unit is exactly its characters, and no two units share a name."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.chunker import split
from ingest.compose import compose, write_sub
from ingest.tree import Block
from normalize.citation import Style
from normalize.units import Path, Step

NR1, NR2 = (Step("nummer", "1"),), (Step("nummer", "2"),)


def units(blocks: list[Block], style: Style = "paragraph") -> dict[str, str]:
    composed = compose(blocks, style)
    return {write_sub(u.path): composed.text[u.start : u.end] for u in composed.units}


def test_one_sentence_has_no_units() -> None:
    assert units([Block("Dies gilt nicht.")]) == {}


def test_sentences_are_counted() -> None:
    assert units([Block("Dies gilt. Jenes gilt nicht.")]) == {"Satz 1": "Dies gilt.", "Satz 2": "Jenes gilt nicht."}


def test_a_list_in_a_single_sentence_needs_no_satz() -> None:
    blocks = [Block("Verboten ist"), Block("das Werfen,", NR1, "1."), Block("das Ziehen.", NR2, "2.")]
    assert units(blocks) == {"Nr. 1": "1. das Werfen,", "Nr. 2": "2. das Ziehen."}


def test_text_after_a_list_goes_on_with_its_sentence() -> None:
    """The continuation belongs to the Absatz, not to the last item (CITATIONS.md rules)."""
    blocks = [
        Block("Wer"),
        Block("wirft oder", NR1, "1."),
        Block("zieht,", NR2, "2."),
        Block("handelt ordnungswidrig. Der Versuch ist frei."),
    ]
    assert units(blocks) == {
        "Satz 1": "Wer\n1. wirft oder\n2. zieht,\nhandelt ordnungswidrig.",
        "Satz 1 Nr. 1": "1. wirft oder",
        "Satz 1 Nr. 2": "2. zieht,",
        "Satz 2": "Der Versuch ist frei.",
    }


def test_two_lists_in_one_absatz_are_told_apart_by_their_satz() -> None:
    blocks = [
        Block("Erlaubt ist"), Block("Rot.", NR1, "1."), Block("Verboten ist"), Block("Blau.", NR1, "1."),
    ]  # fmt: skip
    found = units(blocks)
    assert found["Satz 1 Nr. 1"] == "1. Rot."
    assert found["Satz 2 Nr. 1"] == "1. Blau."


def test_a_name_that_would_stand_twice_is_left_out() -> None:
    """Two lists hang on one sentence and both begin at 1: no unit is better than a wrong one."""
    blocks = [Block("Wer"), Block("Rot,", NR1, "1."), Block("oder"), Block("Blau", NR1, "1."), Block("mag, zahlt.")]
    assert "Nr. 1" not in units(blocks)


def test_an_item_counts_its_own_sentences() -> None:
    blocks = [Block("Steuerfrei sind"), Block("Gaben. Sie sind zu melden;", NR1, "1."), Block("Lose.", NR2, "2.")]
    found = units(blocks)
    assert found["Nr. 1 Satz 2"] == "Sie sind zu melden;"
    assert found["Nr. 2"] == "2. Lose."


def test_an_eu_point_is_cited_without_satz_but_with_its_subparagraph() -> None:
    first, second = Step("unterabsatz", "1"), Step("unterabsatz", "2")
    blocks = [
        Block("Die Säule zeigt an:", (first,)),
        Block("den Preis.", (first, Step("buchstabe", "a")), "a)"),
        Block("Dies gilt nicht nachts. Satz zwei.", (second,)),
    ]
    found = units(blocks, "article")
    assert found["UAbs. 1 lit. a"] == "a) den Preis."
    assert found["UAbs. 2 Satz 2"] == "Satz zwei."


def test_the_sources_own_sentence_numbers_win() -> None:
    """EStG numbers its sentences: an abbreviation the splitter does not know cannot move them."""
    text = "Das gilt n. sonst. Jenes auch."
    assert units([Block(text, sentences=(0, 19))]) == {"Satz 1": "Das gilt n. sonst.", "Satz 2": "Jenes auch."}


def test_where_the_source_numbers_sentences_an_unnumbered_block_begins_none() -> None:
    """EStG § 35 Abs. 1: between Satz 2 and Satz 3 stands a formula, whose parts are no sentences."""
    blocks = [
        Block("Sie ermäßigt sich.", sentences=(0,)),
        Block("Der Betrag ist: Summe.", sentences=(0,)),
        Block("Summe aller Einkünfte."),
        Block("Gewerblich sind Gewinne.", sentences=(0,)),
    ]
    assert units(blocks)["Satz 3"] == "Gewerblich sind Gewinne."


def test_a_repealed_last_item_leaves_the_end_of_the_sentence_where_it_was() -> None:
    """GewStG § 28 Abs. 2: behind "4. (weggefallen)" begins Satz 2."""
    blocks = [Block("Es gilt"), Block("Rot.", NR1, "1."), Block("(weggefallen)", NR2, "2."), Block("Dies gilt nicht.")]
    assert units(blocks)["Satz 2"] == "Dies gilt nicht."
    blocks = [Block("Wer"), Block("wirft,", NR1, "1."), Block("(weggefallen)", NR2, "2."), Block("Strafe zahlt.")]
    assert "Satz 2" not in units(blocks)


def test_behind_a_list_that_ends_with_a_semicolon_sentences_are_not_counted() -> None:
    """OWiG § 49a Abs. 1: "…; Gleiches gilt …" may be a Halbsatz or Satz 2, so no later Satz has a certain number."""
    blocks = [Block("Frei. Es gilt"), Block("Rot;", NR1, "1."), Block("Gleiches gilt dort. Dies gilt nie.")]
    assert list(units(blocks)) == ["Satz 1", "Satz 2", "Satz 2 Nr. 1"]
    assert units(blocks)["Satz 2"] == "Es gilt\n1. Rot;"


def test_rows_of_a_table_belong_to_the_sentence_they_hang_on() -> None:
    blocks = [
        Block("Die Gebühr beträgt:"),
        Block("Prüfung. | 5 Euro.", counts=False),
        Block("Abnahme. | 6 Euro.", counts=False),
        Block("für jeden Fall."),
        Block("Auslagen kommen hinzu."),
    ]
    assert units(blocks) == {
        "Satz 1": "Die Gebühr beträgt:\nPrüfung. | 5 Euro.\nAbnahme. | 6 Euro.\nfür jeden Fall.",
        "Satz 2": "Auslagen kommen hinzu.",
    }


def test_a_sentence_goes_on_behind_what_it_quotes() -> None:
    blocks = [Block("Es wird angefügt:"), Block("„(3) Neu. Ganz neu.“", quoted=True), Block("und gilt. Auch hier.")]
    assert units(blocks)["Satz 2"] == "Auch hier."


_words = st.lists(
    st.sampled_from(["Haus", "gilt.", "Wer", "und", "Abs.", "1", "nicht;", "Rad,"]), min_size=1, max_size=30
)
_levels = st.sampled_from(["nummer", "buchstabe", "doppelbuchstabe"])
_paths = st.lists(st.tuples(_levels, st.sampled_from("1234")), max_size=3).map(
    lambda steps: tuple(Step(level, value) for level, value in steps)
)


@st.composite
def absaetze(draw: st.DrawFn) -> list[Block]:
    blocks = []
    for _ in range(draw(st.integers(1, 8))):
        path: Path = draw(_paths)
        marker = f"{path[-1].value}." if path and draw(st.booleans()) else ""
        blocks.append(Block(" ".join(draw(_words)), path, marker))
    return blocks


@given(absaetze(), st.sampled_from(["paragraph", "article"]))
def test_the_text_is_the_blocks_and_units_nest_and_are_unique(blocks: list[Block], style: Style) -> None:
    composed = compose(blocks, style)
    assert composed.text == "\n".join(f"{b.marker} {b.text}".strip() for b in blocks)
    names = [write_sub(u.path) for u in composed.units]
    assert len(set(names)) == len(names)
    for unit in composed.units:
        assert 0 <= unit.start < unit.end <= len(composed.text)
        assert composed.text[unit.start : unit.end].strip() == composed.text[unit.start : unit.end]


@given(absaetze(), st.integers(20, 120))
@pytest.mark.parametrize("style", ["paragraph", "article"])
def test_pieces_are_the_whole_text_in_order_and_short_enough(style: Style, blocks: list[Block], limit: int) -> None:
    composed = compose(blocks, style)
    pieces = split(composed, limit)
    assert all(0 < piece.end - piece.start <= limit for piece in pieces)
    joined = "".join(composed.text[p.start : p.end] for p in pieces)
    assert joined.split() == composed.text.split() or "".join(joined.split()) == "".join(composed.text.split())
    assert all(a.end <= b.start for a, b in pairwise(pieces))
