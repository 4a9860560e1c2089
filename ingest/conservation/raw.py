"""Read the lines of PDF, pages without classes, and plain text for the proof of conservation, without their readers."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import pypdfium2
from lxml import html

from ingest.conservation.compare import Stretch, letters
from ingest.conservation.lines import FURNITURE, MARK_ENDS, MARK_OPENS, line_stretches
from ingest.tree import Act

_DIGITS: Final = re.compile(r"\d+")
_PAGES_OF_FURNITURE: Final = 3
_LINES_OF_FURNITURE: Final = 4
# The raised number of a footnote reads as digits at the end of a word.
_RAISED: Final = re.compile(r"(?<=[^\W\d_]|[”“\")])(\d{1,2})(?=[\s,.;:]|$)")
# Marks of amendments in consolidated pages, and the number of a footnote set behind a word.
_AMENDMENT: Final = re.compile(
    r"([►▼◄]\s*(?:[BMCA]\d{0,3}\b)?|^\s*[BMCA]\d{1,3}\s*$|^\s*B\s*$|(?<=\w)\s?\(\d{1,2}\)(?=[\s,.;:]|$))"
)
_FRAME: Final = "---"
_BLOCKS: Final = frozenset(
    ("p", "div", "td", "th", "li", "h1", "h2", "h3", "h4", "h5", "h6", "tr", "table", "br", "dt", "dd")
)
_NEVER: Final = frozenset(("head", "script", "style", "title"))
_NOTE_CLASS: Final = re.compile(r"\b(?:FootnoteReference|note-tag|super)\b")
_NOTE_TEXT: Final = re.compile(r"[\s(\[]*\d{1,3}[\s)\]]*")


def pdf_stretches(data: bytes, act: Act) -> Iterator[Stretch]:
    """Yield the stretches of a PDF; lines at the edge of at least three pages may be missing from the chunks."""
    pages = [_page_lines(page) for page in pypdfium2.PdfDocument(data)]
    repeated = _repeated(pages)
    lines: list[str] = []
    for page in pages:
        edge = {*range(_LINES_OF_FURNITURE), *range(len(page) - _LINES_OF_FURNITURE, len(page))}
        for number, line in enumerate(page):
            if number in edge and _masked(line) in repeated:
                lines.append(FURNITURE + line)
            else:
                lines.append(_RAISED.sub(rf"{MARK_OPENS}\1{MARK_ENDS}", line))
    yield from line_stretches(lines, act)


def _page_lines(page: pypdfium2.PdfPage) -> list[str]:
    text = page.get_textpage().get_text_range()
    return [line for line in re.split(r"[\r\n]+", text.replace("\ufffe", "-")) if line.strip()]


def _repeated(pages: Sequence[Sequence[str]]) -> frozenset[str]:
    """Lines at the edge of at least three pages, whatever numbers stand in them."""
    seen: Counter[str] = Counter()
    for page in pages:
        seen.update({_masked(line) for line in (*page[:_LINES_OF_FURNITURE], *page[-_LINES_OF_FURNITURE:])})
    return frozenset(line for line, count in seen.items() if count >= _PAGES_OF_FURNITURE)


def _masked(line: str) -> str:
    return _DIGITS.sub("", letters(line))


def plain_page_stretches(data: bytes, act: Act) -> Iterator[Stretch]:
    """Yield the stretches of a page without classes: the text of its blocks."""
    parser = html.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    lines = [""]
    _read_blocks(html.document_fromstring(data, parser=parser), lines)
    marked = (_AMENDMENT.sub(rf"{MARK_OPENS}\1{MARK_ENDS}", line) for line in lines if line.strip())
    yield from line_stretches([" ".join(line.split()) for line in marked], act)


def _read_blocks(element: html.HtmlElement, lines: list[str]) -> None:
    if not isinstance(element.tag, str) or element.tag in _NEVER:
        return
    text = element.text_content()
    if _is_note(element) and _NOTE_TEXT.fullmatch(text):
        lines[-1] += f"{MARK_OPENS}{text}{MARK_ENDS}"
        return
    is_block = element.tag in _BLOCKS
    if is_block:
        lines.append("")
    lines[-1] += element.text or ""
    for child in element:
        _read_blocks(child, lines)
        lines[-1] += child.tail or ""
    if is_block:
        lines.append("")


def _is_note(element: html.HtmlElement) -> bool:
    is_link = element.tag == "a" and "#" in (element.get("href") or "")
    return element.tag == "sup" or is_link or _NOTE_CLASS.search(element.get("class") or "") is not None


def text_stretches(data: bytes, act: Act) -> Iterator[Stretch]:
    """Yield the stretches of plain text or Markdown; what stands in a frame at its head are data of the file."""
    lines = data.decode("utf-8-sig").splitlines()
    body = 0
    if lines and lines[0].strip() == _FRAME:
        body = next((n for n, line in enumerate(lines[1:], 2) if line.strip() == _FRAME), 0)
    for line in lines[:body]:
        yield Stretch(line, "metadata")
    yield from line_stretches([line for line in lines[body:] if line.strip()], act)
