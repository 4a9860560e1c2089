"""The letter skeleton: what copying damages is gone, positions lead back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relink.skeleton import ABSATZ_NUMBER, fold, fold_all, fold_positions, written_letters

TEXTS = st.text(st.sampled_from("aÄöß|lj1I0oO §.,-\u00ad\n(2)3bﬁ½æ\u200b😀İﷺ\x00"), max_size=40)


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("Datenschutz", "Daten\u00adschutz", "soft hyphen"),
        ("Datenschutz", "Daten-\nschutz", "hyphen at a line end"),
        ("die Behörde kann", "dieBehörde  kann", "lost and double blanks"),
        ("daß Größe", "dass Groesse".replace("oe", "o"), "ß is ss, dots are lost"),
        ("10 Jahre", "lO Iahre", "what scans confuse"),
        ("Verpﬂichtung", "Verpflichtung", "ligature"),
        ("A\u0308nderung", "Änderung", "decomposed letters"),
        ("Ende. (2) Anfang", "Ende. Anfang", "the number of an Absatz"),
        ("§ 38 Abs. 1", "38abs1", "signs"),
    ],
)
def test_copies_have_one_skeleton(one: str, other: str, why: str) -> None:
    assert fold(one) == fold(other), why


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("§ 5", "§ 6", "digits differ"),
        ("Stern", "Stem", "rn and m are not one letter"),
        ("muss", "müsse", "another word"),
        ("(28 Tage) hier", "(29 Tage) hier", "a bracket that is no Absatz number"),
    ],
)
def test_different_texts_differ(one: str, other: str, why: str) -> None:
    assert fold(one) != fold(other), why


@given(st.lists(TEXTS, max_size=8))
def test_many_fold_as_one_by_one(texts: list[str]) -> None:
    folded = fold_all(texts)
    assert [folded.letters[a:b] for a, b in zip(folded.starts[:-1], folded.starts[1:], strict=True)] == [
        fold(text) for text in texts
    ]


@given(TEXTS)
def test_every_letter_knows_its_character(text: str) -> None:
    letters, positions = fold_positions(text)
    assert letters == fold(text)
    assert len(letters) == len(positions)
    assert bool((positions[:-1] <= positions[1:]).all())
    assert set(letters) <= set("abcdefghikmnopqrstuvwxyz23456789")
    bare = ABSATZ_NUMBER.sub("", text)
    assert fold("".join(text[i] for i in sorted(set(positions.tolist())))) == fold(bare)


def test_written_letters_tell_near_twins_apart() -> None:
    assert fold("Buchstabe i") == fold("Buchstabe j")
    assert written_letters("Buchstabe i") != written_letters("Buchstabe j")
    assert written_letters("Daß 10") == written_letters("dass 10")
