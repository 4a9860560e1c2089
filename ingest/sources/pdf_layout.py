"""Read the printed lines of a PDF: clean text, and where on the page each line stands.

The text rules work on text alone; the places of the lines come from PDFium. The two meet again line by line: what
cleaning took out (running heads, feet, notes) has no partner, what it joined has several.
"""

import ctypes
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import pypdfium2
import pypdfium2.raw as pdfium

from normalize.errors import SourceError
from normalize.text import CleanedPages, clean_pages

# A page without text but with a picture of this share of its area is a scan: its words would be lost.
_SCAN_AREA = 0.25
# So many drawn shapes on a page without text are letters drawn as outlines.
_OUTLINES = 500
_END_OF_FILE = b"%%EOF"
# A file may go on for so many bytes after its end mark (blanks, a mail's remains), but not with a further object.
_TAIL = 2048
# Letters and digits that must agree for a clean line to be a printed one.
_AGREEING = 8
_BOLD_WEIGHT = 600
_FONT_NAME = 128
_NOTE = re.compile(r"\s*\(?\s*(\d{1,3})(?:\s*\)\s*|\s+)(?=\S)")
# A raised sign is this much lower than the one beside it.
_RAISED = 0.8
# A centred line is at least so far in, and at most so far off the middle (points).
_INDENT = 8.0
_OFF_CENTRE = 8.0
# Lines nearer than this are one line with raised signs.
_CLOSEST_LINES = 5.0
# Distance of lines, as a multiple of the usual one, from which on a paragraph begins.
_PARAGRAPH_GAP = 1.15


@dataclass(frozen=True, slots=True)
class Line:
    """A clean printed line. `left`, `right` and `text_left` are points from the page's left edge.

    `text_left` is where the second word begins: the text of an item after its marker. `gap` tells that more than the
    usual space (or a page's edge: None) is above. `centred` and `marked` (bold, italic) are signs of a heading.
    `room` is left to the right margin and `word` the width of the first word, in points: where the next line's first
    word had room, the line ended on purpose. `filled` lines all but reach the margin. `notes` are the footnotes whose
    marks stood in the line.
    """

    text: str
    page: int
    left: float
    right: float
    text_left: float
    gap: bool | None
    centred: bool = False
    marked: bool = False
    filled: bool = False
    room: float = 0.0
    word: float = 0.0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Printed:
    """A raw line of the text layer and its place; baselines count from the page's bottom.

    The two baselines differ where PDFium joined lines at a hyphen.
    """

    key: str
    left: float
    right: float
    text_left: float
    baseline: float
    last_baseline: float
    page_width: float
    marked: bool
    notes: tuple[str, ...] = ()

    @property
    def word(self) -> float:
        """The width of the first word."""
        return (self.text_left if self.text_left > self.left else self.right) - self.left


def read_layout(data: bytes, origin: str) -> list[Line]:
    """Return the lines of a PDF in reading order.

    Raises SourceError naming `origin` if the file is damaged or cut off, and if the words of any page cannot be read
    (a broken text layer, a scan): the message names the pages, since a document with holes must not be ingested.
    """
    end = data.rfind(_END_OF_FILE)
    if end < 0 or end < len(data) - _TAIL or b" obj" in data[end:]:
        raise SourceError(f"{origin} is cut off (a PDF ends with %%EOF): get the file anew.")
    try:
        document = pypdfium2.PdfDocument(data)
        try:
            raw = [_read_page(document[index]) for index in range(len(document))]
        finally:
            document.close()
    except pypdfium2.PdfiumError as error:
        raise SourceError(f"{origin} is no readable PDF ({error}): get the file anew.") from None
    cleaned = clean_pages([text for text, _, _ in raw])
    unreadable = dict(cleaned.refused) | {index: reason for index, (_, _, reason) in enumerate(raw) if reason}
    if unreadable:
        first = min(unreadable)
        raise SourceError(
            f"{origin} cannot be read whole: {_name_pages(unreadable)} of {len(raw)} {_have(unreadable)} no readable "
            f"text (page {first + 1}: {unreadable[first]}); take another format of the document (XML, HTML) or give it "
            f"a new text layer."
        )
    if not any(page.strip() for page in cleaned.pages):
        raise SourceError(f"{origin} holds no text: it needs a text layer (OCR) or another format (XML, HTML).")
    return _place([printed for _, printed, _ in raw], cleaned)


def _name_pages(indices: dict[int, str]) -> str:
    numbers = [str(index + 1) for index in sorted(indices)]
    return f"page {numbers[0]}" if len(numbers) == 1 else f"pages {', '.join(numbers[:-1])} and {numbers[-1]}"


def _have(indices: dict[int, str]) -> str:
    return "has" if len(indices) == 1 else "have"


# --- What PDFium says ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _RawLine:
    """A line of the text layer: its text, and the indices of its signs that are no blanks."""

    text: str
    start: int
    signs: tuple[int, ...]


def _read_page(page: pypdfium2.PdfPage) -> tuple[str, list[_Printed], str | None]:
    """Return the text of a page without its footnotes, its printed lines, and why its words cannot be read, if so."""
    layer = page.get_textpage()
    text = str(layer.get_text_range())
    if not text.strip():
        return text, [], _picture_reason(page)
    if len(text) != layer.count_chars():  # signs outside the basic plane: places cannot be counted off
        return text, [], None
    lines = list(_raw_lines(text))
    notes = _find_notes(layer, lines)
    taken = {index for note in notes for index in note.lines}
    kept: list[str] = []
    printed: list[_Printed] = []
    for index, line in enumerate(lines):
        if index in taken:
            continue
        marks = {at for note in notes for at in note.mark if line.start <= at < line.start + len(line.text)}
        stretch = "".join(sign for at, sign in enumerate(line.text, line.start) if at not in marks)
        kept.append(stretch)
        signs = tuple(at for at in line.signs if at not in marks)
        if signs:
            own = tuple(note.text for note in notes if marks.intersection(note.mark))
            printed.append(replace(_printed(layer, line, signs), key=_key(stretch), notes=own))
    return "\r\n".join(kept), printed, None


def _raw_lines(text: str) -> Iterator[_RawLine]:
    start = 0
    for line in text.split("\n"):
        stretch = line.rstrip("\r")
        yield _RawLine(stretch, start, tuple(start + at for at, sign in enumerate(stretch) if not sign.isspace()))
        start += len(line) + 1


def _printed(layer: pypdfium2.PdfTextPage, line: _RawLine, signs: Sequence[int]) -> _Printed:
    second = next((at for at in signs[1:] if line.text[at - line.start - 1].isspace()), None)
    left = layer.get_charbox(signs[0], loose=True)[0]
    return _Printed(
        key="",
        left=left,
        right=max(layer.get_charbox(at, loose=True)[2] for at in (signs[0], signs[-1])),
        text_left=left if second is None else layer.get_charbox(second, loose=True)[0],
        baseline=_baseline(layer, signs[0]),
        last_baseline=_baseline(layer, signs[-1]),
        page_width=layer.page.get_width(),
        marked=_is_marked(layer, signs[len(signs) // 2]),
    )


def _baseline(layer: pypdfium2.PdfTextPage, index: int) -> float:
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetCharOrigin(layer, index, x, y)
    return y.value


def _is_marked(layer: pypdfium2.PdfTextPage, index: int) -> bool:
    if pdfium.FPDFText_GetFontWeight(layer, index) >= _BOLD_WEIGHT:
        return True
    name, flags = ctypes.create_string_buffer(_FONT_NAME), ctypes.c_int()
    pdfium.FPDFText_GetFontInfo(layer, index, name, _FONT_NAME, flags)
    return any(word in name.value.lower() for word in (b"bold", b"italic", b"oblique"))


@dataclass(frozen=True, slots=True)
class _Note:
    """A footnote of a page: its text, the indices of its lines, and of the signs of its mark in the text above."""

    text: str
    lines: tuple[int, ...]
    mark: tuple[int, ...]


def _find_notes(layer: pypdfium2.PdfTextPage, lines: Sequence[_RawLine]) -> list[_Note]:
    """Find the footnotes of a page: lines that begin with a small raised number that also
    stands raised after a word above."""
    notes: list[_Note] = []
    foot: float | None = None
    for index, line in enumerate(lines):
        if not line.signs:
            continue
        baseline = _baseline(layer, line.signs[-1])
        match = _NOTE.match(line.text)
        if (
            match
            and (foot is None or baseline < foot)
            and _is_raised(layer, line.start + match.start(1), line.signs[-1])
        ):
            mark = _find_mark(layer, lines[:index], match[1])
            if mark is not None:
                notes.append(_Note(line.text[match.end() :].strip(), (index,), mark))
                foot = baseline
                continue
        if foot is not None and baseline < foot:
            last = notes[-1]
            notes[-1] = replace(last, text=f"{last.text} {line.text.strip()}", lines=(*last.lines, index))
            foot = baseline
    return notes


def _find_mark(layer: pypdfium2.PdfTextPage, lines: Sequence[_RawLine], number: str) -> tuple[int, ...] | None:
    pattern = re.compile(rf"\s*\(?\s*({number})(?:\s*\))?(?![\w.])")
    for line in lines:
        for match in pattern.finditer(line.text):
            begin = line.start + match.start()
            before = [at for at in line.signs if at < begin]
            if before and _is_raised(layer, line.start + match.start(1), before[-1]):
                return tuple(range(begin, line.start + match.end()))
    return None


def _is_raised(layer: pypdfium2.PdfTextPage, index: int, beside: int) -> bool:
    """Tell whether a sign is smaller than the one it stands beside: a mark of a footnote, or an exponent."""
    heights = []
    for at in (index, beside):
        _, bottom, _, top = layer.get_charbox(at, loose=True)
        heights.append(top - bottom)
    return bool(heights[0] < _RAISED * heights[1])


def _picture_reason(page: pypdfium2.PdfPage) -> str | None:
    """Say why a page without text is not just blank, or None if it is."""
    width, height = page.get_size()
    shapes = 0
    for item in page.get_objects():
        if item.type == pdfium.FPDF_PAGEOBJ_PATH:
            shapes += 1
        elif item.type == pdfium.FPDF_PAGEOBJ_IMAGE:
            left, bottom, right, top = item.get_bounds()
            if (right - left) * (top - bottom) >= _SCAN_AREA * width * height:
                return "it is a picture without a text layer"
    return "its letters are drawn as outlines" if shapes >= _OUTLINES else None


# --- Lines that are clean and placed -------------------------------------------------------------------------------


def _key(text: str) -> str:
    """Letters and digits of a line: what cleaning never changes, but for what it takes out."""
    return "".join(filter(str.isalnum, text)) or text.strip()


def _place(printed: Sequence[Sequence[_Printed]], cleaned: CleanedPages) -> list[Line]:
    matched = [
        _match(page, text.split("\n")) if text else [] for page, text in zip(printed, cleaned.pages, strict=True)
    ]
    column = _Column.of([place for page in matched for _, places in page for place in places])
    lines: list[Line] = []
    for number, page in enumerate(matched, 1):
        above: float | None = None
        for text, places in page:
            lines.append(_line(text, number, places, above, column))
            above = places[-1].last_baseline if places else above
    return lines


_Matched = list[tuple[str, list[_Printed]]]


def _match(page: Sequence[_Printed], lines: Sequence[str]) -> _Matched:
    """Give each clean line of a page the printed lines it was made of, in order; none where that is not plain."""
    result: _Matched = []
    at = 0
    for line in lines:
        if not line.strip():
            continue
        key = _key(line)
        first = next((i for i in range(at, len(page)) if _agrees(key, page[i].key)), None)
        if first is None:
            result.append((line.strip(), []))
            continue
        end = first + 1
        length = len(page[first].key)
        while end < len(page) and length < len(key) and key[length:].startswith(page[end].key):
            length += len(page[end].key)
            end += 1
        result.append((line.strip(), list(page[first:end])))
        at = end
    return result


def _agrees(clean: str, printed: str) -> bool:
    length = min(len(clean), len(printed), _AGREEING)
    return clean[:length] == printed[:length] and (length == _AGREEING or len(printed) <= len(clean))


@dataclass(frozen=True, slots=True)
class _Column:
    """The type area of a document: its margins in points, and the usual distance of lines in a paragraph.

    That is how far apart lines are where the next word had no room; 0.0 where no line wraps.
    """

    left: float
    right: float
    pitch: float

    @staticmethod
    def of(places: Sequence[_Printed]) -> "_Column":
        if not places:
            return _Column(0.0, 0.0, 0.0)
        lefts = Counter(round(place.left) for place in places)
        common = [left for left, count in lefts.items() if count * 50 >= len(places)]
        rights = sorted(place.right for place in places)
        right = rights[int(len(rights) * 0.99)]
        wraps = Counter(
            round((above.last_baseline - below.baseline) * 2) / 2
            for above, below in pairwise(places)
            if above.last_baseline - below.baseline > _CLOSEST_LINES and above.right + below.word > right
        )
        usual = min(wraps, key=lambda pitch: (-wraps[pitch], pitch), default=0.0)
        return _Column(float(min(common, default=0)), right, usual)


def _line(text: str, page: int, places: Sequence[_Printed], above: float | None, column: _Column) -> Line:
    if not places:
        return Line(text, page, column.left, column.right, column.left, gap=False)
    first, last = places[0], places[-1]
    gap: bool | None = None
    if above is not None:
        distance = above - first.baseline
        gap = distance > column.pitch * _PARAGRAPH_GAP if distance > 0 else None
    middle = (first.left + first.right) / 2
    middles = (first.page_width / 2, (column.left + column.right) / 2)
    centred = first.left > column.left + _INDENT and min(abs(middle - m) for m in middles) < _OFF_CENTRE
    return Line(
        text=text,
        page=page,
        left=first.left,
        right=last.right,
        text_left=first.text_left,
        gap=gap,
        centred=centred,
        marked=first.marked,
        filled=last.right > column.right - 0.12 * (column.right - column.left),
        room=column.right - last.right,
        notes=tuple(note for place in places for note in place.notes),
        word=first.word,
    )
