"""Bulk writes on a server: its graph index is built once at the end, not again and again while points arrive.

What the collection was set to is kept in its own metadata, so that whoever comes after a crash can put it back.
Source: Qdrant's guide on bulk uploads (indexing_threshold 0 switches the building off).
"""

from collections.abc import Mapping
from typing import Any, Final

from qdrant_client import models

PAUSED: Final = "paused_indexing"
OFF: Final = 0
DEFAULT_THRESHOLD: Final = 10_000
"""Kilobytes of vectors from which a segment gets a graph, where the server does not say what it was set to."""


def paused_threshold(metadata: Mapping[str, Any] | None) -> int | None:
    """Return what the threshold was before the pause, or None if the collection is not paused."""
    kept = (metadata or {}).get(PAUSED)
    return int(kept["indexing_threshold"]) if isinstance(kept, dict) else None


def to_keep(info: models.CollectionInfo) -> dict[str, Any] | None:
    """Return the metadata that a pause keeps, or None where there is nothing to pause (it is off already)."""
    threshold = info.config.optimizer_config.indexing_threshold
    if threshold == OFF:
        return None
    return {PAUSED: {"indexing_threshold": threshold or DEFAULT_THRESHOLD}}


def is_indexed(info: models.CollectionInfo) -> bool:
    """Whether the server has nothing left to optimise."""
    return info.status == models.CollectionStatus.GREEN
