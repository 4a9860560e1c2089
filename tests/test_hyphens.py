"""Hyphens at line ends: what was cut, and by which evidence it is known."""

import random
import re
from collections import Counter
from pathlib import Path

import pyphen
import pytest

from normalize.hyphens import Decision, count_words, decide, join_line_ends
from tests.text_gold import bulk_texts, floor, pdf_pages

# left, right, words that occur elsewhere → what the hyphen was, and how that is known
DECISIONS: list[tuple[str, str, dict[str, int], Decision]] = [
    # a second half with a capital is a compound, whatever occurs elsewhere
    ("Offshore", "Netzumlage", {}, Decision("compound", "case")),
    ("Soldaten", "Gleichbehandlungsgesetzes", {"SoldatenGleichbehandlungsgesetzes": 1}, Decision("compound", "case")),
    ("DATEN", "SCHUTZ", {"DATENSCHUTZ": 2}, Decision("word", "counted")),
    ("DS", "Meld", {"DSMeld": 2}, Decision("word", "counted")),
    ("BER", "LIN", {"Berlin": 2}, Decision("word", "counted")),
    ("EN", "ISO", {}, Decision("compound", "case")),
    # a part is left out before a conjunction
    ("Geld", "und", {}, Decision("suspended", "conjunction")),
    ("Amts", "beziehungsweise", {}, Decision("suspended", "conjunction")),
    ("ein", "bis", {}, Decision("suspended", "conjunction")),
    ("den", "noch", {"dennoch": 1}, Decision("word", "counted")),
    ("ein", "bis", {"ein": 9}, Decision("suspended", "conjunction")),
    ("Potenti", "als", {"ein": 9}, Decision("word", "dictionary")),
    # the forms that occur elsewhere are counted
    ("Daten", "schutz", {"Datenschutz": 1}, Decision("word", "counted")),
    ("ent", "sprechend", {"entsprechend": 4, "ent-sprechend": 1}, Decision("word", "counted")),
    ("cloud", "basiert", {"cloud-basiert": 2, "cloudbasiert": 1}, Decision("compound", "counted")),
    # else the dictionary, the kind of parts, and habit
    ("Da", "ten", {}, Decision("word", "dictionary")),
    ("öffentlich", "rechtlichen", {}, Decision("compound", "parts")),
    ("Windenergie", "auf-See-Gesetz", {}, Decision("compound", "parts")),
    ("Befeh", "lshaber", {}, Decision("word", "habit")),
    ("EU", "weit", {}, Decision("compound", "case")),
    ("10", "jährig", {}, Decision("compound", "case")),
    # the last part of a compound is what was cut
    ("Kfz-Haftpflicht", "versicherung", {}, Decision("word", "dictionary")),
    # nothing is known: the hyphen stays, and shows
    ("s", "bescheides", {}, Decision("compound", "none")),
]


@pytest.mark.parametrize(("left", "right", "known", "expected"), DECISIONS)
def test_what_a_line_end_cut(left: str, right: str, known: dict[str, int], expected: Decision) -> None:
    assert decide(left, right, known) == expected


@pytest.mark.parametrize(
    "hyphen", ["-\n", "-\r\n", "- \n ", "\u00ad\n", "\u2010\n", "\u00ac\n", "\ufffe", "-\f", "-\n\f", "\u00ad "]
)
def test_every_way_to_write_it(hyphen: str) -> None:
    text, joined = join_line_ends(f"der Daten{hyphen}schutz ist", {})
    assert " ".join(text.split()) == "der Datenschutz ist"
    assert [(one.left, one.right, one.result) for one in joined] == [("Daten", "schutz", "Datenschutz")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("den Daten-\nschutz, der", "den Datenschutz,\nder"),
        ("(Bundes-\ndaten-\nschutz)", "(Bundesdatenschutz)\n\n"),
        ("Land-\nund Forst-\nwirtschaft", "Land- und\nForstwirtschaft\n"),
        ("ab-\n(gegeben)", "ab-\n(gegeben)"),
        ("er -\ndas", "er -\ndas"),
        ("Vor-\nund", "Vor- und\n"),
    ],
)
def test_lines_stay_lines_and_punctuation_follows_its_word(text: str, expected: str) -> None:
    assert join_line_ends(text, {})[0] == expected


def test_words_are_counted_whole() -> None:
    assert count_words(["Daten\u00adschutz im EU-Recht, Daten-\nschutz"]) == Counter(
        ["Datenschutz", "im", "EU-Recht", "Daten", "schutz"]
    )


# The hyphens of the PDFs, checked by eye and against the published texts; two words the PDF itself tears apart
# ("Vollstreckung s-⏎bescheides") keep their hyphen and are reported.
PDF_RESULTS = {
    "bgbl-1_2024_107_DE.pdf": ["Offshore-Netzumlage", "Artikel"],
    "bgbl-1_2024_17_DE.pdf": ["Soldaten-Gleichbehandlungsgesetzes", "Geld- und"],
    "bgbl-1_2024_203_203_DE.pdf": [
        "Geldforderungen", "Zivilprozessordnung", "Formular", "Formular", "Formular", "s-bescheides", "s-bescheinigung",
        "Verhältnisse", "sämtliche", "Ansprüche", "angebliche", "festverzinslichen", "Bankschließfachs",
        "Lebensversicherungen", "Rentenversicherung", "herauszugeben", "insoweit", "unterhaltsberechtigten", "bestimmt",
        *["Hauptforderung"] * 6,
    ],
    "dsgvo_ratsstandpunkt_ST-5419-2016_DE.pdf": [
        "Steuer- und", "Online-Diensten", *["Datenschutz-Folgenabschätzung"] * 5, "Standard-Datenschutzklauseln",
        "Herz-Kreislauferkrankungen", "Datenschutz-Folgenabschätzung", "EN-ISO", "Amts- beziehungsweise",
    ],
}  # fmt: skip


@pytest.mark.floor
@pytest.mark.corpus
def test_the_hyphens_of_the_pdfs(shared: Path) -> None:
    right = total = 0
    for name, expected in PDF_RESULTS.items():
        pages = pdf_pages(shared / "corpus/pdf" / name)
        _, joined = join_line_ends("\f".join(pages), count_words(pages))
        assert len(joined) == len(expected)
        right += sum(one.result == result for one, result in zip(joined, expected, strict=True))
        total += len(expected)
    assert right / total >= floor("line_hyphens_pdf")


@pytest.mark.floor
@pytest.mark.corpus
def test_made_hyphens_in_federal_law(shared: Path) -> None:
    """Words cut where a dictionary allows, compounds and suspended parts at their hyphens; other laws are counted."""
    texts = list(bulk_texts(shared, every=40))
    dictionary = pyphen.Pyphen(lang="de_DE")
    chance = random.Random(7)
    known = count_words(texts[1::2])
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    seen: set[tuple[str, str]] = set()
    for text in texts[::2]:
        for match in re.finditer(r"[^\W\d_]+(?:-[^\W\d_]+)+|[^\W\d_]+- (?:und|oder|sowie)\b|[^\W\d_]{6,}", text):
            word = match.group()
            if "- " in word:
                kind, (left, right_side) = "suspended", word.split("- ")
            elif "-" in word:
                left, _, right_side = word.partition("-")
                kind = "compound"
            elif points := dictionary.positions(word):
                point = chance.choice(points)
                kind, left, right_side = "word", word[:point], word[point:]
            else:
                continue
            if (left, right_side) in seen or (kind == "compound" and right_side.startswith(("und", "oder"))):
                continue  # the law itself forgot a blank
            seen.add((left, right_side))
            total[kind] += 1
            right[kind] += decide(left, right_side, known).kind == kind
    assert min(total.values()) >= 100, total
    for kind in total:
        assert right[kind] / total[kind] >= floor(f"line_hyphens_{kind}"), (kind, right[kind], total[kind])
