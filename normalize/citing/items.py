"""Read the items of a list: the unit or the bare value behind a separator, and what it inherits.

"Abs. 1 Satz 2, 3 Satz 4": the 3 is an Absatz, since a Satz follows; "§§ 708 Nr. 11, 711": the 711 is a §.
"""

import re

from normalize.citing import tokens as t
from normalize.citing.model import Element
from normalize.citing.places import ANNEX_VALUE, Reader, is_year, number_of
from normalize.units import BY_LEVEL, RANK, UNIT_WORDS, Path, Step, may_follow, sibling

_PARTS = re.compile(r"(\d+)([a-z]?)")
_PART_LETTER = re.compile(r"\s{0,4}([A-Z])()(?![^\W_])")


def add(reader: Reader, element: Element | None) -> bool:
    """Append an element that was read."""
    if element is None:
        return False
    reader.several = reader.several or (bool(reader.elements) and element.article != reader.elements[0].article)
    reader.elements.append(element)
    return True


def inherit(reader: Reader, previous: Element, path: Path) -> Element:
    """Return a new element of the same norm as `previous`, with this path."""
    return Element(
        previous.style, previous.article, path, previous.is_recital, short_form=previous.short_form, law=None
    )


def marked_unit(reader: Reader, previous: Element, *, comma: bool, ranged: bool) -> bool:
    """Read ", Abs. 2", "und Nr. 3": the units above are inherited."""
    piece = t.TOKEN.match(reader.text, reader.position)
    word = piece.group(2) if piece else None
    unit = UNIT_WORDS.get(word) if word else None
    if piece is None or unit is None:
        return ordinal_item(reader, previous)
    after = piece.end() + (reader.text[piece.end() : piece.end() + 1] == ".")
    value = reader.value(unit.level, after)
    if value is None:
        return False
    path = previous.path
    held = any(step.level == unit.level for step in path)
    if comma and not held and may_follow(path, unit.level) and not previous.following:
        element = previous  # "§ 5, Abs. 1": the comma only divides the units of one place
        element.path = (*path, Step(unit.level, value[0]))
    else:
        element = inherit(reader, previous, (*sibling(path, unit.level), Step(unit.level, value[0])))
        if not held and path and RANK[unit.level] > RANK[path[-1].level]:
            element.doubt = "it is not certain which units this item inherits"
        previous.ranged = ranged
        add(reader, element)
    reader.position = value[1]
    reader.units_of(element)
    return True


def ordinal_item(reader: Reader, previous: Element) -> bool:
    """Read "und 2. Halbsatz" behind "1. Halbsatz"."""
    read = t.read_ordinal(reader.text, reader.position)
    if read is None or not any(step.level == read[0] for step in previous.path):
        return False
    element = inherit(reader, previous, (*sibling(previous.path, read[0]), Step(read[0], read[1])))
    add(reader, element)
    reader.position = read[2]
    reader.units_of(element)
    return True


def bare_value(reader: Reader, previous: Element, *, sign: str, ranged: bool, norm_only: bool) -> bool:
    """Read the "3" of "Abs. 1 und 3" or "§§ 1, 3": a value of the level that its surroundings demand."""
    text = reader.text
    number = t.NUMBER.match(text, reader.position)
    if number is None:
        return not norm_only and bare_word(reader, previous, ranged=ranged)
    value, end = number_of(number), number.end()
    if number.group(5) == "f" and reader.plural:
        value, end = number.group(1), number.end(1)
    comma = sign == ","
    label = t.LIST_LABEL.match(text, end)
    if label is not None and is_list_label(reader, label, number, sign):
        return False
    if t.NO_VALUE.match(text, end) or len(number.group(1)) > 5 or number.group(1).count(".") > 2:
        return False
    if is_year(number.group(1)) and not reader.plural and (previous.path or comma):
        return False
    level = "norm" if norm_only else level_of(reader, previous, value, end, comma=comma)
    if level is None:
        return False
    if level == "norm":
        element = Element(previous.style, value, is_recital=previous.is_recital)
        if previous.article and previous.article.startswith(("Anhang ", "Anlage ")):
            element.article = f"{previous.article.split()[0]} {value}"
    else:
        kept = sibling(previous.path, level)
        element = inherit(reader, previous, (*kept, Step(level, value)))
    if level == "norm" and not norm_only and is_ambiguous(reader, previous, number.group(1)):
        element.doubt = "the number may be a norm or a unit of the norm before it"
    if label is not None and label.group(1) and not ranged:
        element.doubt = element.doubt or "the number may be the label of the next item of a list"
    previous.ranged = ranged
    add(reader, element)
    reader.position = end
    reader.units_of(element, short_form=level == "norm")
    return True


def is_list_label(reader: Reader, label: re.Match[str], number: re.Match[str], sign: str) -> bool:
    """Whether a number with a dot behind it is the label of the next list item: "§ 5 Absatz 1, 2. Angaben über".

    After "und" it can end a sentence, unless a small letter follows or a line begins with the number.
    """
    following = label.group(1)
    if not following:
        return False
    return bool(sign) or following.islower() or "\n" in number.group()[: -len(number.group().lstrip())]


def level_of(reader: Reader, previous: Element, digits: str, end: int, *, comma: bool) -> str | None:
    """Return the level of a bare number behind `previous`, or None if no level fits."""
    ahead = t.unit_level_ahead(reader.text, end)
    norm_possible = previous.article is not None and (previous.article[0].isdigit() or " " in previous.article)
    counted = [step.level for step in previous.path if BY_LEVEL[step.level].kind in {"number", "roman", "any"}]
    if previous.path and not counted:
        return "norm" if norm_possible else None
    if not previous.path:
        return "norm" if norm_possible else None
    if reader.plural and norm_possible and is_next_norm(reader, previous, digits, comma=comma):
        return "norm"
    for level in reversed(counted):
        if ahead is None or (ahead != level and (RANK[ahead] > RANK[level] or level in BY_LEVEL[ahead].after)):
            return level
    return "norm" if norm_possible else None


def is_next_norm(reader: Reader, previous: Element, digits: str, *, comma: bool) -> bool:
    """Whether in "§§ 708 Nr. 11, 711" the bare number is the next § rather than the next unit."""
    norm = _PARTS.match(previous.article or "")
    value = _PARTS.match(digits)
    if norm is None or value is None:
        return False
    if (int(value.group(1)), value.group(2)) <= (int(norm.group(1)), norm.group(2)):
        return False
    return comma or not reader.several or int(value.group(1)) > 60


def is_ambiguous(reader: Reader, previous: Element, digits: str) -> bool:
    """Whether the number could as well be the next unit: "§§ 1, 2 Abs. 2, 3 BGB"."""
    if not previous.path:
        return False
    last = _PARTS.match(previous.path[-1].value)
    return last is not None and 0 < int(digits.split(".")[0]) - int(last.group(1)) <= 10


def bare_word(reader: Reader, previous: Element, *, ranged: bool) -> bool:
    """Read the "b" of "lit. a und b", the "III" of "§ 433 II, III", the "b" of "§ 40a und b"."""
    text, position = reader.text, reader.position
    if previous.article and previous.article.startswith(("Anhang ", "Anlage ")) and not previous.path:
        value = ANNEX_VALUE.match(text, position - 1)
        if value:
            head = previous.article.split()[0]
            element = Element(None, f"{head} {re.sub(chr(32), '', value.group(1))}")
            return append_item(reader, previous, element, value.end(), ranged=ranged)
    last = previous.path[-1] if previous.path else None
    if last is not None and BY_LEVEL[last.level].kind == "any":
        roman = t.ROMAN_NUMBER.match(text, position) or _PART_LETTER.match(text, position)
        if roman:
            element = inherit(
                reader, previous, (*previous.path[:-1], Step(last.level, roman.group(1) + roman.group(2)))
            )
            return append_item(reader, previous, element, roman.end(), ranged=ranged)
    if previous.short_form and previous.path:
        roman = t.ROMAN_NUMBER.match(text, position)
        if roman:
            step = Step("absatz", t.arabic(roman.group(1)) + roman.group(2))
            return append_item(reader, previous, inherit(reader, previous, (step,)), roman.end(), ranged=ranged)
    if last is not None and last.level == "ziffer":
        small = t.SMALL_ROMAN.match(text, position)
        if small:
            element = inherit(reader, previous, (*previous.path[:-1], Step("ziffer", small.group(1))))
            return append_item(reader, previous, element, small.end(), ranged=ranged)
    return bare_letter_item(reader, previous, last, ranged=ranged)


def bare_letter_item(reader: Reader, previous: Element, last: Step | None, *, ranged: bool) -> bool:
    """Read a letter that goes on a list of letters, or replaces the letter of a number ("§ 40a und b")."""
    match = t.LETTER.match(reader.text, reader.position)
    if match is None:
        return False
    letter = match.group(1)
    if last is not None and BY_LEVEL[last.level].kind in {"letter", "double", "triple"}:
        if len(letter) != len(last.value):
            return False
        value = reader.value(last.level, reader.position)
        if value is None:
            return False
        element = inherit(reader, previous, (*previous.path[:-1], Step(last.level, letter)))
        return append_item(reader, previous, element, value[1], ranged=ranged)
    number = last.value if last is not None else previous.article or ""
    parts = re.fullmatch(r"(\d+)[a-z]", number)
    if parts is None or len(letter) != 1 or not letter.islower():
        return False
    if last is None:
        element = Element(previous.style, parts.group(1) + letter, is_recital=previous.is_recital)
    else:
        element = inherit(reader, previous, (*previous.path[:-1], Step(last.level, parts.group(1) + letter)))
    return append_item(reader, previous, element, match.end(), ranged=ranged)


def append_item(reader: Reader, previous: Element, element: Element, end: int, *, ranged: bool) -> bool:
    """Append an item of a list and read the units below it."""
    previous.ranged = ranged
    add(reader, element)
    reader.position = end
    reader.units_of(element)
    return True
