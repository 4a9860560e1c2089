"""The law table: hand-kept laws, laws from metadata, and which name means which law."""

import pytest

from normalize.laws import Law, LawTable, law_from_metadata

LAWS = LawTable.builtin()

NAMES = [
    # abbreviation, full name, inflected, other spellings
    ("BDSG", "BDSG"),
    ("Bundesdatenschutzgesetz", "BDSG"),
    ("Bundesdatenschutzgesetzes", "BDSG"),
    ("BUNDESDATENSCHUTZGESETZES", "BDSG"),
    ("bdsg", "BDSG"),
    ("Bürgerlichen Gesetzbuchs", "BGB"),
    ("Bürgerlichen  Gesetzbuches", "BGB"),
    ("Bürgerlichen\nGesetzbuchs", "BGB"),
    ("Fünften Buches Sozialgesetzbuch", "SGB 5"),
    ("SGB V", "SGB 5"),
    ("Neunten Buchs des Sozialgesetzbuchs", "SGB IX"),
    ("BSI-Gesetzes", "BSIG"),
    ("KredWG", "KWG"),
    ("TTDSG", "TDDDG"),
    ("Datenschutz-Grundverordnung", "DSGVO"),
    ("DS-GVO", "DSGVO"),
    ("NIS-2-RL", "NIS2"),
    ("NIS-2-Richtlinie", "NIS2"),
    ("AI Act", "KI-VO"),
    ("MiFID II", "MIFID II"),
    # EU acts by number
    ("Verordnung (EU) 2016/679", "DSGVO"),
    ("VO (EU) 2016/679", "DSGVO"),
    ("Verordnung ( EU ) 2016 / 679", "DSGVO"),
    ("Verordnung (EU)\n\n2016/679", "DSGVO"),
    ("Richtlinie (EU) 2022/2555", "NIS2"),
    ("Verordnung (EU) Nr. 575/2013", "CRR"),
    ("Verordnung (EG) Nr. 810/2009", "VISAKODEX"),
    ("Richtlinie 2002/58/EG", "EPRIVACY-RL"),
    ("Richtlinie 95/46/EG", "DSRL"),
    ("Verordnung (EU) Nr. 2016/679", "DSGVO"),
]


@pytest.mark.parametrize(("name", "code"), NAMES)
def test_name(name: str, code: str) -> None:
    law = LAWS.resolve(name)
    assert law is not None
    assert law.code == code


@pytest.mark.parametrize(
    "name", ["XyzG", "BDSGx", "BDSG-Novelle", "xBDSG", "DSG", "", "Gesetz", "Verordnung (EU) 1999/1"]
)
def test_no_law(name: str) -> None:
    assert LAWS.resolve(name) is None


def test_codes_are_unique_and_upper_case() -> None:
    codes = [law.code for law in LAWS.laws]
    assert len(set(codes)) == len(codes)
    assert all(code == code.upper() for code in codes)
    numbers = [law.celex for law in LAWS.laws if law.celex]
    assert len(set(numbers)) == len(numbers)


def test_every_hand_kept_law_is_found_by_each_of_its_names() -> None:
    for law in LAWS.laws:
        for name in (law.short, law.code, *law.aliases, *((law.name,) if law.name else ())):
            assert LAWS.resolve(name) == law, name


@pytest.mark.parametrize(
    ("celex", "code"),
    [
        ("32016R0679", "DSGVO"),
        ("32022L2555", "NIS2"),
        ("32024R2847", "CRA"),
        ("32022R2554", "DORA"),
        ("32024R1689", "KI-VO"),
    ],
)
def test_celex(celex: str, code: str) -> None:
    law = LAWS.by_celex(celex)
    assert law is not None
    assert (law.code, law.style) == (code, "article")


def test_metadata_make_a_law() -> None:
    law = law_from_metadata("MustV 2011", None, "Verordnung über Muster (MustV)", "Musterverordnung", "paragraph")
    table = LAWS.with_laws([law])
    assert law.code == "MUSTV 2011"
    for name in ("MustV 2011", "MustV", "Musterverordnung", "Verordnung über Muster", "Verordnung über Muster (MustV)"):
        assert table.resolve(name) == law, name


def test_metadata_of_a_hand_kept_law_add_names_only() -> None:
    # jurabk "SGB 5" is the key; people cite SGB V, and the label says so
    table = LAWS.with_laws([law_from_metadata("SGB 5", None, "Gesetzliche Krankenversicherung", None, "paragraph")])
    law = table.by_code("SGB 5")
    assert law is not None
    assert law.short == "SGB V"
    assert table.resolve("Gesetzlichen Krankenversicherung") == law
    assert len(table) == len(LAWS)


def test_name_of_two_laws_names_neither() -> None:
    table = LAWS.with_laws([Law("AV 1", "AV 1", "Amtsverordnung"), Law("AV 2", "AV 2", "Amtsverordnung")])
    assert table.resolve("Amtsverordnung") is None
    assert table.resolve("AV 1") is not None


def test_code_of_two_laws_stays_a_code() -> None:
    # 13 codes of federal law name two laws each (AEG, BKV, …): the code is certain, the document is not
    table = LAWS.with_laws([Law("AEG", "AEG", "Allgemeines Muster"), Law("AEG", "AEG", "Anderes Muster")])
    law = table.resolve("AEG")
    assert law is not None
    assert law.code == "AEG"


def test_abbreviation_beats_the_title_of_another_law() -> None:
    table = LAWS.with_laws([Law("XV", "XV", "BDSG"), Law("YV", "YV", "XV")])
    assert (table.resolve("BDSG") or Law("", "")).code == "BDSG"
    assert (table.resolve("XV") or Law("", "")).code == "XV"


def test_metadata_never_take_a_name_from_another_law() -> None:
    # BPolG has the database key "BGSG 1994", and a law BGSG exists: its own abbreviation is stronger
    table = LAWS.with_laws([law_from_metadata("BGSG 1994", "BPolG", None, None, None), Law("BGSG", "BGSG")])
    assert (table.resolve("BGSG") or Law("", "")).code == "BGSG"
    assert (table.resolve("BGSG 1994") or Law("", "")).code == "BPOLG"


def test_abbreviation_of_two_editions_names_neither() -> None:
    table = LAWS.with_laws([Law("QG", "QG"), Law("QG 2006", "QG 2006")])
    assert table.resolve("QG") is None
    assert (table.resolve("QG 2006") or Law("", "")).code == "QG 2006"


def test_title_that_names_no_law_by_itself() -> None:
    # the title of some federal law is "Vereinbarung": "§ 2 der Vereinbarung" is nevertheless anybody's
    table = LAWS.with_laws([Law("VBG", "VbG", "Vereinbarung", aliases=("Wahlordnung",))])
    assert table.resolve("Vereinbarung") is None
    assert table.resolve("Wahlordnung") is None
    assert (table.resolve("VbG") or Law("", "")).code == "VBG"


def test_table_is_not_changed_by_with_laws() -> None:
    before = LAWS.laws
    LAWS.with_laws([Law("ZV", "ZV", "Zusatzverordnung")])
    assert LAWS.laws == before
    assert LAWS.resolve("Zusatzverordnung") is None
