"""What a question cites is the first source of the answer: 300 norms and 300 Sätze, Nummern and Buchstaben of real law.

Each is asked in four ways, one without capitals. Of a place below the Absatz the first source is the very chunk that
holds it.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables
from backends.vectors.edge import EdgeStore
from backends.vectors.store import VectorStore
from ingest.manifest import read_manifest
from ingest.reingest import reingest
from normalize.citation import label
from normalize.laws import LawTable
from retrieve.search import SearchOptions, search

SEED = 7
NORMS = 300
LAWS = LawTable.builtin()
NAME = "gesetze"
EMBEDDER = HashingEmbedder(64)
FILES = {
    "gii-xml/bdsg_2024-12.xml": "BDSG",
    "gii-xml/agg_2024-12.xml": "AGG",
    "gii-xml/gg_2025-03.xml": "GG",
    "gii-xml/estg_2024-08.xml": "EStG",
    "gii-xml/hgb_2024-05.xml": "HGB",
    "gii-xml/owig_2026-01.xml": "OWiG",
    "eurlex-de/dsgvo_32016R0679_DE_formex_L_2016119DE.01000101.xml": "DSGVO",
    "eurlex-de/dora_32022R2554_DE_oj.html": "DORA",
}

Norm = tuple[str, str, str | None, bool]


@pytest.fixture(scope="module")
def store(shared: Path, shared_tables: Tables, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VectorStore]:
    folder = tmp_path_factory.mktemp("exact")
    manifest = folder / "manifest.yaml"
    entries = "".join(f"  - path: {file}\n" for file in FILES)
    manifest.write_text(f"root: {shared / 'corpus'}\ndocuments:\n{entries}", "utf-8")
    with EdgeStore(folder / "home", 5.0) as opened:
        reingest(opened, shared_tables, NAME, read_manifest(manifest), LAWS, lambda dimension: EMBEDDER)
        yield opened


@pytest.fixture(scope="module")
def norms(store: VectorStore) -> list[Norm]:
    """Law, article, Absatz and whether the law is cited by §, of a seeded sample of all norms."""
    found = {
        (
            str(r.payload["regulation_short"]),
            str(r.payload["article"]),
            r.payload["paragraph"],
            r.payload["citation_style"] == "paragraph",
        )
        for r in store.scroll(NAME)
        if str(r.payload["article"])[0].isdigit() and not r.payload["is_recital"]
    }
    ordered = sorted(found, key=lambda norm: (norm[0], norm[1], norm[2] or ""))
    return random.Random(SEED).sample(ordered, NORMS)


def short(norm: Norm) -> str:
    law, article, paragraph, by_section = norm
    absatz = f" Abs. {paragraph}" if paragraph else ""
    return f"§ {article}{absatz} {law}" if by_section else f"Art. {article}{absatz} {law}"


def question(norm: Norm) -> str:
    return f"Was sagt {short(norm)}?"


def long(norm: Norm) -> str:
    law, article, paragraph, by_section = norm
    name = f"§ {article}" if by_section else f"Artikel {article}"
    return (
        f"Ich möchte Absatz {paragraph} von {name} {law} lesen." if paragraph else f"Zeige mir {name} {law} im Wortlaut"
    )


def lower(norm: Norm) -> str:
    return f"was steht in {short(norm)}".lower()


@pytest.mark.corpus
@pytest.mark.parametrize("phrasing", [short, question, long, lower])
def test_the_cited_norm_comes_first(store: VectorStore, norms: list[Norm], phrasing: object) -> None:
    missed = []
    for norm in norms:
        asked = phrasing(norm)  # type: ignore[operator]
        answer = search(store, NAME, EMBEDDER, asked, LAWS, SearchOptions(3))
        first = answer.sources[0].candidate.hit.payload if answer.sources else {}
        place = (first.get("regulation_short"), first.get("article"), first.get("paragraph"))
        if place != norm[:3]:
            missed.append((asked, place))
    assert missed == []


# --- Below the Absatz ----------------------------------------------------------------------------------------------

LONG = {
    "UAbs.": "Unterabsatz", "Abs.": "Absatz", "Nr.": "Nummer", "lit.": "Buchstabe", "Ziff.": "Ziffer",
    "Doppelbuchst.": "Doppelbuchstabe", "Dreifachbuchst.": "Dreifachbuchstabe", "Art.": "Artikel",
}  # fmt: skip
SHORT = {"UAbs.": "Unterabs.", "Satz": "S.", "lit.": "Buchst."}

Place = tuple[str, str]
"""A place by its label, and the chunk that holds it."""


@pytest.fixture(scope="module")
def places(store: VectorStore) -> list[Place]:
    """A seeded sample of the units of all chunks."""
    found = []
    for record in store.scroll(NAME):
        p = record.payload
        if not str(p["article"])[0].isdigit():
            continue
        for unit in p["units"]:
            parts = (p["regulation_short"], p["citation_style"], p["article"], p["paragraph"], unit["sub"])
            found.append((label(*parts, is_recital=p["is_recital"]), str(p["chunk_id"])))
    return random.Random(SEED).sample(sorted(found), NORMS)


def written(place: str, words: dict[str, str]) -> str:
    return " ".join(words.get(word, word) for word in place.split())


def in_words(place: str) -> str:
    return f"Was sagt {written(place, LONG)}?"


def in_letters(place: str) -> str:
    return f"Gilt {written(place, SHORT)} auch für Vereine, und ab wann?"


@pytest.mark.corpus
@pytest.mark.parametrize("phrasing", [str, in_words, in_letters, str.lower])
def test_the_chunk_that_holds_the_cited_place_comes_first(
    store: VectorStore, places: list[Place], phrasing: object
) -> None:
    missed = []
    for place, chunk_id in places:
        asked = phrasing(place)  # type: ignore[operator]
        answer = search(store, NAME, EMBEDDER, asked, LAWS, SearchOptions(3))
        if not answer.sources or answer.sources[0].candidate.payload["chunk_id"] != chunk_id:
            missed.append((asked, [source.source for source in answer.sources]))
    assert missed == []


@pytest.mark.corpus
def test_the_sample_needs_the_place_below_the_absatz(store: VectorStore, places: list[Place]) -> None:
    """It would say little if every Absatz were one chunk: a fifth of the sample lies in one that is cut."""
    chunks: dict[tuple[object, ...], list[str]] = {}
    for record in store.scroll(NAME, payload=["regulation_code", "article", "paragraph", "is_recital", "chunk_id"]):
        p = record.payload
        norm = (p["regulation_code"], p["article"], p["paragraph"], p["is_recital"])
        chunks.setdefault(norm, []).append(str(p["chunk_id"]))
    cut = {chunk for held in chunks.values() if len(held) > 1 for chunk in held}
    assert sum(chunk in cut for _, chunk in places) >= NORMS / 5


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("question", "first", "holds"),
    [
        ("Was sagt § 26 Abs. 3 Satz 2 BDSG?", "BDSG § 26 Abs. 3", "Absatz 2 gilt auch für die Einwilligung"),
        ("Art. 6 Abs. 1 UAbs. 1 lit. f DSGVO", "Art. 6 Abs. 1", "zur Wahrung der berechtigten Interessen"),
        ("Art. 6 I 1 lit. f DSGVO", "Art. 6 Abs. 1", "zur Wahrung der berechtigten Interessen"),
        ("§ 3 Nr. 11 EStG", "EStG § 3", "Bezüge aus öffentlichen Mitteln"),
        ("Was regelt § 3 Nummer 12 Satz 2 EStG?", "EStG § 3", "Aufwandsentschädigung"),
        ("bdsg §38", "BDSG § 38 Abs. 1", "Datenschutzbeauftragten"),
        ("article 6(1)(f) gdpr", "Art. 6 Abs. 1", "zur Wahrung der berechtigten Interessen"),
        ("Recital 26 GDPR", "ErwG 26 DSGVO", "anonymer Daten"),
        ("§ 4 Abs. 1 Nr. 2 BDSG", "BDSG § 4 Abs. 1", "zur Wahrnehmung des Hausrechts"),
    ],
)
def test_the_source_holds_the_words_of_the_cited_place(
    store: VectorStore, question: str, first: str, holds: str
) -> None:
    source = search(store, NAME, EMBEDDER, question, LAWS, SearchOptions(3)).sources[0]
    assert source.source.startswith(first) and holds in source.text
