"""The small file beside an embedded shard: layout and metadata of the collection, written atomically."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from backends.vectors.store import Layout
from normalize.errors import StoreError

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Sidecar:
    """What the engine does not keep for us."""

    layout: Layout
    metadata: Mapping[str, Any]


def read(path: Path) -> Sidecar:
    """Return the sidecar; raises StoreError if the file is missing or damaged."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if raw["format"] != _FORMAT:
            raise ValueError(f"format {raw['format']}")
        return Sidecar(Layout(**raw["layout"]), dict(raw["metadata"]))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StoreError(
            f"The description {path} of an embedded collection cannot be read ({error}); restore it from a backup of "
            "the home directory, or remove the collection's directory and re-ingest."
        ) from None


def write(path: Path, sidecar: Sidecar) -> None:
    """Write the sidecar so that a crash leaves either the old or the new one, and a return means it is on disk."""
    write_json(path, {"format": _FORMAT, "layout": asdict(sidecar.layout), "metadata": dict(sidecar.metadata)})


def write_json(path: Path, raw: Mapping[str, Any]) -> None:
    """Replace a small file so that a crash leaves either the old or the new one, and a return means it is on disk."""
    temporary = path.with_name(path.name + ".new")
    with temporary.open("w", encoding="utf-8") as file:
        json.dump(raw, file, ensure_ascii=False, allow_nan=False, indent=1, sort_keys=True)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make renames inside the directory survive a power cut."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
