"""The words and signs of citations: where one may start, and the pieces it is read from.

Patterns only; the unit words come from the unit table. All gaps are bounded, so that no input makes a match slow.
"""

import re

from normalize.units import ROMAN, UNIT_WORDS, UNITS

_MONTH = "Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
DATE = rf"(?:\d{{1,2}}\.\s{{0,3}}(?:{_MONTH}|\d{{1,2}}\.)\s{{0,3}}(?:\d{{4}}|\d{{2}}(?!\d)))"
"""A German date, as a pattern."""

_NORM = r"§+|Paragra(?:ph|f)(?:en|s)?(?=\s\d)|Art(?:ikel[ns]?|t)?\b\.?|ART(?:IKEL)?\b\.?"
_ANNEX = r"Anh(?:ang(?:s|es)?|änge[n]?)|Anlagen?|ANHANG|ANLAGE|Präambel"
_RECITAL = r"Erwägungsgr(?:und(?:e?s)?|ünden?)|ErwGr?\b\.?|EG(?=\s\d{1,3}\s(?:der|zur|DS-?GVO|[A-Z]))"
_ACT_NUMBER = r"(?=\s{1,4}(?:[(<]\s?E|Nr\.?\s?\d|E[UGW]|\d{2,4}\s?/))"

_ANCHORS: tuple[tuple[str, str, str], ...] = (
    ("norm", "§", "§*"),
    ("norm", "A", r"rt(?:ikel[ns]?|t)?\b\.?|RT(?:IKEL)?\b\.?"),
    ("norm", "P", r"aragra(?:ph|f)(?:en|s)?(?=\s\d)"),
    ("annex", "A", r"nh(?:ang(?:s|es)?|änge[n]?)\b|nlagen?\b|NHANG\b|NLAGE\b"),
    ("annex", "P", r"räambel\b"),
    ("recital", "E", r"rwägungsgr(?:und(?:e?s)?|ünden?)\b|rwGr?\b\.?|G(?=\s\d{1,3}\s(?:der|zur|DS-?GVO|[A-Z]))"),
    ("relative", "A", r"bs(?:atz(?:es)?|ätzen?)?\b\.?|bschnitt\b"),
    ("relative", "U", r"Abs\b\.?|nterabs(?:atz(?:es)?|ätzen?)?\b\.?"),
    ("relative", "S", r"atz(?:es)?\b|ätzen?\b"),
    ("relative", "N", r"r\b\.?|rn\b\.?|ummern?\b"),
    ("relative", "B", r"uchst(?:aben?)?\b\.?"),
    ("relative", "T", r"eil\b"),
    ("relative", "K", r"apitel\b"),
    ("relative", "H", r"albsatz\b"),
    ("relative", "Z", r"iffer\b"),
    ("relative", "D", r"oppelbuchstabe\b"),
    ("gazette", "v", rf"om\s{DATE}\s\((?=R?BGBl)"),
    ("gazette", "B", r"undesgesetzblatt\sTeil\sIII"),
    ("act", "B", rf"eschl(?:uss(?:es)?|üssen?){_ACT_NUMBER}"),
    (
        "act",
        "D",
        rf"(?:elegierte[nr]?\s|urchführungs)(?:[Vv]erordnung(?:en)?|[Rr]ichtlinien?|beschluss(?:es)?){_ACT_NUMBER}",
    ),
    ("act", "V", rf"(?:erordnung(?:en)?|O|ERORDNUNG){_ACT_NUMBER}"),
    ("act", "R", rf"(?:ichtlinien?|L|ICHTLINIE|ahmenbeschluss(?:es)?){_ACT_NUMBER}"),
    ("act", "(", r"(?=E[GUW]{1,2}\)\sNr)"),
    ("act", r"\d", r"\d{1,3}/\d{1,4}/E[UGW]"),
)
"""Where a citation may start: kind, first character, the rest. By first character, so that the search runs over a text
at the speed of one character class."""

_FIRST = "".join(dict.fromkeys(first for _, first, _ in _ANCHORS))
ANCHOR = re.compile(
    rf"[{_FIRST}](?:"
    + "|".join(
        rf"(?P<{kind}_{index}>(?<={re.escape(first) if len(first) == 1 else first})"
        + ("" if first == "§" else r"(?<![^\W_].)")
        + rf"(?:{rest}))"
        for index, (kind, first, rest) in enumerate(_ANCHORS)
    )
    + ")"
)
"""A place where a citation may start; `anchor_kind` says which kind."""


def anchor_kind(anchor: re.Match[str]) -> str:
    """Return the kind of an anchor: norm, annex, recital, relative, gazette or act."""
    return (anchor.lastgroup or "norm_").partition("_")[0]


NORM = re.compile(rf"\s{{0,8}}(?:{_NORM})")
ANNEX = re.compile(rf"\s{{0,8}}(?:{_ANNEX})\b")
RECITAL = re.compile(rf"\s{{0,8}}(?:{_RECITAL})")

TOKEN = re.compile(r"\s{0,8}(?:(\d+)|([^\W\d_]+)|(§)|(\S))")
"""The next piece: a number, a word, a § or any other sign."""

NUMBER = re.compile(
    r"\s{0,8}([0-9]{1,6}(?:\.[0-9]{1,4}){0,5})(?:"
    r"([a-zA-Z])(?![^\W_])|(bis|ter|quater|quinquies|sexies)(?![^\W_])|([a-eg-z])\4(?![^\W_])"
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

_CHAIN = r"i\.?\s?[Vv]\.?\s?m\.?(?![^\W_])|iVm\b\.?|in\s{1,4}Verb(?:indung)?\.?\s{1,4}mit\b|i\.\s?Verb\.\s?m\."
_AND = (
    r"und\s?/\s?oder\b|und\b|oder\b|sowie\b|bzw\b\.?|beziehungsweise\b|als\sauch\b|wie\sauch\b|"
    r"noch\b|u\.(?=\s?(?:\d|Abs|Nr|§))|&"
)
SEPARATOR = re.compile(
    rf"\s{{0,8}}(?:,\s{{0,8}})?(?:(?:(?:auch|jeweils)\s{{1,4}}){{0,2}}(?P<chain>{_CHAIN})|(?P<range>bis(?:\seinschließlich)?\b|[-–—](?=\s?(?:§|\d|[a-z]\b|Abs|Nr)))"
    rf"|(?P<and>{_AND})|(?P<sign>[,;/]))\s{{0,8}}(?:(?:auch|jeweils|insbesondere|hier|zusätzlich|ggf\.)\s{{1,4}})?"
    rf"(?:(?:mit|dem|den|des|der|die(?=\s§))\s{{1,4}})?|\s{{0,8}}(?P<comma>,)\s{{0,8}}"
)
"""What stands between two places of one citation."""

WORD_AHEAD = re.compile(r"\s{0,8}([^\W\d_]+)\.?")
NO_VALUE = re.compile(
    rf"\s{{0,3}}(?:\.\s?(?:{_MONTH})|(?:{_MONTH}|Tage?n?|Wochen?|Monate?n?|Jahre?n?|Stunden?|Minuten?|Euro|EUR|Prozent|"
    r"Personen|Mio|Mrd|Millionen|Cent|DM|[x×])\b|\s?[%€$])"
)
"""What shows that a bare number before it counts something and is no part of a citation."""

GLOSS = re.compile(r"\s\([^()§]{1,120}\)(?=\s?(?:,|und|oder|sowie|des|der|in\sVerbindung)(?![^\W_]))")
"""A gloss between the places of a chain: "§ 168 Absatz 1 Nummer 1b (geringfügig Beschäftigte) oder § 172 des …"."""
LIST_LABEL = re.compile(r"\.(?:\s{1,4}(\S)|(?=\s*$))")
"""A dot behind a bare number: the number may be the label of the next item ("§ 5 Absatz 1, 2. Angaben über …")."""
PARENTHESIS_CLOSED = re.compile(r"\s{0,3},\s{1,4}(?=(?:des|der)\s)")

OF = re.compile(r"\s{1,8}(?:des|der|zum|von)\s{1,8}")
AS_AMENDED = re.compile(r" in\sder\sFassung\s(?:des|der)\s{1,4}(?=Art|§)")

REPORTER_BEFORE = re.compile(
    r"(?:(?<![^\W_])Nr\.?\s\d{1,3}\szu|SozR\s?[\d\s./-]{0,14}|Buchholz\s[\d.\s]{2,12}|BGHR|(?<![^\W_])(?:AP|EzA|LM|EzAÜG|ArbuR|HFR|NZM|Breith)\s?(?:Nr\.?\s?\d+\szu)?)"
    r"(?:\s[A-ZÄÖÜ][A-Za-zÄÖÜäöü]{1,12}(?:\s[IVX]+)?)?\s?$"
)
"""A law report that files decisions by norm: in "SozR 4-2500 § 31 Nr 17" the number counts decisions, not units."""
COMMENTARY_BEHIND = re.compile(r"\s{0,3},?\s?(?:Rn|Rz|Erl|Rd\.?-?[nN]r|Rdn|RdNr|Randnr|Randnummer|Anm|Fn|Tz)\b\.?")
"""A marginal number: the § is a place of a commentary ("Tipke/Kruse, § 162 Rz 20"), no citation of the law."""

OTHER_WORDING = re.compile(
    rf"\s{{1,4}}(?:vom\s{{1,4}}{DATE}(?!\s\()|(?:vom\s{DATE}\s)?\(?(?:in\s(?:der|ihrer|seiner)\s(?:bis|am|ab|seit|vom|zuletzt|vor|damals|"
    r"alten|früheren|Fassung\s(?:des\s(?:Gesetzes|Art)|vom|bis))|i\.?\s?d\.?\s?F\.?\s|idF\s))"
)
"""The law of another time is cited: "in der bis zum 31. August 2009 geltenden Fassung", "vom 22. Juni 2004"."""

_STRONG_WORDS = {
    "Abs",
    "Absatz",
    "Absätze",
    "Absätzen",
    "Nr",
    "Nummer",
    "Satz",
    "Sätze",
    "Buchst",
    "Buchstabe",
    "lit",
    "UAbs",
}


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
