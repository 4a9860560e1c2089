"""Recognise headings in plain text and Markdown: of a § or Artikel, recital, annex, part, and of divisions."""

import re
from dataclasses import dataclass

from ingest.sources.quotations import OPENING_QUOTES
from ingest.tree import Kind
from normalize.citation import Style

NUMBER = r"\d+(?:[a-z]{1,2}\b|\s[a-z]\b)?"
PARAGRAPH = re.compile(rf"§\s*({NUMBER})")
ARTICLE = re.compile(rf"(?:Artikel|Article|ARTIKEL|ARTICLE|Art\.?)\s*({NUMBER}|[IVXL]+\b)")
# A range under one heading stands for provisions without text.
_RANGE = re.compile(
    rf"(§§?|Artikel|Art\.|Articles?)\s*({NUMBER})\s*(?:bis|und|to|and|-|–)\s*(?:§\s*)?({NUMBER})\s*"
    r"(\(?(?:weggefallen|aufgehoben|gestrichen|repealed|deleted)\)?)?"
)
_RECITAL = re.compile(r"(?:Erwägungsgrund|Recital|ErwG)\s*\(?(\d+[a-z]?)\)?")
_ANNEX = re.compile(r"(?:(Anlage|ANLAGE)|Anhang|ANHANG|Annex|ANNEX)(?:\s+([IVXLC]+\b|\d+[a-z]?|[A-Z]\b))?")
_PART = re.compile(r"Präambel|Eingangsformel|Schlussformel")
_DIVISION = re.compile(
    r"(Buch|Teil|Titel|Kapitel|Abschnitt|Unterabschnitt|Part|Title|Chapter|Section|Subsection)\s+"
    r"(?:[IVXLC]+|\d+[a-z]?|[A-Z])\b|"
    r"(?:[A-ZÄÖÜ]?[a-zäöü]+te[rs]?|\d+\.)\s+"
    r"(Buch|Teil|Titel|Kapitel|Abschnitt|Unterabschnitt)\b",
    re.IGNORECASE,
)
_RANKS = ("buch", "teil", "part", "titel", "title", "kapitel", "chapter", "abschnitt", "section", "unterabschnitt")
# What follows a citation in running text; a heading never begins so.
_CITED_ON = re.compile(
    r"(?:Abs\b|Absatz|Absätze|Satz|Nr\b|Nummer|lit\b|Buchst|Unterabs|Halbsatz|und|oder|bis|sowie|ff?\b|i\.|in Verb|"
    r"Alt\b|paragraph|point|and|or|to|of|des|der|dieses|dieser)\b|[,;(\[]?\d|[,;)§]|\.\S"
)
_LONGEST_HEADING = 250


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a provision; `rest` is what it says behind the number."""

    kind: Kind
    article: str
    style: Style
    rest: str


def heading_of(text: str, *, marked: bool) -> Heading | None:
    """Return the provision that a line is the heading of, by its words; `marked` lines are headings in any case."""
    if text.startswith(OPENING_QUOTES):
        return None
    for kind, style, pattern in _HEADS:
        if kind == "norm" and (span := (_RANGE.match if marked else _RANGE.fullmatch)(text)):
            found: Style = "paragraph" if span[1].startswith("§") else "article"
            return Heading("norm", f"{span[2]} bis {span[3]}", found, text[span.end(3) :].strip())
        match = pattern.match(text)
        if match is not None:
            rest = text[match.end() :]
            if rest[:1].isalnum() or (_CITED_ON.match(rest.strip()) and not marked):
                return None
            heading = rest.strip(" \t").lstrip(".:–— ") if rest.strip() != "-" else ""
            if not marked and not may_be_heading(heading):
                return None
            return Heading(kind, _name(kind, match), style, heading)
    return None


_HEADS: tuple[tuple[Kind, Style, re.Pattern[str]], ...] = (
    ("norm", "paragraph", PARAGRAPH),
    ("norm", "article", ARTICLE),
    ("recital", "article", _RECITAL),
    ("annex", "article", _ANNEX),
    ("part", "article", _PART),
)


def _name(kind: Kind, match: re.Match[str]) -> str:
    if kind == "annex":
        head = "Anlage" if match[1] else "Anhang"
        return f"{head} {match[2]}" if match[2] else head
    return match[0] if kind == "part" else match[1].replace(" ", "")


def may_be_heading(text: str) -> bool:
    """Tell whether a text may be a title: short, in capitals at its start, and no sentence."""
    if not text:
        return True
    return len(text) <= _LONGEST_HEADING and not text[0].islower() and not text.endswith((".", ";", ":", ","))


def division_of(text: str) -> tuple[int, str] | None:
    """Return rank (0 is outermost) and title of a division ("Abschnitt 1 Allgemeines"), or None."""
    match = _DIVISION.match(text)
    if match is None:
        return None
    word = (match[1] or match[2]).lower()
    rank = _RANKS.index(word) if word in _RANKS else len(_RANKS)
    return rank, text[match.end() :].strip(" -–—:.")
