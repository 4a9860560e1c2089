"""Read the law that stands behind a citation: known names, EU numbers, "dieses Gesetzes", and names of unknown laws.

A law that the table does not hold must still be seen: it is `unknown` with its name, and never taken for "this law".
What shows a law name then is its form: an abbreviation with two capitals ("XyzG"), or a word such as "…gesetz".
"""

import re
import tomllib
from importlib.resources import files

from normalize.citing.model import LawName
from normalize.citing.tokens import DATE
from normalize.euacts import read_act
from normalize.laws import LawTable
from normalize.units import ROMAN, UNIT_WORDS

_LEAD = re.compile(
    r"\s{0,8}(?:-\s)?(?:(des|der|dem|den|die|das|zum|zur|vom|von|im|in\sdas)\s{1,8}(?:(?:genannten|vorgenannten|alten|neuen)\s)?)?"
)
_THIS = re.compile(
    r"\s{0,8}(?:der\s|des\s)?(?:vorliegende[nrs]|diese[rsmn]?)\s{1,4}"
    r"(?:[A-ZÄÖÜ][a-zäöü]+)?(?:[Gg]esetz(?:buch)?(?:e?s)?|[Vv]erordnung|Richtlinie|Buche?s?|[Oo]rdnung|(?:Staats)?[Vv]ertrag(?:e?s)?|"
    r"Abkommens?|Übereinkommens?|Satzung|Beschlusses)(?![^\W_])"
)
_GENERIC = re.compile(
    r"(?:[A-ZÄÖÜ][a-zäöü]+(?:en|er|es)\s)?(?:Gesetz(?:e?s)?|Verordnung|Richtlinie|(?:Staats|Tarif)?[Vv]ertrag(?:e?s)?|Abkommens?|"
    r"Übereinkommens?|Konvention|Protokolls?|Pakt(?:e?s)?|Bekanntmachung|"
    r"(?:Änderungs|Einführungs|Ausführungs|Zustimmungs|Durchführungs|Rahmen)(?:gesetz(?:e?s)?|verordnung|vereinbarung|abkommens?))"
)
_OF_BODY = re.compile(r"\s{1,4}(?:des|der)\s(?=[A-ZÄÖÜ])")
_IN_VERSION = re.compile(r"\s{1,4}in\s(?:der|ihrer|seiner)\s(?:[a-zäöü]+\s)?(?:Fassung|bis|seit|ab|vom|im|am)\b")

_WORDS: dict[str, list[str]] = tomllib.loads(files("normalize").joinpath("names.toml").read_text(encoding="utf-8"))
_REGIONS = "|".join(_WORDS["regions"])
_EXTENSION = re.compile(rf"\s(?:(?:{_REGIONS})|(?:19|20)\d\d(?!\s?[,./]\s?\d))(?![^\W_])(?!\.\d)")
_OF_LAND = re.compile(
    r"\s(?:(?:des\s(?:Landes|Freistaats|Freistaates)|für\s(?:das\sLand|den\sFreistaat)|(?:der|für\sdie)\sFreien\s(?:und\s)?Hansestadt)\s"
    rf"(?:{_REGIONS})[es]{{0,2}})(?![^\W_])"
)

_ABBREVIATION = re.compile(
    r"(?:\d{1,2}\.\s)?(?:[A-ZÄÖÜ][^\W\d_]*|[a-z](?=[A-Z]))[^\W_]*(?:(?:[-.&]|\s?/\s?(?=[A-ZÄÖÜ]))(?:[A-ZÄÖÜ][^\W_]*|\d+))*"
)
_AGREEMENTS = re.compile(r"(?<![^\W_])(?:TV|MTV|BV|GBV|KBV|NV|ZP|FGr|VO)$")
_PLAIN_WORD = frozenset({"NV", "BV", "GBV", "KBV"})
"""Agreements that are told apart by a plain word: "NV Bühne", "BV Arbeitszeit"."""
_MORE_NAME = re.compile(
    r"\s(?:[A-ZÄÖÜ][^\W\d_]*(?:[-/.][A-ZÄÖÜ][^\W_]*|-[a-zäöü]+)*|\d{1,2}-[A-Z]{2,}|\d\d(?![\d.,/])|(?:19|20)\d\d(?!\s?[,./]\s?\d)|\d\d?(?=\s[A-ZÄÖÜ]{2})|[IVX]+)(?![^\W_])"
)
_NOT_LAWS = frozenset(_WORDS["not_laws"])
_LAWISH = (
    r"(?:[gG]esetz(?:buch)?(?:e?s|e)?|[vV]erordnung|[oO]rdnung|[rR]ichtlinien?|[sS]atzung|[vV]ertrag(?:e?s)?|[aA]bkommens?|"
    r"[üÜ]bereinkommens?|[üÜ]bereinkunft|[kK]onvention|[pP]rotokolls?|[cC]harta|[vV]ereinbarung|[sS]tatuts?|[kK]odex|[eE]rlass(?:es)?|"
    r"[vV]erfassung|[gG]rundgesetz(?:e?s)?|VO|RL|Codes?|[bB]edingungen|[vV]erzeichnis(?:ses)?|[pP]akt(?:e?s)?)"
)
_NAME_WORD = r"[^\W_]+(?:[-–/.&][^\W_]+)*-?"
_LONG_NAME = re.compile(
    rf"(?:(?:[^\W\d_]+(?:e[nrs]?|er)|\d+\.)\s{{1,4}}){{0,3}}?(?:[A-ZÄÖÜ][^\W_]*-\s?(?:,\s|und\s|oder\s)){{0,3}}"
    rf"(?:[A-ZÄÖÜ][^\W_]*(?:[-–][^\W_]+)*-?)??{_LAWISH}(?![^\W_])"
)
_COMPOUND = re.compile(
    r"(?:Gesetz|Verordnung)(?=\s(?:zur|zum|zu|über|für)\s)|(?:[A-ZÄÖÜ][^\W_]*-\s?(?:und\s|,\s)){0,2}[A-ZÄÖÜ][^\W\d_]*(?:-[^\W\d_]+){0,4}?"
    r"(?:gesetz(?:buch)?|verordnung|ordnung|vertrag|Verordnung|Gesetz|Ordnung|abkommen|konvention)(?:e?s)?(?![^\W_-])"
)
_TITLE_START = re.compile(
    r"\s{1,4}(?=(?:über|zur|zum|zu|für|betreffend|gegen|zwischen|von|mit|vor|wegen|des\s[A-Z])\s?)"
)
_TITLE_WORD = re.compile(
    rf"\s{{1,4}}(?:(?P<noun>[A-ZÄÖÜ\"„“]{_NAME_WORD}[\"“]?)|(?P<number>\d+(?![\d./]))|(?P<word>[a-zäöüß]+)(?![^\W_]))(?P<comma>,?)"
)
_FUNCTION_WORDS = frozenset(_WORDS["title_words"])
_ADJECTIVE = re.compile(r"[a-zäöüß-]{3,}(?:e|en|er|es|em)$")
_NOT_ADJECTIVES = frozenset(_WORDS["not_adjectives"])
_GAZETTES = (
    r"BGBl|Bundesgesetzblatt|RGBl|ABl|Amtsblatt|BStBl|(?:[A-ZÄÖÜ][a-zäöü]{1,5}\.?)?GVO?Bl|GV\.?\s|GBl|BAnz|"
    r"Bundesanzeiger|VMBl|SächsABl"
)
_GAZETTE = re.compile(
    rf"\s{{0,3}}(?:\(\s?(?:{_GAZETTES})[^()]{{0,160}}(?:\([^()]{{0,80}}\)[^()]{{0,80}}){{0,4}}\)|<\s?(?:{_GAZETTES})[^<>]{{0,80}}>"
    rf"|,\s(?:BGBl|RGBl)\.?\s(?:[\d]{{4}}\s)?I{{1,3}}(?:\s\d{{4}},)?(?:\sS\.)?\s\d+)"
)
_DATED = re.compile(rf"\s{{1,4}}vom\s{{1,4}}{DATE}")
_BRACKETED_SHORT = re.compile(r"\s?(?:[(<]|[-–]\s)\s?([A-ZÄÖÜ][^\s()<>]{1,20}(?:\s[IVX]{1,4})?)\s?(?:[)>]|[-–])")
_INSTITUTION = re.compile(
    r"\s{1,4}(?:des\sEuropäischen\sParlament(?:e?s)?\sund\sdes\sRate?s|der\sKommission|des\sRate?s|der\sEuropäischen\sZentralbank)"
    r"(?:\s\([A-Z]+\))?"
)
_EU_TITLE = re.compile(r"[^();§]{0,600}?(?:\([^()]{0,120}\)[^();§]{0,300}?){0,4}?(?=\s\(ABl)")


_BOOK = re.compile(
    r"(?:Ersten|Zweiten|Dritten|Vierten|Fünften|Sechsten|Siebten|Siebenten|Achten|Neunten|Zehnten|Elften|Zwölften|Vierzehnten)"
    r"\sBuche?s(?!\s(?:des\s)?Sozialgesetzbuch)(?![^\W_])"
)
_NO_NAME = frozenset(",.;:)]}\"“”'")


def read_law(text: str, position: int, laws: LawTable) -> LawName | None:
    """Read the law whose name stands at `position` (articles such as "des" may lead in), or None."""
    if text[position : position + 1] in _NO_NAME:
        return None
    this = _THIS.match(text, position)
    if this:
        return LawName(text[position : this.end()].strip(), this.end(), is_this=True)
    lead = _LEAD.match(text, position)
    if lead is None:
        return None
    start = lead.end()
    book = _BOOK.match(text, start) if lead.group(1) == "des" else None
    if book:
        return LawName(book.group(), book.end(), laws.resolve(f"{book.group()} Sozialgesetzbuch"), is_book=True)
    first = text[start : start + 1]
    if not first.isalnum():
        return None
    preposition = lead.group(1)
    known = laws.match(text, start) if preposition not in {"im"} or first.isupper() else None
    if known is not None:
        longer = _EXTENSION.match(text, known[1]) or _OF_LAND.match(text, known[1])
        if longer:
            return LawName(text[start : longer.end()], longer.end())
        return _with_gazette(text, start, LawName(text[start : known[1]], known[1], known[0]))
    act = read_act(text, start)
    if act is not None:
        end = eu_act_end(text, act.end)
        return LawName(act.name, end, laws.by_celex(act.celex) if act.celex else None, celex=act.celex)
    if not (first.isupper() or first.isdigit() or text[start + 1 : start + 2].isupper() or preposition):
        return None
    with_article = preposition is not None
    name = _unknown_name(text, start, laws, with_article=with_article) or _unknown_abbreviation(text, start)
    if name is None and with_article and not first.isupper():
        adjective = _LEADING_ADJECTIVE.match(text, start)
        name = _unknown_abbreviation(text, adjective.end()) if adjective else None
    return name


_LEADING_ADJECTIVE = re.compile(r"[a-zäöüß]{4,}en\s(?=[A-ZÄÖÜ])")


def _with_gazette(text: str, start: int, name: LawName) -> LawName:
    dated = _DATED.match(text, name.end)
    if dated is None:
        return name
    gazette = _GAZETTE.match(text, dated.end())
    if gazette is None and not _TREATY.search(name.name):
        return name
    return LawName(name.name, gazette.end() if gazette else dated.end(), name.law)


_TREATY = re.compile(r"(?:[vV]ertrag|[aA]bkommen|[üÜ]bereinkommen|[pP]rotokoll|[kK]onvention)(?:e?s)?$")


def eu_act_end(text: str, position: int) -> int:
    """Return where the naming of an EU act ends: institution, date and title count if the Official Journal follows."""
    institution = _INSTITUTION.match(text, position)
    end = institution.end() if institution else position
    dated = _DATED.match(text, end)
    after = dated.end() if dated else end
    if institution or dated:
        title = _EU_TITLE.match(text, after)
        gazette = _GAZETTE.match(text, title.end()) if title else None
        if gazette:
            return gazette.end()
        titled = _title_end(text, after, generic=True)
        return titled if titled > after else end
    gazette = _GAZETTE.match(text, position)
    return gazette.end() if gazette else position


def _unknown_abbreviation(text: str, start: int) -> LawName | None:
    match = _ABBREVIATION.match(text, start)
    if match is None:
        return None
    word = match.group()
    if not _looks_like_abbreviation(word):
        return None
    end = match.end()
    for _ in range(4):
        more = _MORE_NAME.match(text, end)
        if more is None:
            break
        token = more.group().strip()
        if token in _NOT_LAWS and not ROMAN.fullmatch(token):
            break
        agreement = _AGREEMENTS.search(text[start:end])
        if not (
            _looks_like_abbreviation(token)
            or ROMAN.fullmatch(token)
            or (token.isdigit() and (len(token) == 4 or agreement))
            or re.fullmatch(_REGIONS, token)
            or "-" in token
            or (agreement and text[start:end] in _PLAIN_WORD and token not in UNIT_WORDS)
        ):
            break
        end = more.end()
    extension = _EXTENSION.match(text, end)
    end = extension.end() if extension else end
    return _with_gazette(text, start, LawName(text[start:end], end))


def _looks_like_abbreviation(word: str) -> bool:
    capitals = sum(letter.isupper() for letter in word)
    if capitals < 2 or word in _NOT_LAWS or word in UNIT_WORDS or ROMAN.fullmatch(word):
        return False
    head, *more = re.split(r"[-./\s]", word)
    if more and all(sum(letter.isupper() for letter in part) < 2 for part in (head, more[-1])) and len(more[-1]) > 2:
        return False  # "Peer-Reviews"
    return head not in _NOT_LAWS and not (word.isupper() and len(word) > 8)


def _unknown_name(text: str, start: int, laws: LawTable, *, with_article: bool) -> LawName | None:
    match = (_LONG_NAME if with_article else _COMPOUND).match(text, start)
    if match is None:
        return None
    end = match.end()
    generic = _GENERIC.fullmatch(match.group()) is not None
    if not with_article and generic and _TITLE_START.match(text, end) is None:
        return None
    dated = _DATED.match(text, end)
    if dated and (generic or _GAZETTE.match(text, dated.end())):
        end = dated.end()
    else:
        end = _title_end(text, end, generic=generic)
        year = _YEAR.match(text, end)
        end = year.end() if year else end
        dated = _DATED.match(text, end)
        if dated and (_GAZETTE.match(text, dated.end()) or year):
            end = dated.end()
    short = _BRACKETED_SHORT.match(text, end)
    law = laws.resolve(short.group(1)) if short else None
    name = text[start:end]
    dated = _DATED.match(text, short.end()) if short else None
    gazette = _GAZETTE.match(text, dated.end() if dated else end)
    return LawName(name, gazette.end() if gazette else end, law)


_YEAR = re.compile(r"\s(?:19|20)\d\d(?!\d)")


def _title_end(text: str, position: int, *, generic: bool) -> int:
    """Return where a title such as "über das Verlagsrecht" ends: at its last noun before something that is no title.

    Only a `generic` head ("Gesetz", "Vertrag") has a title; a compound ("Haushaltsordnung") at most the body it is of.
    """
    if generic:
        if _TITLE_START.match(text, position) is None:
            return position
    elif _OF_BODY.match(text, position) is None and _FOR_LAND.match(text, position) is None:
        return position
    end = position
    for _ in range(48 if generic else 12):
        match = _TITLE_WORD.match(text, position)
        if match is None or _IN_VERSION.match(text, position):
            break
        word = match.group("word")
        if word is not None and word not in _FUNCTION_WORDS and (word in _NOT_ADJECTIVES or not _ADJECTIVE.match(word)):
            break
        if word is None:
            end = match.end() - len(match.group("comma"))
            noun = match.group("noun") or ""
            if not generic and not noun.startswith(_LANDS) and not _FOR_LAND.match(text, end):
                break
        if match.group("comma") and not _COMMA_IN_TITLE.match(text, match.end()):
            break
        position = match.end()
    return end


_LANDS = ("Freistaat", "Land", "Frei", "Hansestadt", "Republik", "Bundesrepublik", "Deutsch", "Demokrat")
_FOR_LAND = re.compile(rf"\s{{1,4}}(?:für|über)\s(?:(?:das|den|die)\s)?(?:Land\s)?(?=(?:{_REGIONS}|[A-ZÄÖÜ]))")
_COMMA_IN_TITLE = re.compile(
    r"\s(?:[A-ZÄÖÜ][^\W_]+-?,?\s(?:und|sowie|[A-ZÄÖÜ])|zur\s|zum\s|über\s|des\s[A-Z]|der\s[A-Z])"
)


def law_before(text: str, start: int, earliest: int, laws: LawTable) -> tuple[LawName, int] | None:
    """Return a known law that stands directly before `start` ("ZPO § 319", "BDSG § 38"), and where it begins."""
    if start - earliest < 2 or text[start - 1] != " ":
        return None
    end = start - 1
    before = _WORDS_BEFORE.search(text, max(earliest, start - 44), end)
    if before is None:
        return None
    for begin in range(before.start(), end):
        if begin > before.start() and text[begin - 1] != " ":
            continue
        found = laws.match(text, begin)
        if found is not None and found[1] == end:
            return LawName(text[begin:end], end, found[0]), begin
    return None


_WORDS_BEFORE = re.compile(
    r"(?<![^\W_])(?:\d{1,2}\.\s)?(?:[A-ZÄÖÜ][\w.-]*\s){0,2}(?:[A-Za-zÄÖÜ]?[a-z]*[A-ZÄÖÜ][\w-]*(?:\s(?:[IVX]+|\d{1,4}))?)\Z"
)
"""Up to three words, the last with a capital: what a law before a § can look like."""
