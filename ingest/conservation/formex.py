"""The text of a Formex file for the proof of conservation, cut by rules; a walk of its own, not the reader's.

Everything is text of the act but what an element or its place says is none: bibliographic data, headings, numbers of
Absätze and recitals, footnotes, signatures. In quoted wording and in annexes, headings and numbers are text.
"""

from collections.abc import Iterator
from typing import Final

from lxml import etree

from ingest.conservation.compare import Stretch

_RULES: Final = {
    "NOTE": "footnote",
    "GR.NOTES": "footnote",
    "SIGNATURE": "signature",
    "BIB.INSTANCE": "bibliographic-data",
    "BIB.INSTANCE.CONS": "bibliographic-data",
    "BIB.DATA": "bibliographic-data",
    "BIB.OJ": "bibliographic-data",
    "BIB.VOLUME": "bibliographic-data",
    "PUBLICATION": "bibliographic-data",
    "INFO.CONSLEG": "bibliographic-data",
    "INFO.PROD": "bibliographic-data",
    "FAM.COMP": "bibliographic-data",
    "INCL.ELEMENT": "picture",
    "INCLUSIONS": "picture",
    "TOC": "contents",
}
_HEADINGS: Final = frozenset({"TI.ART", "STI.ART"})
_TITLED: Final = frozenset(
    {"ACT", "ANNEX", "CONS.ANNEX", "CONS.ACT", "CONS.DOC", "DIVISION", "ENACTING.TERMS", "LEXP.COMBINED"}
)
_ANNEXES: Final = frozenset({"ANNEX", "CONS.ANNEX"})


def formex_stretches(root: etree._Element) -> Iterator[Stretch]:
    """Yield the stretches of a Formex file in document order; the place is the article, recital or annex."""
    yield from _walk(root, None, "preamble", is_free=True)


def _walk(element: etree._Element, rule: str | None, place: str, *, is_free: bool) -> Iterator[Stretch]:
    """`is_free` tells that headings and numbers are none of the text: neither in a quotation nor in an annex."""
    if element.text:
        yield Stretch(element.text, rule, place)
    here = place
    for child in element:
        if isinstance(child.tag, str):
            here = _place(child, here)
            below = rule or _RULES.get(child.tag) or _by_place(child, is_free=is_free)
            free_below = is_free and child.tag != "QUOT.S" and child.tag not in _ANNEXES
            yield from _walk(child, below, here, is_free=free_below)
        if child.tail:
            yield Stretch(child.tail, rule, here)


def _by_place(element: etree._Element, *, is_free: bool) -> str | None:
    parent = element.getparent()
    above = parent.tag if parent is not None else None
    if element.tag == "TITLE" and above in _ANNEXES:
        return "heading"
    if not is_free:
        return None
    if element.tag in _HEADINGS or (element.tag == "TITLE" and above in _TITLED):
        return "heading"
    if element.tag == "NO.PARAG":
        return "absatz-number"
    if element.tag == "NO.P" and above == "NP" and parent.getparent().tag == "CONSID":
        return "recital-number"
    return None


def _place(element: etree._Element, place: str) -> str:
    if any(ancestor.tag == "QUOT.S" for ancestor in element.iterancestors()):
        return place
    if element.tag == "ARTICLE":
        title = element.find("TI.ART")
        return " ".join("".join(title.itertext(etree.Element)).split()) if title is not None else "article"
    if element.tag == "CONSID":
        return f"recital {' '.join((element.findtext('NP/NO.P') or '').split())}".strip()
    if element.tag in _ANNEXES:
        title = element.find("TITLE")
        return " ".join("".join(title.itertext(etree.Element)).split())[:60] if title is not None else "annex"
    return "final" if element.tag == "FINAL" else place
