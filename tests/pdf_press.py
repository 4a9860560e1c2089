"""Print small PDFs for tests: lines at places, as a page of a gazette has them."""

import ctypes
import io
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium

from ingest.tree import Absatz, Provision

WIDTH, HEIGHT = 595.0, 842.0
MARGIN = 60.0
_TOP, _PITCH, _GAP, _SIZE = 780.0, 11.0, 15.0, 8.0
_SMALL = 5.0
_ADVANCE = 0.6 * _SIZE  # all signs of Courier are as wide
_RIGHT = WIDTH - MARGIN


@dataclass(frozen=True)
class Row:
    """A printed line: `left` in points (None is centred), with paragraph space above or not, bold or not.

    `note` and `mark` are small raised signs before and after it.
    """

    text: str
    left: float | None = MARGIN
    gap: bool = True
    bold: bool = False
    note: str = ""
    mark: str = ""


def centred(text: str, *, bold: bool = True) -> Row:
    return Row(text, None, bold=bold)


def more(text: str, left: float = MARGIN) -> Row:
    """A line that goes on with the one before."""
    return Row(text, left, gap=False)


def press(*pages: Iterable[Row]) -> bytes:
    """Return a PDF of these pages."""
    document = pypdfium2.PdfDocument.new()
    fonts = {
        bold: pdfium.FPDFText_LoadStandardFont(document, name)
        for bold, name in ((False, b"Courier"), (True, b"Courier-Bold"))
    }
    for rows in pages:
        page = document.new_page(WIDTH, HEIGHT)
        baseline = _TOP
        for row in rows:
            baseline -= _GAP if row.gap else _PITCH
            if row.note:
                _print(document, page, fonts[False], Row(row.note, MARGIN - 15), baseline + 3, size=_SMALL)
            left = _print(document, page, fonts[row.bold], row, baseline)
            if row.mark:
                end = left + len(row.text) * _ADVANCE
                _print(document, page, fonts[False], Row(row.mark, end), baseline + 3, size=_SMALL)
        pdfium.FPDFPage_GenerateContent(page)
    buffer = io.BytesIO()
    document.save(buffer)
    document.close()
    return buffer.getvalue()


def _print(
    document: pypdfium2.PdfDocument,
    page: pypdfium2.PdfPage,
    font: pdfium.FPDF_FONT,
    row: Row,
    baseline: float,
    size: float = _SIZE,
) -> float:
    text = pdfium.FPDFPageObj_CreateTextObj(document, font, size)
    encoded = ctypes.create_string_buffer(row.text.encode("utf-16-le") + b"\x00")
    pdfium.FPDFText_SetText(text, ctypes.cast(encoded, pdfium.FPDF_WIDESTRING))
    left = row.left
    if left is None:
        edges = [ctypes.c_float() for _ in range(4)]
        pdfium.FPDFPageObj_GetBounds(text, *edges)
        left = (WIDTH - (edges[2].value - edges[0].value)) / 2
    pdfium.FPDFPageObj_Transform(text, 1, 0, 0, 1, left, baseline)
    pdfium.FPDFPage_InsertObject(page, text)
    return left


# --- Whole acts ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class House:
    """How a gazette sets its pages: signs of hanging text and of first-line indents, and space between paragraphs."""

    hanging: int
    first_line: int
    spaced: bool
    rows: int = 48


FEDERAL = House(hanging=4, first_line=2, spaced=True)
COUNCIL = House(hanging=6, first_line=0, spaced=True)
TIGHT = House(hanging=5, first_line=0, spaced=False)


def typeset(provisions: Iterable[Provision], house: House) -> bytes:
    """Print the numbered provisions of an act as a gazette would."""
    rows: list[Row] = [centred("Gesetz zur Probe des Satzes"), centred("Vom 1. Januar 2020")]
    context: tuple[str, ...] = ()
    for provision in provisions:
        if provision.kind != "norm" or not provision.absaetze:
            continue
        new = provision.context
        for depth, line in enumerate(new):
            if context[: depth + 1] != new[: depth + 1]:
                rows += [centred(part) for part in _wrap(line, 60)]
        context = new
        sign = "§" if provision.style == "paragraph" else "Artikel"
        rows.append(centred(f"{sign} {provision.article}"))
        if provision.heading:
            rows += [centred(part) for part in _wrap(provision.heading, 60)]
        for absatz in provision.absaetze:
            rows += _typeset_absatz(absatz, house)
    pages = [rows[start : start + house.rows] for start in range(0, len(rows), house.rows)]
    return press(*pages)


def _typeset_absatz(absatz: Absatz, house: House) -> Iterator[Row]:
    for number, block in enumerate(absatz.blocks):
        label = f"({absatz.number}) " if number == 0 and absatz.number else ""
        first = house.first_line if number == 0 else 0
        depth = len(block.path) - bool(block.marker and block.path)
        marker = block.marker.ljust(house.hanging - 1) + " " if block.marker else ""
        rest = depth * house.hanging + (house.hanging if block.marker else 0)
        columns = int((_RIGHT - MARGIN) / _ADVANCE)
        text = " " * (depth * house.hanging + first) + label + marker + block.text.replace("\u2011", "-")
        for index, line in enumerate(_wrap(text, columns, rest)):
            indent = len(line) - len(line.lstrip())
            yield Row(line.lstrip(), MARGIN + indent * _ADVANCE, gap=house.spaced and index == 0)


def _wrap(text: str, columns: int, rest: int = 0) -> list[str]:
    return textwrap.wrap(text, columns, subsequent_indent=" " * rest, break_long_words=False, break_on_hyphens=False)
