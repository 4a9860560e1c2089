"""Generations: the collections `name.v1`, `name.v2`, … that stand, one at a time, behind the alias `name`.

Each says in its metadata whose it is, which one it followed, and how far it is: a `draft` has never been served and may
be thrown away, a `served` one is what a rollback goes back to, a `restoring` one is not whole again yet. Which one is
served now is said by the alias alone.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from backends.vectors.store import GENERATION, Collection, VectorStore
from ingest.certain import until_certain
from normalize.errors import GateError

DRAFT, SERVED, RESTORING = "draft", "served", "restoring"


@dataclass(frozen=True, slots=True)
class Generation:
    """One collection of an alias; `previous` is the collection it followed, None for the first."""

    name: str
    alias: str
    previous: str | None
    state: str
    points: int

    def metadata(self, state: str) -> dict[str, Any]:
        """Return the metadata that says this of it, in another state."""
        return written(self.alias, self.previous, state)


def written(alias: str, previous: str | None, state: str) -> dict[str, Any]:
    """Return the metadata of a generation."""
    return {GENERATION: {"alias": alias, "previous": previous, "state": state}}


def generation(store: VectorStore, collection: str | None) -> Generation | None:
    """Return what a collection is to its alias, or None for one that was not built for one (or is not there)."""
    about = store.describe(collection) if collection is not None else None
    said = about.metadata.get(GENERATION) if about is not None else None
    if about is None or collection is None or not isinstance(said, Mapping):
        return None
    return Generation(collection, str(said["alias"]), said["previous"], str(said["state"]), about.points)


def is_restoring(about: Collection) -> bool:
    """Whether a collection is only half put back from its backup."""
    said = about.metadata.get(GENERATION)
    return isinstance(said, Mapping) and said.get("state") == RESTORING


def generations(store: VectorStore, alias: str) -> list[Generation]:
    """Return all generations of an alias that are in the store, oldest first."""
    named = sorted((number, name) for name in store.collections() if (number := _number(alias, name)) is not None)
    found = [generation(store, name) for _, name in named]
    return [one for one in found if one is not None and one.alias == alias]


def next_name(store: VectorStore, alias: str, known: Iterable[str]) -> str:
    """Return a name that no generation has or (as far as the books know: `known`) ever had."""
    numbers = [_number(alias, name) for name in (*store.collections(), *known)]
    return f"{alias}.v{max((n for n in numbers if n is not None), default=0) + 1}"


def _number(alias: str, name: str) -> int | None:
    match = re.fullmatch(re.escape(alias) + r"\.v([0-9]+)", name)
    return int(match[1]) if match else None


def is_behind_alias(store: VectorStore, name: str) -> bool:
    """Whether a name is the alias of a collection that was built for it."""
    return generation(store, store.aliases().get(name)) is not None


def refuse_plain(store: VectorStore, alias: str) -> None:
    """Raise GateError if the name of the alias is that of a collection."""
    if alias in store.collections():
        raise GateError(
            f"Collection '{alias}' exists under this very name, so the name cannot be an alias: re-ingest it with "
            "--strategy coexist, or give the alias a name of its own with --collection and let the consumers ask that."
        )


def refuse_beside(store: VectorStore, name: str) -> None:
    """Raise GateError if a name is the alias of a generation, which is not written into but replaced."""
    if is_behind_alias(store, name):
        current = store.aliases()[name]
        raise GateError(
            f"'{name}' is an alias, of '{current}', which was built beside the one before it: re-ingest it with "
            f"--strategy alias, or name '{current}' to write into that collection."
        )


def switch(store: VectorStore, alias: str, collection: str) -> None:
    """Let the alias stand for the collection, and read back that it does."""

    def elsewhere(_: object) -> list[str]:
        return [] if store.aliases().get(alias) == collection else [alias]

    until_certain(
        [alias],
        lambda _: store.switch_alias(alias, collection),
        elsewhere,
        f"pointing to '{collection}'",
        "aliases",
    )


def drop(store: VectorStore, collection: str) -> None:
    """Remove a collection, and read back that it is gone."""

    def there(_: object) -> list[str]:
        return [collection] if collection in store.collections() else []

    until_certain([collection], lambda _: store.drop(collection), there, "removed", "collections")
