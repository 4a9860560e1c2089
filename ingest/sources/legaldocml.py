"""Read LegalDocML.de (Akoma Ntoso): acts as promulgated or drafted, and annexes in files of their own.

Names of elements are read without their namespace, which carries the version of the standard. Lists come in two
vocabularies (`blockList`/`item` and `list`/`point`), pretty-printing puts blanks and line ends around running text,
and amending text stands in `quotedStructure`, whose quotation marks are attributes.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from lxml import etree

from ingest.sources.markers import read_marker
from ingest.sources.safe_xml import parse_xml
from ingest.sources.titles import Title, read_title
from ingest.tree import Absatz, Act, Block, Kind, Provision
from normalize.citation import Style
from normalize.errors import SourceError
from normalize.text import clean_inline
from normalize.units import Path, Step

_ROOT = re.compile(rb"<(?:[A-Za-z_][\w.\-]*:)?akomaNtoso[\s/>]")
_COMMENTS = re.compile(rb"<!--.*?-->", re.DOTALL)

_DOCUMENTS = ("act", "bill", "doc", "statement", "officialGazette")
_LISTS = frozenset({"blockList", "list"})
_ITEMS = frozenset({"item", "point", "indent", "alinea", "subparagraph"})
_TABLES = frozenset({"table"})
_QUOTED = frozenset({"quotedStructure", "embeddedStructure"})
# Elements that end a run of text; all others are inline.
_BLOCKS = _LISTS | _TABLES | _QUOTED | frozenset(
    {
        "p", "block", "content", "intro", "wrapUp", "listIntroduction", "listWrapUp", "blockContainer", "paragraph",
        "article", "ol", "ul", "li", "tblock", "container", "division", "hcontainer", "section", "subsection", "part",
        "subpart", "chapter", "subchapter", "title", "subtitle", "book", "clause", "heading", "subheading", "tocItem",
        "formula", "citation", "citations", "recital", "recitals", "longTitle",
    } | _ITEMS
)  # fmt: skip
# No text of law: metadata, the table of contents, signatures with place and date, pictures, links to other files.
_SKIPPED = frozenset({"meta", "toc", "signature", "img", "componentRef", "documentRef", "noteRef", "remark"})
_CONTAINERS = frozenset(
    {"book", "part", "subpart", "chapter", "subchapter", "section", "subsection", "title", "subtitle", "tome",
     "hcontainer", "division", "component", "components", "attachments", "attachment"}
)  # fmt: skip

_NORM = re.compile(r"(§|Art(?:ikel|icle|\.)?)\s*(\d+\s?[a-z]{0,3}|[IVXLC]+)\b\.?", re.IGNORECASE)
_COLLAPSED = re.compile(r"(§§|Art(?:ikel|\.)?)\s*(\d+\w*)\s*(?:bis|und|,)\s*(\d+\w*)$")
_ABSATZ = re.compile(r"\(?(\d+\s?[a-z]{0,3})\)?\.?$")
_ANNEX = re.compile(r"(Anlage|Anhang)(?:\s+([A-Z]?\d+[a-z]?|[IVXLC]+|[A-Z]))?(?!\w)")
_GONE = re.compile(r"[-–—.\s]*$|[(\[]?\s*(?:weggefallen|aufgehoben|gestrichen|entfällt)\s*[)\]]?[.;]?\s*$")
_LANGUAGES = {"deu": "de", "ger": "de", "de": "de", "eng": "en", "en": "en"}


def is_legaldocml(head: bytes) -> bool:
    """Tell whether the first bytes of a file are those of an Akoma Ntoso document."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head.decode("utf-16", "replace").encode("utf-8")
    head = _COMMENTS.sub(b"", head)
    first = re.search(rb"<[A-Za-z_]", head)
    return first is not None and _ROOT.match(head, first.start()) is not None


def read_legaldocml(data: bytes, origin: str) -> Act:
    """Return the act of one LegalDocML.de file; an annex file gives an act whose one provision is the annex.

    Raises SourceError naming `origin` if the file holds neither an article nor an annex.
    """
    root = parse_xml(data, origin)
    if _name(root) != "akomaNtoso":
        raise SourceError(f"{origin} is no LegalDocML: the root is <{_name(root)}>, expected <akomaNtoso>.")
    document = next((child for child in root if _name(child) in _DOCUMENTS), None)
    if document is None:
        raise SourceError(
            f"{origin} holds no act and no annex of its own (only links to other files?): give the files it links to."
        )
    provisions = _provisions(document)
    if not any(p.kind in ("norm", "annex") for p in provisions):
        raise SourceError(f"{origin} holds neither an article nor an annex: it is not the text of an act.")
    meta = _child(document, "meta")
    title = _title(document, meta)
    names = (title.name, title.short_title, title.abbreviation)
    issued = _value(meta, "FRBRWork", "FRBRdate", "date") or ""
    language = (_value(meta, "FRBRExpression", "FRBRlanguage", "language") or "deu").lower()
    return Act(
        document_id=_value(meta, "FRBRWork", "FRBRthis", "value"),
        code=title.abbreviation.upper() if title.abbreviation else None,
        short=title.abbreviation,
        name=title.name,
        style=_majority_style(provisions),
        date=_value(meta, "FRBRExpression", "FRBRdate", "date") or issued or None,
        language=_LANGUAGES.get(language, language[:2]),
        provisions=provisions,
        names=tuple(dict.fromkeys(name for name in names if name)),
        doc_type=_text_below(meta, "typ") or None,
        year=int(issued[:4]) if issued[:4].isdigit() else None,
    )


# --- Who the act is ------------------------------------------------------------------------------------------------


def _name(element: etree._Element) -> str:
    """The name of an element without its namespace, or "" for a processing instruction."""
    return str(etree.QName(element).localname) if isinstance(element.tag, str) else ""


def _child(element: etree._Element | None, name: str) -> etree._Element | None:
    return next((child for child in element if _name(child) == name), None) if element is not None else None


def _below(element: etree._Element | None, *names: str) -> Iterator[etree._Element]:
    if element is not None:
        yield from (e for e in element.iter(etree.Element) if _name(e) in names)


def _value(meta: etree._Element | None, level: str, name: str, attribute: str) -> str | None:
    """An attribute of the first `name` below the FRBR level (Work, Expression) of the metadata."""
    frbr = next(_below(meta, level), None)
    return next((e.get(attribute) for e in _below(frbr, name) if e.get(attribute)), None)


def _text_below(element: etree._Element | None, name: str) -> str:
    found = next(_below(element, name), None)
    return _plain(found)


def _title(document: etree._Element, meta: etree._Element | None) -> Title:
    """Long title, short title and abbreviation; what the metadata call an abbreviation is what people cite."""
    preface = _child(document, "preface")
    title = read_title(" ".join(t for t in (_text_below(preface, "docTitle"), _text_below(preface, "shortTitle")) if t))
    stated = _text_below(meta, "abkuerzung")
    return replace(title, abbreviation=stated) if stated else title


def _majority_style(provisions: Iterable[Provision]) -> Style:
    styles = Counter(p.style for p in provisions if p.kind == "norm")
    return "article" if styles["article"] > styles["paragraph"] else "paragraph"


# --- Provisions ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reader:
    """Footnotes met since the provision began, and the way its markers are read."""

    style: Style = "paragraph"
    footnotes: list[str] = field(default_factory=list)

    def take_footnotes(self) -> tuple[str, ...]:
        taken = tuple(self.footnotes)
        self.footnotes.clear()
        return taken


def _provisions(document: etree._Element) -> tuple[Provision, ...]:
    reader = _Reader()
    if _name(document) == "doc":
        return (_annex(document, reader),)
    provisions: list[Provision] = []
    for child in document:
        match _name(child):
            case "preamble":
                provisions.extend(_preamble(child, reader))
            case "body" | "mainBody" | "attachments" | "components":
                provisions.extend(_walk(child, (), reader))
            case "conclusions":
                provisions.extend(_formulas(child, "Schlussformel", reader))
    style = _majority_style(provisions)
    return tuple(p if p.kind == "norm" else replace(p, style=style) for p in provisions)


def _walk(container: etree._Element, context: tuple[str, ...], reader: _Reader) -> Iterator[Provision]:
    """Yield the provisions below a container; its number and heading are the context of what stands in it."""
    loose: list[Block] = []
    for child in container:
        name = _name(child)
        if name == "article":
            yield _article(child, context, reader)
        elif name in _CONTAINERS or name == "body":
            own = " ".join(text for text in (_plain(_child(child, "num")), _plain(_child(child, "heading"))) if text)
            yield from _walk(child, (*context, own) if own else context, reader)
        elif name == "doc":
            yield _annex(child, reader)
        elif name not in ("num", "heading", ""):
            loose.extend(_blocks(child, (), reader))
    if loose:  # text between or without articles is a part of its own, named by the division it stands in
        own_name = context[-1] if context else "Text"
        yield Provision(
            "part", own_name, "paragraph", None, context[:-1], (Absatz(None, tuple(loose)),), reader.take_footnotes()
        )


def _article(article: etree._Element, context: tuple[str, ...], reader: _Reader) -> Provision:
    number, heading = _plain(_child(article, "num")), _plain(_child(article, "heading"))
    if not number and _NORM.match(heading):  # some converters put the designation into the heading
        number, heading = heading, ""
    name, reader.style = _designation(number)
    absaetze: list[Absatz] = []
    loose: list[Block] = []
    for child in article:
        tag = _name(child)
        if tag == "paragraph":
            absaetze.extend(_absatz(child, reader))
        elif tag not in ("num", "heading", ""):
            loose.extend(_blocks(child, (), reader))
    if loose and absaetze:
        absaetze[-1] = replace(absaetze[-1], blocks=(*absaetze[-1].blocks, *loose))
    elif loose:
        absaetze = [Absatz(None, tuple(loose))]
    for element in (_child(article, "num"), _child(article, "heading")):
        _note(element, reader)
    if all(_GONE.match(block.text) for absatz in absaetze for block in absatz.blocks):
        absaetze = []
    notes = reader.take_footnotes()
    return Provision(
        "norm", name, reader.style, heading or None, context, tuple(absaetze), notes, satz_before_items=True
    )


def _designation(number: str) -> tuple[str, Style]:
    """The bare number of a § or Artikel and its style."""
    if match := _COLLAPSED.match(number):
        return f"{match[2]} bis {match[3]}", "paragraph" if match[1] == "§§" else "article"
    if match := _NORM.match(number):
        return match[2].replace(" ", ""), "paragraph" if match[1] == "§" else "article"
    return number or "Text", "paragraph"


def _absatz(paragraph: etree._Element, reader: _Reader) -> Iterator[Absatz]:
    """A repealed Absatz gives none."""
    label = _plain(_child(paragraph, "num"))
    match = _ABSATZ.match(label)
    blocks = [b for child in paragraph if _name(child) not in ("num", "") for b in _blocks(child, (), reader)]
    if label and match is None:
        blocks.insert(0, Block(label))
    if blocks and not all(_GONE.match(block.text) and not block.marker for block in blocks):
        yield Absatz(match[1].replace(" ", "") if match else None, tuple(blocks))


def _preamble(preamble: etree._Element, reader: _Reader) -> Iterator[Provision]:
    """Recitals are provisions of their own; formulas are named parts; the rest of the preamble is "Präambel"."""
    blocks: list[Block] = []
    recitals: list[Provision] = []
    for child in preamble:
        if _name(child) == "formula":
            yield from _part(child, _formula_name(child, "Eingangsformel"), reader)
        elif _name(child) == "recitals":
            for part in child:
                if _name(part) == "recital":
                    recitals.extend(_recital(part, reader))
                elif _name(part):
                    blocks.extend(_blocks(part, (), reader))
        elif child.get("refersTo") != "inhaltsuebersicht" and _name(child):
            blocks.extend(_blocks(child, (), reader))
    if blocks:
        yield Provision(
            "part", "Präambel", "paragraph", None, (), (Absatz(None, tuple(blocks)),), reader.take_footnotes()
        )
    yield from recitals


def _recital(recital: etree._Element, reader: _Reader) -> Iterator[Provision]:
    match = _ABSATZ.match(_plain(_child(recital, "num")))
    blocks = tuple(b for child in recital if _name(child) not in ("num", "") for b in _blocks(child, (), reader))
    if not blocks:
        return
    kind: Kind = "recital" if match else "part"
    name = match[1] if match else "Präambel"
    yield Provision(kind, name, "article", None, (), (Absatz(None, blocks),), reader.take_footnotes())


def _formulas(conclusions: etree._Element, name: str, reader: _Reader) -> Iterator[Provision]:
    """The closing formula is law text; place, date and signatures are not."""
    for child in conclusions:
        if _name(child) == "formula":
            yield from _part(child, _formula_name(child, name), reader)


def _formula_name(formula: etree._Element, default: str) -> str:
    refers = (formula.get("refersTo") or "").casefold()
    names = {"eingangsformel": "Eingangsformel", "schlussformel": "Schlussformel", "praeambel": "Präambel"}
    return next((name for key, name in names.items() if key in refers), default)


def _part(element: etree._Element, name: str, reader: _Reader) -> Iterator[Provision]:
    blocks = tuple(_blocks(element, (), reader))
    if blocks:
        yield Provision("part", name, "paragraph", None, (), (Absatz(None, blocks),), reader.take_footnotes())


def _annex(document: etree._Element, reader: _Reader) -> Provision:
    """An annex; it is named as its own head has it ("Anlage 1"), else "Anlage"."""
    head = _plain(_child(document, "preface"))
    match = _ANNEX.match(head)
    heading = _text_below(_child(document, "preface"), "docTitle") or (head[match.end() :].strip() if match else head)
    if match and heading.startswith(match[0]):
        heading = heading[match.end() :].strip()
    blocks: list[Block] = []
    for child in document:
        if _name(child) in ("preamble", "mainBody", "body", "conclusions"):
            blocks.extend(b for part in child if _name(part) for b in _blocks(part, (), reader))
    absaetze = (Absatz(None, tuple(blocks)),) if blocks else ()
    name = clean_inline(match[0]) if match else "Anlage"
    return Provision("annex", name, "paragraph", heading or None, (), absaetze, reader.take_footnotes())


# --- Blocks --------------------------------------------------------------------------------------------------------


def _blocks(element: etree._Element, path: Path, reader: _Reader, marker: str = "") -> Iterator[Block]:
    """Yield the clean blocks below an element in document order."""
    name = _name(element)
    if name in _SKIPPED:
        return
    if name in _QUOTED:
        yield from _quoted_blocks(element, path, reader)
        return
    if name in _LISTS or name in ("ol", "ul"):
        yield from _list_blocks(element, path, reader, marker)
        return
    if name in _TABLES:
        yield from (Block(row, path, counts=False) for row in _table_rows(element, reader))
        return
    pieces: list[str] = []
    for token in _tokens(element, reader):
        if isinstance(token, str):
            pieces.append(token)
            continue
        text = clean_inline("".join(pieces))
        pieces.clear()
        if text:
            yield Block(text, path, marker)
            marker = ""
        for block in _blocks(token, path, reader, marker):
            yield block
            marker = ""
    text = clean_inline("".join(pieces))
    if text or marker:
        yield Block(text, path, marker)


def _list_blocks(items: etree._Element, path: Path, reader: _Reader, marker: str) -> Iterator[Block]:
    """Yield stem, items and closing text of a list; `marker` is the label of the item the list itself stands in."""
    before: Step | None = None
    for child in items:
        if _name(child) not in _ITEMS | {"li"}:
            found = _blocks(child, path, reader, marker) if _name(child) not in ("num", "") else iter(())
        else:
            if marker:
                yield Block("", path, marker)
                marker = ""
            label = _plain(_child(child, "num"))
            step = read_marker(label, reader.style, path, before) if label else None
            before = step or before
            found = _item_blocks(child, (*path, step) if step else path, reader, label)
        for block in found:
            yield block
            marker = ""
    if marker:
        yield Block("", path, marker)


def _item_blocks(item: etree._Element, path: Path, reader: _Reader, marker: str) -> Iterator[Block]:
    for child in item:
        if _name(child) in ("num", ""):
            continue
        for block in _blocks(child, path, reader, marker):
            yield block
            marker = ""
    if marker:
        yield Block("", path, marker)


def _quoted_blocks(quoted: etree._Element, path: Path, reader: _Reader) -> Iterator[Block]:
    """Yield the wording of another act: its numbers are printed before the text and are no units of this act."""
    lines: list[str] = []
    pieces: list[str] = []
    for text in _quoted_text(quoted, reader):
        if text is not None:
            pieces.append(text)
            continue
        lines.append(clean_inline("".join(pieces)))
        pieces.clear()
    lines = [line for line in (*lines, clean_inline("".join(pieces))) if line]
    if not lines:
        return
    lines[0] = (quoted.get("startQuote") or "") + lines[0]
    lines[-1] += quoted.get("endQuote") or ""
    yield from (Block(line, path, quoted=True) for line in lines)


def _quoted_text(element: etree._Element, reader: _Reader) -> Iterator[str | None]:
    """Yield running text, and None where a line ends; a number stands on the line of the text it numbers."""
    if _name(element) in _TABLES:
        for row in _table_rows(element, reader):
            yield from (None, row)
        yield None
        return
    for token in _tokens(element, reader):
        if isinstance(token, str):
            yield token
        elif _name(token) not in _SKIPPED:
            number = _child(token, "num")
            own_line = number is not None or _name(token) in ("p", "heading", "wrapUp", "listWrapUp", "block")
            numbered = _name(token) in ("p", "block") and _follows_number(token)
            if own_line and not numbered:
                yield None
            yield from _quoted_text(token, reader)
            if _name(token) in ("p", "heading", "listIntroduction", "intro", "wrapUp", "listWrapUp", "block"):
                yield None


def _follows_number(element: etree._Element) -> bool:
    """Tell whether an element is the first text after a number (`<num/><content><p>` or `<num/><p>`)."""
    previous = element.getprevious()
    if previous is not None:
        return _name(previous) == "num"
    parent = element.getparent()
    return parent is not None and _name(parent) in ("content", "intro", "list", "blockList") and _follows_number(parent)


def _tokens(element: etree._Element, reader: _Reader) -> Iterator[str | etree._Element]:
    """Yield running text and block children in order; inline elements are text, notes go to the footnotes."""
    if element.text:
        yield element.text
    for child in element:
        name = _name(child)
        if name in ("br", "eol"):
            yield " "
        elif name == "authorialNote":
            _note(child, reader)
        elif name == "quotedText":
            yield child.get("startQuote") or ""
            yield from _tokens(child, reader)
            yield child.get("endQuote") or ""
        elif name in _BLOCKS:
            yield child
        elif name and name not in _SKIPPED:
            yield from _tokens(child, reader)
            if name == "num":  # numbers inside quotations stand before their text, apart only by markup
                yield " "
        if child.tail:
            yield child.tail


def _note(element: etree._Element | None, reader: _Reader) -> None:
    """Keep the footnotes at or below an element apart."""
    for note in _below(element, "authorialNote"):
        text = clean_inline(" ".join(str(part) for part in note.itertext(etree.Element)))
        if text:
            reader.footnotes.append(text)


def _table_rows(table: etree._Element, reader: _Reader) -> Iterator[str]:
    """Yield each row of a table as one readable line, cells apart by " | "."""
    for row in _below(table, "caption", "tr"):
        if _name(row) == "caption":
            cells = [_inline(row, reader)]
        else:
            cells = [_inline(cell, reader) for cell in row if _name(cell) in ("td", "th")]
        line = " | ".join(cell for cell in cells if cell)
        if line:
            yield line


def _inline(element: etree._Element, reader: _Reader) -> str:
    """Return the clean text of an element whose blocks shall run together on one line."""
    return clean_inline("".join(_run(element, reader)))


def _run(element: etree._Element, reader: _Reader) -> Iterator[str]:
    for token in _tokens(element, reader):
        if isinstance(token, str):
            yield token
        elif _name(token) not in _SKIPPED:
            yield " "
            yield from _run(token, reader)
            yield " "


def _plain(element: etree._Element | None) -> str:
    """Return the text of a heading or number, without its notes."""
    return _inline(element, _Reader()) if element is not None else ""
