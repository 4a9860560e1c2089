"""Read one place: a norm, an annex or a recital, and the units below it.

The pieces are those of `tokens`, the order of units that of the unit table. What follows a separator is not read here.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from normalize.citing import tokens as t
from normalize.citing.model import Element
from normalize.citing.names import read_law
from normalize.laws import LawTable
from normalize.units import BY_LEVEL, UNIT_WORDS, Step, may_follow

DEEPEST = 12
"""Steps of a path; no law has more, hostile text would."""

ANNEX_VALUE = re.compile(r"\s{1,4}(?:Nr\.\s?(?=\d))?(?:([IVXLC]+[a-z]?|[A-Z]|\d+(?:\.\d+)*\s?[a-z]?)(?![^\W_]))")
TO_NORM = re.compile(r"\s{1,4}zu\s(?:den\s)?(?=§|Art)")
_PART_LETTER = re.compile(r"\s{1,4}([A-Z])(?![^\W_])")
_INNER_NORM = re.compile(r"\s{0,4}§\s?(?=\d)")
_NEXT_LETTER = re.compile(r"\s?(?:,|und|oder|bis)\s?[a-z]{1,2}\s?\)")


_VERSION_STARTS = frozenset(("", "a", "n", "(", "-"))


@dataclass(slots=True)
class Reader:
    """The state of reading: where it is, and the places so far."""

    text: str
    laws: LawTable
    position: int
    elements: list[Element] = field(default_factory=list)
    complete: bool = True
    plural: bool = False
    """The marker announced several norms ("§§", "Artikeln")."""
    open_from: int = 0
    """First place that still waits for its law."""
    several: bool = False
    """More than one norm was read."""
    parenthesis: bool = False
    """A ", auch in Verbindung mit" is open; a comma may close it before the law."""

    def norm(self) -> Element | None:
        """Read "§ 5 Abs. 1" or "Artikel 6 I 1" from its marker on."""
        marker = t.NORM.match(self.text, self.position)
        if marker is None:
            return None
        sign = marker.group().strip()
        article_style = sign[0] in "aA"
        plural = sign.startswith("§§") or sign.lower().startswith(("artikeln", "artt", "paragraphen", "paragrafen"))
        value = self.article_value(marker.end(), plural=plural, roman=article_style)
        if value is None:
            return None
        article, end = value
        self.position = end
        self.plural = plural or (self.plural and bool(self.elements))
        if article_style:
            inner = _INNER_NORM.match(self.text, end)
            number = t.NUMBER.match(self.text, inner.end()) if inner else None
            if number:
                article = f"{article} § {number_of(number)}"
                self.position = number.end()
        element = Element("article" if article_style else "paragraph", article)
        if self.text[end - 2 : end] == " f" and not plural:
            element.doubt = "'f' may be a part of the number or mean the next one"
        self.units_of(element, short_form=True)
        return element

    def article_value(self, position: int, *, plural: bool, roman: bool) -> tuple[str, int] | None:
        """Read the number of a norm: its value and end."""
        number = t.NUMBER.match(self.text, position)
        if number:
            value, end = number_of(number), number.end()
            spaced = number.group(5)
            if (spaced == "f" and plural) or (
                number.group(2) == "f" and plural and self.text[end : end + 1] == "."
            ):  # "§§ 44 f SGB X": the next one too, not § 44f
                value, end = number.group(1), number.end(1)
            return value, end
        if roman:
            match = t.ROMAN_NUMBER.match(self.text, position)
            if match:
                return match.group(1) + match.group(2), match.end()
        return None

    def annex(self) -> Element | None:
        """Read "Anhang I Teil I Nummer 2" or "Anlage 1"."""
        marker = t.ANNEX.match(self.text, self.position)
        if marker is None:
            return None
        word = marker.group().strip()
        head = "Präambel" if word == "Präambel" else "Anlage" if word.lower().startswith("anl") else "Anhang"
        value = ANNEX_VALUE.match(self.text, marker.end()) if head != "Präambel" else None
        if value is None and TO_NORM.match(self.text, marker.end()):
            return None  # "Anlage zu § 28 SGB XII" has no number of its own: the § is what can be cited
        self.position = value.end() if value else marker.end()
        self.plural = word in {"Anlagen", "Anhänge", "Anhängen"}
        number = re.sub(r"\s", "", value.group(1)) if value else ""
        element = Element(None, f"{head} {number}".strip())
        self.units_of(element)
        return element

    def recital(self) -> Element | None:
        """Read "ErwG 26", "Erwägungsgründe 26 und 27"."""
        marker = t.RECITAL.match(self.text, self.position)
        number = t.NUMBER.match(self.text, marker.end()) if marker else None
        if marker is None:
            return None
        if number is None:
            bracketed = t.BRACKETED.match(self.text, marker.end())
            if bracketed is None or bracketed.group(1) is None:
                return None
            self.position = bracketed.end()
            element = Element(None, bracketed.group(1), is_recital=True)
        else:
            self.position = number.end()
            element = Element(None, number_of(number), is_recital=True)
        self.plural = marker.group().strip().startswith("Erwägungsgründe")
        self.units_of(element)
        return element

    def units_of(self, element: Element, *, short_form: bool = False) -> None:
        """Read the units that follow without a separator into the path of `element`."""
        while len(element.path) < DEEPEST:
            if not self.unit(element, short_form=short_form and not element.path):
                break
        else:
            self.complete = False
        self.extent(element)

    def unit(self, element: Element, *, short_form: bool) -> bool:
        """Read one further unit into the path of `element`; return whether there was one."""
        text, position, path = self.text, self.position, element.path
        piece = t.TOKEN.match(text, position)
        if piece is None:
            return False
        word = piece.group(2)
        if word is not None:
            unit = UNIT_WORDS.get(word)
            if unit is not None:
                level = unit.level
                if level == "buchstabe" and path and path[-1].level == "buchstabe":
                    level = "doppelbuchstabe"  # "Buchst. a Buchst. aa"
                if not may_follow(path, level):
                    self.complete = self.complete and not t.is_strong_marker(word)
                    return False
                after = piece.end() + (text[piece.end() : piece.end() + 1] == ".")
                value = self.value(level, after)
                if value is None:
                    self.complete = self.complete and not t.is_strong_marker(word)
                    return False
                element.path = (*path, Step(level, value[0]))
                self.position = value[1]
                return True
            if short_form or (path and element.short_form and path[-1].level == "absatz"):
                roman = t.ROMAN_NUMBER.match(text, position) if short_form else None
                if roman and not self.laws.match(text, roman.start(1)):
                    element.path = (Step("absatz", t.arabic(roman.group(1)) + roman.group(2)),)
                    element.short_form = True
                    self.position = roman.end()
                    return True
            return self.ordinal(element, position)
        if piece.group(1) is not None:
            if self.ordinal(element, position):
                return True
            if element.short_form and len(path) == 1:
                number = t.NUMBER.match(text, position)
                if number and int(number.group(1).split(".")[0]) < 40:
                    element.path = (*path, Step("satz", number_of(number)))
                    self.position = number.end()
                    return True
            return False
        sign = piece.group(4)
        if sign == "(":
            return self.bracketed(element)
        return sign == "," and self.ordinal(element, position)

    def ordinal(self, element: Element, position: int) -> bool:
        """Read "2. Halbsatz" into the path; a comma before it does not start a new place (hard case 4)."""
        read = t.read_ordinal(self.text, position)
        if read is not None and may_follow(element.path, read[0]):
            element.path = (*element.path, Step(read[0], read[1]))
            self.position = read[2]
            return True
        return self.bare_letter(element, position)

    def bare_letter(self, element: Element, position: int) -> bool:
        """Read "a)" behind "Nr. 3" as Buchstabe, unless the bracket closes one that was opened before."""
        match = t.LETTER_POINT.match(self.text, position)
        if match is None or not element.path or element.path[-1].level not in {"absatz", "satz", "nummer", "buchstabe"}:
            return False
        letter = match.group(1)
        level = "doppelbuchstabe" if len(letter) == 2 else "buchstabe"
        if not may_follow(element.path, level):
            return False
        closes = self.inside_brackets(match.start(1))
        if closes and not self.goes_on_after_bracket(match.end()):
            element.doubt = "a letter before a closing bracket may be a part of the number or a Buchstabe"
            self.position = match.end(1)
        else:
            self.position = match.end()
        element.path = (*element.path, Step(level, letter))
        return True

    def inside_brackets(self, position: int) -> bool:
        """Whether a round bracket that was opened up to 300 characters before is still open."""
        begin = max(0, position - 300)
        return self.text.rfind("(", begin, position) > self.text.rfind(")", begin, position)

    def goes_on_after_bracket(self, position: int) -> bool:
        """Whether a citation goes on behind a closing bracket, which then belongs to its letter."""
        following = _NEXT_LETTER.match(self.text, position)
        return following is not None or read_law(self.text, position, self.laws) is not None

    def bracketed(self, element: Element) -> bool:
        """Read "(1)", "(1a)", "(a)", "(i)" directly behind a number: Absatz, Buchstabe, Ziffer."""
        match = t.BRACKETED.match(self.text, self.position)
        if match is None:
            return False
        number, letter = match.group(1), match.group(2)
        if number is not None:
            level = "absatz"
        elif letter.lower() in {"alt", "neu", "eu", "eg", "ewg"}:
            return False
        else:
            held = any(step.level == "buchstabe" for step in element.path)
            level = "buchstabe" if not held else "ziffer" if t.SMALL_ROMAN.fullmatch(letter) else "doppelbuchstabe"
        if not may_follow(element.path, level) or (element.article is None and not element.path):
            return False
        element.path = (*element.path, Step(level, number if number is not None else letter))
        self.position = match.end()
        return True

    def value(self, level: str, position: int) -> tuple[str, int] | None:
        """Read the value of a unit of this level: its bare text and its end."""
        text = self.text
        kind = BY_LEVEL[level].kind
        if kind == "letter" or kind == "double" or kind == "triple":
            match = t.LETTER.match(text, position)
            if match is None:
                return None
            if kind == "double" and len(match.group(1)) != 2:
                return None
            end = match.end()
            closing = t.PARENTHESIS.match(text, end)
            if closing and not self.inside_brackets(match.start(1)):
                end = closing.end()
            return match.group(1), end
        number = t.NUMBER.match(text, position)
        if number is not None:
            if number.group(5) and level in {"satz", "halbsatz", "alternative", "unterabsatz"}:
                return number.group(1), number.end(1)
            return number_of(number), number.end()
        if level == "absatz":
            bracketed = t.BRACKETED.match(text, position)
            if bracketed and bracketed.group(1):
                return bracketed.group(1), bracketed.end()
            roman = t.ROMAN_NUMBER.match(text, position)
            return (t.arabic(roman.group(1)) + roman.group(2), roman.end()) if roman else None
        if level == "ziffer":
            small = t.SMALL_ROMAN.match(text, position)
            if small:
                return small.group(1), small.end()
        if kind == "any" or level in {"ziffer", "nummer"}:
            roman = t.ROMAN_NUMBER.match(text, position)
            if roman:
                return roman.group(1) + roman.group(2), roman.end()
        if kind == "any":
            letter = _PART_LETTER.match(text, position)
            return (letter.group(1), letter.end()) if letter else None
        return None

    def extent(self, element: Element) -> None:
        """Read "ff." and "a.F." behind the units; they stay with the place they follow."""
        ahead = self.text[self.position : self.position + 2].lstrip()
        following = t.FOLLOWING.match(self.text, self.position) if ahead[:1] in {"f", ""} else None
        if following and not element.following:
            element.following = following.group(1) + "."
            self.position = following.end()
        if ahead[:1] in _VERSION_STARTS or following:
            self.version_of((element,))

    def version_of(self, elements: Sequence[Element]) -> None:
        """Read "a.F.", "n.F." or "-neu" and keep it with all `elements`."""
        match = t.VERSION.match(self.text, self.position) or t.EDITION.match(self.text, self.position)
        if match is None:
            return
        word = match.group().strip(" (-)")
        for element in elements:
            element.version = "a.F." if word[0] == "a" else "n.F."
        self.position = match.end()
        if match.group().lstrip().startswith("(") and not match.group().endswith(")"):
            closing = t.PARENTHESIS.match(self.text, self.position)
            self.position = closing.end() if closing else self.position


def number_of(match: re.Match[str]) -> str:
    """Return the value that a match of `tokens.NUMBER` reads ("3 a" is 3a)."""
    number, letter, latin, double, spaced = match.group(1, 2, 3, 4, 5)
    return str(number) + (letter or latin or (double * 2 if double else "") or spaced or "")


def is_year(digits: str) -> bool:
    """Whether a number looks like a year."""
    return len(digits) == 4 and digits[:2] in {"19", "20"}
