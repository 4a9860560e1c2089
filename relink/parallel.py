"""Decide quotations on several processors: shares of them in forks of this process, which has the corpus in memory.

A fork shares the memory of the corpus; nothing is copied or sent but the decisions. The children only compute: they
touch no connection and no file, and end without the clean-up of an interpreter. The result is that of one process,
since every quotation is decided by itself.
"""

import os
import pickle
import struct
import sys
from collections.abc import Sequence

from normalize.errors import FundstelleError
from relink.anchors import Anchor
from relink.corpus import Corpus
from relink.decision import Decision
from relink.garbage import without_collection
from relink.tiers import Tier, decide_anchors

_FEWEST = 2_000
"""Quotations below which another process costs more than it saves."""
_MOST_PROCESSES = 8
_LENGTH = struct.Struct("<Q")


def processors() -> int:
    """Return how many processors this process may use."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(found, _MOST_PROCESSES)


def decide_in_parallel(
    corpus: Corpus, anchors: Sequence[Anchor], tiers: Sequence[Tier], processes: int | None = None
) -> list[Decision]:
    """Return the decision for each anchor, as `decide_anchors` does, on so many processors (None: all).

    Raises FundstelleError if a process was ended from outside.
    """
    count = min(processes or processors(), len(anchors) // _FEWEST)
    if count < 2 or sys.platform == "win32" or not hasattr(os, "fork"):
        with without_collection():
            return decide_anchors(corpus, anchors, tiers)
    size = -(-len(anchors) // count)
    shares = [anchors[start : start + size] for start in range(0, len(anchors), size)]
    with without_collection():
        children = [_start(corpus, share, tiers) for share in shares[1:]]
        try:
            decisions = decide_anchors(corpus, shares[0], tiers)
        finally:
            answers = [_answer(*child) for child in children]
    for share, answer in zip(shares[1:], answers, strict=True):
        if answer is None or len(answer) != len(share):
            raise FundstelleError(
                "A process that compares quotations was ended from outside (is the memory used up?): nothing was "
                "written, run again."
            )
        decisions += answer
    return decisions


def _start(corpus: Corpus, anchors: Sequence[Anchor], tiers: Sequence[Tier]) -> tuple[int, int]:
    """Fork a process that decides a share; return its id and where its answer can be read."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child:
        os.close(theirs)
        return child, ours
    try:
        os.close(ours)
        data = pickle.dumps(decide_anchors(corpus, anchors, tiers), protocol=pickle.HIGHEST_PROTOCOL)
        with os.fdopen(theirs, "wb") as pipe:
            pipe.write(_LENGTH.pack(len(data)))
            pipe.write(data)
        os._exit(0)
    finally:
        os._exit(1)


def _answer(child: int, pipe: int) -> list[Decision] | None:
    """Return what a child decided, or None if it did not get to its end."""
    with os.fdopen(pipe, "rb") as file:
        head = file.read(_LENGTH.size)
        data = file.read(_LENGTH.unpack(head)[0]) if len(head) == _LENGTH.size else b""
    is_whole = len(head) == _LENGTH.size and len(data) == _LENGTH.unpack(head)[0]
    # made into decisions while the child gives its memory back
    decisions: list[Decision] | None = pickle.loads(data) if is_whole else None  # noqa: S301  from our own child
    _, status = os.waitpid(child, 0)
    return decisions if os.waitstatus_to_exitcode(status) == 0 else None
