"""The words and signs of citations: where one may start, and the pieces it is read from.

Patterns only; the unit words come from the unit table. All gaps are bounded, so that no input makes a match slow.
"""

import re

from normalize.units import ROMAN, UNIT_WORDS, UNITS

_MONTH = "Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
DATE = rf"(?:\d{{1,2}}\.\s{{0,3}}(?:{_MONTH}|\d{{1,2}}\.)\s{{0,3}}(?:\d{{4}}|\d{{2}}(?!\d)))"
"""A German date, as a pattern."""

_NORM = r"§+|[Pp]aragra(?:ph|f)(?:en|s)?(?=\s\d)|Art(?:ikel[ns]?|t)?\b\.?|ART(?:IKEL)?\b\.?|art\.(?=\s?\d)"
_ANNEX = r"Anh(?:ang(?:s|es)?|änge[n]?)|Anlagen?|ANHANG|ANLAGE|Präambel"
_RECITAL = r"Erwägungsgr(?:und(?:e?s)?|ünden?)|ErwGr?\b\.?|EG(?=\s\d{1,3}\s(?:der|zur|DS-?GVO|[A-Z]))"
_RELATIVE = (
    r"Abs(?:atz(?:es)?|ätzen?)?\b\.?|UAbs\b\.?|Unterabs(?:atz(?:es)?|ätzen?)?\b\.?|Satz(?:es)?\b|Sätzen?\b|Nr\b\.?|Nrn\b\.?|"
    r"Nummern?\b|Buchst(?:abe[n]?)?\b\.?|(?:Teil|Abschnitt|Kapitel|Halbsatz|Ziffer|Doppelbuchstabe)\b"
)
_ACT = (
    r"(?:(?:Delegierten?r?|Durchführungs|Änderungs|Rahmen)\s?)?(?:[Vv]erordnung(?:en)?|[Rr]ichtlinien?|[Bb]eschl(?:uss(?:es)?|üssen?)|VO|RL)"
    r"(?=\s{1,4}(?:[(<]\s?E|Nr\.?\s?\d|E[UGW]|\d{2,4}\s?/))|VERORDNUNG|RICHTLINIE|\d{2,4}/\d{1,4}/E[UGW]|\((?=E[GUW]{1,2}\)\sN)"
)
_GAZETTE = rf"vom\s{DATE}\s\((?=R?BGBl)|in\sder\sim\sBundesgesetzblatt\sTeil\sIII"

ANCHOR = re.compile(
    rf"(?P<norm>§+|(?<![^\W_])(?:{_NORM}))|(?<![^\W_])(?:(?P<annex>(?:{_ANNEX})\b)|(?P<recital>{_RECITAL})"
    rf"|(?P<relative>{_RELATIVE})|(?P<gazette>{_GAZETTE})|(?P<act>{_ACT}))"
)
"""A place where a citation may start."""

NORM = re.compile(rf"\s{{0,8}}(?:{_NORM})")
ANNEX = re.compile(rf"\s{{0,8}}(?:{_ANNEX})\b")
RECITAL = re.compile(rf"\s{{0,8}}(?:{_RECITAL})")

TOKEN = re.compile(r"\s{0,8}(?:(\d+)|([^\W\d_]+)|(§)|(\S))")
"""The next piece: a number, a word, a § or any other sign."""

NUMBER = re.compile(
    r"\s{0,8}(\d+(?:\.\d+)*)(?:"
    r"([a-z])(?![^\W_])|(bis|ter|quater|quinquies|sexies)(?![^\W_])|([a-eg-z])\4(?![^\W_])"
    r"|\s([a-rt-z])(?![\w.)])(?!\s\))(?!\s\.\s[A-ZVFm])|(?=ff?(?![^\W_]))|(?![^\W_]))"
)
"""A number with its letter: 3, 3a, "3 a", 6ter, 28aa, 1.01; never a part of a longer word."""

LETTER = re.compile(r"\s{0,8}([a-zA-Z]{1,3})(?![^\W_])(?!\.\s?[A-Z])")
ROMAN_NUMBER = re.compile(rf"\s{{0,8}}({ROMAN.pattern})([a-z]?)(?![^\W_])")
SMALL_ROMAN = re.compile(r"\s{0,8}((?=[ivxl])(?:x[lc]|l?x{0,3})(?:i[xv]|v?i{0,3}))(?![^\W_])")
PARENTHESIS = re.compile(r"\s{0,8}\)")
BRACKETED = re.compile(
    r"\s{0,2}\(\s{0,2}(?:(?:Abs(?:atz)?\.?\s{0,2})?(\d{1,3}[a-z]?)|([a-z]{1,3}))\s{0,2}\)", re.IGNORECASE
)
LETTER_POINT = re.compile(r"\s{0,8}([a-z]{1,2})\s?\)")

_ORDINAL_UNITS = {
    word: unit.level
    for unit in UNITS
    if unit.level in {"absatz", "satz", "halbsatz", "alternative", "variante", "gedankenstrich", "unterabsatz"}
    for word in unit.words
    if word not in {"S", "Abs"}
}
_ORDINAL_WORDS = {
    "erst": "1",
    "zweit": "2",
    "dritt": "3",
    "viert": "4",
    "fünft": "5",
    "sechst": "6",
    "letzt": "letzte",
}
ORDINAL = re.compile(
    rf"\s{{0,8}},?\s{{0,8}}(?:(\d+)\.|({'|'.join(_ORDINAL_WORDS)})e[rsnm]?)\s{{0,4}}({'|'.join(_ORDINAL_UNITS)})\b\.?"
)
"""A unit counted by an ordinal: "2. Halbsatz", "letzte Alternative"; a comma may stand before it."""
OPENING = re.compile(r"\s{0,8},?\s{0,8}(?:Eingangs|Einleitungs)(satz|halbsatz|halbs)\b\.?")

FOLLOWING = re.compile(r"\s{0,3}(f|ff)(\.?)(?![^\W_])")
VERSION = re.compile(
    r"\s{0,3}(?:\(\s?(?=[an]))?(?:(a\.\s?F\.|aF\b\.?|alte[rn]?\s(?:Fassung|F\.))|(n\.\s?F\.|nF\b\.?|neue[rn]?\s(?:Fassung|F\.)))"
)
EDITION = re.compile(r"-(?:(alt)|(neu))\b|\s?\((?:(alt)|(neu))\)")

_CHAIN = (
    r"i\.?\s?[Vv]\.?\s?m\.?(?![^\W_])|iVm\b\.?|in\s{1,4}Verb(?:indung)?\.?\s{1,4}mit\b|i\.\s?Verb\.\s?m\.|"
    r"jeweils\sin\sVerbindung\smit"
)
_AND = (
    r"und\s?/\s?oder\b|und\b|oder\b|sowie\b|bzw\b\.?|beziehungsweise\b|als\sauch\b|wie\sauch\b|noch\b|u\.(?=\s?(?:\d|Abs|Nr|§))|&"
)
SEPARATOR = re.compile(
    rf"\s{{0,8}}(?:,\s{{0,8}})?(?:(?P<chain>{_CHAIN})|(?P<range>bis(?:\seinschließlich)?\b|[-–—](?=\s?(?:§|\d|[a-z]\b|Abs|Nr)))"
    rf"|(?P<and>{_AND})|(?P<sign>[,;/]))\s{{0,8}}(?:(?:auch|jeweils|insbesondere|hier|zusätzlich|ggf\.)\s{{1,4}})?"
    rf"(?:(?:mit|dem|den|des|der)\s{{1,4}})?|\s{{0,8}}(?P<comma>,)\s{{0,8}}"
)
"""What stands between two places of one citation."""

WORD_AHEAD = re.compile(r"\s{0,8}([^\W\d_]+)\.?")
NO_VALUE = re.compile(
    rf"\s{{0,3}}(?:\.\s?(?:{_MONTH})|(?:{_MONTH}|Tage?n?|Wochen?|Monate?n?|Jahre?n?|Stunden?|Minuten?|Euro|EUR|Prozent|"
    r"Personen|Mio|Mrd|Millionen|Cent|DM|[x×])\b|\s?[%€$])"
)
"""What shows that a bare number before it counts something and is no part of a citation."""

OF = re.compile(r"\s{1,8}(?:des|der|zu|zum|von)\s{1,8}")
AS_AMENDED = re.compile(r"\s{1,8}in\sder\sFassung\s(?:des|der)\s{1,4}(?=Art|§)")

_STRONG_WORDS = {"Abs", "Absatz", "Absätze", "Absätzen", "Nr", "Nummer", "Satz", "Sätze", "Buchst", "Buchstabe", "lit", "UAbs"}


def unit_level_ahead(text: str, position: int) -> str | None:
    """Return the level whose marker stands next, or None."""
    word = WORD_AHEAD.match(text, position)
    unit = UNIT_WORDS.get(word.group(1)) if word else None
    if unit is not None:
        return unit.level
    ordinal = ORDINAL.match(text, position)
    return _ORDINAL_UNITS[ordinal.group(3)] if ordinal else None


def is_strong_marker(word: str) -> bool:
    """Whether a unit word without a value shows that the citation goes on in a way that was not read."""
    return word in _STRONG_WORDS


def read_ordinal(text: str, position: int) -> tuple[str, str, int] | None:
    """Read "2. Halbsatz", "letzte Alternative" or "Eingangssatz": level, value and end."""
    match = ORDINAL.match(text, position)
    if match:
        return _ORDINAL_UNITS[match.group(3)], match.group(1) or _ORDINAL_WORDS[match.group(2)], match.end()
    opening = OPENING.match(text, position)
    if opening:
        return ("satz" if opening.group(1) == "satz" else "halbsatz"), "Eingang", opening.end()
    return None


def arabic(roman: str) -> str:
    """Return a roman number below 100 in arabic digits."""
    values = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
    total = 0
    for letter, after in zip(roman, (*roman[1:], ""), strict=True):
        value = values[letter]
        total += -value if after and values[after] > value else value
    return str(total)
