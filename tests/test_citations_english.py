"""Citations in the English of EU acts, and what a comparison with the German texts of the same acts taught."""

from collections import defaultdict
from pathlib import Path

import pytest

from ingest.gather import Gathered, survey
from ingest.manifest import read_manifest
from normalize.citing import ListedInventory, find
from normalize.laws import LawTable

LAWS = LawTable.builtin()
GDPR = LAWS.by_code("DSGVO")
ARTICLES = (*(str(number) for number in range(1, 100)), "Anhang I", "Anhang III", "Anlage 1")
PARAGRAPHS = {("DSGVO", "4"): (), ("DSGVO", "6"): ("1", "2", "3", "4"), ("DSGVO", "13"): ("1", "2", "3", "4")}
INVENTORY = ListedInventory({"DSGVO": ARTICLES}, PARAGRAPHS)


def labels(text: str, *, norm: str | None = "6", language: str | None = "en") -> list[str]:
    """The labels of all resolved places, in order; acts named without a place are none."""
    found = find(text, LAWS, this_law=GDPR, this_norm=norm, inventory=INVENTORY, language=language)
    targets = (target for one in found for target in one.targets)
    return [target.citation.label for target in targets if target.resolved and target.citation.article is not None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Article 6(1), point (a), of Regulation (EU) 2016/679", ["Art. 6 Abs. 1 lit. a DSGVO"]),
        ("point (a) of Article 6(1)", ["Art. 6 Abs. 1 lit. a DSGVO"]),
        ("points (a) and (c) of Article 6(1)", ["Art. 6 Abs. 1 lit. a DSGVO", "Art. 6 Abs. 1 lit. c DSGVO"]),
        ("Article 6(1)(a)", ["Art. 6 Abs. 1 lit. a DSGVO"]),
        ("Article 6(1), first subparagraph, point (c) or (e)",
         ["Art. 6 Abs. 1 UAbs. 1 lit. c DSGVO", "Art. 6 Abs. 1 UAbs. 1 lit. e DSGVO"]),
        ("Articles 13 to 15 and 34", ["Art. 13 DSGVO", "Art. 14 DSGVO", "Art. 15 DSGVO", "Art. 34 DSGVO"]),
        ("Article 13(1) and (2)", ["Art. 13 Abs. 1 DSGVO", "Art. 13 Abs. 2 DSGVO"]),
        ("Articles 5, 6(1) and 9 apply", ["Art. 5 DSGVO", "Art. 6 Abs. 1 DSGVO", "Art. 9 DSGVO"]),
        ("Article 55 or 56", ["Art. 55 DSGVO", "Art. 56 DSGVO"]),
        ("Article 12 and 13 months later", ["Art. 12 DSGVO"]),
        ("paragraphs 1, 2 and 3 of this Article",
         ["Art. 6 Abs. 1 DSGVO", "Art. 6 Abs. 2 DSGVO", "Art. 6 Abs. 3 DSGVO"]),
        ("the first subparagraph of paragraph 1", ["Art. 6 Abs. 1 UAbs. 1 DSGVO"]),
        ("the second sentence of the first subparagraph of Article 13(1)", ["Art. 13 Abs. 1 UAbs. 1 Satz 2 DSGVO"]),
        ("paragraph 1 of this Article to the Board", ["Art. 6 Abs. 1 DSGVO"]),
        ("Article 16(2) TFEU", ["Art. 16 Abs. 2 AEUV"]),
        ("Article 6(1), point (f), GDPR", ["Art. 6 Abs. 1 lit. f DSGVO"]),
        ("Article 8(1) of the Charter of Fundamental Rights of the European Union", ["Art. 8 Abs. 1 GRCh"]),
        ("Annexes I and III", ["Anhang I DSGVO", "Anhang III DSGVO"]),
        ("points 1 and 6 of Annex III", ["Anhang III Nr. 1 DSGVO", "Anhang III Nr. 6 DSGVO"]),
        ("Annex I, Section A, point 3", ["Anhang I Abschnitt A Nr. 3 DSGVO"]),
        ("recitals 26 and 27", ["ErwG 26 DSGVO", "ErwG 27 DSGVO"]),
        ("Article 4(1)(a)(ii) of Directive 2002/58/EC of the European Parliament and of the Council",
         ["Art. 4 Abs. 1 lit. a Ziff. ii ePrivacy-RL"]),
    ],
)  # fmt: skip
def test_places(text: str, expected: list[str]) -> None:
    assert labels(text) == expected


def test_a_definition_is_a_point_where_the_article_has_no_such_paragraph() -> None:
    assert labels("within the meaning of Article 4(7)") == ["Art. 4 Nr. 7 DSGVO"]
    assert labels("Article 4, point (7)") == ["Art. 4 Nr. 7 DSGVO"]
    assert labels("Article 6(4)") == ["Art. 6 Abs. 4 DSGVO"]


@pytest.mark.parametrize(
    "text",
    [
        "Articles 5 and 6 thereof",
        "Article 5 of that Regulation",
        "Article 2 of the Annex to Recommendation 2003/361/EC",
        "Article 5 of the Convention",
        "Article 12 of Regulation (EU) 2099/9999",
        "point (a) of that paragraph",
        "point (a)",  # of which paragraph?
        "Article 6 of this Directive",  # the act is a Regulation
        "In Regulation (EU) No 910/2014, Article 19 is deleted",
        "Directive (EU) 2018/1972 is amended as follows: (1) Article 40 is deleted",
        "the following is inserted: ‘Article 5 shall apply",
    ],
)
def test_what_may_be_of_another_law_gives_no_place(text: str) -> None:
    assert labels(text) == []


def test_the_language_is_told_by_the_text() -> None:
    assert labels("What does Article 13 GDPR say?", language=None) == ["Art. 13 DSGVO"]
    assert labels("Was sagt Artikel 13 DSGVO zu Annex III?", language=None) == ["Art. 13 DSGVO"]
    assert labels("nach Anlage 1, MARPOL Annex VI", norm=None, language="de") == ["Anlage 1 DSGVO"]


@pytest.mark.parametrize(
    "text",
    [
        "die Vorschriften der Artikel 12 bis 15 dieser Richtlinie",
        "Artikel 12 bis 15 jener Verordnung",
        "in Verbindung mit deren Artikel 5",
        "nach dessen § 3",
        "Artikel 2 des Anhangs der Empfehlung 2003/361/EG",
        "gestützt auf den Vertrag über die Arbeitsweise der Union, insbesondere auf Artikel 16",
        "In der Verordnung (EU) Nr. 910/2014 wird Artikel 19 gestrichen",
        "In der Richtlinie (EU) 2018/1972 werden die Artikel 40 und 41 gestrichen",
        "Das Musterprüfgesetz wird wie folgt geändert: 1. Artikel 5 wird aufgehoben",
    ],
)
def test_german_places_of_another_law(text: str) -> None:
    """Found where the English text of the same act cites another norm."""
    assert labels(text, language="de") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Artikel 12 dieser Verordnung", ["Art. 12 DSGVO"]),
        ("nach dieser Verordnung, insbesondere nach Artikel 5", ["Art. 5 DSGVO"]),
        ("deren in Artikel 6 Absatz 1 bezeichnete Stellen", ["Art. 6 Abs. 1 DSGVO"]),
        ("nach Artikel 6 Absatz 1 im Anhang ausgewiesene", ["Art. 6 Abs. 1 DSGVO"]),
        ("gemäß Artikel 6 Absatz 1 in Verbindung mit Nummer 2 des Anhangs", ["Art. 6 Abs. 1 DSGVO"]),
    ],
)
def test_german_places_of_this_law(text: str, expected: list[str]) -> None:
    assert labels(text, language="de")[:1] == expected


def edges(folder: Path, shared: Path, code: str, files: list[str]) -> dict[tuple[str, str | None, bool], set[str]]:
    """What each Absatz of an act cites."""
    folder.mkdir()
    manifest = folder / "manifest.yaml"
    manifest.write_text(
        f"collection: t\nroot: {shared / 'corpus'}\ndocuments:\n"
        f"  - path: [{', '.join(files)}]\n    code: {code}\n    id: {code}\n"
    )
    found = survey(read_manifest(manifest), LAWS, chunks_of)
    cites: dict[tuple[str, str | None, bool], set[str]] = defaultdict(set)
    for chunk in found.picked[0] or ():
        place = (chunk.payload["article"], chunk.payload["paragraph"], chunk.payload["is_recital"])
        cites[place] |= set(found.edges.of(chunk.payload)[0])
    return cites


def chunks_of(gathered: Gathered) -> list:
    return gathered.chunks


@pytest.mark.corpus
def test_gdpr_cites_the_same_in_both_languages(shared: Path, tmp_path: Path) -> None:
    """618 of 624 edges agree; what differs are errors in print that corrigenda mended later in one language."""
    german = ["eurlex-de/dsgvo_32016R0679_DE_formex_L_2016119DE.01000101.xml"]
    english = ["eurlex-en/gdpr_32016R0679_EN_oj.html"]
    de, en = edges(tmp_path / "de", shared, "DSGVO", german), edges(tmp_path / "en", shared, "DSGVO", english)
    both = sum(len(de[place] & en[place]) for place in {*de, *en})
    assert both >= 618
    differing = {place for place in {*de, *en} if de[place] != en[place]}
    assert differing <= {(article, paragraph, False) for article, paragraph in (
        ("15", "4"), ("20", "4"), ("28", "7"), ("33", "1"), ("65", "4"), ("83", "1"))}  # fmt: skip


@pytest.mark.corpus
def test_nis2_cites_no_other_norm_in_english_than_in_german(shared: Path, tmp_path: Path) -> None:
    """The German text here has no annexes, and lost the numbers of some Absätze."""
    german = [
        f"eurlex-de/nis2_32022L2555_DE_articles-md/{path.name}"
        for path in sorted((shared / "corpus/eurlex-de/nis2_32022L2555_DE_articles-md").glob("*.md"))
    ]
    stem = "eurlex-en/nis2_32022L2555_EN_formex_L_2022333EN.01"
    english = [f"{stem}{number}.xml" for number in ("008001", "014301", "014801")]
    de, en = edges(tmp_path / "de", shared, "NIS2", german), edges(tmp_path / "en", shared, "NIS2", english)
    shared_places = {place for place in {*de} & {*en} if place[0] not in ("23", "4")}
    only_english = {(place, key) for place in shared_places for key in en[place] - de[place] if "Anhang" not in key}
    assert sum(len(de[place] & en[place]) for place in shared_places) >= 145
    assert len(only_english) <= 3, only_english
