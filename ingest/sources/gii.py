"""Read gii-norm XML (gesetze-im-internet.de): one file is one federal law, one `<norm>` is one § or Artikel.

The quirks are the corpus's own (corpus README 1-11): Absatz numbers are plain text at the start of `<P>`, several
Absätze may share one `<P>`, ranges collapse into one repealed norm, editorial notes are mixed into the text.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from lxml import etree

from ingest.sources.gii_names import Division, Name, read_name
from ingest.sources.markers import item_of
from ingest.sources.safe_xml import local_tag, parse_xml, text_of
from ingest.sources.table_numbers import TableRow, row_numbers
from ingest.tree import Absatz, Act, Block, Kind, Provision
from normalize.citation import Style
from normalize.errors import SourceError
from normalize.text import clean_inline
from normalize.units import Path, Step

# Inline marks inside running text; they stand in no text of law, so they can carry structure through the cleaning.
_BREAK = "\ue000"
_SENTENCE = "\ue001"
# Before text of a list item whose label names no unit ("2.3"): "(1)" there opens no Absatz.
_ITEM = "\ue005"
_INLINE = frozenset({"B", "I", "U", "F", "SP", "NB", "SUB", "SUP", "small", "noindex", "Citation", "Accolade"})
# No law text: editorial notes, footnotes (kept apart), the table of contents, pictures and attachments.
_SKIPPED = frozenset(
    {"kommentar", "FnR", "FnArea", "Footnotes", "Footnote", "TOC", "IMG", "FILE", "ABWFORMAT", "Split"}
)

_ABSATZ = re.compile(r"\((\d{1,2}[a-z]{0,2})\)[ ]?")
_ABSATZ_AT_BREAK = re.compile(_BREAK + r"\s*(?=\(\d{1,2}[a-z]{0,2}\))")
# A footnote that older files print under the text: a rule of hyphens, then its mark.
_FOOTNOTE_RULE = re.compile(r"(?:^|\s)-{5,}\s*(?:$|(?=\*|\d+\)))")
# A rule of hyphens also parts sections and forms: what goes on without a mark is text.
_FOOTNOTE_MARK = re.compile(r"[*+]|\d{1,2}\)")
# Characters; what is longer is the rest of a form set in one paragraph, footnotes in its middle.
_LONGEST_FOOTNOTE = 1000
_ARTICLE_DIVISION = re.compile(r"Art(?:ikel|\.)?\s*(\d+[a-z]*|[IVXLC]+)$")
_GONE = re.compile(
    r"[-–—.\s]*$|(?:(?:bis|und|u\.|,|[-–—])\s*\(?\d+\w*\)?\s*)+$|(?:(?:bis|und|u\.|,|[-–—])\s*\(?\d+\w*\)?\s*)*"
    r"[(\[]?\s*(?:weggefallen|aufgehoben|gestrichen|[eE]ntfällt|[eE]ntfallen|unbesetzt|frei|ohne Inhalt|gegenstandslos)"
    r"\s*[)\]]?[.;,]?\s*$"
)
# What stands in place of a collapsed range: nothing, a mark of repeal, or a note in brackets.
_NO_TEXT = re.compile(rf"\s*(?:{_GONE.pattern}|(?:\([^()]*(?:\([^()]*\)[^()]*)*\)[\s.,;–-]*)*$)")
_SKIPPED_PARTS = ("Inhaltsübersicht", "Inhaltsverzeichnis", "Gliederung", "Inhalt")
# What the first norm says belongs to the title of the act (which directives it transposes).
_HEAD_NOTE = "Amtlicher Hinweis"
_DATE = re.compile(r"(\d{4})(\d{2})(\d{2})")
_BEFORE_SENTENCE = re.compile('(?:^|[.!?:;,“”")\\]–])$')
_STARTS_SENTENCE = re.compile('[„"(]?[A-ZÄÖÜ§\\d]|$')
_QUOTATION_MARK = re.compile("[„“”]")
# A quotation that never ends within this many characters is a misprint, not amending text.
_LONGEST_QUOTE = 60_000


def read_gii(data: bytes, origin: str) -> Act:
    """Return the act of one gii-norm file. Raises SourceError naming `origin` if it is none."""
    root = parse_xml(data, origin)
    if root.tag != "dokumente" or root.find("norm") is None:
        raise SourceError(f"{origin} is no gii-norm law: the root is <{root.tag}>, expected <dokumente> with <norm>.")
    norms = root.findall("norm")
    head = norms[0].find("metadaten")
    if head is None or not (head.findtext("jurabk") or head.findtext("amtabk")):
        raise SourceError(f"{origin} is no complete gii-norm law: the first norm has no <jurabk>; get the file anew.")
    provisions = _qualify_articles(list(_provisions(norms)))
    short = clean_inline(head.findtext("amtabk") or "") or None
    key = clean_inline(head.findtext("jurabk") or "") or None
    title = _heading(head.find("langue"))
    name = _heading(head.find("kurzue")) or title
    issued = head.findtext("ausfertigung-datum") or ""
    names = dict.fromkeys(clean_inline(e.text or "") for e in head.iter("jurabk", "amtabk"))
    names.update(dict.fromkeys(text for text in (name, title) if text))
    return Act(
        document_id=root.get("doknr") or norms[0].get("doknr"),
        code=(short or key or "").upper(),
        short=short,
        key=key,
        name=name,
        style=_majority_style(provisions),
        date=_date(root.get("builddate") or norms[0].get("builddate") or ""),
        language="de",
        provisions=tuple(provisions),
        names=tuple(text for text in names if text),
        doc_type="gesetz",
        year=int(issued[:4]) if issued[:4].isdigit() else None,
    )


def _date(builddate: str) -> str | None:
    match = _DATE.match(builddate)
    return "-".join(match.groups()) if match else None


def _majority_style(provisions: Iterable[Provision]) -> Style:
    styles = Counter(p.style for p in provisions if p.kind == "norm")
    return "article" if styles["article"] > styles["paragraph"] else "paragraph"


def _provisions(norms: Sequence[etree._Element]) -> Iterator[Provision]:
    divisions: list[Division] = []
    for norm in norms:
        meta = norm.find("metadaten")
        if meta is None:
            continue
        division = meta.find("gliederungseinheit")
        if division is not None:
            key = division.findtext("gliederungskennzahl") or ""
            while divisions and divisions[-1].depth >= len(key):
                divisions.pop()
            name = _heading(division.find("gliederungsbez")) or ""
            divisions.append(Division(len(key), name, _heading(division.find("gliederungstitel"))))
        content = norm.find("textdaten/text/Content")
        enbez = clean_inline(meta.findtext("enbez") or "")
        if enbez in _SKIPPED_PARTS:
            continue
        if not enbez and (content is None or not text_of(content).strip()):
            continue
        if norm is norms[0] and not enbez:
            enbez = _HEAD_NOTE
        own = divisions[-1] if division is not None else None
        yield _provision(read_name(enbez, _heading(meta.find("titel")), own), norm, divisions)


def _provision(name: Name, norm: etree._Element, divisions: Sequence[Division]) -> Provision:
    footnotes = list(_footnotes(norm))
    absaetze: tuple[Absatz, ...] = ()
    content = norm.find("textdaten/text/Content")
    if content is not None and not (name.is_range and _NO_TEXT.match(text_of(content))):
        absaetze = tuple(_absaetze(content, name.style, footnotes))
        if not _may_be_absaetze(name.kind, content, absaetze):
            absaetze = tuple(_absaetze(content, name.style, [], numbered=False))
    if _is_repealed(absaetze):
        absaetze = ()
    return Provision(
        kind=name.kind,
        article=name.article,
        style=name.style,
        heading=_heading(norm.find("metadaten/titel")) or name.rest,
        # Annexes follow the last division but belong to none.
        context=() if name.kind == "annex" else tuple(" ".join(p for p in (d.name, d.title) if p) for d in divisions),
        absaetze=tuple(_below(name.part, absatz) for absatz in absaetze),
        footnotes=tuple(footnotes),
        satz_before_items=True,
    )


def _below(part: Path, absatz: Absatz) -> Absatz:
    """Put the text below the part of an annex that its norm is ("Kapitel II Abschnitt III")."""
    return Absatz(absatz.number, tuple(replace(b, path=(*part, *b.path)) for b in absatz.blocks)) if part else absatz


def _may_be_absaetze(kind: Kind, content: etree._Element, absaetze: Sequence[Absatz]) -> bool:
    """Whether "(n)" in a named part can be Absätze, not rows and form fields."""
    if kind == "norm":
        return True
    return _counts_up(absaetze) and (kind != "annex" or _is_all_absaetze(content, absaetze))


def _qualify_articles(provisions: list[Provision]) -> list[Provision]:
    """Give a § that stands under an Artikel its Artikel: "229 § 5" of the EGBGB is cited as Art. 229 § 5.

    So the EGBGB and the Artikelgesetze (corpus README 1) keep one Fundstelle a norm. Named parts take the style of
    the act, so that `Präambel GG` stands beside `Art. 1 GG`.
    """
    style = _majority_style(provisions)
    result = []
    for provision in provisions:
        above = _article_above(provision)
        if provision.kind == "norm" and provision.style == "paragraph" and above:
            provision = replace(provision, article=f"{above} § {provision.article}", style="article")
        elif provision.kind != "norm":
            provision = replace(provision, style=style)
        result.append(provision)
    return result


def _article_above(provision: Provision) -> str | None:
    for line in reversed(provision.context):
        words = line.split(" ")
        if match := _ARTICLE_DIVISION.match(" ".join(words[:2])):
            return match[1]
    return None


def _is_repealed(absaetze: Sequence[Absatz]) -> bool:
    return all(_GONE.match(block.text) for absatz in absaetze for block in absatz.blocks)


def _heading(element: etree._Element | None) -> str | None:
    if element is None:
        return None
    return _plain(element) or None


def _plain(element: etree._Element) -> str:
    """Return the clean text of an element that has no structure of its own, without breaks and sentence numbers."""
    text = "".join(_inline_text(element)).replace(_BREAK, " ")
    return clean_inline("".join(text.split(_SENTENCE)[::2]))


def _footnotes(norm: etree._Element) -> Iterator[str]:
    for footnote in norm.iterfind("textdaten/text/Footnotes/Footnote"):
        text = clean_inline(text_of(footnote))
        if text:
            yield text


# --- Absätze -------------------------------------------------------------------------------------------------------


def _absaetze(
    content: etree._Element, style: Style, footnotes: list[str], *, numbered: bool = True
) -> Iterator[Absatz]:
    """Split the text of a norm into its Absätze: a new one starts at "(n)" where a block of running text starts.

    Inside an open quotation "(n)" belongs to the quoted act (CITATIONS.md hard case 13). A footnote printed under the
    text is put on `footnotes`.
    """
    blocks = [part for block in _blocks(content, (), style) for part in _split_at_breaks(block)]
    quoted = _inside_quotation(blocks)
    number: str | None = None
    current: list[Block] = []
    in_footnote = False
    for block, is_quoted in zip(blocks, quoted, strict=True):
        in_item = block.text.startswith(_ITEM)
        if in_item:
            block = _cut(block, len(_ITEM))
        is_free = numbered and not (block.path or block.marker or is_quoted or in_item)
        match = _ABSATZ.match(block.text) if is_free else None
        if match:
            yield from _finished(number, current)
            number, current = match[1], []
            block = _cut(block, match.end())
            in_footnote = False
        in_footnote = in_footnote and _FOOTNOTE_MARK.match(block.marker or block.text) is not None
        if in_footnote:
            footnotes.append(f"{block.marker} {block.text}".strip())
            continue
        rule = _FOOTNOTE_RULE.search(block.text)
        if rule and len(block.text) - rule.end() <= _LONGEST_FOOTNOTE:
            in_footnote = True
            footnotes.extend(text for text in [block.text[rule.end() :].strip()] if text)
            block = replace(block, text=block.text[: rule.start()].rstrip())
        current.append(replace(block, quoted=True, path=()) if is_quoted else block)
    yield from _finished(number, current)


def _counts_up(absaetze: Sequence[Absatz]) -> bool:
    """Whether numbered Absätze begin with 1 and go up, as those of a norm do."""
    numbers = [absatz.number for absatz in absaetze if absatz.number is not None]
    keys = [(int(re.sub(r"\D", "", number)), re.sub(r"\d", "", number)) for number in numbers]
    return not keys or (keys[0][0] == 1 and keys == sorted(set(keys)))


def _is_all_absaetze(content: etree._Element, absaetze: Sequence[Absatz]) -> bool:
    """Whether an annex is nothing but its Absätze, so that "Anlage 1 Abs. 3" says enough.

    In an annex of several parts "(n)" counts within one of them, in tables and forms it counts rows and fields; what
    stands below such a number is not in that Absatz.
    """
    numbers = [absatz.number for absatz in absaetze if absatz.number is not None]
    if not numbers:
        return True
    before = absaetze[0].blocks if absaetze[0].number is None else ()
    if len(before) > 1 or int(re.sub(r"\D", "", numbers[-1])) > len(numbers):
        return False
    if any(_ABSATZ.match(_plain(row).lstrip()) for row in content.iter("row")):
        return False
    heads = [_is_heading(child) for child in content if _plain(child)]
    return not any(heads[1:])


def _is_heading(element: etree._Element) -> bool:
    """Whether a child of the text is a heading: marked as one, or a line that is all bold."""
    if local_tag(element) in ("Title", "Subtitle"):
        return True
    bold = [child for child in element if local_tag(child) == "B"]
    return bool(bold) and _plain(element) == " ".join(_plain(child) for child in bold)


def _finished(number: str | None, blocks: Sequence[Block]) -> Iterator[Absatz]:
    """A repealed Absatz (`(3) (weggefallen)`) gives none."""
    kept = tuple(block for block in blocks if block.text or block.marker)
    if kept and not all(_GONE.match(block.text) for block in kept):
        yield Absatz(number, kept)


def _cut(block: Block, offset: int) -> Block:
    text = block.text[offset:].lstrip()
    removed = len(block.text) - len(text)
    return replace(block, text=text, sentences=tuple(max(s - removed, 0) for s in block.sentences))


def _split_at_breaks(block: Block) -> Iterator[Block]:
    """Split a block where a line break is followed by an Absatz number; other breaks are blanks."""
    if block.path or block.marker or _BREAK not in block.text or block.text.startswith(_ITEM):
        yield _place_sentences(block)
        return
    for piece in _ABSATZ_AT_BREAK.split(block.text):
        yield _place_sentences(replace(block, text=piece))


def _place_sentences(block: Block) -> Block:
    """Turn the sentence marks of a raw block into offsets, and clean its text."""
    if _SENTENCE not in block.text:
        return replace(block, text=clean_inline(block.text.replace(_BREAK, " ")))
    first, *marked = block.text.replace(_BREAK, " ").split(_SENTENCE)
    sentences = [first]
    for number, raw in zip(marked[::2], marked[1::2], strict=True):
        if _BEFORE_SENTENCE.search(sentences[-1].rstrip()) and _STARTS_SENTENCE.match(raw.lstrip()):
            sentences.append(raw)
        else:  # a small raised figure of another kind (SeeSchStrO writes groups of lights with it): it is text
            sentences[-1] += number + raw
    text = clean_inline(sentences[0])
    starts: list[int] = []
    for part in map(clean_inline, sentences[1:]):
        text += " " if text and part else ""
        starts.append(len(text))
        text += part
    return replace(block, text=text, sentences=tuple(dict.fromkeys(starts)))


def _inside_quotation(blocks: Sequence[Block]) -> list[bool]:
    """Tell for each block whether it starts inside a quotation „…“ that an earlier one opened and a later one ends."""
    inside = [False] * len(blocks)
    depth = length = opened_at = 0
    for index, block in enumerate(blocks):
        inside[index] = depth > 0
        length += len(block.text)
        for mark in _QUOTATION_MARK.findall(block.text):
            if mark != "„":
                depth = max(depth - 1, 0)
                continue
            if depth == 0:
                opened_at, length = index, len(block.text)
            depth += 1
        if depth > 0 and (index == len(blocks) - 1 or length > _LONGEST_QUOTE):
            inside[opened_at : index + 1] = [False] * (index + 1 - opened_at)
            depth = 0
    return inside


# --- Blocks --------------------------------------------------------------------------------------------------------


def _blocks(element: etree._Element, path: Path, style: Style, marker: str = "") -> Iterator[Block]:
    """Yield the raw blocks below an element in document order; text keeps its break and sentence marks."""
    pieces: list[str] = []

    def flush() -> Iterator[Block]:
        nonlocal marker
        text = "".join(pieces)
        pieces.clear()
        if text.strip(f" \t\r\n\u00a0{_BREAK}") or marker:
            yield Block(text, path, marker)
            marker = ""

    for token in _tokens(element):
        if isinstance(token, str):
            pieces.append(token)
            continue
        yield from flush()
        tag = local_tag(token)
        if tag == "DL":
            yield from _list_blocks(token, path, style)
        elif tag == "table":
            for row, number in _table_rows(token):  # a row that is "(8)" and a picture is a formula and its number
                yield Block(_ITEM + row if _ABSATZ.fullmatch(row) and not path else row, path, row=number, counts=False)
        else:
            yield from _blocks(token, path, style)
    yield from flush()


def _list_blocks(definition_list: etree._Element, path: Path, style: Style) -> Iterator[Block]:
    """Yield the blocks of a `<DL>`: each `<DT>` is a marker, its `<DD>` the text of the item."""
    before: Step | None = None
    marker, item_path = "", path
    is_labelled = False
    for child in definition_list:
        tag = local_tag(child)
        if tag == "DT":
            marker = _plain(child)
            is_labelled = bool(marker)
            if not path and _ABSATZ.match(marker):  # an Absatz begins, set as a list label
                yield Block(marker, path)
                marker, item_path, is_labelled = "", path, False
                continue
            item_path = item_of(marker, style, path, before)
            before = item_path[-1] if item_path and item_path != path else before
        elif tag == "DD":
            for block in _blocks(child, item_path, style):
                if is_labelled and not block.path and not block.text.startswith(_ITEM):
                    block = replace(block, text=_ITEM + block.text)
                if marker and block.marker:  # the item begins with a list of its own
                    yield Block("", item_path, marker)
                elif marker:
                    block = replace(block, marker=marker)
                yield block
                marker = ""
            if marker:
                yield Block("", item_path, marker)
                marker = ""


def _tokens(element: etree._Element) -> Iterator[str | etree._Element]:
    """Yield running text (with marks for breaks and official sentence numbers) and structural children in order."""
    if element.text:
        yield element.text
    for child in element:
        tag = local_tag(child)
        if tag == "BR":
            yield _BREAK
        elif tag == "SUP" and child.get("class", child.get("Class")) == "Rec":
            yield f"{_SENTENCE}{''.join(child.itertext()).strip()}{_SENTENCE}"
        elif tag in ("QuoteL", "QuoteR"):
            yield "„" if tag == "QuoteL" else "“"
        elif tag in _INLINE:
            yield from _tokens(child)
        elif tag not in _SKIPPED and tag:
            yield child
        if child.tail:
            yield child.tail


def _inline_text(element: etree._Element) -> Iterator[str]:
    """Yield the text of an element that holds no structure of its own (headings, markers, table cells)."""
    for token in _tokens(element):
        if isinstance(token, str):
            yield token
        else:
            yield " "
            yield from _inline_text(token)
            yield " "


def _table_rows(table: etree._Element) -> Iterator[tuple[str, str]]:
    """Yield each row of a CALS table as one readable line, cells apart by " | ", and the number it stands under."""
    for title in table.iterfind("Title"):
        yield _plain(title), ""
    for group in table.iterfind("tgroup"):
        rows = list(_rows_of(group))
        for row, number in zip(rows, row_numbers(rows), strict=True):
            if row.cells:
                yield " | ".join(row.cells), number


def _rows_of(group: etree._Element) -> Iterator[TableRow]:
    """Yield the rows of a table's group, those of tables inside its cells left out."""
    columns = [column.get("colname") for column in group.iterfind("colspec")]
    covered = 0
    for row in group.iter("row"):
        if next(row.iterancestors("tgroup")) is not group:
            continue
        entries = list(row.iterchildren("entry"))
        cells = [_plain(entry) for entry in entries]
        first: str | None = ""
        if covered:
            covered -= 1
            first = None
        elif entries and _is_first(entries[0], columns):
            covered = int(entries[0].get("morerows") or 0)
            first = cells[0]
        yield TableRow(first, tuple(cell for cell in cells if cell))


def _is_first(entry: etree._Element, columns: Sequence[str | None]) -> bool:
    """Whether a cell stands in the first column; one that says no column does, if it is the first of its row."""
    name = entry.get("colname") or entry.get("namest")
    return name is None or not columns or name == columns[0]
