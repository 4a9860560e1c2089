"""Place lines of text in the outline of a provision: which line opens an Absatz, which an item, which goes on.

For sources that print numbers and letters as text, or tell no more than how deep a list is nested (EUR-Lex pages, plain
text, Markdown). Where a number cannot be told from running text, the line stays text: a missing unit is a pity, a wrong
Fundstelle is not.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ingest.sources.markers import read_marker, roman_value
from ingest.tree import Absatz, Block
from normalize.citation import Style
from normalize.units import Path, Step

_PRINTED = re.compile(
    r"(\(\d{1,3}[a-z]{0,2}\)|\d{1,3}[a-z]{0,2}[.)](?=\s)|\(?[a-z]{1,3}\)|\(?[ivxl]{1,6}\)|[-–—•](?=\s))\s*(?=\S)"
)
_ABSATZ_MARKER = re.compile(r"\((\d{1,3}[a-z]{0,2})\)|(\d{1,3}[a-z]{0,2})\.?")
_DOTTED = re.compile(r"(\d{1,3}(?:\.\d{1,3})+)\.?")
_MONTH = re.compile(
    r"(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Quartal|Jahrhundert)\b"
)
# A line that ends so breaks off inside a citation: what the next line begins with belongs to it.
_RUNS_ON = re.compile(
    r"(?:^|[\s(])(?:Absatz(?:es)?|Absätzen?|Abs\.|Artikel[ns]?|(?<!e[nr]\s)Art\.|Nummern?|Nrn?\.|Buchstaben?|lit\.|Sätze?n?|Satz(?:es)?|"
    r"Anhangs?|Anlage|Ziffern?|Ziff\.|Unterabsatz|Unterabsätze|Kapitels?|§§?|[Aa]rticles?|[Pp]aragraphs?|[Pp]oints?|"
    r"No|[Vv]om|[Aa]m|[Bb]is|bis zum)$"
)
_CLOSED = re.compile("[.!?…][\"'”“’‘»«)\\]]*$")
# The label of a first item that is no number: "13. a) …" begins Nr. 13 and its lit. a on one line.
_FIRST_LETTER = re.compile(r"\(?(?:a|aa|i)\)(?=\s)")
_FIRST = frozenset({"1", "a", "i", "aa", "A", "I"})
# How far a list may jump where a source left out an item.
_LONGEST_JUMP = 3
_COUNTED_LETTER = ("buchstabe", "doppelbuchstabe", "dreifachbuchstabe")


@dataclass(frozen=True, slots=True)
class Line:
    """A paragraph of a provision.

    `marker` is the label where the source sets it apart. `depth` 0 is running text, n the n-th nested list, None that
    the source does not say. `quoted` lines are wording of another act. `indent` is in columns, where depth is None.
    A row of a table (`is_row`) opens neither Absatz nor Unterabsatz, and no Satz.
    """

    text: str
    marker: str = ""
    depth: int | None = None
    quoted: bool = False
    indent: int = 0
    is_row: bool = False


def split_marker(text: str) -> tuple[str, str] | None:
    """Return the label a line begins with and the rest, or None; a day of a month is no label."""
    match = _PRINTED.match(text)
    if match is None or _MONTH.match(text, match.end()):
        return None
    return match[1], text[match.end() :]


def runs_on(text: str) -> bool:
    """Tell whether a line breaks off inside a citation or bracket, so that the next line cannot be an item."""
    return _RUNS_ON.search(text) is not None or text.rfind("(") > text.rfind(")")


def is_closed(text: str) -> bool:
    """Tell whether a text ends with the end of a sentence."""
    return _CLOSED.search(text.rstrip()) is not None


# --- The open items ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Open:
    depth: int
    step: Step | None
    path: Path
    indent: int = 0


class Outline:
    """The items that are open at a line, from the outer to the inner one, below a base path."""

    def __init__(self, style: Style, base: Path = ()) -> None:
        self._style = style
        self._base = base
        self._open: list[_Open] = []
        # Lists that running text interrupts; they may go on after it ("1. … a) … b) … und deswegen … 2. …").
        self._interrupted: list[_Open] = []

    def reset(self, base: Path = ()) -> None:
        """Close all items."""
        self._base = base
        self._open.clear()
        self._interrupted.clear()

    def path(self, depth: int | None = None) -> Path:
        """Return the path of the innermost open item; with `depth`, items nested deeper than it are closed first."""
        if depth == 0:
            self._interrupted = list(self._open) or self._interrupted
        if depth is not None:
            self._close(depth)
        return self._open[-1].path if self._open else self._base

    def path_at(self, indent: int) -> Path:
        """Return the path of the innermost item that running text at an indent stands below; at 0 it is in none."""
        if indent == 0:
            return self.path(0)
        while self._open and self._open[-1].indent > indent:
            self._open.pop()
        return self.path()

    def accepts(self, marker: str) -> bool:
        """Tell whether a label goes on with an open list or begins one."""
        return self._level(marker) is not None or (not self._open and self._goes_on_after_text(marker))

    def place(self, marker: str, depth: int | None, indent: int = 0) -> Path:
        """Open the item a label names and return its path; a label that names no unit keeps the path of its list."""
        if not self._open and self._goes_on_after_text(marker):
            self._open, self._interrupted = self._interrupted, []
        if depth is None:
            level = self._level(marker)
            if level is None:
                return self.path()
            depth = self._open[level].depth if level < len(self._open) else self._next_depth()
        self._close(depth)
        before = self._open.pop().step if self._open and self._open[-1].depth == depth else None
        parent = self._open[-1].path if self._open else self._base
        step: Step | None
        if dotted := _DOTTED.fullmatch(marker):
            step, parent = Step("nummer", dotted[1]), _above_dotted(parent, dotted[1])
        else:
            step = read_marker(marker, self._style, parent, before)
        path = (*parent, step) if step is not None else parent
        self._open.append(_Open(depth, step or before, path, indent))
        return path

    def _close(self, depth: int) -> None:
        while self._open and self._open[-1].depth > depth:
            self._open.pop()

    def _next_depth(self) -> int:
        return self._open[-1].depth + 1 if self._open else 1

    def _level(self, marker: str) -> int | None:
        """Return which open list a label continues, or the number of open lists if it begins one."""
        level = self._continued(self._open, marker, 1)
        if level is not None:
            return level
        first = read_marker(marker, self._style, self.path(), None)
        if first is not None and (_bare(marker) in _FIRST or first.level == "gedankenstrich"):
            # No list holds one of its own kind: it starts anew, after a text that was taken for its last item.
            same = [
                level for level, opened in enumerate(self._open) if opened.step and opened.step.level == first.level
            ]
            return same[-1] if same else len(self._open)
        return self._continued(self._open, marker, _LONGEST_JUMP)

    def _goes_on_after_text(self, marker: str) -> bool:
        return self._continued(self._interrupted, marker, 1) is not None

    def _continued(self, opened: Sequence[_Open], marker: str, jump: int) -> int | None:
        for level in reversed(range(len(opened))):
            before = opened[level].step
            parent = opened[level - 1].path if level else self._base
            if before is None:
                continue
            step = read_marker(marker, self._style, parent, before)
            if step is not None and step.level == before.level and 0 < _distance(before, step) <= jump:
                return level
        return None


def _above_dotted(parent: Path, number: str) -> Path:
    """A number that repeats the one above it ("3.1" below "3") is cited alone: Nr. 3.1, not Nr. 3 Nr. 3.1."""
    if parent and parent[-1].level == "nummer" and number.startswith(f"{parent[-1].value}."):
        return parent[:-1]
    return parent


def _bare(marker: str) -> str:
    return marker.strip("().")


def _distance(before: Step, step: Step) -> int:
    """Return how many items on `step` is; an inserted one (1a after 1) is the next."""
    if step.level == "gedankenstrich":
        return 1
    if step.level == "ziffer":
        return roman_value(step.value) - roman_value(before.value)
    if step.level in _COUNTED_LETTER:
        return _letter_distance(before.value, step.value)
    this, that = number_key(before.value), number_key(step.value)
    if this is None or that is None:
        return 0
    return max(that[0] - this[0], 1) if that > this else 0


def _letter_distance(before: str, letters: str) -> int:
    if before == "z" and letters == "aa":
        return 1
    if len(before) != len(letters):
        return 1 if len(letters) == len(before) + 1 and letters[:-1] == before and letters[-1] != before[-1] else 0
    return ord(letters[-1]) - ord(before[-1]) if letters[:-1] == before[:-1] or len(set(letters)) == 1 else 0


def number_key(number: str) -> tuple[int, str] | None:
    """Return the sort key of a number with its letter ("1a"), or None if it is none."""
    match = re.fullmatch(r"(\d+)([a-z]*)", number)
    return (int(match[1]), match[2]) if match else None


# --- Absätze -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Part:
    """An Absatz in the making: its number, and the blocks of each of its subparagraphs."""

    number: str | None
    subparagraphs: list[list[Block]]

    @property
    def blocks(self) -> list[Block]:
        return [block for blocks in self.subparagraphs for block in blocks]


def absaetze(lines: Iterable[Line], style: Style, *, counts_paragraphs: bool) -> tuple[Absatz, ...]:
    """Return the Absätze of one § or Artikel.

    In an EU act (`counts_paragraphs`) unnumbered paragraphs are counted as Absätze, and the second paragraph inside a
    numbered Absatz is its Unterabsatz 2 (style guide 3.2.3). German law counts neither.
    """
    builder = _Builder(style, counts_paragraphs)
    for line in lines:
        builder.add(line)
    return builder.finish()


def placed_blocks(lines: Iterable[Line], style: Style, base: Path = ()) -> tuple[Block, ...]:
    """Return the blocks of text that has items but no Absätze: recitals, annexes, formulas."""
    outline = Outline(style, base)
    blocks: list[Block] = []
    for line in lines:
        marker, text = line.marker, line.text
        if line.quoted or line.is_row:
            blocks.append(Block(text, outline.path(line.depth), marker, quoted=line.quoted, counts=not line.is_row))
            continue
        found = None if marker or line.depth else split_marker(text)
        if found is not None and outline.accepts(found[0]) and not (blocks and runs_on(blocks[-1].text)):
            blocks.extend(_items(outline, found[0], found[1], line.indent))
        elif marker:
            blocks.append(Block(text, outline.place(marker, line.depth), marker))
        else:
            blocks.append(Block(text, outline.path(line.depth or 0)))
    return tuple(block for block in blocks if block.text or block.marker)


def _items(outline: Outline, marker: str, text: str, indent: int) -> Iterator[Block]:
    """Yield the item that a label opens, and those that begin on its line ("13. a) aa) …")."""
    path = outline.place(marker, None, indent)
    inner = split_marker(text) if path and _FIRST_LETTER.match(text) else None
    if inner is None:
        yield Block(text, path, marker)
        return
    yield Block("", path, marker)
    yield from _items(outline, inner[0], inner[1], indent + 1)


class _Builder:
    def __init__(self, style: Style, counts_paragraphs: bool) -> None:
        self._style = style
        self._counts = counts_paragraphs
        self._outline = Outline(style)
        self._parts: list[_Part] = []
        self._form: tuple[bool, int, bool] | None = None

    def add(self, line: Line) -> None:
        if line.quoted or line.is_row:
            path = self._outline.path(line.depth)
            self._append(Block(line.text, path, line.marker, quoted=line.quoted, counts=not line.is_row))
            return
        marker, text = line.marker, line.text
        depth = line.depth
        found = None if marker or depth else split_marker(text)
        if found is not None and (found[0].startswith("(") or not runs_on(self._last_text())):
            number = self._absatz_number(found[0], line)
            if number is not None or self._outline.accepts(found[0]):
                (marker, text), depth = found, None
        if not marker:
            self._running(line)
            return
        number = self._absatz_number(marker, line)
        if number is None:
            if depth is None:
                for block in _items(self._outline, marker, text, line.indent):
                    self._append(block)
            else:
                self._append(Block(text, self._outline.place(marker, depth, line.indent), marker))
            return
        self._outline.reset()
        self._form = _form(marker, line)
        self._parts.append(_Part(number, [[Block(text)] if text else []]))

    def _absatz_number(self, marker: str, line: Line) -> str | None:
        """Return the number if a label opens an Absatz here: by its form, its place, and the sequence so far."""
        match = _ABSATZ_MARKER.fullmatch(marker)
        if match is None or (self._style == "paragraph" and match[1] is None):
            return None
        number = match[1] or match[2]
        key = number_key(number)
        if key is None or (line.depth or 0) > 1:
            return None
        if self._form is None:
            return number if self._may_be_first(key, bracketed=match[1] is not None, depth=line.depth or 0) else None
        last = number_key(self._parts[-1].number or "")
        if _form(marker, line) != self._form or last is None or key < last:
            return None
        if key == last:  # a misprint of the source, unless a list of the Absatz begins here
            return number if is_closed(self._last_text()) and not self._outline.accepts(marker) else None
        return number if match[1] is not None or key[0] - last[0] <= _LONGEST_JUMP else None

    def _may_be_first(self, key: tuple[int, str], *, bracketed: bool, depth: int) -> bool:
        if self._style == "paragraph" and depth == 0:
            return True  # in a statute "(1)" is an Absatz and nothing else
        if not self._last_text():
            return key[0] == 1 or bracketed or key[0] <= _LONGEST_JUMP
        if not is_closed(self._last_text()):
            return False  # a lead-in: what follows are its items
        if key[0] == 2:  # the source left out the first number
            return not self._outline.accepts(f"{key[0]}{key[1]}.")
        return bracketed and depth == 0

    def _running(self, line: Line) -> None:
        text = line.text
        path = self._outline.path_at(line.indent) if line.depth is None else self._outline.path(line.depth)
        if path:
            self._append(Block(text, path))
            return
        last = self._last_text()
        part = self._parts[-1] if self._parts else None
        if part is not None and part.subparagraphs[-1] and is_closed(last) and not text[:1].islower():
            part.subparagraphs.append([])
        self._append(Block(text))

    def _append(self, block: Block) -> None:
        if not block.text and not block.marker:
            return
        if not self._parts:
            self._parts.append(_Part(None, [[]]))
        self._parts[-1].subparagraphs[-1].append(block)

    def _last_text(self) -> str:
        last = next((blocks for blocks in reversed(self._parts[-1].subparagraphs) if blocks), []) if self._parts else []
        return last[-1].text if last else ""

    def finish(self) -> tuple[Absatz, ...]:
        parts = [part for part in self._parts if part.blocks]
        numbers = _trusted([part.number for part in parts], parts)
        counts_unnumbered = self._counts and [p.number for p in parts] == [None]
        if counts_unnumbered and len(parts[0].subparagraphs) > 1:
            return tuple(Absatz(str(n), tuple(blocks)) for n, blocks in enumerate(parts[0].subparagraphs, 1))
        return tuple(
            Absatz(number, tuple(self._with_subparagraphs(part, number)))
            for part, number in zip(parts, numbers, strict=True)
        )

    def _with_subparagraphs(self, part: _Part, number: str | None) -> list[Block]:
        if not self._counts or number is None or len(part.subparagraphs) < 2:
            return part.blocks
        return [
            replace(block, path=(Step("unterabsatz", str(n)), *block.path))
            for n, blocks in enumerate(part.subparagraphs, 1)
            for block in blocks
        ]


def _form(marker: str, line: Line) -> tuple[bool, int, bool]:
    """How Absatz numbers of a provision are printed; they all look alike."""
    return marker.startswith("("), line.depth or 0, line.indent > 1


def _trusted(numbers: Sequence[str | None], parts: Sequence[_Part]) -> list[str | None]:
    """Mend or drop numbers that the source misprinted.

    A first Absatz without number before "(2)" is Absatz 1. Of two with the same number only that at its own place
    keeps it: "2., 2., 3." is no Absatz 2 twice.
    """
    trusted = list(numbers)
    if len(trusted) > 1 and trusted[0] is None and trusted[1] == "2" and is_closed(parts[0].blocks[-1].text):
        trusted[0] = "1"
    for index, number in enumerate(trusted):
        if number is not None and numbers.count(number) > 1 and number != str(index + 1):
            trusted[index] = None
    return trusted
