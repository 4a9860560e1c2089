"""Alignment: where a quotation begins and ends, how many edits, and what kind."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from relink.align import Alignment, align, align_pieces, is_slip

TEXT = "xqzvwxkp" + "derhaiterfuhrtuberdieimpfungenseineshundeseinverzeichnisnachamtiichemmuster" + "vgtrxkqz"
START, END = 8, len(TEXT) - 8
QUOTE = TEXT[START:END]


def aligned(anchor: str, start: int = START, end: int = END, limit: int = 30) -> Alignment | None:
    return align(anchor, TEXT, (0, len(TEXT)), start, end, limit)


@pytest.mark.parametrize(
    ("anchor", "edits", "block", "digits", "why"),
    [
        (QUOTE, 0, 0, False, "word for word"),
        (QUOTE.replace("hundes", "hunbes"), 1, 1, False, "one wrong letter"),
        (QUOTE.replace("muster", "mustcr"), 1, 0, False, "a slip that scans make is no change"),
        (QUOTE.replace("amtiichem", "arntiichern"), 4, 0, False, "rn for m is such a slip too"),
        (QUOTE.replace("seines", ""), 6, 6, False, "a word left out"),
        (QUOTE.replace("hundes", "pferdes"), 4, 4, False, "another word is one block, though a letter agrees"),
        (QUOTE.replace("hundes", "7hundes"), 1, 1, True, "a number put in"),
        (QUOTE.replace("ein", "8in"), 2, 1, True, "a letter that no scan takes for this digit"),
    ],
)
def test_edits_are_counted_and_judged(anchor: str, edits: int, block: int, digits: bool, why: str) -> None:
    found = aligned(anchor)
    assert found is not None
    assert (found.start, found.end) == (START, END), why
    assert (found.edits, found.block, found.digits) == (edits, block, digits), why


@pytest.mark.parametrize("shift", [-6, -3, -1, 1, 3, 6])
def test_a_window_that_is_a_little_off_moves_to_the_text(shift: int) -> None:
    for anchor in (QUOTE, QUOTE.replace("seines", "seins")):
        found = aligned(anchor, START + shift, END + shift)
        assert found is not None
        assert (found.start, found.end, found.edits) == (START, END, len(QUOTE) - len(anchor))


def test_words_missing_near_an_end_do_not_pull_the_end_along() -> None:
    found = aligned("der" + QUOTE[20:])
    assert found is not None
    assert found.end == END


def test_too_many_edits_are_no_alignment() -> None:
    assert aligned("zz" * (len(QUOTE) // 2), limit=10) is None
    assert aligned(QUOTE.replace("hundes", "pferdes"), limit=3) is None


def test_foreign_words_at_an_end_are_lost() -> None:
    found = align("kkkkkkkkkkkkkkk" + QUOTE, QUOTE, (0, len(QUOTE)), 0, len(QUOTE), 30)
    assert found is not None
    assert (found.edits, found.lost) == (15, 15)


def test_a_document_ends_the_search() -> None:
    found = align(QUOTE, TEXT, (START + 4, END), START, END, 10)
    assert found is not None
    assert (found.start, found.edits) == (START + 4, 4)


@settings(max_examples=150)
@given(st.data())
def test_edits_are_the_distance_to_the_span(data: st.DataObject) -> None:
    letters = list(QUOTE)
    for _ in range(data.draw(st.integers(0, 6))):
        i = data.draw(st.integers(0, len(letters) - 1))
        kind = data.draw(st.sampled_from(["replace", "delete", "insert"]))
        if kind == "delete":
            del letters[i]
        else:
            letters[i : i + (kind == "replace")] = data.draw(st.sampled_from("qxzk5"))
    anchor = "".join(letters)
    found = aligned(anchor)
    assert found is not None
    assert found.edits == Levenshtein.distance(anchor, TEXT[found.start : found.end])
    assert found.edits <= Levenshtein.distance(anchor, QUOTE), "no worse than the place it was taken from"


def test_pieces_between_ellipses_stand_in_order() -> None:
    pieces = (QUOTE[:12], QUOTE[25:60], QUOTE[64:])
    main = aligned(pieces[1], START + 25, START + 60)
    assert main is not None
    whole = align_pieces(pieces, 1, TEXT, (0, len(TEXT)), main)
    assert (whole.start, whole.end, whole.edits) == (START, END, 0)
    swapped = align_pieces((QUOTE[64:], pieces[1], QUOTE[:12]), 1, TEXT, (0, len(TEXT)), main)
    assert swapped.lost >= 11, "a piece that stands elsewhere is lost"


def test_a_damaged_piece_is_found_too() -> None:
    pieces = (QUOTE[:35], QUOTE[40:].replace("verzeichnis", "verzcichnis"))
    main = aligned(pieces[0], START, START + 35)
    assert main is not None
    whole = align_pieces(pieces, 0, TEXT, (0, len(TEXT)), main)
    assert (whole.end, whole.edits) == (END, 1)


@pytest.mark.parametrize(("pair", "slip"), [("ce", True), ("ec", True), ("8b", True), ("56", False), ("ab", False)])
def test_slips_of_a_scan(pair: str, slip: bool) -> None:
    assert is_slip(pair[0], pair[1]) is slip
