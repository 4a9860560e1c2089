"""Read the headings of a printed act: §§ and Artikel, divisions above them, annexes.

A heading is told by its words and by how it is set (centred, bold, italic), never by words alone: "Artikel 16" may
also be where a sentence wraps.
"""

import re
from dataclasses import dataclass

from ingest.sources.pdf_layout import Line
from normalize.citation import Style

NORM = re.compile(r"(§|Artikel|Article|Art\.|ARTIKEL)\s*(\d{1,4}\s?[a-z]{0,3}|[IVXLC]+)(?:\s+(\S.*))?$")
_COLLAPSED = re.compile(
    r"(§§|Artikel|Art\.)\s*(\d+[a-z]*)\s*(?:bis|und|,|-|–)\s*(\d+[a-z]*)"
    r"\s*(?:[(\[]?(?:weggefallen|aufgehoben|gestrichen)[)\]]?)?$"
)
_DIVISION = re.compile(
    r"(?:(?:Erste|Zweite|Dritte|Vierte|Fünfte|Sechste|Siebte|Achte|Neunte|Zehnte|Elfte|Zwölfte)[rs]?\s+)?"
    r"(Buch|Teil|Titel|Untertitel|Kapitel|Unterkapitel|Abschnitt|Unterabschnitt|BUCH|TEIL|TITEL|KAPITEL|ABSCHNITT|"
    r"UNTERABSCHNITT|PART|TITLE|CHAPTER|SECTION|Part|Title|Chapter|Section)"
    r"(?:\s+(?:[IVXLC]+|\d{1,3}[a-z]?|[A-Z]))?(?:\s*[:.–-]?\s+\S.*)?$"
)
_ANNEX = re.compile(
    r"(Anlage|Anhang|ANHANG|ANLAGE|ANNEX|Annex)(?:\s+([IVXLC]+[a-z]?|[A-Z]?\d+[a-z]?|[A-Z]))?"
    r"(?:\s*(\(?(?:zu|to)\s.*))?$"
)
_PART = re.compile(r"(Eingangsformel|Präambel|Vorspruch|Schlussformel)$")
# What stands beside the number in a citation, and never begins a heading.
_CITED_ON = re.compile(
    r"(?:Absatz|Abs\.|Absätze|Satz|Sätze|Nummer|Nr\.|Buchstabe|Unterabsatz|paragraph|point|of|und|oder|bis|and|or|to|"
    r"der|des|dieser|dieses|in|sowie|bzw\.|[,;.)])"
)
# A heading without bold type: no marker of an Absatz or item, no end of a sentence.
_LEADING = re.compile(r"(?!\()(?![a-zäöü])(?!.*[.;:,]$)")
# Annexes may be named at the right edge of the page.
_RIGHT_HALF = 300.0


@dataclass(frozen=True, slots=True)
class NormName:
    """A § or Artikel that a line names, the heading beside it, and whether it is a range that is gone."""

    article: str
    style: Style
    heading: str
    gone: bool = False


@dataclass(frozen=True, slots=True)
class AnnexName:
    """An annex that a line names ("Anlage 1"), and what it belongs to ("(zu § 2)")."""

    name: str
    belongs: str


def is_heading_line(line: Line) -> bool:
    """Tell whether a line is set as a heading."""
    return line.centred or line.marked


def division_keyword(line: Line) -> str | None:
    """Return what kind of division a line opens ("teil", "kapitel"), or None."""
    match = _DIVISION.match(line.text) if is_heading_line(line) else None
    return match[1].casefold() if match else None


def read_norm(line: Line, last: str | None) -> NormName | None:
    """Return the § or Artikel that a line names, or None where it is running text.

    `last` is the number of the norm before, which one that is not set as a heading must follow.
    """
    if (match := _COLLAPSED.match(line.text)) and is_heading_line(line):
        style: Style = "paragraph" if match[1] == "§§" else "article"
        return NormName(f"{match[2]} bis {match[3]}", style, "", gone=True)
    match = NORM.match(line.text)
    if match is None:
        return None
    style = "paragraph" if match[1] == "§" else "article"
    number = match[2].replace(" ", "")
    if match[3] is not None:
        beside = line.marked and not _CITED_ON.match(match[3]) and _not_before(last, number)
        return NormName(number, style, match[3].lstrip("–-: ")) if beside else None
    if is_heading_line(line) or (line.gap and counts_on(last, number)):
        return NormName(number, style, "")
    return None


def leads_to_heading(line: Line, below: Line) -> bool:
    """Tell whether a line right above a heading is a heading too, of a kind of its own ("III. Der Bundestag")."""
    if below.marked:
        return line.marked and line.centred
    return bool(line.centred and line.gap and _LEADING.match(line.text))


def read_part(line: Line) -> str | None:
    """Return the name of a part that is headed by it ("Präambel"), or None."""
    match = _PART.match(line.text) if is_heading_line(line) else None
    return match[1] if match else None


def _not_before(last: str | None, number: str) -> bool:
    digits, before = re.match(r"\d+", number), re.match(r"\d+", last or "")
    return digits is not None and (before is None or int(digits[0]) >= int(before[0]))


def counts_on(last: str | None, number: str) -> bool:
    """Tell whether a number begins a count (last is None) or goes on with it: 3 → 3a, 4."""
    digits = re.match(r"\d+", number)
    before = re.match(r"\d+", last) if last else None
    if digits is None:
        return False
    return int(digits[0]) == 1 if before is None else int(digits[0]) - int(before[0]) in (0, 1)


def read_annex(line: Line, *, after_signature: bool) -> AnnexName | None:
    """Return the annex that a line names, or None where it is running text; there is none after the signatures."""
    match = _ANNEX.match(line.text)
    if match is None:
        return None
    set_apart = line.gap is not False and (is_heading_line(line) or line.left > _RIGHT_HALF)
    if not (set_apart or after_signature):
        return None
    word = "Anlage" if match[1].casefold() == "anlage" else "Anhang"
    return AnnexName(f"{word} {match[2]}" if match[2] else word, match[3] or "")
