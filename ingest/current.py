"""Which version of a document counts while points of two versions stand side by side (between reingest and prune).

Kept with the collection, so that a search needs no database: an entry a document that still has old points. It is set
once the new points are written and read back (effect first), and removed by prune.
"""

from collections.abc import Iterable, Mapping

from backends.vectors.store import CURRENT_VERSIONS, VectorStore


def set_current(store: VectorStore, collection: str, versions: Mapping[str, str], others: Iterable[str] = ()) -> None:
    """Enter the current version of each document that has old points; forget `others`, which have none."""
    about = store.describe(collection)
    if about is None:
        return
    known: dict[str, str] = dict(about.metadata.get(CURRENT_VERSIONS) or {})
    gone = set(others)
    wanted = {name: version for name, version in (known | dict(versions)).items() if name not in gone}
    if wanted != known:
        store.set_metadata(collection, {CURRENT_VERSIONS: dict(sorted(wanted.items()))})
