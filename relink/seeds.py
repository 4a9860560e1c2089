"""Seeds: the k-mers of a skeleton that are minimal in their window, in one sorted array.

Every exact match of k + w - 1 = 16 letters holds at least one common seed, at a third of the memory of all k-mers
(winnowing: Schleimer, Wilkerson, Aiken 2003; minimizers: Roberts et al. 2004). A seed is one number: the upper bits of
its hash, then its position, so that a look-up and a restriction to a range of positions are one binary search.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

K = 12
W = 5
POSITION_BITS = 30
MAX_LETTERS = 1 << POSITION_BITS

Words = NDArray[np.uint64]
Integers = NDArray[np.int64]

_NONE = np.uint64(0xFFFFFFFFFFFFFFFF)
_POSITION_MASK = np.uint64(MAX_LETTERS - 1)
_SHIFT = np.uint64(POSITION_BITS)
_BLOCK = 1 << 15
_SHARES = 8
_SHARE_SHIFT = np.uint64(61)
_EMPTY = np.zeros(0, dtype=np.uint64)
# The skeleton has exactly 32 letters (a-z without the folded j and l, and 2-9), so that twelve of them are 60 bits.
_ALPHABET = "abcdefghikmnopqrstuvwxyz23456789"
_CODE = np.zeros(256, dtype=np.uint64)
for _code, _letter in enumerate(_ALPHABET):
    _CODE[ord(_letter)] = _code


def _hashes(letters: NDArray[np.uint8]) -> Words:
    """Return the mixed hash of the k-mer at each position; shorter by K - 1 than the letters."""
    one = _CODE[letters]
    two = (one[:-1] << np.uint64(5)) | one[1:]
    four = (two[:-2] << np.uint64(10)) | two[2:]
    eight = (four[:-4] << np.uint64(20)) | four[4:]
    mixed = (eight[:-4] << np.uint64(20)) | four[8:]
    # finaliser of splitmix64 (Steele, Lea, Flood 2014): near values get far hashes
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def _window_minima(hashes: Words, broken: Integers | None) -> NDArray[np.bool_]:
    """Return where a hash is the least of some window of W that holds it.

    With `broken` k-mers only windows count that are whole and hold none of them.
    """
    padded = np.concatenate([np.full(W - 1, _NONE), hashes, np.full(W - 1, _NONE)])
    least = np.minimum(padded[:-1], padded[1:])
    least = np.minimum(least[:-2], least[2:])
    least = np.minimum(least[:-1], padded[W - 1 :])
    if broken is not None:
        least[: W - 1] = least[-(W - 1) :] = 0
        for back in range(W):
            least[broken + back] = 0
    # the largest of the minima of all windows over a position: its own hash if and only if it is one of them
    largest = np.maximum(least[:-1], least[1:])
    largest = np.maximum(largest[:-2], largest[2:])
    largest = np.maximum(largest[:-1], least[W - 1 :])
    return np.asarray(hashes == largest)


def minimizers(letters: NDArray[np.uint8], breaks: Integers | None = None) -> tuple[Words, Integers]:
    """Return hash (upper bits) and position of each seed of the letters, in order.

    `breaks` are positions at which a new text begins: no k-mer and no window goes over one, so that each text has
    only seeds that it has inside any longer text too.
    """
    if letters.size < K:
        return np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64)
    hashes = _hashes(letters)
    broken: Integers | None = None
    if breaks is not None:
        over = (breaks[:, None] - np.arange(1, K)).ravel()
        broken = np.unique(over[(over >= 0) & (over < hashes.size)])
        hashes[broken] = _NONE
    minimal = _window_minima(hashes, broken)
    if broken is not None:
        minimal[broken] = False
    chosen = np.flatnonzero(minimal)
    return hashes[chosen] >> _SHIFT, chosen


def _block_keys(letters: NDArray[np.uint8], begin: int) -> list[Words]:
    """Return the keys of the seeds that begin in one block, in shares by their upper bits.

    The surroundings of the block are read too, so that blocks fit together.
    """
    left = max(0, begin - (W - 1))
    right = min(letters.size, begin + _BLOCK + (W - 1) + (K - 1))
    hashes, positions = minimizers(letters[left:right])
    positions = positions + left
    mine = (positions >= begin) & (positions < begin + _BLOCK)
    keys = (hashes[mine] << _SHIFT) | positions[mine].astype(np.uint64)
    share = keys >> _SHARE_SHIFT
    return [keys[share == number] for number in range(_SHARES)]


@dataclass(frozen=True, slots=True)
class SeedIndex:
    """Sorted keys (hash | position) of all seeds of a skeleton."""

    keys: Words

    def find(self, hashes: Words, low: Integers, high: Integers) -> tuple[Integers, Integers]:
        """Return, for each hash, where its keys with positions in [low, high) begin and how many they are.

        Ascending hashes are found fastest: neighbours share the cache.
        """
        base = hashes << _SHIFT
        first = np.searchsorted(self.keys, base | low.astype(np.uint64))
        last = np.searchsorted(self.keys, base + high.astype(np.uint64))
        return first.astype(np.int64), (last - first).astype(np.int64)

    def positions(self, first: Integers, counts: Integers) -> Integers:
        """Return the positions of several runs of keys, run after run."""
        total = int(counts.sum())
        ends = np.cumsum(counts)
        index = np.arange(total) + np.repeat(first - (ends - counts), counts)
        found: Integers = (self.keys[index] & _POSITION_MASK).astype(np.int64)
        return found


def build_index(letters: NDArray[np.uint8], threads: int = 2) -> SeedIndex:
    """Return the index of a skeleton of at most 2^30 letters."""
    if letters.size >= MAX_LETTERS:
        raise ValueError(f"{letters.size} letters are more than the {MAX_LETTERS} that a position can hold")

    with ThreadPoolExecutor(threads) as pool:  # numpy lets go of the interpreter while it computes and sorts
        blocks = list(pool.map(lambda begin: _block_keys(letters, begin), range(0, letters.size, _BLOCK)))
        sizes = [sum(block[number].size for block in blocks) for number in range(_SHARES)]
        keys = np.empty(sum(sizes), dtype=np.uint64)
        ends = np.cumsum([0, *sizes])

        def fill(number: int) -> None:
            share = keys[ends[number] : ends[number + 1]]
            np.concatenate([_EMPTY, *(block[number] for block in blocks)], out=share)
            share.sort()

        list(pool.map(fill, range(_SHARES)))
    return SeedIndex(keys)
