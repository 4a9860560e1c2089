"""A second query in the words of statutes, made from a table: deterministic, and never instead of the first.

Questions come in lay words ("ab wann brauche ich …"), norms answer in theirs ("benennen, soweit … mindestens …").
The original question is always searched; the expansion only adds a list to the fusion (retrieval-architecture 5.4).
"""

import tomllib
from functools import lru_cache
from importlib.resources import files

from normalize.analyzer import words

_Rows = tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
# Shorter words must be equal, longer ones may go on ("brauch" finds brauche, brauchen, braucht).
_SHORTEST_BEGINNING = 4


@lru_cache(maxsize=1)
def _rows() -> _Rows:
    """The table as (beginnings of words, words to add), in its own order."""
    table = tomllib.loads(files("retrieve").joinpath("synonyms.toml").read_text("utf-8"))
    return tuple((tuple(words(left)), tuple(right)) for left, right in table["words"].items())


def expand(question: str) -> str | None:
    """Return the question with the words of statutes added, or None if the table knows none of its words."""
    asked = words(question)
    added = [word for left, right in _rows() if _holds(asked, left) for word in right]
    return f"{question} {' '.join(dict.fromkeys(added))}" if added else None


def _holds(asked: list[str], wanted: tuple[str, ...]) -> bool:
    """Whether words that begin as wanted stand one after the other."""
    starts = range(len(asked) - len(wanted) + 1)
    return any(all(_begins(asked[s + n], word) for n, word in enumerate(wanted)) for s in starts)


def _begins(word: str, beginning: str) -> bool:
    return word == beginning or (len(beginning) >= _SHORTEST_BEGINNING and word.startswith(beginning))
