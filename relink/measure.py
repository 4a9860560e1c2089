"""How near a piece of a quotation is to the places it was voted into, before anything is aligned.

What is measured is the edit distance between the piece and the window, by the bit-parallel algorithm of Myers (1999) in
the form of Hyyrö (2003). An alignment there has at most so many edits, and not much less than half of them, so most
places are out. Of those left over, the least distance to any part of a wider window tells which cannot be aligned.
"""

import numpy as np

from relink.compiled import compiled
from relink.seeds import ALPHABET, CODES, Bytes, Integers, K, Words

MANY_PLACES = 12
"""Places after which only those are looked at that have half as many votes as the first."""
WEAK_PLACES = 5
"""Most places that are looked at when every seed voted: only the first are more than chance."""
FAR = -1
"""Measure of a place that is out: more edits than its query allows."""
UNMEASURED = -2
"""Measure of a place that was not measured: those before it are so good that it is no rival."""
LETTERS = len(ALPHABET)


@compiled
def most_edits(budget: int, best: int, letters: int) -> int:
    """Return how many edits a place may have that rivals the best one (-1: there is none)."""
    if best < 0:
        return budget
    return min(budget, best + max(8, letters // 20))


@compiled
def is_beaten(votes: int, asked: int, best: int) -> bool:
    """Return whether a place cannot rival the best: an edit destroys at most two of the seeds that were asked."""
    rival = best + (max(2.0, best / 3) if best else 0.0)
    return votes + 2 * rival < asked


@compiled
def distance(
    piece: Bytes,
    begin: int,
    end: int,
    letters: Bytes,
    low: int,
    high: int,
    most: int,
    masks: Words,
    up: Words,
    down: Words,
) -> int:
    """Return the edits between piece[begin:end] and letters[low:high], or FAR if they are more than `most`.

    `masks`, `up` and `down` are room for a word for every 64 letters of the piece. Letters that both begin or end with
    are no part of any edit, so most quotations are measured without a step of the algorithm.
    """
    if abs(end - begin - high + low) > most:
        return FAR
    while begin < end and low < high and piece[begin] == letters[low]:
        begin += 1
        low += 1
    while begin < end and low < high and piece[end - 1] == letters[high - 1]:
        end -= 1
        high -= 1
    size, width = end - begin, high - low
    if size == 0 or width == 0:
        return max(size, width)
    return _steps(piece, begin, end, letters, low, high, most, False, masks, up, down)


@compiled
def nearest(
    piece: Bytes,
    begin: int,
    end: int,
    letters: Bytes,
    low: int,
    high: int,
    most: int,
    masks: Words,
    up: Words,
    down: Words,
) -> int:
    """Return the least edits between piece[begin:end] and any part of letters[low:high], or FAR if more than `most`."""
    if begin == end:
        return 0
    return _steps(piece, begin, end, letters, low, high, most, True, masks, up, down)


@compiled
def _steps(
    piece: Bytes,
    begin: int,
    end: int,
    letters: Bytes,
    low: int,
    high: int,
    most: int,
    anywhere: bool,
    masks: Words,
    up: Words,
    down: Words,
) -> int:
    """Go through the letters column by column; `anywhere` says that letters before and after the piece cost nothing."""
    size, width = end - begin, high - low
    words = (size + 63) >> 6
    for code in range(LETTERS):
        for w in range(words):
            masks[code, w] = np.uint64(0)
    for i in range(size):
        masks[CODES[piece[begin + i]], i >> 6] |= np.uint64(1) << np.uint64(i & 63)
    one = np.uint64(1)
    top = np.uint64(63)
    for w in range(words):
        up[w] = ~np.uint64(0)
        down[w] = np.uint64(0)
    last = np.uint64((size - 1) & 63)
    first_carry = np.uint64(0) if anywhere else one
    least = score = size
    for j in range(width):
        code = CODES[letters[low + j]]
        carry_up, carry_down = first_carry, np.uint64(0)
        for w in range(words):
            equal = masks[code, w]
            vertical_up, vertical_down = up[w], down[w]
            either = equal | vertical_down
            equal |= carry_down
            horizontal = (((equal & vertical_up) + vertical_up) ^ vertical_up) | equal
            plus = vertical_down | ~(horizontal | vertical_up)
            minus = vertical_up & horizontal
            if w == words - 1:
                score += int(np.int64((plus >> last) & one)) - int(np.int64((minus >> last) & one))
            next_up, next_down = plus >> top, minus >> top
            plus = (plus << one) | carry_up
            minus = (minus << one) | carry_down
            up[w] = minus | ~(either | plus)
            down[w] = plus & either
            carry_up, carry_down = next_up, next_down
        # a letter of the window takes away one edit at most
        least = min(least, score) if anywhere else score
        if min(least, score - (width - 1 - j)) > most:
            return FAR
    return least if least <= most else FAR


@compiled
def extended(
    piece: Bytes,
    begin: int,
    end: int,
    letters: Bytes,
    at: int,
    stop: int,
    most: int,
    masks: Words,
    carries: Bytes,
) -> int:
    """Return the least edits between a piece and letters that begin at `at` and end anywhere before `stop`, or FAR.

    FAR are more than `most`. With `end` before `begin` and `stop` before `at` both are read backwards, from the letter
    before `begin` and `at`. The piece is taken 64 letters at a time over all columns, since a place by chance has too
    many edits in the first of them; `carries` is room for as many columns as the piece has letters and `most` more.
    """
    forward = end >= begin
    size, width = abs(end - begin), abs(stop - at)
    found = 0
    one = np.uint64(1)
    for first in range(0, size, 64):
        rows = min(64, size - first)
        columns = min(width, first + rows + most)  # behind these the letters left out are too many
        for code in range(LETTERS):
            masks[code, 0] = np.uint64(0)
        for i in range(rows):
            letter = piece[begin + first + i] if forward else piece[begin - 1 - first - i]
            masks[CODES[letter], 0] |= one << np.uint64(i)
        last = np.uint64(rows - 1)
        vertical_up, vertical_down = ~np.uint64(0), np.uint64(0)
        found = score = first + rows
        for j in range(columns):
            equal = masks[CODES[letters[at + j] if forward else letters[at - 1 - j]], 0]
            # of each column: 1 where the row above goes up by one from the column before, 2 where it goes down
            carry = np.uint64(carries[j]) if first and j < first + most else one
            carry_up, carry_down = carry & one, carry >> one
            either = equal | vertical_down
            equal |= carry_down
            horizontal = (((equal & vertical_up) + vertical_up) ^ vertical_up) | equal
            plus = vertical_down | ~(horizontal | vertical_up)
            minus = vertical_up & horizontal
            last_up, last_down = (plus >> last) & one, (minus >> last) & one
            score += int(np.int64(last_up)) - int(np.int64(last_down))
            found = min(found, score)
            carries[j] = np.uint8(last_up | (last_down << one))
            plus = (plus << one) | carry_up
            minus = (minus << one) | carry_down
            vertical_up = minus | ~(either | plus)
            vertical_down = plus & either
        if found > most:
            return FAR
    return found


@compiled
def around_seed(
    piece: Bytes,
    begin: int,
    end: int,
    letters: Bytes,
    low: int,
    high: int,
    offset: int,
    at: int,
    most: int,
    masks: Words,
    carries: Bytes,
) -> int:
    """Return the least edits of a piece whose seed at `offset` stands at `at` in letters[low:high], or FAR.

    FAR are more than `most`: no alignment that keeps the seed has fewer. The longer side is looked at first.
    """
    if at < low or at + K > high:
        return FAR
    edits = 0
    is_left_longer = offset > end - begin - offset - K
    for left in (is_left_longer, not is_left_longer):
        if left:
            more = extended(piece, begin + offset, begin, letters, at, low, most - edits, masks, carries)
        else:
            more = extended(piece, begin + offset + K, end, letters, at + K, high, most - edits, masks, carries)
        if more == FAR:
            return FAR
        edits += more
    return edits


@compiled
def measure(
    piece: Bytes,
    begin: int,
    end: int,
    letters: Bytes,
    borders: Integers,
    budget: int,
    best: int,
    alone: bool,
    every_seed: bool,
    asked: int,
    kept: int,
    votes: Integers,
    starts: Integers,
    ends: Integers,
    offsets: Integers,
    measures: Integers,
    masks: Words,
    up: Words,
    down: Words,
    carries: Bytes,
) -> None:
    """Measure the places in order, as long as one may rival the best (see `relink.tiers`).

    `offsets` are where in the piece the seed begins that alone votes for a place, or -1 where several do.
    """
    size = end - begin
    for i in range(kept):
        measures[i] = UNMEASURED
    limit = most_edits(budget, best, size) if alone else budget
    exact = 0
    for i in range(kept):
        if every_seed:
            if i >= WEAK_PLACES or votes[i] * 3 < votes[0]:
                return
        elif (
            alone and best >= 0 and (is_beaten(votes[i], asked, best) or (i >= MANY_PLACES and votes[i] * 2 < votes[0]))
        ):
            return
        if exact > MANY_PLACES:
            return
        middle = min(max((starts[i] + ends[i]) // 2, 0), letters.size - 1)
        document = np.searchsorted(borders, middle, side="right") - 1
        low = max(borders[document], starts[i])
        high = min(borders[document + 1], ends[i])
        if offsets[i] >= 0:
            border, behind = borders[document], borders[document + 1]
            at = starts[i] + offsets[i]
            if around_seed(piece, begin, end, letters, border, behind, offsets[i], at, limit, masks, carries) == FAR:
                measures[i] = FAR
                continue
        slack = abs(high - low - size)
        edits = distance(piece, begin, end, letters, low, max(low, high), 2 * limit + slack, masks, up, down)
        measures[i] = FAR if edits == FAR else edits - slack
        if edits > limit:
            # an alignment moves the ends of the window by at most the edits that it had there
            reach = edits + slack
            around = max(borders[document], low - reach), min(borders[document + 1], high + reach)
            least = nearest(piece, begin, end, letters, around[0], around[1], limit, masks, up, down)
            measures[i] = FAR if least == FAR else max(measures[i], 2 * least)
        if edits >= 0 and alone:
            exact += edits == 0
            if edits <= limit and (best < 0 or edits < best):
                best = edits
