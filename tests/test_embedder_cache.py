"""Vectors kept on this machine: the same bytes, no text embedded twice, and never a reason to fail."""

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from backends.embedders import HashingEmbedder
from backends.embedders.cache import CachedEmbedder
from backends.vectors.edge import EdgeStore
from cli import app
from tests.test_embedder_ollama import Model, model

__all__ = ["model"]

EXAMPLES = Path(__file__).parent.parent / "examples"

TEXTS = ["Prüfung der Größe", "Löschung der Daten", "Auskunft der Behörde"]


class Counting(HashingEmbedder):
    """Counts the texts it embeds."""

    def __init__(self, dimension: int = 32) -> None:
        super().__init__(dimension)
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.seen += texts
        return super().embed(texts)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "vectors.sqlite"


def test_a_text_is_embedded_once(file: Path) -> None:
    first = Counting()
    made = CachedEmbedder(first, file).embed(TEXTS)
    assert first.seen == TEXTS
    second = Counting()
    cached = CachedEmbedder(second, file)
    again = cached.embed([TEXTS[2], "Neues", TEXTS[0]])
    assert second.seen == ["Neues"] and cached.from_cache == 2
    assert again.tobytes() == np.vstack([made[2], HashingEmbedder(32).embed(["Neues"])[0], made[0]]).tobytes()


def test_another_model_or_dimension_has_vectors_of_its_own(file: Path) -> None:
    CachedEmbedder(Counting(32), file).embed(TEXTS)
    other = Counting(64)
    assert CachedEmbedder(other, file).embed(TEXTS).shape == (3, 64)
    assert other.seen == TEXTS


def test_it_stands_for_its_embedder(file: Path) -> None:
    plain = Counting(48)
    cached = CachedEmbedder(plain, file)
    assert (cached.model, cached.dimension, cached.max_characters) == (plain.model, 48, plain.max_characters)
    assert cached.token_limit == plain.token_limit and cached.description == plain.description


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 100])
def test_a_damaged_file_is_put_aside(file: Path, damage: bytes) -> None:
    file.parent.mkdir(parents=True)
    file.write_bytes(damage)
    embedder = Counting()
    assert CachedEmbedder(embedder, file).embed(TEXTS).tobytes() == HashingEmbedder(32).embed(TEXTS).tobytes()
    again = Counting()
    CachedEmbedder(again, file).embed(TEXTS)
    assert again.seen == []


@pytest.mark.parametrize("value", [b"", b"\0" * 32 * 4, np.full(32, np.nan, "<f4").tobytes(), b"\1" * 12])
def test_a_row_that_is_no_vector_is_made_anew(file: Path, value: bytes) -> None:
    CachedEmbedder(Counting(), file).embed(TEXTS)
    with sqlite3.connect(file) as database:
        database.execute("UPDATE vectors SET vector = ?", (value,))
    embedder = Counting()
    made = CachedEmbedder(embedder, file).embed(TEXTS)
    assert embedder.seen == TEXTS
    assert made.tobytes() == HashingEmbedder(32).embed(TEXTS).tobytes()
    healed = Counting()
    CachedEmbedder(healed, file).embed(TEXTS)
    assert healed.seen == []


def test_a_place_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    embedder = Counting()
    made = CachedEmbedder(embedder, tmp_path / "cache" / "vectors.sqlite").embed(TEXTS)
    assert made.tobytes() == HashingEmbedder(32).embed(TEXTS).tobytes()


def test_it_stays_within_its_bounds(file: Path) -> None:
    cached = CachedEmbedder(Counting(256), file, max_bytes=400_000)
    for start in range(0, 2000, 100):
        cached.embed([f"Text {number}" for number in range(start, start + 100)])
    assert file.stat().st_size < 1_500_000
    latest = Counting(256)
    CachedEmbedder(latest, file).embed([f"Text {number}" for number in range(1900, 2000)])
    assert latest.seen == []  # the oldest went first


def test_two_at_once(file: Path) -> None:
    expected = HashingEmbedder(32).embed([f"Text {n}" for n in range(200)]).tobytes()
    results: list[bytes] = []

    def work() -> None:
        cached = CachedEmbedder(Counting(), file)
        results.append(b"".join(cached.embed([f"Text {n}"]).tobytes() for n in range(200)))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [expected] * 3


def test_a_collection_that_is_lost_is_written_again_without_asking_the_model(
    model: Model, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FUNDSTELLE_EMBEDDER", "ollama")
    monkeypatch.setenv("OLLAMA_URL", model.url)
    monkeypatch.setenv("DATABASE_URL", database_url)
    step = ["--home", str(tmp_path), "reingest", "-c", "beispiel", "-m", str(EXAMPLES / "manifest.yaml")]
    assert CliRunner().invoke(app, step).exit_code == 0
    asked = sum(map(len, model.batches))
    assert asked >= 25
    with EdgeStore(tmp_path, 5.0) as store:
        store.drop("beispiel")
    again = CliRunner().invoke(app, step)
    assert again.exit_code == 0
    assert "25 points" in again.output and "0 vectors computed" in again.output and "25 from the cache" in again.output
    assert sum(map(len, model.batches)) <= asked + 1  # the question for the dimension
    monkeypatch.setenv("FUNDSTELLE_VECTOR_CACHE", "false")
    with EdgeStore(tmp_path, 5.0) as store:
        store.drop("beispiel")
    assert "25 vectors computed" in CliRunner().invoke(app, step).output
