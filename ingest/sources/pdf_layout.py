"""Read the printed lines of a PDF: clean text, and where on the page each line stands.

The text rules work on text alone; the places of the lines come from PDFium. The two meet again line by line: what
cleaning took out (running heads, feet, notes) has no partner, what it joined has several.
"""

import ctypes
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium

from normalize.errors import SourceError
from normalize.text import CleanedPages, clean_pages

# A page without text but with a picture of this share of its area is a scan: its words would be lost.
_SCAN_AREA = 0.25
# So many drawn shapes on a page without text are letters drawn as outlines.
_OUTLINES = 500
_END_OF_FILE = b"%%EOF"
_TAIL = 2048
# Letters and digits that must agree for a clean line to be a printed one.
_AGREEING = 8
_BOLD_WEIGHT = 600
_FONT_NAME = 128
# Points that lines may differ by and still be aligned.
TOLERANCE = 2.5
# Distance of lines, as a multiple of the usual one, from which on a paragraph begins.
_PARAGRAPH_GAP = 1.15


@dataclass(frozen=True, slots=True)
class Line:
    """A clean printed line. `left`, `right` and `text_left` are points from the page's left edge.

    `text_left` is where the second word begins: the text of an item after its marker. `gap` tells that more than the
    usual space (or a page's edge: None) is above. `centred` and `marked` (bold, italic) are signs of a heading.
    `filled` tells that the line reaches the right margin, so the next one may go on with it.
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


@dataclass(frozen=True, slots=True)
class _Printed:
    """A raw line of the text layer and its place; `baseline` counts from the page's bottom."""

    key: str
    text: str
    left: float
    right: float
    text_left: float
    baseline: float
    marked: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """The lines of a document in reading order, and the footnotes taken off its pages, by page (from 1)."""

    lines: tuple[Line, ...]
    footnotes: tuple[tuple[int, str], ...]
    pages: int


def read_layout(data: bytes, origin: str) -> Layout:
    """Return the lines of a PDF.

    Raises SourceError naming `origin` if the file is damaged or cut off, and if the words of any page cannot be read
    (a broken text layer, a scan): the message names the pages, since a document with holes must not be ingested.
    """
    if _END_OF_FILE not in data[-_TAIL:]:
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


def _read_page(page: pypdfium2.PdfPage) -> tuple[str, list[_Printed], str | None]:
    """Return the text of a page as the PDF has it, its printed lines, and why its words cannot be read, if so."""
    layer = page.get_textpage()
    text = str(layer.get_text_range())
    if not text.strip():
        return text, [], _picture_reason(page)
    printed: list[_Printed] = []
    start = 0
    exact = len(text) == layer.count_chars()
    for line in text.split("\n"):
        stretch = line.rstrip("\r")
        signs = [start + offset for offset, sign in enumerate(stretch) if not sign.isspace()]
        if signs and exact:
            printed.append(_printed(layer, stretch, start, signs))
        start += len(line) + 1
    return text, printed, None


def _printed(layer: pypdfium2.PdfTextPage, text: str, start: int, signs: Sequence[int]) -> _Printed:
    blank = next((index for index in signs if text[index - start - 1 : index - start].isspace() and index > signs[0]), -1)
    left, _, _, _ = layer.get_charbox(signs[0], loose=True)
    rights = [layer.get_charbox(index, loose=True)[2] for index in (signs[0], signs[-1])]
    text_left = layer.get_charbox(blank, loose=True)[0] if blank >= 0 else left
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetCharOrigin(layer, signs[0], x, y)
    middle = signs[len(signs) // 2]
    return _Printed(_key(text), text, left, max(rights), text_left, y.value, _is_marked(layer, middle))


def _is_marked(layer: pypdfium2.PdfTextPage, index: int) -> bool:
    if pdfium.FPDFText_GetFontWeight(layer, index) >= _BOLD_WEIGHT:
        return True
    name, flags = ctypes.create_string_buffer(_FONT_NAME), ctypes.c_int()
    pdfium.FPDFText_GetFontInfo(layer, index, name, _FONT_NAME, flags)
    return any(word in name.value.lower() for word in (b"bold", b"italic", b"oblique"))


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


def _place(printed: Sequence[Sequence[_Printed]], cleaned: CleanedPages) -> Layout:
    matched = [
        _match(page, text.split("\n")) if text else [] for page, text in zip(printed, cleaned.pages, strict=True)
    ]
    found = [place for page in matched for _, places in page for place in places]
    column = _Column.of(found)
    lines: list[Line] = []
    for number, page in enumerate(matched, 1):
        above: float | None = None
        for text, places in page:
            lines.append(_line(text, number, places, above, column))
            above = places[-1].baseline if places else None
    notes = [
        (number, _note_of(page, matched_page)) for number, (page, matched_page) in enumerate(zip(printed, matched, strict=True), 1)
    ]
    kept = {stretch for rule, stretch in cleaned.removed if rule == "page-footnotes"}
    footnotes = tuple((number, note) for number, found_notes in notes for note in found_notes if _was_removed(note, kept))
    return Layout(tuple(lines), footnotes, len(printed))


def _note_of(page: Sequence[_Printed], matched: Sequence[tuple[str, Sequence[_Printed]]]) -> list[str]:
    """The lines of a page that have no place in its clean text, joined to notes where one starts with a number."""
    used = {id(place) for _, places in matched for place in places}
    notes: list[str] = []
    for place in page:
        if id(place) in used:
            continue
        text = " ".join(place.text.split())
        if text[:1].isdigit():
            notes.append(text)
        elif notes:
            notes[-1] += f" {text}"
    return notes


def _was_removed(note: str, removed: set[str]) -> bool:
    key = _key(note)
    return any(key in _key(stretch) for stretch in removed)


def _match(page: Sequence[_Printed], lines: Sequence[str]) -> list[tuple[str, list[_Printed]]]:
    """Give each clean line of a page the printed lines it was made of, in order; none where that is not plain."""
    result: list[tuple[str, list[_Printed]]] = []
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
    """The type area of a document: its margins in points, and the usual distance of lines (0.0 where unknown)."""

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
        pitches = Counter(
            round(above.baseline - below.baseline, 1)
            for above, below in zip(places, places[1:], strict=False)
            if above.baseline > below.baseline and abs(above.left - below.left) < 100
        )
        usual = max(sorted(pitches), key=lambda pitch: pitches[pitch]) if pitches else 0.0
        return _Column(float(min(common)), rights[int(len(rights) * 0.98)], usual)


def _line(text: str, page: int, places: Sequence[_Printed], above: float | None, column: _Column) -> Line:
    if not places:
        return Line(text, page, column.left, column.right, column.left, gap=False)
    first, last = places[0], places[-1]
    gap: bool | None = None
    if above is not None:
        distance = above - first.baseline
        gap = distance > column.pitch * _PARAGRAPH_GAP if distance > 0 else None
    middle = (first.left + first.right) / 2
    centred = abs(middle - (column.left + column.right) / 2) < 4 * TOLERANCE and first.left > column.left + 8
    return Line(
        text=text,
        page=page,
        left=first.left,
        right=last.right,
        text_left=first.text_left,
        gap=gap,
        centred=centred and first.right < column.right - 8,
        marked=first.marked,
        filled=last.right > column.right - 0.12 * (column.right - column.left),
    )
