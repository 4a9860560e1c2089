"""The hashing embedder: same bytes everywhere, wording near wording; and how embedders are made."""

import hashlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.embedders import EMBEDDERS, Embedder, HashingEmbedder, make_embedder
from normalize.errors import UsageError

ROOT = Path(__file__).resolve().parent.parent
TEXTS = [
    "Benennung eines Datenschutzbeauftragten",
    "die Datenschutzbeauftragten benennen",
    "Verjährung von Ansprüchen aus Kauf",
    "",
    "§ 38 Abs. 1",
]

# The bytes of TEXTS. They may change only together with the version in the model's name.
PINNED = {
    256: "d1bd91ea",
    512: "d2e78df3",
}


def digest(rows: np.ndarray) -> str:
    return hashlib.sha256(rows.astype("<f4").tobytes()).hexdigest()[:8]


@pytest.mark.parametrize("dimension", PINNED)
def test_bytes_are_pinned(dimension: int) -> None:
    assert digest(HashingEmbedder(dimension).embed(TEXTS)) == PINNED[dimension]


@pytest.mark.parametrize("seed", ["0", "42"])
def test_the_same_bytes_in_every_process(seed: str) -> None:
    code = (
        "import sys; from backends.embedders import HashingEmbedder;"
        f"sys.stdout.buffer.write(HashingEmbedder().embed({TEXTS!r}).tobytes())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "LC_ALL": "C", "TZ": "Asia/Tokyo"}
    printed = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert printed.stdout == HashingEmbedder().embed(TEXTS).tobytes()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=80), max_size=20), st.integers(min_value=1, max_value=600))
def test_rows_are_units_and_do_not_depend_on_their_neighbours(texts: list[str], dimension: int) -> None:
    embedder = HashingEmbedder(dimension)
    rows = embedder.embed(texts)
    assert rows.shape == (len(texts), dimension) and rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows.astype(np.float64), axis=1), 1.0, atol=1e-6)
    for text, row in zip(texts, rows, strict=True):
        assert embedder.embed([text])[0].tobytes() == row.tobytes()


def test_more_texts_than_a_batch() -> None:
    texts = [f"Absatz {number} der Verordnung" for number in range(1000)]
    embedder = HashingEmbedder()
    alone = np.concatenate([embedder.embed(texts[:300]), embedder.embed(texts[300:])])
    assert embedder.embed(texts).tobytes() == alone.tobytes()


def test_shared_wording_is_near_and_other_wording_is_far() -> None:
    one, inflected, other, *_ = HashingEmbedder().embed(TEXTS)
    assert one @ inflected > 0.6
    assert abs(one @ other) < 0.2


def test_what_does_not_matter() -> None:
    same = [
        "Benennung eines Datenschutzbeauftragten",
        "BENENNUNG der Daten\u00adschutzbeauftragten.",
        "  Benennung\neines  Datenschutzbeauftragten ",
    ]
    rows = HashingEmbedder().embed(same)
    assert rows[0].tobytes() == rows[1].tobytes() == rows[2].tobytes()


@pytest.mark.parametrize("text", ["", " ", "–", "der die das", "\x00", "\ud800"])
def test_a_text_without_words_has_a_vector_too(text: str) -> None:
    (row,) = HashingEmbedder().embed([text])
    assert np.isfinite(row).all() and abs(float(row @ row) - 1) < 1e-6


def test_identity_names_everything_that_changes_a_vector() -> None:
    embedder: Embedder = HashingEmbedder(256)
    assert (embedder.model, embedder.dimension) == ("hashing-1-256", 256)
    assert embedder.model != HashingEmbedder(512).model
    assert "without a model" in embedder.description and "not shared meaning" in embedder.description


class TestMaking:
    def test_hashing_by_name(self) -> None:
        assert make_embedder("hashing").dimension == 512
        assert make_embedder("hashing", dimension=128).embed(["x"]).shape == (1, 128)

    def test_nothing_is_contacted_when_an_embedder_is_made(self) -> None:
        embedder = make_embedder("ollama", url="http://127.0.0.1:9", dimension=1024)
        assert (embedder.dimension, embedder.max_characters) == (1024, 2000)

    def test_an_unknown_name_lists_the_known_ones(self) -> None:
        with pytest.raises(UsageError, match="hashing, ollama, sentence-transformers") as caught:
            make_embedder("bge")
        assert caught.value.exit_code == 2
        assert set(EMBEDDERS) == {"hashing", "ollama", "sentence-transformers"}

    @pytest.mark.parametrize("dimension", [0, -5])
    def test_an_impossible_dimension(self, dimension: int) -> None:
        with pytest.raises(UsageError, match=str(dimension)):
            make_embedder("hashing", dimension=dimension)

    @pytest.mark.skipif(
        importlib.util.find_spec("sentence_transformers") is not None, reason="the optional package is installed"
    )
    def test_the_optional_package_is_missing(self) -> None:
        with pytest.raises(UsageError, match=r"pip install 'fundstelle\[models\]'") as caught:
            make_embedder("sentence-transformers")
        assert "\n" not in str(caught.value)


@pytest.mark.corpus
def test_damaged_quotations_find_their_absatz(shared: Path) -> None:
    """A floor for what the vectors are good for: quotations with typing errors among the Absätze of the BDSG."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    texts = [
        " ".join(" ".join(paragraph.itertext()).split())
        for path in sorted((shared / "corpus" / "gii-xml").rglob("*bdsg*.xml"))[:1]
        for paragraph in etree.parse(path, parser).iterfind(".//textdaten/text/Content/P")
    ]
    texts = sorted({text for text in texts if len(text) > 150})
    assert len(texts) > 150
    # Every seventh letter lost, and the first third cut off.
    damaged = ["".join(c for place, c in enumerate(text[len(text) // 3 :]) if place % 7) for text in texts]
    embedder = HashingEmbedder()
    found = np.argmax(embedder.embed(damaged) @ embedder.embed(texts).T, axis=1)
    assert np.mean(found == np.arange(len(texts))) > 0.9
