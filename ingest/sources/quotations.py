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


@dataclass(frozen=True, slots=True)
class Quotable:
    """A line as the search sees it: label and text, whether it is a head of the act, whether a quotation may begin."""

    marker: str
    text: str
    head: bool = False
    begins: bool = True


def quoted_lines(lines: Sequence[Quotable]) -> frozenset[int]:
    """Return the indexes of the lines that are wholly wording of another act."""
    first = [f"{line.marker} {line.text}".strip()[:1] if line.begins else "" for line in lines]
    ends = {mark: _ends(lines, mark) for mark in OPENING_QUOTES if mark in first}
    inside: set[int] = set()
    index = 0
    while index < len(lines):
        end = ends[first[index]][index] if first[index] in ends else None
        if end is not None and (end > index or _is_wholly_quoted(lines[index])):
            inside.update(range(index, end + 1))
            index = end
        index += 1
    return frozenset(inside)


def _is_wholly_quoted(line: Quotable) -> bool:
    """One quoted sentence or item, not a quoted word that a definition begins with."""
    return line.marker.startswith(OPENING_QUOTES) or _QUOTED_SENTENCE.search(line.text) is not None


def _ends(lines: Sequence[Quotable], mark: str) -> list[int | None]:
    """For each line, return the line that ends a quotation which begins there: the first that leaves nothing open."""
    balance = [0]
    heads = [0]
    for line in lines:
        opened, closed = _marks(f"{line.marker} {line.text}", mark)
        balance.append(balance[-1] + opened - closed)
        heads.append(heads[-1] + (line.head and not line.text.startswith(mark)))
    ends: list[int | None] = [None] * len(lines)
    lower: list[int] = []  # ends of lines, by falling balance: the next one not above the balance before a line
    for index in range(len(lines), -1, -1):
        while lower and balance[lower[-1]] > balance[index]:
            lower.pop()
        if index < len(lines) and lower:
            end = lower[-1] - 1
            no_head_between = heads[end + 1] == heads[index + 1]
            ends[index] = end if no_head_between else None
        lower.append(index)
    return ends


def _marks(text: str, opening: str) -> tuple[int, int]:
    """Count the marks that open and close quotations of one kind."""
    if opening == "„":
        return text.count("„"), sum(text.count(mark) for mark in "“”")
    if opening == "‘":
        return text.count("‘"), len(_CLOSING_QUOTE.findall(text))
    if opening == "‚":
        return text.count("‚"), text.count("‘")
    return text.count(opening), text.count("”" if opening == "“" else "«")
