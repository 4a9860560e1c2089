"""The grammar of citations: a recursive-descent reader over the pieces of `tokens`, started at an anchor.

It reads one chain ("§ 22 Abs. 1 Nr. 1 lit. a i.V.m. § 26 Abs. 3 BDSG") into elements, one for each place named. A list
item inherits the units above its own ("Abs. 1 Satz 2, 3 Satz 4"); the law may stand behind the last item only.
Reading never goes back further than the last separator, so it takes time linear in what it reads.
"""

import re
from dataclasses import dataclass, field

from normalize.citing import tokens as t
from normalize.citing.model import Element, LawName
from normalize.citing.names import law_before, read_law
from normalize.citing.statutes import AMENDED, AMENDED_END
from normalize.laws import LawTable
from normalize.units import BY_LEVEL, RANK, UNIT_WORDS, Path, Step, may_follow, sibling

_DEEPEST = 12
"""Steps of a path; no law has more, hostile text would."""

_ANNEX_VALUE = re.compile(r"\s{1,4}(?:Nr\.\s?(?=\d))?(?:([IVXLC]+[a-z]?|[A-Z]|\d+(?:\.\d+)*\s?[a-z]?)(?![^\W_]))")
_PARTS = re.compile(r"(\d+)([a-z]?)")
_TO_NORM = re.compile(r"\s{1,4}zu\s(?:den\s)?(?=§|Art)")
_ANNEX_LETTER = re.compile(r"\s{1,4}([A-Z])(?![^\W_])")
_PART_LETTER = re.compile(r"\s{0,4}([A-Z])()(?![^\W_])")
_INNER_NORM = re.compile(r"\s{0,4}§\s?(?=\d)")
_NEXT_LETTER = re.compile(r"\s?(?:,|und|oder|bis)\s?[a-z]{1,2}\s?\)")


@dataclass(slots=True)
class Chain:
    """What was read at an anchor."""

    elements: list[Element]
    start: int
    end: int
    complete: bool = True


@dataclass(slots=True)
class Reader:
    """The state of reading one chain: where it is, and the elements so far."""

    text: str
    laws: LawTable
    position: int
    elements: list[Element] = field(default_factory=list)
    complete: bool = True
    plural: bool = False
    open_from: int = 0
    """First element that still waits for its law."""
    several: bool = False
    """More than one norm was read."""
    parenthesis: bool = False
    """A ", auch in Verbindung mit" is open; a comma may close it before the law."""

    # -- elements -------------------------------------------------------------------------------------------------

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
                article = f"{article} § {_number(number)}"
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
            value, end = _number(number), number.end()
            spaced = number.group(5)
            if (spaced == "f" and plural) or (number.group(2) == "f" and plural and self.text[end : end + 1] == "."):  # "§§ 44 f SGB X": the next one too, not § 44f
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
        value = _ANNEX_VALUE.match(self.text, marker.end()) if head != "Präambel" else None
        if value is None and _TO_NORM.match(self.text, marker.end()):
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
            element = Element(None, _number(number), is_recital=True)
        self.plural = marker.group().strip().startswith("Erwägungsgründe")
        self.units_of(element)
        return element

    # -- units below a norm -----------------------------------------------------------------------------------------

    def units_of(self, element: Element, *, short_form: bool = False) -> None:
        """Read the units that follow without a separator into the path of `element`."""
        while len(element.path) < _DEEPEST:
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
                    element.path = (*path, Step("satz", _number(number)))
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
            return _number(number), number.end()
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
            letter = _ANNEX_LETTER.match(text, position)
            return (letter.group(1), letter.end()) if letter else None
        return None

    def extent(self, element: Element) -> None:
        """Read "ff." and "a.F." behind the units; they stay with the place they follow."""
        following = t.FOLLOWING.match(self.text, self.position)
        if following and not element.following:
            element.following = following.group(1) + "."
            self.position = following.end()
        self.version_of((element,))

    def version_of(self, elements: tuple[Element, ...] | list[Element]) -> None:
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

    # -- chains -----------------------------------------------------------------------------------------------------

    def chain(self) -> None:
        """Read everything that belongs together with the first element, up to its law."""
        closed: tuple[int, int, bool] | None = None
        while True:
            if self.close():
                closed = (len(self.elements), self.position, self.complete)
                if not self.plural:
                    break
            mark = (self.position, self.complete)
            if not self.following_element(bare_only=closed is not None and closed[0] == len(self.elements)):
                self.position, self.complete = mark
                break
        if closed is not None and closed[0] < len(self.elements):
            del self.elements[closed[0] :]
            self.position, self.complete = closed[1], closed[2]
            self.elements[-1].ranged = False

    def close(self) -> bool:
        """Read the law behind the last element and give it to all that wait for one."""
        law = read_law(self.text, self.position, self.laws)
        if law is None and self.parenthesis:
            # "§ 4 Absatz 1, auch in Verbindung mit Absatz 2, des Aufenthaltsgesetzes"
            closed = t.PARENTHESIS_CLOSED.match(self.text, self.position)
            law = read_law(self.text, closed.end(), self.laws) if closed else None
        if law is None:
            return False
        self.position = law.end
        for element in self.elements[self.open_from :]:
            element.law = law
        self.version_of(self.elements[self.open_from :])
        self.open_from = len(self.elements)
        self.parenthesis = False
        return True

    def following_element(self, *, bare_only: bool) -> bool:
        """Read a separator and one further place; return False, with the state as it may be, if there is none."""
        amended = t.AS_AMENDED.match(self.text, self.position) if not bare_only else None
        if amended:
            for element in self.elements[self.open_from :]:
                element.law = element.law or LawName("", self.position, is_this=False)
                element.doubt = element.doubt or "the wording of another date is cited"
            self.open_from = len(self.elements)
            self.position = amended.end()
            return self.add(self.norm())
        separator = t.SEPARATOR.match(self.text, self.position)
        if separator is None:
            zu = (
                _TO_NORM.match(self.text, self.position) if (self.elements[-1].article or "").startswith("An") else None
            )
            if zu is None:
                return False
            self.position = zu.end()
            return self.add(self.norm())
        self.position = separator.end()
        is_range = separator.group("range") is not None
        is_chain = separator.group("chain") is not None
        comma = separator.group("comma") is not None or separator.group("sign") == ","
        previous = self.elements[-1]
        if is_chain and separator.group().lstrip()[:1] == ",":
            self.parenthesis = True
        if not bare_only and self.marked(previous, is_chain=is_chain, comma=comma, ranged=is_range):
            return True
        return self.bare_value(
            previous,
            sign=separator.group("sign") or separator.group("comma") or "",
            ranged=is_range,
            norm_only=bare_only,
        )

    def marked(self, previous: Element, *, is_chain: bool, comma: bool, ranged: bool) -> bool:
        """Read a further place that has a marker: a norm, an annex, a recital or a unit."""
        marked = self.norm() or self.annex()
        if marked is not None:
            marked.chained = is_chain
            previous.ranged = ranged
            return self.add(marked)
        if previous.is_recital:
            recital = self.recital()
            if recital is not None:
                return self.add(recital)
        return self.marked_unit(previous, comma=comma, ranged=ranged)

    def add(self, element: Element | None) -> bool:
        """Append an element that was read."""
        if element is None:
            return False
        self.several = self.several or (bool(self.elements) and element.article != self.elements[0].article)
        self.elements.append(element)
        return True

    def inherit(self, previous: Element, path: Path) -> Element:
        """Return a new element of the same norm as `previous`, with this path."""
        return Element(
            previous.style, previous.article, path, previous.is_recital, short_form=previous.short_form, law=None
        )

    def marked_unit(self, previous: Element, *, comma: bool, ranged: bool) -> bool:
        """Read ", Abs. 2", "und Nr. 3": the units above are inherited."""
        piece = t.TOKEN.match(self.text, self.position)
        word = piece.group(2) if piece else None
        unit = UNIT_WORDS.get(word) if word else None
        if piece is None or unit is None:
            return self.ordinal_item(previous)
        after = piece.end() + (self.text[piece.end() : piece.end() + 1] == ".")
        value = self.value(unit.level, after)
        if value is None:
            return False
        path = previous.path
        held = any(step.level == unit.level for step in path)
        if comma and not held and may_follow(path, unit.level) and not previous.following:
            element = previous  # "§ 5, Abs. 1": the comma only divides the units of one place
            element.path = (*path, Step(unit.level, value[0]))
        else:
            element = self.inherit(previous, (*sibling(path, unit.level), Step(unit.level, value[0])))
            if not held and path and RANK[unit.level] > RANK[path[-1].level]:
                element.doubt = "it is not certain which units this item inherits"
            previous.ranged = ranged
            self.add(element)
        self.position = value[1]
        self.units_of(element)
        return True

    def ordinal_item(self, previous: Element) -> bool:
        """Read "und 2. Halbsatz" behind "1. Halbsatz"."""
        read = t.read_ordinal(self.text, self.position)
        if read is None or not any(step.level == read[0] for step in previous.path):
            return False
        element = self.inherit(previous, (*sibling(previous.path, read[0]), Step(read[0], read[1])))
        self.add(element)
        self.position = read[2]
        self.units_of(element)
        return True

    def bare_value(self, previous: Element, *, sign: str, ranged: bool, norm_only: bool) -> bool:
        """Read the "3" of "Abs. 1 und 3" or "§§ 1, 3": a value of the level that its surroundings demand."""
        text = self.text
        number = t.NUMBER.match(text, self.position)
        if number is None:
            return not norm_only and self.bare_word(previous, ranged=ranged)
        value, end = _number(number), number.end()
        if number.group(5) == "f" and self.plural:
            value, end = number.group(1), number.end(1)
        comma = sign == ","
        label = t.LIST_LABEL.match(text, end)
        if label is not None and self.is_list_label(label, number, sign):
            return False
        if t.NO_VALUE.match(text, end) or len(number.group(1)) > 5 or number.group(1).count(".") > 2:
            return False
        if _is_year(number.group(1)) and not self.plural and (previous.path or comma):
            return False
        level = "norm" if norm_only else self.level_of(previous, value, end, comma=comma)
        if level is None:
            return False
        if level == "norm":
            element = Element(previous.style, value, is_recital=previous.is_recital)
            if previous.article and previous.article.startswith(("Anhang ", "Anlage ")):
                element.article = f"{previous.article.split()[0]} {value}"
        else:
            kept = sibling(previous.path, level)
            element = self.inherit(previous, (*kept, Step(level, value)))
        if level == "norm" and not norm_only and self.is_ambiguous(previous, number.group(1)):
            element.doubt = "the number may be a norm or a unit of the norm before it"
        if label is not None and label.group(1) and not ranged:
            element.doubt = element.doubt or "the number may be the label of the next item of a list"
        previous.ranged = ranged
        self.add(element)
        self.position = end
        self.units_of(element, short_form=level == "norm")
        return True

    def is_list_label(self, label: re.Match[str], number: re.Match[str], sign: str) -> bool:
        """Whether a number with a dot behind it is the label of the next list item: "§ 5 Absatz 1, 2. Angaben über".

        After "und" it can end a sentence, unless a small letter follows or a line begins with the number.
        """
        following = label.group(1)
        if not following:
            return False
        return bool(sign) or following.islower() or "\n" in number.group()[: -len(number.group().lstrip())]

    def level_of(self, previous: Element, digits: str, end: int, *, comma: bool) -> str | None:
        """Return the level of a bare number behind `previous`, or None if no level fits."""
        ahead = t.unit_level_ahead(self.text, end)
        norm_possible = previous.article is not None and (previous.article[0].isdigit() or " " in previous.article)
        counted = [step.level for step in previous.path if BY_LEVEL[step.level].kind in {"number", "roman", "any"}]
        if previous.path and not counted:
            return "norm" if norm_possible else None
        if not previous.path:
            return "norm" if norm_possible else None
        if self.plural and norm_possible and self.is_next_norm(previous, digits, comma=comma):
            return "norm"
        for level in reversed(counted):
            if ahead is None or (ahead != level and (RANK[ahead] > RANK[level] or level in BY_LEVEL[ahead].after)):
                return level
        return "norm" if norm_possible else None

    def is_next_norm(self, previous: Element, digits: str, *, comma: bool) -> bool:
        """Whether in "§§ 708 Nr. 11, 711" the bare number is the next § rather than the next unit."""
        norm = _PARTS.match(previous.article or "")
        value = _PARTS.match(digits)
        if norm is None or value is None:
            return False
        if (int(value.group(1)), value.group(2)) <= (int(norm.group(1)), norm.group(2)):
            return False
        return comma or not self.several or int(value.group(1)) > 60

    def is_ambiguous(self, previous: Element, digits: str) -> bool:
        """Whether the number could as well be the next unit: "§§ 1, 2 Abs. 2, 3 BGB"."""
        if not previous.path:
            return False
        last = _PARTS.match(previous.path[-1].value)
        return last is not None and 0 < int(digits.split(".")[0]) - int(last.group(1)) <= 10

    def bare_word(self, previous: Element, *, ranged: bool) -> bool:
        """Read the "b" of "lit. a und b", the "III" of "§ 433 II, III", the "b" of "§ 40a und b"."""
        text, position = self.text, self.position
        if previous.article and previous.article.startswith(("Anhang ", "Anlage ")) and not previous.path:
            value = _ANNEX_VALUE.match(text, position - 1)
            if value:
                head = previous.article.split()[0]
                element = Element(None, f"{head} {re.sub(chr(32), '', value.group(1))}")
                return self.append_item(previous, element, value.end(), ranged=ranged)
        last = previous.path[-1] if previous.path else None
        if last is not None and BY_LEVEL[last.level].kind == "any":
            roman = t.ROMAN_NUMBER.match(text, position) or _PART_LETTER.match(text, position)
            if roman:
                element = self.inherit(
                    previous, (*previous.path[:-1], Step(last.level, roman.group(1) + roman.group(2)))
                )
                return self.append_item(previous, element, roman.end(), ranged=ranged)
        if previous.short_form and previous.path:
            roman = t.ROMAN_NUMBER.match(text, position)
            if roman:
                step = Step("absatz", t.arabic(roman.group(1)) + roman.group(2))
                return self.append_item(previous, self.inherit(previous, (step,)), roman.end(), ranged=ranged)
        if last is not None and last.level == "ziffer":
            small = t.SMALL_ROMAN.match(text, position)
            if small:
                element = self.inherit(previous, (*previous.path[:-1], Step("ziffer", small.group(1))))
                return self.append_item(previous, element, small.end(), ranged=ranged)
        return self.bare_letter_item(previous, last, ranged=ranged)

    def bare_letter_item(self, previous: Element, last: Step | None, *, ranged: bool) -> bool:
        """Read a letter that goes on a list of letters, or replaces the letter of a number ("§ 40a und b")."""
        match = t.LETTER.match(self.text, self.position)
        if match is None:
            return False
        letter = match.group(1)
        if last is not None and BY_LEVEL[last.level].kind in {"letter", "double", "triple"}:
            if len(letter) != len(last.value):
                return False
            value = self.value(last.level, self.position)
            if value is None:
                return False
            element = self.inherit(previous, (*previous.path[:-1], Step(last.level, letter)))
            return self.append_item(previous, element, value[1], ranged=ranged)
        number = last.value if last is not None else previous.article or ""
        parts = re.fullmatch(r"(\d+)[a-z]", number)
        if parts is None or len(letter) != 1 or not letter.islower():
            return False
        if last is None:
            element = Element(previous.style, parts.group(1) + letter, is_recital=previous.is_recital)
        else:
            element = self.inherit(previous, (*previous.path[:-1], Step(last.level, parts.group(1) + letter)))
        return self.append_item(previous, element, match.end(), ranged=ranged)

    def append_item(self, previous: Element, element: Element, end: int, *, ranged: bool) -> bool:
        """Append an item of a list and read the units below it."""
        previous.ranged = ranged
        self.add(element)
        self.position = end
        self.units_of(element)
        return True


def _number(match: re.Match[str]) -> str:
    number, letter, latin, double, spaced = match.group(1, 2, 3, 4, 5)
    return str(number) + (letter or latin or (double * 2 if double else "") or spaced or "")


def _is_year(digits: str) -> bool:
    return len(digits) == 4 and digits[:2] in {"19", "20"}


def read_chain(text: str, start: int, kind: str, laws: LawTable, earliest: int = 0) -> Chain | None:
    """Read the citation that starts at an anchor of this kind (norm, annex, recital, relative), or None.

    `earliest` is where a law before the anchor may begin at most ("BDSG § 38").
    """
    reader = Reader(text, laws, start)
    if kind == "relative":
        return _read_relative(reader, start)
    first = reader.norm() if kind == "norm" else reader.annex() if kind == "annex" else reader.recital()
    if first is None:
        return None
    reader.elements.append(first)
    reader.chain()
    begin = start
    if kind != "recital" and all(element.law is None for element in reader.elements):
        before = law_before(text, start, earliest, laws)
        if before is not None:
            name, begin = before
            for element in reader.elements:
                element.law = name
    _read_amendment(reader)
    return Chain(reader.elements, begin, reader.position, reader.complete)


def _read_amendment(reader: Reader) -> None:
    """Read ", das zuletzt durch Artikel 3 des Gesetzes vom … geändert worden ist" as a part of the citation."""
    opening = AMENDED.match(reader.text, reader.position)
    if opening is None:
        return
    inner = Reader(reader.text, reader.laws, opening.end())
    first = inner.norm()
    if first is None:
        return
    inner.elements.append(first)
    inner.chain()
    closing = AMENDED_END.match(reader.text, inner.position)
    if closing is None:
        return
    reader.elements.extend(inner.elements)
    reader.position = closing.end()


def read_amendment(text: str, position: int, laws: LawTable) -> tuple[list[Element], int]:
    """Read the amending clause behind a full citation: its elements and end (none and `position` if there is none)."""
    reader = Reader(text, laws, position)
    _read_amendment(reader)
    return reader.elements, reader.position


def _read_relative(reader: Reader, start: int) -> Chain | None:
    """Read units without a norm: "Absatz 2", or with it behind: "Satz 2 des § 5 Absatz 1 BDSG"."""
    first = Element(None, None)
    if not reader.unit(first, short_form=False):
        return None
    reader.units_of(first)
    reader.elements.append(first)
    mark = (reader.position, reader.complete)
    while not _is_before_norm(reader) and reader.following_element(bare_only=False):
        if reader.elements[-1].article is not None:
            reader.elements.pop()
            break
        mark = (reader.position, reader.complete)
    reader.position, reader.complete = mark
    below = list(reader.elements)
    while True:
        of = t.OF.match(reader.text, reader.position)
        if of is None:
            break
        inner = Reader(reader.text, reader.laws, of.end())
        head = inner.norm() or inner.annex()
        if head is None:
            head = Element(None, None)
            if not inner.unit(head, short_form=False):
                break
            inner.units_of(head)
        if any(not _fits(head.path, element.path) for element in below):
            break
        for element in below:
            element.path = (*head.path, *element.path)
            element.style, element.article = head.style, head.article
            element.version = element.version or head.version
        reader.position = inner.position
        reader.complete = reader.complete and inner.complete
        if head.article is not None:
            break
    reader.elements = below
    if below[0].article is not None or reader.text[reader.position : reader.position + 2] in {" d", " B", " G"}:
        reader.close()
    if below[0].article is None and below[0].law is not None and not below[0].law.is_this:
        # "Nummer 2 des Vertrags": the units of something that is not a norm; not ours to guess.
        for element in below:
            element.doubt = "the norm is not named"
    return Chain(below, start, reader.position, reader.complete)


def _is_before_norm(reader: Reader) -> bool:
    of = t.OF.match(reader.text, reader.position)
    return of is not None and t.NORM.match(reader.text, of.end()) is not None


def _fits(above: Path, below: Path) -> bool:
    path = above
    for step in below:
        if not may_follow(path, step.level):
            return False
        path = (*path, step)
    return len(path) <= _DEEPEST
