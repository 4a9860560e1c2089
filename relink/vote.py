"""Voting: the rarest seeds of a quotation say where in the corpus it may stand."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relink.seeds import Integers, K, SeedIndex, minimizers
from relink.skeleton import Bytes

FLOOD = 4000
"""Most occurrences of the rarest seed that are followed; what is more common than that is boilerplate."""
MOST_PLACES = 64
"""Most places of one query that are returned."""
_ENOUGH = 400
_ALWAYS = 3
# bits of a packed hit: query | diagonal + _BELOW | offset
_DIAGONAL = 13
_OWNER = 13 + 31
_BELOW = 1 << 20
MAX_QUERIES = 1 << (63 - _OWNER)


@dataclass(frozen=True, slots=True)
class Query:
    """One piece of a quotation, to be looked for in letters `low` to `high` of the corpus."""

    piece: str
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Place:
    """A guess where a piece stands: window of letters, and how many of the seeds that were asked voted for it."""

    votes: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Votes:
    """The places of one query, best first, and how many seeds were asked; `flood` if even the rarest is boilerplate."""

    asked: int
    places: tuple[Place, ...]
    flood: bool = False


def _seeds_of(pieces: Sequence[str]) -> tuple[Integers, Integers, Integers]:
    """Return hash, position in its piece, and piece number of every seed of the pieces."""
    letters: Bytes = np.frombuffer("".join(pieces).encode("ascii"), dtype=np.uint8)
    starts = np.cumsum([0, *map(len, pieces)])
    hashes, positions = minimizers(letters, starts[1:-1])
    owner = np.searchsorted(starts, positions, side="right") - 1
    return hashes.astype(np.int64), positions - starts[owner], owner


def _rarest(query: Integers, group: Integers, count: Integers) -> Integers:
    """Return the number of the rarest seed with an occurrence for each (query, group)."""
    occurring = np.flatnonzero(count > 0)
    order = occurring[np.lexsort((count[occurring], group[occurring], query[occurring]))]
    new = np.ones(order.size, dtype=np.bool_)
    new[1:] = (query[order][1:] != query[order][:-1]) | (group[order][1:] != group[order][:-1])
    return order[new]


def _affordable(query: Integers, count: Integers) -> Integers:
    """Return which of the chosen seeds are followed: the rarest of each query, until they occur often enough."""
    order = np.lexsort((count, query))
    sorted_query, sorted_count = query[order], count[order]
    first = np.ones(order.size, dtype=np.bool_)
    first[1:] = sorted_query[1:] != sorted_query[:-1]
    begin = np.maximum.accumulate(np.where(first, np.arange(order.size), 0))
    total = np.cumsum(sorted_count)
    so_far = total - (total - sorted_count)[begin]
    rank = np.arange(order.size) - begin
    keep = (so_far <= _ENOUGH) | ((rank < _ALWAYS) & (so_far <= FLOOD))
    return order[keep]


def vote(seeds: SeedIndex, queries: Sequence[Query], *, every_seed: bool = False) -> list[Votes]:
    """Return the places that the rarest seeds of each query (or every seed of it) point to."""
    hashes, local, piece = _seeds_of([query.piece for query in queries])
    low = np.array([query.low for query in queries], dtype=np.int64)[piece]
    high = np.array([query.high for query in queries], dtype=np.int64)[piece]
    sizes = np.array([len(query.piece) for query in queries], dtype=np.int64)
    by_hash = np.argsort(hashes)
    first = np.empty_like(hashes)
    count = np.empty_like(hashes)
    first[by_hash], count[by_hash] = seeds.find(hashes[by_hash].astype(np.uint64), low[by_hash], high[by_hash])
    if every_seed:
        chosen = np.flatnonzero(count > 0)
    else:
        groups = 6 + sizes // 100
        group = local * groups[piece] // np.maximum(sizes[piece] - K + 1, 1)
        chosen = _rarest(piece, group, count)
    followed = chosen[_affordable(piece[chosen], count[chosen])]
    asked = np.bincount(piece[followed], minlength=len(queries))
    occurring = np.bincount(piece[chosen], minlength=len(queries))
    flood = (asked == 0) & (occurring > 0)
    positions = seeds.positions(first[followed], count[followed])
    owner = np.repeat(piece[followed], count[followed])
    offset = np.repeat(local[followed], count[followed])
    places = _places(owner, positions - offset, offset, sizes)
    return [Votes(int(asked[i]), tuple(places[i]), bool(flood[i])) for i in range(len(queries))]


def _places(owner: Integers, diagonal: Integers, offset: Integers, sizes: Integers) -> list[list[Place]]:
    """Gather the hits of each query that lie on neighbouring diagonals (corpus position less anchor position)."""
    found: list[list[Place]] = [[] for _ in range(sizes.size)]
    if not owner.size:
        return found
    # one number a hit, so that one sort of numbers brings them in the order of query, diagonal, offset
    hits = (owner << _OWNER) | ((diagonal + _BELOW) << _DIAGONAL) | np.minimum(offset, (1 << _DIAGONAL) - 1)
    hits.sort()
    owner = hits >> _OWNER
    diagonal = ((hits >> _DIAGONAL) & ((1 << (_OWNER - _DIAGONAL)) - 1)) - _BELOW
    offset = hits & ((1 << _DIAGONAL) - 1)
    new = np.ones(owner.size, dtype=np.bool_)
    new[1:] = (owner[1:] != owner[:-1]) | (np.diff(diagonal) > 8 + sizes[owner[1:]] // 12)
    begins = np.flatnonzero(new)
    votes = np.diff(np.concatenate((begins, [owner.size])))
    # the diagonals of the first and of the last hit, in the order of the quotation, give the two ends
    packed = (offset << _OWNER) | (diagonal + _BELOW)
    mask = (1 << _OWNER) - 1
    start = (np.minimum.reduceat(packed, begins) & mask) - _BELOW
    who = owner[begins]
    end = (np.maximum.reduceat(packed, begins) & mask) - _BELOW + sizes[who]
    order = np.argsort((who << 20) - votes, kind="stable")
    who, votes, start, end = who[order], votes[order], start[order], end[order]
    first = np.searchsorted(who, who)
    best = np.arange(who.size) - first < MOST_PLACES
    for i, n, a, b in zip(*(column[best].tolist() for column in (who, votes, start, end)), strict=True):
        found[i].append(Place(n, a, b))
    return found
