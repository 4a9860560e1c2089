"""parse(label(c)) == c for every chunk of every format of the corpus (DESIGN §3)."""

import os
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from ingest.chunker import Document, chunk_act
from ingest.conservation.run import source_files
from ingest.documents import load_file
from ingest.sources.detect import read_act
from normalize.citation import UNKNOWN, Citation, CitationError
from normalize.citing import parse
from normalize.errors import SourceError
from normalize.laws import LawTable
from normalize.units import read_path, write_path

LAWS = LawTable.builtin()
CORPUS = Path(os.environ.get("FUNDSTELLE_SHARED", Path(__file__).parents[2] / "shared")) / "corpus"


def files() -> list[Path]:
    """The newest version of each federal law, and every other file that is a document by itself."""
    laws: dict[str, Path] = {}
    for file in sorted((CORPUS / "gii-xml").glob("*.xml")):
        laws[file.stem.rsplit("_", 1)[0]] = file
    others = [
        file for kind in ("eurlex-de", "eurlex-en", "legaldocml", "nist", "pdf") for file in (CORPUS / kind).glob("*.*")
    ]
    return [*laws.values(), *sorted(others)]


@pytest.mark.corpus
@pytest.mark.parametrize("file", files(), ids=lambda file: file.name[:40])
def test_every_label_is_read_back_as_the_citation_it_is_of(shared: Path, file: Path) -> None:
    try:
        chunks = [chunk.payload for chunk in load_file(file, LAWS, code="CODE", document_id="ID").chunks()]
    except SourceError as error:
        assert "garbage" in str(error) or "page" in str(error) or "text layer" in str(error), error
        return
    assert chunks
    wrong = defaultdict(list)
    for payload in chunks:
        label = payload["article_label"]
        try:
            read = parse(label, LAWS)
        except CitationError as error:
            wrong["not read"].append((label, str(error)))
            continue
        fields = (read.article, read.paragraph, read.sub, read.is_recital, read.label)
        if fields != (payload["article"], payload["paragraph"], payload["sub"], payload["is_recital"], label):
            wrong["read as another"].append((label, fields))
    assert not wrong, {kind: (len(cases), cases[:3]) for kind, cases in wrong.items()}


def misread(source: tuple[str, bytes]) -> tuple[int, list[tuple[str, str]]]:
    """How many labels a law has, and those of chunks and units that are not read back as the place they are of."""
    name, data = source
    try:
        act, _ = read_act(data, name)
    except SourceError:
        return 0, []
    short = act.short or act.key or "?"
    document = Document("ID", "0000-00-00", short.upper(), short, None)
    payloads = [chunk.payload for chunk in chunk_act(document, act.provisions)]
    places = {
        p["article_label"]: tuple(p[field] for field in ("article", "paragraph", "sub", "is_recital")) for p in payloads
    }
    units = {unit["sub"] for payload in payloads for unit in payload["units"]}
    wrong = [(unit, "unit") for unit in sorted(units) if write_path(read_path(unit) or ()) != unit]
    for label, place in places.items():
        try:
            read = parse(label, LAWS)
        except CitationError as error:
            wrong.append((label, str(error)))
            continue
        if (read.article, read.paragraph, read.sub, read.is_recital) != place or not is_as_printed(read, label):
            wrong.append((label, str(place)))
    return len(places), wrong


def is_as_printed(read: Citation, label: str) -> bool:
    """A law that the table names otherwise ("AEG 1994" for AEG) is printed as the table has it."""
    return read.label == label or read.regulation_code != UNKNOWN


@pytest.mark.corpus
@pytest.mark.floor
def test_every_label_of_all_federal_law_is_read_back(shared: Path) -> None:
    sources = list(source_files([shared / "corpus/bulk/gii-xml-all_2024-10.tar.zst"]))
    with ProcessPoolExecutor(2) as pool:
        results = list(pool.map(misread, sources, chunksize=50))
    assert sum(count for count, _ in results) > 250_000
    assert [label for _, wrong in results for label in wrong] == []
