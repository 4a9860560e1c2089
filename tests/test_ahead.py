"""Stages side by side: order kept, bounded, errors at their place, and no thread left behind."""

import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.ahead import ahead


def stages() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "fundstelle-stage"]


@given(items=st.lists(st.integers(), max_size=50), depth=st.integers(1, 5))
def test_the_items_come_in_their_order(items: list[int], depth: int) -> None:
    assert list(ahead((n + 1 for n in ahead(items, depth)), depth)) == [n + 1 for n in items]
    assert not stages()


def test_no_more_is_made_ready_than_allowed() -> None:
    made = 0

    def source() -> Iterator[int]:
        nonlocal made
        for number in range(100):
            made += 1
            yield number

    taken = ahead(source(), 3)
    assert next(taken) == 0
    time.sleep(0.3)
    assert made <= 1 + 3 + 1  # taken, queued, and the one that waits for room
    taken.close()  # type: ignore[attr-defined]
    assert not stages()


def test_an_error_comes_where_its_item_would_and_ends_all_stages() -> None:
    def source() -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("the third")

    taken = []
    with pytest.raises(ValueError, match="the third"):
        for item in ahead(map(str, ahead(source()))):
            taken.append(item)  # noqa: PERF402
    assert taken == ["1", "2"]
    assert not stages()


def test_a_consumer_that_gives_up_ends_the_stages_behind_it() -> None:
    closed = threading.Event()

    def source() -> Iterator[int]:
        try:
            number = 0
            while True:
                yield number
                number += 1
        finally:
            closed.set()

    def consume() -> None:
        for item in ahead(ahead(source())):
            if item == 5:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        consume()
    assert closed.wait(5)
    time.sleep(0.2)
    assert not stages()
