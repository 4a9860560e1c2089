"""Read the printed lines of one provision as Absätze and list items.

Nothing in a PDF says what a line is. A marker counts only where a paragraph begins and the number goes on with its
list (or starts one); text after a list goes to the unit at whose indent it stands; inside a quotation nothing counts.
What cannot be told stays text of the unit before: a missing unit is a pity, a wrong one is not.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ingest.sources.markers import read_marker, roman_value
from ingest.sources.pdf_layout import Line
from ingest.sources.pdf_quotations import Placed
from ingest.tree import Absatz, Block
from normalize.citation import Style
from normalize.units import Path, Step

_ABSATZ = re.compile(r"\((\d{1,3}[a-z]{0,2})\)(?:\s+|$)")
_MARKER = re.compile(
    r"(\d{1,3}[a-z]{0,2}\.|\((?:\d{1,3}|[a-z]{1,3}|[ivxl]{1,6})\)|[a-z]{1,3}\)|[ivxl]{1,6}\)|[–—-])(?:\s+|$)"
)
_MONTHS = (
    "Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Jänner"
    "|January|February|March|May|June|July|October|December"
)
_DATE = re.compile(rf"\d{{1,2}}\.\s+(?:{_MONTHS})\b")
_ENDED = re.compile(r"[.!?][)\]\"”“’»]*$")
_PAUSED = re.compile(r"[.!?:;,–][)\]\"”“’»]*$")
_STEM = re.compile(r":$")
_ITEM_END = re.compile(r"[.!?:;,–][)\]\"”“’»]*$|\b(?:und|oder|sowie|and|or)$")
_STARTS_SENTENCE = re.compile(r"[„\"“‘»(\[]?[A-ZÄÖÜ§\d]")
_GONE = re.compile(r"[-–—.\s]*$|[(\[]?\s*(?:weggefallen|aufgehoben|gestrichen|entfällt|deleted)\s*[)\]]?[.;]?\s*$")
# Points within which the left edges of two lines are the same; numbers of a list may be set flush right.
_SAME = 1.0
_ALIGNED = 9.0
# Numbers that a list may leave out (repealed items that are not printed).
_MOST_LEFT_OUT = 3


@dataclass(frozen=True, slots=True)
class Reading:
    """How the lines of a provision are to be read.

    `eu` acts count Unterabsätze; `spaced` layouts set paragraphs apart by space, so a line without space above goes
    on with the one before; in `hanging` ones the text of an item stands to the right of its marker; `numbered`
    provisions have Absätze (annexes and recitals have none).
    """

    style: Style
    eu: bool
    spaced: bool
    hanging: bool
    numbered: bool = True


@dataclass(slots=True)
class _Item:
    """An open list item: its unit, and the left edges of its marker and of its text."""

    step: Step
    left: float
    text_left: float


@dataclass(slots=True)
class _Open:
    """A block that still grows; `edge` is the left edge of its second line (None before there is one)."""

    path: Path
    marker: str
    page: int
    quoted: bool
    subparagraph: int
    pieces: list[str] = field(default_factory=list)
    edge: float | None = None

    @property
    def text(self) -> str:
        return " ".join(piece for piece in self.pieces if piece)


def is_hanging(lines: Sequence[Line]) -> bool:
    """Tell whether most items of a layout that go over two lines have their text to the right of the marker."""
    pairs = [
        below.left > line.left + _SAME
        for line, below in pairwise(lines)
        if _MARKER.match(line.text)
        and not _DATE.match(line.text)
        and not _ABSATZ.match(line.text)
        and not _MARKER.match(below.text)
        and below.gap is False
        and line.room < below.word  # the item wraps
    ]
    return sum(pairs) * 2 > len(pairs)


def is_spaced(lines: Sequence[Line]) -> bool:
    """Tell whether a layout sets paragraphs apart by space: most numbered Absätze have it above."""
    gaps = [line.gap for line in lines if _ABSATZ.match(line.text) and line.gap is not None]
    return not gaps or sum(gaps) * 2 > len(gaps)


def read_absaetze(lines: Iterable[Placed], reading: Reading) -> list[Absatz]:
    """Return the Absätze of a provision, in order; repealed ones ("(weggefallen)") give none."""
    reader = _Reader(reading)
    for placed in lines:
        reader.take(placed)
    reader.finish_absatz()
    return reader.absaetze


class _Reader:
    """Takes line after line; holds the open Absatz, its blocks, and the open list items.

    `_left` are the items that text after a list closed: the list may go on. Once a marker is met that fits nowhere
    (`_lost`), no list opens till the end of the Absatz: its units could be named wrongly.
    """

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.absaetze: list[Absatz] = []
        self._number: str | None = None
        self._blocks: list[_Open] = []
        self._items: list[_Item] = []
        self._left: list[_Item] = []
        self._lost = False
        self._before: Line | None = None

    def take(self, placed: Placed) -> None:
        line = placed.line
        begins = self._begins(line)
        if placed.quoted and begins:
            self._open(line, line.text, "", quoted=True)
        elif placed.quoted:
            self._go_on(line)
        elif not (self._take_absatz(line, begins) or self._take_item(line, begins)):
            if begins:
                self._leave_items(line)
                self._open(line, line.text, "")
            else:
                self._go_on(line)
        self._before = line

    # --- Where a paragraph begins ---------------------------------------------------------------------------------

    def _begins(self, line: Line) -> bool:
        """Tell whether a line begins a paragraph."""
        before = self._before
        if before is None or not self._blocks:
            return True
        if line.gap:
            return True
        if line.gap is False and self.reading.spaced:
            return False
        if self._items and self._blocks[-1].edge is not None and line.left < self._edge() - _SAME:
            return True
        if self._items and self.reading.hanging and line.left <= self._items[-1].left + _SAME:
            return True
        if not _PAUSED.search(before.text):
            return False
        if line.word < before.room and _ENDED.search(before.text):
            return True
        return abs(line.left - self._edge()) > _SAME

    def _edge(self) -> float:
        """The left edge at which the open block goes on."""
        block = self._blocks[-1]
        if block.edge is not None:
            return block.edge
        if self._items and block.marker:
            return self._items[-1].text_left
        return self._before.left if self._before else 0.0

    # --- Absätze ----------------------------------------------------------------------------------------------------

    def _take_absatz(self, line: Line, begins: bool) -> bool:
        match = _ABSATZ.match(line.text) if self.reading.numbered else None
        if match is None or not (begins or self._may_begin(line, _ENDED)):
            return False
        if self._number is None:
            if self._blocks and self._blocks[-1].text.endswith(":"):
                return False  # "Für diese Verordnung gilt: (1) …": a list of definitions
            accepted = match[1] == "1" or not self._blocks
        else:
            accepted = _follows(self._number, match[1])
        if not accepted:
            return False
        self.finish_absatz()
        self._number = match[1]
        self._open(line, line.text[match.end() :], "")
        return True

    def finish_absatz(self) -> None:
        """Close the open Absatz."""
        kept = [block for block in self._blocks if block.text or block.marker]
        if kept and not all(_GONE.match(block.text) and not block.marker for block in kept):
            self.absaetze.extend(self._absaetze_of(kept))
        self._blocks, self._items, self._left, self._lost = [], [], [], False

    def _absaetze_of(self, blocks: Sequence[_Open]) -> list[Absatz]:
        """An EU Absatz of several paragraphs has Unterabsätze; unnumbered ones are themselves the Absätze 1, 2, …"""
        last = blocks[-1].subparagraph
        if not self.reading.eu or not self.reading.numbered or last == 1:
            return [Absatz(self._number, tuple(_block(block, ()) for block in blocks))]
        if self._number is not None:
            prefixed = [_block(block, (Step("unterabsatz", str(block.subparagraph)),)) for block in blocks]
            return [Absatz(self._number, tuple(prefixed))]
        parts = range(1, last + 1)
        return [Absatz(str(n), tuple(_block(b, ()) for b in blocks if b.subparagraph == n)) for n in parts]

    # --- Items ------------------------------------------------------------------------------------------------------

    def _take_item(self, line: Line, begins: bool) -> bool:
        match = _MARKER.match(line.text)
        if match is None or not self._blocks or not (begins or line.gap is None or not self.reading.spaced):
            return False
        marker = match[1]
        step = None
        if begins or self._may_begin(line, _ITEM_END):
            step = self._next_of_list(line, marker)
        if step is None and not self._lost and (begins or self._may_begin(line, _STEM)):
            step = self._first_of_list(line, marker)
        if step is None:
            self._lost = self._lost or not _DATE.match(line.text)
            return False
        self._left = []
        self._items.append(_Item(step, line.left, max(line.text_left, line.left)))
        self._open(line, line.text[match.end() :], marker)
        return True

    def _may_begin(self, line: Line, ended: re.Pattern[str]) -> bool:
        """Tell whether a line with a marker begins a paragraph although nothing but the line above says so.

        Either that line ended as one does before such a marker, or it ended on purpose: the marker had room there.
        """
        before = self._before
        if before is None or (line.gap is False and self.reading.spaced):
            return False
        return ended.search(before.text) is not None or line.word < before.room

    def _next_of_list(self, line: Line, marker: str) -> Step | None:
        """The unit of a marker that goes on with an open list, innermost first; inner lists are closed."""
        for items in (self._items, self._left):
            for depth in range(len(items) - 1, -1, -1):
                item = items[depth]
                step = read_marker(marker, self.reading.style, _path(items[:depth]), item.step)
                if (
                    step is not None
                    and step.level == item.step.level
                    and _next_value(item.step, step)
                    and abs(line.left - item.left) <= _ALIGNED
                ):
                    self._items = items[:depth]
                    return step
        return None

    def _first_of_list(self, line: Line, marker: str) -> Step | None:
        """The unit of a marker that begins a list; "1. Januar" begins none."""
        if _DATE.match(line.text):
            return None
        items = list(self._items)
        while items and line.left < items[-1].left - _SAME:
            items.pop()
        parent = _path(items)
        step = read_marker(marker, self.reading.style, parent, None)
        if step is None or not _is_first(step) or any(item.step.level == step.level for item in items):
            return None
        if step.level == "gedankenstrich" and not (line.gap or _PAUSED.search(self._blocks[-1].text)):
            return None
        self._items = items
        if items and line.left > items[-1].left + _SAME:  # an inner list stands at the edge of the text around it
            items[-1].text_left = min(items[-1].text_left, line.left)
        return step

    def _leave_items(self, line: Line) -> None:
        """Close the items that an unmarked paragraph at this left edge does not belong to."""
        kept = len(self._items)
        while kept:
            item = self._items[kept - 1]
            if item.text_left > item.left + _SAME and line.left >= item.text_left - _SAME:
                break
            kept -= 1
        if kept < len(self._items):
            self._left = self._items
            self._items = self._items[:kept]

    # --- Blocks -----------------------------------------------------------------------------------------------------

    def _open(self, line: Line, text: str, marker: str, *, quoted: bool = False) -> None:
        subparagraph = 1
        if self._blocks:
            subparagraph = self._blocks[-1].subparagraph
            apart = not self._items and not marker and not quoted
            if apart and _ENDED.search(self._blocks[-1].text) and _STARTS_SENTENCE.match(text):
                subparagraph += 1
        block = _Open(_path(self._items), marker, line.page, quoted, subparagraph)
        block.pieces.append(text)
        self._blocks.append(block)

    def _go_on(self, line: Line) -> None:
        block = self._blocks[-1]
        block.pieces.append(line.text)
        if block.edge is None:
            block.edge = line.left
            if self._items and block.marker:
                item = self._items[-1]
                item.text_left = min(item.text_left, line.left)


def _path(items: Sequence[_Item]) -> Path:
    return tuple(item.step for item in items)


def _block(block: _Open, prefix: Path) -> Block:
    return Block(block.text, (*prefix, *block.path), block.marker, block.page, quoted=block.quoted)


# --- Sequences -----------------------------------------------------------------------------------------------------


def _split(value: str) -> tuple[int, str]:
    digits = re.match(r"\d+", value)
    return (int(digits[0]), value[digits.end() :]) if digits else (0, value)


def _follows(before: str, this: str) -> bool:
    """Tell whether a number comes after another in a count that may leave out a few (1, 1a, 2, 5)."""
    (number, letters), (next_number, next_letters) = _split(before), _split(this)
    if next_number == number:
        return (len(next_letters), next_letters) > (len(letters), letters)
    return number < next_number <= number + 1 + _MOST_LEFT_OUT


def _next_value(before: Step, step: Step) -> bool:
    if step.level == "gedankenstrich":
        return True
    if before.value[0].isdigit() and step.value[0].isdigit():
        return _follows(before.value, step.value)
    if step.level == "ziffer":
        return roman_value(step.value) == roman_value(before.value) + 1
    if before.value[0].isdigit() or step.value[0].isdigit():
        return False
    if len(step.value) > len(before.value):
        return set(before.value) == {"z"} and set(step.value) == {"a"}
    if len(step.value) < len(before.value):
        return False
    doubled = len(set(before.value)) == 1 and len(set(step.value)) == 1
    distance = ord(step.value[-1]) - ord(before.value[-1])
    same_start = doubled or step.value[:-1] == before.value[:-1]
    return same_start and 1 <= distance <= 1 + _MOST_LEFT_OUT


def _is_first(step: Step) -> bool:
    return step.value in ("1", "i", "I", "A") or set(step.value) == {"a"} or step.level == "gedankenstrich"
