"""The decision: similarity and margin, what a hint may do, and near twins (figures of DESIGN §7)."""

import pytest

from relink.align import Alignment
from relink.anchors import make_anchors
from relink.corpus import build_corpus
from relink.decision import Candidate, Decision, Level, decide
from relink.spans import citation_of, finest_unit
from relink.tiers import TIERS, decide_anchors
from tests.relink_cases import PROVISIONS, link_chunks

CORPUS = build_corpus(link_chunks())


def candidate(
    law: int, edits: int, *, absatz: str = "1", block: int = 1, digits: bool = False, lost: int = 0
) -> Candidate:
    """Return a candidate of 100 letters in § 1 of some law; texts of different places have nothing in common."""
    found = Alignment(0, 100, edits, min(block, edits), digits, lost)
    wording = "abcdefghik"[law + 2 * int(absatz)] * 100
    return Candidate((f"L{law}", "1", absatz, False), law, 0, 0, found, 100, wording)


@pytest.mark.parametrize(
    ("edits", "block", "digits", "level"),
    [
        (0, 0, False, Level.EXACT),
        (7, 3, False, Level.NOISE),
        (8, 3, False, Level.AMENDED),
        (7, 4, False, Level.AMENDED),
        (1, 1, True, Level.AMENDED),
        (20, 20, True, Level.AMENDED),
        (21, 1, False, Level.NONE),
    ],
)
def test_levels(edits: int, block: int, digits: bool, level: Level) -> None:
    assert candidate(0, edits, block=block, digits=digits).level is level


@pytest.mark.parametrize(
    ("candidates", "hint", "documents", "outcome", "reason"),
    [
        ([], None, (), "unmatched", "no_similar_text"),
        ([candidate(0, 21)], None, (), "unmatched", "no_similar_text"),
        ([candidate(0, 0)], None, (), "linked", None),
        ([candidate(0, 7)], None, (), "linked", None),
        ([candidate(0, 8)], None, (), "ambiguous", "amended_without_regulation"),
        ([candidate(0, 8)], "L0", (0,), "linked", None),
        ([candidate(0, 20, lost=31)], "L0", (0,), "ambiguous", "part_not_found"),
        ([candidate(0, 0), candidate(1, 0)], None, (), "ambiguous", "several_places"),
        ([candidate(0, 0), candidate(0, 0)], None, (), "linked", None),
        ([candidate(0, 0), candidate(0, 0, absatz="2")], "L0", (0,), "ambiguous", "several_places"),
        ([candidate(0, 0), candidate(1, 0)], "L1", (1,), "linked", None),
        ([candidate(0, 0), candidate(1, 1)], None, (), "linked", None),
        ([candidate(0, 1), candidate(1, 2)], None, (), "ambiguous", "several_places"),
        ([candidate(0, 1), candidate(1, 3)], None, (), "linked", None),
        ([candidate(0, 10), candidate(0, 16, absatz="2")], "L0", (0,), "ambiguous", "several_places"),
        ([candidate(0, 10), candidate(0, 18, absatz="2")], "L0", (0,), "linked", None),
        ([candidate(0, 0)], "L1", (1,), "ambiguous", "regulation_conflict"),
        ([candidate(0, 0), candidate(1, 5)], "L1", (1,), "ambiguous", "regulation_conflict"),
        ([candidate(0, 0), candidate(1, 1)], "L1", (1,), "linked", None),
        ([candidate(0, 0)], "unknown", (), "ambiguous", "regulation_missing"),
        ([], "unknown", (), "ambiguous", "regulation_missing"),
        ([], "L0", (0,), "ambiguous", "regulation_conflict"),
        ([candidate(0, 21)], "L0", (0,), "ambiguous", "regulation_conflict"),
        ([candidate(0, 0), candidate(1, 1, digits=True)], "L1", (1,), "ambiguous", "regulation_conflict"),
        ([candidate(0, 1), candidate(1, 1, digits=True)], "L1", (1,), "linked", None),
        ([candidate(0, 0), candidate(1, 0)], "both", (0, 1), "ambiguous", "several_places"),
    ],
)
def test_rules(
    candidates: list[Candidate], hint: str | None, documents: tuple[int, ...], outcome: str, reason: str | None
) -> None:
    for order in (candidates, candidates[::-1]):
        decision = decide("fuzzy", order, hint=hint, documents=documents)
        assert (decision.outcome, decision.reason) == (outcome, reason)
        assert (decision.tier == "fuzzy") == (outcome == "linked")


def test_more_places_than_were_looked_at_are_several() -> None:
    assert decide("fuzzy", [candidate(0, 0)], hint=None, documents=(), crowded=True).reason == "several_places"


def test_score_and_margin() -> None:
    decision = decide("fuzzy", [candidate(1, 9), candidate(0, 2)], hint=None, documents=())
    assert decision.score == 0.98
    assert decision.margin == pytest.approx(0.07)
    alone = decide("fuzzy", [candidate(0, 2)], hint=None, documents=())
    assert alone.margin == alone.score


def decided(text: str, hint: str | None = None) -> Decision:
    return decide_anchors(CORPUS, make_anchors(CORPUS, [(text, hint)]), list(TIERS.values()))[0]


def label(text: str, hint: str | None = None) -> str:
    decision = decided(text, hint)
    if decision.outcome != "linked" or decision.best is None:
        return str(decision.reason)
    return str(citation_of(CORPUS, decision.best)[0]["article_label"])


WATER, _, BED, FORCE = (PROVISIONS[i][3] for i in range(4))
NOWHERE = "Das Unternehmen benennt einen Verantwortlichen für die Protokollierung aller Zugriffe."
TERM_I, TERM_J = PROVISIONS[5][3], PROVISIONS[6][3]
LIST, NO_LIST = PROVISIONS[8][3], PROVISIONS[9][3]


@pytest.mark.parametrize(
    ("text", "hint", "expected", "why"),
    [
        (WATER, None, "KatzG § 1 Abs. 1", "word for word"),
        (f"§ 7 {WATER}", None, "KatzG § 1 Abs. 1", "a wrong number in front"),
        (f"(3) {WATER}", None, "KatzG § 1 Abs. 1", "a wrong Absatz number in front"),
        (f"Abs. 3: {WATER}", None, "KatzG § 1 Abs. 1", "the same, written out"),
        (WATER[:70], None, "KatzG § 1 Abs. 1", "cut off"),
        (WATER.replace("ausreichend", "ausrcichend"), None, "KatzG § 1 Abs. 1", "a slip of a scan"),
        (WATER.replace("frisches", "sauberes"), None, "amended_without_regulation", "amended, no hint"),
        (WATER.replace("frisches", "sauberes"), "KatzG", "KatzG § 1 Abs. 1", "amended, the hint agrees"),
        ("Wer eine Katze hält, […] Futter bereitzustellen.", None, "KatzG § 1 Abs. 1", "an ellipsis"),
        (FORCE, None, "several_places", "the same words in two laws"),
        (FORCE, "hundg", "HundG § 3", "a hint breaks the tie, in any case of letters"),
        (FORCE, "Hundegesetz", "HundG § 3", "the hint may be the name"),
        (FORCE, "HundG 2018", "HundG § 3", "or have a year at its end"),
        (WATER, "HundG", "regulation_conflict", "the hint's law has no such text"),
        (WATER, "VogelG", "regulation_missing", "the hint's law is not ingested"),
        (NOWHERE, None, "no_similar_text", "nowhere"),
        (NOWHERE, "HundG", "regulation_conflict", "nowhere, though a law is named"),
        (NOWHERE, "VogelG", "regulation_missing", "nowhere, and the law is not ingested"),
        ("Zu kurz.", "VogelG", "too_short", "nothing to look for"),
        (LIST, "KatzG", "regulation_conflict", "a twin elsewhere"),
        (TERM_I, "HundG", "HundG § 1 Abs. 2", "one letter that scans confuse decides where it is as written"),
        (TERM_J, "HundG", "HundG § 1 Abs. 3", "and so for its twin"),
        (TERM_I.replace("Buchstabe i", "Buchstabe l"), "HundG", "near_twin", "and neither where it is not"),
        (LIST, None, "HundG § 4 Abs. 1", "ein"),
        (NO_LIST, None, "HundG § 4 Abs. 2", "kein"),
        (LIST.replace("ein Verzeichnis", "das Verzeichnis"), "HundG", "near_twin", "neither of the twins"),
        ("hält, hat ihr täglich", None, "too_short", "less than 20 letters"),
        (f"{WATER} {PROVISIONS[1][3]}", None, "KatzG § 1", "two Absätze"),
        (f"{WATER} (2) {PROVISIONS[1][3]}", None, "KatzG § 1", "two Absätze with the number between"),
        (f"{PROVISIONS[1][3]} {BED}", None, "several_articles", "two §§ are no citation"),
        ("Der Schlafplatz muss trocken sein.", None, "KatzG § 2 Nr. 1", "down to the Nummer"),
        (BED, None, "KatzG § 2", "all of it"),
    ],
)
def test_quotations(text: str, hint: str | None, expected: str, why: str) -> None:
    assert label(text, hint) == expected, why


def test_a_label_in_front_decides_between_twins_that_begin_with_it() -> None:
    twins = (
        ("KatzG", "5", "1", "§ 3 des Hundegesetzes ist auf die Anzeige des Halters entsprechend anzuwenden."),
        ("KatzG", "5", "2", "§ 4 des Hundegesetzes ist auf die Anzeige des Halters entsprechend anzuwenden."),
    )
    corpus = build_corpus(link_chunks(twins))
    for _, _, absatz, text in twins:
        decision = decide_anchors(corpus, make_anchors(corpus, [(text, "KatzG")]), [TIERS["fuzzy"]])[0]
        assert decision.best is not None
        assert (decision.outcome, decision.best.place[2]) == ("linked", absatz)


@pytest.mark.parametrize("damage", [("Anzeige", "Anzeige"), ("Anzeige", "Anzcige")])
def test_a_label_that_the_text_begins_with_is_part_of_the_span(damage: tuple[str, str]) -> None:
    text = "§ 3 Abs. 2 des Hundegesetzes ist auf die Anzeige des Halters entsprechend anzuwenden"
    corpus = build_corpus(link_chunks([("KatzG", "5", "1", text + ".")]))
    decision = decide_anchors(corpus, make_anchors(corpus, [(text.replace(*damage), None)]), [TIERS["fuzzy"]])[0]
    assert decision.best is not None
    assert decision.outcome == "linked", "its number is no difference"
    span = citation_of(corpus, decision.best)[1]
    assert span.first.chunk_text[span.start : span.end] == text.removeprefix("§ ")


@pytest.mark.parametrize("provision", PROVISIONS, ids=lambda provision: f"{provision[0]}-{provision[1]}-{provision[2]}")
@pytest.mark.parametrize("cut", [0, 9, 20])
def test_spans_are_exact(provision: tuple[str, str, str | None, str], cut: int) -> None:
    text = provision[3]
    begin = next(i for i in range(cut, len(text)) if text[i].isalpha() and not text[i - 1 : i].isalpha())
    end = next(i for i in range(len(text) - cut, 0, -1) if text[i - 1].isalnum())
    decision = decided(text[begin:end], provision[0])
    assert decision.best is not None
    _, span = citation_of(CORPUS, decision.best)
    assert span.first.chunk_text[span.start : span.end] == text[begin:end]


def test_the_finest_unit_holds_the_span_wholly() -> None:
    chunk = next(chunk for chunk in CORPUS.chunks if chunk.units)
    assert finest_unit(chunk, 90, 110) == "Nr. 2 lit. a"
    assert finest_unit(chunk, 90, 130) == "Nr. 2"
    assert finest_unit(chunk, 20, 130) is None
