"""The text of a LegalDocML.de file for the proof of conservation, cut by rules; a walk of its own, not the reader's.

Below the document everything is text of law but metadata, the table of contents, the head of the act, headings and
numbers of divisions, articles and Absätze, footnotes, and what stands beside the formula at the end (place, date,
signatures). In quoted wording headings and numbers are text.
"""

import re
from collections.abc import Iterator
from typing import Final

from lxml import etree

from ingest.conservation.compare import Stretch

_RULES: Final = {
    "meta": "metadata",
    "toc": "contents",
    "preface": "title",
    "authorialNote": "footnote",
    "note": "footnote",
    "notes": "footnote",
    "noteRef": "footnote",
    "signature": "signature",
    "componentRef": "link",
    "documentRef": "link",
    "img": "picture",
    "remark": "editorial-note",
}
_DIVISIONS: Final = frozenset(
    {"article", "book", "part", "subpart", "chapter", "subchapter", "section", "subsection", "title", "subtitle",
     "tome", "hcontainer", "division", "body", "mainBody"}
)  # fmt: skip
_ABSATZ_NUMBER: Final = re.compile(r"\s*\(?\d+\s?[a-z]{0,3}\)?\.?\s*")
_GONE: Final = re.compile(r"[\s(\[]*(?:weggefallen|aufgehoben|gestrichen|entfällt)[\s)\].;]*")


def legaldocml_stretches(root: etree._Element) -> Iterator[Stretch]:
    """Yield the stretches of a LegalDocML file in document order; the place is the article."""
    yield from _walk(root, None, "", is_quoted=False)


def _walk(element: etree._Element, rule: str | None, place: str, *, is_quoted: bool) -> Iterator[Stretch]:
    if element.text:
        yield Stretch(element.text, rule, place)
    here = place
    for child in element:
        if isinstance(child.tag, str):
            name = _name(child)
            if name == "article" and not is_quoted:
                here = " ".join(_text(next((e for e in child if _name(e) == "num"), None)).split()) or "article"
            below = rule or _RULES.get(name) or (None if is_quoted else _by_place(child, name))
            yield from _walk(
                child, below, here, is_quoted=is_quoted or name in ("quotedStructure", "embeddedStructure")
            )
        if child.tail:
            yield Stretch(child.tail, rule, here)


def _by_place(element: etree._Element, name: str) -> str | None:
    parent = element.getparent()
    above = _name(parent) if parent is not None else ""
    if name in ("num", "heading") and above in _DIVISIONS:
        return "heading"
    if name == "num" and above == "paragraph" and _ABSATZ_NUMBER.fullmatch(_text(element)):
        return "absatz-number"
    if name == "num" and above == "recital":
        return "recital-number"
    if above == "preamble" and element.get("refersTo") == "inhaltsuebersicht":
        return "contents"
    if above == "conclusions" and name != "formula":
        return "signature"
    if name in ("paragraph", "article") and _GONE.fullmatch(_law(element)):
        return "repealed"
    return None


def _law(element: etree._Element) -> str:
    """The text of an article or Absatz without its number and heading."""
    return "".join(_text(child) for child in element if _name(child) not in ("num", "heading"))


def _text(element: etree._Element | None) -> str:
    return "".join(element.itertext(etree.Element)) if element is not None else ""


def _name(element: etree._Element) -> str:
    return str(etree.QName(element).localname) if isinstance(element.tag, str) else ""
