"""The index of a corpus, kept on disk: mapped into memory when nothing has changed, mended where a law has.

A folder holds the letters, the chunk starts, the keys and the buckets as plain arrays, and what they were made from:
for each document, its chunks and a digest of their texts. A seed depends on its k-mer and at most W - 1 letters around
it, so those well inside an unchanged document are the same ones at another place; only the rest is read again.
"""

import contextlib
import hashlib
import itertools
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relink.chunks import LinkChunk
from relink.seeds import SeedIndex, Stretch, build_index, mend
from relink.skeleton import Folded, fold_all

FORMAT = "index-1"
"""Name of how letters are folded and seeds chosen: another one makes every kept index worthless."""
_ABOUT = "about.json"
_PARTS = ("letters", "starts", "keys", "table")
# With more changed stretches than this, or less than this share unchanged, all is built anew.
_MOST_STRETCHES = 64
_LEAST_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class DocumentTexts:
    """A document of the corpus: how many chunks it has, and the digest of their texts."""

    document_id: str
    chunks: int
    digest: str


@dataclass(frozen=True, slots=True)
class Index:
    """The skeleton of a corpus and its seeds."""

    folded: Folded
    seeds: SeedIndex


def texts_of(chunks: Sequence[LinkChunk]) -> list[DocumentTexts]:
    """Return the documents of chunks that are in document order."""
    documents = []
    for document_id, group in itertools.groupby(chunks, key=lambda chunk: chunk.document_id):
        digest = hashlib.blake2b(digest_size=16)
        count = 0
        for chunk in group:
            text = chunk.chunk_text.encode("utf-8", "surrogatepass")
            digest.update(b"%d:" % len(text))
            digest.update(text)
            count += 1
        documents.append(DocumentTexts(document_id, count, digest.hexdigest()))
    return documents


def index_of(chunks: Sequence[LinkChunk], threads: int, folder: Path | None = None) -> Index:
    """Return the index of chunks that are in document order: the kept one, mended where it has to be, or a new one.

    A folder that cannot be read is as none; where one cannot be written, nothing is kept.
    """
    if folder is None:
        return _build(chunks, threads)
    documents = texts_of(chunks)
    before, kept = _read(folder) or ([], None)
    if kept is not None and before == documents:
        return kept
    index = _mended(chunks, before, documents, kept, threads) if kept is not None else None
    index = index or _build(chunks, threads)
    _write(folder, documents, index)
    return index


def _build(chunks: Sequence[LinkChunk], threads: int) -> Index:
    folded = fold_all([chunk.chunk_text for chunk in chunks], threads)
    return Index(folded, build_index(folded.codes, threads))


def _mended(
    chunks: Sequence[LinkChunk],
    before: Sequence[DocumentTexts],
    documents: Sequence[DocumentTexts],
    kept: Index,
    threads: int,
) -> Index | None:
    """Return the index with only what has changed made anew, or None if that is too much."""
    same = [
        block for block in SequenceMatcher(None, before, documents, autojunk=False).get_matching_blocks() if block.size
    ]
    old_chunks = np.cumsum([0, *(document.chunks for document in before)])
    new_chunks = np.cumsum([0, *(document.chunks for document in documents)])
    old = kept.folded
    unchanged = sum(int(old.starts[old_chunks[b.a + b.size]] - old.starts[old_chunks[b.a]]) for b in same)
    if len(same) > _MOST_STRETCHES or unchanged < _LEAST_SHARE * old.codes.size:
        return None
    parts: list[NDArray[np.uint8]] = []
    lengths: list[NDArray[np.int64]] = [np.zeros(1, dtype=np.int64)]
    stretches: list[Stretch] = []
    size = done = 0
    for block in same:
        first, last = int(old_chunks[block.a]), int(old_chunks[block.a + block.size])
        fresh = fold_all([chunk.chunk_text for chunk in chunks[done : int(new_chunks[block.b])]], threads)
        low, high = int(old.starts[first]), int(old.starts[last])
        parts += [fresh.codes, old.codes[low:high]]
        lengths += [np.diff(fresh.starts), np.diff(old.starts[first : last + 1])]
        size += fresh.codes.size
        stretches.append(Stretch(low, high, size))
        size += high - low
        done = int(new_chunks[block.b + block.size])
    fresh = fold_all([chunk.chunk_text for chunk in chunks[done:]], threads)
    parts.append(fresh.codes)
    lengths.append(np.diff(fresh.starts))
    folded = Folded(
        np.frombuffer(b"".join(part.tobytes() for part in parts), np.uint8), np.cumsum(np.concatenate(lengths))
    )
    return Index(folded, mend(kept.seeds, folded.codes, stretches))


def _arrays(index: Index) -> dict[str, NDArray[Any]]:
    return {
        "letters": index.folded.codes,
        "starts": index.folded.starts,
        "keys": index.seeds.keys,
        "table": index.seeds.table,
    }


def _check(array: NDArray[Any]) -> list[int]:
    """Return length, sum and parity of an array's bytes: what a torn write or a rotten block does not leave alone."""
    whole = array.view(np.uint8)[: array.nbytes // 8 * 8].view(np.uint64)
    rest = array.view(np.uint8)[array.nbytes // 8 * 8 :]
    return [array.nbytes, int(whole.sum() + rest.sum()), int(np.bitwise_xor.reduce(whole)) if whole.size else 0]


def _read(folder: Path) -> tuple[list[DocumentTexts], Index] | None:
    """Return what is kept in a folder, or None if it is not whole or of another format."""
    try:
        about = json.loads((folder / _ABOUT).read_text("utf-8"))
        if about["format"] != FORMAT:
            return None
        arrays = {name: np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r")) for name in _PARTS}
        if any(_check(arrays[name]) != about["checks"][name] for name in _PARTS):
            return None
        documents = [DocumentTexts(**document) for document in about["documents"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return documents, Index(Folded(arrays["letters"], arrays["starts"]), SeedIndex(arrays["keys"], arrays["table"]))


def _write(folder: Path, documents: Sequence[DocumentTexts], index: Index) -> None:
    """Keep an index in place of the one before: made aside, moved into place when it is whole."""
    aside, old = (folder.with_name(f"{folder.name}.{what}{os.getpid()}") for what in ("new", "old"))
    with contextlib.suppress(OSError):
        try:
            aside.mkdir(parents=True)
            arrays = _arrays(index)
            for name, array in arrays.items():
                np.save(aside / f"{name}.npy", array)
            about = {
                "format": FORMAT,
                "checks": {name: _check(array) for name, array in arrays.items()},
                "documents": [asdict(document) for document in documents],
            }
            (aside / _ABOUT).write_text(json.dumps(about), "utf-8")
            if folder.exists():
                folder.rename(old)
            aside.rename(folder)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
            shutil.rmtree(old, ignore_errors=True)
