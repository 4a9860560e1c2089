"""Cleaning rules: each does what its examples say and nothing else; they lose no letter and can be repeated."""

import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from normalize.rules import PROFILES, RULES, Context, Profile, Rule
from normalize.rules.registry import registry_version
from normalize.text import NORMALIZER_VERSION, clean, clean_inline, clean_pages, find_debris, garbage_reason
from tests.text_gold import bulk_texts, floor, legaldocml_words, pdf_pages, words
from tests.work import work

EVERY_RULE = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
PROFILE_NAMES: list[Profile] = list(PROFILES)


@EVERY_RULE
def test_a_rule_has_a_name_a_reason_and_examples_both_ways(rule: Rule) -> None:
    assert rule.name and rule.version >= 1 and len(rule.reason) > 20 and rule.changes and rule.keeps
    assert len([other for other in RULES if other.name == rule.name]) == 1


@EVERY_RULE
def test_a_rule_changes_what_it_says(rule: Rule) -> None:
    for before, after in rule.changes:
        outcome = rule.apply(before, Context())
        assert (outcome.text, outcome.count > 0) == (after, True), before
        assert outcome.examples


@EVERY_RULE
def test_a_rule_keeps_what_it_says(rule: Rule) -> None:
    for text in (*rule.keeps, *(after for _, after in rule.changes)):
        outcome = rule.apply(text, Context())
        assert (outcome.text, outcome.count, outcome.examples, outcome.removed) == (text, 0, (), ())


@EVERY_RULE
def test_only_a_rule_that_says_so_takes_out_letters_or_digits(rule: Rule) -> None:
    removed = [stretch for before, _ in rule.changes for stretch in rule.apply(before, Context()).removed]
    assert bool(removed) == (rule.removes is not None)


# Texts made of what rules look for, so that they meet.
PIECES = st.sampled_from(
    [
        *("Daten", "schutz", "ge", "Geld", "EU", "und", "bis", "X", "1", "12", "§", "(1)", "a)", "é", "ﬁ", "ﬀ", "²"),
        *("u\u0308", "\u0308", "\u2126", "¹", "*)", ".", ",", "„", "“", "/", "'", "\x00", "\x1f", "\u200b", "\ufeff"),
        *(" ", "  ", "\u00a0", "\u2009", "\u2028", "\n", "\r\n", "\r", "\f", "\t", "\x85"),
        *("-", "-\n", "\u00ad", "\u00ad\n", "\u2010\n", "\ufffe", "Seite 1 von 2", "7\f", "\n1 Abl"),
    ]
)
TEXTS = st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=60)


def letters_and_digits(text: str) -> Counter[str]:
    return Counter(sign for sign in unicodedata.normalize("NFKD", text) if sign.isalnum())


@pytest.mark.parametrize("profile", PROFILE_NAMES)
@settings(max_examples=300, deadline=None)
@given(text=TEXTS)
def test_no_letter_or_digit_is_lost_that_no_rule_declares(profile: Profile, text: str) -> None:
    cleaned = clean(text, profile)
    declared = letters_and_digits("".join(stretch for _, stretch in cleaned.removed))
    assert letters_and_digits(text) == letters_and_digits(cleaned.text) + declared
    assert {rule for rule, _ in cleaned.removed} <= {rule.name for rule in RULES if rule.removes}


@pytest.mark.parametrize("profile", PROFILE_NAMES)
@settings(max_examples=300, deadline=None)
@given(text=TEXTS)
def test_cleaning_a_clean_text_changes_nothing(profile: Profile, text: str) -> None:
    once = clean(text, profile).text
    assert clean(once, profile).text == once


@pytest.mark.parametrize("profile", PROFILE_NAMES)
@settings(max_examples=200, deadline=None)
@given(text=TEXTS)
def test_composed_and_decomposed_letters_come_out_the_same(profile: Profile, text: str) -> None:
    composed, decomposed = (clean(unicodedata.normalize(form, text), profile).text for form in ("NFC", "NFD"))
    assert composed == decomposed
    assert unicodedata.is_normalized("NFC", composed)


@settings(max_examples=500, deadline=None)
@given(text=TEXTS)
def test_the_fast_form_gives_what_the_rules_give(text: str) -> None:
    assert clean_inline(text) == clean(text, "structured").text


def test_the_version_follows_the_rules() -> None:
    assert registry_version("a") == registry_version("a") != registry_version("b")
    assert len(NORMALIZER_VERSION) == 8


def test_what_each_rule_did_is_told_with_examples() -> None:
    cleaned = clean("§\u00a01  Da\u00adten", "structured")
    assert cleaned.text == "§ 1 Daten"
    assert [(one.rule, one.count) for one in cleaned.applied] == [("soft-hyphens", 1), ("one-blank", 2)]
    assert [(change.before, change.after) for change in cleaned.applied[1].examples] == [("\u00a0", " "), ("  ", " ")]


# Damage is named, and stays as it is.
@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("die Schiedsste1le entscheidet", ["digit-in-word"]),
        ("vvenn die Behörde es vvill", ["vv-for-w"]),
        ("ein FaIl der Versicherung", ["capital-i-in-word"]),
        ("wird festgestellt.Diese Frist", ["lost-blank"]),
        ("nach derVerordnung", ["lost-blank"]),
        ("M a r c o B u s c h", ["spaced-letters"]),
        ("fÃ¼r die BehÃ¶rde", ["mojibake"]),
        ("die \ufffd\ufffd Behörde", ["replacement-character"]),
        ("\ue030\ue031 Behörde", ["private-use-character"]),
        # none of these is damage
        ("§ 312a Abs. 1 Nr. 2b BGB i. V. m. GmbHG, CO2, 3G, EUDAMED, www.bundesanzeiger.de", []),
        ("nach § 3 EinigVtr, BMeldDÜV, StVO; vgl. eIDAS und iPhone", []),
    ],
)
def test_debris_is_reported_and_never_mended(text: str, kinds: list[str]) -> None:
    assert [found.kind for found in find_debris(text)] == kinds
    assert clean(text, "legacy").text == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "Git LFS"),
        ("/annex/objects/SHA256E-s1--00", "git-annex"),
        ("<!DOCTYPE html>\n<html><head><title>503</title></head></html>", "web page"),
        ("404 Not Found\n\nnginx", "error page"),
        ("Zugriff verweigert", "error page"),
        ("Just a moment...\nVerify you are human", "error page"),
        ("%PDF-1.7\n1 0 obj", "binary"),
        ("9LWWg 7WHZg 8XWKLg 5KSZWg 9LWWg 3LXXHg 7WHZg 2XWKZg 4LWg", "broken text layer"),
        ("\ue016\ue030\ue03e\ue038\ue027 des Gläubigers", "broken text layer"),
    ],
)
def test_what_is_no_text_is_refused(text: str, reason: str) -> None:
    assert reason in (garbage_reason(text) or "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "§ 404 Nicht gefunden",
        "Wird der Zugriff verweigert, so ist der Fehler 404 zu melden.",
        "Borken, Coesfeld, Düren, Essen, Gütersloh, Hagen, Herford, Höxter, Kleve, Lippe, Mettmann, Minden, Olpe",
        "BDSG BGB GG HGB StGB StPO VwGO VwVfG ZPO SGB AO EStG KStG UStG",
        "1 2 3 4 5 6 7 8 9 10 11 12 13 14",
        " ".join(f"{number}," for number in range(500, 600)),
        " ".join(f"E{number}" for number in range(100, 200)),
        "x\u0304 = ½ · (a + b)",
    ],
)
def test_what_is_text_is_not_refused(text: str) -> None:
    assert garbage_reason(text) is None


def test_pages_lose_heads_feet_and_numbers_and_words_run_on_overleaf() -> None:
    pages = [
        f"Gesetzblatt Nr. 5\n{body}\nSeite {n} von 3"
        for n, body in enumerate(("Wer Daten-", "schutz will, muss", "zahlen."), 1)
    ]
    cleaned = clean_pages(pages)
    assert cleaned.pages == ("Wer Datenschutz", "will, muss", "zahlen.")
    assert len([text for rule, text in cleaned.removed if rule == "page-furniture"]) == 6


def test_a_page_of_garbage_is_refused_and_the_others_are_read() -> None:
    cleaned = clean_pages(["Wer muss, der soll.", "\ue016\ue030\ue03e " * 9, ""])
    assert cleaned.pages == ("Wer muss, der soll.", "", "")
    assert [page for page, _ in cleaned.refused] == [1]


@pytest.mark.parametrize("profile", PROFILE_NAMES)
@pytest.mark.parametrize(
    "unit",
    ["-\n", "a-\n", "\ufffe", "\u00ad ", "a\f", "1\n\f", "a ", "\n \n", "e\u0308", "a1\n1 b\f", "¹", "(", "a.a-"],
)
def test_a_hostile_text_takes_no_more_work_than_its_length_says(profile: Profile, unit: str) -> None:
    def treat(length: int) -> None:
        text = unit * (length // len(unit))
        clean(text, profile)
        find_debris(text)
        garbage_reason(text)

    treat(1_000)
    assert work(lambda: treat(200_000)) < 14 * work(lambda: treat(20_000)) + 1_000  # ten times the length


@pytest.mark.floor
@pytest.mark.corpus
def test_a_whole_gazette_keeps_every_word_of_the_law(shared: Path) -> None:
    """BGBl. 2024 I Nr. 17 as PDF against the same law as LegalDocML: all words of the law are in the cleaned PDF."""
    cleaned = clean_pages(pdf_pages(shared / "corpus/pdf/bgbl-1_2024_17_DE.pdf"))
    assert not cleaned.refused
    ours = words(" ".join(clean_inline(page) for page in cleaned.pages))
    law = legaldocml_words(sorted((shared / "corpus/legaldocml").glob("milpersgleifog*.xml")))
    kept = 1 - (law - ours).total() / law.total()
    assert kept >= floor("pdf_words_kept")
    # Taken out: the foot of each page, and nothing else.
    assert {rule for rule, _ in cleaned.removed} == {"page-furniture"}
    assert all("Seite" in text and "Bundesgesetzblatt Jahrgang 2024" in text for _, text in cleaned.removed)


@pytest.mark.corpus
def test_form_pages_with_a_broken_text_layer_are_refused(shared: Path) -> None:
    """BGBl. 2024 I Nr. 203: the text of its forms has no meaning outside their font; the regulation itself is sound."""
    cleaned = clean_pages(pdf_pages(shared / "corpus/pdf/bgbl-1_2024_203_203_DE.pdf"))
    refused = {page for page, _ in cleaned.refused}
    assert len(refused) == 30 and not refused & {0, 1, 2}
    form = clean_pages(pdf_pages(shared / "corpus/pdf/bgbl-1_2024_203_anlage-1_DE.pdf"))
    assert len(form.refused) == len(form.pages) == 7


@pytest.mark.corpus
def test_notes_and_heads_of_a_council_text_are_out(shared: Path) -> None:
    """The Council's text of the DSGVO: 261 pages with a two-line head and footnotes inside sentences."""
    cleaned = clean_pages(pdf_pages(shared / "corpus/pdf/dsgvo_ratsstandpunkt_ST-5419-2016_DE.pdf"))
    removed = Counter(rule for rule, _ in cleaned.removed)
    assert removed["page-furniture"] == 520
    text = clean_inline(" ".join(cleaned.pages))
    assert "Wirtschafts- und Sozialausschusses, nach Stellungnahme des Ausschusses der Regionen, gemäß" in text
    assert sum(f"Artikel {number} " in text for number in range(1, 100)) == 99


@pytest.mark.corpus
def test_no_stretch_of_federal_law_is_taken_for_garbage(shared: Path) -> None:
    """Tables, lists of birds and of states among them."""
    refused = [stretch[:80] for stretch in bulk_texts(shared, every=40) if garbage_reason(stretch)]
    assert refused == []
