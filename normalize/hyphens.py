"""Hyphens at line ends: decide by evidence whether a word was broken, a compound was, or a part was left out.

``Daten-⏎schutz`` is one word, ``Offshore-⏎Netzumlage`` keeps its hyphen, ``Geld-⏎und Sachbezüge`` keeps hyphen and
blank. What decides, in this order: the case of the second half, how often either form occurs elsewhere in the
document or corpus (a counter the caller gives), the hyphenation dictionary, and only then habit.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, Literal

import pyphen

Kind = Literal["word", "compound", "suspended"]
Evidence = Literal["case", "conjunction", "counted", "dictionary", "parts", "habit", "none"]

# What may stand at a line end for a hyphen: seen (old word processors wrote U+00AC), or not (U+00AD; U+FFFE is what
# PDFium writes there, dropping the line end itself).
HYPHENS: Final = "-\u00ad\u2010\u2011\u00ac"
_SEEN: Final = "-\u2010\u2011\u00ac"
_UNSEEN: Final = "\u00ad\ufffe"
_BLANK: Final = r"[^\S\r\n\u2028\f]"
# A line end, or the end of a page with the empty lines around it.
_LINE: Final = r"(?:(?:\r?\n|[\r\u2028])(?:[^\S\f]*+\f[^\S\f]*+)?|\f[^\S\f]*+)"
_LINE_HYPHEN: Final = re.compile(
    rf"(?<![{_UNSEEN}])(?:(?=[{_SEEN}{_UNSEEN}])[{_UNSEEN}]*+(?:[{_SEEN}][{_UNSEEN}]*+)?{_BLANK}*+(?P<line>{_LINE})"
    rf"|\u00ad*+\ufffe[{_UNSEEN}]*+|\u00ad++(?={_BLANK})){_BLANK}*+"
)
_LEFT: Final = re.compile(r"[^\W_]+(?:[.'’/\-\u2010\u2011][^\W_]+)*\Z")
_RIGHT: Final = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_REST_OF_WORD: Final = re.compile(
    rf"(?:(?![{_SEEN}][{_UNSEEN}]*+{_BLANK}*+{_LINE}|\u00ad[{_UNSEEN}]*+(?:\s|[{_SEEN}]))[^\s\ufffe])*+"
)
_BLANKS: Final = re.compile(rf"{_BLANK}*+")
_BETWEEN: Final = {"word": "", "compound": "-", "suspended": "- "}
_LONGEST_WORD: Final = 80
_ABBREVIATION: Final = 10
_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_CONJUNCTIONS: Final = frozenset(["und", "oder", "bzw", "beziehungsweise", "sowie"])
# These stand after a suspended part too ("ein- bis zweimal"), but also end words ("den-noch"): the counter may object.
_RARE_CONJUNCTIONS: Final = frozenset(["als", "bis", "noch", "wie"])
_ADJECTIVE: Final = re.compile(r"[^\W\d_][a-zäöüß]{2,}(?:lich|isch|ig|iv|är|iell|onal)")
_INFLECTED_ADJECTIVE: Final = re.compile(r"[a-zäöüß]{3,}(?:lich|isch|ig|al|iv|är|ell|bar)(?:e[mnrs]?)?")
_INSIDE_COMPOUNDS: Final = frozenset(["an", "am", "auf", "im", "in", "ohne", "von", "zu", "zum", "zur"])
_HYPHENATION_LANGUAGE: Final = "de_DE"


@dataclass(frozen=True, slots=True)
class Decision:
    """What a line end cut (`kind`), and what it was known by; ``none``: unknown, so the hyphen stays."""

    kind: Kind
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Joined:
    """One hyphen at a line end: its two sides, what they became, and why."""

    left: str
    right: str
    result: str
    decision: Decision


def count_words(texts: Iterable[str]) -> Counter[str]:
    """Count the words of some texts, compounds with their hyphens; a word that a line end cuts counts as two."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(_WORD.findall(text.replace("\u00ad", "")))
    return counts


def decide(left: str, right: str, known: Mapping[str, int]) -> Decision:
    """Decide what the hyphen between `left` (end of a line) and `right` (start of the next) was.

    `known` counts words of the document and of whatever else is at hand; it may be empty.
    """
    if right in _CONJUNCTIONS:
        return Decision("suspended", "conjunction")
    last = re.split(rf"[{HYPHENS}/]", left)[-1]
    first = right.split("-")[0]
    joined, compound = known.get(last + first, 0), known.get(f"{last}-{first}", 0)
    if last.isupper() and first.isupper():  # "BER-⏎LIN": elsewhere it may stand as Berlin
        joined += known.get((last + first).capitalize(), 0) + known.get((last + first).lower(), 0)
    if right in _RARE_CONJUNCTIONS and not joined and (not known or known.get(last)):
        return Decision("suspended", "conjunction")
    if not last.isalpha() or not first.isalpha():
        return Decision("compound", "case")
    if first[0].isupper():
        # "DATEN-⏎SCHUTZ", "DS-⏎Meld": capitals tell nothing in words of capitals and in abbreviations
        capitals = (first.isupper() and last.isupper() and len(first) > 1) or len(last + first) <= _ABBREVIATION
        return Decision("word", "counted") if capitals and joined > compound else Decision("compound", "case")
    if joined or compound:
        return Decision("word" if joined >= compound else "compound", "counted")
    if last.isupper():
        return Decision("compound", "case")  # "EU-weit", "E-mail"
    if _ADJECTIVE.fullmatch(last) and _INFLECTED_ADJECTIVE.fullmatch(first):
        return Decision("compound", "parts")  # "öffentlich-rechtlich"
    if first in _INSIDE_COMPOUNDS and first != right:
        return Decision("compound", "parts")  # "Windenergie-auf-See-Gesetz"
    if len(last) > 1 and len(last) in _hyphenation_points(last + first):
        return Decision("word", "dictionary")
    if len(last) > 1 and len(first) > 1:
        return Decision("word", "habit")
    return Decision("compound", "none")


def join_line_ends(text: str, known: Mapping[str, int]) -> tuple[str, list[Joined]]:
    """Mend every hyphen at a line end and return the text and what was done.

    Lines stay lines: a word that two lines shared stands on the first of them, with the punctuation that follows it.
    """
    done: list[Joined] = []
    parts: list[str] = []
    position = 0
    pending = ""  # the line end that waits until the word is complete
    for hyphen in _LINE_HYPHEN.finditer(text):
        if hyphen.start() > position:
            parts.append(pending)
            pending = ""
            parts.append(text[position : hyphen.start()])
        position = hyphen.start()
        left = _LEFT.search("".join(parts[-2:])[-_LONGEST_WORD:])
        right = _RIGHT.match(text, hyphen.end())
        if left is None or right is None:
            parts.append(hyphen.group())  # a dash, or a hyphen before a bracket: nothing was cut
            position = hyphen.end()
            continue
        decision = decide(left.group(), right.group(), known)
        between = _BETWEEN[decision.kind]
        done.append(Joined(left.group(), right.group(), f"{left.group()}{between}{right.group()}", decision))
        rest = _REST_OF_WORD.match(text, hyphen.end())
        position = rest.end() if rest else right.end()
        parts.append(between + text[hyphen.end() : position])
        pending += hyphen["line"] or ""
        if pending:
            position = _BLANKS.match(text, position).end()  # type: ignore[union-attr]  # matches always
    parts += [pending, text[position:]]
    return "".join(parts), done


@cache
def _dictionary() -> pyphen.Pyphen:
    return pyphen.Pyphen(lang=_HYPHENATION_LANGUAGE)


@lru_cache(maxsize=20_000)
def _hyphenation_points(word: str) -> frozenset[int]:
    return frozenset(int(point) for point in _dictionary().positions(word))
