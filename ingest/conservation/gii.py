"""The text of a gii-norm file for the proof of conservation, cut by rules; a walk of its own, not the reader's.

Everything below `<textdaten>` is text of law unless an element or its place says otherwise: a new kind of element is a
loss until its reader keeps it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from lxml import etree

from ingest.conservation.compare import Stretch, letters

_RULES: Final = {
    "TOC": "contents",
    "Footnotes": "footnote",
    "Footnote": "footnote",
    "FnR": "footnote",
    "FnArea": "footnote",
    "fussnoten": "editorial-footnote",
    "kommentar": "editorial-note",
    "IMG": "picture",
    "FILE": "attachment",
}
_CONTENTS: Final = ("Inhaltsübersicht", "Inhaltsverzeichnis", "Gliederung", "Inhalt")
_BLOCKS: Final = frozenset(
    {"P", "DL", "DT", "DD", "LA", "table", "row", "pre", "Title", "Subtitle", "Ident", "Content"}
)
_BREAK: Final = "\ue000"
_NUMBER: Final = re.compile(r"\s*\(\d{1,2}[a-z]{0,2}\)")
_NUMBER_BEHIND_BREAK: Final = re.compile(rf"{_BREAK}\s*(?=\(\d{{1,2}}[a-z]{{0,2}}\))")
# A footnote that older files print under the text: a rule of hyphens, then its mark (or the next block has it).
_MARK: Final = r"(?:[*+]|\d{1,2}\))"
_FOOTNOTE_RULE: Final = re.compile(rf"-{{5,}}[\s{_BREAK}]*(?:$|(?={_MARK}))")
_LONGEST_FOOTNOTE: Final = 1_000  # letters
_FOOTNOTE_MARK: Final = re.compile(rf"\s*{_MARK}")
_GONE: Final = re.compile(
    r"(?:\(?\d{1,3}[a-z]{0,2}\)?)?(?:\s*(?:bis|und|u\.|,|[-–—])\s*\(?\d{1,3}[a-z]{0,2}\)?)*"
    r"\s*[(\[]?\s*(?:weggefallen|aufgehoben|gestrichen|[eE]ntfällt|[eE]ntfallen|unbesetzt|frei|"
    r"ohne Inhalt|gegenstandslos)\s*[)\]]?[.;,]?|(?:\s*(?:bis|und|u\.|,|[-–—])\s*\(?\d{1,3}[a-z]{0,2}\)?)+"
)
# What the database says in place of norms that it does not print: "(Änderung anderer Vorschriften)".
_NOT_REPRODUCED: Final = re.compile(r"\(?X{3,}\)?")
_IN_BRACKETS: Final = re.compile(r"(?:\([^()]*(?:\([^()]*\)[^()]*)*\)[.,;\s]*)*-?")
_LABEL: Final = re.compile(r"\(?\w{1,4}[.)]*")


@dataclass(slots=True)
class _Block:
    """A paragraph, list label, item text or table row: its parts, each with the rule that names it.

    `opens` tells whether an Absatz can begin here: not inside a list.
    """

    opens: bool
    is_label: bool = False
    is_item: bool = False
    parts: list[tuple[str, str | None]] = field(default_factory=list)

    def add(self, text: str, rule: str | None) -> None:
        """Add text; neighbours under one rule are one part, however many elements they came from."""
        if self.parts and self.parts[-1][1] == rule:
            self.parts[-1] = (self.parts[-1][0] + text, rule)
        else:
            self.parts.append((text, rule))

    @property
    def law(self) -> str:
        """The text that no rule names."""
        return "".join(text for text, rule in self.parts if rule is None).replace(_BREAK, " ").strip()


def gii_stretches(root: etree._Element) -> Iterator[Stretch]:
    """Yield the stretches of a gii-norm file, norm by norm."""
    for number, norm in enumerate(root.iterfind("norm"), 1):
        data = norm.find("textdaten")
        name = " ".join((norm.findtext("metadaten/enbez") or "").split())
        is_reproduced = _NOT_REPRODUCED.match(name) is None
        place = f"{name or 'norm'} ({number})"
        for title in norm.iterfind("metadaten/titel"):
            yield Stretch("".join(title.itertext(etree.Element)), "heading", place)
        if data is None:
            continue
        blocks = [_Block(True)]
        _walk(data, blocks, None, opens=True)
        if name in _CONTENTS:
            yield from (Stretch(text, rule or "contents", place) for b in blocks for text, rule in b.parts)
        elif not is_reproduced and _IN_BRACKETS.fullmatch(" ".join(block.law for block in blocks).strip()):
            yield from (Stretch(text, rule or "not-reproduced", place) for b in blocks for text, rule in b.parts)
        else:
            yield from (Stretch(text, rule, place) for text, rule in _ruled(blocks))


def _walk(element: etree._Element, blocks: list[_Block], rule: str | None, *, opens: bool) -> None:
    """Put the text below an element on `blocks`; the last of them is open."""
    blocks[-1].add(element.text or "", rule)
    for child in element:
        tag = child.tag
        if not isinstance(tag, str):
            blocks[-1].add(child.tail or "", rule)
            continue
        below = rule or _RULES.get(tag) or _sentence_number(child)
        if tag == "BR":
            blocks[-1].add(_BREAK, rule)
        elif tag in _BLOCKS and rule is None:
            in_row = tag != "row" and next(child.iterancestors("row"), None) is not None
            if not in_row:
                in_list = tag == "DD" and _has_label(child)
                blocks.append(_Block(opens and not in_list, tag == "DT", tag in ("DD", "LA")))
                _walk(child, blocks, below, opens=opens and not in_list)
                blocks.append(_Block(opens))
            else:
                blocks[-1].add(" ", rule)
                _walk(child, blocks, below, opens=False)
                blocks[-1].add(" ", rule)
        else:
            _walk(child, blocks, below, opens=opens)
        blocks[-1].add(child.tail or "", rule)


def _has_label(item: etree._Element) -> bool:
    """Whether a list item has a label: one without is indented text, in which an Absatz can begin."""
    label = next(item.itersiblings("DT", preceding=True), None)
    return label is not None and bool("".join(label.itertext(etree.Element)).strip())


def _sentence_number(element: etree._Element) -> str | None:
    marked = element.tag == "SUP" and element.get("class", element.get("Class")) == "Rec"
    return "sentence-number" if marked else None


def _ruled(blocks: Sequence[_Block]) -> Iterator[tuple[str, str | None]]:
    """Yield the parts of a norm, numbers of Absätze, repealed Absätze and printed footnotes under their rules."""
    absatz: list[_Block] = []
    for block in (piece for b in blocks for piece in _at_numbers(b)):
        if block.parts and block.parts[0][1] == "absatz-number":
            yield from _absatz(absatz)
            absatz = []
        absatz.append(block)
    yield from _absatz(absatz)


def _at_numbers(block: _Block) -> Iterator[_Block]:
    """Split a block where the number of an Absatz stands behind a line break, and name the numbers."""
    if not block.opens:
        yield block
        return
    piece = _Block(True, block.is_label, block.is_item)
    for text, rule in block.parts:
        if rule is not None:
            piece.add(text, rule)
            continue
        first, *others = _NUMBER_BEHIND_BREAK.split(text)
        piece.add(first, None)
        for other in others:
            yield _numbered(piece)
            piece = _Block(True, block.is_label, block.is_item)
            piece.add(other, None)
    yield _numbered(piece)


def _numbered(block: _Block) -> _Block:
    for index, (text, rule) in enumerate(block.parts):
        if not text.strip(f"\u00a0{_BREAK} \t\r\n"):
            continue
        match = _NUMBER.match(text.replace(_BREAK, " ")) if rule is None else None
        if match:
            rest = text[match.end() :]
            block.parts[:] = [
                (match[0], "absatz-number"),
                *block.parts[:index],
                (rest, None),
                *block.parts[index + 1 :],
            ]
        break
    return block


def _absatz(blocks: Sequence[_Block]) -> Iterator[tuple[str, str | None]]:
    said = [block for block in blocks if block.law]
    gone = [block for block in said if _GONE.fullmatch(block.law)]
    is_gone = bool(gone) and all(block in gone or (block.is_label and _LABEL.fullmatch(block.law)) for block in said)
    in_footnote = goes_on = False
    for block in blocks:
        if in_footnote and block.law and not (goes_on and block.is_item):
            in_footnote = _FOOTNOTE_MARK.match(block.law) is not None
            goes_on = in_footnote and block.is_label
        for text, rule in block.parts:
            if rule is not None:
                yield text, rule
            elif is_gone:
                yield text, "repealed"
            elif in_footnote:
                yield text, "printed-footnote"
            elif (printed := _FOOTNOTE_RULE.search(text)) and len(letters(text[printed.end() :])) <= _LONGEST_FOOTNOTE:
                yield text[: printed.start()], None
                yield text[printed.end() :], "printed-footnote"
                in_footnote, goes_on = True, False
            else:
                yield text, None
