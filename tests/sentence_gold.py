"""Sentences as eight federal laws (EStG and others) number them themselves: `<SUP class="Rec">n</SUP>` before each.

The unit of comparison is a *block*: a run of text of one `<P>` or list item `<LA>` that no list or table interrupts.
SeeSchStrO uses the same element for the group numbers of lights and is no gold.
"""

import re
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import zstandard
from lxml import etree

from normalize.text import clean_inline

TUNED_ON = ("kstg_1977",)  # beside EStG: its errors were read while the rules were written
HELD_OUT = ("atz_v", "estdv_1955", "gewstdv_1955", "gewstg", "umwstg_1995", "vsorglastvteilstvtr")

_SENTENCE = "\ue000"
_BORDER = "\ue001"
_BLOCKS = frozenset({"DL", "table", "Footnotes", "TOC", "pre", "Title", "Revision"})
_ABSATZ = re.compile(r"\(\d+[a-z]*\) ?")


@dataclass(frozen=True, slots=True)
class GoldBlock:
    """A block of text and the spans of its sentences as the law numbers them."""

    norm: str
    text: str
    sentences: tuple[tuple[int, int], ...]


def law_blocks(xml: bytes) -> Iterator[GoldBlock]:
    """Yield the blocks of every `<P>` of a gii-norm document that has sentence numbers."""
    parser = etree.XMLParser(load_dtd=False, resolve_entities=False, no_network=True)
    for norm in etree.fromstring(xml, parser).iter("norm"):
        name = norm.findtext("metadaten/enbez") or ""
        for content in norm.iterfind("textdaten/text/Content"):
            for paragraph in content.iter("P"):
                if paragraph.find(".//SUP[@class='Rec']") is not None:
                    for element in (paragraph, *paragraph.iter("LA")):
                        yield from _blocks(name, _raw(element))


def bulk_laws(archive: Path, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield name and XML of some laws of the compressed archive of all federal laws."""
    wanted = set(names)
    unpack = zstandard.ZstdDecompressor(max_window_size=2**27)
    with (
        archive.open("rb") as packed,
        tarfile.open(fileobj=unpack.stream_reader(packed), mode="r|") as laws,
    ):
        for member in laws:
            name = Path(member.name).stem
            if name in wanted:
                content = laws.extractfile(member)
                assert content is not None
                yield name, content.read()


def _raw(element: etree._Element) -> str:
    parts = [element.text or ""]
    for child in element:
        if child.tag == "SUP" and child.get("class") == "Rec":
            parts.append(_SENTENCE)
        elif child.tag in _BLOCKS:
            parts.append(_BORDER)
        elif child.tag == "BR":
            parts.append(" ")
        elif isinstance(child.tag, str) and child.tag not in ("FnR", "FnArea", "IMG"):
            parts.append(_raw(child))
        parts.append(child.tail or "")
    return "".join(parts)


def _blocks(norm: str, raw: str) -> Iterator[GoldBlock]:
    for piece in raw.split(_BORDER):
        first, *numbered = (clean_inline(part) for part in piece.split(_SENTENCE))
        text = _ABSATZ.sub("", first, count=1) if _ABSATZ.match(first) else first
        starts = [0]
        for part in numbered:
            text += " " if text and part else ""
            starts.append(len(text))
            text += part
        starts = sorted({start for start in starts if start < len(text)})
        ends = [*starts[1:], len(text)]
        if text:
            spans = ((start, start + len(text[start:end].rstrip())) for start, end in zip(starts, ends, strict=True))
            yield GoldBlock(norm, text, tuple(spans))
