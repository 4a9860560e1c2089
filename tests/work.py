"""How much work a call does, counted instead of timed: the same number on a busy machine."""

import sys
from collections.abc import Callable
from types import FrameType


def work(call: Callable[[], object]) -> int:
    """Return how many functions a call enters, Python's and C's; loops inside one regular expression are not seen."""
    entered = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal entered
        entered += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(before)
    return entered
