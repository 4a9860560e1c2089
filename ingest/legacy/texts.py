"""The texts of old chunks: what they repeat of one another, their headings, and where an Absatz starts in them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

SHORTEST_OVERLAP: Final = 20
"""Fewer equal characters at a border may be chance; a chunk that is nothing but the end of the one before never is."""

JOINT: Final = "\ue000\n"
"""Stands in a text where two chunks meet that share nothing."""

HOLE: Final = "\ue001\n"
"""Stands in a text where something is missing."""

_MARKS: Final = "\ue000\ue001"
_AT_START: Final = re.compile(rf"[\s{_MARKS}]*\((\d+[a-z]{{0,2}})\)\s*(?=[„\"A-ZÄÖÜ§\d(\[–-]|$)")
_AT_LINE: Final = rf"\n[\s{_MARKS}]*\((?P<line>\d+[a-z]{{0,2}})\)\s*(?=[„\"A-ZÄÖÜ§\d(\[–-]|$)"
_IN_LINE: Final = rf"(?<=[.;:!?“)])[\s{_MARKS}]+\((?P<within>\d+[a-z]{{0,2}})\)\s*(?=[„\"A-ZÄÖÜ§]|$)"
_INSIDE: Final = re.compile(f"{_AT_LINE}|{_IN_LINE}")
_NUMBER: Final = re.compile(r"(\d+)([a-z]*)")
_HEADING_END: Final = re.compile(r"[ \t]*(?:\n|$|(?=\(\d+[a-z]?\)\s))")
_SEPARATOR: Final = re.compile(r"\s*[:–—-]?\s*")
_LONGEST_HEADING: Final = 400
# A heading of a norm is a line without a full stop; "§ 7 gilt entsprechend." is none.
_HEADING_LINE: Final = re.compile(
    r"(?<=\n)((?:§|Art(?:ikel|\.)?)\s*(\d+[a-z]{0,2}))"
    r"(?:[ \t]+(?!Abs|Satz)[^\n]{0,300}[^\W\d_)“])?[ \t]*\n\s*(?=[(„A-ZÄÖÜ\d])"
)


def overlap(before: str, after: str) -> int:
    """Return how many characters at the start of `after` repeat the end of `before` (0: none)."""
    if after and before.endswith(after):
        return len(after)
    head = after[:SHORTEST_OVERLAP]
    if len(head) < SHORTEST_OVERLAP:
        return 0
    at = before.find(head, max(len(before) - len(after), 0))
    while at >= 0:
        if after.startswith(before[at:]):
            return len(before) - at
        at = before.find(head, at + 1)
    return 0


# --- Headings ------------------------------------------------------------------------------------------------------


def without_heading(text: str, section: str | None, title: str | None) -> str:
    """Take the heading off the front of a text, where it is one: with its title, in brackets, or on a line of its own.

    "§ 38 gilt entsprechend" at the front of a text of § 38 is text.
    """
    return text[_heading_end(text, 0, section, title) :].lstrip(" \t\n:–—-") if section else text


def heading_place(text: str, section: str | None, title: str | None) -> int | None:
    """Return where a text prints the heading of a section inside, on a new line or behind the end of a sentence."""
    if not section:
        return None
    first = re.escape(section.split()[0])
    starts = (match.start() for match in re.finditer(rf"(?:(?<=\n)|(?<=[.;!?“)]\s)){first}", text))
    found = [start for start in starts if _heading_end(text, start, section, title) > start]
    return found[-1] if len(found) == 1 else None


def foreign_heading(text: str, article: str, following: str | None) -> tuple[int, str] | None:
    """Return where a text of `article` prints the heading of the next norm on a line of its own, and its name.

    The next norm lies behind `article`, and not behind `following`, which the chunks name next.
    """
    for found in _HEADING_LINE.finditer(text):
        is_next = following is None or _order(found[2]) <= _order(following)
        if _order(article.split()[0]) < _order(found[2]) and is_next:
            return found.start(), found[1]
    return None


def _heading_end(text: str, start: int, section: str, title: str | None) -> int:
    """Return where the heading that starts at `start` ends; `start` itself if there is none."""
    if text.startswith("[", start) and _past(text, start + 1, section) is not None:
        close = text.find("]", start, start + _LONGEST_HEADING)
        return close + 1 if close > 0 and "\n" not in text[start:close] else start
    after = _past(text, start, section)
    if after is not None and title:
        separator = _SEPARATOR.match(text, after)
        whole = _past(text, separator.end() if separator else after, title)
        if whole is not None:
            return whole
    for end in (after, _past(text, start, title) if title else None):
        if end is not None and (match := _HEADING_END.match(text, end)):
            return match.end()
    return start


def _past(text: str, at: int, words: str) -> int | None:
    """Return where `words` end that stand in the text at `at`, whatever blanks are between them; else None."""
    for number, word in enumerate(words.split()):
        while number and text[at : at + 1].isspace():
            at += 1
        if not text.startswith(word, at):
            return None
        at += len(word)
    return None if text[at : at + 1].isalnum() else at


# --- Absätze -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Share:
    """What one chunk added to a run: where its text starts and ends in it, and the Absatz its fields name.

    `is_joint`: it repeats nothing of the chunk before it.
    """

    start: int
    end: int
    claim: str | None
    is_joint: bool
    page: int | None


@dataclass(slots=True)
class Run:
    """Chunks of one norm, joined without a hole; `after_hole`: what stood before it is missing."""

    text: str
    after_hole: bool = False
    shares: list[Share] = field(default_factory=list)

    def cut(self, at: int) -> None:
        """Take out what stands from `at` on; a chunk that reaches beyond may mean an Absatz of what is taken out."""
        self.text = self.text[:at].rstrip()
        inside = [share for share in self.shares if share.start < at] or self.shares[:1]
        self.shares = [share if share.end <= at else replace(share, claim=None) for share in inside]


@dataclass(slots=True)
class Segment:
    """A run of text of one Absatz. `number` is None where it is not known.

    `contradiction` says what disagrees on the number. In a text with a hole sentences cannot be counted.
    """

    number: str | None
    text: str
    page: int | None
    has_hole: bool = False
    contradiction: str | None = None


@dataclass(slots=True)
class _Open:
    """The segment that is being read: its number, what the last chunk claims, and where it starts.

    Its text starts at `text`, behind the printed number, unless the number turns out not to be certain.
    """

    number: str | None
    claim: str | None
    start: int
    text: int
    page: int | None
    contradiction: str | None = None

    def doubt(self, contradiction: str) -> None:
        """Leave the Absatz unknown; its printed number is text then."""
        self.number, self.text, self.contradiction = None, self.start, contradiction


@dataclass(frozen=True, slots=True)
class _Printed:
    """An Absatz number as printed, from `start` to `end`; on a line of its own or behind the end of a sentence."""

    start: int
    end: int
    number: str
    at_line: bool


def split_run(run: Run) -> list[Segment]:
    """Split a run where an Absatz starts, and take the printed numbers out of its text.

    A printed number counts if it follows the one before (1 → 1a, 2), if the chunk it stands in names it, or if it is
    higher and starts a line; one that is higher but stands within a line makes the Absatz unknown. Where no number is
    printed, the field of a chunk that shares no text with the one before it tells. Two fields that both claim a shared
    text leave the Absatz unknown.
    """
    printed = list(_printed(run.text))
    first = run.shares[0]
    opened = _first_segment(run, first, printed)
    segments: list[Segment] = []

    def close(end: int) -> None:
        text = run.text[opened.text : end]
        segments.append(Segment(opened.number, text, opened.page, contradiction=opened.contradiction))

    events = sorted(
        [(p.start, 0, p, None) for p in printed if p.start > 0] + [(s.start, 1, None, s) for s in run.shares[1:]],
        key=lambda event: event[:2],
    )
    for _, _, number, share in events:
        if number is not None:
            holders = [s for s in run.shares if s.start <= number.start and number.end <= s.end]
            named = any(s.claim == number.number for s in holders)
            before = opened.number or opened.claim
            follows = before is not None and number.number in _successors(before)
            is_higher = before is not None and _order(number.number) > _order(before)
            if follows or (named and number.number != opened.number) or (is_higher and number.at_line):
                close(number.start)
                page = holders[-1].page if holders else opened.page
                opened = _Open(number.number, number.number, number.start, number.end, page)
            elif is_higher:
                opened.doubt(f"{before} / {number.number}")
        if share is None or share.claim in (opened.number, opened.claim) or _prints(printed, share):
            continue
        if share.is_joint:
            close(share.start)
            opened = _Open(share.claim, share.claim, share.start, share.start, share.page)
        elif share.claim is not None:
            opened.doubt(f"{opened.claim or 'none'} / {share.claim}")
            opened.claim = share.claim
    close(len(run.text))
    segments = [segment for segment in segments if segment.text.strip(" \t\n" + _MARKS)]
    if segments and run.after_hole and not (printed and printed[0].start == 0):
        segments[0].has_hole = True
    return segments


def _first_segment(run: Run, first: Share, printed: list[_Printed]) -> _Open:
    at_start = printed[0] if printed and printed[0].start == 0 else None
    if at_start is None:
        # A number that the first chunk prints further on is not that of its beginning.
        number = None if _prints(printed, first) else first.claim
        return _Open(number, number, 0, 0, first.page)
    if first.claim in (None, at_start.number) or any(p.number == first.claim for p in printed if p.end <= first.end):
        return _Open(at_start.number, at_start.number, 0, at_start.end, first.page)
    return _Open(None, first.claim, 0, 0, first.page, f"{first.claim} / {at_start.number}")


def _printed(text: str) -> Iterator[_Printed]:
    start = _AT_START.match(text)
    if start:
        yield _Printed(0, start.end(), start[1], at_line=True)
    for match in _INSIDE.finditer(text, start.end() if start else 0):
        number = match["line"] or match["within"]
        yield _Printed(match.start(), match.end(), number, at_line=match["line"] is not None)


def _prints(printed: list[_Printed], share: Share) -> bool:
    """Whether a chunk prints the number that its field names."""
    return any(p.number == share.claim and share.start <= p.start + 1 and p.end <= share.end for p in printed)


def _successors(number: str) -> frozenset[str]:
    """Return the numbers that may follow an Absatz: 1 → 1a, 2; 1a → 1b, 2."""
    match = _NUMBER.fullmatch(number)
    if match is None:
        return frozenset()
    letter = chr(ord(match[2][-1]) + 1) if match[2] else "a"
    return frozenset((str(int(match[1]) + 1), f"{match[1]}{match[2][:-1]}{letter}"))


def _order(number: str) -> tuple[int, str]:
    match = _NUMBER.fullmatch(number)
    return (int(match[1]), match[2]) if match else (0, "")


def merge(segments: Iterable[Segment]) -> list[Segment]:
    """Join neighbours of one numbered Absatz: its text may lie in several runs."""
    merged: list[Segment] = []
    for segment in segments:
        last = merged[-1] if merged else None
        if last is None or last.number is None or last.number != segment.number:
            merged.append(segment)
            continue
        last.text += (HOLE if segment.has_hole or last.has_hole else JOINT) + segment.text
        last.has_hole |= segment.has_hole
    return merged
