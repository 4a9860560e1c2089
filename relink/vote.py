"""Voting: the rarest seeds of a quotation say where in the corpus it may stand; a first measure says how near it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from relink.compiled import compiled
from relink.measure import LETTERS, measure
from relink.seeds import Bytes, Integers, K, SeedIndex, Words, look_up_all, position_of, room_for, seeds_between

FLOOD = 4000
"""Most occurrences of the rarest seed that are followed; what is more common than that is boilerplate."""
MOST_PLACES = 64
"""Most places of one query that are returned."""
_ENOUGH = 400
_ALWAYS = 3
_OFFSET_BITS = 13
_BELOW = 1 << 20


class Query(NamedTuple):
    """One piece of a quotation, to be looked for in letters `low` to `high` of the corpus.

    `budget` is how many edits an alignment may have, `best` how many the best one elsewhere has (None: there is none).
    `alone` says that the piece is the whole quotation of so many letters. A tuple, as `Votes` is, for their number.
    """

    piece: str
    low: int
    high: int
    budget: int = 0
    best: int | None = None
    alone: bool = True


@dataclass(frozen=True, slots=True)
class Place:
    """A guess where a piece stands: window of letters, and how many of the seeds that were asked voted for it."""

    votes: int
    start: int
    end: int


class Votes(NamedTuple):
    """The places of one query, best first, and how many seeds were asked; `flood` if even the rarest is boilerplate.

    One list a column: votes, start, end, and the measure: edits between piece and window beyond what their lengths
    differ by, or FAR, or UNMEASURED.
    """

    asked: int
    flood: bool
    votes: list[int]
    starts: list[int]
    ends: list[int]
    measures: list[int]

    @property
    def places(self) -> tuple[Place, ...]:
        """The places as such."""
        return tuple(Place(*row) for row in zip(self.votes, self.starts, self.ends, strict=True))


@compiled
def _chosen_seeds(
    hashes: Words,
    local: Integers,
    count: int,
    size: int,
    low: int,
    high: int,
    keys: Words,
    table: Integers,
    bits: int,
    every_seed: bool,
    first: Integers,
    found: Integers,
    chosen: Integers,
) -> int:
    """Look the seeds up and write the numbers of those that may be followed; return how many those are.

    They are all that occur, or the rarest in each part of the piece.
    """
    look_up_all(keys, table, bits, hashes, count, low, high, first, found)
    if every_seed:
        many = 0
        for i in range(count):
            if found[i] > 0:
                chosen[many] = i
                many += 1
        return many
    groups = 6 + size // 100
    for group in range(groups):
        chosen[group] = -1
    span = max(size - K + 1, 1)
    for i in range(count):
        group = local[i] * groups // span
        if found[i] > 0 and (chosen[group] < 0 or found[i] < found[chosen[group]]):
            chosen[group] = i
    many = 0
    for group in range(groups):
        if chosen[group] >= 0:
            chosen[many] = chosen[group]
            many += 1
    return many


@compiled
def _hits_of(
    local: Integers,
    keys: Words,
    first: Integers,
    found: Integers,
    chosen: Integers,
    many: int,
    order: Integers,
    hits: Integers,
) -> tuple[int, int]:
    """Write the hits of the rarest of the chosen seeds, until they occur often enough; return how many of each.

    A hit is one number: diagonal (corpus position less position in the piece), then the position in the piece.
    """
    for i in range(many):
        order[i] = (found[chosen[i]] << 20) | i
    order[:many].sort()
    total = asked = size = 0
    for rank in range(many):
        seed = chosen[order[rank] & ((1 << 20) - 1)]
        total += found[seed]
        if total > _ENOUGH and (rank >= _ALWAYS or total > FLOOD):
            break
        asked += 1
        offset = min(local[seed], (1 << _OFFSET_BITS) - 1)
        for at in range(first[seed], first[seed] + found[seed]):
            hits[size] = ((position_of(keys[at]) - local[seed] + _BELOW) << _OFFSET_BITS) | offset
            size += 1
    hits[:size].sort()
    return asked, size


@compiled
def _gather(
    hits: Integers,
    size: int,
    length: int,
    groups: Integers,
    order: Integers,
    votes: Integers,
    starts: Integers,
    ends: Integers,
    offsets: Integers,
) -> int:
    """Gather hits on neighbouring diagonals to places, those with the most votes first; return how many are kept.

    The diagonals of the first and of the last hit, in the order of the quotation, give the two ends. `offsets` says
    where in the piece the only hit of a place is, -1 where it has several.
    """
    mask = (1 << _OFFSET_BITS) - 1
    many = 0
    for i in range(size):
        if i == 0 or (hits[i] >> _OFFSET_BITS) - (hits[i - 1] >> _OFFSET_BITS) > 8 + length // 12:
            groups[many] = i
            many += 1
    groups[many] = size
    for group in range(many):
        order[group] = ((_BELOW - (groups[group + 1] - groups[group])) << 32) | group
    order[:many].sort()
    kept = min(many, MOST_PLACES)
    for i in range(kept):
        group = order[i] & 0xFFFFFFFF
        least = most = groups[group]
        for at in range(groups[group], groups[group + 1]):
            # equal positions: of the first the least diagonal, of the last the greatest
            if (hits[at] & mask) < (hits[least] & mask):
                least = at
            if (hits[at] & mask) >= (hits[most] & mask):
                most = at
        votes[i] = groups[group + 1] - groups[group]
        starts[i] = (hits[least] >> _OFFSET_BITS) - _BELOW
        ends[i] = (hits[most] >> _OFFSET_BITS) - _BELOW + length
        offset = hits[least] & mask
        offsets[i] = offset if votes[i] == 1 and offset < mask else -1
    return kept


@compiled
def _vote(
    pieces: Bytes,
    edges: Integers,
    ranges: Integers,
    limits: Integers,
    letters: Bytes,
    borders: Integers,
    keys: Words,
    table: Integers,
    bits: int,
    every_seed: bool,
    longest: int,
    told: Integers,
    places: Integers,
) -> None:
    """Write for each piece what it asked (`told`: asked, flood, places) and its places (votes, start, end, measure)."""
    room = np.empty(room_for(longest), dtype=np.uint64)
    most = longest + 8
    hashes, local = np.empty(most, dtype=np.uint64), np.empty(most, dtype=np.int64)
    first, found, chosen = (
        np.empty(most, dtype=np.int64),
        np.empty(most, dtype=np.int64),
        np.empty(most, dtype=np.int64),
    )
    order = np.empty(most + FLOOD + _ENOUGH, dtype=np.int64)
    hits, groups = np.empty(FLOOD + _ENOUGH, dtype=np.int64), np.empty(FLOOD + _ENOUGH + 1, dtype=np.int64)
    offsets = np.empty(MOST_PLACES, dtype=np.int64)
    words = (longest >> 6) + 1
    masks = np.empty((LETTERS, words), dtype=np.uint64)
    up, down = np.empty(words, dtype=np.uint64), np.empty(words, dtype=np.uint64)
    carries = np.empty(longest + limits[:, 0].max() + 1, dtype=np.uint8)
    for query in range(edges.size - 1):
        begin, end = edges[query], edges[query + 1]
        low, high = ranges[query, 0], ranges[query, 1]
        count = seeds_between(pieces, begin, end, begin, end, room, hashes, local)
        for i in range(count):
            local[i] -= begin
        many = _chosen_seeds(
            hashes, local, count, end - begin, low, high, keys, table, bits, every_seed, first, found, chosen
        )
        asked, size = _hits_of(local, keys, first, found, chosen, many, order, hits)
        votes, starts, ends, measures = places[query, 0], places[query, 1], places[query, 2], places[query, 3]
        kept = _gather(hits, size, end - begin, groups, order, votes, starts, ends, offsets)
        budget, best, alone = limits[query, 0], limits[query, 1], limits[query, 2] == 1
        measure(
            pieces,
            begin,
            end,
            letters,
            borders,
            budget,
            best,
            alone,
            every_seed,
            asked,
            kept,
            votes,
            starts,
            ends,
            offsets,
            measures,
            masks,
            up,
            down,
            carries,
        )
        told[query, 0], told[query, 1], told[query, 2] = asked, asked == 0 and many > 0, kept


def vote(
    seeds: SeedIndex, letters: Bytes, borders: Integers, queries: Sequence[Query], *, every_seed: bool = False
) -> list[Votes]:
    """Return the places that the rarest seeds of each query (or every seed of it) point to.

    `letters` are those of the corpus, `borders` the first letter of each document and the end of the last one.
    """
    if not queries:
        return []
    pieces: Bytes = np.frombuffer("".join(query.piece for query in queries).encode("ascii"), dtype=np.uint8)
    sizes = [len(query.piece) for query in queries]
    edges = np.cumsum([0, *sizes]).astype(np.int64)
    ranges = np.array([(query.low, query.high) for query in queries], dtype=np.int64)
    limits = np.array([(q.budget, -1 if q.best is None else q.best, q.alone) for q in queries], dtype=np.int64)
    told = np.zeros((len(queries), 3), dtype=np.int64)
    places = np.empty((len(queries), 4, MOST_PLACES), dtype=np.int64)
    _vote(
        pieces,
        edges,
        ranges,
        limits,
        letters,
        borders,
        seeds.keys,
        seeds.table,
        seeds.bits,
        every_seed,
        max(sizes),
        told,
        places,
    )
    kept = told[:, 2]
    is_kept = np.arange(MOST_PLACES) < kept[:, np.newaxis]
    votes, starts, ends, measures = (places[:, column][is_kept].tolist() for column in range(4))
    found = []
    begin = 0
    for asked, flood, many in told.tolist():
        end = begin + many
        found.append(
            Votes(asked, bool(flood), votes[begin:end], starts[begin:end], ends[begin:end], measures[begin:end])
        )
        begin = end
    return found
