"""Read Formex 4 (EUR-Lex): acts, consolidated acts, combined files with their annexes, and annex files of their own.

Quirks (corpus README 13): quotation marks are empty elements, footnotes stand inside sentences, page numbers are
processing instructions between items, pretty-printed files put blanks around inline elements, a second `<ALINEA>` is
Unterabsatz 2, consolidated acts have no recitals.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from lxml import etree

from ingest.sources.formex_tables import row_paths
from ingest.sources.markers import item_of, read_marker
from ingest.sources.safe_xml import local_tag, parse_xml, text_of
from ingest.tree import Absatz, Act, Block, Provision
from normalize.errors import SourceError
from normalize.text import clean_inline
from normalize.units import Path, Step

ROOTS = frozenset({"ACT", "ANNEX", "CONS.ACT", "CONS.ANNEX", "LEXP.COMBINED", "COMBINED.FMX", "CONS.DOC"})

# Blanks that pretty-printing put inside an inline element; they stand in no text of law.
_OPENING, _CLOSING = "\ue002", "\ue003"
# Elements that hold whole words; some files leave out the blank before them ("vom<DATE>15. Mai 2014</DATE>").
_WORDS = frozenset({"DATE", "REF.DOC", "REF.DOC.OJ"})
_WORD_EDGE = "\ue004"
_MISSING_BLANK = re.compile(r"(?<=\w)" + _WORD_EDGE + r"+(?=\w)")
_AFTER_OPENING = re.compile(_OPENING + r"\s*")
_BEFORE_CLOSING = re.compile(r"\s*" + _CLOSING)
_AFTER_CLOSING = re.compile("([\u201c\u201d\u2019\u00bb\u2018\"'])\\s+(?=[,;.:!?)\\]]|-\\w)")
_BEFORE_PUNCTUATION = re.compile(r"(?<=[\w)\]%“”’]) +(?=[,;)\]]|[.:](?:\s|$))")
_OPEN_BRACKET = re.compile(r"(?<=[(\[]) +")

_BLOCKS = frozenset({"P", "LIST", "TBL", "GR.SEQ", "NP", "ALINEA", "ITEM", "DLIST", "QUOT.S", "GR.NOTES", "BLK",
                     "TITLE", "CONTENTS", "PARAG", "SUBDIV", "GR.TBL", "DIVISION", "ARTICLE", "CORPUS"})  # fmt: skip
# Footnotes are kept apart; pictures and bibliographic data are no text of law.
_SKIPPED = frozenset({"NOTE", "INCL.ELEMENT", "BIB.INSTANCE", "BIB.DATA", "GR.NOTES", "SIGNATURE", "IE"})

_NUMBER = re.compile(r"\(?(\d+[a-z]{0,3})\)?\.?$")
_ARTICLE = re.compile(r"(?:Artikel|Article|Art\.?)\s*(\d+\s?[a-z]{0,3}|[IVXL]+)\b", re.IGNORECASE)
_ONLY_ARTICLE = re.compile(r"(?:Einziger Artikel|Sole Article)", re.IGNORECASE)
_ANNEX = re.compile(r"(?:ANHANG|ANNEX|Anhang|Annex)\s*([IVXLC]+[a-z]?|\d+[a-z]?|[A-Z])?\b")
_DIVISION_UNIT = (
    ("teil", re.compile(r"(?:TEIL|PART|Teil|Part)\s+([IVXLC]+|\d+|[A-Z])\b")),
    ("kapitel", re.compile(r"(?:KAPITEL|CHAPTER|Kapitel|Chapter)\s+([IVXLC]+|\d+)\b")),
    ("abschnitt", re.compile(r"(?:ABSCHNITT|SECTION|Abschnitt|Section)\s+([IVXLC]+|\d+|[A-Z])\b")),
)
_KINDS = (
    ("R", re.compile(r"\b(?:VERORDNUNG|REGULATION)\b", re.IGNORECASE)),
    ("L", re.compile(r"\b(?:RICHTLINIE|DIRECTIVE)\b", re.IGNORECASE)),
    ("F", re.compile(r"\b(?:RAHMENBESCHLUSS|FRAMEWORK DECISION)\b", re.IGNORECASE)),
    ("D", re.compile(r"\b(?:BESCHLUSS|ENTSCHEIDUNG|DECISION)\b", re.IGNORECASE)),
)
_DOC_TYPES = {"R": "verordnung_eu", "L": "richtlinie_eu", "F": "rahmenbeschluss_eu", "D": "beschluss_eu"}
# Old consolidated files write the year with two digits ("302L0058").
_CELEX = re.compile(r"3(\d{4}|\d{2})([A-Z])(\d{4})")


def read_formex(data: bytes, origin: str) -> Act:
    """Return the act of one Formex file; its short name is unknown here (the law table knows it by CELEX).

    Raises SourceError naming `origin` if the file holds neither articles nor an annex.
    """
    root = parse_xml(data, origin)
    if root.tag not in ROOTS:
        raise SourceError(f"{origin} is no Formex act: the root is <{root.tag}>, expected one of {sorted(ROOTS)}.")
    act = next((e for e in root.iter("ACT", "CONS.DOC")), root)
    provisions = tuple(_provisions(root))
    if not any(p.kind in ("norm", "annex") for p in provisions):
        raise SourceError(f"{origin} holds neither an article nor an annex: it is not the text of an act.")
    title = clean_inline(_plain(act.find("TITLE"))) if act.find("TITLE") is not None else None
    kind = _kind(title or "")
    celex = _celex(act, kind)
    return Act(
        document_id=celex,
        code=None,
        short=None,
        name=title,
        style="article",
        date=_date(root, act),
        language=(act.findtext(".//LG.DOC") or act.findtext(".//LG.OJ") or "DE").strip().lower(),
        provisions=provisions,
        names=(title,) if title else (),
        celex=celex,
        doc_type=_DOC_TYPES.get(kind or ""),
        year=int(celex[1:5]) if celex else None,
    )


def _kind(title: str) -> str | None:
    """The kind of act its title names first ("Richtlinie … zur Änderung der Verordnung …" is a directive)."""
    found = [(match.start(), kind) for kind, pattern in _KINDS if (match := pattern.search(title))]
    return min(found)[1] if found else None


def _celex(act: etree._Element, kind: str | None) -> str | None:
    """CELEX from the file's own statement, else from year, number and kind of act (32016R0679)."""
    stated = act.find(".//FAM.COMP/BIB.DATA/NO.CELEX")
    if stated is None:
        stated = act.find(".//BIB.DATA/NO.CELEX")
    if stated is not None and (match := _CELEX.search(text_of(stated))):
        year = match[1] if len(match[1]) == 4 else ("19" if match[1] >= "50" else "20") + match[1]
        return f"3{year}{match[2]}{match[3]}"
    number = act.find("BIB.INSTANCE/NO.DOC")
    if number is None or kind is None:
        return None
    year, current = (number.findtext("YEAR") or "").strip(), (number.findtext("NO.CURRENT") or "").strip()
    return f"3{year}{kind}{int(current):04d}" if year.isdigit() and current.isdigit() else None


def _date(root: etree._Element, act: etree._Element) -> str | None:
    """Consolidation date, else the date of the act as printed in its Official Journal."""
    consolidated = next(iter(root.iter("INFO.CONSLEG")), None)
    stamp = consolidated.get("START.DATE") if consolidated is not None else None
    if not stamp:
        date = act.find("BIB.INSTANCE/DATE")
        stamp = date.get("ISO") if date is not None else None
    return f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}" if stamp and len(stamp) == 8 and stamp.isdigit() else None


# --- Provisions ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reader:
    """Where the walk stands: the page, and the footnotes met since the provision began."""

    page: int | None = None
    footnotes: list[str] = field(default_factory=list)

    def take_footnotes(self) -> tuple[str, ...]:
        taken = tuple(self.footnotes)
        self.footnotes.clear()
        return taken


def _provisions(root: etree._Element) -> Iterator[Provision]:
    """Walk the file in document order; the page counter needs the order."""
    first = root.findtext(".//BIB.INSTANCE/DOCUMENT.REF/PAGE.FIRST") or ""
    reader = _Reader(page=int(first) if first.strip().isdigit() else None)
    yield from _walk(root, (), reader)


def _walk(element: etree._Element, context: tuple[str, ...], reader: _Reader) -> Iterator[Provision]:
    for child in element:
        if child.tag is etree.ProcessingInstruction:
            _note_page(child, reader)
            continue
        match local_tag(child):
            case "PREAMBLE":
                yield from _preamble(child, reader)
            case "CONSID":
                yield from _recital(child, reader)
            case "ARTICLE":
                yield _article(child, context, reader)
            case "DIVISION":
                title = clean_inline(_plain(child.find("TITLE")))
                yield from _walk(child, (*context, title) if title else context, reader)
            case "ANNEX" | "CONS.ANNEX":
                yield _annex(child, reader)
            case "FINAL":
                yield from _final(child, reader)
            case "ACT" | "CONS.ACT" | "CONS.DOC" | "ENACTING.TERMS" | "ANNEXES" | "LEXP.COMBINED" | "GR.ANNEX":
                yield from _walk(child, context, reader)
            case _:
                for instruction in child.iter(etree.ProcessingInstruction):
                    _note_page(instruction, reader)
    if local_tag(element) in ("ANNEX", "CONS.ANNEX") and element.getparent() is None:
        yield _annex(element, reader)


def _preamble(preamble: etree._Element, reader: _Reader) -> Iterator[Provision]:
    """Recitals are provisions of their own; the formulas before and after them are the named part "Präambel"."""
    formulas: list[Block] = []
    for child in (part for group in preamble for part in (group if local_tag(group) == "GR.CONSID" else (group,))):
        if child.tag is etree.ProcessingInstruction:
            _note_page(child, reader)
        elif local_tag(child) == "CONSID":
            yield from _formulas(formulas, reader)
            formulas = []
            yield from _recital(child, reader)
        elif local_tag(child):
            formulas.extend(_blocks(child, (), reader))
    yield from _formulas(formulas, reader)


def _formulas(blocks: Sequence[Block], reader: _Reader) -> Iterator[Provision]:
    if blocks:
        absaetze = (Absatz(None, tuple(blocks)),)
        yield Provision("part", "Präambel", "article", None, (), absaetze, reader.take_footnotes())


def _recital(consid: etree._Element, reader: _Reader) -> Iterator[Provision]:
    blocks = list(_blocks(consid, (), reader))
    if not blocks:
        return
    number = _NUMBER.match(blocks[0].marker)
    if number is None:
        yield from _formulas(blocks, reader)
        return
    plain = tuple(replace(b, path=b.path[1:], marker="" if b is blocks[0] else b.marker) for b in blocks)
    yield Provision("recital", number[1], "article", None, (), (Absatz(None, plain),), reader.take_footnotes())


def _article(article: etree._Element, context: tuple[str, ...], reader: _Reader) -> Provision:
    title = clean_inline(_plain(article.find("TI.ART")))
    match = _ARTICLE.match(title)
    number = match[1].replace(" ", "") if match else ("1" if _ONLY_ARTICLE.match(title) else title or "Artikel")
    heading = clean_inline(_plain(article.find("STI.ART"))) or None
    absaetze: list[Absatz] = []
    loose: list[list[Block]] = []
    for child in article:
        if child.tag is etree.ProcessingInstruction:
            _note_page(child, reader)
        elif local_tag(child) == "PARAG":
            absaetze.extend(_parag(child, reader))
        elif local_tag(child) in ("TI.ART", "STI.ART"):
            reader.footnotes.extend(_notes(child))
        elif local_tag(child):
            loose.append(list(_blocks(child, (), reader)))
    loose = [blocks for blocks in loose if blocks]
    if absaetze and loose:  # text beside numbered Absätze (quotations, closing lines) goes on with the last one
        last = absaetze[-1]
        absaetze[-1] = replace(last, blocks=(*last.blocks, *(b for blocks in loose for b in blocks)))
    elif len(loose) == 1:
        absaetze = [Absatz(None, tuple(loose[0]))]
    elif loose:  # several unnumbered paragraphs of an article are its Absätze 1, 2, … (style guide 3.2.3)
        absaetze = [Absatz(str(n), tuple(blocks)) for n, blocks in enumerate(loose, 1)]
    return Provision("norm", number, "article", heading, context, tuple(absaetze), reader.take_footnotes())


def _parag(parag: etree._Element, reader: _Reader) -> Iterator[Absatz]:
    label = clean_inline(_plain(parag.find("NO.PARAG")))
    match = _NUMBER.match(label)
    subparagraphs: list[list[Block]] = []
    for child in parag:
        if child.tag is etree.ProcessingInstruction:
            _note_page(child, reader)
        elif local_tag(child) == "ALINEA" or not subparagraphs:
            if local_tag(child) and local_tag(child) != "NO.PARAG":
                subparagraphs.append(list(_blocks(child, (), reader)))
        elif local_tag(child):
            subparagraphs[-1].extend(_blocks(child, (), reader))
    subparagraphs = [blocks for blocks in subparagraphs if blocks]
    if len(subparagraphs) > 1:
        subparagraphs = [
            [replace(b, path=(Step("unterabsatz", str(n)), *b.path)) for b in blocks]
            for n, blocks in enumerate(subparagraphs, 1)
        ]
    blocks = tuple(b for sub in subparagraphs for b in sub)
    if blocks:
        yield Absatz(match[1] if match else None, blocks)


def _annex(annex: etree._Element, reader: _Reader) -> Provision:
    title = annex.find("TITLE")
    first = clean_inline(_plain(title.find("TI"))) if title is not None else ""
    second = clean_inline(_plain(title.find("STI"))) if title is not None else ""
    match = _ANNEX.search(first)
    number = match[1] if match else None
    heading = " ".join(part for part in (first[match.end() :].strip() if match else first, second) if part)
    text = (child for child in annex if local_tag(child) not in ("TITLE", *_SKIPPED))
    blocks = tuple(b for child in text for b in _blocks(child, (), reader))
    absaetze = (Absatz(None, blocks),) if blocks else ()
    name = f"Anhang {number}" if number else "Anhang"
    return Provision("annex", name, "article", heading or None, (), absaetze, reader.take_footnotes())


def _final(final: etree._Element, reader: _Reader) -> Iterator[Provision]:
    """The closing formula is law text; signatures are not."""
    blocks = tuple(b for child in final if local_tag(child) == "P" for b in _blocks(child, (), reader))
    if blocks:
        yield Provision("part", "Schlussformel", "article", None, (), (Absatz(None, blocks),), reader.take_footnotes())


def _note_page(instruction: etree._Element, reader: _Reader) -> None:
    if instruction.target == "PAGE" and (match := re.search(r"NO=['\"]0*(\d+)", instruction.text or "")):
        reader.page = int(match[1])


# --- Blocks --------------------------------------------------------------------------------------------------------


def _blocks(element: etree._Element, path: Path, reader: _Reader, marker: str = "") -> Iterator[Block]:
    """Yield the clean blocks below an element in document order."""
    tag = local_tag(element)
    if tag == "QUOT.S":
        text = _clean(_inline(element, reader))
        if text or marker:
            yield Block(text, path, marker, reader.page, quoted=True)
        return
    if marker and tag in ("LIST", "DLIST", "NP", "TBL"):  # an item that is nothing but a list of its own
        yield Block("", path, marker, reader.page)
    if tag in ("LIST", "DLIST"):
        yield from _list_blocks(element, path, reader)
        return
    if tag == "NP":
        yield from _numbered(element, path, reader, None)
        return
    if tag == "TBL":
        yield from _table_blocks(element, path, reader)
        return
    if tag == "GR.SEQ":
        title = clean_inline(_plain(element.find("TITLE")))
        step = next((Step(lv, m[1]) for lv, pattern in _DIVISION_UNIT if title and (m := pattern.match(title))), None)
        path = (*path, step) if step else path
    pieces: list[str] = []
    for token in _tokens(element, reader):
        if isinstance(token, str):
            pieces.append(token)
            continue
        text = _clean(pieces)
        pieces.clear()
        if text:
            yield Block(text, path, marker, reader.page)
            marker = ""
        for block in _blocks(token, path, reader, marker):
            yield block
            marker = ""
    text = _clean(pieces)
    if text or marker:
        yield Block(text, path, marker, reader.page)


def _list_blocks(items: etree._Element, path: Path, reader: _Reader) -> Iterator[Block]:
    before: Step | None = None
    dashes = items.get("TYPE") in ("DASH", "NDASH")
    for child in items:
        if child.tag is etree.ProcessingInstruction:
            _note_page(child, reader)
            continue
        if local_tag(child) == "DLIST.ITEM":
            yield from _blocks(child, path, reader)
            continue
        np = child.find("NP") if local_tag(child) == "ITEM" else None
        if np is not None:
            for block in _numbered(np, path, reader, before):
                if len(block.path) > len(path):
                    before = block.path[len(path)]
                yield block
            for sibling in child:
                if sibling is not np and local_tag(sibling):
                    yield from _blocks(sibling, (*path, before) if before else path, reader)
        elif local_tag(child):
            step = read_marker("–", "article", path, before) if dashes else None
            before = step or before
            yield from _blocks(child, (*path, step) if step else path, reader, marker="–" if dashes else "")


def _numbered(np: etree._Element, path: Path, reader: _Reader, before: Step | None) -> Iterator[Block]:
    """Yield the blocks of a numbered paragraph: `<NO.P>` is the marker, the rest its text."""
    marker = clean_inline(_plain(np.find("NO.P")))
    item_path = item_of(marker, "article", path, before)
    for child in np:
        if child.tag is etree.ProcessingInstruction:
            _note_page(child, reader)
        elif local_tag(child) not in ("NO.P", ""):
            for block in _blocks(child, item_path, reader, marker):
                yield block
                marker = ""
    if marker:
        yield Block("", item_path, marker, reader.page)


def _table_blocks(table: etree._Element, path: Path, reader: _Reader) -> Iterator[Block]:
    """Yield each row of a table as one readable line, cells apart by " | "."""
    title = clean_inline(_plain(table.find("TITLE")))
    if title:
        yield Block(title, path, "", reader.page)
    numbered = iter(row_paths(table))
    for row in table.iter("ROW", "TI.BLK", "STI.BLK"):
        below: Path = ()
        if row.tag == "ROW":
            cells = [_clean(_inline(cell, reader)) for cell in row.iterchildren("CELL")]
            below = next(numbered)
        else:
            cells = [_clean(_inline(row, reader))]
        line = " | ".join(cell for cell in cells if cell)
        if line:
            yield Block(line, (*path, *below), "", reader.page, row=below[0].value if below else "", counts=False)


def _tokens(element: etree._Element, reader: _Reader) -> Iterator[str | etree._Element]:
    """Yield running text and block children in order; inline elements are text, notes go to the footnotes."""
    if element.text:
        yield element.text
    for child in element:
        if child.tag is etree.ProcessingInstruction:
            _note_page(child, reader)
            if child.tail:
                yield child.tail
            continue
        tag = local_tag(child)
        if tag == "QUOT.START":
            yield _quote(child, "„") + _OPENING
        elif tag == "QUOT.END":
            yield _CLOSING + _quote(child, "“")
        elif tag == "NOTE":
            reader.footnotes.extend(_notes(child))
        elif tag in _BLOCKS:
            yield child
        elif tag in _WORDS or child.get("TYPE") == "UC":
            yield _WORD_EDGE
            yield from _tokens(child, reader)
            yield _WORD_EDGE
        elif tag not in _SKIPPED:
            yield from _tokens(child, reader)
            if tag == "NO.P":  # a numbered paragraph within a line ("1. Energy" in a cell)
                yield " "
        if child.tail:
            yield child.tail


def _inline(element: etree._Element, reader: _Reader) -> list[str]:
    """Return the pieces of text of an element whose blocks shall run together on one line."""
    pieces: list[str] = []
    for token in _tokens(element, reader):
        if isinstance(token, str):
            pieces.append(token)
        else:
            pieces += [" ", *_inline(token, reader), " "]
    return pieces


def _notes(element: etree._Element) -> Iterator[str]:
    for note in element.iter("NOTE"):
        text = clean_inline(text_of(note))
        if text:
            yield text


def _quote(element: etree._Element, default: str) -> str:
    code = element.get("CODE") or ""
    try:
        return chr(int(code, 16)) if code else default
    except (ValueError, OverflowError):
        return default


def _plain(element: etree._Element | None) -> str:
    """Return the text of a heading or number, without notes."""
    if element is None:
        return ""
    return _clean(_inline(element, _Reader()))


def _clean(pieces: Sequence[str]) -> str:
    """Clean joined pieces: blanks that pretty-printing put around quotation marks and notes are no text."""
    text = "".join(pieces)
    text = _BEFORE_CLOSING.sub("", _AFTER_OPENING.sub("", text))
    text = clean_inline(_MISSING_BLANK.sub(" ", text).replace(_WORD_EDGE, ""))
    text = _AFTER_CLOSING.sub(r"\1", text)
    return _OPEN_BRACKET.sub("", _BEFORE_PUNCTUATION.sub("", text))
