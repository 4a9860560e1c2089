"""What a re-ingest will take: bytes in the store, seconds, and whether the old and new points fit side by side.

Old points stay until `prune`, so a run needs room for the new ones on top. A store that fills up in the middle is the
fault of qdrant#7813; here the run is refused before its first write.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from backends.tables.runs import Run
from backends.vectors.store import VectorStore
from ingest.plan import DocumentPlan
from normalize.errors import GateError

# Bytes of a stored point besides its text and dense vector: payload fields, ids, sparse terms, entries of the indexes.
# Measured: 2,593 on disk, from the embedded collections of seven laws (2,104 points) and of 1,114 laws (56,965 points).
POINT_OVERHEAD = 2_700
# The embedded engine preallocates its pages and its log: files of 267 MB for a collection of 2,104 points.
EMBEDDED_BASE = 300 * 1024**2
# Segments are rewritten while they are optimised, so for a time there are two of one.
HEADROOM = 2.0
# Runs that wrote less say nothing about the rate.
_LEAST_POINTS = 500
_FLOAT = 4


@dataclass(frozen=True, slots=True)
class Estimate:
    """What writing a plan takes.

    `bytes_to_write` is what the points will hold, `bytes_needed` what must be free (None where the store cannot be
    asked, then `free` is None too); `seconds` is None while no earlier run says how fast this machine is.
    """

    bytes_to_write: int
    bytes_needed: int | None
    free: int | None
    seconds: float | None
    rate_from: str

    def report(self) -> dict[str, Any]:
        """Return it as one JSON object."""
        return asdict(self)


def estimate(
    store: VectorStore, plans: Sequence[DocumentPlan], dimension: int, *, is_new: bool, rate: float | None
) -> Estimate:
    """Return what writing `plans` takes; `rate` is in points a second, from `measured_rate`."""
    points = sum(len(plan.write) for plan in plans)
    text = sum(plan.expected.text_bytes * len(plan.write) // max(len(plan.expected.points), 1) for plan in plans)
    size = text + points * (dimension * _FLOAT + POINT_OVERHEAD)
    free = store.free_bytes()
    needed = None if free is None else int(size * HEADROOM) + (EMBEDDED_BASE if is_new and points else 0)
    seconds = None if rate is None else round(points / rate, 1)
    known = "no earlier run of this size" if rate is None else f"the last run of this size: {rate:,.0f} points/s"
    return Estimate(size, needed, free, seconds, known)


def refuse_if_full(estimated: Estimate, where: str) -> None:
    """Raise GateError if the new points do not fit beside the old ones."""
    if estimated.free is not None and estimated.bytes_needed is not None and estimated.free < estimated.bytes_needed:
        raise GateError(
            f"The new points need {_mib(estimated.bytes_needed)} beside the old ones and {where} has "
            f"{_mib(estimated.free)} free: nothing was written, make room or use another --home."
        )


def _mib(size: int) -> str:
    return f"{size / 1024**2:,.0f} MiB"


def measured_rate(runs: Sequence[Run], model: str) -> float | None:
    """Return the points a second of the newest run with this model that wrote enough to tell, or None."""
    for run in runs:
        summary = run.summary or {}
        written = (summary.get("totals") or {}).get("to_write", 0)
        seconds = (summary.get("seconds") or {}).get("write", 0)
        if summary.get("model") == model and written >= _LEAST_POINTS and seconds > 0:
            return float(written / seconds)
    return None
