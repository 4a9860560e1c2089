"""Read a PDF with a text layer: promulgations (Bundesgesetzblatt) and texts of the Council or the Official Journal.

The way is lines (`pdf_layout`) → provisions (`pdf_outline`) → Absätze and items (`pdf_absatz`). What the printed page
says about itself (number and date of the gazette, number of the act) gives the identity.
"""

import re

from ingest.sources.pdf_layout import read_layout
from ingest.sources.pdf_outline import Outline, read_outline
from ingest.sources.titles import Title, read_title
from ingest.tree import Act
from normalize.errors import SourceError

_PDF = b"%PDF-"
_HEAD = 1024
_GAZETTE = re.compile(r"(?:(\d{4})\s+)?Ausgegeben zu \w+ am (\d{1,2})\. (\w+) (\d{4})(?:\s+Nr\. (\d+))?")
_PART = re.compile(r"Teil (I{1,2})\b")
_ISSUED = re.compile(r"Vom (\d{1,2})\. (\w+) (\d{4})$")
_MONTHS = ("Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
           "Dezember")  # fmt: skip
_EU_KIND = re.compile(
    r"(?:DELEGIERTE |DURCHFÜHRUNGS)?(VERORDNUNG|RICHTLINIE|RAHMENBESCHLUSS|BESCHLUSS|REGULATION|DIRECTIVE|DECISION)"
)
_EU_KINDS = {"VERORDNUNG": "R", "REGULATION": "R", "RICHTLINIE": "L", "DIRECTIVE": "L", "RAHMENBESCHLUSS": "F",
             "BESCHLUSS": "D", "DECISION": "D"}  # fmt: skip
_DOC_TYPES = {"R": "verordnung_eu", "L": "richtlinie_eu", "F": "rahmenbeschluss_eu", "D": "beschluss_eu"}
_EU_NUMBER = re.compile(
    r"\((?:EU|EG|EC)(?:, Euratom)?\)\s*(?:Nr\.\s*|No\s*)?(\d+)/(\d+)|\b(\d{4})/(\d+)/(?:EU|EG|EC)\b"
)
_YEAR_DIGITS = 4
# An act is what its title names first ("Verordnung zur Durchführung des … gesetzes").
_ORDER = re.compile(r"(?:(?!gesetz\b)(?!Gesetz\b).)*?[Vv]erordnung\b")
_ENGLISH = re.compile(r"\b(?:the|of|and|shall)\b")
_GERMAN = re.compile(r"\b(?:der|die|und|des)\b")


def is_pdf(head: bytes) -> bool:
    """Tell whether the first bytes of a file are those of a PDF."""
    return _PDF in head[:_HEAD]


def read_pdf(data: bytes, origin: str) -> Act:
    """Return the act that a PDF prints, with the page of every block.

    Raises SourceError naming `origin` if the file is damaged, if the words of a page cannot be read (with the numbers
    of the pages), or if it holds neither an article nor an annex.
    """
    if not is_pdf(data):
        raise SourceError(f"{origin} is no PDF: get the file anew.")
    outline = read_outline(read_layout(data, origin))
    if not any(p.kind in ("norm", "annex") and p.absaetze for p in outline.provisions):
        raise SourceError(f"{origin} holds neither a § or Artikel nor an annex: it is not the text of an act.")
    return _eu_act(outline) if outline.eu else _german_act(outline)


def _german_act(outline: Outline) -> Act:
    title, issued = _title(outline)
    masthead = " ".join(outline.masthead)
    gazette = _GAZETTE.search(masthead)
    part = _PART.search(masthead)
    date = _iso(gazette[2], gazette[3], gazette[4]) if gazette else issued
    eli = f"eli/bund/bgbl-{len(part[1])}/{gazette[4]}/{gazette[5]}" if gazette and gazette[5] and part else None
    names = (title.name, title.short_title, title.abbreviation)
    return Act(
        document_id=eli,
        code=title.abbreviation.upper() if title.abbreviation else None,
        short=title.abbreviation,
        name=title.name,
        style=outline.style,
        date=date,
        language="de",
        provisions=outline.provisions,
        names=tuple(dict.fromkeys(name for name in names if name)),
        doc_type="verordnung"
        if title.name and re.search(r"[Vv]erordnung\b", title.name.split(" zur ")[0])
        else "gesetz",
        year=int((issued or date or "")[:4]) if issued or date else None,
    )


def _title(outline: Outline) -> tuple[Title, str | None]:
    """The title without its date line, and the date of that line."""
    issued = next((match for line in outline.title if (match := _ISSUED.match(line))), None)
    lines = [line for line in outline.title if not _ISSUED.match(line)]
    return read_title(" ".join(lines)), _iso(issued[1], issued[2], issued[3]) if issued else None


def _iso(day: str, month: str, year: str) -> str | None:
    return f"{year}-{_MONTHS.index(month) + 1:02d}-{int(day):02d}" if month in _MONTHS else None


def _eu_act(outline: Outline) -> Act:
    name = " ".join(outline.title) or None
    kind = _EU_KINDS[match[1]] if name and (match := _EU_KIND.search(name)) else None
    celex = _celex(name or "", kind)
    return Act(
        document_id=celex,
        code=None,
        short=None,
        name=name,
        style="article",
        date=None,
        language=_language(outline),
        provisions=outline.provisions,
        names=(name,) if name else (),
        celex=celex,
        doc_type=_DOC_TYPES.get(kind or ""),
        year=int(celex[1:5]) if celex else None,
    )


def _celex(title: str, kind: str | None) -> str | None:
    """CELEX from the number in the title: "(EU) 2016/679" has the year first, "(EU) Nr. 575/2013" last."""
    head = title.split(" zur ")[0].split(" amending ")[0]
    match = _EU_NUMBER.search(head)
    if match is None or kind is None:
        return None
    first, second = (match[1], match[2]) if match[1] else (match[3], match[4])
    old = "Nr." in match[0] or "No" in match[0]
    year, number = (second, first) if old else (first, second)
    return f"3{year}{kind}{int(number):04d}" if len(year) == _YEAR_DIGITS else None


def _language(outline: Outline) -> str:
    text = " ".join(b.text for p in outline.provisions[:20] for a in p.absaetze for b in a.blocks)
    return "en" if len(_ENGLISH.findall(text)) > len(_GERMAN.findall(text)) else "de"
