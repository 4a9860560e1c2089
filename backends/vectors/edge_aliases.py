"""Aliases of embedded collections: one small file beside them, replaced as a whole, so a switch is one rename."""

import json
from pathlib import Path

from filelock import FileLock, Timeout

from backends.vectors import edge_shards, sidecar
from backends.vectors.edge_shards import engine_errors
from normalize.errors import LockedError, StoreError

_FORMAT = 1


def read(root: Path) -> dict[str, str]:
    """Return the collection of each alias, by alias; raises StoreError if the file is damaged."""
    path = root / "aliases.json"
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if raw["format"] != _FORMAT:
            raise ValueError(f"format {raw['format']}")
        return {str(alias): str(collection) for alias, collection in sorted(raw["aliases"].items())}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreError(
            f"The file {path} with the aliases of the embedded collections cannot be read ({error}); restore it from a "
            "backup of the home directory."
        ) from None


def switch(root: Path, alias: str, collection: str, timeout: float) -> None:
    """Let the alias stand for the collection; raises StoreError (see `VectorStore.switch_alias`) or LockedError."""
    locks = root / ".locks"
    with engine_errors(collection, "give an alias to"):
        locks.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(locks / ".aliases.lock", timeout=timeout):  # a collection's lock never begins with a dot
                if edge_shards.exists(root, alias):
                    raise StoreError(f"Collection '{alias}' has the name that was to be an alias; take another name.")
                if not edge_shards.exists(root, collection):
                    raise StoreError(f"There is no collection '{collection}' that '{alias}' could stand for.")
                changed = dict(sorted((read(root) | {alias: collection}).items()))
                sidecar.write_json(root / "aliases.json", {"format": _FORMAT, "aliases": changed})
        except Timeout:
            raise LockedError(
                f"Another run is changing the aliases of the embedded collections (waited {timeout:g} s); run again."
            ) from None
