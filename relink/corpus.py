"""The corpus that quotations are looked for in: chunks end to end as one skeleton, its seeds, its laws, its hashes."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from normalize.laws import LawTable
from relink.chunks import LinkChunk
from relink.kept import index_of
from relink.seeds import Bytes, Integers, SeedIndex
from relink.tails import Tails, tails_of

_NOT_WORD = re.compile(r"[\W_]+")
_YEAR = re.compile(r"\s+(19|20)\d\d$")


@dataclass(frozen=True, slots=True)
class Corpus:
    """Chunks in document order and what is looked up in them.

    Chunk i is `letters[starts[i]:starts[i + 1]]`; document j is chunks `document_starts[j]` up to the next one's.
    `codes` are the letters as bytes, `borders` the first letter of each document and the end of the last one.
    """

    chunks: tuple[LinkChunk, ...]
    letters: str
    codes: Bytes
    borders: Integers
    starts: list[int]
    document_starts: list[int]
    seeds: SeedIndex
    tails: Tails
    laws: dict[str, tuple[int, ...]]

    def chunk_at(self, position: int) -> int:
        """Return the number of the chunk that holds a letter."""
        return bisect_right(self.starts, position) - 1

    def document_of(self, chunk: int) -> int:
        """Return the number of the document that holds a chunk."""
        return bisect_right(self.document_starts, chunk) - 1

    def document_range(self, document: int) -> tuple[int, int]:
        """Return the first letter of a document and the end of its last."""
        return self.starts[self.document_starts[document]], self.starts[self.document_starts[document + 1]]

    def documents_of_hint(self, hint: str) -> tuple[int, ...]:
        """Return the documents that a known regulation (code, short name or name, in any spelling) may mean."""
        for key in _hint_keys(hint):
            if key in self.laws:
                return self.laws[key]
        law = LawTable.builtin().resolve(hint)
        return self.laws.get(_key(law.code), ()) if law else ()


def _key(name: str) -> str:
    return _NOT_WORD.sub("", unicodedata.normalize("NFC", name).casefold())


def _hint_keys(hint: str) -> list[str]:
    """Return what to look a hint up by: as it is, then without a year at its end (`BDSG 2018`)."""
    keys = [_key(hint)]
    if _YEAR.search(hint.strip()):
        keys.append(_key(_YEAR.sub("", hint.strip())))
    return [key for key in keys if key]


def _laws(chunks: Sequence[LinkChunk], firsts: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Return the documents of each name; a code or short name goes before a full name that reads the same."""
    laws: dict[str, tuple[int, ...]] = {}
    for names in (("regulation_code", "regulation_short"), ("regulation_name",)):
        found: dict[str, list[int]] = {}
        for document, first in enumerate(firsts):
            keys = {_key(name) for field in names if (name := getattr(chunks[first], field))}
            for key in sorted(keys - {""}):
                found.setdefault(key, []).append(document)
        laws = {key: tuple(documents) for key, documents in found.items()} | laws
    return laws


def build_corpus(chunks: Sequence[LinkChunk], threads: int = 2, folder: Path | None = None) -> Corpus:
    """Return the corpus of chunks that are in document order (see `chunks`); its index is kept in the folder."""
    index = index_of(chunks, threads, folder)
    folded = index.folded
    firsts = [i for i, chunk in enumerate(chunks) if i == 0 or chunk.document_id != chunks[i - 1].document_id]
    document_starts = [*firsts, len(chunks)]
    return Corpus(
        chunks=tuple(chunks),
        letters=folded.letters,
        codes=folded.codes,
        borders=folded.starts[document_starts],
        starts=folded.starts.tolist(),
        document_starts=document_starts,
        seeds=index.seeds,
        tails=tails_of(folded.codes, folded.starts),
        laws=_laws(chunks, firsts),
    )
