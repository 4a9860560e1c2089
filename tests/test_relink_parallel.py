"""Quotations decided in several processes: the same decisions, and a process that dies is noticed."""

import os
import signal
from collections.abc import Sequence

import pytest

from normalize.errors import FundstelleError
from relink import parallel
from relink.anchors import Anchor, make_anchors
from relink.corpus import Corpus, build_corpus
from relink.decision import Decision
from relink.parallel import decide_in_parallel
from relink.tiers import TIERS, decide_anchors
from tests.relink_cases import PROVISIONS, link_chunks

CORPUS = build_corpus(link_chunks())


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "_FEWEST", 2)


def anchors() -> list[Anchor]:
    texts = [provision[3] for provision in PROVISIONS]
    damaged = [text.replace("e", "c", 2) for text in texts] + [text[: len(text) // 2] for text in texts] + ["nirgends"]
    return make_anchors(CORPUS, [(text, hint) for text in (*texts, *damaged) for hint in (None, "WasserG")])


@pytest.mark.parametrize("processes", [1, 2, 3, 7])
def test_the_same_decisions_with_any_number_of_processes(processes: int) -> None:
    everything = anchors()
    alone = decide_anchors(CORPUS, everything, list(TIERS.values()))
    assert decide_in_parallel(CORPUS, everything, list(TIERS.values()), processes) == alone
    assert any(decision.outcome == "linked" for decision in alone)


class Dying:
    """A tier in whose process something goes wrong, but not in the first one."""

    name = "dying"

    def __init__(self, how: str) -> None:
        self.how = how
        self.parent = os.getpid()

    def decide_all(self, corpus: Corpus, anchors: Sequence[Anchor]) -> list[Decision]:
        if os.getpid() != self.parent:
            if self.how == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            raise RuntimeError("broken")
        return [Decision("unmatched", None, "no_tier", ()) for _ in anchors]


@pytest.mark.parametrize("how", ["killed", "error"])
def test_a_process_that_dies_is_one_sentence(how: str) -> None:
    with pytest.raises(FundstelleError, match=r"ended from outside .* run again\.$"):
        decide_in_parallel(CORPUS, anchors(), [Dying(how)], 2)


def test_few_quotations_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "_FEWEST", 2_000)
    monkeypatch.setattr(os, "fork", None)
    assert len(decide_in_parallel(CORPUS, anchors(), list(TIERS.values()), 4)) == len(anchors())
