"""Verify: does the store hold exactly what the sources say, before anything old is deleted? (DESIGN §6)

Expected is computed anew from the sources. Compared are the exact counts, every id, hash and payload field of every
chunk, and of a seeded sample the whole payload against contract and source, and its vectors. A pass gives a receipt.
"""

import hashlib
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from backends.tables.connect import Tables
from backends.tables.runs import (
    document_states,
    finish_run,
    latest_receipt,
    save_receipt,
    set_document_states,
    start_run,
)
from backends.vectors.store import Record, VectorStore, Where
from ingest.chunker import Chunk
from ingest.digests import points_digest
from ingest.documents import Loaded
from ingest.gather import Progress, claims_on, no_progress, survey
from ingest.manifest import Manifest
from ingest.reading import Expected, Gathered
from ingest.reingest import list_unclaimed
from ingest.stored import Claims, PointSketch
from ingest.target import EmbedderFor, held_limit
from normalize.errors import ContractError, GateError
from normalize.laws import LawTable
from normalize.payload import check_payload

SAMPLE = 0.05
SEED = 1
EXAMPLES = 5
_COUNT_BATCH = 200


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what it asks, over how many things, how many failed, and some of those."""

    name: str
    checked: int
    failed: int
    examples: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything a verdict rests on: what is expected, and what the store has of it."""

    expected: list[Expected]
    claims: Claims
    current: dict[str, list[PointSketch]]
    old: dict[str, list[PointSketch]]


def gather_evidence(
    store: VectorStore, collection: str, expected: list[Expected], skipped: Sequence[Loaded] = ()
) -> Evidence:
    """Read the collection and sort its points into current and old ones of each document."""
    claims = claims_on(store, collection, expected, skipped)
    current: dict[str, list[PointSketch]] = {}
    old: dict[str, list[PointSketch]] = {}
    for document in expected:
        wanted = {str(point.id) for point in document.points}
        held = claims.by_document.get(document.names.document_id, [])
        current[document.names.document_id] = [p for p in held if str(p.id) in wanted]
        old[document.names.document_id] = [p for p in held if str(p.id) not in wanted]
    return Evidence(expected, claims, current, old)


def verify(
    store: VectorStore,
    tables: Tables,
    collection: str,
    manifest: Manifest,
    laws: LawTable,
    *,
    sample: float = SAMPLE,
    seed: int = SEED,
    write_receipt: bool = True,
    progress: Progress = no_progress,
    embedder_for: EmbedderFor | None = None,
) -> dict[str, Any]:
    """Return the verdict: `ok`, each check with its counts, old points that may go, seconds. Writes only the receipt.

    `sample` is the share of chunks (at least one a document) whose whole payload and vectors are compared.
    `embedder_for` is asked only for a collection that was chunked under the token limit of its embedder. Raises
    GateError if the collection does not exist or was chunked under another limit.
    """
    started = time.perf_counter()
    about = store.describe(collection)
    if about is None:
        raise GateError(f"There is no collection '{collection}' in {store.where}: run 'fundstelle reingest' first.")
    tokens = held_limit(about, collection, embedder_for)
    found = survey(manifest, laws, partial(_sample_of, share=sample, seed=seed), progress, tokens=tokens)
    sampled = {chunk.point_id: found.edges.fill(chunk) for drawn in found.picked for chunk in drawn}
    expected = found.expected
    evidence = gather_evidence(store, collection, expected, found.skipped)
    read = time.perf_counter()
    checks = [
        check_present(evidence),
        check_same(evidence),
        check_citations(evidence),
        check_counts(store, collection, evidence),
        check_sample(store, collection, sampled),
    ]
    ok = not any(check.failed for check in checks)
    receipt = make_receipt(collection, evidence, sample=sample, seed=seed)
    report = {
        "collection": collection,
        "ok": ok,
        "documents": len(expected),
        "chunks": sum(len(document.points) for document in expected),
        "old_points": sum(len(points) for points in evidence.old.values()),
        "unclaimed": list_unclaimed(evidence.claims.unclaimed),
        "checks": [asdict(check) for check in checks],
        "receipt": None,
        "seconds": {"read": round(read - started, 3), "check": round(time.perf_counter() - read, 3)},
    }
    if ok and write_receipt:
        report["receipt"] = _write_receipt(tables, collection, receipt, evidence, manifest)
    return report


def _write_receipt(
    tables: Tables, collection: str, receipt: dict[str, Any], evidence: Evidence, manifest: Manifest
) -> str:
    """Keep the receipt (once, however often the same state is verified) and book the documents as verified."""
    if latest_receipt(tables, collection) != receipt:
        run_id = start_run(tables, "verify", collection, {"manifest": str(manifest.path.resolve())})
        save_receipt(tables, collection, receipt)
        known = document_states(tables, collection)
        states = {}
        for document in evidence.expected:
            before = known.get(document.names.document_id)
            pruned = before is not None and before.state == "pruned" and before.document_version == document.version
            if not (pruned and not evidence.old[document.names.document_id]):
                states[document.names.document_id] = (document.version, "verified", len(document.points))
        set_document_states(tables, collection, run_id, states)
        finish_run(tables, run_id, "done", {"receipt": receipt["digest"]})
    return str(receipt["digest"])


def make_receipt(collection: str, evidence: Evidence, *, sample: float, seed: int) -> dict[str, Any]:
    """Return the receipt: for every document its version, and digests of what is expected and of what is old."""
    documents = {
        document.names.document_id: {
            "version": document.version,
            "chunks": len(document.points),
            "expected": points_digest(document.points),
            "old": len(evidence.old[document.names.document_id]),
            "old_digest": points_digest(evidence.old[document.names.document_id]),
        }
        for document in evidence.expected
    }
    lines = [f"{key} {value}" for key, value in sorted(documents.items())]
    digest = hashlib.sha256("\n".join([collection, *lines]).encode()).hexdigest()[:16]
    return {"collection": collection, "digest": digest, "sample": sample, "seed": seed, "documents": documents}


# --- Checks --------------------------------------------------------------------------------------------------------


def check_present(evidence: Evidence) -> Check:
    """Every expected chunk is in the store."""
    missing = [
        point.name
        for document in evidence.expected
        for point in _without(document.points, evidence.current[document.names.document_id])
    ]
    return _check("every chunk is in the store", sum(len(d.points) for d in evidence.expected), missing)


def _without(points: Iterable[PointSketch], held: Iterable[PointSketch]) -> list[PointSketch]:
    ids = {str(point.id) for point in held}
    return [point for point in points if str(point.id) not in ids]


def check_same(evidence: Evidence) -> Check:
    """Every chunk in the store has the hash and the payload the source gives."""
    wanted = {str(p.id): p for document in evidence.expected for p in document.points}
    held = [p for points in evidence.current.values() for p in points]
    other = [
        p.name for p in held if (p.digest, p.chunk_hash) != (wanted[str(p.id)].digest, wanted[str(p.id)].chunk_hash)
    ]
    return _check("hash and payload are as the source gives them", len(held), other)


def check_citations(evidence: Evidence) -> Check:
    """No chunk in the store is without article or label."""
    held = [p for points in evidence.current.values() for p in points]
    bare = [str(p.id) for p in held if not p.article or not p.label]
    return _check("article and label are filled", len(held), bare)


def check_counts(store: VectorStore, collection: str, evidence: Evidence) -> Check:
    """The store's own exact counts agree with the ids it returned: nothing is hidden, nothing double."""
    points = [*evidence.claims.unclaimed, *(p for found in evidence.claims.by_document.values() for p in found)]
    read = Counter(point.document_id for point in points)
    ids = sorted(evidence.current)
    problems = []
    for start in range(0, len(ids), _COUNT_BATCH):
        batch = ids[start : start + _COUNT_BATCH]
        counted = store.count(collection, Where(must={"document_id": batch}))
        expected = sum(read[document_id] for document_id in batch)
        if counted != expected:
            problems.append(f"{counted} counted, {expected} read for {batch[0]} to {batch[-1]}")
    if (counted := store.count(collection)) != len(points):
        problems.append(f"{counted} counted, {len(points)} read in the whole collection")
    return _check("exact counts agree with the ids read", len(ids) + 1, problems)


def _sample_of(gathered: Gathered, share: float, seed: int) -> list[Chunk]:
    return draw_sample(gathered.chunks, share, seed)


def draw_sample(chunks: Sequence[Chunk], share: float, seed: int) -> list[Chunk]:
    """Return a share of the chunks, at least one, chosen by seed and chunk id alone (the same on every machine)."""
    wanted = max(1, round(len(chunks) * share))
    ranked = sorted(chunks, key=lambda c: hashlib.sha256(f"{seed}|{c.chunk_id}".encode()).digest())
    return ranked[:wanted]


def check_sample(store: VectorStore, collection: str, sampled: dict[str, Chunk]) -> Check:
    """The sampled points, read whole, keep the contract, are what the source gives, and have usable vectors."""
    problems: list[str] = []
    ids = sorted(sampled)
    for start in range(0, len(ids), _COUNT_BATCH):
        batch = ids[start : start + _COUNT_BATCH]
        records = {str(r.id): r for r in store.retrieve(collection, batch, payload=True, vectors=True)}
        for point_id in batch:
            chunk, record = sampled[point_id], records.get(point_id)
            if record is None:
                problems.append(f"{chunk.payload['article_label']}: not returned")
            elif reason := _wrong(record, chunk):
                problems.append(f"{chunk.payload['article_label']}: {reason}")
    return _check("sampled points are whole (contract, source, vectors)", len(ids), problems)


def _wrong(record: Record, chunk: Chunk) -> str | None:
    try:
        check_payload(record.payload)
    except ContractError as error:
        return str(error)
    if record.payload != chunk.payload:
        fields = [name for name, value in chunk.payload.items() if record.payload.get(name) != value]
        return f"field {', '.join(fields)} differs from the source"
    if record.dense is None or not np.isfinite(record.dense).all() or not np.any(record.dense):
        return "the dense vector is missing or empty"
    return None


def _check(name: str, checked: int, problems: list[str]) -> Check:
    return Check(name, checked, len(problems), problems[:EXAMPLES])
