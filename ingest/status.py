"""Where every collection stands, as an operator must know it before the next step: whose its points are and what is
old, verified or nobody's; whether the receipt still holds; what ran last, and what never ended.

All of it is read from the stores and the books: no source is parsed, so it takes seconds where `verify` takes minutes.
"""

import json
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from backends.tables.connect import Tables
from backends.tables.locks import is_locked
from backends.tables.runs import (
    RUNNING,
    DocumentState,
    Run,
    booked_collections,
    document_states,
    latest_receipt,
    latest_runs,
    receipt_time,
)
from backends.vectors.store import GENERATION, Collection, VectorStore
from ingest.digests import points_digest
from ingest.documents import Names
from ingest.manifest import read_manifest
from ingest.receipt import names_of, sources_digest
from ingest.stored import PointSketch, claim, read_points
from normalize.errors import FundstelleError

_RUNS = 5
_SAMPLE = 200
_FLOAT = 4


@dataclass(frozen=True, slots=True)
class Standing:
    """The points of a collection by what they are, and by document.

    `new` are of the version in the books, `old` of another one or of an older pipeline, `orphaned` of no document that
    the books know, `unsorted` of an older pipeline while no receipt says whose they are.
    """

    new: dict[str, list[PointSketch]]
    old: dict[str, list[PointSketch]]
    orphaned: list[PointSketch]
    unsorted: list[PointSketch]


def sort_points(
    points: list[PointSketch], states: dict[str, DocumentState], receipt: dict[str, Any] | None
) -> Standing:
    """Sort points as `verify` would, by the names that the receipt has of the documents."""
    named = {names.document_id: names for names in names_of(receipt or {})}
    owners = [*named.values(), *(Names(one, (), frozenset()) for one in states if one not in named)]
    claims = claim(points, owners, names_of(receipt or {}, "without_text"))
    versions = {name: str(said["version"]) for name, said in (receipt or {"documents": {}})["documents"].items()}
    versions |= {name: state.document_version for name, state in states.items()}
    new: dict[str, list[PointSketch]] = {}
    old: dict[str, list[PointSketch]] = {}
    for name, held in claims.by_document.items():
        version = versions.get(name)
        new[name] = [p for p in held if p.is_contract and p.document_id == name and p.version == version]
        old[name] = [p for p in held if not (p.is_contract and p.document_id == name and p.version == version)]
    unknown = [p for p in claims.unclaimed if receipt is None and not p.is_contract]
    orphaned = [p for p in claims.unclaimed if receipt is not None or p.is_contract]
    return Standing(new, old, orphaned, unknown)


def collections_status(store: VectorStore, tables: Tables) -> list[dict[str, Any]]:
    """Return one entry a collection, sorted by name; a collection that only the books know is `missing`."""
    found = []
    aliases: dict[str, list[str]] = {}
    for alias, collection in store.aliases().items():
        aliases.setdefault(collection, []).append(alias)
    there = store.collections()
    for name in sorted({*there, *booked_collections(tables)}):
        about = store.describe(name) if name in there else None
        if about is None:
            states = document_states(tables, name)
            found.append({"collection": name, "missing": True, "points": 0, "documents": len(states)})
        else:
            found.append(_collection(store, tables, about, aliases.get(name, [])))
    return found


def _collection(store: VectorStore, tables: Tables, about: Collection, aliases: list[str]) -> dict[str, Any]:
    name = about.name
    states = document_states(tables, name)
    receipt = latest_receipt(tables, name)
    if receipt is not None:
        states = _of_the_manifest(tables, name, states, receipt)
    points = read_points(store, name)
    standing = sort_points(points, states, receipt)
    verified = _verified(standing, receipt)
    size, measured = _size(store, about)

    def part(count: int) -> dict[str, int]:
        return {"points": count, "bytes": size * count // len(points) if points else 0}

    given = receipt_time(tables, name)
    runs = [run for known in (name, *aliases) for run in latest_runs(tables, 1, collection=known)]
    last = max(runs, key=lambda run: run.run_id, default=None)
    said = about.metadata.get(GENERATION)
    return {
        "collection": name,
        "missing": False,
        "aliases": aliases,
        "built_for": dict(said) if said else None,
        "points": len(points),
        "bytes": size,
        "bytes_from": measured,
        "new": part(sum(map(len, standing.new.values()))),
        "verified": part(sum(len(standing.new[document]) for document in verified)),
        "old": part(sum(map(len, standing.old.values()))),
        "orphaned": part(len(standing.orphaned)),
        "unsorted": part(len(standing.unsorted)),
        "old_versions": _by_version([p for held in standing.old.values() for p in held]),
        "booked_chunks": sum(state.chunks for state in states.values()),
        "documents": len(states),
        "states": dict(sorted(Counter(state.state for state in states.values()).items())),
        "dimension": about.layout.dimension,
        "bm25": about.layout.sparse is not None,
        "model": about.metadata.get("embedder"),
        "receipt": receipt["digest"] if receipt else None,
        "receipt_given": given.isoformat(timespec="seconds") if given else None,
        **_fitness(tables, name, standing, states, receipt),
        "last_run": _run(tables, last) if last is not None else None,
    }


def _of_the_manifest(
    tables: Tables, collection: str, states: dict[str, DocumentState], receipt: dict[str, Any]
) -> dict[str, DocumentState]:
    """Leave out documents that were in the books before the receipt and are not in it: they have left the manifest."""
    since = max((run.run_id for run in latest_runs(tables, 1, command="verify", collection=collection)), default=0)
    return {name: s for name, s in states.items() if name in receipt["documents"] or s.run_id > since}


def _by_version(points: list[PointSketch]) -> dict[str, int]:
    return dict(sorted(Counter(point.version or "none" for point in points).items()))


def _size(store: VectorStore, about: Collection) -> tuple[int, str]:
    """Return the bytes of a collection and where the figure comes from: the disk, or the payloads of some points."""
    size = store.size_bytes(about.name)
    if size is not None:
        return size, "disk"
    some = list(islice(store.scroll(about.name, batch=_SAMPLE), _SAMPLE))
    payloads = sum(len(json.dumps(record.payload, ensure_ascii=False).encode()) for record in some)
    each = payloads / len(some) if some else 0.0
    return round(about.points * (each + about.layout.dimension * _FLOAT)), f"estimate from {len(some)} points"


def _verified(standing: Standing, receipt: dict[str, Any] | None) -> list[str]:
    """The documents whose points are, byte for byte, those that a verification passed."""
    documents = receipt["documents"] if receipt else {}
    return [
        name
        for name, held in standing.new.items()
        if name in documents and documents[name]["expected"] == points_digest(held)
    ]


def _fitness(
    tables: Tables,
    collection: str,
    standing: Standing,
    states: dict[str, DocumentState],
    receipt: dict[str, Any] | None,
) -> dict[str, str | None]:
    """Say whether `prune` would accept the receipt: `none`, `fit`, `used` (its prune has run), or `stale` and why."""
    if receipt is None:
        return {"receipt_state": "none", "receipt_says": None}
    documents = receipt["documents"]
    verified = set(_verified(standing, receipt))
    changed = sorted(name for name in documents if name not in verified and documents[name]["chunks"])
    changed += sorted(set(states) - set(documents))
    if changed:
        return {"receipt_state": "stale", "receipt_says": f"the store or the books have changed (first: {changed[0]})"}
    if reason := _sources_changed(receipt):
        return {"receipt_state": "stale", "receipt_says": reason}
    was, now = _old_digests(receipt), {name: points_digest(held) for name, held in standing.old.items() if held}
    if was == now:
        return {"receipt_state": "fit", "receipt_says": None}
    if not now:
        return {"receipt_state": "used", "receipt_says": "its old points are pruned"}
    if _prune_died(tables, collection, standing, receipt):
        return {"receipt_state": "fit", "receipt_says": "a prune under it was interrupted: run it again"}
    other = sorted(name for name in was | now if was.get(name) != now.get(name))
    return {"receipt_state": "stale", "receipt_says": f"the old points have changed (first: {other[0]})"}


def _old_digests(receipt: dict[str, Any]) -> dict[str, str]:
    return {name: said["old_digest"] for name, said in receipt["documents"].items() if said["old"]}


def _prune_died(tables: Tables, collection: str, standing: Standing, receipt: dict[str, Any]) -> bool:
    """Whether the last prune of this receipt did not end, and no more old points are there than it began with."""
    last = next(iter(latest_runs(tables, 1, command="prune", collection=collection)), None)
    if last is None or last.status == "done" or last.details.get("receipt") != receipt["digest"]:
        return False
    return all(len(held) <= receipt["documents"][name]["old"] for name, held in standing.old.items() if held)


def _sources_changed(receipt: dict[str, Any]) -> str | None:
    if "sources" not in receipt:
        return "it is of an older version of fundstelle"
    try:
        manifest = read_manifest(Path(receipt["manifest"]))
    except FundstelleError as error:
        return f"its manifest is no longer what it was ({error})"
    return None if sources_digest(manifest) == receipt["sources"] else "the manifest or its files have changed"


def runs_status(tables: Tables, limit: int = _RUNS) -> list[dict[str, Any]]:
    """Return the last runs, newest first; one that never ended and holds no lock any more is `interrupted`."""
    return [_run(tables, run) for run in latest_runs(tables, limit)]


def _run(tables: Tables, run: Run) -> dict[str, Any]:
    status = run.status
    if status == RUNNING and not is_locked(tables, run.collection):
        status = "interrupted"
    took = (run.finished_at - run.started_at).total_seconds() if run.finished_at else None
    return {
        "run": run.run_id,
        "command": run.command,
        "collection": run.collection,
        "status": status,
        "started": run.started_at.isoformat(timespec="seconds"),
        "finished": run.finished_at.isoformat(timespec="seconds") if run.finished_at else None,
        "seconds": round(took, 3) if took is not None else None,
        "summary": run.summary,
    }
