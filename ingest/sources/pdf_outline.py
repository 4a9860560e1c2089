"""Read the printed lines of an act as its provisions: preamble, recitals, §§ and Artikel, formulas, annexes.

Amending text in quotation marks opens nothing of this act (CITATIONS.md hard case 13). A § under an Artikel is cited
with it ("Art. 1 § 5"): so are acts that carry a whole law in their Artikel 1.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ingest.sources.pdf_absatz import Reading, is_hanging, is_spaced, read_absaetze
from ingest.sources.pdf_front import ADOPTED, LeftOut, is_eu_act, read_front, skip_contents
from ingest.sources.pdf_headings import (
    counts_on,
    division_keyword,
    is_heading_line,
    leads_to_heading,
    read_annex,
    read_norm,
    read_part,
)
from ingest.sources.pdf_layout import Line
from ingest.sources.pdf_quotations import Placed, mark_quotations
from ingest.tree import Kind, Provision
from normalize.citation import Style

_ABSATZ = re.compile(r"\((\d{1,3}[a-z]{0,2})\)\s")
_AMENDING_ANNEX = re.compile(r"\(?zu\s+(?:Artikel|Art\.)\s")
_MOST_HEADING_LINES = 8
# A heading without marks of its own that is longer is running text.
_LONGEST_LEFT_HEADING = 120
_WHEREAS = re.compile(r"(?:in Erwägung (?:nachstehender|der nachstehenden|folgender) Gründe|Whereas)\b")
_CLOSING = re.compile(
    r"Diese (?:Verordnung|Richtlinie) ist in allen ihren Teilen verbindlich|"
    r"This (?:Regulation|Decision|Directive) shall be binding in its entirety|"
    r"Die verfassungsmäßigen Rechte des Bundesrates sind gewahrt|"
    r"Das vorstehende Gesetz wird hiermit|Das vorstehende Gesetz ist hiermit|Der Bundesrat hat zugestimmt|"
    r"Die vorstehende Verordnung wird hiermit"
)
_SIGNED = re.compile(r"(?:Geschehen zu|Done at)\s|(?:[A-ZÄÖÜ][\wäöüß.-]+\s?){1,3}, (?:den|am) \d{1,2}\. \w+ \d{4}\.?$")
_FEWEST_SPREAD = 8


@dataclass(frozen=True, slots=True)
class Outline:
    """An act as printed: the lines of its page head and title, its provisions, and the lines left out, by rule."""

    masthead: tuple[str, ...]
    title: tuple[str, ...]
    provisions: tuple[Provision, ...]
    style: Style
    eu: bool
    left_out: LeftOut


@dataclass(slots=True)
class _Draft:
    """A provision that still grows; `designation` is the line that names it, `under` the Artikel it stands in."""

    kind: Kind
    article: str
    style: Style
    context: tuple[str, ...] = ()
    heading: list[str] = field(default_factory=list)
    lines: list[Placed] = field(default_factory=list)
    designation: Line | None = None
    under: str | None = None
    gone: bool = False


def read_outline(lines: Sequence[Line]) -> Outline:
    """Return the provisions of an act from its lines in reading order."""
    placed, contents = skip_contents(mark_quotations(lines))
    eu = is_eu_act(placed)
    front = read_front(placed, eu=eu)
    writer = _Writer(eu=eu)
    if eu:
        writer.take_preamble(front.preamble)
    elif front.preamble:
        writer.open("part", "Eingangsformel", "paragraph").lines.extend(front.preamble)
    leading = _leading(front.rest)
    for index, item in enumerate(front.rest):
        writer.take(item, leads=leading[index])
    drafts = [draft for draft in writer.drafts if not _is_shell(draft, writer.drafts)]
    style: Style = "article" if eu or _majority_article(drafts) else "paragraph"
    own = [item.line for item in placed if not item.quoted]
    layout = Reading("paragraph", eu, is_spaced(own), is_hanging(own))
    provisions = tuple(_provision(draft, style, layout) for draft in drafts)
    left_out = (*contents, *front.left_out, *(("signature", text) for text in writer.signatures))
    return Outline(front.masthead, front.title, provisions, style, eu, left_out)


def _leading(placed: Sequence[Placed]) -> list[bool]:
    """Tell for each line whether only lines set as headings stand between it and the next division or norm."""
    result = [False] * len(placed)
    heading = False
    for index in range(len(placed) - 2, -1, -1):
        below = placed[index + 1]
        heading = not below.quoted and (
            result[index + 1] or division_keyword(below.line) is not None or read_norm(below.line, None) is not None
        )
        result[index] = heading and not placed[index].quoted and leads_to_heading(placed[index].line, below.line)
    return result


def _majority_article(drafts: Sequence[_Draft]) -> bool:
    norms = [draft for draft in drafts if draft.kind == "norm"]
    return sum(d.style == "article" or d.under is not None for d in norms) * 2 > len(norms)


def _is_shell(draft: _Draft, drafts: Sequence[_Draft]) -> bool:
    """An Artikel that only carries a law of its own, and a part without text, are no provisions."""
    if draft.lines or draft.gone:
        return False
    return draft.kind == "part" or any(other.under == draft.article for other in drafts if draft.style == "article")


def _provision(draft: _Draft, style: Style, layout: Reading) -> Provision:
    reading = replace(layout, style=draft.style, numbered=draft.kind == "norm")
    absaetze = read_absaetze(draft.lines, reading)
    article, own = draft.article, draft.style if draft.kind == "norm" else style
    if draft.under is not None:
        article, own = f"{draft.under} § {draft.article}", "article"
    notes = tuple(note for placed in draft.lines for note in placed.line.notes)
    heading = " ".join(draft.heading) or None
    german = not layout.eu
    return Provision(draft.kind, article, own, heading, draft.context, tuple(absaetze), notes, satz_before_items=german)


class _Writer:
    """Takes line after line and opens a draft wherever a provision begins."""

    def __init__(self, *, eu: bool) -> None:
        self.drafts: list[_Draft] = []
        self.signatures: list[str] = []
        self._eu = eu
        self._context: list[tuple[str, str]] = []
        self._division: Line | None = None
        self._named: _Draft | None = None
        self._artikel: _Draft | None = None
        self._last: dict[Style, str] = {}
        self._signed: int | None = None  # the page of the signatures
        self._amending_annex = False

    def open(self, kind: Kind, article: str, style: Style) -> _Draft:
        """Begin a provision."""
        draft = _Draft(kind, article, style)
        self.drafts.append(draft)
        self._named, self._division, self._signed = None, None, None
        return draft

    def take_preamble(self, lines: Sequence[Placed]) -> None:
        """Read the front of an EU act: recitals are provisions, what stands around them is the part "Präambel"."""
        preamble = self.open("part", "Präambel", "article")
        recital: _Draft | None = None
        whereas = False
        for placed in lines:
            text = placed.line.text
            match = _ABSATZ.match(text)
            if whereas and match and match[1].isdigit() and _is_next(recital, match[1]):
                recital = self.open("recital", match[1], "article")
                recital.lines.append(Placed(replace(placed.line, text=text[match.end() :]), placed.quoted))
            elif recital is None or ADOPTED.match(text):
                preamble.lines.append(placed)
            else:
                recital.lines.append(placed)
            whereas = whereas or _WHEREAS.search(text) is not None

    def take(self, placed: Placed, *, leads: bool) -> None:
        """Read the next line of the act's text; one that `leads` to a heading is a heading itself."""
        line = placed.line
        if not placed.quoted and (self._opens(line) or self._is_heading(line) or self._closes(line)):
            return
        if leads and not self._in_annex():
            self._open_division("", line)
            return
        self._division, self._named = None, None
        if not self.drafts:
            self.open("part", "Text", "paragraph")
        self.drafts[-1].lines.append(placed)

    # --- What opens something ---------------------------------------------------------------------------------------

    def _in_annex(self) -> bool:
        return bool(self.drafts) and self.drafts[-1].kind == "annex"

    def _opens(self, line: Line) -> bool:
        if self._annex(line):
            return True
        if self._in_annex():
            return False
        if (name := read_part(line)) is not None:
            self.open("part", name, "paragraph")
            return True
        keyword = division_keyword(line)
        if keyword is None:
            return self._norm(line)
        self._open_division(keyword, line)
        return True

    def _open_division(self, keyword: str, line: Line) -> None:
        levels = [level for level, _ in self._context]
        if keyword in levels:
            del self._context[levels.index(keyword) :]
        self._context.append((keyword, line.text))
        self._division, self._named, self._signed = line, None, None

    def _annex(self, line: Line) -> bool:
        found = read_annex(line, after_signature=self._signed is not None)
        if found is None or not self.drafts:
            return False
        if self._amending_annex and found.name.startswith("Anlage"):
            return False  # the annex of the amended act, printed in the annex of the amending one
        self._amending_annex = _AMENDING_ANNEX.match(found.belongs) is not None
        draft = self.open("annex", found.name, "article" if self._eu else "paragraph")
        draft.heading.extend(filter(None, [found.belongs]))
        draft.designation = line
        self._named = draft
        return True

    def _norm(self, line: Line) -> bool:
        found = read_norm(line, self._last.get("paragraph" if line.text.startswith("§") else "article"))
        if found is None:
            return False
        draft = self.open("norm", found.article, found.style)
        if found.style == "article" and not self._eu:
            self._artikel = draft
            self._last.pop("paragraph", None)
            self._context = []
        elif found.style == "paragraph" and self._artikel is not None:
            draft.under = self._artikel.article
            draft.context = (" ".join([f"Artikel {draft.under}", *self._artikel.heading]),)
        self._last[found.style] = found.article
        draft.context = (*draft.context, *(text for _, text in self._context))
        draft.heading.extend(filter(None, [found.heading]))
        draft.designation, draft.gone = line, found.gone
        self._named = draft
        return True

    def _is_heading(self, line: Line) -> bool:
        """Take a line that goes on with the heading of a division, norm or annex."""
        if _ABSATZ.match(line.text):
            return False
        if self._division is not None:
            if not is_heading_line(line):
                return False
            level, text = self._context[-1]
            self._context[-1] = (level, f"{text} {line.text}")
            return True
        draft = self._named
        if draft is None or draft.designation is None or len(draft.heading) >= _MOST_HEADING_LINES:
            return False
        if draft.designation.marked:
            goes_on = line.marked
        elif draft.designation.centred:
            goes_on = line.centred
        else:
            goes_on = not draft.heading and _looks_like_heading(line)
        if goes_on:
            draft.heading.append(line.text)
        return goes_on

    # --- What ends something ----------------------------------------------------------------------------------------

    def _closes(self, line: Line) -> bool:
        """Take closing formulas as a part of their own; place, date and signatures are no law text."""
        if self._in_annex():
            return False
        if _SIGNED.match(line.text):
            self._signed = line.page
        if self._signed is not None:
            set_apart = is_heading_line(line) or _is_spread(line.text)
            if set_apart or (line.page == self._signed and not line.filled):
                self.signatures.append(line.text)
            else:
                self.open("part", "Hinweis", "paragraph").lines.append(Placed(line, False))
            return True
        if line.gap is not False and _CLOSING.match(line.text):
            if self.drafts and self.drafts[-1].article != "Schlussformel":
                self.open("part", "Schlussformel", "paragraph")
            self.drafts[-1].lines.append(Placed(line, False))
            return True
        return False


def _is_next(recital: _Draft | None, number: str) -> bool:
    """Tell whether a number is the next recital's, and not only the start of a wrapped line."""
    last = recital.article if recital is not None else None
    return counts_on(last, number) and number != last


def _looks_like_heading(line: Line) -> bool:
    return not line.filled and len(line.text) < _LONGEST_LEFT_HEADING and line.text[-1:].isalnum()


def _is_spread(text: str) -> bool:
    """Letters set apart ("D e r  B u n d e s k a n z l e r")."""
    words = text.split()
    return len(words) >= _FEWEST_SPREAD and sum(len(word) == 1 for word in words) * 10 > len(words) * 8
