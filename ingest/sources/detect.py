"""Choose the reader by content, and refuse what is no law text: error pages, pointers, binary files, empty files."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from ingest.sources.eurlex_html import is_eurlex_html, read_eurlex_html
from ingest.sources.formex import ROOTS, read_formex
from ingest.sources.gii import read_gii
from ingest.sources.legacy import is_legacy, read_legacy
from ingest.sources.legaldocml import is_legaldocml, read_legaldocml
from ingest.sources.markup_text import is_law_text, read_markup_text
from ingest.sources.oscal import is_oscal, read_oscal
from ingest.sources.pdf import is_pdf, read_pdf
from ingest.tree import Absatz, Act
from normalize.errors import SourceError

_ROOT = re.compile(rb"<([A-Za-z_][\w.\-]*)[\s/>]")
_PROLOG = re.compile(
    rb"\A(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\])?\s*>|\s+)*", re.DOTALL
)
_LFS = b"version https://git-lfs.github.com/spec/"
_HEAD = 65_536
# The largest official files of text have some 10 MB (a PDF may hold pictures, an export of old points is no official
# file), the longest annex 0.7 million characters.
_LARGEST_FILE = 50_000_000
_LONGEST_ABSATZ = 1_500_000


@dataclass(frozen=True, slots=True)
class Format:
    """A source format: its name in manifests, the class its texts have by default, and its reader."""

    name: str
    source_class: str
    source_type: str
    read: Callable[[bytes, str], Act]


FORMATS = {
    "gii": Format("gii", "binding_law", "gesetz", read_gii),
    "formex": Format("formex", "binding_law", "gesetz", read_formex),
    "eurlex_html": Format("eurlex_html", "binding_law", "gesetz", read_eurlex_html),
    "legaldocml": Format("legaldocml", "binding_law", "gesetz", read_legaldocml),
    "oscal": Format("oscal", "control_framework", "framework", read_oscal),
    "pdf": Format("pdf", "binding_law", "gesetz", read_pdf),
    "legacy": Format("legacy", "legacy", "gesetz", read_legacy),
    "text": Format("text", "binding_law", "gesetz", read_markup_text),
}


def detect_format(data: bytes, origin: str) -> Format:
    """Return the format of a file by its content.

    Raises SourceError in one sentence if it is no text fundstelle reads.
    """
    if not data.strip():
        raise SourceError(f"{origin} is empty: get the file anew.")
    head = data[:_HEAD]
    if head.startswith(_LFS):
        raise SourceError(f"{origin} is a Git LFS pointer, not the file itself: run 'git lfs pull' where it came from.")
    if is_pdf(head):
        return FORMATS["pdf"]
    if is_legacy(head):
        return FORMATS["legacy"]
    if len(data) > _LARGEST_FILE:
        raise SourceError(
            f"{origin} has {len(data) / 1e6:,.0f} MB, more than any official text (at most "
            f"{_LARGEST_FILE / 1e6:,.0f}): refused, get the file anew."
        )
    if is_legaldocml(head):
        return FORMATS["legaldocml"]
    if is_oscal(head):
        return FORMATS["oscal"]
    if b"\x00" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SourceError(f"{origin} is a binary file: fundstelle reads {_known()} here.")
    root = _root_tag(head)
    if root == "dokumente":
        return FORMATS["gii"]
    if root in ROOTS:
        return FORMATS["formex"]
    if root.lower() == "html" and is_eurlex_html(head):
        return FORMATS["eurlex_html"]
    if not root and is_law_text(head):
        return FORMATS["text"]
    if root.lower() == "html":
        raise SourceError(f"{origin} is an HTML page where law XML was expected (an error page?): get the file anew.")
    what = f"XML with root <{root}>" if root else "no XML"
    raise SourceError(f"{origin} is {what}, which no reader here knows; fundstelle reads {_known()}.")


def _root_tag(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head.decode("utf-16", "replace").encode("utf-8")
    lowered = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not lowered.startswith(b"<"):
        return ""
    if lowered[:9].lower() == b"<!doctype" and b"html" in lowered[:60].lower():
        return "html"
    prolog = _PROLOG.match(head)
    match = _ROOT.match(head, prolog.end() if prolog else 0)
    return match[1].decode("ascii", "replace") if match else ""


def _known() -> str:
    return (
        "gii-norm XML (gesetze-im-internet.de), Formex XML and HTML pages (EUR-Lex), LegalDocML.de, PDF with a text "
        "layer, Markdown or plain text of law, OSCAL JSON catalogs, and acts that 'sources rebuild' wrote"
    )


def read_act(data: bytes, origin: str, format_name: str | None = None) -> tuple[Act, Format]:
    """Read one file. `format_name` (from the manifest) must agree with what the content says."""
    found = detect_format(data, origin)
    if format_name is not None and format_name != found.name:
        raise SourceError(f"{origin} is {found.name}, but the manifest says format {format_name!r}: mend one of them.")
    try:
        act = found.read(data, origin)
    except RecursionError:
        raise SourceError(f"{origin} nests elements deeper than any official text: refused, get it anew.") from None
    longest = max((_length(absatz) for provision in act.provisions for absatz in provision.absaetze), default=0)
    if longest > _LONGEST_ABSATZ:
        raise SourceError(
            f"{origin} holds one Absatz of {longest:,} characters, more than any official text (at most "
            f"{_LONGEST_ABSATZ:,}): refused, get the file anew."
        )
    return act, found


def _length(absatz: Absatz) -> int:
    return sum(len(block.text) for block in absatz.blocks)
