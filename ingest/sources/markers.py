"""Read list markers: which unit "1.", "a)", "aa)", "ii)" or "–" is, given where it stands."""

import re

from normalize.citation import Style
from normalize.units import Path, Step

_NUMBER = re.compile(r"\(?(\d+[a-z]{0,3})[.)]?\)?$")
_LETTER = re.compile(r"\(?([a-z]{1,3})[).]?$")
_CAPITAL = re.compile(r"\(?([A-Z])[).]?$")
_ROMAN = re.compile(r"\(?([ivxl]+)([a-h]?)[).]?$")
_DOTTED = re.compile(r"([1-9]\d{0,2}(?:\.\d{1,3})+[a-z]?)\.?$")
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
    if text.isalpha() and not _is_counted(text, style, before):
        return None
    if match := _LETTER.match(text):
        return _letter_step(match[1], before)
    capital = _CAPITAL.match(text)
    if capital and before is not None and before.level == "buchstabe" and _is_next(capital[1], before.value):
        return Step("buchstabe", capital[1])  # the letter I after H, not the number
    if match := _BIG_ROMAN.match(text):
        return Step("nummer", match[1])
    return Step("buchstabe", capital[1]) if capital else None


def item_of(marker: str, style: Style, parent: Path, before: Step | None) -> Path:
    """Return the path of the item that a marker opens in the list at `parent`, or `parent` itself."""
    if not marker:
        return parent
    dotted = read_dotted(marker, parent)
    if dotted is not None:
        return dotted
    step = read_marker(marker, style, parent, before)
    return (*parent, step) if step else parent


def read_dotted(marker: str, parent: Path) -> Path | None:
    """Return the path of an item with a number of several parts ("3.1.2"), or None if the marker is none.

    A number that repeats the one above it is cited alone: Nr. 3.1, not Nr. 3 Nr. 3.1; so is 1.4 where a source nests it
    in 1.3.2. One that stands below a number of one part without repeating it is no unit.
    """
    match = _DOTTED.match(marker.strip())
    if match is None:
        return None
    if parent and parent[-1].level == "nummer":
        above = parent[-1].value
        if "." in above or match[1].startswith(f"{above}."):
            parent = parent[:-1]
    return (*parent, Step("nummer", match[1])) if all(step.level != "nummer" for step in parent) else None


def _is_counted(text: str, style: Style, before: Step | None) -> bool:
    """Whether a label without punctuation counts, as a word or the symbol of a formula ("mit", "B") does not.

    In German law single capitals are codes and headings ("A Anwendungsbereich"), and cited as the law itself says.
    """
    if len(text) > 1 and text.isupper():
        return True
    if before is None:
        return text == "a" or (style == "article" and text in ("A", "I", "i", "aa"))
    return _is_next(text, before.value)


def _is_next(letters: str, before: str) -> bool:
    """Whether letters follow others in counting: b after a, bb after aa, ii after i."""
    if _ROMAN.match(letters) and _ROMAN.match(before) and roman_value(letters) - roman_value(before) == 1:
        return True
    same = len(letters) == len(before) and len(set(letters)) == len(set(before)) == 1
    return same and before[0].isalpha() and ord(letters[0]) == ord(before[0]) + 1


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
