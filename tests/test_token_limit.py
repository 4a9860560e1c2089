"""The chunker under the token limit of an embedder: nothing lost, units whole, and an identity of its own."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from backends.embedders import HashingEmbedder, TokenLimit
from backends.tables.connect import Tables
from backends.vectors.edge import EdgeStore
from backends.vectors.store import VectorStore
from ingest.chunker import CHUNKER_VERSION, Chunk
from ingest.documents import load
from ingest.gather import survey
from ingest.manifest import Manifest, read_manifest
from ingest.prune import prune
from ingest.reingest import reingest
from ingest.target import held_limit
from ingest.verify import verify
from normalize.errors import GateError
from normalize.laws import LawTable
from tests.payloads import chunks_of

LAWS = LawTable.builtin()
NAME = "gesetze"
_TOKEN = re.compile(r"\w{1,6}|[^\w\s]")
SHORTEST = 200  # characters: below this it is label, heading and stem that fill a window


def count(text: str) -> int:
    """A tokenizer in small: word pieces of six letters, signs, and the two special tokens."""
    return len(_TOKEN.findall(text)) + 2


def limit(tokens: int) -> TokenLimit:
    return TokenLimit(tokens, "pieces", count)


class Windowed(HashingEmbedder):
    """Vectors of the hashing embedder, a window of 128 tokens."""

    token_limit: TokenLimit | None = limit(128)


def windowed(dimension: int | None) -> Windowed:
    return Windowed(dimension or 64)


def hashing(dimension: int | None) -> HashingEmbedder:
    return HashingEmbedder(dimension or 64)


@pytest.fixture
def manifest(shared: Path, tmp_path: Path) -> Manifest:
    path = tmp_path / "manifest.yaml"
    path.write_text(f"root: {shared / 'corpus/gii-xml'}\ndocuments:\n  - path: bdsg_2024-12.xml\n", "utf-8")
    return read_manifest(path)


def chunks(manifest: Manifest, tokens: TokenLimit | None) -> list[Chunk]:
    return list(load(manifest.documents[0], LAWS, tokens).chunks())


def by_absatz(chunks: list[Chunk]) -> dict[tuple[str, str | None], str]:
    """The letters of every Absatz; at a border between chunks only blanks fall away."""
    texts: dict[tuple[str, str | None], str] = {}
    for chunk in chunks:
        norm = chunk.payload["article"], chunk.payload["paragraph"]
        texts[norm] = texts.get(norm, "") + re.sub(r"\s+", "", chunk.payload["chunk_text"])
    return texts


@pytest.mark.corpus
@pytest.mark.parametrize("tokens", [96, 128, 256])
def test_every_chunk_fits_the_window_and_no_text_is_lost(manifest: Manifest, tokens: int) -> None:
    whole, cut = chunks(manifest, None), chunks(manifest, limit(tokens))
    assert any(count(chunk.embed_text) > tokens for chunk in whole)  # the limit bites
    too_long = [c for c in cut if count(c.embed_text) > tokens and len(c.payload["chunk_text"]) > SHORTEST]
    assert too_long == []
    assert by_absatz(cut) == by_absatz(whole)


@pytest.mark.corpus
def test_what_fits_stays_as_it_is(manifest: Manifest) -> None:
    fits: dict[tuple[str, str | None], bool] = {}
    for chunk in (whole := chunks(manifest, None)):
        norm = chunk.payload["article"], chunk.payload["paragraph"]
        fits[norm] = fits.get(norm, True) and count(chunk.embed_text) <= 256
    texts = {chunk.embed_text for chunk in chunks(manifest, limit(256))}
    kept = [c.embed_text for c in whole if fits[c.payload["article"], c.payload["paragraph"]]]
    assert len(kept) > 200 and set(kept) <= texts


@pytest.mark.corpus
def test_pieces_begin_at_units(manifest: Manifest) -> None:
    """A piece that goes on an Absatz begins with a Satz or an item, not in the middle of one."""
    cut = chunks(manifest, limit(256))
    going_on = [
        (before.payload, after.payload)
        for before, after in pairwise(cut)
        if before.payload["article"] == after.payload["article"]
        and before.payload["paragraph"] == after.payload["paragraph"]
    ]
    assert len(going_on) > 10
    for before, after in going_on:
        # A Satz that goes on in the next piece is no unit of this one; then another Satz ends before it.
        begins = 0 in [unit["start"] for unit in after["units"]]
        assert begins or before["chunk_text"].endswith("."), after["article_label"]


@pytest.mark.corpus
def test_another_limit_is_another_version(manifest: Manifest) -> None:
    versions = {}
    for tokens in (None, limit(8192), limit(512), limit(256), TokenLimit(256, "other", count)):
        loaded = load(manifest.documents[0], LAWS, tokens)
        found = {chunk.payload["chunker_version"] for chunk in loaded.chunks()}
        assert found == {loaded.document.chunker_version}
        versions[found.pop()] = loaded.document.document_version
    assert list(versions) == [
        CHUNKER_VERSION,  # also for a window that no chunk fills
        f"{CHUNKER_VERSION}/tokens=512/pieces",
        f"{CHUNKER_VERSION}/tokens=256/pieces",
        f"{CHUNKER_VERSION}/tokens=256/other",
    ]
    assert len(set(versions.values())) == 4


@pytest.mark.corpus
def test_other_processes_count_alike(manifest: Manifest) -> None:
    alone, together = (
        survey(manifest, LAWS, chunks_of, processes=number, tokens=limit(128)).expected for number in (1, 2)
    )
    assert alone == together


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VectorStore]:
    with EdgeStore(tmp_path / "home", 2.0) as edge:
        yield edge


@pytest.mark.corpus
def test_verify_and_prune_work_under_the_limit_of_the_collection(
    manifest: Manifest, tmp_path: Path, store: VectorStore, tables: Tables
) -> None:
    reingest(store, tables, NAME, manifest, LAWS, windowed)
    points = {str(record.id) for record in store.scroll(NAME)}
    assert points == {chunk.point_id for chunk in chunks(manifest, limit(128))}
    assert verify(store, tables, NAME, manifest, LAWS, sample=1.0, embedder_for=windowed)["ok"]
    assert prune(store, tables, NAME, manifest, LAWS, tmp_path, embedder_for=windowed)["deleted"] == 0
    for other in (hashing, None):
        with pytest.raises(GateError, match="tokens=128/pieces"):
            verify(store, tables, NAME, manifest, LAWS, embedder_for=other)
        with pytest.raises(GateError, match="tokens=128/pieces"):
            prune(store, tables, NAME, manifest, LAWS, tmp_path, embedder_for=other)
    assert reingest(store, tables, NAME, manifest, LAWS, windowed)["vectors_computed"] == 0
    about = store.describe(NAME)
    assert about is not None and held_limit(about, NAME, windowed) == limit(128)
    silent = replace(about, metadata={})  # a server that keeps no metadata
    assert held_limit(silent, NAME, windowed) == limit(128)
    assert held_limit(silent, NAME, hashing) is held_limit(silent, NAME, None) is None
