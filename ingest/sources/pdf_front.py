"""Take the front of a printed act apart: page head, cover, title, contents, and where its text begins."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ingest.sources.pdf_headings import NORM, division_keyword, is_heading_line, read_norm, read_part
from ingest.sources.pdf_quotations import Placed

_CONTENTS = re.compile(r"(?:Inhaltsübersicht|Inhaltsverzeichnis|Inhalt|Table of contents|Contents)$", re.IGNORECASE)
_MASTHEAD = re.compile(r"(?:Bundesgesetzblatt\b|(?:\d{4}\s+)?Ausgegeben zu\b|(?:Gesetz- und )?Verordnungsblatt\b)")
_INSTITUTION = re.compile(
    r"(?:DAS EUROPÄISCHE PARLAMENT|DER RAT\b|DIE (?:EUROPÄISCHE )?KOMMISSION|DIE EUROPÄISCHE ZENTRALBANK|"
    r"THE EUROPEAN PARLIAMENT|THE COUNCIL|THE (?:EUROPEAN )?COMMISSION|THE EUROPEAN CENTRAL BANK)"
)
ADOPTED = re.compile(r"(?:HA(?:BEN|T) (?:FOLGENDE[NS]?|DIESE[NS]?)\b|HA(?:VE|S) (?:ADOPTED|DECIDED)\b)")
_EU_TITLE = re.compile(
    r"(?:(?:DELEGIERTE |DURCHFÜHRUNGS)?(?:VERORDNUNG|RICHTLINIE|BESCHLUSS|ENTSCHEIDUNG|RAHMENBESCHLUSS)|"
    r"(?:COMMISSION |COUNCIL )?(?:DELEGATED |IMPLEMENTING )?(?:REGULATION|DIRECTIVE|DECISION))\b"
)
_NOTICE = re.compile(r"(?:Ausfertigungsdatum|Vollzitat|Stand|Textnachweis ab|Fußnote)\b")
# The institution stands before the recitals, within so many lines.
_EU_HEAD = 400

LeftOut = tuple[tuple[str, str], ...]
"""Lines that are no text of law, each with the rule that left it out."""


@dataclass(frozen=True, slots=True)
class Front:
    """What stands before the first division or norm; `preamble` is law text, and `rest` is where the act begins."""

    masthead: tuple[str, ...]
    title: tuple[str, ...]
    preamble: tuple[Placed, ...]
    rest: tuple[Placed, ...]
    left_out: LeftOut


def is_eu_act(placed: Sequence[Placed]) -> bool:
    """Tell whether an institution of the EU speaks at the start of the text."""
    return any(_INSTITUTION.match(p.line.text) for p in placed[:_EU_HEAD])


def skip_contents(placed: Sequence[Placed]) -> tuple[list[Placed], LeftOut]:
    """Leave out tables of contents: from their heading to where the first heading of the text follows.

    A heading in the text stands alone on its line, an entry has its title beside it; where headings of the text have
    their title beside them too, the number of the first entry comes again.
    """
    kept: list[Placed] = []
    left_out: list[tuple[str, str]] = []
    index = 0
    while index < len(placed):
        item = placed[index]
        end = _contents_end(placed, index) if not item.quoted and _CONTENTS.match(item.line.text) else index
        if end == index:
            kept.append(item)
        left_out += (("contents", p.line.text) for p in placed[index:end])
        index = max(end, index + 1)
    return kept, tuple(left_out)


def _contents_end(placed: Sequence[Placed], start: int) -> int:
    """The index after a table of contents whose heading is at `start`; `start` itself if none follows."""
    first: str | None = None
    last_entry = start
    for index in range(start + 1, len(placed)):
        match = None if placed[index].quoted else NORM.match(placed[index].line.text)
        if match is None:
            continue
        name = f"{match[1]} {match[2]}"
        if match[3] is None or name == first:
            if first is None:
                return start
            between = range(last_entry + 1, index)
            return next((i for i in between if division_keyword(placed[i].line)), index)
        first = first or name
        last_entry = index
    return start


def read_front(placed: Sequence[Placed], *, eu: bool) -> Front:
    """Return the front of an act, from its lines without contents."""
    return _eu_front(placed) if eu else _german_front(placed)


def _eu_front(placed: Sequence[Placed]) -> Front:
    """Cover, title ("VERORDNUNG (EU) …"), and the preamble from the institution to "HABEN … ERLASSEN"."""
    texts = [p.line.text for p in placed]
    begin = next(i for i, text in enumerate(texts) if _INSTITUTION.match(text))
    adopted = next((i + 1 for i in range(begin, len(texts)) if ADOPTED.match(texts[i])), None)
    end = adopted if adopted is not None else _first_norm(placed, begin)
    titles = [i for i in range(begin) if _EU_TITLE.match(texts[i])]
    # A cover repeats the title; the title proper has the number.
    start = next((i for i in titles if any(map(str.isdigit, texts[i]))), titles[-1] if titles else begin)
    left_out = [*(("cover", text) for text in texts[:start]), *(("title", text) for text in texts[start:begin])]
    return Front((), tuple(texts[start:begin]), tuple(placed[begin:end]), tuple(placed[end:]), tuple(left_out))


def _german_front(placed: Sequence[Placed]) -> Front:
    """Page head ("Bundesgesetzblatt … Nr. 17"), title, and the formula before the first division or norm."""
    norm = _first_norm(placed, 0)
    texts = [p.line.text for p in placed]
    head = max((i + 1 for i in range(norm) if _MASTHEAD.match(texts[i])), default=0)
    first = at = norm
    while at > head and is_heading_line(placed[at - 1].line):
        at -= 1
        if division_keyword(placed[at].line):
            first = at
    end = head
    while end < first and (is_heading_line(placed[end].line) or end == head):
        end += 1
    # A database prints its notices (date, full citation, version) before the text.
    noticed = max((i + 1 for i in range(end, first) if _NOTICE.match(texts[i])), default=0)
    begin = first if noticed else end
    named = next((i for i in range(end, first) if read_part(placed[i].line)), None)
    if named is not None:
        begin = first = named
    left_out = [
        *(("page head", text) for text in texts[:head]),
        *(("title", text) for text in texts[head:end]),
        *(("notice", text) for text in texts[end:begin]),
    ]
    return Front(
        tuple(texts[:head]), tuple(texts[head:end]), tuple(placed[begin:first]), tuple(placed[first:]), tuple(left_out)
    )


def _first_norm(placed: Sequence[Placed], start: int) -> int:
    found = (i for i in range(start, len(placed)) if not placed[i].quoted and read_norm(placed[i].line, None))
    return next(found, len(placed))
