"""Lines of sources that do not mark their headings, cut by rules for the proof of conservation: PDF, pages, plain text.

Nothing in such a file tells a heading from a line of law, so the lines of the raw file are held against what the act
says it took out of them: every heading, title and footnote that its provisions carry. A line that is none of these is
text of law, which the chunks must have.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from ingest.conservation.compare import Stretch, letters
from ingest.tree import Act, Provision

MARK_OPENS, MARK_ENDS = "\ue000", "\ue001"
"""Around what stands in a line as a mark (of a footnote, of an amendment): signs that stand in no text of law."""

FURNITURE = "\ue002"
"""In front of a line that stands at the edge of many pages."""

_MARKED: Final = re.compile(f"{MARK_OPENS}([^{MARK_ENDS}]*){MARK_ENDS}")
_MOST_LINES: Final = 24
"""Lines of print that a heading or footnote takes at most."""
_ENDS: Final = 40
"""Letters by which the first and the last text of an act are found again."""
_NUMBER: Final = re.compile(r"\s*(?:\(\d{1,3}[a-z]{0,2}\)\s?|\d{1,3}[a-z]{0,2}\.\s)")
_NORM: Final = re.compile(r"\s*(?:(?:§|Artikel|Article)\s\d+[a-z]?|(?:ANHANG|ANNEX|Anhang|Annex|Anlage)\b.{0,20})\s*")
_SIGNED: Final = re.compile(
    r"\s*(?:Geschehen\s+zu|Done\s+at|(?:Berlin|Bonn|Brüssel|Straßburg|Luxemburg),\s+den)\b.*", re.DOTALL
)
_CONTENTS: Final = re.compile(r"\s*(?:Inhaltsübersicht|Inhaltsverzeichnis|INHALTSVERZEICHNIS|Contents|Inhalt)\s*")
_PICTURE: Final = re.compile(r"\s*>?\s*PIC\s+FILE=.*", re.DOTALL)
_DIGITS: Final = "0123456789"
_MARK_DIGITS: Final = 4
_ENACTING: Final = re.compile(r"\s*(?:HA(?:T|BEN)\s+FOLGENDE|HA(?:S|VE)\s+ADOPTED)")


def line_stretches(lines: Sequence[str], act: Act) -> Iterator[Stretch]:
    """Yield the stretches of a file's lines; what the act declares as heading or footnote carries its rule.

    Before the first text of the act stands front matter (masthead, explanatory memorandum), behind the last one and
    behind a signature back matter. Neither may hold a § or annex: that would be text of law.
    """
    declared = _Declared.of(act)
    opens, closes = _extent(lines, act)
    found: list[Stretch] = []
    place, is_signed = "", False
    number = 0
    while number < len(lines):
        known = declared.longest(lines, number) or declared.longest(lines, number, skip_furniture=True)
        if known:
            end, rule = known
            text = " ".join(lines[number:end])
            if rule == "heading":
                place, is_signed = " ".join(text.replace(FURNITURE, "").split())[:60], False
            found.append(Stretch(text, rule, place))
            number = end
            continue
        line = lines[number]
        is_signed = (
            number > opens and (is_signed or _SIGNED.fullmatch(line) is not None) and _NORM.fullmatch(line) is None
        )
        rule_here = _rule(line)
        if rule_here is None and not opens <= number <= closes:
            rule_here = "front-matter" if number < opens else "back-matter"
        if rule_here is None and is_signed:
            rule_here = "back-matter"
        found += _pieces(line, rule_here, place)
        number += 1
    yield from _formula_first(found)


def _pieces(line: str, rule: str | None, place: str) -> Iterator[Stretch]:
    """Yield a line: its number, its text, and the marks in it."""
    if rule not in (None, "page-head"):
        yield Stretch(line, rule, place)
        return
    line = line.removeprefix(FURNITURE)
    opening = _NUMBER.match(line)
    if opening:
        yield Stretch(opening.group(), "number", place)
        line = line[opening.end() :]
    for position, text in enumerate(_MARKED.split(line)):
        yield Stretch(text, "mark" if position % 2 else rule, place)


def _rule(line: str) -> str | None:
    if line.startswith(FURNITURE):
        return "page-head"
    if _CONTENTS.fullmatch(line):
        return "contents"
    return "picture" if _PICTURE.fullmatch(line) else None


def _formula_first(stretches: list[Stretch]) -> list[Stretch]:
    """Put the enacting formula before the recitals: the part "Präambel" holds all formulas, recitals follow it."""
    formula = next((n for n, s in enumerate(stretches) if s.rule is None and _ENACTING.match(s.text)), None)
    recital = next((n for n, s in enumerate(stretches[:formula]) if s.rule == "number"), None) if formula else None
    if formula is None or recital is None:
        return stretches
    return [*stretches[:recital], stretches[formula], *stretches[recital:formula], *stretches[formula + 1 :]]


# --- Front and back ------------------------------------------------------------------------------------------------


def _extent(lines: Sequence[str], act: Act) -> tuple[int, int]:
    """The numbers of the lines in which the first text of the act begins and its last one ends."""
    texts = [text for p in act.provisions for a in p.absaetze for b in a.blocks if (text := letters(b.text))]
    keys = [letters(_MARKED.sub("", line)) for line in lines]
    if not texts:
        return 0, len(lines)
    opening, closing = texts[0][:_ENDS], texts[-1][-_ENDS:]
    first = next((n for n in range(len(keys)) if keys[n] and _begins(opening, keys, n)), 0)
    last = next((n for n in range(len(keys) - 1, -1, -1) if keys[n] and _ends(closing, keys, n)), len(lines))
    return first, len(lines) if any(_NORM.fullmatch(line) for line in lines[last + 1 :]) else last


def _begins(text: str, keys: Sequence[str], number: int) -> bool:
    """Whether the lines from `number` on begin with a text, or with its number and the text."""
    joined = "".join(keys[number : number + 4])
    return joined.startswith(text) or joined.lstrip("0123456789").startswith(text)


def _ends(text: str, keys: Sequence[str], number: int) -> bool:
    return "".join(keys[max(0, number - 3) : number + 1]).endswith(text)


# --- What the act declares -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Declared:
    """Letters of what an act holds outside its text, each with its rule."""

    rules: dict[str, str]
    longest_text: int

    @classmethod
    def of(cls, act: Act) -> "_Declared":
        found: dict[str, str] = {}
        entries = [(name, "title") for name in (act.name, act.short, act.key, *act.names)]
        for provision in act.provisions:
            entries += [(heading, "heading") for heading in _headings(provision)]
            entries += [(footnote, "footnote") for footnote in provision.footnotes]
        for text, rule in entries:
            if text and (key := letters(text).casefold()):
                found.setdefault(key, rule)
        return cls(found, max(map(len, found), default=0))

    def longest(self, lines: Sequence[str], number: int, *, skip_furniture: bool = False) -> tuple[int, str] | None:
        """Return the end and rule of the most lines from `number` on that together are a declared text.

        A footnote may begin with its number, a heading end with that of its footnote; a number alone is a heading only
        behind its §.
        """
        text, found = "", None
        if skip_furniture and lines[number].startswith(FURNITURE):
            return None
        for end in range(number, min(len(lines), number + _MOST_LINES)):
            if skip_furniture and lines[end].startswith(FURNITURE):
                continue
            text += letters(_MARKED.sub("", lines[end])).casefold()
            if len(text) > self.longest_text + _MARK_DIGITS:
                break
            forms = (text, text.lstrip(_DIGITS), text.rstrip(_DIGITS))
            rule = next((self.rules[form] for form in forms if form in self.rules), None)
            if rule and (not text.isdigit() or "§" in lines[end]):
                found = end + 1, rule
        return found


def _headings(provision: Provision) -> Iterator[str]:
    """Every way in which headings of a provision can stand in print: its number, its title, both, what is above it."""
    number = provision.article.rsplit(" § ", 1)[-1]  # "1 § 5" stands in print as § 5 below Artikel 1
    signs = ("§ ", "Art. ", "Artikel ", "Article ") if number[0].isdigit() else ("",)
    names = [f"{sign}{number}" for sign in signs]
    yield from names
    if provision.heading:
        yield provision.heading
        yield from (f"{name} {provision.heading}" for name in names)
    for line in provision.context:
        yield line
        yield from line.split(" ", 2)[2:]  # "Teil 2 Pflichten" stands in two lines
        yield " ".join(line.split(" ", 2)[:2])
    yield from (f"{above} {below}" for above, below in pairwise(provision.context))
