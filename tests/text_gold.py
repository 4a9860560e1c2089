"""Real texts for the tests of cleaning: pages of PDFs, words of LegalDocML, stretches of all federal laws."""

import hashlib
import re
import tarfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pypdfium2
import zstandard
from lxml import etree

from normalize.text import clean_inline

_FLOORS = tomllib.loads((Path(__file__).parent / "floors.toml").read_text(encoding="utf-8"))["text"]
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")


def floor(name: str) -> float:
    """Return a pinned floor of the section `text` of `floors.toml`."""
    return float(_FLOORS[name])


def gold_digests() -> dict[str, str]:
    """Return the sha256 of each gold file the floors were measured on, by its path in the shared folder."""
    return dict(_FLOORS["digests"])


def digest(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def words(text: str) -> Counter[str]:
    """Count the words of a text, hyphens inside them included."""
    return Counter(_WORD.findall(text))


def pdf_pages(path: Path) -> list[str]:
    """Return the text of each page as PDFium gives it."""
    document = pypdfium2.PdfDocument(path)
    return [page.get_textpage().get_text_range() for page in document]


def legaldocml_words(paths: Iterable[Path]) -> Counter[str]:
    """Count the words of LegalDocML files without their metadata."""
    total: Counter[str] = Counter()
    for path in paths:
        root = etree.parse(path, etree.XMLParser(resolve_entities=False, no_network=True)).getroot()
        for meta in root.xpath('//*[local-name()="meta"]'):
            meta.getparent().remove(meta)
        total += words(clean_inline(" ".join(root.itertext())))
    return total


def bulk_texts(shared: Path, *, every: int) -> Iterator[str]:
    """Yield stretches of text of every n-th federal law, up to 3,000 characters each."""
    archive = shared / "corpus/bulk/gii-xml-all_2024-10.tar.zst"
    unpack = zstandard.ZstdDecompressor(max_window_size=2**27)
    with archive.open("rb") as packed, tarfile.open(fileobj=unpack.stream_reader(packed), mode="r|") as laws:
        for number, member in enumerate(laws):
            content = laws.extractfile(member) if member.isfile() and number % every == 0 else None
            if content is None:
                continue
            root = etree.fromstring(content.read(), etree.XMLParser(resolve_entities=False, no_network=True))
            text = " ".join(
                clean_inline(" ".join(part.itertext())) for part in root.iterfind("norm/textdaten/text/Content")
            )
            yield from (text[start : start + 3000] for start in range(0, len(text), 3000))
