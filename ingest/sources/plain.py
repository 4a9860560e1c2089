"""Read a file as plain text for the text rules: UTF-8 text, or the text layer of a PDF, pages apart by form feeds."""

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pypdfium2

from normalize.errors import SourceError

PAGE_BREAK = "\f"
_PDF = b"%PDF-"


def read_plain(path: Path) -> str:
    """Return the text of a file. Raises SourceError if it cannot be read, or is neither UTF text nor a PDF."""
    data = _read(path)
    if data.startswith(_PDF):
        return PAGE_BREAK.join(pdf_pages(data, path.name))
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        raise SourceError(f"{path} is neither UTF-8 text nor a PDF: save it as UTF-8.") from None


def pdf_pages(data: bytes, origin: str) -> list[str]:
    """Return the text layer of each page, as the PDF has it. Raises SourceError naming `origin` if it is damaged."""
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise SourceError(f"{origin} is no readable PDF ({error}): get the file anew.") from None
    try:
        return [page.get_textpage().get_text_range() for page in document]
    finally:
        document.close()


def read_json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON lines file. Raises SourceError with the line that is none."""
    yield from json_lines(_read(path), path.name)


def json_lines(data: bytes, origin: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of JSON lines in UTF-8; only a line feed ends a line, whatever else stands inside a string.

    Raises SourceError naming `origin` and the line that is no object, is not UTF-8 or holds half a character.
    """
    for number, line in enumerate(data.removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line.decode("utf-8"))
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except json.JSONDecodeError as error:
            raise SourceError(f"{origin} line {number} is no JSON ({error.msg}): mend the line.") from None
        except UnicodeDecodeError:
            raise SourceError(f"{origin} line {number} is not UTF-8: save the file as UTF-8.") from None
        except UnicodeEncodeError:
            raise SourceError(f"{origin} line {number} holds a lone surrogate, half a character: mend it.") from None
        except (RecursionError, ValueError) as error:
            raise SourceError(f"{origin} line {number} cannot be read ({error}): mend the line.") from None
        if not isinstance(value, dict):
            raise SourceError(f"{origin} line {number} is no JSON object: one payload a line is expected.")
        yield value


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path} cannot be read ({error.strerror}): check the path and its permissions.") from None
