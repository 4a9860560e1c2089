"""The first measure of a place: the edit distance to its window, and places that are out without being measured."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from relink.measure import FAR, LETTERS, UNMEASURED, around_seed, distance, extended, nearest
from relink.seeds import ALPHABET, CODES, K, Words, build_index
from relink.vote import Query, vote
from tests.test_relink_seeds import CORPUS, codes


def measured(piece: str, window: str, most: int) -> int:
    """Return the distance of a piece to a window in the middle of other letters."""
    words = len(piece) // 64 + 1
    masks = np.zeros((LETTERS, words), dtype=np.uint64)
    for position, letter in enumerate(piece):
        masks[CODES[ord(letter)], position // 64] |= np.uint64(1) << np.uint64(position % 64)
    up, down = np.empty(words, dtype=np.uint64), np.empty(words, dtype=np.uint64)
    letters = codes("aa" + window + "aa")
    return distance(codes(piece), 0, len(piece), letters, 2, 2 + len(window), most, masks, up, down)


@settings(max_examples=200)
@given(st.data())
def test_the_measure_is_the_edit_distance(data: st.DataObject) -> None:
    few = st.sampled_from(ALPHABET[: data.draw(st.sampled_from([2, 4, 32]))])
    piece = "".join(data.draw(st.lists(few, min_size=1, max_size=200)))
    other = "".join(data.draw(st.lists(few, max_size=200)))
    window = data.draw(st.sampled_from([other, piece, piece[1:] + other[:9], piece[: len(piece) // 2] + other[:20]]))
    edits = Levenshtein.distance(piece, window)
    assert measured(piece, window, edits) == edits
    assert measured(piece, window, edits + 40) == edits
    assert edits == 0 or measured(piece, window, edits - 1) == FAR


@st.composite
def pieces_and_letters(draw: st.DrawFn) -> tuple[str, str]:
    """Return a piece, and letters that hold it damaged, or hold only others."""
    few = st.text(ALPHABET[: draw(st.sampled_from([2, 4, 32]))], max_size=200)
    piece = draw(few.filter(bool))
    cut = draw(st.integers(0, len(piece)))
    return piece, draw(few) + draw(st.sampled_from([piece, piece[:cut] + piece[cut + 1 :], ""])) + draw(few)


def room(piece: str) -> tuple[Words, Words, Words]:
    """Return the masks and the two columns for the letters of a piece."""
    words = len(piece) // 64 + 1
    return (
        np.empty((LETTERS, words), dtype=np.uint64),
        np.empty(words, dtype=np.uint64),
        np.empty(words, dtype=np.uint64),
    )


def least_of_beginnings(piece: str, letters: str) -> int:
    """Return the edits between a piece and that beginning of the letters which is nearest to it."""
    return min(Levenshtein.distance(piece, letters[:end]) for end in range(len(letters) + 1))


@settings(max_examples=100)
@given(pieces_and_letters(), st.integers(0, 60))
def test_the_nearest_part_of_a_window_is_found(both: tuple[str, str], less: int) -> None:
    piece, window = both
    least = min(least_of_beginnings(piece, window[start:]) for start in range(len(window) + 1))
    letters = codes("aa" + window + "aa")

    def found(most: int) -> int:
        return nearest(codes(piece), 0, len(piece), letters, 2, 2 + len(window), most, *room(piece))

    assert found(least + less) == least
    assert least == 0 or found(least - 1) == FAR


@settings(max_examples=200)
@given(pieces_and_letters(), st.integers(0, 60), st.booleans())
def test_a_piece_is_extended_to_the_letters_beside_a_seed(both: tuple[str, str], more: int, forward: bool) -> None:
    piece, beside = both
    least = least_of_beginnings(piece, beside)
    masks, *_ = room(piece)

    def found(most: int) -> int:
        carries = np.empty(len(piece) + most, dtype=np.uint8)
        if forward:
            letters = codes("bb" + beside + "bb")
            return extended(codes(piece), 0, len(piece), letters, 2, 2 + len(beside), most, masks, carries)
        letters = codes("bb" + beside[::-1] + "bb")
        return extended(codes(piece[::-1]), len(piece), 0, letters, 2 + len(beside), 2, most, masks, carries)

    assert found(least + more) == least
    assert least == 0 or found(least - 1) == FAR


@settings(max_examples=200)
@given(pieces_and_letters(), pieces_and_letters(), st.text(ALPHABET, min_size=K, max_size=K), st.integers(0, 60))
def test_around_a_seed_both_sides_are_extended(
    before: tuple[str, str], behind: tuple[str, str], seed: str, more: int
) -> None:
    piece = before[0] + seed + behind[0]
    text = before[1][::-1] + seed + behind[1]
    at = len(before[1])
    least = least_of_beginnings(before[0][::-1], before[1]) + least_of_beginnings(behind[0], behind[1])

    def found(most: int, low: int = 2) -> int:
        carries = np.empty(len(piece) + most, dtype=np.uint8)
        letters = codes("bb" + text + "bb")
        masks, *_ = room(piece)
        offset = len(before[0])
        high = 2 + len(text)
        return around_seed(codes(piece), 0, len(piece), letters, low, high, offset, 2 + at, most, masks, carries)

    assert found(least + more) == least
    assert least == 0 or found(least - 1) == FAR
    assert found(least + more, low=3 + at) == FAR, "the seed would begin in another document"


def test_places_behind_an_exact_one_are_not_measured() -> None:
    text = CORPUS[300:400]
    damaged = text[:30] + "aaaaaaaaaaaa" + text[42:]
    corpus = CORPUS[:1000] + damaged + CORPUS[2000:3000]
    letters = codes(corpus)
    query = Query(text, 0, len(corpus), budget=20)
    votes = vote(build_index(letters), letters, np.array([0, letters.size]), [query])[0]
    assert votes.starts == [300, 1000]
    assert votes.measures == [0, UNMEASURED]
    near = vote(build_index(letters), letters, np.array([0, letters.size]), [Query(damaged, 0, len(corpus), budget=20)])
    assert (near[0].starts[0], near[0].measures[0]) == (1000, 0)


def test_a_place_with_more_edits_than_the_budget_allows_is_far() -> None:
    other = CORPUS[500:530] + CORPUS[40_000:40_200]
    letters = codes(CORPUS)
    votes = vote(INDEX, letters, np.array([0, letters.size]), [Query(other, 500, 900, budget=20)])[0]
    assert votes.starts
    assert set(votes.measures) == {FAR}


INDEX = build_index(codes(CORPUS))
