"""The index kept on disk: the same as one made anew, whatever has changed in between; a damaged one is as none."""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relink import kept
from relink.chunks import LinkChunk, chunk_from_payload
from relink.corpus import build_corpus
from relink.kept import index_of
from relink.seeds import Stretch, build_index, mend
from tests.test_relink_seeds import codes, random_text


def law(document_id: str, texts: Sequence[str]) -> list[LinkChunk]:
    """Return the chunks of a law that has these texts."""
    chunks = []
    for number, text in enumerate(texts, start=1):
        payload = {
            "chunk_id": f"{document_id}-{number}", "chunk_hash": f"{number}", "chunk_text": text, "chunk_index": number,
            "regulation_code": document_id, "article_label": f"{document_id} § {number}", "article": str(number),
            "document_id": document_id, "document_version": "2024-01-01-00000000",
        }  # fmt: skip
        chunk = chunk_from_payload(payload)
        assert chunk is not None
        chunks.append(chunk)
    return chunks


def laws(count: int = 12) -> list[list[LinkChunk]]:
    """Return laws of four chunks each, the same in every run."""
    return [law(f"L{n:02}", [random_text(60 + 7 * c + n, 100 * n + c) for c in range(4)]) for n in range(count)]


def flat(documents: Sequence[Sequence[LinkChunk]]) -> list[LinkChunk]:
    return [chunk for document in documents for chunk in document]


def assert_same(one: kept.Index, other: kept.Index) -> None:
    for name, array in kept._arrays(one).items():
        assert np.array_equal(array, kept._arrays(other)[name]), name


def test_what_was_kept_is_read_and_nothing_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = flat(laws())
    built = index_of(chunks, 1, tmp_path / "index")
    monkeypatch.setattr(kept, "_build", lambda *_: pytest.fail("it is built again"))
    monkeypatch.setattr(kept, "mend", lambda *_: pytest.fail("it is mended"))
    assert_same(index_of(chunks, 1, tmp_path / "index"), built)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["index"], "nothing is left beside it"


@pytest.mark.parametrize("what", ["first", "middle", "last", "new", "gone", "two", "short", "other order of chunks"])
def test_a_changed_law_is_all_that_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    before = laws()
    after = laws()
    changed = {"first": [0], "middle": [5], "last": [11], "two": [3, 8]}.get(what, [])
    for number in changed:
        after[number] = law(f"L{number:02}", [random_text(90, number), "ganz anders"])
    if what == "new":
        after.insert(4, law("L03a", [random_text(200, 7)]))
    if what == "gone":
        del after[6]
    if what == "short":
        after[5] = law("L05", ["a"])
    if what == "other order of chunks":
        texts = [chunk.chunk_text for chunk in after[2]]
        after[2] = [replace(chunk, chunk_text=text) for chunk, text in zip(after[2], reversed(texts), strict=True)]
    index_of(flat(before), 1, tmp_path / "index")
    anew = index_of(flat(after), 1)
    with monkeypatch.context() as patched:
        patched.setattr(kept, "_build", lambda *_: pytest.fail("all is built again"))
        assert_same(index_of(flat(after), 1, tmp_path / "index"), anew)
    monkeypatch.setattr(kept, "mend", lambda *_: pytest.fail("what was mended was not kept"))
    assert_same(index_of(flat(after), 1, tmp_path / "index"), anew)


def test_when_most_has_changed_all_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index_of(flat(laws()), 1, tmp_path / "index")
    monkeypatch.setattr(kept, "mend", lambda *_: pytest.fail("it is mended"))
    other = flat(laws()[:3] + [law(f"M{n}", [random_text(300, n)]) for n in range(9)])
    assert_same(index_of(other, 1, tmp_path / "index"), index_of(other, 1))


@pytest.mark.parametrize("part", ["letters.npy", "starts.npy", "keys.npy", "table.npy", "about.json"])
@pytest.mark.parametrize("damage", ["gone", "cut", "one bit"])
def test_a_damaged_index_is_as_none(tmp_path: Path, part: str, damage: str) -> None:
    chunks = flat(laws())
    index_of(chunks, 1, tmp_path / "index")
    file = tmp_path / "index" / part
    data = bytearray(file.read_bytes())
    if damage == "gone":
        file.unlink()
    else:
        if damage == "cut":
            del data[-9:]
        else:
            data[len(data) // 2] ^= 4
        file.write_bytes(data)
    assert_same(index_of(chunks, 1, tmp_path / "index"), index_of(chunks, 1))


def test_an_index_of_other_rules_is_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = flat(laws())
    index_of(chunks, 1, tmp_path / "index")
    monkeypatch.setattr(kept, "FORMAT", "index-0")
    assert kept._read(tmp_path / "index") is None


def test_where_nothing_can_be_kept_the_index_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", "utf-8")
    chunks = flat(laws())
    assert_same(index_of(chunks, 1, tmp_path / "file" / "index"), index_of(chunks, 1))


def test_a_corpus_is_the_same_from_a_kept_index(tmp_path: Path) -> None:
    chunks = flat(laws())
    build_corpus(chunks, 1, tmp_path / "index")
    again, anew = build_corpus(chunks, 1, tmp_path / "index"), build_corpus(chunks, 1)
    assert (again.letters, again.starts, again.document_starts) == (anew.letters, anew.starts, anew.document_starts)
    assert np.array_equal(again.borders, anew.borders)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_mending_is_building_anew(seed: int, count: int) -> None:
    rng = random.Random(seed)
    old = random_text(rng.randrange(1, 3_000), seed)
    edges = sorted(rng.randrange(len(old) + 1) for _ in range(2 * count))
    stretches, new = [], ""
    for low, high in zip(edges[::2], edges[1::2], strict=True):
        new += random_text(rng.choice([0, 1, 5, 16, 17, 200]), rng.randrange(10**6))
        stretches.append(Stretch(low, high, len(new)))
        new += old[low:high]
    new += random_text(rng.choice([0, 1, 5, 16, 17, 200]), rng.randrange(10**6))
    mended, built = mend(build_index(codes(old), 1), codes(new), stretches), build_index(codes(new), 1)
    assert np.array_equal(mended.keys, built.keys)
    assert np.array_equal(mended.table, built.table)
