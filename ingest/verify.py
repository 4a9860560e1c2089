"""Verify: does the store hold exactly what the sources say, before anything old is deleted? (DESIGN §6)

Expected is computed anew from the sources. Compared are the exact counts, every id, hash and payload field of every
chunk, the text of every chunk against its hash, and of a seeded sample the whole payload against contract and source,
and its vectors. A pass gives a receipt.
"""

import time
from dataclasses import asdict
from functools import partial
from typing import Any

from backends.tables.connect import Tables
from backends.tables.runs import (
    document_states,
    finish_run,
    latest_receipt,
    save_receipt,
    set_document_states,
    start_run,
)
from backends.vectors.store import VectorStore
from ingest.checks import (
    Evidence,
    check_citations,
    check_counts,
    check_present,
    check_same,
    check_sample,
    check_texts,
    gather_evidence,
    sample_of,
)
from ingest.gather import Progress, no_progress, survey
from ingest.manifest import Manifest
from ingest.receipt import make_receipt, sources_digest
from ingest.reingest import list_unclaimed
from ingest.target import EmbedderFor, held_limit
from normalize.errors import GateError
from normalize.laws import LawTable

SAMPLE = 0.05
SEED = 1


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
    sources = sources_digest(manifest)
    found = survey(manifest, laws, partial(sample_of, share=sample, seed=seed), progress, tokens=tokens)
    sampled = {chunk.point_id: found.edges.fill(chunk) for drawn in found.picked for chunk in drawn}
    expected = found.expected
    evidence = gather_evidence(store, collection, expected, found.skipped)
    read = time.perf_counter()
    checks = [
        check_present(evidence),
        check_same(evidence),
        check_texts(store, collection, evidence, progress),
        check_citations(evidence),
        check_counts(store, collection, evidence),
        check_sample(store, collection, sampled),
    ]
    ok = not any(check.failed for check in checks)
    receipt = make_receipt(collection, evidence, sample=sample, seed=seed, manifest=manifest, sources=sources)
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
    known = document_states(tables, collection)
    states = {}
    for document in evidence.expected:
        name, now = document.names.document_id, (document.version, "verified", len(document.points))
        before = known.get(name)
        pruned = before is not None and before.state == "pruned" and before.document_version == document.version
        if pruned and not evidence.old[name]:
            continue
        if before is None or (before.document_version, before.state, before.chunks) != now:
            states[name] = now
    if states or latest_receipt(tables, collection) != receipt:
        run_id = start_run(tables, "verify", collection, {"manifest": str(manifest.path.resolve())})
        set_document_states(tables, collection, run_id, states)
        if latest_receipt(tables, collection) != receipt:
            save_receipt(tables, collection, receipt)
        finish_run(tables, run_id, "done", {"receipt": receipt["digest"]})
    return str(receipt["digest"])
