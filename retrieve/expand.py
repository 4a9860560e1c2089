"""A second query in the words of statutes, made from tables: deterministic, and never instead of the first.

Questions come in lay words ("Wann darf mein Chef …"), norms answer in theirs ("Der Arbeitgeber …"), and what one calls
by its abbreviation the other writes out. The original question is always searched; the expansion only adds a list to
the fusion (retrieval-architecture 5.4).
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from normalize.analyzer import words
from normalize.laws import LawTable

# Shorter words must be equal, longer ones may go on ("brauch" finds brauche, brauchen, braucht).
_SHORTEST_BEGINNING = 4
# What may follow the end of a word: "-beauftragte" finds Brandschutzbeauftragten.
_LONGEST_ENDING = 2
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class _Tables:
    """Abbreviations as (short, words of the long form, long form); rows as (words looked for, at their end?, added)."""

    abbreviations: tuple[tuple[str, tuple[str, ...], str], ...]
    rows: tuple[tuple[tuple[str, ...], bool, tuple[str, ...]], ...]


@lru_cache(maxsize=1)
def _tables() -> _Tables:
    table = tomllib.loads(files("retrieve").joinpath("synonyms.toml").read_text("utf-8"))
    return _Tables(
        tuple((short, tuple(words(long)), long) for short, long in table["abbreviations"].items()),
        tuple((tuple(words(left)), left.startswith("-"), tuple(right)) for left, right in table["words"].items()),
    )


def expand(question: str, laws: LawTable | None = None) -> str | None:
    """Return the question with the words of statutes added, or None if the tables know none of its words.

    `laws` gives the full names of laws for their abbreviations, and the other way round.
    """
    asked = words(question)
    added = [*_of_laws(question, laws)] if laws is not None else []
    firsts = {word[:2] for word in asked}
    written = set(_WORD.findall(question))
    for short, long_words, long in _tables().abbreviations:
        if short in written:
            added.append(long)
        elif long_words[0][:2] in firsts and _holds(asked, long_words):
            added.append(short)
    for left, at_end, right in _tables().rows:
        if (at_end or left[0][:2] in firsts) and _holds(asked, left, at_end=at_end):
            added += right
    known = set(asked)
    new = [text for text in dict.fromkeys(added) if not known.issuperset(words(text))]
    return f"{question} {' '.join(new)}" if new else None


def _of_laws(question: str, laws: LawTable) -> Iterator[str]:
    """Yield the full name of each law that the question abbreviates, and the abbreviation of each that it names."""
    end = 0
    for word in _WORD.finditer(question):
        found = laws.match(question, word.start()) if word.start() >= end else None
        if found is not None:
            law, end = found
            is_short = question[word.start() : end] == law.short
            other = law.name if is_short else law.short
            if other:
                yield other


def _holds(asked: Sequence[str], wanted: Sequence[str], *, at_end: bool = False) -> bool:
    """Whether words that begin (or end) as wanted stand one after the other."""
    meets = _ends if at_end else _begins
    starts = range(len(asked) - len(wanted) + 1)
    return any(all(meets(asked[s + n], word) for n, word in enumerate(wanted)) for s in starts)


def _begins(word: str, beginning: str) -> bool:
    return word == beginning or (len(beginning) >= _SHORTEST_BEGINNING and word.startswith(beginning))


def _ends(word: str, ending: str) -> bool:
    at = word.rfind(ending)
    return at > 0 and len(word) - at - len(ending) <= _LONGEST_ENDING
