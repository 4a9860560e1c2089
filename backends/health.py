"""Can everything be reached? One answer a part, each a sentence; nothing is changed."""

import importlib.util
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from backends.embedders import Embedder
from backends.tables.connect import Tables
from backends.tables.upgrade import is_current
from backends.vectors.store import VectorStore
from normalize.errors import FundstelleError

_LOW_DISK = 2 * 1024**3


@dataclass(frozen=True, slots=True)
class Finding:
    """One part: whether it is fine, and what was found or what to do."""

    part: str
    ok: bool
    says: str


def check_vectors(opened: Callable[[], AbstractContextManager[VectorStore]]) -> Finding:
    """Open the vector store and count its collections."""
    try:
        with opened() as store:
            return Finding("vectors", True, f"{store.where}: {len(store.collections())} collections")
    except FundstelleError as error:
        return Finding("vectors", False, str(error))


def check_tables(opened: Callable[[], AbstractContextManager[Tables]]) -> Finding:
    """Open the database and look whether its tables are up to date."""
    try:
        with opened() as tables:
            if is_current(tables):
                return Finding("tables", True, f"{tables.where}: up to date")
            return Finding("tables", False, f"{tables.where}: run 'fundstelle db upgrade'")
    except FundstelleError as error:
        return Finding("tables", False, str(error))


def check_embedder(make: Callable[[], Embedder]) -> Finding:
    """Embed one short text."""
    try:
        embedder = make()
        embedder.embed(["Probe"])
        return Finding("embedder", True, f"{embedder.model} ({embedder.description})")
    except FundstelleError as error:
        return Finding("embedder", False, str(error))


def check_disk(home: Path) -> Finding:
    """Look at the free space where embedded stores and backups lie."""
    folder = next(parent for parent in (home.resolve(), *home.resolve().parents) if parent.is_dir())
    free = shutil.disk_usage(folder).free
    says = f"{free / 1024**3:.1f} GiB free at {folder}"
    return Finding("disk", free >= _LOW_DISK, says if free >= _LOW_DISK else f"{says}: make room before a re-ingest")


def check_extras() -> Finding:
    """Say which optional parts are installed; none of them is needed."""
    found = importlib.util.find_spec("sentence_transformers") is not None
    says = "sentence-transformers is installed" if found else "sentence-transformers is not installed (optional)"
    return Finding("extras", True, says)
