"""Citations in the English of EU acts: "Article 6(1), point (a), of Regulation (EU) 2016/679", "paragraph 2".

Read as the joint practical guide of the institutions has them written (guideline 16), and in the older order ("point
(a) of Article 6(1)"). Where it is not certain what is meant the place is found and not resolved, as in German texts.
"""

import re
from dataclasses import dataclass, field, replace

from normalize.citing.english_acts import read_english_law
from normalize.citing.model import Element, Found, Inventory, LawName
from normalize.citing.resolve import targets_of
from normalize.laws import Law, LawTable
from normalize.units import Path, Step, may_follow, sibling

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ORDINAL = rf"(?:{'|'.join(_ORDINALS)})"
_BLOCK = (
    rf"(?P<ordinals>{_ORDINAL}(?:(?:,\s|,?\sand\s|,?\sor\s|\sto\s){_ORDINAL}){{0,9}})\s"
    r"(?P<block>subparagraph|sentence|indent)s?\b"
)
_BLOCK_LEVELS = {"subparagraph": "unterabsatz", "sentence": "satz", "indent": "gedankenstrich"}
_NUMBER = r"\d{1,4}(?:[a-z]{1,2}\b|\b)(?![/%]|\.\d)"
_ROMAN = r"[IVXLC]{1,6}[a-z]?\b"

ENGLISH_ANCHOR = re.compile(
    r"\b(?:Articles?\s(?=\d)|Annex(?:es)?\s(?=[IVXLC])|[Rr]ecitals?\s(?=\(?\d)|[Pp]aragraphs?\s(?=\d)|"
    rf"[Pp]oints?\s(?=\(|\d)|{_ORDINAL}\s(?=subparagraph|sentence|indent|(?:and|or|to)\s{_ORDINAL}|,\s{_ORDINAL}))"
)
_ARTICLES = re.compile(rf"Article(?P<plural>s)?\s(?P<value>{_NUMBER})")
_ANNEXES = re.compile(rf"Annex(?P<plural>es)?\s(?P<value>{_ROMAN})")
_RECITALS = re.compile(r"[Rr]ecital(?P<plural>s)?\s\(?(?P<value>\d{1,3})\)?")
_PARAGRAPHS = re.compile(rf"[Pp]aragraphs?\s(?P<value>{_NUMBER})")
_POINTS = re.compile(
    r"[Pp]oints?\s(?:\((?P<letter>[a-z]{1,2})\)|\((?P<number>\d{1,3}[a-z]?)\)|(?P<bare>\d{1,3}[a-z]?\b(?!/)))"
)
_BLOCKS = re.compile(_BLOCK, re.IGNORECASE)
_BRACKETS = re.compile(r"\s?\((?:(?P<number>\d{1,3}[a-z]?)|(?P<roman>[ivx]{2,5})|(?P<letter>[a-z]{1,2}))\)")
_COMMA = re.compile(r",?\s(?:the\s)?")
_INTRODUCTION = re.compile(r",?\s(?:the\s)?introductory\s(?:wording|part|phrase|sentence)")
_DIVISION = re.compile(r",?\s(?P<word>Section|Part|Chapter)\s(?P<value>[A-Z]|[IVX]{1,5}|\d{1,2})\b")
_NUMBERED = ("absatz", "nummer")
_DIVISIONS = {"Section": "abschnitt", "Part": "teil", "Chapter": "kapitel"}
_SEPARATOR = re.compile(r",?\s(?:and|or|and/or)\s(?:the\s)?|\s(?P<range>to)\s|,\s")
_OF = re.compile(r",?\sof\s(?:the\s)?")
_OF_THIS = re.compile(r",?\s(?:of|in)\sthis\s(?:Article|Annex)\b")
_OF_EARLIER = re.compile(
    r",?\s(?:of|in)\s(?:that|those|these|this)\s(?:Articles?|Annex|paragraphs?|subparagraphs?|points?)\b"
)
_BARE = re.compile(rf"(?P<number>{_NUMBER})|(?P<roman>{_ROMAN})")
_COUNTED = re.compile(r"\s(?:\w+\s)?(?:months?|days?|years?|weeks?|hours?|per\s?cent|million|billion|others?)\b|\s?%")
_GOES_ON = re.compile(r"\(|,|\s(?:and|or|to)\s|\sof\s|[.;)]|$")
_AMENDS = re.compile(
    r"(?:Regulation|Directive|Decision)\b[^.;]{0,200}\b(?:is|are)\samended\b|"
    r"(?:^|[.;:]\s)(?:\(?\w{1,3}[.)]\s)?In\s(?:(?:Council|Commission)\s)?"
    r"(?:Regulation|Directive|(?:Framework\s)?Decision)\s[^;:]*$"
)
_NO_PARAGRAPH = "the paragraph is not named"
_OTHER_PLACE = "a place named before is meant"
_AMENDED = "it may be of the act that is amended"
_ENGLISH = re.compile(r"\bArticles?\s\d")
_GERMAN = re.compile(r"§|\bArt(?:ikel|\.)|\bAbs(?:atz|\.)")
_HEADS = (_ARTICLES, _ANNEXES, _RECITALS)
_HEAD_WORDS = re.compile(r"\b(?:Article|Annex|[Rr]ecital)(?P<plural>e?s)?\b")


def is_english(text: str) -> bool:
    """Whether a text cites articles in English and nothing in German."""
    return _ENGLISH.search(text) is not None and _GERMAN.search(text) is None


def find_english(
    text: str,
    laws: LawTable,
    *,
    this_law: Law | None = None,
    this_norm: str | None = None,
    inventory: Inventory | None = None,
) -> list[Found]:
    """Return all citations of an English text, in order, as `find` does for a German one.

    "Article 4(7)" names a point where the article has no paragraph 7 (`inventory`), as definitions are written.
    """
    found: list[Found] = []
    position = 0
    while anchor := ENGLISH_ANCHOR.search(text, position):
        reader = _Reader(text, anchor.start())
        elements = reader.chain()
        if not elements:
            position = anchor.end()
            continue
        is_own = all(element.law is not None for element in elements)
        read = None if is_own else read_english_law(text, reader.position, laws)
        if read is not None:
            law, doubt = read
            reader.position = law.end
            for element in elements:
                element.law = law
                element.doubt = element.doubt or doubt
        elif not is_own and _is_of_amended_act(text, anchor.start()):
            for element in elements:
                element.doubt = element.doubt or _AMENDED
        for element in elements:
            _settle(element, this_law, this_norm, inventory)
        targets = targets_of(elements, this_law=this_law, this_norm=this_norm, inventory=inventory)
        found.append(Found(text[anchor.start() : reader.position], anchor.start(), reader.position, True, targets))
        position = max(reader.position, anchor.end())
    return found


def _is_of_amended_act(text: str, start: int) -> bool:
    """Whether a place without a law stands in an amendment of another act, or in the text it puts there."""
    before = text[:start]
    return _AMENDS.search(before) is not None or before.rfind("‘") > before.rfind("’")


def _settle(element: Element, this_law: Law | None, this_norm: str | None, inventory: Inventory | None) -> None:
    """Tell "Article 4(7)" (a definition) from "Article 6(1)" (a paragraph) by what the article has."""
    is_this = element.law is None or element.law.is_this
    law = this_law if is_this else element.law.law if element.law else None
    article = element.article or (this_norm if is_this else None)
    first = element.path[0] if element.path else None
    if law is None or article is None or first is None or first.level != "absatz" or inventory is None:
        return
    listed = inventory.paragraphs(law.code, article)
    if listed is not None and first.value not in listed:
        element.path = (Step("nummer", first.value), *element.path[1:])


@dataclass(slots=True)
class _Reader:
    """Reads one chain of places; `position` is where it has got to."""

    text: str
    position: int
    elements: list[Element] = field(default_factory=list)
    start: int = field(init=False)

    def __post_init__(self) -> None:
        self.start = self.position

    def chain(self) -> list[Element]:
        """Read the places that are named together, without their law."""
        if not self._head():
            return self._relative()
        self._list()
        return self.elements

    def _head(self) -> bool:
        """Read "Article 6(1)", "Annex III, Section A", "recital 26"."""
        for pattern in _HEADS:
            match = pattern.match(self.text, self.position)
            if match is None:
                continue
            value = match["value"]
            self.position = match.end()
            if pattern is _ARTICLES:
                self.elements.append(Element("article", value))
            elif pattern is _ANNEXES:
                self.elements.append(Element(None, f"Anhang {value}"))
            else:
                self.elements.append(Element(None, value, is_recital=True))
                return True
            self._units()
            return True
        return False

    def _units(self) -> None:
        """Read the units below the last place, from the general to the special."""
        while self._brackets() or self._marked(_COMMA) or self._division():
            pass

    def _brackets(self) -> bool:
        match = _BRACKETS.match(self.text, self.position)
        if match is None:
            return False
        element = self.elements[-1]
        level, value = self._level(match, element.path)
        if level is None or not may_follow(element.path, level):
            return False
        if match.group().startswith(" ") and not element.path:
            return False  # "Article 5 (1)" is a list that begins; official texts write no blank there
        element.path = (*element.path, Step(level, value))
        self.position = match.end()
        return True

    def _level(self, match: re.Match[str], path: Path) -> tuple[str | None, str]:
        if match["number"]:
            annex = bool(self.elements) and (self.elements[-1].article or "").startswith("Anhang")
            return ("nummer" if annex or path else "absatz"), match["number"]
        if match["roman"]:
            return ("ziffer" if any(step.level == "buchstabe" for step in path) else None), match["roman"]
        letter = match["letter"]
        if any(step.level == "buchstabe" for step in path):
            return ("ziffer" if set(letter) <= set("ivx") else None), letter
        return "buchstabe", letter

    def _marked(self, before: re.Pattern[str]) -> bool:
        """Read ", point (a)", ", first subparagraph", ", paragraph 1" below the last place."""
        opening = before.match(self.text, self.position)
        if opening is None:
            return False
        element = self.elements[-1]
        introduction = _INTRODUCTION.match(self.text, self.position)
        if introduction:
            self.position = introduction.end()
            return True
        steps, end = self._steps(opening.end())
        if not steps or not may_follow(element.path, steps[0].level):
            return False
        self._take(element, element.path, steps)
        self.position = end
        return True

    def _take(self, element: Element, above: Path, steps: list[Step]) -> None:
        """Give an element the first of some sibling steps, and add an element for each other one."""
        element.path = (*above, steps[0])
        for step in steps[1:]:
            self.elements.append(replace(element, path=(*above, step)))

    def _steps(self, position: int) -> tuple[list[Step], int]:
        """Read a marked unit: its value, or its values ("first and second subparagraphs")."""
        if match := _POINTS.match(self.text, position):
            if match["letter"]:
                return [Step("buchstabe", match["letter"])], match.end()
            return [Step("nummer", match["number"] or match["bare"])], match.end()
        if match := _PARAGRAPHS.match(self.text, position):
            return [Step("absatz", match["value"])], match.end()
        if match := _BLOCKS.match(self.text, position):
            level = _BLOCK_LEVELS[match["block"].lower()]
            words = re.findall(_ORDINAL, match["ordinals"], re.IGNORECASE)
            named = [_ORDINALS.index(word.lower()) + 1 for word in words]
            if " to " in match["ordinals"]:
                named = list(range(named[0], named[-1] + 1))
            return [Step(level, str(number)) for number in named], match.end()
        return [], position

    def _division(self) -> bool:
        match = _DIVISION.match(self.text, self.position)
        element = self.elements[-1]
        level = _DIVISIONS[match["word"]] if match else ""
        if match is None or not (element.article or "").startswith("Anhang") or not may_follow(element.path, level):
            return False
        element.path = (*element.path, Step(level, match["value"]))
        self.position = match.end()
        return True

    def _list(self) -> None:
        """Read further places behind "and", "or", "to" and commas."""
        while separator := _SEPARATOR.match(self.text, self.position):
            mark = self.position
            self.position = separator.end()
            before, count = self.elements[-1], len(self.elements)
            if not (self._head() or self._sibling(before) or self._bare(before, separator.group())):
                self.position = mark
                return
            if separator["range"]:
                self.elements[count - 1].ranged = True

    def _sibling(self, before: Element) -> bool:
        """Read a further unit of the same place: "(2)", "(b)", "point (c)", "the second subparagraph"."""
        brackets = _BRACKETS.match(self.text, self.position)
        if brackets and before.path:
            last = before.path[-1].level
            if brackets["number"]:
                level = "nummer" if last == "nummer" else "absatz"
                value = brackets["number"]
            elif last == "ziffer" and set(brackets["roman"] or brackets["letter"]) <= set("ivx"):
                level, value = "ziffer", brackets["roman"] or brackets["letter"]
            elif brackets["letter"] and any(step.level == "buchstabe" for step in before.path):
                level, value = "buchstabe", brackets["letter"]
            else:
                return False
            above = sibling(before.path, level)
            self.elements.append(replace(before, path=(*above, Step(level, value)), ranged=False))
            self.position = brackets.end()
            self._units()
            return True
        steps, end = self._steps(self.position)
        if not steps or not before.path or steps[0].level not in {step.level for step in before.path}:
            return False
        above = sibling(before.path, steps[0].level)
        self.elements.append(replace(before, path=above, ranged=False))
        self._take(self.elements[-1], above, steps)
        self.position = end
        self._units()
        return True

    def _bare(self, before: Element, separator: str) -> bool:
        """Read a bare number behind "Articles 5", "Annexes I", "paragraphs 1", "points 1"."""
        match = _BARE.match(self.text, self.position)
        if match is None:
            return False
        if separator == ", " and not _GOES_ON.match(self.text, match.end()):
            return False
        if before.article is not None and not self._is_plural_head() and _COUNTED.match(self.text, match.end()):
            return False  # "Article 12 and 13 months"
        annex = (before.article or "").startswith("Anhang")
        if not before.path and before.article is not None and bool(match["roman"]) == annex:
            value = f"Anhang {match['roman']}" if annex else match["number"]
            self.elements.append(replace(before, article=value, ranged=False))
        elif match["number"] and before.article is None and before.path and before.path[-1].level in _NUMBERED:
            step = Step(before.path[-1].level, match["number"])
            self.elements.append(replace(before, path=(*before.path[:-1], step), ranged=False))
        elif match["number"] and before.article is not None and not annex and self._is_plural_head():
            self.elements.append(replace(before, article=match["number"], path=(), ranged=False))  # "6(1) and 9"
        else:
            return False
        self.position = match.end()
        self._units()
        return True

    def _is_plural_head(self) -> bool:
        """Whether the last head was a plural ("Articles"), so that a bare number behind "6(1) and" is an article."""
        heads = list(_HEAD_WORDS.finditer(self.text, self.start, self.position))
        return bool(heads) and heads[-1]["plural"] is not None

    def _relative(self) -> list[Element]:
        """Read units without a norm in front: "paragraph 2", "point (a) of Article 6(1)"."""
        steps, end = self._steps(self.position)
        if not steps:
            return []
        self.elements.append(Element(None, None))
        self._take(self.elements[0], (), steps)
        self.position = end
        self._units()
        self._list()
        below = self.elements
        if this := _OF_THIS.match(self.text, self.position):
            self.position = this.end()
            own = LawName("", this.end(), is_this=True)
            return _without_paragraph([replace(element, law=own) for element in below])
        if earlier := _OF_EARLIER.match(self.text, self.position):
            self.position = earlier.end()
            return [replace(element, doubt=_OTHER_PLACE) for element in below]
        of = _OF.match(self.text, self.position)
        above = _Reader(self.text, of.end()) if of else None
        heads = above.chain() if above else []
        if above is None or not heads:
            return _without_paragraph(below)
        self.position = above.position
        if len(heads) > 1:
            return [replace(head, doubt=head.doubt or _OTHER_PLACE) for head in heads]
        head = heads[0]
        return [_joined(head, element) for element in below]


def _without_paragraph(elements: list[Element]) -> list[Element]:
    return [
        element if element.path and element.path[0].level == "absatz" else replace(element, doubt=_NO_PARAGRAPH)
        for element in elements
    ]


def _joined(head: Element, below: Element) -> Element:
    """Put the units of `below` under the place `head`."""
    fits = below.article is None and all(
        may_follow((*head.path, *below.path[:place]), step.level) for place, step in enumerate(below.path)
    )
    doubt = head.doubt if fits else _OTHER_PLACE
    if doubt == _NO_PARAGRAPH and head.path and head.path[0].level == "absatz":
        doubt = None
    path = (*head.path, *below.path) if fits else head.path
    return replace(head, path=path, ranged=below.ranged, doubt=doubt)
