"""Alignment of a quotation with one place of the corpus: edit distance, span, and what kind of edits they are."""

from typing import NamedTuple, cast

from rapidfuzz.distance import Levenshtein

NEAR = 2
"""Matched letters between two edits that still belong to one block: "darf"/"kann" is one change, not three slips."""
_EDGE = 8
_PIECE_REACH = 4000
_DIGITS = frozenset("23456789")
# Single letters that scans take for one another, beyond those that the skeleton folds; m is taken for rn, ni, in.
_SLIPS = "ce nu hb ft ao gq vy uv rt mn rn 8b 5s 2z 6g 9g 6b"
_CONFUSED = frozenset(_SLIPS.split()) | frozenset(pair[::-1] for pair in _SLIPS.split())
_PART_OF_M = frozenset("mrni")
_LOST_PIECE = 0.34
_LOST_SHARE = 0.6

Edit = tuple[str, int, int]


class Alignment(NamedTuple):
    """Letters `start` to `end` of the corpus, and the edits (kind, position in the anchor, position in them) between.

    `edits` counts all of them, those of other pieces of the quotation too; `changes` are the main piece's that are no
    usual slip of a scan. `block` is the length of the longest block of such changes, `digits` whether one of them
    touches a digit; `lost` is how many letters at one end of the quotation, or in one piece of it, stand nowhere. A
    tuple, since there are several for each quotation.
    """

    start: int
    end: int
    edits: int
    block: int = 0
    digits: bool = False
    lost: int = 0
    changes: tuple[Edit, ...] = ()


def _operations(anchor: str, window: str) -> list[Edit]:
    # plain tuples, which compare and pickle faster; the type hints of rapidfuzz say `Editop`
    return cast("list[Edit]", Levenshtein.editops(anchor, window).as_list())


def _trim(operations: list[Edit], letters: int) -> tuple[list[Edit], int, int]:
    """Return the edits without corpus letters before and after the anchor, and how many those are."""
    front = 0
    while front < len(operations) and operations[front] == ("insert", 0, front):
        front += 1
    back = 0
    while (
        back < len(operations) - front and operations[-1 - back][0] == "insert" and operations[-1 - back][1] == letters
    ):
        back += 1
    return operations[front : len(operations) - back], front, back


def _missing(operations: list[Edit], letters: int) -> tuple[int, int]:
    """Return how many letters of the anchor's two ends found no letter of the window."""
    front = 0
    while front < len(operations) and operations[front][:2] == ("delete", front):
        front += 1
    back = 0
    while back < len(operations) - front and operations[-1 - back][:2] == ("delete", letters - 1 - back):
        back += 1
    return front, back


def _stray(operations: list[Edit], anchor_letters: int) -> tuple[int, int]:
    """Return the gap in the corpus behind a few first letters, and before a few last ones, that matched far away."""
    front = back = 0
    if operations and operations[0][0] == "insert" and operations[0][1] <= _EDGE:
        front = sum(1 for op in operations if op[0] == "insert" and op[1] == operations[0][1])
    if operations and operations[-1][0] == "insert" and anchor_letters - operations[-1][1] <= _EDGE:
        back = sum(1 for op in operations if op[0] == "insert" and op[1] == operations[-1][1])
    return front, back


def _fit(anchor: str, letters: str, start: int, end: int) -> tuple[list[Edit], int, int]:
    operations, front, back = _trim(_operations(anchor, letters[start:end]), len(anchor))
    moved = [(kind, source, target - front) for kind, source, target in operations] if front else operations
    return moved, start + front, end - back


def _blocks(operations: list[Edit]) -> list[tuple[int, int, int, int]]:
    """Return the blocks of near edits: start and end in the quotation, start and end in the text."""
    blocks: list[tuple[int, int, int, int]] = []
    for kind, source, target in operations:
        source_end = source + (kind != "insert")
        target_end = target + (kind != "delete")
        if blocks and source - blocks[-1][1] <= NEAR and target - blocks[-1][3] <= NEAR:
            blocks[-1] = (blocks[-1][0], source_end, blocks[-1][2], target_end)
        else:
            blocks.append((source, source_end, target, target_end))
    return blocks


def _longest(blocks: list[tuple[int, int, int, int]]) -> int:
    return max((max(b - a, d - c) for a, b, c, d in blocks), default=0)


def _lost(operations: list[Edit], size: int) -> int:
    """Return how many letters at one end of a quotation of so many letters are mostly edits: they stand nowhere."""
    front = back = 0
    for number, (_, source, _) in enumerate(operations, start=1):
        if number >= _LOST_SHARE * (source + 1):
            front = source + 1
    for number, (_, source, _) in enumerate(reversed(operations), start=1):
        if number >= _LOST_SHARE * (size - source):
            back = size - source
    return max(front, back)


def is_slip(one: str, other: str) -> bool:
    """Return whether scans take these letters for one another."""
    return one + other in _CONFUSED


def _without_slips(operations: list[Edit], anchor: str, window: str) -> list[Edit]:
    """Return the edits that are no usual slip of a scan (c for e, rn for m)."""
    real: list[Edit] = []
    for i, edit in enumerate(operations):
        kind, source, target = edit
        if kind == "replace":
            one, other = anchor[source], window[target]
            if one + other in _CONFUSED:
                continue
            # m for two of its parts is a replacement beside a letter put in or left out
            if (
                (one == "m" or other == "m")
                and one in _PART_OF_M
                and other in _PART_OF_M
                and any(k != "replace" and abs(s - source) <= 1 for k, s, _ in operations[max(0, i - 1) : i + 2])
            ):
                continue
        elif (anchor[source] if kind == "delete" else window[target]) in _PART_OF_M and any(
            k == "replace" and abs(s - source) <= 1 and "m" in (anchor[s], window[t])
            for k, s, t in operations[max(0, i - 1) : i + 2]
        ):
            continue
        real.append(edit)
    return real


def _touches_digit(operations: list[Edit], anchor: str, window: str) -> bool:
    for kind, source, target in operations:
        if kind != "insert" and anchor[source] in _DIGITS:
            return True
        if kind != "delete" and window[target] in _DIGITS:
            return True
    return False


def align(
    anchor: str,
    letters: str,
    bounds: tuple[int, int],
    start: int,
    end: int,
    limit: int,
    *,
    is_near: bool = False,
) -> Alignment | None:
    """Return the best alignment of the whole anchor near letters[start:end], or None with more than `limit` edits.

    `bounds` are the first letter of the document and its end. The ends of the window need only be about right: they
    move to where the anchor's ends are. `is_near` says that the window was measured and is not too far off.
    """
    low, high = bounds
    size = len(anchor)
    start, end = max(low, start), min(high, end)
    if end - start == size and letters.startswith(anchor, start):
        return Alignment(start, end, 0)
    most = 2 * limit + abs(end - start - size)
    if not is_near and Levenshtein.distance(anchor, letters[start:end], score_cutoff=most) > most:
        return None
    operations, start, end = _fit(anchor, letters, start, end)
    for _ in range(3):
        front, back = _missing(operations, size)
        wider = (max(low, start - front - (front > 0)), min(high, end + back + (back > 0)))
        if wider == (start, end):
            break
        retried = _fit(anchor, letters, *wider)
        if len(retried[0]) >= len(operations):
            break
        operations, start, end = retried
    for narrower in _narrower(operations, size, start, end):
        retried = _fit(anchor, letters, *narrower)
        if len(retried[0]) <= len(operations):
            operations, start, end = retried
    if len(operations) > limit:
        return None
    real = _without_slips(operations, anchor, letters[start:end])
    return Alignment(
        start,
        end,
        len(operations),
        _longest(_blocks(real)),
        _touches_digit(real, anchor, letters[start:end]),
        _lost(operations, size),
        tuple(real),
    )


def _narrower(operations: list[Edit], size: int, start: int, end: int) -> list[tuple[int, int]]:
    front, back = _stray(operations, size)
    choices = []
    if front:
        choices.append((start + front, end))
    if back:
        choices.append((start, end - back))
    return [(a, b) for a, b in choices if b - a > size // 2]


def _find_piece(piece: str, letters: str, low: int, high: int, *, last: bool) -> Alignment | None:
    """Return where a further piece of a quotation stands between two positions, exact or nearly so."""
    at = letters.rfind(piece, low, high) if last else letters.find(piece, low, high)
    if at >= 0:
        return Alignment(at, at + len(piece), 0)
    if high - low < len(piece) // 2:
        return None
    limit = int(len(piece) * _LOST_PIECE)
    best: Alignment | None = None
    # places where one of its parts stands word for word; a piece without such a part is lost
    part = max(6, len(piece) // (limit + 1), len(piece) // 8)
    tried: set[int] = set()
    for offset in range(0, max(1, len(piece) - part + 1), part):
        at = letters.find(piece[offset : offset + part], low, high)
        for _ in range(4):
            if at < 0:
                break
            if (at - offset) // 8 not in tried:
                tried.add((at - offset) // 8)
                found = align(piece, letters, (low, high), at - offset, at - offset + len(piece), limit)
                if found is not None and (best is None or found.edits < best.edits):
                    best, limit = found, found.edits
            at = letters.find(piece[offset : offset + part], at + 1, high)
    return best


def align_pieces(
    pieces: tuple[str, ...], main: int, letters: str, bounds: tuple[int, int], found: Alignment
) -> Alignment:
    """Return the alignment of a quotation with ellipses, whose main piece is aligned already.

    The others stand before and behind it, in order, each within a few thousand letters; one that is not found counts
    as edits in full.
    """
    low, high = bounds
    start, end, edits, block, digits = found.start, found.end, found.edits, found.block, found.digits
    lost = found.lost
    for i in range(main + 1, len(pieces)):
        piece = _find_piece(pieces[i], letters, end, min(high, end + _PIECE_REACH), last=False)
        if piece is None:
            edits, block, lost = edits + len(pieces[i]), max(block, len(pieces[i])), max(lost, len(pieces[i]))
            continue
        end, edits = piece.end, edits + piece.edits
        block, digits = max(block, piece.block), digits or piece.digits
    for i in range(main - 1, -1, -1):
        piece = _find_piece(pieces[i], letters, max(low, start - _PIECE_REACH), start, last=True)
        if piece is None:
            edits, block, lost = edits + len(pieces[i]), max(block, len(pieces[i])), max(lost, len(pieces[i]))
            continue
        start, edits = piece.start, edits + piece.edits
        block, digits = max(block, piece.block), digits or piece.digits
    moved = tuple((kind, source, target + found.start - start) for kind, source, target in found.changes)
    return Alignment(start, end, edits, block, digits, lost, moved)
