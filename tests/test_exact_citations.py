"""A norm that a question cites is the first source of the answer: 300 norms of real law, each asked in three ways."""

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


@pytest.mark.corpus
@pytest.mark.parametrize("phrasing", [short, question, long])
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
