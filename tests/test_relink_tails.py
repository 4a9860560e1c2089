"""Which chunks end like a quotation, without a look at any of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from relink.tails import TAIL, tails_of
from tests.test_relink_seeds import codes

ends = st.text("ab", min_size=TAIL - 2, max_size=TAIL + 2)


@given(st.lists(ends), st.lists(st.text("ab", min_size=TAIL, max_size=TAIL + 2)))
def test_every_chunk_that_ends_like_a_quotation_is_found(chunks: list[str], asked: list[str]) -> None:
    starts = np.cumsum([0, *map(len, chunks)])
    found = tails_of(codes("".join(chunks)), starts).ending_like(asked)
    like = {skeleton[-TAIL:] for skeleton in asked}
    assert found == [number for number, chunk in enumerate(chunks) if len(chunk) >= TAIL and chunk[-TAIL:] in like]
