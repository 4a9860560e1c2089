"""Read EUR-Lex pages: acts of the Official Journal, consolidated acts, proposals, and old pages without classes.

No text of law, and so not read: page heads, signatures with place and date, the cover, explanatory memorandum and
financial statement of a proposal, the list of amendments above a consolidated act. Footnotes stand apart.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from lxml import html

from ingest.sources.eurlex_page import PageLine, page_lines, parse_page
from ingest.sources.eurlex_provisions import PLAIN_ANNEX, SIGNED, ProvisionReader, article_number
from ingest.tree import Act
from normalize.errors import SourceError

_IS_HTML = re.compile(rb"<!doctype\s+html|<html[\s>]", re.IGNORECASE)
# What tells an EUR-Lex page: classes of its four generations, a statement of its CELEX number, its usual page titles.
_IS_EURLEX = re.compile(
    "|".join(
        (
            r"""class=["'](?:oj-)?(?:doc-ti|ti-art|hd-oj)["']""",
            r"""[\s"'](?:eli-subdivision|title-article-norm|Titrearticle|Titreobjet)[\s"']""",
            r"""class=["'](?:Typedudocument|Rfrenceinstitutionnelle|Exposdesmotifs)""",
            r"""id=["']TexteOnly["']|css/com/com-c\.css""",
            r"CELEX(?::|%3[Aa])\d|data\.europa\.eu/eli/|EUR-Lex - \d{5}",
            r"<title>\s*(?:(?:Konsolidierter|Consolidated) TEXT|[CL]_\d{4,9}[A-Z]{2}\.)",
        )
    ).encode()
)

_INSTITUTION = re.compile(
    r"(?:DER RAT|DIE KOMMISSION|DAS EUROPÄISCHE PARLAMENT|DIE EUROPÄISCHE|DER EUROPÄISCHE|THE COUNCIL|THE COMMISSION|"
    r"THE EUROPEAN|THE GOVERNING COUNCIL|DER EZB-RAT)\b"
)
_KINDS = (
    ("F", re.compile(r"\b(?:RAHMENBESCHLU(?:SS|ẞ|ß)|FRAMEWORK DECISION)", re.IGNORECASE)),
    ("R", re.compile(r"\b(?:\w*VERORDNUNG|REGULATION)\b", re.IGNORECASE)),
    ("L", re.compile(r"\b(?:\w*RICHTLINIE|DIRECTIVE)\b", re.IGNORECASE)),
    ("D", re.compile(r"\b(?:\w*BESCHLU(?:SS|ẞ|ß)|ENTSCHEIDUNG|DECISION)\b", re.IGNORECASE)),
    ("A", re.compile(r"\bGEMEINSAME MA(?:SS|ẞ|ß)NAHME|JOINT ACTION", re.IGNORECASE)),
)
_DOC_TYPES = {"R": "verordnung_eu", "L": "richtlinie_eu", "F": "rahmenbeschluss_eu", "D": "beschluss_eu"}
_PROPOSAL = re.compile(r"\bCOM\s*\((\d{4})\)\s*(\d{1,4})\b")
_CELEX = re.compile(r"\b([03567])(\d{4})([A-Z]{1,2})(\d{4})\b")
_STATED = re.compile(r"CELEX(?::|%3A)([03567]\d{4}[A-Z]{1,2}\d{4})", re.IGNORECASE)
_CONSOLIDATED = re.compile(r"\b[03]?(\d{4})([A-Z])(\d{4})\s*[—–-]\s*[A-Z]{2}\s*[—–-]\s*(\d{2})\.(\d{2})\.(\d{4})")
_NUMBER_YEAR = re.compile(r"\((?:EU|EG|EWG|EC|EEC|Euratom)[^)]{0,12}\)\s*(?:Nr\.?|No\.?)\s*(\d{1,4})/(\d{2,4})")
_YEAR_NUMBER = re.compile(
    r"\((?:EU|EG|EC|EURATOM|GASP|CFSP)[^)]{0,12}\)\s*(\d{4})/(\d{1,4})"
    r"|\b(\d{2,4})/(\d{1,4})/(?:EU|EG|EWG|EC|EEC|JI|JHA|GASP|CFSP)\b"
)
_MONTHS = {
    month: number
    for number, months in enumerate(
        (
            ("januar", "january"),
            ("februar", "february"),
            ("märz", "march"),
            ("april",),
            ("mai", "may"),
            ("juni", "june"),
            ("juli", "july"),
            ("august",),
            ("september",),
            ("oktober", "october"),
            ("november",),
            ("dezember", "december"),
        ),
        1,
    )
    for month in months
}
_PRINTED_NOTE = re.compile(r"\((\d{1,3})\)\s+")
_DATE = re.compile(r"\b(?:vom|of)\s+(\d{1,2})\.?\s+([A-Za-zä]+)\s+(\d{4})\b", re.IGNORECASE)


def is_eurlex_html(head: bytes) -> bool:
    """Tell by the first bytes of a file whether it is an EUR-Lex page with the text of an act."""
    return _IS_HTML.search(head[:4096]) is not None and _IS_EURLEX.search(head) is not None


def read_eurlex_html(data: bytes, origin: str) -> Act:
    """Return the act of one EUR-Lex page; its short name is unknown here (the law table knows it by CELEX).

    Raises SourceError naming `origin` if the page is cut off or holds neither articles nor an annex.
    """
    root = parse_page(data, origin)
    lines = _with_printed_notes(page_lines(root))
    has_classes = any(line.role == "article" for line in lines)
    footnotes = {line.key: line.text for line in lines if line.role == "note" and line.key}
    title, body = _title_and_body(lines)
    reader = ProvisionReader(has_classes, footnotes)
    provisions = tuple(reader.provisions(body))
    if not any(p.kind in ("norm", "annex") for p in provisions):
        raise SourceError(f"{origin} holds neither an article nor an annex: it is no page of an act (an error page?).")
    kind = _kind(title)
    celex, consolidated = _identity(root, lines, title, kind)
    return Act(
        document_id=celex,
        code=None,
        short=None,
        name=title or None,
        style="article",
        date=consolidated or _date(title),
        language=_language(root, lines),
        provisions=provisions,
        names=(title,) if title else (),
        celex=celex,
        doc_type="vorschlag_eu" if celex and celex[0] == "5" else _DOC_TYPES.get(kind or ""),
        year=int(celex[1:5]) if celex else None,
    )


def _with_printed_notes(lines: list[PageLine]) -> list[PageLine]:
    """Tell the footnotes of old pages, which are plain text below the signatures or in an annex.

    A line "(1) …" there is a footnote if a number "(1)" is glued to a word above it ("der Kommission(1),"). Pages with
    links for their footnotes need none of this.
    """
    if any(line.notes or line.key for line in lines):
        return lines
    result = list(lines)
    start = 0
    below = False
    for index, line in enumerate(lines):
        if PLAIN_ANNEX.fullmatch(line.text):
            start, below = index, True
        below = below or SIGNED.match(line.text) is not None
        match = _PRINTED_NOTE.match(line.text) if below and line.role == "text" and not line.marker else None
        if match is None:
            continue
        reference = re.compile(rf"(?<=[^\W\d])\s?\({match[1]}\)")
        key = f"{start}-{match[1]}"
        for above in range(start, index):
            text, count = reference.subn("", result[above].text)
            if count and result[above].role != "note":
                result[above] = replace(result[above], text=text, notes=(*result[above].notes, key))
                result[index] = replace(line, role="note", text=line.text[match.end() :], key=key)
                break
    return result


# --- What the page says about the act --------------------------------------------------------------------------------


def _title_and_body(lines: Sequence[PageLine]) -> tuple[str, Sequence[PageLine]]:
    """Return the title of the act and the lines after it; what stands above it is no text of the act."""
    start = next((i for i, line in enumerate(lines) if _starts_act(line)), len(lines))
    titled = [i for i in range(start) if lines[i].role == "title"]
    if titled:
        return " ".join(lines[i].text for i in titled), lines[titled[-1] + 1 :]
    first = next((i for i in reversed(range(start)) if lines[i].role == "text" and _names_kind(lines[i].text)), start)
    title = " ".join(line.text for line in lines[first:start] if line.role == "text")
    return title, lines[start:]


def _starts_act(line: PageLine) -> bool:
    if line.role in ("article", "division", "recital"):
        return True
    return line.role == "text" and bool(_INSTITUTION.match(line.text) or article_number(line.text) is not None)


def _names_kind(text: str) -> bool:
    return any((match := pattern.search(text)) is not None and match.start() == 0 for _, pattern in _KINDS)


def _kind(title: str) -> str | None:
    """The kind of act its title names first; "Rahmenbeschluss" goes before "Beschluss"."""
    found = [(match.start(), order, kind) for order, (kind, p) in enumerate(_KINDS) if (match := p.search(title))]
    return min(found)[2] if found else None


def _identity(
    root: html.HtmlElement, lines: Sequence[PageLine], title: str, kind: str | None
) -> tuple[str | None, str | None]:
    """Return CELEX number and consolidation date: as the page states them, else from the title."""
    head = " ".join(e.text or "" for e in root.iter("title"))
    first_lines = " ".join(line.text for line in lines[:12])
    if match := _CONSOLIDATED.search(f"{head} {first_lines}"):
        year, letter, number, day, month, of_year = match.groups()
        return f"3{year}{letter}{number}", f"{of_year}-{month}-{day}"
    stated = [e.get("href") or "" for e in root.iter("link") if (e.get("rel") or "") == "canonical"]
    stated += [e.get("content") or "" for e in root.iter("meta") if "identifier" in (e.get("name") or "").lower()]
    for text in stated:
        if match := _STATED.search(text):
            return _base_celex(match[1]), None
    if match := _CELEX.search(head):
        return _base_celex(match[0]), None
    if match := _PROPOSAL.search(first_lines):
        return f"5{match[1]}PC{int(match[2]):04d}", None
    return _celex_of_title(title, kind), None


def _base_celex(celex: str) -> str:
    """Consolidated versions have the number of their act with 0 in front."""
    return f"3{celex[1:]}".upper() if celex[0] == "0" else celex.upper()


def _celex_of_title(title: str, kind: str | None) -> str | None:
    if kind is None or kind == "A":
        return None
    if match := _NUMBER_YEAR.search(title):
        number, year = match[1], match[2]
    elif match := _YEAR_NUMBER.search(title):
        year, number = match[1] or match[3], match[2] or match[4]
    else:
        return None
    if len(year) == 2:
        year = ("19" if year >= "50" else "20") + year
    return f"3{year}{kind}{int(number):04d}"


def _date(title: str) -> str | None:
    match = _DATE.search(title)
    month = _MONTHS.get(match[2].lower()) if match else None
    return f"{match[3]}-{month:02d}-{int(match[1]):02d}" if match and month else None


def _language(root: html.HtmlElement, lines: Sequence[PageLine]) -> str:
    stated = [line.text for line in lines if line.role == "language"]
    stated += [e.get("content") or "" for e in root.iter("meta") if (e.get("name") or "").lower() == "dc.language"]
    stated += [root.get("lang") or ""]
    for text in stated:
        if len(text.strip()) == 2:
            return text.strip().lower()
    heads = [line.text for line in lines if line.text.lower().startswith(("artikel ", "article "))]
    return "en" if heads and sum(h.startswith(("Article", "ARTICLE")) for h in heads) * 2 > len(heads) else "de"
