"""The fifteen hard cases of CITATIONS.md, and the chains, lists and inheritance they stand for.

Each row: what it shows, the text, and the places it names: labels, "?" before those that are found but not resolved.
"""

import pytest

from normalize.citing import find
from normalize.laws import LawTable

LAWS = LawTable.builtin()
BDSG = LAWS.by_code("BDSG")


def places(text: str, **context: object) -> list[str]:
    """Return the labels of all places of a text, "?" before those that are not resolved."""
    return [
        ("" if target.resolved else "?") + target.citation.label
        for found in find(text, LAWS, **context)  # type: ignore[arg-type]
        for target in found.targets
    ]


CASES = [
    # 1 ranges and lists; the ends of a range are named, and not resolved while no inventory says what lies between
    ("1 list and range of norms", "§§ 3, 5 bis 7 BDSG", ["BDSG § 3", "?BDSG § 5", "?BDSG § 7"]),
    (
        "1 range and list of Nummern",
        "§ 26 Abs. 1 Nr. 1 bis 3 und 5 BDSG",
        ["?BDSG § 26 Abs. 1 Nr. 1", "?BDSG § 26 Abs. 1 Nr. 3", "BDSG § 26 Abs. 1 Nr. 5"],
    ),
    ("1 hyphen as range", "§ 3 Abs. 4-6 BDSG", ["?BDSG § 3 Abs. 4", "?BDSG § 3 Abs. 6"]),
    (
        "1 list of letters",
        "Art. 6 Abs. 1 lit. a, b und e DSGVO",
        ["Art. 6 Abs. 1 lit. a DSGVO", "Art. 6 Abs. 1 lit. b DSGVO", "Art. 6 Abs. 1 lit. e DSGVO"],
    ),
    ("1 two articles", "Art. 13 und 14 DSGVO", ["Art. 13 DSGVO", "Art. 14 DSGVO"]),
    # 2 deep chains
    ("2 short", "Art. 6 Abs. 1 UAbs. 1 lit. f DSGVO", ["Art. 6 Abs. 1 UAbs. 1 lit. f DSGVO"]),
    (
        "2 long",
        "Artikel 6 Absatz 1 Unterabsatz 1 Buchstabe f der Verordnung (EU) 2016/679",
        ["Art. 6 Abs. 1 UAbs. 1 lit. f DSGVO"],
    ),
    # 3 roman short form
    ("3 roman Absatz, bare Satz", "Art. 6 I 1 lit. f DSGVO", ["Art. 6 Abs. 1 Satz 1 lit. f DSGVO"]),
    ("3 roman Absatz", "§ 433 II BGB", ["BGB § 433 Abs. 2"]),
    ("3 list of roman Absätze", "§ 433 I, II BGB", ["BGB § 433 Abs. 1", "BGB § 433 Abs. 2"]),
    (
        "3 roman in a chain",
        "§ 95 II 1 iVm §§ 12a, 94 I 1 BGB",
        ["BGB § 95 Abs. 2 Satz 1", "BGB § 12a", "BGB § 94 Abs. 1 Satz 1"],
    ),
    # 4 ordinals
    ("4 Halbsatz after a comma", "§ 77 Abs. 1 Satz 1, 2. Halbsatz VwGO", ["VwGO § 77 Abs. 1 Satz 1 Halbsatz 2"]),
    ("4 last alternative", "§ 3 Nr. 5 letzte Alternative BGB", ["BGB § 3 Nr. 5 letzte Alt."]),
    ("4 Hs. in a word", "§ 5 Abs. 1 S. 2 zweiter Halbsatz BGB", ["BGB § 5 Abs. 1 Satz 2 Halbsatz 2"]),
    # 5 letters: Doppelbuchstabe, i by its sequence, s that is no Satz
    (
        "5 Doppelbuchstabe",
        "§ 4 Nummer 2 Buchstabe a Doppelbuchstabe bb EStG",
        ["EStG § 4 Nr. 2 lit. a Doppelbuchst. bb"],
    ),
    (
        "5 letters r, s, t",
        "Art. 2 Abs. 1 lit. r, s, t DSGVO",
        ["Art. 2 Abs. 1 lit. r DSGVO", "Art. 2 Abs. 1 lit. s DSGVO", "Art. 2 Abs. 1 lit. t DSGVO"],
    ),
    (
        "5 letters h, i, j",
        "Art. 6 Abs. 1 lit. h, i und j DSGVO",
        ["Art. 6 Abs. 1 lit. h DSGVO", "Art. 6 Abs. 1 lit. i DSGVO", "Art. 6 Abs. 1 lit. j DSGVO"],
    ),
    ("5 roman i below a letter", "Art. 4(1)(a)(i) DSGVO", ["Art. 4 Abs. 1 lit. a Ziff. i DSGVO"]),
    ("5 letter i in brackets", "Art. 4(1)(i) DSGVO", ["Art. 4 Abs. 1 lit. i DSGVO"]),
    # 6 recitals
    ("6 short", "ErwG 26 DSGVO", ["ErwG 26 DSGVO"]),
    ("6 long", "Erwägungsgrund 26 der Verordnung (EU) 2016/679", ["ErwG 26 DSGVO"]),
    ("6 list", "Erwägungsgründe 26 und 27 DSGVO", ["ErwG 26 DSGVO", "ErwG 27 DSGVO"]),
    ("6 lead-in of an act", "in Erwägung nachstehender Gründe", []),
    ("6 a statute has none", "ErwG 3 BDSG", ["?ErwG 3 BDSG"]),
    # 7 annexes
    (
        "7 annex of an EU act",
        "Anhang I Teil I Nummer 2 Buchstabe a der Verordnung (EU) 2024/2847",
        ["Anhang I Teil I Nr. 2 lit. a CRA"],
    ),
    ("7 annex of a statute", "Anlage 1 Nr. 3 BSIG", ["BSIG Anlage 1 Nr. 3"]),
    ("7 two annexes", "Anhänge I und II der Verordnung (EU) 2024/2847", ["Anhang I CRA", "Anhang II CRA"]),
    ("7 a plant is no annex", "die Anlage des Betreibers", []),
    # 8 the law stands at the end of a chain
    (
        "8 i.V.m.",
        "§ 22 Abs. 1 Nr. 1 lit. a i.V.m. § 26 Abs. 3 BDSG",
        ["BDSG § 22 Abs. 1 Nr. 1 lit. a", "BDSG § 26 Abs. 3"],
    ),
    (
        "8 two laws",
        "§ 167 VwGO i.V.m. §§ 708 Nr. 11, 711 ZPO",
        ["VwGO § 167", "ZPO § 708 Nr. 11", "ZPO § 711"],
    ),
    (
        "8 a parenthesis before the law",
        "§ 95 Absatz 1, auch in Verbindung mit Absatz 2, des Aufenthaltsgesetzes",
        ["AufenthG § 95 Abs. 1", "AufenthG § 95 Abs. 2"],
    ),
    # 9 unknown law, no law
    ("9 unknown law", "§ 5 XyzG", ["?XyzG § 5"]),
    ("9 unknown law by its name", "§ 5 des Mustergesetzes", ["?Mustergesetzes § 5"]),
    ("9 no law", "§ 5 Abs. 1", ["?§ 5 Abs. 1"]),
    # 10 numbers are whole
    ("10 suffixed norm", "§ 3a BDSG", ["BDSG § 3a"]),
    ("10 spaced suffix", "§ 312 a BGB", ["BGB § 312a"]),
    ("10 ff.", "§§ 5 ff. BDSG", ["?BDSG § 5 ff."]),
    ("10 ff without a dot", "§§ 11 ff SGB II", ["?SGB II § 11 ff."]),
    ("10 f with a plural sign", "§§ 44 f SGB X", ["?SGB X § 44 f."]),
    ("10 old wording", "§ 4f BDSG a. F.", ["?BDSG § 4f a.F."]),
    ("10 new wording", "§ 4 BDSG nF", ["BDSG § 4 n.F."]),
    ("10 latin suffix", "Art. 6ter Abs. 1 PVÜ", ["Art. 6ter Abs. 1 PVÜ"]),
    # 11 § or Art.
    ("11 § of a regulation", "§ 44 DSGVO", ["?DSGVO § 44"]),
    ("11 Art. of a statute", "Art. 6 BDSG", ["?Art. 6 BDSG"]),
    ("11 GG has Art.", "Art. 13 Abs. 1 GG", ["Art. 13 Abs. 1 GG"]),
    ("11 EGBGB has both", "Art. 229 § 5 EGBGB", ["Art. 229 § 5 EGBGB"]),
    # 12 names of laws
    ("12 inflected", "§ 40 des Bundesdatenschutzgesetzes", ["BDSG § 40"]),
    ("12 EU number", "VO (EU) 2016/679", ["DSGVO"]),
    ("12 directive", "Richtlinie (EU) 2022/2555", ["NIS2"]),
    ("12 usual name", "NIS-2-RL", ["NIS2"]),
    ("12 -neu", "§ 26 BDSG-neu", ["BDSG § 26 n.F."]),
    ("12 database name", "§ 1 KredWG", ["KWG § 1"]),
    ("12 a law of a Land is not the federal one", "§ 5 VwVfG NRW", ["?VwVfG NRW § 5"]),
    ("12 a dated law may be an older one", "§ 77a des Telekommunikationsgesetzes vom 22. Juni 2004", ["?TKG § 77a"]),
    (
        "12 the wording of another date",
        "§ 573 BGB in der bis zum 31. August 2001 geltenden Fassung",
        ["?BGB § 573"],
    ),
    ("12 an edition is not the law of today", "§ 2 EStG 2002", ["?EStG 2002 § 2"]),
    # 13 quoted markers of an amending law are no citations
    ("13 quoted text", "„(1a) 1. Nach Satz wird 4. eingefügt.“", []),
    # 14 collapsed headings and inserted Absätze
    ("14 collapsed heading", "§§ 5 bis 7 (weggefallen)", ["?§ 5", "?§ 7"]),
    ("14 inserted Absatz", "§ 12 Abs. 1a BDSG", ["BDSG § 12 Abs. 1a"]),
    # 15 a dot of an abbreviation does not end a citation; a date and a list label are none of its numbers
    (
        "15 dots inside",
        "i. S. d. § 9 Abs. 1 Nr. 1 i. V. m. § 42 Abs. 2 Nr. 1 MarkenG am 3. Juni",
        ["MarkenG § 9 Abs. 1 Nr. 1", "MarkenG § 42 Abs. 2 Nr. 1"],
    ),
    ("15 a date behind", "nach § 5 BDSG und 3. Juni", ["BDSG § 5"]),
    ("15 a list label behind", "nach § 5 Absatz 1, 2. Angaben", ["?§ 5 Abs. 1"]),
    ("15 a time behind", "nach § 5 Absatz 1 und 3 Monate danach", ["?§ 5 Abs. 1"]),
]


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_hard_case(text: str, expected: list[str]) -> None:
    assert places(text) == expected
    assert all(found.complete for found in find(text, LAWS))


def test_this_law_and_this_norm() -> None:
    """Case 9: what names no law is this law, if the caller says which; what names an unknown law never is."""
    assert places("§ 5 dieses Gesetzes", this_law=BDSG) == ["BDSG § 5"]
    assert places("Absatz 2 Satz 1", this_law=BDSG, this_norm="26") == ["BDSG § 26 Abs. 2 Satz 1"]
    assert places("Nummer 2", this_law=BDSG, this_norm="26") == ["BDSG § 26 Nr. 2"]
    assert places("Satz 2", this_law=BDSG) == ["?BDSG Satz 2"]
    assert places("§ 5 XyzG", this_law=BDSG) == ["?XyzG § 5"]
    assert places("§ 5 der Musterverordnung", this_law=BDSG) == ["?Musterverordnung § 5"]
    # inside the Sozialgesetzbuch "des Elften Buches" is SGB XI, elsewhere it is the book of some code
    assert places("§ 18b Absatz 2 des Elften Buches", this_law=LAWS.by_code("SGB 5")) == ["SGB XI § 18b Abs. 2"]
    assert places("§ 18b des Elften Buches", this_law=BDSG) == ["?Elften Buches § 18b"]
    # places without a law, in front of others whose law is named behind them
    text = "§ 376 sowie die Bußgeldvorschriften der §§ 378 und 379 der Abgabenordnung"
    assert places(text, this_law=BDSG) == ["?BDSG § 376", "AO § 378", "AO § 379"]
    assert places("§ 168 (geringfügig Beschäftigte) oder § 172 der Abgabenordnung", this_law=BDSG) == [
        "AO § 168",
        "AO § 172",
    ]
    assert places("§ 5 des Gesetzes", this_law=BDSG) == ["?Gesetzes § 5"]


def test_chain_in_a_statute_is_not_guessed() -> None:
    """In a statute "§ 8 in Verbindung mit § 12 des BGB" may mean its own § 8."""
    text = "§ 8 in Verbindung mit § 12 des Bürgerlichen Gesetzbuchs"
    assert places(text) == ["BGB § 8", "BGB § 12"]
    assert places(text, this_law=BDSG) == ["?BGB § 8", "BGB § 12"]


CHAINS = [
    ("inherits by the marker", "§ 26 Abs. 1 Satz 2, Abs. 3 BDSG", ["BDSG § 26 Abs. 1 Satz 2", "BDSG § 26 Abs. 3"]),
    (
        "inherits by the unit behind a bare number",
        "§ 26 Abs. 1 Satz 2, 3 Satz 4 BDSG",
        ["BDSG § 26 Abs. 1 Satz 2", "BDSG § 26 Abs. 3 Satz 4"],
    ),
    (
        "Satz ranks above Nummer",
        "§ 5 Abs. 1 Nr. 1 und Satz 2 BGB",
        ["BGB § 5 Abs. 1 Nr. 1", "BGB § 5 Abs. 1 Satz 2"],
    ),
    ("the sign for several", "§§ 3, 3b BGB", ["BGB § 3", "BGB § 3b"]),
    (
        "a unit that is not a norm",
        "§§ 80 a Abs. 3, 80 Abs. 5 VwGO",
        ["VwGO § 80a Abs. 3", "VwGO § 80 Abs. 5"],
    ),
    (
        "the next § of a list",
        "§§ 43 Abs. 1 Satz 1 Nr. 7c, 43a Abs. 1 EStG",
        ["EStG § 43 Abs. 1 Satz 1 Nr. 7c", "EStG § 43a Abs. 1"],
    ),
    (
        "two readings: found, and not resolved",
        "§§ 1, 2 Abs. 2, 3, 10 Abs. 1 Nr. 1 BGB",
        ["BGB § 1", "BGB § 2 Abs. 2", "?BGB § 3", "BGB § 10 Abs. 1 Nr. 1"],
    ),
    (
        "a law for each part",
        "§§ 167 Abs. 2 VwGO, 708 Nr. 11, 711 ZPO",
        ["VwGO § 167 Abs. 2", "ZPO § 708 Nr. 11", "ZPO § 711"],
    ),
    ("letters of a number", "§§ 40a und b EStG", ["EStG § 40a", "EStG § 40b"]),
    (
        "letters without a marker",
        "§ 543 Abs. 2 Satz 1 Nr. 3 a) und b) BGB",
        ["BGB § 543 Abs. 2 Satz 1 Nr. 3 lit. a", "BGB § 543 Abs. 2 Satz 1 Nr. 3 lit. b"],
    ),
    ("brackets", "§ 3 ( 1 ) , 2 PatG", ["PatG § 3 Abs. 1", "PatG § 3 Abs. 2"]),
    ("units first", "Satz 2 des § 5 Absatz 1 BDSG", ["BDSG § 5 Abs. 1 Satz 2"]),
    ("the law first", "BDSG § 38 Abs. 1", ["BDSG § 38 Abs. 1"]),
    ("plurals", "§ 3 Absätze 1 und 2 BGB", ["BGB § 3 Abs. 1", "BGB § 3 Abs. 2"]),
    ("slash", "§ 3 Abs. 1/2 BGB", ["BGB § 3 Abs. 1", "BGB § 3 Abs. 2"]),
    ("beziehungsweise", "§ 3 bzw. § 4 BGB", ["BGB § 3", "BGB § 4"]),
    ("line break inside", "Artikel 5 der Verordnung (EU)\n\n2016/679", ["Art. 5 DSGVO"]),
    ("several EU acts", "Richtlinien (EU) 2022/2555 und (EU) 2016/1148", ["NIS2", "NIS1"]),
    ("number before year", "Verordnung (EU) Nr. 575/2013", ["CRR"]),
    ("old directive", "RL 2002/58/EG", ["ePrivacy-RL"]),
    ("not part of a number", "Az. 5/2016/679", []),
    ("a law report is no law", "SozR 4-2500 § 31 Nr 17", []),
    ("a heading cites nothing", "§ 4 Schlussbestimmungen", []),
    ("a heading in the text", "Nach § 3.\n§ 5 Stammdaten\nSie gelten.", ["?§ 3"]),
    ("a sentence may begin with a citation", "§ 4 gilt entsprechend. § 5 Gewerbeordnung bleibt.", ["?§ 4", "GewO § 5"]),
    ("a commentary is no law", "Tipke/Kruse, § 162 Rz 20", []),
]


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in CHAINS], ids=[case[0] for case in CHAINS])
def test_chain(text: str, expected: list[str]) -> None:
    assert places(text) == expected


UNREAD = [
    # what could not be read completely is said to be so, with the part that was read
    ("a marker without a value", "§ 5 Abs. und so weiter", "§ 5"),
    ("units that do not fit", "§ 5 Abs. 1 Abs. 2 BGB", "§ 5 Abs. 1"),
    ("a Nummer that is no number", "§ 5 Nummer B1 BGB", "§ 5"),
]


@pytest.mark.parametrize(("text", "part"), [case[1:] for case in UNREAD], ids=[case[0] for case in UNREAD])
def test_incomplete_reading_is_said(text: str, part: str) -> None:
    first = find(text, LAWS)[0]
    assert (first.text, first.complete) == (part, False)


def test_spans_are_exact() -> None:
    text = "Nach § 22 Abs. 1 BDSG, Art. 6 DSGVO (und ErwG 26 DSGVO) gilt § 823 BGB; vgl. auch § 1823 BGB."
    found = find(text, LAWS)
    assert [item.text for item in found] == [
        "§ 22 Abs. 1 BDSG",
        "Art. 6 DSGVO",
        "ErwG 26 DSGVO",
        "§ 823 BGB",
        "§ 1823 BGB",
    ]
    assert all(text[item.start : item.end] == item.text for item in found)
