"""Find the quotations of a printed text: the wording of another act that an amending act carries."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ingest.sources.pdf_layout import Line

# The longest quotation that is one (characters); a mark that is never answered is a misprint.
_LONGEST_QUOTE = 60_000
_MARKS = re.compile('[„“”"]')
_QUOTE_END = re.compile(r"\s*[.;,]?\s*(?:\n|$)")


@dataclass(frozen=True, slots=True)
class Placed:
    """A line, and whether it begins inside a quotation or opens one that fills paragraphs."""

    line: Line
    quoted: bool


def mark_quotations(lines: Sequence[Line]) -> list[Placed]:
    """Tell for each line whether it stands in a quotation: it begins inside one, or with one that fills paragraphs."""
    text = "\n".join(line.text for line in lines)
    spans = _quotations(text)
    result: list[Placed] = []
    start = at = 0
    for line in lines:
        while at < len(spans) and spans[at][1] <= start:
            at += 1
        inside = at < len(spans) and spans[at][0] < start
        opens = at < len(spans) and spans[at][0] == start and _QUOTE_END.match(text, spans[at][1]) is not None
        result.append(Placed(line, inside or opens))
        start += len(line.text) + 1
    return result


def _quotations(text: str) -> list[tuple[int, int]]:
    """Return the outermost quotations (start, end): each closing mark answers the last open one of its kind.

    Straight marks open after a blank or bracket, and close elsewhere; so do “marks” where a text has no German ones.
    """
    both_ways = '"' if "„" in text else '"“'
    stack: list[tuple[int, bool]] = []
    spans: list[tuple[int, int]] = []
    for match in _MARKS.finditer(text):
        at, straight = match.start(), match[0] == '"'
        before = text[at - 1 : at]
        if match[0] == "„" or (match[0] in both_ways and (not before or before.isspace() or before == "(")):
            stack.append((at, straight))
            continue
        answered = next((i for i in range(len(stack) - 1, -1, -1) if stack[i][1] == straight), None)
        if answered is None:
            continue
        begin = stack[answered][0]
        del stack[answered:]
        if match.end() - begin <= _LONGEST_QUOTE:
            while spans and spans[-1][0] > begin:
                spans.pop()
            spans.append((begin, match.end()))
    return spans
