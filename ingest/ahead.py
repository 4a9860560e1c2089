"""Run the stages of a pipeline side by side: each works a few items ahead of the next one, in a thread of its own.

    for prepared in ahead(map(prepare, ahead(batches))):
        upload(prepared)

While a batch is uploaded, the next one is embedded and the one after it read. The order stays, what is held at once is
bounded by `depth`, and an error of any stage ends the pipeline where its item would have come.
"""

import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from queue import Empty, Full, Queue
from typing import TypeVar

Item = TypeVar("Item")
# Seconds after which a thread that waits looks whether it is still wanted.
_LOOK = 0.1
# Seconds to wait for the thread of a stage that was given up; what it is busy with has a time-out of its own.
_GOODBYE = 5.0


class _End:
    """The last thing a stage hands over: how it ended."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def ahead(items: Iterable[Item], depth: int = 2) -> Iterator[Item]:
    """Yield the items in order while a thread gets up to `depth` of them ready.

    Raises what getting an item raised, once the items before it were taken. Closing the iterator ends the thread.
    """
    queue: Queue[Item | _End] = Queue(depth)
    stopped = threading.Event()

    def hand_over(item: Item | _End) -> bool:
        while not stopped.is_set():
            with suppress(Full):
                queue.put(item, timeout=_LOOK)
                return True
        return False

    def work() -> None:
        error: BaseException | None = None
        iterator = iter(items)
        try:
            for item in iterator:
                if not hand_over(item):
                    break
        except BaseException as raised:  # handed over: it is raised in the thread that takes the items
            error = raised
        finally:
            close = getattr(iterator, "close", None)
            if close is not None:
                close()  # a stage behind this one ends too
        hand_over(_End(error))

    thread = threading.Thread(target=work, name="fundstelle-stage", daemon=True)
    thread.start()
    try:
        while True:
            try:
                item = queue.get(timeout=_LOOK)
            except Empty:
                if not thread.is_alive() and queue.empty():
                    raise RuntimeError("A stage of the pipeline ended without a word.") from None
                continue
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item
    finally:
        stopped.set()
        thread.join(_GOODBYE)
