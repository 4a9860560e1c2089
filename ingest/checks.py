"""What verify and prune look at: the checks, each over the whole collection or a seeded sample of it (DESIGN §6)."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from backends.vectors.store import Record, VectorStore, Where
from ingest.chunker import Chunk
from ingest.documents import Loaded
from ingest.gather import Progress, claims_on, no_progress
from ingest.reading import Expected, Gathered
from ingest.stored import Claims, PointSketch
from normalize.errors import ContractError
from normalize.payload import check_payload

EXAMPLES = 5
_COUNT_BATCH = 200
_TEXTS_SHOWN = 5_000


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
    skipped: Sequence[Loaded] = ()


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
    return Evidence(expected, claims, current, old, skipped)


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


def check_texts(store: VectorStore, collection: str, evidence: Evidence, progress: Progress = no_progress) -> Check:
    """The text of every chunk in the store has the hash that the source gives; read page by page, never all at once.

    A payload whose stored hash is right may still have lost its text (to another program, or a half-applied write).
    """
    wanted = {str(p.id): p for document in evidence.expected for p in document.points}
    held = sum(len(points) for points in evidence.current.values())
    checked, other = 0, []
    progress("reading texts", 0, held)
    for record in store.scroll(collection, payload=["chunk_text"]) if held else ():
        point = wanted.get(str(record.id))
        if point is None:
            continue
        checked += 1
        text = record.payload.get("chunk_text")
        if not isinstance(text, str) or hashlib.sha256(text.encode()).hexdigest() != point.chunk_hash:
            other.append(point.name)
        if checked % _TEXTS_SHOWN == 0:
            progress("reading texts", checked, held)
    return _check("the text of every chunk has the hash of its source", checked, other)


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


def sample_of(gathered: Gathered, share: float, seed: int) -> list[Chunk]:
    """Return the sample of one document (see `draw_sample`); a function of a module, so that processes can run it."""
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
