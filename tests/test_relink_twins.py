"""Near twins: what turns a rule (a number, "nicht", Bund or Land) decides, or the control goes to the review."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relink.anchors import make_anchors
from relink.corpus import Corpus, build_corpus
from relink.decision import Decision
from relink.tiers import TIERS, decide_anchors
from relink.twins import key_difference
from tests.relink_cases import Provision, link_chunks


@pytest.mark.parametrize(
    ("quotation", "text", "differs"),
    [
        ("hat ein Verzeichnis zu führen", "hat kein Verzeichnis zu führen", True),
        ("die Verwendung ist zulässig", "die Verwendung ist unzulässig", True),
        ("der Halter darf", "der Halter darf nicht", True),
        ("die Kosten trägt der Bund", "die Kosten trägt das Land", True),
        ("die Bundesbehörde", "die Landesbehörde", True),
        ("der Käufer hat", "der Verkäufer hat", True),
        ("bei der Einfuhr", "bei der Ausfuhr", True),
        ("nach Satz 2", "nach Absatz 2", True),
        ("nach § 5", "nach § 6", True),
        ("binnen 10 Tagen", "binnen 11 Tagen", True),
        ("binnen zwei Tagen", "binnen drei Tagen", True),
        ("binnen zwei Tagen", "binnen zwei Jahren", True),
        ("am 1. Juni", "am 1. Juli", True),
        ("15 Prozent", "1,5 Prozent", True),
        ("nach den §§ 1, 2", "nach § 12", True),
        ("nach § 10", "nach § 1a", True),
        ("Buchstabe c", "Buchstabe e", True),
        ("Anzeige und Erlaubnis", "Anzeige oder Erlaubnis", True),
        ("1 000 Euro", "1000 Euro", False),
        ("l5 Prozent, 2O24", "15 Prozent, 2024", False),
        ("1S Deutscbe Mark", "15 Deutsche Mark", False),
        ("der Zah1ung so11", "der Zahlung soll", False),
        ("nach Absatz4Satz 1", "nach Absatz 4 Satz 1", False),
        ("gilt nicbt", "gilt nicht", False),
        ("cin Hund", "ein Hund", False),
        ("täg-\nlich und täg\u00adlich", "täglich und täglich", False),
        ("Buchstabe l", "Buchstabe i", False),
    ],
)
def test_what_turns_a_rule(quotation: str, text: str, differs: bool) -> None:
    assert key_difference(quotation, text) is differs
    assert not key_difference(text, text)


@given(st.data())
@settings(max_examples=200)
def test_what_turns_a_rule_is_seen_between_any_words_that_agree(data: st.DataObject) -> None:
    words = st.lists(st.sampled_from(["der", "Halter", "(2)", "10", "000", "Satz", "täg-\nlich", "§", "Hund,", "5."]))
    before, behind = " ".join(data.draw(words)), " ".join(data.draw(words))
    assert key_difference(f"{before} Hund darf {behind}", f"{before} Hund darf nicht {behind}")
    assert not key_difference(f"{before} Hund darf {behind}", f"{before} Hunb darf {behind}")


def test_words_left_out_are_no_difference_where_the_quotation_has_gaps() -> None:
    text = "Der Halter darf die Katze nicht länger als 10 Tage allein lassen."
    assert key_difference("Der Halter darf allein lassen.", text)
    assert not key_difference("Der Halter darf allein lassen.", text, with_gaps=True)
    assert key_difference("Der Halter darf nicht länger als 11 Tage allein", text, with_gaps=True)


def decided(corpus: Corpus, text: str, hint: str | None = None) -> Decision:
    return decide_anchors(corpus, make_anchors(corpus, [(text, hint)]), list(TIERS.values()))[0]


def outcome(corpus: Corpus, text: str, hint: str | None = None) -> str:
    """Return the law and § that a quotation is linked to, else the reason why not."""
    decision = decided(corpus, text, hint)
    if decision.outcome != "linked" or decision.best is None:
        return str(decision.reason)
    return corpus.chunks[decision.best.first_chunk].article_label


DUTY = "Wer ein Tier einführt, hat dies der zuständigen Behörde des Bundes binnen 10 Tagen schriftlich anzuzeigen."


@pytest.mark.parametrize(
    "changed",
    [
        DUTY.replace("ein Tier", "kein Tier"),
        DUTY.replace("10 Tagen", "11 Tagen"),
        DUTY.replace("10 Tagen", "1 Tagen"),
        DUTY.replace("des Bundes", "des Landes"),
        DUTY.replace("10", "1,0"),
        DUTY.replace("einführt", "ausführt"),
    ],
)
def test_a_quotation_is_not_linked_to_a_text_that_says_something_else(changed: str) -> None:
    """The law that was quoted is not ingested, its twin is."""
    corpus = build_corpus(link_chunks([("HundG", "7", None, DUTY)]))
    assert outcome(corpus, changed) == "near_twin"
    assert outcome(corpus, DUTY) == "HundG § 7"
    assert outcome(corpus, DUTY.replace("schriftlich", "schriftlicb")) == "HundG § 7", "a slip is no twin"


def test_numbers_set_apart_otherwise_are_other_numbers() -> None:
    text = "Die Abgabe beträgt für jeden Hund, der im Haushalt gehalten wird, 1,5 Prozent des Einkommens."
    corpus = build_corpus(link_chunks([("HundG", "7", None, text), ("KatzG", "7", None, text.replace("1,5", "15"))]))
    assert outcome(corpus, text) == "HundG § 7"
    assert outcome(corpus, text.replace("1,5", "15")) == "KatzG § 7"
    alone = build_corpus(link_chunks([("HundG", "7", None, text)]))
    assert outcome(alone, text.replace("1,5", "15")) == "near_twin"
    assert outcome(alone, text.replace("1,5", "15"), "HundG") == "near_twin", "no hint makes 15 of 1,5"


# Rules as federal law has them; each choice turns them.
BODIES: tuple[str, ...] = (
    "Die Frist beginnt mit Ablauf des {n}. Monats, der auf die Anzeige beim Amt des {p} folgt, und endet {w} vor "
    "Ablauf des Jahres.",
    "Der Verantwortliche ist {w} verpflichtet, die Aufzeichnungen nach § {n} der Aufsicht des {p} vorzulegen.",
    "Soweit eine Erlaubnis nach Absatz {n} {w} erforderlich ist, entscheidet darüber das Amt des {p} selbst.",
    "Das Bußgeld von {n} Euro ist {w} an die Kasse des {p} zu zahlen, wenn der Bescheid unanfechtbar geworden ist.",
)
CHOICES: dict[str, Sequence[str]] = {
    "n": ["1", "2", "3", "10", "11", "12", "21", "100", "110", "1,5", "15"],
    "p": ["Bundes", "Landes", "Kreises"],
    "w": ["nicht", "nur", "auch"],
}
NOISE = {"e": "c", "n": "u", "h": "b", "m": "rn", "f": "t"}


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_the_quotation_of_one_twin_is_never_linked_to_the_other(data: st.DataObject) -> None:
    body = data.draw(st.sampled_from(BODIES))
    words = {key: data.draw(st.sampled_from(values)) for key, values in CHOICES.items()}
    turned = data.draw(st.sampled_from(sorted(CHOICES)))
    other = words | {turned: data.draw(st.sampled_from([v for v in CHOICES[turned] if v != words[turned]]))}
    one, two = body.format(**words), body.format(**other)
    laws: list[Provision] = [("KatzG", "7", None, one), ("HundG", "7", None, two)]
    quotation = _damaged(data, one, words[turned])
    both = build_corpus(link_chunks(laws))
    assert outcome(both, quotation) in {"KatzG § 7", "near_twin", "several_places", "amended_without_regulation"}
    assert outcome(both, quotation, "KatzG") in {"KatzG § 7", "near_twin", "several_places"}
    assert outcome(both, one, "HundG") in {"regulation_conflict", "near_twin"}, "a hint never overrides the text"
    alone = build_corpus(link_chunks(laws[1:]))
    assert outcome(alone, quotation) != "HundG § 7", "the twin alone is not taken for the law that is missing"
    assert outcome(alone, quotation, "KatzG") == "regulation_missing"


def _damaged(data: st.DataObject, text: str, keep: str) -> str:
    """Return a text with a few slips of a scan, outside the word that tells the twins apart, and blanks lost."""
    found = re.search(rf"(?<!\w){re.escape(keep)}(?!\w)", text)
    assert found is not None
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        if text[at] in NOISE and not found.start() - 3 <= at < found.end() + 3:
            text = text[:at] + NOISE[text[at]] + text[at + 1 :]
            found = re.search(rf"(?<!\w){re.escape(keep)}(?!\w)", text)
            assert found is not None
    return text
