"""BM25 terms: spellings that must meet, weights by hand, ids that never change."""

import os
import subprocess
import sys
import unicodedata
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from normalize.analyzer import (
    AVERAGE_LENGTH,
    VERSION,
    Language,
    sparse_document,
    sparse_query,
    term_id,
    terms,
    words,
)

ROOT = Path(__file__).resolve().parent.parent

# (one spelling, the other, why they must give the same terms)
SAME: tuple[tuple[str, str, str], ...] = (
    ("§38", "§ 38", "with and without the space"),
    ("§\u00a038 Abs.1", "§ 38 Abs. 1", "no-break space, space left out after the full stop"),
    ("§§ 38,39", "§ § 38, 39", "a double section sign is two"),
    ("Datenschutzbeauftragten", "Datenschutzbeauftragter", "inflection"),
    ("VERARBEITUNG", "Verarbeitung", "capitals"),
    ("Maßnahmen", "MASSNAHMEN", "ß in capitals is SS"),
    ("Prüfung", "Pruefung", "umlaut written out"),
    ("Häuser", "Haus", "umlaut of the plural"),
    (unicodedata.normalize("NFD", "Prüfung"), "Prüfung", "decomposed letters"),
    ("Daten\u00adschutz", "Datenschutz", "soft hyphen"),
    ("die Pflichten des Betreibers", "Pflichten Betreibers", "stop words"),
    ("„Anlage 1“ (zu § 5)", "Anlage 1 § 5", "quotation marks and brackets"),
    ("document_version", "document version", "an underscore separates"),
)

# (text, terms, why)
EXACT: tuple[tuple[str, list[str], str], ...] = (
    ("", [], "nothing"),
    (" – „…“ ", [], "no word at all"),
    ("der die das und", [], "stop words only"),
    ("§ 38 Abs. 1 Nr. 3 lit. c", ["§", "38", "abs", "1", "nr", "3", "lit", "c"], "numbers and letters count"),
    ("§ 312a BGB", ["§", "312a", "bgb"], "a letter stays with its number"),
    ("Art. 2016/679", ["art", "2016", "679"], "a slash separates"),
    ("nicht, kein, darf, muss", ["nicht", "kein", "darf", "muss"], "negations and modal verbs are no stop words"),
    ("Haus und Haus", ["haus", "haus"], "repetitions stay"),
)


@pytest.mark.parametrize(("one", "other"), [row[:2] for row in SAME], ids=[row[2] for row in SAME])
def test_spellings_that_meet(one: str, other: str) -> None:
    assert terms(one) == terms(other) != []


@pytest.mark.parametrize(("text", "expected"), [row[:2] for row in EXACT], ids=[row[2] for row in EXACT])
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_english() -> None:
    assert terms("The controllers shall not be processing the data", "en") == terms(
        "controller shall not process data", "en"
    )
    assert terms("the") == ["the"], "an English stop word is a German word"


def test_different_provisions_stay_apart() -> None:
    assert terms("§ 38") != terms("§ 39")
    assert terms("§ 312") != terms("§ 312a")


@given(st.text(max_size=60))
def test_any_text_gives_words_in_one_form(text: str) -> None:
    for word in words(text):
        assert word == word.casefold() and not word.isspace() and word
        assert words(word) == [word], "a word is one word again"


class TestWeights:
    def test_by_hand(self) -> None:
        # Three terms, one of them twice: length 3; k1 = 1.2, b = 0.4, average 6.
        found = dict(zip(*sparse_document("Haus Haus Garten", average_length=6.0), strict=True))
        norm = 1.2 * (1 - 0.4 + 0.4 * 3 / 6)
        expected = {"haus": 2 * 2.2 / (2 + norm), "gart": 1 * 2.2 / (1 + norm)}
        assert found == {term_id(term): float(np.float32(weight)) for term, weight in expected.items()}

    def test_a_question_weighs_each_term_once(self) -> None:
        query = sparse_query("Haus, Haus oder Garten?")
        assert query == (tuple(sorted([term_id("haus"), term_id("gart")])), (1.0, 1.0))

    def test_more_of_a_term_weighs_more_but_saturates(self) -> None:
        filler = " Garten" * 20
        weights = []
        for times in (1, 2, 4, 8):
            found = sparse_document("Haus " * times + filler, average_length=20.0)
            weights.append(found.values[found.indices.index(term_id("haus"))])
        assert weights == sorted(weights) and weights[-1] < 2.2
        gains = [right - left for left, right in pairwise(weights)]
        assert gains[-1] < gains[0] * 4, "four more at the end gain less than four times the first one more"

    def test_a_longer_chunk_weighs_less(self) -> None:
        short, long = sparse_document("Haus"), sparse_document("Haus " + "Garten " * 100)
        assert long.values[long.indices.index(term_id("haus"))] < short.values[0]

    def test_nothing_gives_nothing(self) -> None:
        assert sparse_document("") == ((), ()) == sparse_query("der die das")

    def test_ids_that_collide_are_added(self) -> None:
        # Two words of federal law whose CRC-32 is the same.
        one, other = "Elektrotauch", "Transportgüterversicherung"
        (left,), (right,) = terms(one), terms(other)
        assert left != right and term_id(left) == term_id(right)
        both = sparse_document(f"{one} {other}")
        norm = 1.2 * (1 - 0.4 + 0.4 * 2 / AVERAGE_LENGTH)
        assert both == ((term_id(left),), (float(np.float32(2 * 2.2 / (1 + norm))),))

    @given(st.text(max_size=300), st.sampled_from(["de", "en"]))
    def test_every_vector_is_one_an_engine_takes(self, text: str, language: Language) -> None:
        for vector in (sparse_document(text, language), sparse_query(text, language)):
            assert len(vector.indices) == len(vector.values)
            assert list(vector.indices) == sorted(set(vector.indices))
            assert all(type(index) is int and 0 <= index < 2**32 for index in vector.indices)
            assert all(float(np.float32(value)) == value > 0 for value in vector.values)


def test_ids_and_weights_are_pinned() -> None:
    """What is stored must be found next year: these figures may change only together with VERSION."""
    assert VERSION == "bm25-2"
    assert term_id("datenschutzbeauftragt") == 443378366
    pinned = (443378366, 2645610321, 4037513592), (1.2557077407836914, 1.2557077407836914, 1.2557077407836914)
    assert sparse_document("Datenschutzbeauftragte nach § 38") == pinned
    assert sparse_document("Datenschutzbeauftragter nach §38") == pinned


@pytest.mark.parametrize("seed", ["0", "1", "random"])
def test_the_same_in_every_process(seed: str) -> None:
    text = "Benennung eines Datenschutzbeauftragten nach § 38 Abs. 1 Satz 2 Maßnahmen"
    code = f"from normalize.analyzer import *; print(sparse_document({text!r}), sparse_query({text!r}))"
    environment = {
        **os.environ,
        "PYTHONHASHSEED": seed,
        "PYTHONPATH": str(ROOT),
        "LC_ALL": "C",
        "PYTHONIOENCODING": "utf-8",
    }
    printed = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == f"{sparse_document(text)} {sparse_query(text)}"


@pytest.mark.corpus
def test_the_average_length_is_that_of_federal_law(shared: Path) -> None:
    """The constant need not be exact (BM25 is flat around it), but it must be of this kind of text."""
    lengths: list[int] = []
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    for path in sorted((shared / "corpus" / "gii-xml").rglob("*.xml")):
        paragraphs = etree.parse(path, parser).iterfind(".//textdaten/text/Content/P")
        lengths.extend(len(terms(" ".join(paragraph.itertext()))) for paragraph in paragraphs)
    assert len(lengths) > 1000
    average = sum(lengths) / len(lengths)
    assert 0.6 * AVERAGE_LENGTH < average < 1.6 * AVERAGE_LENGTH, average
