"""Labels: what is written, that it is read back, and that long and short forms are one citation."""

import pytest
from hypothesis import given, settings

from normalize.citation import Citation, CitationError, label
from normalize.citing import parse
from normalize.laws import LawTable
from normalize.units import Step, read_path, write_path
from tests.citation_strategies import citations

LAWS = LawTable.builtin()

LABELS = [
    # one label a kind (DESIGN §3, label column of CITATIONS.md)
    (Citation("BDSG", "BDSG", "paragraph", "38", (Step("absatz", "1"), Step("nummer", "3"))), "BDSG § 38 Abs. 1 Nr. 3"),
    (Citation("GEWO", "GewO", "paragraph", "6", (Step("absatz", "1"),)), "GewO § 6 Abs. 1"),
    (
        Citation("DSGVO", "DSGVO", "article", "13", (Step("absatz", "1"), Step("buchstabe", "c"))),
        "Art. 13 Abs. 1 lit. c DSGVO",
    ),
    (Citation("DSGVO", "DSGVO", "article", "26", is_recital=True), "ErwG 26 DSGVO"),
    (
        Citation("CRA", "CRA", "article", "Anhang I", (Step("teil", "II"), Step("nummer", "3"))),
        "Anhang I Teil II Nr. 3 CRA",
    ),
    (Citation("BSIG", "BSIG", "paragraph", "Anlage 1", (Step("nummer", "3"),)), "BSIG Anlage 1 Nr. 3"),
    (Citation("GG", "GG", "article", "Präambel"), "Präambel GG"),
    # EGBGB: an Artikel with §§ below it
    (Citation("BGBEG", "EGBGB", "article", "229 § 5"), "Art. 229 § 5 EGBGB"),
    # roman articles are numbers, not names
    (
        Citation("unknown", "BEG-Schlussgesetz", "article", "V", (Step("nummer", "5"),)),
        "Art. V Nr. 5 BEG-Schlussgesetz",
    ),
    # suffixes stay
    (Citation("BDSG", "BDSG", "paragraph", "5", (), False, "ff.", ""), "BDSG § 5 ff."),
    (Citation("BDSG", "BDSG", "paragraph", "5", (), False, "", "a.F."), "BDSG § 5 a.F."),
    (Citation("DSGVO", "DSGVO", "article", "5", (), False, "ff.", "n.F."), "Art. 5 ff. DSGVO n.F."),
    # a value that is a word, and a marker behind its value
    (
        Citation("BGB", "BGB", "paragraph", "3", (Step("nummer", "5"), Step("alternative", "letzte"))),
        "BGB § 3 Nr. 5 letzte Alt.",
    ),
    (
        Citation("NIS2", "NIS2", "article", "2", (Step("absatz", "2"), Step("gedankenstrich", "1"))),
        "Art. 2 Abs. 2 1. Gedankenstrich NIS2",
    ),
    # a whole law
    (Citation("DSGVO", "DSGVO", "article"), "DSGVO"),
]


@pytest.mark.parametrize(("citation", "text"), LABELS, ids=[text for _, text in LABELS])
def test_label_is_written_and_read_back(citation: Citation, text: str) -> None:
    assert citation.label == text
    assert parse(text, LAWS) == citation


@given(citations())
@settings(max_examples=800, deadline=None)
def test_parse_is_the_inverse_of_label(citation: Citation) -> None:
    assert parse(citation.label, LAWS) == citation
    assert "  " not in citation.label
    assert citation.label == citation.label.strip()


@given(citations())
@settings(max_examples=300, deadline=None)
def test_payload_fields_give_the_same_label(citation: Citation) -> None:
    # The payload holds article, paragraph and sub as bare texts; a label made of them is the citation's own.
    again = label(
        citation.short,
        citation.citation_style,
        citation.article,
        citation.paragraph,
        citation.sub,
        is_recital=citation.is_recital,
        following=citation.following,
        version=citation.version,
    )
    assert again == citation.label
    assert write_path(read_path(citation.sub) or ()) == citation.sub


SAME = [
    # the same place in label, long and short form (hard case 2, 3, 12)
    [
        "Art. 6 Abs. 1 UAbs. 1 lit. f DSGVO",
        "Artikel 6 Absatz 1 Unterabsatz 1 Buchstabe f der Verordnung (EU) 2016/679",
        "Artikel 6 Absatz 1 Unterabsatz 1 Buchstabe f der Datenschutz-Grundverordnung",
        "Art. 6 I UAbs. 1 lit. f DS-GVO",
    ],
    ["BGB § 433 Abs. 2", "§ 433 II BGB", "§ 433 Absatz 2 des Bürgerlichen Gesetzbuchs", "§ 433 (2) BGB"],
    [
        "BDSG § 40",
        "§ 40 BDSG",
        "§ 40 des Bundesdatenschutzgesetzes",
        "§ 40 Bundesdatenschutzgesetz",
        "Paragraph 40 BDSG",
    ],
    ["Art. 21 NIS2", "Artikel 21 der Richtlinie (EU) 2022/2555", "Art. 21 NIS-2-RL", "Art. 21 der NIS-2-Richtlinie"],
    ["ErwG 26 DSGVO", "Erwägungsgrund 26 der Verordnung (EU) 2016/679", "ErwGr. 26 DSGVO"],
    [
        "SGB V § 240 Abs. 4",
        "§ 240 Abs 4 SGB V",
        "§ 240 Absatz 4 des Fünften Buches Sozialgesetzbuch",
        "SGB 5 § 240 Abs. 4",
    ],
    ["BGB § 312a", "§ 312 a BGB"],
    ["Anhang I Teil I Nr. 2 CRA", "Anhang I Teil I Nummer 2 der Verordnung (EU) 2024/2847"],
    ["VwGO § 77 Abs. 1 Satz 1 Halbsatz 2", "§ 77 Abs. 1 Satz 1, 2. Halbsatz VwGO", "§ 77 Abs. 1 S. 1 Hs. 2 VwGO"],
]


@pytest.mark.parametrize("forms", SAME, ids=[forms[0] for forms in SAME])
def test_long_and_short_forms_are_equal(forms: list[str]) -> None:
    first, *others = [parse(form, LAWS) for form in forms]
    assert first.label == forms[0]
    for other in others:
        assert other == first
        assert other.filter == first.filter


DIFFERENT = [
    # § 3 is not § 38 is not § 3a, "§ 823" never matches "§ 1823", no suffix is dropped (hard case 10)
    "§ 3 BDSG",
    "§ 38 BDSG",
    "§ 3a BDSG",
    "§ 823 BDSG",
    "§ 1823 BDSG",
    "§ 3 ff. BDSG",
    "§ 3 BDSG a.F.",
    "§ 3 BDSG n.F.",
    "§ 3 Abs. 1 BDSG",
    "§ 3 Abs. 1a BDSG",
    "§ 3 XyzG",
    "§ 3 AbcG",
]


def test_different_citations_differ() -> None:
    read = [parse(text, LAWS) for text in DIFFERENT]
    assert len(set(read)) == len(DIFFERENT)
    assert len({citation.label for citation in read}) == len(DIFFERENT)


def test_filter_names_the_fields_of_the_chunks() -> None:
    assert parse("§ 38 Abs. 1 Satz 2 BDSG", LAWS).filter == {
        "regulation_code": "BDSG",
        "article": "38",
        "is_recital": False,
        "paragraph": "1",
    }
    assert parse("§ 38 BDSG", LAWS).filter == {"regulation_code": "BDSG", "article": "38", "is_recital": False}
    assert parse("ErwG 26 DSGVO", LAWS).filter == {"regulation_code": "DSGVO", "article": "26", "is_recital": True}


@pytest.mark.parametrize(
    "text", ["", "Datenschutz", "§ 5 Abs.", "§ 5 BDSG und § 6 BDSG", "siehe § 5 BDSG", "§§ 5 bis 7 BDSG", "§"]
)
def test_what_is_not_one_citation_is_refused(text: str) -> None:
    with pytest.raises(CitationError):
        parse(text, LAWS)
