"""What a backup of a whole collection needs beside its points: layout, indexes and metadata, in a small file."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from backends.vectors.sidecar import write_json
from backends.vectors.store import Collection, Layout
from normalize.errors import SourceError, StoreError


def description_of(backup: Path) -> Path:
    """Return the file beside a backup."""
    return backup.with_name(backup.name.removesuffix(".jsonl.zst") + ".collection.json")


def write_description(backup: Path, about: Collection) -> None:
    """Write what the collection is; a return means it is on disk. Raises StoreError if it cannot be written."""
    raw: dict[str, Any] = {
        "name": about.name,
        "layout": asdict(about.layout),
        "indexes": dict(about.indexes),
        "metadata": dict(about.metadata),
        "points": about.points,
    }
    try:
        backup.parent.mkdir(parents=True, exist_ok=True)
        write_json(description_of(backup), raw)
    except OSError as error:
        raise StoreError(f"Backup {backup} cannot be written ({error.strerror}): nothing was deleted.") from None


def read_description(backup: Path) -> Collection:
    """Return what the backed-up collection was; raises SourceError if the file is missing or damaged."""
    path = description_of(backup)
    try:
        raw = json.loads(path.read_text("utf-8"))
        return Collection(raw["name"], Layout(**raw["layout"]), raw["indexes"], raw["metadata"], raw["points"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SourceError(f"Description {path} of a backup cannot be read ({error}): use another backup.") from None
