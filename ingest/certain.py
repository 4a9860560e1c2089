"""Do something to points until the store is seen to hold it. A time-out means *unknown*: look, then try again.

One loop for writing, rewriting and deleting: what is not yet true is tried again, nothing that is true is sent twice.
"""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from normalize.errors import StoreError, UnknownOutcomeError

ATTEMPTS = 4
_PAUSE = 0.5

Item = TypeVar("Item")


def until_certain(
    items: Sequence[Item],
    act: Callable[[Sequence[Item]], None],
    still_to_do: Callable[[Sequence[Item]], Sequence[Item]],
    what: str,
    things: str = "points",
) -> None:
    """Call `act` with the items, read back with `still_to_do`, and act again on what it returns.

    An outcome that is not known is settled by reading. A refusal is final, but read back first: a part of the request
    may have been applied all the same. Raises the store's error, or StoreError (naming `what`) if the store says it did
    what cannot be seen.
    """
    waiting = items
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE * 2 ** (attempt - 1))
        problem: StoreError | None = None
        try:
            act(waiting)
        except StoreError as error:
            problem = error
        waiting = still_to_do(waiting)
        if not waiting:
            return
        if problem is not None and (attempt == ATTEMPTS - 1 or not isinstance(problem, UnknownOutcomeError)):
            raise problem
    raise StoreError(
        f"The store says it is done, but {len(waiting)} of {len(items)} {things} are not {what}: look at the store, "
        "then run again."
    )
