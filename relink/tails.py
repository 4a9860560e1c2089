"""The last letters of each chunk, sorted: which chunks may be a quotation as a whole, without a look at any of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relink.seeds import Bytes, Integers, Words

TAIL = 16
"""Letters that are compared; chunks with fewer are in no list."""
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Tails:
    """A number for the last letters of each chunk, in ascending order, and the chunk of each."""

    numbers: Words
    chunks: Integers

    def ending_like(self, skeletons: Sequence[str]) -> list[int]:
        """Return the chunks that end like one of these, in ascending order; few of them only seem to."""
        if not skeletons:
            return []
        ends = "".join([skeleton[-TAIL:] for skeleton in skeletons]).encode("ascii")
        asked = np.unique(_as_numbers(np.frombuffer(ends, dtype=np.uint8).reshape(-1, TAIL)))
        first = np.searchsorted(self.numbers, asked, side="left")
        behind = np.searchsorted(self.numbers, asked, side="right")
        some = behind > first
        ranges = [self.chunks[a:b] for a, b in zip(first[some].tolist(), behind[some].tolist(), strict=True)]
        return np.sort(np.concatenate(ranges)).tolist() if ranges else []


def tails_of(codes: Bytes, starts: Integers) -> Tails:
    """Return the last letters of chunks: `codes` are the letters of all, `starts` where each begins and the end."""
    numbers = np.flatnonzero(np.diff(starts) >= TAIL)
    if numbers.size == 0:
        return Tails(np.empty(0, dtype=np.uint64), numbers)
    held = _as_numbers(np.lib.stride_tricks.sliding_window_view(codes, TAIL)[starts[numbers + 1] - TAIL])
    order = np.argsort(held, kind="stable")
    return Tails(held[order], numbers[order])


def _as_numbers(tails: Bytes) -> Words:
    """Return a number for each row of letters; few different rows share one."""
    halves = np.ascontiguousarray(tails).view(np.uint64)
    return halves[:, 0] * _ODD ^ halves[:, 1]
