"""Seeds: every exact match of 16 letters shares one, wherever it stands, however the index was built."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relink.seeds import MAX_LETTERS, POSITION_BITS, K, SeedIndex, W, build_index, minimizers
from relink.vote import Query, Votes, vote

LETTERS = "abcdefghikmnopqrstuvwxyz23456789"


def random_text(size: int, seed: int) -> str:
    """Return letters that are the same in every run."""
    picks = np.random.default_rng(seed).integers(0, len(LETTERS), size)
    return "".join(LETTERS[i] for i in picks)


def codes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("ascii"), dtype=np.uint8)


def places_of(corpus: str, queries: list[Query], index: SeedIndex | None = None) -> list[Votes]:
    """Vote in a corpus that is one document."""
    letters = codes(corpus)
    return vote(index or build_index(letters), letters, np.array([0, letters.size]), queries)


CORPUS = random_text(70_000, 1)
INDEX = build_index(codes(CORPUS))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_index_is_the_same_in_blocks_and_threads(threads: int) -> None:
    hashes, positions = minimizers(codes(CORPUS))
    whole = np.sort((hashes << np.uint64(POSITION_BITS)) | positions.astype(np.uint64))
    assert np.array_equal(build_index(codes(CORPUS), threads).keys, whole)
    assert 0.3 < whole.size / len(CORPUS) < 0.37, "about 2 of W + 1 positions"


@settings(max_examples=60)
@given(st.integers(0, len(CORPUS) - 200), st.integers(K + W - 1, 200))
def test_every_exact_piece_votes_for_its_place(start: int, size: int) -> None:
    votes = places_of(CORPUS, [Query(CORPUS[start : start + size], 0, len(CORPUS))], INDEX)[0]
    assert votes.asked >= 1
    assert (votes.places[0].start, votes.places[0].end) == (start, start + size)
    assert votes.places[0].votes == votes.asked, "all that were asked say so"


def test_pieces_do_not_lend_each_other_seeds() -> None:
    pieces = [CORPUS[100:160], "aaaabbbb", CORPUS[500:540]]
    together = places_of(CORPUS, [Query(piece, 0, len(CORPUS)) for piece in pieces], INDEX)
    alone = [places_of(CORPUS, [Query(piece, 0, len(CORPUS))], INDEX)[0] for piece in pieces]
    assert together == alone
    assert together[1].places == ()


def test_a_range_hides_what_is_outside() -> None:
    text = CORPUS[300:400]
    twice = CORPUS[:1000] + text + CORPUS[2000:3000]
    found = places_of(twice, [Query(text, 0, len(twice)), Query(text, 0, 900), Query(text, 900, len(twice))])
    assert [[place.start for place in votes.places] for votes in found] == [[300, 1000], [300], [1000]]


def test_boilerplate_is_flooded() -> None:
    corpus = "dieseverordnungtrittinkraft" * 5000
    assert places_of(corpus, [Query("dieseverordnungtrittinkraft", 0, len(corpus))])[0].flood


def test_too_many_letters_are_refused() -> None:
    with pytest.raises(ValueError, match="more than"):
        build_index(np.broadcast_to(np.uint8(97), (MAX_LETTERS,)))


def test_nothing_has_no_seeds() -> None:
    assert build_index(codes("")).keys.size == 0
    assert places_of("", [Query("abc", 0, 0)])[0].places == ()
