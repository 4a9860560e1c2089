"""The first measure of a place: the edit distance to its window, and places that are out without being measured."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from relink.measure import FAR, LETTERS, UNMEASURED, distance
from relink.seeds import ALPHABET, CODES, build_index
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
