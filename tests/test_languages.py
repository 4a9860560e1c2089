"""A collection of German laws and English acts: the sparse leg alone finds what a question of either language asks for.

An English question under the German analyzer misses, since "obligations" and "incidents" have other stems there.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from backends.embedders import EmbedderError, HashingEmbedder
from backends.tables.connect import Tables
from backends.vectors.edge import EdgeStore
from backends.vectors.store import Floats, SparseVector, VectorStore
from ingest.manifest import read_manifest
from ingest.reingest import reingest
from normalize.analyzer import sparse_query
from normalize.laws import LawTable
from retrieve.search import SearchOptions, search

LAWS = LawTable.builtin()
NAME = "zwei_sprachen"
FILES = (
    "gii-xml/agg_2024-12.xml",
    "gii-xml/bdsg_2024-12.xml",
    "gii-xml/hgb_2024-05.xml",
    "eurlex-de/dsgvo_32016R0679_DE_formex_L_2016119DE.01000101.xml",
    "eurlex-en/aiact_32024R1689_EN_formex.xml",
    "eurlex-en/nis2_32022L2555_EN_formex_L_2022333EN.01008001.xml",
)
ENGLISH = [
    ("Which incidents must entities notify?", "Art. 23"),
    ("transparency obligations deployers", "Art. 50"),
    ("Which obligations do importers of high-risk AI systems have?", "Art. 23"),
    ("When do deployers carry out a fundamental rights impact assessment?", "Art. 27"),
    ("prohibited practices", "Art. 5"),
]
GERMAN = [
    ("Was muss man bei einer Benachteiligung tun?", "AGG"),
    ("Die Benennung der Datenschutzbeauftragten öffentlicher Stellen", "BDSG"),
    ("Wann war der Jahresabschluss aufzustellen?", "HGB"),
]


class Down(HashingEmbedder):
    """An embedder whose server is down: what is found, the sparse leg found."""

    def embed(self, texts: Sequence[str]) -> Floats:
        raise EmbedderError("It does not answer.")


@pytest.fixture(scope="module")
def store(shared: Path, shared_tables: Tables, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VectorStore]:
    folder = tmp_path_factory.mktemp("languages")
    entries = "".join(f"  - path: {file}\n" for file in FILES)
    (folder / "manifest.yaml").write_text(f"root: {shared / 'corpus'}\ndocuments:\n{entries}", "utf-8")
    with EdgeStore(folder / "home", 5.0) as opened:
        manifest = read_manifest(folder / "manifest.yaml")
        reingest(opened, shared_tables, NAME, manifest, LAWS, lambda dimension: HashingEmbedder(64))
        yield opened


def found(store: VectorStore, question: str) -> list[str]:
    """The first five sources of the sparse leg."""
    answer = search(store, NAME, Down(64), question, LAWS, SearchOptions(5))
    assert not any(leg.startswith("dense") for source in answer.sources for leg in source.ranks)
    return [source.source for source in answer.sources]


def is_english(label: str) -> bool:
    return label.endswith((" KI-VO", " NIS2"))


@pytest.mark.corpus
@pytest.mark.parametrize(("question", "article"), ENGLISH)
def test_an_english_question_finds_an_english_act(store: VectorStore, question: str, article: str) -> None:
    labels = found(store, question)
    assert all(map(is_english, labels))
    assert any(label.startswith(f"{article} ") for label in labels), labels


@pytest.mark.corpus
@pytest.mark.parametrize(("question", "law"), GERMAN)
def test_a_german_question_finds_german_law(store: VectorStore, question: str, law: str) -> None:
    labels = found(store, question)
    assert labels[0].startswith(f"{law} ") and not any(map(is_english, labels)), labels


@pytest.mark.corpus
def test_with_german_terms_alone_english_questions_miss(store: VectorStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tests above would not show if any analyzer did."""
    monkeypatch.setattr("retrieve.pool._terms", lambda question: SparseVector(*sparse_query(question)))
    missed = [
        question
        for question, article in ENGLISH
        if not any(label.startswith(f"{article} ") and is_english(label) for label in found(store, question))
    ]
    assert len(missed) >= 2
