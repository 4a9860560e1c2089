"""Read list markers: which unit "1.", "a)", "aa)", "ii)" or "–" is, given where it stands."""

import re

from normalize.citation import Style
from normalize.units import Path, Step

_NUMBER = re.compile(r"\(?(\d+[a-z]{0,3})[.)]?\)?$")
_LETTER = re.compile(r"\(?([a-z]{1,3})[).]?$")
_CAPITAL = re.compile(r"\(?([A-Z])[).]?$")
_ROMAN = re.compile(r"\(?([ivxl]+)([a-h]?)[).]?$")
_BIG_ROMAN = re.compile(r"\(?([IVXL]+)[).]?$")
_DASHES = {"-", "–", "—", "―", "‒"}
_ROMAN_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50}
_LETTER_LEVELS = {1: "buchstabe", 2: "doppelbuchstabe", 3: "dreifachbuchstabe"}


def read_marker(marker: str, style: Style, parent: Path, before: Step | None) -> Step | None:
    """Return the unit that a marker opens, or None if it names no citable unit (bullets, symbols).

    `parent` is the path of the list, `before` the unit of the item before in the same list (None for the first).
    Letter i or roman i is told by the sequence (CITATIONS.md hard case 5): after h) it is a letter.
    """
    text = marker.strip().strip("„“\"'").strip()
    if text in _DASHES:
        following = int(before.value) + 1 if before is not None and before.level == "gedankenstrich" else 1
        return Step("gedankenstrich", str(following))
    if match := _NUMBER.match(text):
        return Step("nummer", match[1])
    if _is_roman_item(text, style, parent, before):
        match = _ROMAN.match(text)
        return Step("ziffer", match[1] + match[2]) if match else None
    if match := _LETTER.match(text):
        return _letter_step(match[1], before)
    if match := _BIG_ROMAN.match(text):
        return Step("nummer", match[1])
    if match := _CAPITAL.match(text):
        return Step("buchstabe", match[1])
    return None


def _is_roman_item(text: str, style: Style, parent: Path, before: Step | None) -> bool:
    match = _ROMAN.match(text)
    if match is None:
        return False
    if before is not None:
        last = _ROMAN.match(before.value) if before.level == "ziffer" else None
        if last is None:
            return False
        step = roman_value(match[1]) - roman_value(last[1])
        return step == 1 or (step == 0 and match[2] > last[2])  # iia) was inserted behind ii)
    below_letter = bool(parent) and parent[-1].level in ("buchstabe", "doppelbuchstabe")
    return match[1] == "i" and not match[2] and (style == "article" or below_letter)


def _letter_step(letters: str, before: Step | None) -> Step:
    """Letters count by depth: lit. a, below it Doppelbuchst. aa; but after z) the list goes on with aa), ab)."""
    if before is not None and before.level in _LETTER_LEVELS.values():
        return Step(before.level, letters)
    doubled = len(set(letters)) == 1
    level = _LETTER_LEVELS[len(letters)] if doubled else "buchstabe"
    return Step(level, letters)


def roman_value(roman: str) -> int:
    """Return the value of a roman numeral of i, v, x, l in lower case."""
    total = 0
    for this, following in zip(roman, [*roman[1:], ""], strict=True):
        value = _ROMAN_VALUES[this]
        total += -value if following and _ROMAN_VALUES[following] > value else value
    return total
