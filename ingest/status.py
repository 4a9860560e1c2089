"""Where every collection stands: what the store holds, how far its documents are, what ran last."""

from collections import Counter
from typing import Any

from backends.tables.connect import Tables
from backends.tables.runs import document_states, latest_receipt, latest_runs
from backends.vectors.store import VectorStore

_RUNS = 5


def collections_status(store: VectorStore, tables: Tables) -> list[dict[str, Any]]:
    """Return one entry a collection, sorted by name: exact points, layout, model, documents by state, last receipt."""
    found = []
    for name in store.collections():
        about = store.describe(name)
        if about is None:
            continue
        states = document_states(tables, name)
        receipt = latest_receipt(tables, name)
        booked = sum(state.chunks for state in states.values())
        found.append(
            {
                "collection": name,
                "points": about.points,
                "booked_chunks": booked,
                "documents": len(states),
                "states": dict(sorted(Counter(state.state for state in states.values()).items())),
                "dimension": about.layout.dimension,
                "bm25": about.layout.sparse is not None,
                "model": about.metadata.get("embedder"),
                "receipt": receipt["digest"] if receipt else None,
            }
        )
    return found


def runs_status(tables: Tables) -> list[dict[str, Any]]:
    """Return the last runs, newest first; a run that never ended (killed) is still `running`."""
    return [
        {
            "run": run.run_id,
            "command": run.command,
            "collection": run.collection,
            "status": run.status,
            "started": run.started_at.isoformat(timespec="seconds"),
            "finished": run.finished_at.isoformat(timespec="seconds") if run.finished_at else None,
        }
        for run in latest_runs(tables, _RUNS)
    ]
