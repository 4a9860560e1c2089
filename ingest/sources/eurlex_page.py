"""Turn an EUR-Lex page into its lines: paragraphs in order, each with its role, its list label and its depth.

Four generations of pages (corpus README 12): Official Journal pages with classes (`oj-ti-art`, before 2023 `ti-art`),
consolidated pages (`title-article-norm`, lists as grids), proposals (`Titrearticle`, `Point0`), and old pages without
classes. Injected links keep their text; marks of footnotes and of amendments ("▼M1") are no text of law.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from lxml import etree, html

from normalize.errors import SourceError
from normalize.text import clean_inline

Role = Literal[
    "text",
    "row",
    "title",
    "article",
    "article title",
    "division",
    "division title",
    "annex",
    "annex title",
    "section",
    "recital",
    "note",
    "signature",
    "cover",
    "memorandum",
    "financial statement",
    "language",
]

_ROLES: dict[str, Role] = {
    "hd-lg": "language",
    "doc-ti": "title",
    "title-doc-first": "title",
    "title-doc-last": "title",
    "Typedudocument": "title",
    "Titreobjet": "title",
    "ti-art": "article",
    "title-article-norm": "article",
    "Titrearticle": "article",
    "sti-art": "article title",
    "stitle-article-norm": "article title",
    "ti-section-1": "division",
    "title-division-1": "division",
    "SectionTitle": "division",
    "ti-section-2": "division title",
    "title-division-2": "division title",
    "ti-annex": "annex",
    "title-annex-1": "annex",
    "Annexetitre": "annex",
    "title-annex-2": "annex title",
    "Considrant": "recital",
    "ManualConsidrant": "recital",
    "note": "note",
    "footnote": "note",
    "signatory": "signature",
    "Institutionquisigne": "signature",
    "Personnequisigne": "signature",
    "Fait": "signature",
    "Exposdesmotifstitre": "memorandum",
    "Fichefinanciretitre": "financial statement",
}
_SECTION_CLASS = re.compile(r"(?:ti-grseq-|title-gr-seq-level-)\d")
_COVER = re.compile(r"Logo|Emission|Rfrence\w*|CrossReference\w*|Statut|\w+_cp")
# Page heads, amendment marks, editors' notes of consolidated pages, and tooltips: no text of law.
_REMOVED_CLASS = re.compile(
    r"hd-(?:date|ti|oj|modifiers|toc.*)|modref|arrow|disp-arrow|disclaimer|reference|toc.*|efTooltip|bglang|bgtool|separator"
)
_REMOVED_TAGS = frozenset({"script", "style", "head", "title", "meta", "link", "img", "hr", "input", "button", "nav"})
_NESTED_CLASS = re.compile(r"(Point|(?:Manual)?NumPar|Text)(\d)")
_SEQUENCE_CLASS = re.compile(r"(?:Tiret|ListDash|ListBullet|ListNumber)\d?")

_BLOCKS = frozenset(
    {"p", "div", "table", "thead", "tbody", "tfoot", "tr", "td", "th", "ul", "ol", "li", "dl", "dt", "dd", "center",
     "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "form", "pre", "section", "article", "header", "footer", "main",
     "aside", "body", "html"}
)  # fmt: skip
_MARKER_CELL = re.compile(
    "[„“‘’\"'‚]*(?:\\(?(?:\\d{1,3}(?:\\.\\d{1,3})*[a-z]{0,2}|[a-z]{1,4}|[ivxlc]+|[A-Z]|[IVXLC]+)[.)]+|[-–—―•●◦▪]|\\*+)"
)
_AMENDMENT_MARK = re.compile(r"[►▼◄](?:\s?[ABCMR]\d{0,3}\b)?")
_RULE_LINE = re.compile(r"[-–—_*\s]{2,}")
_PICTURE = re.compile(r">(?:PIC|TABLE|END|START)[^>]*>")
_NOTE_NUMBER = re.compile(r"\(?\s*\*{0,3}\s*\d{0,3}\s*\)?")
_REFERENCE = re.compile(r"#(?:ntr|footnote(?=\d)|fn(?=\d)|E(?=\d))(.+)")
_BACK_REFERENCE = re.compile(r"#(?:ntc|footnoteref|fnref|src\.E?)(.+)")
_LEADING_NUMBER = re.compile(r"^\(?\s*\*{0,3}\s*\d{0,3}\s*\)\s*")
_DEEPEST = 120

BREAK = "\ue000"
# Where the number of a footnote stood: no blank is left before the punctuation after it.
_NOTE = "\ue001"
_BRACKETED_NOTE = re.compile(rf"\(\s*{_NOTE}\s*\)")
_PUNCTUATION = tuple(",;.:!?)]“”’")


@dataclass(frozen=True, slots=True)
class PageLine:
    """One paragraph of a page.

    `marker` is the label of the list item it begins. `depth` counts the lists it stands in, None for labels whose class
    does not tell. `notes` are the keys of the footnotes it refers to, `key` is that of the footnote it is.
    """

    role: Role
    text: str
    marker: str = ""
    depth: int | None = 0
    notes: tuple[str, ...] = ()
    key: str | None = None


def parse_page(data: bytes, origin: str) -> html.HtmlElement:
    """Return the root of a page, read without network and entities of its own.

    Raises SourceError naming `origin` if the page is cut off, is no HTML, or is nested beyond reason.
    """
    if re.search(rb"</(?:html|body)\s*>", data[-100_000:], re.IGNORECASE) is None:
        raise SourceError(f"{origin} has no end of page (</html>): the file is damaged or cut off, get it anew.")
    parser = html.HTMLParser(
        encoding=_encoding(data), no_network=True, remove_comments=True, remove_pis=True, huge_tree=True
    )
    try:
        root = html.document_fromstring(data, parser=parser)
    except (etree.LxmlError, ValueError) as error:
        raise SourceError(f"{origin} is no readable HTML page ({error}): get the file anew.") from None
    if _depth(root) > _DEEPEST:
        raise SourceError(f"{origin} nests elements more than {_DEEPEST} deep, which no official page does: refused.")
    return root


def _encoding(data: bytes) -> str:
    """UTF-8 wherever the bytes are; old pages declare charsets that do not exist ("UNICODE-1-1-UTF-8")."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"


def _depth(root: html.HtmlElement) -> int:
    deepest = depth = 0
    for event, _ in etree.iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        deepest = max(deepest, depth)
    return deepest


def page_lines(root: html.HtmlElement) -> list[PageLine]:
    """Return the lines of a page in document order."""
    walk = _Walk(frozenset(e for e in root.iter() if isinstance(e.tag, str) and _holds_blocks(e)))
    return list(walk.lines(root, 0, "text"))


def _is_heading(role: Role) -> bool:
    """Tell whether a line is a heading in which a line break parts number and title."""
    return role in ("article", "annex", "division")


def _holds_blocks(element: html.HtmlElement) -> bool:
    return next(element.iterdescendants(*_BLOCKS), None) is not None


def _classes(element: html.HtmlElement) -> list[str]:
    return [name.removeprefix("oj-") for name in (element.get("class") or "").split()]


def _role(element: html.HtmlElement, inherited: Role) -> Role:
    for name in _classes(element):
        if name in _ROLES:
            return _ROLES[name]
        if _SECTION_CLASS.fullmatch(name):
            return "section"
        if _COVER.fullmatch(name):
            return "cover"
    if element.tag == "dd" and (element.get("id") or "").startswith("footnote"):
        return "note"
    return inherited


def _is_removed(element: html.HtmlElement) -> bool:
    return element.tag in _REMOVED_TAGS or any(_REMOVED_CLASS.fullmatch(name) for name in _classes(element))


@dataclass(slots=True)
class _Text:
    """The running text of one line, with what was met in it."""

    pieces: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    marker: str = ""
    key: str | None = None


@dataclass(slots=True)
class _Walk:
    """`containers` hold blocks; `waiting` is a label whose text has not come yet; `numbered` the level of numbering."""

    containers: frozenset[html.HtmlElement]
    waiting: str = ""
    numbered: int = 1

    def lines(self, element: html.HtmlElement, depth: int, role: Role) -> Iterator[PageLine]:
        """Yield the lines below an element."""
        if _is_removed(element):
            return
        role = _role(element, role)
        if element.tag == "table":
            yield from self._table(element, depth, role)
            return
        if "grid-list" in _classes(element):
            yield from self._grid(element, depth, role)
            return
        if element not in self.containers:
            text = _Text()
            self._collect(element, text)
            yield from self._finished(text, element, depth, role)
            return
        text = _Text(pieces=[element.text or ""])
        for child in element:
            if isinstance(child.tag, str) and (child.tag in _BLOCKS or child in self.containers):
                yield from self._finished(text, element, depth, role)
                text = _Text()
                yield from self.lines(child, depth, role)
            else:
                self._collect_child(child, text)
            text.pieces.append(child.tail or "")
        yield from self._finished(text, element, depth, role)

    def _finished(self, text: _Text, element: html.HtmlElement, depth: int, role: Role) -> Iterator[PageLine]:
        # Only breaks of headings mean something: "Artikel 1<br>Gegenstand".
        parts = [_clean(part) for part in "".join(text.pieces).split(BREAK)]
        content = (BREAK if _is_heading(role) else " ").join(part for part in parts if part)
        marker = _clean(text.marker) or (self.waiting if content else "")
        if not content and not marker:
            return
        if not content and marker:
            self.waiting = marker
            return
        self.waiting = ""
        place = self._depth_of(element, depth, role, marker)
        if text.key is not None and role not in ("cover", "title"):
            role = "note"
        if role == "note":
            content = _LEADING_NUMBER.sub("", content)
            marker = ""
        key = text.key or ((element.get("id") or "").removeprefix("footnote") or None if role == "note" else None)
        if content and not (_RULE_LINE.fullmatch(content) and not marker):
            yield PageLine(role, content, marker, place, tuple(text.notes), key)

    def _depth_of(self, element: html.HtmlElement, depth: int, role: Role, marker: str) -> int | None:
        """Return the depth that the class of a paragraph tells, else that of its lists.

        In proposals `NumPar1` and `NumPar2` number paragraphs at one indent ("3.", "3.1."), and `Text1` and `Point1`
        belong to whichever of them is above.
        """
        if _is_heading(role):
            self.numbered = 1
        for name in _classes(element):
            if match := _NESTED_CLASS.fullmatch(name):
                level = int(match[2])
                if match[1] == "Point":
                    self.numbered = self.numbered if level else 1
                    return self.numbered + level
                if match[1] == "Text":
                    return self.numbered + level - 1 if level else 0
                self.numbered = max(level, 1)
                return self.numbered
            if marker and _SEQUENCE_CLASS.fullmatch(name):
                return None
        return depth

    # --- Lists and tables ------------------------------------------------------------------------------------------

    def _table(self, table: html.HtmlElement, depth: int, role: Role) -> Iterator[PageLine]:
        rows = [row for row in table.iter("tr") if next(row.iterancestors("table"), None) is table]
        cells = [[c for c in row if isinstance(c.tag, str) and c.tag in ("td", "th")] for row in rows]
        if all(len(row) == 1 for row in cells):  # a frame around text
            for row in cells:
                yield from self.lines(row[0], depth, role)
            return
        labels = [self._label(row) for row in cells]
        if any(labels) and all(label is not None for label in labels):
            for row, label in zip(cells, labels, strict=True):
                yield from self._item(label or "", row[-1], depth, role)
            return
        for row in cells:
            if any(name.startswith("hd-") for cell in row for e in cell.iter("p") for name in _classes(e)):
                yield from (line for cell in row for line in self.lines(cell, depth, role) if line.role == "language")
                continue
            yield from self._row(row, depth)

    def _label(self, row: Sequence[html.HtmlElement]) -> str | None:
        """Return the list label of a layout row, "" for a row that goes on with the item, None for a row of data."""
        texts = [_clean("".join(cell.itertext())) for cell in row]
        if len(row) < 2:
            return None
        while len(texts) > 2 and not texts[0]:
            texts.pop(0)
        if len(texts) != 2 or not texts[1]:
            return None
        return texts[0] if not texts[0] or _MARKER_CELL.fullmatch(texts[0]) else None

    def _row(self, row: Sequence[html.HtmlElement], depth: int) -> Iterator[PageLine]:
        """A row of data is one readable line, cells apart by " | "."""
        texts = []
        notes: list[str] = []
        for cell in row:
            text = _Text()
            self._collect(cell, text, separated=True)
            texts.append(_clean("".join(text.pieces).replace(BREAK, " ")))
            notes += text.notes
        line = " | ".join(text for text in texts if text)
        if line and not _RULE_LINE.fullmatch(line):
            yield PageLine("row", line, "", depth, tuple(notes))

    def _grid(self, grid: html.HtmlElement, depth: int, role: Role) -> Iterator[PageLine]:
        """Lists of consolidated pages: the first column holds the label, the second the text."""
        label = ""
        for child in grid:
            if not isinstance(child.tag, str):
                continue
            if "grid-list-column-1" in _classes(child):
                label = _clean("".join(child.itertext()))
            else:
                yield from self._item(label, child, depth, role)
                label = ""

    def _item(self, label: str, content: html.HtmlElement, depth: int, role: Role) -> Iterator[PageLine]:
        self.waiting = label
        yield from self.lines(content, depth + 1, role)
        if self.waiting:  # an item without text keeps its label
            yield PageLine("text", "", self.waiting, depth + 1)
            self.waiting = ""

    # --- Running text ----------------------------------------------------------------------------------------------

    def _collect(self, element: html.HtmlElement, text: _Text, *, separated: bool = False) -> None:
        text.pieces.append(element.text or "")
        for child in element:
            self._collect_child(child, text, separated=separated)
            text.pieces.append(child.tail or "")

    def _collect_child(self, child: html.HtmlElement, text: _Text, *, separated: bool = False) -> None:
        if not isinstance(child.tag, str) or _is_removed(child):
            return
        if child.tag == "br":
            text.pieces.append(BREAK)
            return
        names = _classes(child)
        if "num" in names or "no-parag" in names or "list-symbol" in names:
            self._collect_marker(child, text)
            return
        if child.tag == "a" and self._is_note(child, text):
            return
        if separated and child.tag in _BLOCKS:
            text.pieces.append(" ")
        self._collect(child, text, separated=separated)
        if separated and child.tag in _BLOCKS:
            text.pieces.append(" ")

    def _collect_marker(self, element: html.HtmlElement, text: _Text) -> None:
        inner = _Text()
        self._collect(element, inner)
        text.key = text.key or inner.key
        text.marker += "".join(inner.pieces)

    def _is_note(self, anchor: html.HtmlElement, text: _Text) -> bool:
        """Take an anchor that is the number of a footnote out of the text; a mark stays until the line is clean."""
        target = anchor.get("href") or ""
        if _NOTE_NUMBER.fullmatch(_clean("".join(anchor.itertext()))) is None:
            return False
        if match := _BACK_REFERENCE.match(target):
            text.key = match[1]
        elif match := _REFERENCE.match(target):
            text.notes.append(match[1])
        else:
            return False
        text.pieces.append(_NOTE)
        return True


def _clean(text: str) -> str:
    text = _PICTURE.sub("", _AMENDMENT_MARK.sub("", text))
    if _NOTE not in text:
        return clean_inline(text)
    cleaned, *others = _BRACKETED_NOTE.sub(_NOTE, text).split(_NOTE)
    for other in others:
        after = other.lstrip()
        cleaned = cleaned.rstrip() + after if after.startswith(_PUNCTUATION) else cleaned + other
    return clean_inline(cleaned)
