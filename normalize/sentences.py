"""Sentences of legal German (`Satz`).

A full stop ends a sentence unless it belongs to an abbreviation, an ordinal, a date or a reference that goes on; never
inside brackets or a quotation „…“ (what an amending law quotes is not its own structure, CITATIONS.md 13). The words
that decide are data: `abbreviations.toml`.
"""

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Final

SPLITTER_VERSION: Final = 1  # goes up whenever any text may be split otherwise

_WORDS: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(words)
    for name, words in tomllib.loads(
        files("normalize").joinpath("abbreviations.toml").read_text(encoding="utf-8")
    ).items()
}
_NEVER_LAST = _WORDS["never_last"]
_MAYBE_LAST = _WORDS["maybe_last"]
_REFERENCE_WORDS = _WORDS["reference_words"]
_ORDINAL_NOUNS = _WORDS["ordinal_nouns"]
_ORDINAL_LEADS = _WORDS["ordinal_leads"]
_STARTERS = _WORDS["sentence_starters"]

_OPENERS = "([{„‚«»›‹\"'“”‘’"
_CLOSERS = ")]}“”\"'«»‹›’‘"
# A terminator, what closes after it, and then a blank; or a full stop glued to a capitalised word ("gilt.Die").
_CANDIDATE = re.compile(
    rf"(?<![.!?…])(?P<mark>[.!?…]++)(?P<close>[{re.escape(_CLOSERS)}]*+)(?:(?P<blank>\s++)|(?=[A-ZÄÖÜ§][a-zäöüß ]))"
)
_NESTING = re.compile(r"[()\[\]„“”]")
_NEXT_WORD = re.compile(rf"[{re.escape(_OPENERS)}]*(§+|[^\W_]+)?")
_ROMAN = re.compile(r"[IVXLC]+")
_VOWEL = re.compile(r"[aeiouyäöüAEIOUYÄÖÜ]")
_MONTHS = frozenset(
    [
        "Januar",
        "Februar",
        "März",
        "April",
        "Mai",
        "Juni",
        "Juli",
        "August",
        "September",
        "Oktober",
        "November",
        "Dezember",
    ]
)
_LIST_LABEL = re.compile(r"\(?(?:[\d.]+[a-z]{0,2}|[A-Za-z]{1,2}|[IVXLC]+)")
_DAY_PAIR = re.compile(r"\d{1,2}\.?[/–-]\d{1,2}")  # "am 25./26. Juni"
_SHORTENED = re.compile(r"(?:[bB]l|samml|Str|str)$")  # gazettes ("Bundesgesetzbl."), streets ("Husarenstr.")
_DOTTED = re.compile(r"(?:[A-Za-zÄÖÜäöü]{1,3}\.)+[A-Za-zÄÖÜäöü]{1,3}")
_INITIAL = re.compile(r"[A-Za-zÄÖÜäöü]\.")
_GOES_ON = ("m", "B", "h", "d", "v")  # last letters of "i. V. m.", "z. B.", "d. h.", "i. S. d.", "i. S. v."
_LONGEST_VOWELLESS = 6
_ADJECTIVE = re.compile(r"[a-zäöüß]+e[nmrs]")  # "auf den folgenden 15. Kalendermonat"
_MANY_DIGITS = 3
_LOOK_BACK = 60


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Return the character spans of the sentences of a clean text, in order, without the blanks between them.

    The spans cover every non-blank character. Linear in the length of the text.
    """
    nested = _nested_spans(text)
    spans: list[tuple[int, int]] = []
    start = _skip_blanks(text, 0)
    index = 0
    for candidate in _CANDIDATE.finditer(text):
        end = candidate.end("close")
        while index < len(nested) and nested[index][1] <= candidate.start():
            index += 1
        if (
            index < len(nested)
            and nested[index][0] < candidate.start()
            and not (nested[index][1] <= end and _closes_sentence(text, nested[index][0], start))
        ):
            continue
        if start < end and _ends_sentence(text, start, candidate):
            spans.append((start, end))
            start = _skip_blanks(text, end)
    last = len(text.rstrip())
    if start < last:
        spans.append((start, last))
    return spans


def _skip_blanks(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _nested_spans(text: str) -> list[tuple[int, int]]:
    """Return the outermost balanced spans (…), […] and „…“, both ends included; what never closes does not count."""
    closes = {")": "(", "]": "[", "“": "„", "”": "„"}
    stack: list[tuple[str, int]] = []
    spans: list[tuple[int, int]] = []
    for match in _NESTING.finditer(text):
        sign = match.group()
        if sign not in closes:
            stack.append((sign, match.start()))
            continue
        opener = closes[sign]
        depth = next((i for i in range(len(stack) - 1, max(len(stack) - 9, -1), -1) if stack[i][0] == opener), None)
        if depth is None:
            continue
        begin = stack[depth][1]
        del stack[depth:]
        while spans and spans[-1][0] > begin:
            spans.pop()
        spans.append((begin, match.end()))
    return spans


def _closes_sentence(text: str, opener: int, start: int) -> bool:
    """Tell whether a nested span that ends with its own full stop may end the sentence that starts at `start`.

    A bracket only if it is the whole sentence; a quotation always.
    """
    return text[opener] == "„" or opener == start


def _ends_sentence(text: str, start: int, candidate: re.Match[str]) -> bool:
    after = _NEXT_WORD.match(text, candidate.end())
    word = (after.group(1) or "") if after else ""
    if not word or word[0].islower():
        return False
    mark = candidate.group("mark")
    starts = word in _STARTERS or word[0] == "§"
    if not candidate.group("blank") and candidate.group("close") == "" and not starts:
        return False
    before = text[max(start, candidate.start() - _LOOK_BACK) : candidate.start()]
    if mark != ".":
        return starts or not (before[-1:].isspace() or (mark[0] in ".…" and word[0].isdigit()))
    tokens = before.split()
    if not tokens or before[-1].isspace():
        return False
    last = tokens[-1].lstrip(_OPENERS)
    if not last:
        return False
    lead = tokens[-2] if len(tokens) > 1 else ""
    return _word_ends_sentence(last, lead, tokens, word, starts)


def _word_ends_sentence(last: str, lead: str, tokens: list[str], word: str, starts: bool) -> bool:
    """Tell whether the full stop after `last` (preceded by `lead`) ends the sentence when `word` comes next."""
    if not lead and _LIST_LABEL.fullmatch(last):
        return False
    if _DAY_PAIR.fullmatch(last):
        return False
    if last.isdigit():
        return _number_ends_sentence(last, lead, tokens, word, starts)
    if (len(last) == 1 and last.isalpha()) or _ROMAN.fullmatch(last):
        return _letter_ends_sentence(last, lead, word, starts)
    tail = re.split(r"[-/]", last)[-1]
    if last in _NEVER_LAST or tail in _NEVER_LAST or _SHORTENED.search(tail):
        return False
    if last in _MAYBE_LAST or tail in _MAYBE_LAST:
        return starts
    if _DOTTED.fullmatch(tail):  # "z.B", "i.V.m", "e.V", "a.d"
        return starts and not tail.endswith(_GOES_ON)
    if tail.isalpha() and len(tail) <= _LONGEST_VOWELLESS and not _VOWEL.search(tail) and tail[1:].islower():
        return starts
    return True


def _number_ends_sentence(last: str, lead: str, tokens: list[str], word: str, starts: bool) -> bool:
    if word.isdigit():
        return False
    if lead in _REFERENCE_WORDS:
        return word not in _MONTHS
    if len(last) >= _MANY_DIGITS:  # "am 1. Juni 2020. Die", but "die 274. Sitzung"
        return len(last) > _MANY_DIGITS or word not in _ORDINAL_NOUNS
    if word in _ORDINAL_NOUNS:
        return False
    if starts:
        return True
    if lead in ("und", "oder", "bis", "sowie"):
        return len(tokens) < 3 or not tokens[-3].endswith(".")  # "im 1. und 2. Halbjahr"
    return lead not in _ORDINAL_LEADS and not lead.endswith(":") and not _ADJECTIVE.fullmatch(lead)


def _letter_ends_sentence(last: str, lead: str, word: str, starts: bool) -> bool:
    if _INITIAL.fullmatch(lead):  # "z. B.", "i. V. m.", "a. F."
        return starts and last not in _GOES_ON
    if lead in _REFERENCE_WORDS:
        return starts or len(word) > 1
    if lead[-1:].isdigit() and last not in "iv":  # "§ 3 a. Die", but "Nummer 1 i. V. m." and "1 v. H."
        return starts or (len(word) > 1 and not word.isdigit())
    return starts
