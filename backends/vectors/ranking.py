"""Rankings without chance: equal scores by id, also where a tie lies across the limit.

The engines cut a ranking at the limit and choose among equal scores as it comes; identical wording in several norms
makes such ties common in law.
"""

from collections.abc import Callable

from backends.vectors.checks import id_key
from backends.vectors.store import Hit

SPARE = 16
"""Points that are fetched beyond the limit at first, to see ties across it."""


def ranked(fetch: Callable[[int], list[Hit]], limit: int) -> list[Hit]:
    """Return the best `limit` hits, best first, equal scores by id.

    `fetch(n)` returns the engine's best `n` in any order of ties. More are fetched for as long as the last one fetched
    ties with the last one wanted, so that every rival of the tie is known before it is cut.
    """
    if limit <= 0:
        return []
    wanted = limit + SPARE
    while True:
        found = sorted(fetch(wanted), key=lambda hit: (-hit.score, id_key(hit.id)))
        if len(found) < wanted or found[-1].score < found[limit - 1].score:
            return found[:limit]
        wanted *= 4
