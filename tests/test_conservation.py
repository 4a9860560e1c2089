"""No text of law is lost, none is invented, the order is kept: sources against chunks, letter by letter.

The text of a source is taken here by a plain walk of its own, not by the reader. What may be missing is declared:
numbers of Absätze, headings, editorial notes, footnotes, signatures, repealed provisions.
"""

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import pytest
from lxml import etree

from ingest.documents import load_file
from normalize.laws import LawTable

pytestmark = [pytest.mark.corpus, pytest.mark.floor]

FLOORS = tomllib.loads((Path(__file__).parent / "floors.toml").read_text("utf-8"))["conservation"]
NEVER_LAW = {
    "kommentar", "Footnotes", "Footnote", "FnR", "FnArea", "TOC",  # gii: editorial notes, footnotes, contents
    "NOTE", "SIGNATURE", "BIB.INSTANCE", "BIB.DATA", "INCL.ELEMENT", "IE", "GR.NOTES",
}  # fmt: skip
NOT_LAW = NEVER_LAW | {"NO.PARAG", "TI.ART", "STI.ART"}  # headings and numbers of Absätze
CONTENTS = ("Inhaltsübersicht", "Inhaltsverzeichnis", "Gliederung", "Inhalt")
GONE = ("weggefallen", "aufgehoben", "gestrichen")


def letters(text: str) -> str:
    """Letters and digits, typographic ligatures in their single letters."""
    return "".join(character for character in unicodedata.normalize("NFKC", text) if character.isalnum())


def walk(element: etree._Element, *, quoted: bool = False) -> str:
    """All text that is law; in the quoted wording of another act headings and numbers are text, too."""
    quoted = quoted or element.tag == "QUOT.S"
    parts = [element.text or ""]
    for child in element:
        skipped = child.tag in (NEVER_LAW if quoted else NOT_LAW) or is_sentence_number(child)
        if isinstance(child.tag, str) and not skipped:
            parts.append(walk(child, quoted=quoted))
        parts.append(child.tail or "")
    return "".join(parts)


def is_sentence_number(element: etree._Element) -> bool:
    marked = element.tag == "SUP" and element.get("class", element.get("Class")) == "Rec"
    return marked and not (element.tail or " ")[0].islower()


@dataclass(frozen=True)
class Source:
    """The text of a source, and how many of its letters and digits a chunk need not have."""

    text: str
    declared: int


def gii_source(root: etree._Element) -> Source:
    texts: list[str] = []
    declared = 0
    for norm in root.iter("norm"):
        content = norm.find("textdaten/text/Content")
        if content is None or (norm.findtext("metadaten/enbez") or "").strip() in CONTENTS:
            continue
        blocks = [walk(b) for b in content if isinstance(b.tag, str) and b.tag not in NOT_LAW]
        texts += [content.text or "", *blocks]
        for block in blocks:
            # Numbers of Absätze stand at the start of a block and after line breaks, which leave no trace in its text.
            declared += sum(len(letters(number)) for number in re.findall(r"\(\d+[a-z]*\)", block))
            declared += len(letters(block.partition("-----")[2]))  # a footnote printed under the text
            declared += len(letters(block)) if len(block) < 200 and any(word in block for word in GONE) else 0
    return Source("".join(texts), declared)


def formex_source(root: etree._Element) -> Source:
    preamble = ("PREAMBLE.INIT", "GR.VISA", "GR.CONSID.INIT", "CONSID", "PREAMBLE.FINAL")
    texts: list[str] = []
    declared = 0
    for part in root.iter(*preamble, "ARTICLE", "ANNEX", "CONS.ANNEX", "FINAL"):
        if any(ancestor.tag in ("QUOT.S", "ANNEX", "CONS.ANNEX") for ancestor in part.iterancestors()):
            continue
        children = [part]
        if part.tag == "FINAL":
            children = list(part.iterchildren("P"))
        elif part.tag in ("ANNEX", "CONS.ANNEX"):
            children = [c for c in part if isinstance(c.tag, str) and c.tag not in ("TITLE", *NOT_LAW)]
        texts += [walk(child, quoted="ANNEX" in part.tag) for child in children]
        if part.tag == "CONSID" and (number := re.match(r"\s*\(\d+\)", texts[-1])):
            declared += len(letters(number[0]))
    return Source("".join(texts), declared)


def is_subsequence(short: str, long: str) -> bool:
    position = 0
    for character in short:
        position = long.find(character, position) + 1
        if position == 0:
            return False
    return True


def conserved(path: Path) -> tuple[bool, float]:
    """Return whether the chunks' letters are, in order, letters of the source, and which share of those they are."""
    root = etree.parse(path, etree.XMLParser(resolve_entities=False, no_network=True)).getroot()
    source = gii_source(root) if root.tag == "dokumente" else formex_source(root)
    text = letters(source.text)
    chunks = letters("".join(c.payload["chunk_text"] for c in load_file(path, LawTable.builtin()).chunks()))
    return is_subsequence(chunks, text), min(1.0, (len(chunks) + source.declared) / len(text))


def files(shared: Path, pattern: str) -> list[Path]:
    return sorted((shared / "corpus").glob(pattern))


def test_every_federal_law_of_the_corpus(shared: Path) -> None:
    shares = {path.name: conserved(path) for path in files(shared, "gii-xml/*.xml")}
    assert len(shares) > 60
    assert not [name for name, (in_order, _) in shares.items() if not in_order]
    worst = min(shares, key=lambda name: shares[name][1])
    assert shares[worst][1] >= FLOORS["gii_worst_file"], (worst, shares[worst])


def test_every_formex_act_of_the_corpus(shared: Path) -> None:
    paths = [p for p in files(shared, "eurlex-*/*.xml") if b"<ACT" in p.read_bytes() or b"<CONS" in p.read_bytes()]
    shares = {path.name: conserved(path) for path in paths}
    assert len(shares) >= 6
    assert not [name for name, (in_order, _) in shares.items() if not in_order]
    worst = min(shares, key=lambda name: shares[name][1])
    assert shares[worst][1] >= FLOORS["formex_worst_file"], (worst, shares[worst])
