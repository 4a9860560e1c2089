"""The files of an embedded collection: locked, built, opened, removed.

`<root>/<collection>/` holds `shard/` (the engine's files) and `collection.json` (layout and metadata); locks lie in
`<root>/.locks/`. One process at a time has a collection open, for reading too: the engine can no more.
"""

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import qdrant_edge as engine
from filelock import FileLock, Timeout

from backends.vectors import sidecar
from backends.vectors.store import IndexKind, Layout
from normalize.errors import FundstelleError, LockedError, StoreError

# Seconds between attempts to get a lock.
_POLL = 0.02
# What the engine says when another process has the write-ahead log open.
_ENGINE_LOCKED = "WouldBlock"
# The unit of st_blocks, whatever the file system's own.
_BLOCK = 512
# In KB of vectors: high enough that the engine never builds a graph.
_NO_GRAPH = 10**12

_KINDS: Mapping[str, engine.PayloadSchemaType] = {
    "keyword": engine.PayloadSchemaType.Keyword,
    "integer": engine.PayloadSchemaType.Integer,
    "bool": engine.PayloadSchemaType.Bool,
}
_DISTANCES: Mapping[str, engine.Distance] = {
    "Cosine": engine.Distance.Cosine,
    "Dot": engine.Distance.Dot,
    "Euclid": engine.Distance.Euclid,
    "Manhattan": engine.Distance.Manhattan,
}


@dataclass(slots=True)
class OpenShard:
    """A collection this process holds: its lock, its shard, its description, and whether it was written to.

    `state` is another object after every write; `counted` is how many points there were in one of these states.
    """

    lock: FileLock
    shard: engine.EdgeShard
    about: sidecar.Sidecar
    dirty: bool = False
    state: object = field(default_factory=object)
    counted: tuple[object, int] | None = None


def names(root: Path) -> list[str]:
    """Return the names of the finished collections, sorted; drafts and leftovers begin with a dot."""
    if not root.is_dir():
        return []
    return sorted(path.parent.name for path in root.glob("*/collection.json") if not path.parent.name.startswith("."))


def exists(root: Path, collection: str) -> bool:
    """Tell whether there is a finished collection of that name."""
    return _description(root, collection).is_file()


def acquire(root: Path, collection: str, timeout: float) -> FileLock:
    """Return the collection's lock, held; raises LockedError if another process keeps it for `timeout` seconds."""
    locks = root / ".locks"
    with engine_errors(collection, "lock"):
        locks.mkdir(parents=True, exist_ok=True)
        lock = FileLock(locks / f"{collection}.lock", thread_local=False)
        try:
            lock.acquire(timeout=timeout, poll_interval=_POLL)
        except Timeout:
            raise _locked(collection, f"the lock {lock.lock_file}", timeout) from None
    return lock


def load(root: Path, collection: str, timeout: float) -> OpenShard:
    """Return the collection, locked and open; raises LockedError or StoreError."""
    lock = acquire(root, collection, timeout)
    try:
        about = sidecar.read(_description(root, collection))
        return OpenShard(lock, _load_engine(root, collection, timeout), about)
    except BaseException:
        lock.release()
        raise


def build(
    root: Path, collection: str, layout: Layout, indexes: Mapping[str, IndexKind], metadata: Mapping[str, Any]
) -> None:
    """Make a collection aside and move it into place, so a crash leaves it whole or not there. Needs the lock."""
    if layout.distance not in _DISTANCES:
        raise StoreError(f"Distance {layout.distance!r} is none of {', '.join(_DISTANCES)}; nothing was created.")
    dense = engine.EdgeVectorParams(size=layout.dimension, distance=_DISTANCES[layout.distance])
    sparse = {layout.sparse: engine.EdgeSparseVectorParams(modifier=engine.Modifier.Idf)} if layout.sparse else None
    config = engine.EdgeConfig(
        vectors={layout.dense: dense},
        sparse_vectors=sparse,
        optimizers=engine.EdgeOptimizersConfig(indexing_threshold=_NO_GRAPH),
    )
    draft = root / f".new-{collection}"
    with engine_errors(collection, "create"):
        shutil.rmtree(draft, ignore_errors=True)
        (draft / "shard").mkdir(parents=True)
        shard = engine.EdgeShard.create(str(draft / "shard"), config)
        create_indexes(shard, indexes)
        shard.flush()
        shard.close()
        sidecar.write(draft / "collection.json", sidecar.Sidecar(layout, metadata))
        draft.rename(root / collection)
        sidecar.sync_directory(root)


def create_indexes(shard: engine.EdgeShard, indexes: Mapping[str, IndexKind]) -> None:
    """Create payload indexes; the caller flushes."""
    for name in sorted(indexes):
        shard.update(engine.UpdateOperation.create_field_index(name, _KINDS[indexes[name]]))


def describe(root: Path, collection: str, about: sidecar.Sidecar) -> None:
    """Replace the collection's description. Needs the lock."""
    with engine_errors(collection, "describe"):
        sidecar.write(_description(root, collection), about)


def remove(root: Path, collection: str) -> None:
    """Remove a closed collection; a crash leaves at most a hidden leftover. Needs the lock."""
    doomed = root / f".dropped-{collection}"
    with engine_errors(collection, "drop"):
        shutil.rmtree(doomed, ignore_errors=True)
        if exists(root, collection):
            (root / collection).rename(doomed)
            sidecar.sync_directory(root)
            shutil.rmtree(doomed)


def size(root: Path, collection: str) -> int:
    """Return the bytes that the files of a collection take on disk; files that vanish meanwhile count nothing."""
    total = 0
    for path in (root / collection).rglob("*"):
        try:
            total += path.lstat().st_blocks * _BLOCK
        except FileNotFoundError:
            continue
    return total


def close(collection: str, opened: OpenShard) -> None:
    """Close the shard and release the lock.

    After writes the engine optimises first: it vacuums where its thresholds are passed (a fifth of a segment deleted;
    0.4 s for 20,000 points) and else returns at once. It may be killed at any moment.
    """
    try:
        with engine_errors(collection, "close"):
            if opened.dirty:
                opened.shard.optimize()
            opened.shard.close()
    finally:
        opened.lock.release()


@contextmanager
def writing(collection: str, opened: OpenShard, doing: str) -> Iterator[None]:
    """Note that points are written; what was counted before or meanwhile no longer counts."""
    opened.dirty = True
    opened.state = object()
    try:
        with engine_errors(collection, doing):
            yield
    finally:
        opened.state = object()


@contextmanager
def engine_errors(collection: str, doing: str) -> Iterator[None]:
    """Turn the engine's untyped exceptions, and those of the file system, into a StoreError of one sentence."""
    try:
        yield
    except FundstelleError:
        raise
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StoreError(
            f"The embedded vector engine could not {doing} collection '{collection}': {reason}; check the free space "
            "and the permissions of the home directory, then run again."
        ) from error


def _load_engine(root: Path, collection: str, timeout: float) -> engine.EdgeShard:
    """Open the shard; a process that ends gives up our lock a moment before the engine's own, so wait for both."""
    until = time.monotonic() + timeout
    while True:
        try:
            with engine_errors(collection, "open"):
                return engine.EdgeShard.load(str(root / collection / "shard"))
        except StoreError as error:
            if _ENGINE_LOCKED not in str(error):
                raise
        if time.monotonic() >= until:
            raise _locked(collection, "the engine's own lock", timeout)
        time.sleep(_POLL)


def _locked(collection: str, lock: str, timeout: float) -> LockedError:
    return LockedError(
        f"Collection '{collection}' of the embedded vector store is in use by another run, which holds {lock} "
        f"(waited {timeout:g} s); wait for that run to end and try again."
    )


def _description(root: Path, collection: str) -> Path:
    return root / collection / "collection.json"
