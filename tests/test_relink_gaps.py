"""Quotations that leave words out without a sign: found in their known law, and only where one place fits."""

import pytest

from relink.anchors import make_anchors
from relink.corpus import build_corpus
from relink.decision import Decision
from relink.gaps import align_with_gap
from relink.tiers import TIERS, decide_anchors
from tests.relink_cases import Provision, link_chunks

HEAD = "Der Zuschuss beträgt bei einem regelmäßig gezahlten Entgelt des Tierpflegers von "
TABLE = (
    "1. | bis zu 1 000 Euro | 400 Euro, höchstens jedoch das tatsächlich gezahlte Entgelt, 2. | mehr als 1 000 Euro "
    "bis zu 2 000 Euro | 700 Euro, 3. | mehr als 2 000 Euro bis zu 3 000 Euro | 1 000 Euro, 4. | darüber | 1 300 Euro. "
)
TAIL = (
    "Zuschläge und Sonderzahlungen gelten nicht als Entgelt. Die Zahlung erfolgt monatlich nachträglich an den Halter."
)
OTHER = "Der Antrag auf den Zuschuss ist schriftlich bei der Behörde des Landes zu stellen, in dem die Tiere leben."
LAW: tuple[Provision, ...] = (("KatzG", "5", "1", OTHER), ("KatzG", "5", "2", HEAD + TABLE + TAIL))


def decided(text: str, hint: str | None, law: tuple[Provision, ...] = LAW) -> Decision:
    corpus = build_corpus(link_chunks(law))
    return decide_anchors(corpus, make_anchors(corpus, [(text, hint)]), list(TIERS.values()))[0]


@pytest.mark.parametrize(
    "text", [HEAD + TAIL, (HEAD + TAIL).replace("monatlich", "monatlicb"), HEAD + "1. 2. 3. 4. " + TAIL]
)
def test_a_table_left_out(text: str) -> None:
    decision = decided(text, "KatzG")
    assert decision.best is not None
    assert (decision.outcome, decision.best.place[1:3]) == ("linked", ("5", "2"))
    assert decision.best.edits > 0, "nothing with a gap is word for word"
    assert decided(text, None).outcome != "linked", "a gap is no noise: without a known law a person looks"


def test_parts_in_two_norms_are_no_quotation_of_one() -> None:
    law = (("KatzG", "5", "1", HEAD + TABLE), ("KatzG", "6", None, OTHER + " " + TAIL))
    assert decided(HEAD + TAIL, "KatzG", law).outcome != "linked"


def test_two_places_that_fit_are_ambiguous() -> None:
    law = (*LAW, ("KatzG", "6", None, HEAD + TABLE.replace("400", "500") + TAIL))
    decision = decided(HEAD + TAIL, "KatzG", law)
    assert decision.outcome == "ambiguous"
    assert {candidate.place[1] for candidate in decision.candidates} >= {"5", "6"}


def test_more_than_noise_beside_the_gap_is_no_match() -> None:
    text = "abcdefghikmnopqrstuvwxyz23456789"
    letters = text * 2 + "9" * 300 + text[::-1] * 2
    piece = text * 2 + text[::-1] * 2
    assert [(found.start, found.end) for found in align_with_gap(piece, letters, 0, len(letters))] == [
        (0, len(letters))
    ]
    torn = piece[:30] + "q" * 20 + piece[50:]
    assert align_with_gap(torn, letters, 0, len(letters)) == []
    assert align_with_gap("abcdefghik", letters, 0, len(letters)) == [], "too short to be told"
