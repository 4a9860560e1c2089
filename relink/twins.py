"""Near twins: texts that differ only in a number, a negation or a party, and say something else by it.

A few letters are noise to an alignment, but "kein" for "ein", "Landes" for "Bundes", "11" for "10", "Juli" for "Juni"
are no slips of copying. What a scan confuses ("l" for "1", "S" for "5") is none of these, where the text has the digit.
"""

import re
from collections.abc import Iterator, Sequence

from rapidfuzz.distance import Levenshtein, Postfix, Prefix

from relink.align import is_slip
from relink.skeleton import ABSATZ_NUMBER, fold

_WORD = re.compile(r"[^\W_]+")
_DIGITS = re.compile(r"\d+")
# A digit in the middle of a word is a letter that was misread.
_IN_WORD = re.compile(r"(?<=[^\W\d_])[01]+(?=[^\W\d_])|(?<=[^\W\d_]{3})[01](?![^\W_])|(?<![^\W_])[01](?=[^\W\d_]{3})")
_BLANKS = re.compile(r"(?<=\d)\s+(?=\d)")
_SOFT = re.compile("\u00ad|[-\u2010]\\s*\n\\s*")
_ENDINGS = ("en", "er", "es", "em", "e", "s", "n", "")
# Words of a few letters, or that differ by a few from another one, and that turn a rule: no slip makes one of another.
_WORDS = frozenset(
    re.findall(
        r"\w+",
        "ein kein nicht mit ohne und oder vor nach bis ab über unter auf aus bei nur auch bund land länder "
        "bundes landes kreis gemeinde eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig "
        "dreißig erst zweit dritt viert fünft sechst siebent siebt neunt zehnt halb doppelt dreifach zweifach "
        "einfach januar februar märz april mai juni juli august september oktober november dezember tag woche "
        "monat jahr stunde minute euro mark prozent promille no not without and or may shall must",
    )
)
_LEVELS = ("bund", "land", "staat", "gemeinde", "kreis")
_PREFIXES = frozenset(["", *re.findall(r"\w+", "un ver ein aus be ent an ab zu vor nach auf über unter")])
_LONGEST = 5
_FEWEST_LETTERS = 4


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, without hyphens of line ends, blanks in numbers, Absatz numbers."""
    if "\n" in text or "\u00ad" in text:
        text = _SOFT.sub("", text)
    text = _BLANKS.sub("", text)
    if "(" in text:
        text = ABSATZ_NUMBER.sub(" ", text)
    return _WORD.findall(text.lower())


def key_difference(quotation: str, text: str, *, with_gaps: bool = False) -> bool:
    """Return whether a quotation and the text that it covers differ in a number, a negation or a party.

    `with_gaps` says that the quotation leaves out words of the text: only words in place of others count then.
    """
    ours, theirs = map(words, _between_common_ends(quotation, text))
    if len(ours) == len(theirs):
        others = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b]
        if {a for a, _ in others}.isdisjoint([b for _, b in others]):  # no shift would put equal words together
            return any(_numbers_differ(a, b) or _is_other_word(a, b) for a, b in others)
    return any(
        _is_key(ours, theirs)
        for ours, theirs in _differences(ours, theirs)
        if not with_gaps or len(ours) == len(theirs)
    )


def _between_common_ends(one: str, other: str) -> tuple[str, str]:
    """Return two texts without the whole words that both begin and end with, as far as those are easily told."""
    begin = Prefix.similarity(one, other)
    while begin > 0 and not (_is_border(one, begin) and _is_border(other, begin)):
        begin = one.rfind(" ", 0, begin)
    one, other = one[max(begin, 0) :], other[max(begin, 0) :]
    end = Postfix.similarity(one, other)
    while end > 0 and not (_is_border(one, len(one) - end) and _is_border(other, len(other) - end)):
        at = one.find(" ", len(one) - end + 1)
        end = len(one) - at if at >= 0 else 0
    return one[: len(one) - end], other[: len(other) - end]


def _is_border(text: str, at: int) -> bool:
    """Return whether a blank between two words of letters stands there, which no hyphen or number reaches over."""
    return 0 < at < len(text) - 1 and text[at] == " " and text[at - 1].isalpha() and text[at + 1].isalpha()


def same_numbers(quotation: str, text: str) -> bool:
    """Return whether the numbers of a quotation follow one another in a text: quick, and true at most too seldom."""
    return "|".join(_DIGITS.findall(quotation)) in "|".join(_DIGITS.findall(text))


def _differences(ours: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Yield the words of each passage in which two texts differ; blanks put in or lost are no difference."""
    begin: tuple[int, int] | None = None
    for code in (*Levenshtein.opcodes(ours, theirs), None):
        if code is not None and code.tag != "equal":
            begin = begin or (code.src_start, code.dest_start)
        elif begin is not None:
            end = (len(ours), len(theirs)) if code is None else (code.src_start, code.dest_start)
            yield ours[begin[0] : end[0]], theirs[begin[1] : end[1]]
            begin = None


def _is_key(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    if len(ours) == len(theirs):
        return any(_numbers_differ(a, b) or _is_other_word(a, b) for a, b in zip(ours, theirs, strict=True))
    if _numbers_differ(" ".join(ours), " ".join(theirs)):
        return True
    return fold("".join(ours)) != fold("".join(theirs)) and any(
        _stem(word) in _WORDS for word in _without_common(ours, theirs)
    )


def _without_common(ours: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """Return the whole words that only one of two passages has, where blanks do not hide them."""
    joined = ("".join(theirs), "".join(ours))
    return [word for side, there in zip((ours, theirs), joined, strict=True) for word in side if word not in there]


def _numbers_differ(ours: str, theirs: str) -> bool:
    """Return whether two passages have other numbers, and not only a digit that was taken for a letter."""
    a, b = _DIGITS.findall(ours), _DIGITS.findall(theirs)
    if a == b or _DIGITS.findall(_IN_WORD.sub("", ours)) == _DIGITS.findall(_IN_WORD.sub("", theirs)):
        return False
    mine, other = fold(ours), fold(theirs)
    if mine == other:  # the same letters: "1, 5" and "15", but also "l5" and "15"
        return bool(a) and "".join(a) == "".join(b)
    return len(mine) != len(other) or not all(
        x == y or (x.isdigit() != y.isdigit() and is_slip(x, y)) for x, y in zip(mine, other, strict=True)
    )


def _is_other_word(one: str, other: str) -> bool:
    """Return whether one word in place of another turns the rule, and no slip makes one of the other."""
    if one == other:
        return False
    turns = len(one) == len(other) == 1 or _are_listed(one, other) or _have_other_heads(one, other)
    return turns and fold(one) != fold(other)


def _are_listed(one: str, other: str) -> bool:
    """Return whether two words are different ones of the list, or authorities of different levels."""
    stems = _stem(one), _stem(other)
    if all(stem in _WORDS for stem in stems):
        return stems[0] != stems[1]
    levels = [next((level for level in _LEVELS if word.startswith(level)), None) for word in (one, other)]
    return None not in levels and levels[0] != levels[1]


def _have_other_heads(one: str, other: str) -> bool:
    """Return whether two words are one word with other prefixes ("Einfuhr"/"Ausfuhr", "zulässig"/"unzulässig")."""
    most = min(len(one), len(other))
    same = next((i for i in range(most) if one[-1 - i] != other[-1 - i]), most)
    return any(
        one[: len(one) - tail] in _PREFIXES and other[: len(other) - tail] in _PREFIXES
        for tail in range(same, max(same - _LONGEST, _FEWEST_LETTERS - 1), -1)
    )


def _stem(word: str) -> str:
    """Return the form of a word that the list has, else the word."""
    return next((word.removesuffix(end) for end in _ENDINGS if word.removesuffix(end) in _WORDS), word)
