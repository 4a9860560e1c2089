"""Take the title of a German act apart: long title, short title and abbreviation in its closing brackets."""

import re
from dataclasses import dataclass

from normalize.text import clean_inline

_BRACKETS = re.compile(r"\s*\(\s*([^()]+?)\s*\)\s*$")
_DASH = re.compile(r"\s+[–—-]\s+")
# An abbreviation is one word with a capital inside or at its end (BDSG, MilPersGleiFoG, VereinsG, 1. BImSchV).
_ABBREVIATION = re.compile(r"(?:\d+\.\s)?[A-ZÄÖÜ][\w-]*[A-ZÄÖÜ][\w-]*$")


@dataclass(frozen=True, slots=True)
class Title:
    """The parts of a title; what it does not have is None."""

    name: str | None
    short_title: str | None = None
    abbreviation: str | None = None


def read_title(text: str) -> Title:
    """Return the parts of a title such as "Gesetz zur … (Beispielgesetz – BspG)"."""
    title = clean_inline(text)
    match = _BRACKETS.search(title)
    if match is None:
        return Title(title or None)
    name = title[: match.start()] or None
    parts = _DASH.split(match[1])
    abbreviation = parts.pop() if _ABBREVIATION.match(parts[-1]) else None
    return Title(name, " – ".join(parts) or None, abbreviation)
