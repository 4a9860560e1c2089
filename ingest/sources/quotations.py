"""Find quotations of several lines in the text of an act: the wording of another act, whose numbers are not its own.

Amending articles quote whole Absätze and articles (CITATIONS.md hard case 13). A quotation that nothing ends before the
act's own next head is a misprint and quotes nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

OPENING_QUOTES = ("„", "‘", "“", "‚", "»")
# Not the apostrophe of "Member States’ law", unless it ends a sentence or bracket.
_CLOSING_QUOTE = re.compile(r"(?<!s)’(?!\w)|s’(?=[.,;:)\]”’]|$)|’(?=\s\()")
_QUOTED_SENTENCE = re.compile("[.;:!?][“”’«][.,;]?$")
_LONGEST_QUOTE = 2_000


@dataclass(frozen=True, slots=True)
class Quotable:
    """A line as the search sees it: label and text, whether it is a head of the act, whether a quotation may begin."""

    marker: str
    text: str
    head: bool = False
    begins: bool = True


def quoted_lines(lines: Sequence[Quotable]) -> frozenset[int]:
    """Return the indexes of the lines that are wholly wording of another act."""
    inside: set[int] = set()
    index = 0
    while index < len(lines):
        end = _end_of_quote(lines, index)
        if end is not None and (end > index or _is_wholly_quoted(lines[index])):
            inside.update(range(index, end + 1))
            index = end
        index += 1
    return frozenset(inside)


def _is_wholly_quoted(line: Quotable) -> bool:
    """One quoted sentence or item, not a quoted word that a definition begins with."""
    return line.marker.startswith(OPENING_QUOTES) or _QUOTED_SENTENCE.search(line.text) is not None


def _end_of_quote(lines: Sequence[Quotable], start: int) -> int | None:
    first = f"{lines[start].marker} {lines[start].text}".strip()[:1]
    if not first or first not in OPENING_QUOTES or not lines[start].begins:
        return None
    depth = 0
    for index in range(start, min(start + _LONGEST_QUOTE, len(lines))):
        line = lines[index]
        text = f"{line.marker} {line.text}"
        if index > start and line.head and not text.strip().startswith(first):
            return None
        opened, closed = _marks(text, first)
        depth += opened - closed
        if depth <= 0:
            return index
    return None


def _marks(text: str, opening: str) -> tuple[int, int]:
    """Count the marks that open and close quotations of one kind."""
    if opening == "„":
        return text.count("„"), sum(text.count(mark) for mark in "“”")
    if opening == "‘":
        return text.count("‘"), len(_CLOSING_QUOTE.findall(text))
    if opening == "‚":
        return text.count("‚"), text.count("‘")
    return text.count(opening), text.count("”" if opening == "“" else "«")
