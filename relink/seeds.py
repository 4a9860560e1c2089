"""Seeds: the k-mers of a skeleton that are minimal in their window, in one sorted array.

Every exact match of k + w - 1 = 16 letters holds at least one common seed, at a third of the memory of all k-mers
(winnowing: Schleimer, Wilkerson, Aiken 2003; minimizers: Roberts et al. 2004). A seed is one number: the upper bits of
its hash, then its position, so that a look-up and a restriction to a range of positions are one search in its bucket.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from relink.compiled import compiled

K = 12
W = 5
POSITION_BITS = 30
MAX_LETTERS = 1 << POSITION_BITS

Words = NDArray[np.uint64]
Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]

# The skeleton has exactly 32 letters (a-z without the folded j and l, and 2-9), so that twelve of them are 60 bits.
ALPHABET = "abcdefghikmnopqrstuvwxyz23456789"
CODES = np.zeros(256, dtype=np.uint8)
for _code, _letter in enumerate(ALPHABET):
    CODES[ord(_letter)] = _code

_SHIFT = np.uint64(POSITION_BITS)
_POSITION = np.uint64(MAX_LETTERS - 1)
_KMER = np.uint64((1 << (5 * K)) - 1)
_FIVE = np.uint64(5)
_BLOCK = 1 << 15
_SEEDS_IN_A_BUCKET = 16
_BUCKET_BITS = (8, 24)
# Buckets up to this size are sorted in place, one seed after the other; larger ones are boilerplate.
_SMALL = 48


@compiled
def _mixed(value: np.uint64) -> np.uint64:
    """Return the hash of a k-mer: near values get far hashes (finaliser of splitmix64; Steele, Lea, Flood 2014)."""
    value ^= value >> np.uint64(30)
    value *= np.uint64(0xBF58476D1CE4E5B9)
    value ^= value >> np.uint64(27)
    value *= np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@compiled
def seeds_between(
    letters: Bytes, low: int, high: int, begin: int, end: int, room: Words, hashes: Words, positions: Integers
) -> int:
    """Write hash (upper bits) and position of the seeds that begin in [begin, end), and return how many there are.

    The text is letters[low:high]; a seed is the least of some whole window of W k-mers in it. `room` needs as many
    numbers as `room_for` says. Written without branches on the letters, so that a processor can go straight through.
    """
    first = max(low, begin - (W - 1))
    last = min(high - K + 1, end + (W - 1))  # behind the last k-mer that is looked at
    if last - first < W:
        return 0
    kmers, least = room[: room.size // 2], room[room.size // 2 :]
    value = np.uint64(0)
    for i in range(first, first + K - 1):
        value = (value << _FIVE) | np.uint64(CODES[letters[i]])
    for i in range(first, last):
        value = ((value << _FIVE) | np.uint64(CODES[letters[i + K - 1]])) & _KMER
        kmers[i - first] = _mixed(value)
    windows = last - first - (W - 1)
    for i in range(W - 1):  # windows that are not whole have no least k-mer
        least[i] = least[windows + (W - 1) + i] = np.uint64(0)
    for i in range(windows):
        pairs = min(min(kmers[i], kmers[i + 1]), min(kmers[i + 2], kmers[i + 3]))
        least[i + W - 1] = min(pairs, kmers[i + W - 1])
    count = 0
    for i in range(max(begin, first) - first, min(end, last) - first):
        # the largest of the minima of all windows over a k-mer: its own hash if and only if it is one of them
        pairs = max(max(least[i], least[i + 1]), max(least[i + 2], least[i + 3]))
        hashes[count] = kmers[i] >> _SHIFT
        positions[count] = first + i
        count += max(pairs, least[i + W - 1]) == kmers[i]
    return count


@compiled
def room_for(size: int) -> int:
    """Return how many numbers `seeds_between` needs room for, for so many k-mers."""
    return 2 * (size + 4 * W)


def minimizers(letters: Bytes) -> tuple[Words, Integers]:
    """Return hash (upper bits) and position of each seed of the letters, in order."""
    size = letters.size
    hashes, positions = np.empty(size, dtype=np.uint64), np.empty(size, dtype=np.int64)
    room = np.empty(room_for(size), dtype=np.uint64)
    count = seeds_between(letters, 0, size, 0, size, room, hashes, positions)
    return hashes[:count], positions[:count]


@compiled
def _count_seeds(letters: Bytes, begin: int, end: int, bits: int, counts: Integers) -> None:
    """Count the seeds that begin in [begin, end), by bucket."""
    room = np.empty(room_for(_BLOCK), dtype=np.uint64)
    hashes, positions = np.empty(_BLOCK, dtype=np.uint64), np.empty(_BLOCK, dtype=np.int64)
    shift = np.uint64(64 - POSITION_BITS - bits)
    for block in range(begin, end, _BLOCK):
        stop = min(end, block + _BLOCK)
        found = seeds_between(letters, 0, letters.size, block, stop, room, hashes, positions)
        for i in range(found):
            counts[np.int64(hashes[i] >> shift)] += 1


@compiled
def _fill(letters: Bytes, begin: int, end: int, bits: int, places: Integers, keys: Words) -> None:
    """Write the keys of the seeds that begin in [begin, end) to the next place of their bucket."""
    room = np.empty(room_for(_BLOCK), dtype=np.uint64)
    hashes, positions = np.empty(_BLOCK, dtype=np.uint64), np.empty(_BLOCK, dtype=np.int64)
    shift = np.uint64(64 - POSITION_BITS - bits)
    for block in range(begin, end, _BLOCK):
        stop = min(end, block + _BLOCK)
        found = seeds_between(letters, 0, letters.size, block, stop, room, hashes, positions)
        for i in range(found):
            bucket = np.int64(hashes[i] >> shift)
            keys[places[bucket]] = (hashes[i] << _SHIFT) | np.uint64(positions[i])
            places[bucket] += 1


@compiled
def _sort_buckets(keys: Words, table: Integers, first: int, last: int) -> None:
    """Sort the keys inside each of the buckets; those of one hash are in order already."""
    for bucket in range(first, last):
        begin, end = table[bucket], table[bucket + 1]
        if end - begin > _SMALL:
            keys[begin:end].sort()
            continue
        for i in range(begin + 1, end):
            key = keys[i]
            j = i
            while j > begin and keys[j - 1] > key:
                keys[j] = keys[j - 1]
                j -= 1
            keys[j] = key


@compiled
def _lower(keys: Words, begin: int, end: int, key: np.uint64) -> int:
    """Return the first place in keys[begin:end] that is not less than the key."""
    while begin < end:
        middle = (begin + end) >> 1
        if keys[middle] < key:
            begin = middle + 1
        else:
            end = middle
    return begin


@compiled
def look_up_all(
    keys: Words,
    table: Integers,
    bits: int,
    hashes: Words,
    count: int,
    low: int,
    high: int,
    first: Integers,
    found: Integers,
) -> None:
    """Write for each hash where its keys with positions in [low, high) begin, and how many they are.

    The index is in no cache of a processor, so one step is made for all hashes before the next one: it then waits for
    many places of the memory at a time.
    """
    shift = np.uint64(64 - POSITION_BITS - bits)
    for i in range(count):
        bucket = np.int64(hashes[i] >> shift)
        first[i], found[i] = table[bucket], table[bucket + 1]
    for i in range(count):  # the first halving of each bucket
        middle = (first[i] + found[i]) >> 1
        if middle < found[i] and keys[middle] < ((hashes[i] << _SHIFT) | np.uint64(low)):
            first[i] = middle + 1
    above = np.uint64(min(high, MAX_LETTERS - 1))
    for i in range(count):
        base = hashes[i] << _SHIFT
        begin = _lower(keys, first[i], found[i], base | np.uint64(low))
        found[i] = _lower(keys, begin, found[i], base | above) - begin
        first[i] = begin


@compiled
def position_of(key: np.uint64) -> int:
    """Return the position of a key."""
    return int(np.int64(key & _POSITION))


@dataclass(frozen=True, slots=True)
class SeedIndex:
    """Sorted keys (hash | position) of all seeds of a skeleton, and where each bucket of them begins.

    The bucket of a key is its `bits` upper bits; `table` has one number more than there are buckets.
    """

    keys: Words
    table: Integers

    @property
    def bits(self) -> int:
        """How many upper bits of a key tell its bucket."""
        return (self.table.size - 1).bit_length() - 1


def _bits_for(letters: int) -> int:
    least, most = _BUCKET_BITS
    return min(most, max(least, (letters // (3 * _SEEDS_IN_A_BUCKET)).bit_length()))


def _index(keys: Words, table: Integers) -> SeedIndex:
    keys.flags.writeable = table.flags.writeable = False  # as one that is mapped from disk, so one compilation serves
    return SeedIndex(keys, table)


def build_index(letters: Bytes, threads: int = 2) -> SeedIndex:
    """Return the index of a skeleton of at most 2^30 letters; the same for any number of threads.

    Counting sort by bucket in two passes over the letters, each thread its share of them, then a sort in each bucket.
    """
    if letters.size >= MAX_LETTERS:
        raise ValueError(f"{letters.size} letters are more than the {MAX_LETTERS} that a position can hold")
    bits = _bits_for(letters.size)
    buckets = 1 << bits
    edges = [letters.size * number // threads for number in range(threads + 1)]
    counts = np.zeros((threads, buckets), dtype=np.int64)
    with ThreadPoolExecutor(threads) as pool:
        shares = range(threads)
        list(pool.map(lambda n: _count_seeds(letters, edges[n], edges[n + 1], bits, counts[n]), shares))
        table = np.concatenate([[0], np.cumsum(counts.sum(axis=0))]).astype(np.int64)
        # a thread's seeds lie behind those of the threads before it, so that positions ascend
        places = np.cumsum(counts, axis=0) - counts + table[:-1]
        keys = np.empty(int(table[-1]), dtype=np.uint64)
        list(pool.map(lambda n: _fill(letters, edges[n], edges[n + 1], bits, places[n], keys), shares))
        parts = [buckets * number // threads for number in range(threads + 1)]
        list(pool.map(lambda n: _sort_buckets(keys, table, parts[n], parts[n + 1]), shares))
    return _index(keys, table)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Letters `low` to `high` of an old skeleton that begin at `start` in the new one, unchanged."""

    low: int
    high: int
    start: int


@compiled
def _moved(
    keys: Words,
    lows: Integers,
    highs: Integers,
    starts: Integers,
    fresh: Words,
    bits: int,
    made: Words,
    counts: Integers,
) -> int:
    """Write the keys that lie well inside a stretch, moved, and the fresh ones, in order; return how many they are."""
    size = taken = 0
    shift = np.uint64(64 - bits)
    for i in range(keys.size):
        position = position_of(keys[i])
        stretch = np.searchsorted(lows, position, side="right") - 1
        if stretch < 0 or position - (W - 1) < lows[stretch] or position + K + (W - 1) > highs[stretch]:
            continue
        moved = ((keys[i] >> _SHIFT) << _SHIFT) | np.uint64(position - lows[stretch] + starts[stretch])
        while taken < fresh.size and fresh[taken] < moved:
            made[size] = fresh[taken]
            counts[np.int64(fresh[taken] >> shift)] += 1
            size += 1
            taken += 1
        made[size] = moved
        counts[np.int64(moved >> shift)] += 1
        size += 1
    while taken < fresh.size:
        made[size] = fresh[taken]
        counts[np.int64(fresh[taken] >> shift)] += 1
        size += 1
        taken += 1
    return size


def mend(seeds: SeedIndex, letters: Bytes, stretches: Sequence[Stretch]) -> SeedIndex:
    """Return the index of new letters that have stretches (in order, at least one) of those that `seeds` were made of.

    The same as `build_index` makes, without looking at the unchanged letters.
    """
    if letters.size >= MAX_LETTERS:
        raise ValueError(f"{letters.size} letters are more than the {MAX_LETTERS} that a position can hold")
    fresh: list[Words] = []
    begin = 0
    for stretch in [*stretches, None]:
        # behind a stretch, its last k-mers see letters that are new; before one, its first windows do
        safe = letters.size if stretch is None else stretch.start + (W - 1)
        fresh.append(_keys_between(letters, begin, max(begin, safe)))
        if stretch is not None:
            begin = max(begin, safe, stretch.start + stretch.high - stretch.low - K - (W - 1) + 1)
    new = np.sort(np.concatenate(fresh))
    lows, highs, starts = (
        np.array([getattr(s, name) for s in stretches], np.int64) for name in ("low", "high", "start")
    )
    bits = _bits_for(letters.size)
    keys, counts = np.empty(seeds.keys.size + new.size, dtype=np.uint64), np.zeros(1 << bits, dtype=np.int64)
    size = _moved(seeds.keys, lows, highs, starts, new, bits, keys, counts)
    return _index(keys[:size], np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))


def _keys_between(letters: Bytes, begin: int, end: int) -> Words:
    """Return the keys of the seeds that begin in [begin, end)."""
    size = end - begin
    hashes, positions = np.empty(size, dtype=np.uint64), np.empty(size, dtype=np.int64)
    room = np.empty(room_for(size), dtype=np.uint64)
    count = seeds_between(letters, 0, letters.size, begin, end, room, hashes, positions) if size else 0
    return (hashes[:count] << _SHIFT) | positions[:count].astype(np.uint64)
