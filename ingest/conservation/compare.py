"""Prove that the chunks of a source are its text: no letter of law lost, none invented, the order kept.

A walk of its own (beside this module), which knows nothing of the reader it checks, cuts a source into stretches in
document order. A stretch is text of law, which the chunks must have, or names the rule under which a reader may leave
it out (a heading, a footnote, the number of an Absatz), as a whole and at this place only. The chunks are right if
their letters are those of the source without some of the stretches that a rule names. Whatever is not so explained is
a fault: letters lost, or letters that the source does not have there.

Only letters and digits count: blanks, punctuation and hyphens are what cleaning may change.
"""

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Literal

from rapidfuzz.distance import Indel

_NO_LETTER: Final = re.compile(r"[\W_]+")
# What a search for the next place goes by, in letters.
_ANCHOR, _SHORTEST_ANCHOR = 60, 16
_SEARCH_SLACK: Final = 4_000
_LONGEST_GROUP: Final = 3_000
# Ways to read the chunks that are followed at once; numbers that repeat make few, garbage could make many.
_MOST_WAYS: Final = 256
# Letters of source × letters of chunks whose alignment is affordable (bits of memory).
_LARGEST_ALIGNMENT: Final = 1_500_000_000
_EXCERPT: Final = 120


@dataclass(frozen=True, slots=True)
class Stretch:
    """A run of a source's text at a `place` ("§ 3"); `rule` is the reason it may be missing, None for text of law."""

    text: str
    rule: str | None = None
    place: str = ""


@dataclass(frozen=True, slots=True)
class Removed:
    """What one rule left out: how many stretches, how many letters."""

    rule: str
    count: int
    letters: int


@dataclass(frozen=True, slots=True)
class Fault:
    """Letters that the chunks of a place lack ("lost") or that the source does not have there ("invented")."""

    kind: Literal["lost", "invented"]
    place: str
    letters: int
    excerpt: str


@dataclass(frozen=True, slots=True)
class Conserved:
    """Letters of law in a source, those lost and invented, what rules left out, and every fault in order."""

    law: int
    lost: int
    invented: int
    removed: tuple[Removed, ...]
    faults: tuple[Fault, ...]

    @property
    def share(self) -> float:
        """Share of the letters of law that the chunks have in order; 1.0 where there is no law."""
        return 1.0 - self.lost / self.law if self.law else 1.0

    def keeps(self, floor: float) -> bool:
        """Whether losses, and inventions measured by the same yardstick, stay within `floor` (a share)."""
        allowed = (1.0 - floor) * self.law
        return self.lost <= allowed and self.invented <= allowed


def letters(text: str) -> str:
    """Return the letters and digits of a text, ligatures and raised digits as plain ones."""
    return _NO_LETTER.sub("", text if text.isascii() else unicodedata.normalize("NFKC", text))


def conserve(stretches: Iterable[Stretch], chunk_texts: Iterable[str]) -> Conserved:
    """Compare a source's stretches with the texts of its chunks; both in document order."""
    pieces = [Stretch(text, s.rule, s.place) for s in stretches if (text := letters(s.text))]
    return _Comparison(pieces, "".join(letters(text) for text in chunk_texts)).result()


# A way to read the chunks: the stretches left out so far, the last one first.
_Way = tuple["_Way | None", int]


class _Comparison:
    """Reads the chunks' letters by the stretches of the source.

    `ways` are the places in the chunks' letters that can be reached so far, each with the stretches left out on the
    way: where a stretch may be missing or not, both are followed until the text tells.
    """

    def __init__(self, pieces: Sequence[Stretch], chunks: str) -> None:
        self._pieces = pieces
        self._chunks = chunks
        self._faults: list[Fault] = []
        self._removed: list[int] = []

    def result(self) -> Conserved:
        """Return the comparison."""
        groups = list(_groups(self._pieces))
        ways: dict[int, _Way | None] = {0: None}
        number = 0
        while number < len(groups):
            after = self._read(groups[number], ways)
            if after:
                ways, number = after, number + 1
                continue
            start = max(ways)  # the way that explains most
            self._settle(ways[start])
            following, end = self._next_place(groups, number, start)
            self._align(groups[number].start, groups[following - 1].stop, start, end)
            ways, number = {end: None}, following
        end = len(self._chunks) if len(self._chunks) in ways else max(ways)
        self._settle(ways[end])
        if end < len(self._chunks):
            place = self._pieces[-1].place if self._pieces else ""
            self._fault("invented", place, self._chunks[end:])
        return self._summary()

    def _read(self, group: range, ways: dict[int, _Way | None]) -> dict[int, _Way | None]:
        """Return the ways behind the stretches of a group; none if the chunks read otherwise."""
        for index in group:
            piece = self._pieces[index]
            text, length = piece.text, len(piece.text)
            kept = {at + length: way for at, way in ways.items() if self._chunks.startswith(text, at)}
            if piece.rule is None:
                ways = kept
                if not ways:
                    return {}
                continue
            ways = {at: (way, index) for at, way in ways.items()}
            for at, way in kept.items():
                ways.setdefault(at, way)
            if len(ways) > _MOST_WAYS:
                ways = dict(sorted(ways.items())[:_MOST_WAYS])
        return ways

    def _settle(self, way: _Way | None) -> None:
        """Note what was left out on the way that was right."""
        while way is not None:
            way, index = way
            self._removed.append(index)

    # --- Faults ----------------------------------------------------------------------------------------------------

    def _next_place(self, groups: Sequence[range], failed: int, start: int) -> tuple[int, int]:
        """Return the next group whose text of law the chunks have behind `start`, and where; else the end of both."""
        law = others = 0
        for number in range(failed, len(groups)):
            anchor = self._anchor(groups[number]) if number > failed else ""
            if len(anchor) >= _SHORTEST_ANCHOR:
                expected, last = start + law, start + law + others + _SEARCH_SLACK
                found = (
                    self._chunks.rfind(anchor, start, expected + len(anchor)),
                    self._chunks.find(anchor, expected, last),
                )
                places = [place for place in found if place >= 0]
                if places:
                    return number, min(places, key=lambda place: abs(place - expected))
            for index in groups[number]:
                piece = self._pieces[index]
                law += len(piece.text) if piece.rule is None else 0
                others += len(piece.text) if piece.rule is not None else 0
        return len(groups), len(self._chunks)

    def _anchor(self, group: range) -> str:
        """Return the first letters that the chunks must have of a group."""
        anchor = ""
        for index in group:
            if self._pieces[index].rule is None:
                anchor += self._pieces[index].text
            elif anchor:
                break
            if len(anchor) >= _ANCHOR:
                break
        return anchor[:_ANCHOR]

    def _align(self, first: int, last: int, start: int, end: int) -> None:
        """Find which letters of the stretches `first` to `last` the chunks' letters `start` to `end` lack or add.

        The text of law is aligned alone; an insertion that is a whole stretch of a rule at its place is that stretch.
        """
        pieces, chunks = self._pieces[first:last], self._chunks[start:end]
        law = "".join(piece.text for piece in pieces if piece.rule is None)
        offsets = list(accumulate((len(p.text) if p.rule is None else 0 for p in pieces), initial=0))
        left_out = [index for index, piece in enumerate(pieces) if piece.rule is not None]
        for kind, a, b, c, d in _differences(law, chunks):
            if kind == "insert":
                text = chunks[c:d]
                kept = next((i for i in left_out if pieces[i].text == text and abs(offsets[i] - a) <= len(text)), None)
                if kept is None:
                    self._fault("invented", _place_at(pieces, offsets, a), text)
                else:
                    left_out.remove(kept)
                continue
            for index in range(bisect_right(offsets, a) - 1, len(pieces)):
                if offsets[index] >= b:
                    break
                text = law[max(a, offsets[index]) : min(b, offsets[index + 1])]
                if text:
                    self._fault("lost", pieces[index].place, text)
        self._removed += [first + index for index in left_out]

    def _fault(self, kind: Literal["lost", "invented"], place: str, text: str) -> None:
        last = self._faults[-1] if self._faults else None
        excerpt = text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}…"
        if last is not None and (last.kind, last.place) == (kind, place) and len(last.excerpt) < _EXCERPT:
            self._faults[-1] = Fault(kind, place, last.letters + len(text), f"{last.excerpt} … {excerpt}")
        else:
            self._faults.append(Fault(kind, place, len(text), excerpt))

    def _summary(self) -> Conserved:
        counts: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        for index in self._removed:
            rule = self._pieces[index].rule or ""
            counts[rule] += 1
            sizes[rule] += len(self._pieces[index].text)
        return Conserved(
            law=sum(len(piece.text) for piece in self._pieces if piece.rule is None),
            lost=sum(fault.letters for fault in self._faults if fault.kind == "lost"),
            invented=sum(fault.letters for fault in self._faults if fault.kind == "invented"),
            removed=tuple(Removed(rule, counts[rule], sizes[rule]) for rule in sorted(counts)),
            faults=tuple(self._faults),
        )


def _groups(pieces: Sequence[Stretch]) -> Iterator[range]:
    """Yield the runs of stretches of one place, long ones in parts."""
    start = size = 0
    for index, piece in enumerate(pieces):
        if index > start and (piece.place != pieces[start].place or size > _LONGEST_GROUP):
            yield range(start, index)
            start, size = index, 0
        size += len(piece.text)
    if start < len(pieces):
        yield range(start, len(pieces))


def _place_at(pieces: Sequence[Stretch], offsets: Sequence[int], position: int) -> str:
    return pieces[min(bisect_right(offsets, position) - 1, len(pieces) - 1)].place


def _differences(source: str, chunks: str) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield the runs to delete from `source` and to insert from `chunks`, with their offsets in both.

    Two texts too large to align are one loss and one invention: nothing is claimed that was not shown.
    """
    head = _common_start(source, chunks)
    tail = _common_start(source[head:][::-1], chunks[head:][::-1])
    inner, outer = source[head : len(source) - tail], chunks[head : len(chunks) - tail]
    if len(inner) * len(outer) > _LARGEST_ALIGNMENT:
        yield "delete", head, head + len(inner), head, head
        yield "insert", head + len(inner), head + len(inner), head, head + len(outer)
        return
    for step in Indel.opcodes(inner, outer):
        if step.tag != "equal":
            yield step.tag, head + step.src_start, head + step.src_end, head + step.dest_start, head + step.dest_end


def _common_start(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:  # the longest common prefix, by halving
        middle = (low + high + 1) // 2
        if one.startswith(other[:middle]):
            low = middle
        else:
            high = middle - 1
    return low
