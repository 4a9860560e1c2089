"""Words left out of a quotation without a sign: a table, a list, a formula that copying dropped.

Looked for only in the known law of a quotation, where nothing else was found: its first and its last letters stand
there word for word, in order, and between them its two parts meet at one gap of the text.
"""

from rapidfuzz.distance import Levenshtein

from relink.align import Alignment

_END = 14
"""Letters at each end of the quotation that must stand in the law as they are."""
_SHIFTS = 3
_REACH = 4000
_MOST_PAIRS = 40
_STEP = 4
_SHARE = 0.07
_GAP_EDITS = 3
"""Edits that a gap costs, beside those of the two parts: no text with one is exact."""


def align_with_gap(piece: str, letters: str, low: int, high: int) -> list[Alignment]:
    """Return the alignments of a quotation in letters[low:high] with one gap: all, since several may be as good.

    Both parts together may have 7 % edits. It counts as amended: a gap of more letters than noise has.
    """
    size = len(piece)
    if size < 3 * _END:
        return []
    heads = _ends(piece, letters, low, high, from_end=False)
    tails = _ends(piece, letters, low, high, from_end=True)
    found: list[Alignment] = []
    limit = int(size * _SHARE)
    pairs = [(start, end) for start in heads for end in tails if size < end - start <= size + _REACH]
    for start, end in pairs[:_MOST_PAIRS]:
        edits = _cheapest(piece, letters, start, end, limit)
        if edits is not None:
            found.append(Alignment(start, end, edits + _GAP_EDITS, block=end - start - size, digits=True))
    return found


def _ends(piece: str, letters: str, low: int, high: int, *, from_end: bool) -> list[int]:
    """Return where the quotation begins (or ends) by the places of its first (or last) undamaged letters."""
    found: list[int] = []
    for shift in range(_SHIFTS):
        at = len(piece) - _END * (shift + 1) if from_end else _END * shift
        part = piece[at : at + _END]
        position = letters.find(part, low, high)
        while position >= 0 and len(found) < _MOST_PAIRS:
            edge = position - at + (len(piece) if from_end else 0)
            if low <= edge <= high and edge not in found:
                found.append(edge)
            position = letters.find(part, position + 1, high)
        if found:
            break
    return found


def _cheapest(piece: str, letters: str, start: int, end: int, limit: int) -> int | None:
    """Return the fewest edits of both parts over all places of the gap; None if they are more than the limit."""
    size = len(piece)
    best: int | None = None
    for cut in range(_END, size - _END + 1, _STEP):
        front = Levenshtein.distance(piece[:cut], letters[start : start + cut], score_cutoff=limit)
        if front > limit:
            break
        back = Levenshtein.distance(piece[cut:], letters[end - (size - cut) : end], score_cutoff=limit - front)
        if back <= limit - front and (best is None or front + back < best):
            best = front + back
    return best
