"""Sentences of legal German (`Satz`): what ends one, measured on laws that number their sentences themselves."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from normalize.sentences import split_sentences
from tests.sentence_gold import HELD_OUT, TUNED_ON, GoldBlock, bulk_laws, law_blocks
from tests.text_gold import digest, floor, gold_digests
from tests.work import work

# Sentences divided by " | "; a text without it is one sentence.
CASES = [
    "Wer muss, der soll. | Wer kann, der darf.",
    # abbreviations of citations
    "Nach Abs. 1 Nr. 2 Buchst. a gilt § 3. | Satz 1 bleibt unberührt.",
    "Dies gilt i. V. m. Art. 6 Abs. 1 UAbs. 1 lit. f DSGVO. | Es gilt nicht, wenn Ziff. 3 gilt.",
    "Vgl. § 3 Abs. 2 Satz 1 Hs. 2 bzw. Nrn. 3 und 4 BGB.",
    "Das Gesetz vom 3. Mai 2013 (BGBl. I S. 1084), das zuletzt geändert wurde, gilt. | § 2 bleibt.",
    "Die Verordnung (ABl. L 119 vom 4.5.2016, S. 1) gilt.",
    # abbreviations of running text
    "Mittel, z. B. Geräte, u. a. Waffen, d. h. Sachen i. S. v. § 1 oder i. S. d. Gesetzes, sind ggf. Dritten zu geben.",
    "Der e. V. Berlin und die Meyer GmbH & Co. KG haften.",
    "Der Betrag ist um 80 v. H. zu kürzen. | Höchstens 80 v. H. | Der Rest entfällt.",
    "Es gilt § 5 a. F. | Die Frist läuft.",
    # ordinals and dates
    "Am 3. Juni 2020 und am 25./26. Juni tritt es in Kraft. | Die Frist endet am 31. Dezember 2024. | Danach nicht.",
    "Ab dem 18. Lebensjahr, im 2. Abschnitt und in der 274. Sitzung gilt dies.",
    "Bis zum 15. Kalendertag des auf den Monat folgenden 2. Monats ist zu zahlen.",
    "Das gilt für das Jahr 2020. | Teil 2 gilt auch.",
    # references that end a sentence
    "Es gilt § 20 Absatz 8. | Satz 1 ist anzuwenden.",
    "Anzuwenden ist Satz 3 Buchstabe b. | § 32 gilt nicht.",
    "Dies gilt für die Nummern 3 bis 5. | Ausnahmen sind zulässig.",
    "Es gilt Teil II. | Die Anlage ist zu beachten.",
    # brackets and quotations are not cut, and what follows them is
    "Der Antrag (Formular A. Es ist beizufügen.) ist zu stellen. | Er ist zu begründen.",
    "In § 3 wird angefügt: „Die Behörde kann handeln. Sie muss es begründen.“ | In § 4 wird nichts geändert.",
    "Das Wort „Abs.“ wird ersetzt.",
    "(Wer muss, der soll.) | Wer kann, der darf.",
    # labels, other signs, glued sentences
    "1. Die Behörde entscheidet.",
    "Wer darf das? | Niemand darf das! | Es gilt § 1.",
    "Die Frist ist gewahrt.| Die Kosten trägt der Schuldner.",
    "Die Angaben ... (Name) sind zu machen. | § 3 gilt.",
    "50 Prozent sind zu zahlen. | 30 Prozent werden gestundet.",
    # the sentence goes on with a small letter
    "Als Nr. 3. bis 5. gelten Waren usw. sowie Stoffe etc. und anderes.",
]


@pytest.mark.parametrize("case", CASES)
def test_what_ends_a_sentence(case: str) -> None:
    expected = [part.strip() for part in case.split("|")]
    text = case.replace(" | ", " ").replace("|", "").replace("  ", " ") if ".| " not in case else case.replace("| ", "")
    assert [text[start:end] for start, end in split_sentences(text)] == expected


SIGNS = st.sampled_from(
    [
        "Die",
        "Wer",
        "gilt",
        "Abs.",
        "Nr.",
        "1.",
        "2a.",
        "§",
        "(",
        ")",
        "„",
        "“",
        ".",
        "...",
        "!",
        "?",
        " ",
        "  ",
        "\n",
        "I.",
        "z. B.",
        "\u00a0",
    ]
)


@settings(max_examples=500)
@given(text=st.lists(SIGNS, max_size=40).map("".join) | st.text(max_size=80))
def test_the_spans_cover_every_sign_in_order(text: str) -> None:
    position = 0
    for start, end in split_sentences(text):
        assert text[position:start].strip() == "" and start < end
        assert not text[start].isspace() and not text[end - 1].isspace()
        position = end
    assert text[position:].strip() == ""


@settings(max_examples=200)
@given(text=st.lists(SIGNS, max_size=40).map("".join))
def test_a_sentence_alone_is_one_sentence_or_starts_alike(text: str) -> None:
    """What follows a sentence decides nothing about the ends before it."""
    spans = split_sentences(text)
    if len(spans) > 1:
        start = spans[-1][0]
        assert split_sentences(text[:start])[: len(spans) - 1] == spans[:-1] or "(" in text or "„" in text


@pytest.mark.parametrize(
    "unit", [".", "(", "(. ", "„“. ", ". A", "a.”", "1. ", "Abs. ", "„ (", ") “", " ", "A.", "Die.", "Es gilt. "]
)
def test_work_grows_with_length_only(unit: str) -> None:
    def text(length: int) -> str:
        return unit * (length // len(unit))

    split_sentences(text(1_000))
    assert work(lambda: split_sentences(text(200_000))) < 14 * work(lambda: split_sentences(text(20_000))) + 1_000


def share_right(blocks: Iterable[GoldBlock]) -> float:
    right = total = 0
    for block in blocks:
        right += len(set(block.sentences) & set(split_sentences(block.text)))
        total += len(block.sentences)
    assert total > 500
    return right / total


@pytest.mark.floor
@pytest.mark.corpus
def test_estg_numbers_its_sentences_as_we_do(shared: Path) -> None:
    assert share_right(law_blocks((shared / "corpus/gii-xml/estg_2024-08.xml").read_bytes())) >= floor("sentences_estg")


@pytest.mark.floor
@pytest.mark.corpus
def test_other_laws_with_sentence_numbers(shared: Path) -> None:
    """KStG was read while the rules were written, the others were not."""
    laws = dict(bulk_laws(shared / "corpus/bulk/gii-xml-all_2024-10.tar.zst", (*TUNED_ON, *HELD_OUT)))
    assert share_right(block for name in TUNED_ON for block in law_blocks(laws[name])) >= floor("sentences_kstg")
    assert share_right(block for name in HELD_OUT for block in law_blocks(laws[name])) >= floor("sentences_held_out")


@pytest.mark.corpus
def test_the_floors_belong_to_this_gold(shared: Path) -> None:
    assert {path: digest(shared / path) for path in gold_digests()} == gold_digests()
