"""Vectors kept on this machine, so that no text is embedded twice by the same model: a new collection, a run after a
lost store, another collection with the same law.

One SQLite file in the home folder. A vector's key is a sha256 over the model with its revision, the version of the text
rules, and the text; its bytes are those the model gave. The cache is never needed and never believed: a row of another
length or with a component that is no number is made anew, a damaged file is put aside.
"""

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backends.embedders.protocol import Embedder, TokenLimit
from normalize.text import NORMALIZER_VERSION

MAX_BYTES: Final = 4 << 30
_AT_ONCE: Final = 500
_WAIT_SECONDS: Final = 30.0
# Share of the rows that goes when the file is full, the oldest first.
_MAKE_ROOM: Final = 0.25


class CachedEmbedder:
    """An embedder that asks the cache first; everything else is that of the embedder it stands for."""

    def __init__(self, embedder: Embedder, file: Path, *, max_bytes: int = MAX_BYTES) -> None:
        """Cache the vectors of `embedder` in `file`, which is made when the first vector is kept."""
        self._embedder = embedder
        self._file = file
        self._max_bytes = max_bytes
        self.from_cache = 0
        """How many vectors were not computed."""

    @property
    def model(self) -> str:
        """Name and revision of the model."""
        return self._embedder.model

    @property
    def description(self) -> str:
        """What the model is good for."""
        return self._embedder.description

    @property
    def dimension(self) -> int:
        """Components of a vector."""
        return self._embedder.dimension

    @property
    def max_characters(self) -> int:
        """Characters of a text that the model sees."""
        return self._embedder.max_characters

    @property
    def token_limit(self) -> TokenLimit | None:
        """The model's window in its own tokens."""
        return self._embedder.token_limit

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row a text, from the cache where it has one. Raises EmbedderError."""
        dimension = self.dimension
        rows = np.empty((len(texts), dimension), dtype=np.float32)
        keys = [_key(self.model, text) for text in texts]
        with _opened(self._file) as database:
            known = _look_up(database, keys, dimension) if database else {}
            missing = [index for index, key in enumerate(keys) if key not in known]
            for index, key in enumerate(keys):
                if key in known:
                    rows[index] = known[key]
            if missing:
                made = self._embedder.embed([texts[index] for index in missing])
                rows[missing] = made
                if database:
                    self._keep(database, [keys[index] for index in missing], made)
        self.from_cache += len(texts) - len(missing)
        return rows

    def _keep(self, database: sqlite3.Connection, keys: Sequence[bytes], rows: NDArray[np.float32]) -> None:
        """Keep vectors; a cache that cannot be written (full disk, read-only) is no reason to stop."""
        with contextlib.suppress(sqlite3.Error), database:
            database.executemany(
                "INSERT OR REPLACE INTO vectors (key, vector) VALUES (?, ?)",
                [(key, row.astype("<f4").tobytes()) for key, row in zip(keys, rows, strict=True)],
            )
            pages, size, free = (
                database.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "page_size", "freelist_count")
            )
            if (pages - free) * size > self._max_bytes:
                database.execute(
                    "DELETE FROM vectors WHERE rowid IN (SELECT rowid FROM vectors ORDER BY rowid LIMIT "
                    "(SELECT CAST(count(*) * ? AS INTEGER) FROM vectors))",
                    (_MAKE_ROOM,),
                )


def from_cache(embedder: Embedder) -> int:
    """Return how many vectors of an embedder were taken from a cache so far."""
    return embedder.from_cache if isinstance(embedder, CachedEmbedder) else 0


def _key(model: str, text: str) -> bytes:
    digest = hashlib.sha256()
    for part in (model, NORMALIZER_VERSION, text):
        digest.update(part.encode() + b"\0")
    return digest.digest()


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection | None]:
    """Yield the open cache, or None where it cannot be opened; a damaged file is put aside and begun anew."""
    database = None
    for _ in range(2):
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(file, timeout=_WAIT_SECONDS)
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL)")
            break
        except sqlite3.OperationalError:  # locked, read-only, no room
            database = None
            break
        except sqlite3.DatabaseError:
            if database is not None:
                database.close()
            database = None
            with contextlib.suppress(OSError):
                file.replace(file.with_suffix(".damaged"))
        except OSError:
            break
    try:
        yield database
    finally:
        if database is not None:
            database.close()


def _look_up(database: sqlite3.Connection, keys: Sequence[bytes], dimension: int) -> dict[bytes, NDArray[np.float32]]:
    found: dict[bytes, NDArray[np.float32]] = {}
    with contextlib.suppress(sqlite3.Error):
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            for key, value in database.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", some):
                row = np.frombuffer(value, dtype="<f4").astype(np.float32) if len(value) == dimension * 4 else None
                if row is not None and np.isfinite(row).all() and row.any():
                    found[key] = row
    return found
