"""The text of an EUR-Lex page for the proof of conservation, cut by rules; a walk of its own, not the reader's.

Pages of the Official Journal and consolidated pages say by class what a paragraph is; for proposals and old pages
without classes see `lines`.
"""

import re
from collections.abc import Iterator
from typing import Final

from lxml import html

from ingest.conservation.compare import Stretch

_CLASSES: Final = re.compile(rb"""class=["'][^"']*\b(?:oj-)?(?:ti-art|title-article-norm)\b""")
_NEVER: Final = frozenset({"head", "script", "style", "title", "img", "nav", "button", "input"})
_RULES: Final = (
    (re.compile(r"hd-.*|separator|reference|disclaimer|arrow|modref|disp-arrow|efTooltip.*|fa"), "page-head"),
    (
        re.compile(r"doc-ti|title-doc-.*|(?:s?ti|s?title)-(?:art|section|division|annex|gr-?seq).*|eli-main-title"),
        "heading",
    ),
    (re.compile(r"note|footnote"), "footnote"),
    (re.compile(r"(?:super )?note-tag|FootnoteReference"), "footnote-mark"),
    (re.compile(r"signatory"), "signature"),
)
_PREAMBLE: Final = "preamble"
_ENACTING: Final = re.compile(r"\s*(?:HA(?:T|BEN) FOLGENDE|HA(?:S|VE) ADOPTED)")
_NUMBER: Final = re.compile(r"\s*(?:\(\d{1,3}[a-z]{0,2}\)|\d{1,3}[a-z]{0,2}\.)(?=\s)")
_RECITAL: Final = re.compile(r"\s*\(\d{1,3}\)\s*")
_NOTE_LINK: Final = re.compile(r"#(?:ntr|ntc|footnote|fn)")
_NO_LAW: Final = re.compile(r"\s*(?:\d{1,2}\.\d{1,2}\.\d{4}|Done at|Geschehen zu)\b.*", re.DOTALL)


def has_classes(data: bytes) -> bool:
    """Whether a page says by class what its paragraphs are."""
    return _CLASSES.search(data) is not None


def page_stretches(root: html.HtmlElement) -> Iterator[Stretch]:
    """Yield the stretches of a page in document order; the place is the article."""
    stretches = list(_Walk().below(root, None))
    recital = next((i for i, s in enumerate(stretches) if s.rule == "number" and s.place == _PREAMBLE), None)
    formula = next((i for i, s in enumerate(stretches) if s.place == _PREAMBLE and _ENACTING.match(s.text)), None)
    if recital is not None and formula is not None and formula > recital:
        stretches.insert(recital, stretches.pop(formula))  # the part "Präambel" holds all formulas, recitals follow it
    yield from stretches


class _Walk:
    """The walk; `place` is where it is, recitals come before the first article."""

    def __init__(self) -> None:
        self.place = _PREAMBLE

    def below(self, element: html.HtmlElement, rule: str | None) -> Iterator[Stretch]:
        """Yield the stretches below an element that stands under `rule`."""
        yield from self._own(element, rule)
        for child in element:
            if isinstance(child.tag, str) and child.tag not in _NEVER:
                yield from self.below(child, rule or self._rule(child))
            if child.tail:
                yield Stretch(child.tail, rule, self.place)

    def _own(self, element: html.HtmlElement, rule: str | None) -> Iterator[Stretch]:
        text = element.text or ""
        if rule is None and element.tag == "p" and (number := self._number(element, text)):
            yield Stretch(text[: number.end()], "number", self.place)
            text = text[number.end() :]
        if text:
            yield Stretch(text, rule, self.place)

    def _number(self, element: html.HtmlElement, text: str) -> re.Match[str] | None:
        """The number of an Absatz opens a paragraph outside a list; that of a recital has a cell of its own."""
        row = next(element.iterancestors("tr"), None)
        if row is None:
            return _NUMBER.match(text) if self.place != _PREAMBLE else None
        first = next((cell for cell in row if cell.tag == "td"), None)
        outermost = len(list(element.iterancestors("table"))) == 1
        is_cell = first is not None and element.getparent() is first
        return _RECITAL.fullmatch(text) if self.place == _PREAMBLE and outermost and is_cell else None

    def _rule(self, element: html.HtmlElement) -> str | None:
        names = [name.removeprefix("oj-") for name in (element.get("class") or "").split()]
        if "ti-art" in names or "title-article-norm" in names:
            self.place = " ".join(element.text_content().split())
        elif "ti-annex" in names or "title-annex-1" in names:
            self.place = " ".join(element.text_content().split())[:60]
        found = next((rule for name in names for pattern, rule in _RULES if pattern.fullmatch(name)), None)
        if found is None and element.tag == "a" and _NOTE_LINK.match(element.get("href") or ""):
            return "footnote-mark"
        if (found is None and "final" in names) or (element.tag == "p" and _NO_LAW.fullmatch(element.text_content())):
            return "signature" if self.place != _PREAMBLE else found
        return found
