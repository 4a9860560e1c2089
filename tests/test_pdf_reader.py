"""PDFs: gazettes and Council texts against structured sources, layouts of other kinds, pages, refusals."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.compose import compose, write_sub
from ingest.sources.formex import read_formex
from ingest.sources.gii import read_gii
from ingest.sources.legaldocml import read_legaldocml
from ingest.sources.pdf import is_pdf, read_pdf
from ingest.sources.pdf_layout import read_layout
from ingest.sources.pdf_outline import Outline, read_outline
from ingest.tree import Act, Provision
from normalize.errors import SourceError
from tests import pdf_gold
from tests.pdf_press import COUNCIL, FEDERAL, TIGHT, House, Row, centred, more, press, typeset

GAZETTE = "corpus/pdf/bgbl-1_2024_17_DE.pdf"
AMENDING = "corpus/pdf/bgbl-1_2024_107_DE.pdf"
FORMS = "corpus/pdf/bgbl-1_2024_203_203_DE.pdf"
COUNCIL_TEXT = "corpus/pdf/dsgvo_ratsstandpunkt_ST-5419-2016_DE.pdf"
DSGVO = "corpus/eurlex-de/dsgvo_32016R0679_DE_formex_L_2016119DE.01000101.xml"
LEGALDOCML = "corpus/legaldocml/milpersgleifog_bgbl-1-2024-17_{}.xml"
HELD_OUT = ("bdsg_2024-12", "gg_2025-03", "owig_2026-01")


def read(shared: Path, name: str) -> Act:
    return read_pdf((shared / name).read_bytes(), Path(name).name)


def provision(act: Act, article: str) -> Provision:
    return next(p for p in act.provisions if p.article == article)


FRONT = (
    centred("Gesetz zur Probe"), centred("Vom 1. Januar 2020"),
    Row("Auf Grund eines Gesetzes, das hier nur steht, damit die Seite auch Zeilen hat, die ohne Abstand"),
    more("aufeinander folgen und bis an den rechten Rand des Satzspiegels reichen, wie es in jedem Gesetz"),
    more("der Fall ist, dessen Absätze länger sind als eine Zeile, was für alle gilt, die es je gegeben"),
    more("hat und geben wird, verordnet die Bundesregierung:"),
)  # fmt: skip


def printed(*rows: Row) -> Act:
    return read_pdf(press([*FRONT, *rows]), "test.pdf")


def outline(*rows: Row) -> list[tuple[str | None, list[tuple[str, str]]]]:
    """Return (Absatz, [(unit, text)]) of the only § of a page; a unit of "" is text of the Absatz itself."""
    norm = provision(printed(centred("§ 1"), centred("Probe"), *rows), "1")
    return [(a.number, [(write_sub(b.path) if b.path else "", b.text) for b in a.blocks]) for a in norm.absaetze]


# --- Against structured sources ------------------------------------------------------------------------------------


@pytest.mark.floor
@pytest.mark.corpus
def test_the_gold_is_the_one_the_floors_were_measured_on(shared: Path) -> None:
    assert {name: pdf_gold.digest(shared / name) for name in pdf_gold.gold_digests()} == pdf_gold.gold_digests()


@pytest.mark.floor
@pytest.mark.corpus
def test_gazette_against_legaldocml(shared: Path) -> None:
    parts = [read_legaldocml((shared / LEGALDOCML.format(n)).read_bytes(), "gold.xml") for n in (1, 2)]
    main_law = pdf_gold.absaetze(parts[1], under="1 § ")
    gold = {**pdf_gold.absaetze(parts[0]), **main_law}
    got = pdf_gold.absaetze(read(shared, GAZETTE))
    whole = pdf_gold.score(gold, got, quoted=False)
    assert whole.structure_f1 >= pdf_gold.floor("bgbl_structure_f1")
    assert whole.text_f1 >= pdf_gold.floor("bgbl_own_text_f1")
    assert whole.same_items == 1.0
    words, gold_words = pdf_gold.all_words(got), pdf_gold.all_words(gold)
    all_words = 2 * (words & gold_words).total() / (words.total() + gold_words.total())
    assert all_words >= pdf_gold.floor("bgbl_all_words_f1")
    of_main_law = pdf_gold.score(main_law, {key: got[key] for key in got if "§" in key[0]})
    assert of_main_law.structure_f1 == of_main_law.same_items == 1.0
    assert of_main_law.text_f1 >= pdf_gold.floor("bgbl_main_law_text_f1")


@pytest.mark.corpus
def test_headings_and_divisions_are_those_of_legaldocml(shared: Path) -> None:
    main_law = read_legaldocml((shared / LEGALDOCML.format(2)).read_bytes(), "gold.xml")
    act = read(shared, GAZETTE)
    for gold in main_law.provisions:
        found = provision(act, f"1 § {gold.article}")
        assert (found.heading, found.context[1:]) == (gold.heading, gold.context)
        assert found.context[0] == "Artikel 1 Soldatinnen- und Soldatengleichstellungsgesetz (SGleiG)"


@pytest.mark.floor
@pytest.mark.corpus
def test_council_text_against_the_act_as_adopted(shared: Path) -> None:
    act = read(shared, COUNCIL_TEXT)
    assert [p.article for p in act.provisions if p.kind == "norm"] == [str(n) for n in range(1, 100)]
    assert [p.article for p in act.provisions if p.kind == "recital"] == [str(n) for n in range(1, 174)]
    gold = read_formex((shared / DSGVO).read_bytes(), "gold.xml")
    found = pdf_gold.score(pdf_gold.absaetze(gold), pdf_gold.absaetze(act))
    assert found.structure_f1 >= pdf_gold.floor("council_structure_f1")
    assert found.text_f1 >= pdf_gold.floor("council_text_f1")
    assert found.same_items >= pdf_gold.floor("council_same_items")


@pytest.mark.floor
@pytest.mark.corpus
@pytest.mark.parametrize("law", HELD_OUT)
@pytest.mark.parametrize("house", [FEDERAL, COUNCIL, TIGHT], ids=["federal", "council", "tight"])
def test_laws_set_anew_are_read_back(shared: Path, law: str, house: House) -> None:
    gold_act = read_gii((shared / f"corpus/gii-xml/{law}.xml").read_bytes(), law)
    simple = [p for p in gold_act.provisions if p.kind == "norm" and " " not in p.article]
    gold = {(p.article, a.number): [a] for p in simple for a in p.absaetze}
    got = pdf_gold.absaetze(read_pdf(typeset(simple, house), law))
    found = pdf_gold.score(gold, got)
    assert found.structure_f1 == 1.0
    assert found.text_f1 >= pdf_gold.floor("typeset_text_f1")
    assert found.same_items >= pdf_gold.floor("typeset_same_items" if house.spaced else "typeset_tight_same_items")


# --- Nothing lost, nothing invented --------------------------------------------------------------------------------


def alnum(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def reprint(found: Outline) -> Counter[str]:
    """Count the letters and digits of all that a reading holds, headings and numbers as they are printed."""
    total: Counter[str] = Counter()
    context: tuple[str, ...] = ()
    for p in found.provisions:
        shared_depth = next(
            (i for i, pair in enumerate(zip(context, p.context, strict=False)) if len(set(pair)) > 1), 99
        )
        total += Counter(alnum("".join(p.context[min(shared_depth, len(context)) :])))
        context = p.context
        word = "Artikel" if p.kind == "norm" and "§" not in p.article else ""
        name = p.article.rpartition("§ ")[2] if p.kind in ("norm", "recital") else ""
        total += Counter(alnum(word + name + (p.heading or "")))
        for absatz in p.absaetze:
            total += Counter(absatz.number or "")
            total += Counter(alnum("".join(b.marker + b.text for b in absatz.blocks)))
    return total


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "counted"),
    [(GAZETTE, ""), (AMENDING, ""), (COUNCIL_TEXT, "12")],  # the Absätze of one Artikel are not numbered in print
)
def test_every_letter_of_every_line_is_kept_or_declared(shared: Path, name: str, counted: str) -> None:
    lines = read_layout((shared / name).read_bytes(), name)
    found = read_outline(lines)
    printed_signs = Counter(alnum("".join(line.text for line in lines)))
    left_out = Counter(alnum("".join(text for _, text in found.left_out)))
    assert {rule for rule, _ in found.left_out} <= {"contents", "page head", "cover", "title", "signature"}
    assert reprint(found) == printed_signs - left_out + Counter(counted)


@pytest.mark.corpus
@pytest.mark.parametrize("name", [GAZETTE, AMENDING, COUNCIL_TEXT])
def test_text_keeps_its_order_and_its_pages(shared: Path, name: str) -> None:
    lines = read_layout((shared / name).read_bytes(), name)
    found = read_outline(lines)
    starts: list[tuple[int, int]] = []  # (position in the print, page) of every line
    source = ""
    for line in lines:
        starts.append((len(source), line.page))
        source += alnum(line.text)
    position = 0
    blocks = [
        b for p in found.provisions for a in p.absaetze for b in a.blocks if not b.text.startswith("HABEN FOLGENDE")
    ]
    assert len(blocks) > 50
    for block in blocks:
        at = source.find(alnum(block.text), position)
        assert at >= 0, block
        assert block.page == max(start for start in starts if start[0] <= at)[1]
        position = at


# --- What a page says ----------------------------------------------------------------------------------------------


@pytest.mark.corpus
def test_identity_comes_from_the_page_head_and_title(shared: Path) -> None:
    act = read(shared, GAZETTE)
    assert (act.document_id, act.short, act.date, act.year) == (
        "eli/bund/bgbl-1/2024/17", "MilPersGleiFoG", "2024-01-24", 2024
    )  # fmt: skip
    assert act.name is not None and act.name.startswith("Gesetz zur Fortentwicklung gleichstellungsrechtlicher")
    assert read(shared, AMENDING).names == ("Zweites Haushaltsfinanzierungsgesetz 2024",)
    assert read(shared, COUNCIL_TEXT).document_id is None  # its number is not yet given: "(EU) 2016/…"


@pytest.mark.corpus
def test_amending_text_is_not_split_into_units(shared: Path) -> None:
    article = provision(read(shared, AMENDING), "2")
    (absatz,) = article.absaetze
    quoted = [b for b in absatz.blocks if b.quoted and write_sub(b.path) == "Nr. 2"]
    assert quoted[0].text.startswith("„(1a) Der bezuschlagte Bieter")
    assert [b.text[:2] for b in quoted[1:5]] == ["1.", "2.", "3.", "4."]
    assert quoted[-1].text.endswith("entsprechend.“")
    assert [b.marker for b in absatz.blocks if not b.quoted] == ["", "1.", "2.", "3.", "4.", "a)", "b)", "5."]


@pytest.mark.corpus
def test_footnotes_stand_apart(shared: Path) -> None:
    act = read(shared, COUNCIL_TEXT)
    recital = next(p for p in act.provisions if p.kind == "recital" and p.article == "13")
    assert [note[:28] for note in recital.footnotes] == ["Empfehlung der Kommission vo"]
    assert recital.absaetze[0].blocks[0].text.endswith("der Kommission maßgebend sein.")
    assert sum(len(p.footnotes) for p in act.provisions) == 21


@pytest.mark.parametrize("number", ["1", "(1)", "( 1 )"])
def test_marks_and_notes_of_every_kind_are_taken_out(number: str) -> None:
    act = printed(
        centred("§ 1"), Row("(1) Es gilt die Richtlinie des Rates", mark=number), Row("(2) Ein Feld von 1 m hat"),
        Row("ABl. L 1 vom 1.1.2000, S. 1.", note=number),
    )  # fmt: skip
    norm = provision(act, "1")
    assert [b.text for a in norm.absaetze for b in a.blocks] == [
        "Es gilt die Richtlinie des Rates", "Ein Feld von 1 m hat"
    ]  # fmt: skip
    assert norm.footnotes == ("ABl. L 1 vom 1.1.2000, S. 1.",)


def test_raised_numbers_without_a_note_are_text() -> None:
    norm = provision(printed(centred("§ 1"), Row("Die Fläche ist 5 m", mark="2")), "1")
    assert norm.absaetze[0].blocks[0].text == "Die Fläche ist 5 m2"


# --- Layouts -------------------------------------------------------------------------------------------------------

LONG = "(1) Eine Zeile, die bis an den rechten Rand der Seite geht und erst in der nächsten endet, ist"
ITEM = "1.  ein Punkt, der so lang ist, dass er in der nächsten Zeile an seinem Rand weitergeht, und"


@pytest.mark.parametrize(
    ("why", "rows", "expected"),
    [
        (
            "text after a list at the edge of the Absatz belongs to the Absatz",
            [Row(LONG), Row(ITEM), more("hier endet,", 79.2), Row("2.  noch einer,"), Row("gilt dies für beide.")],
            [("1", ["", "Nr. 1", "Nr. 2", ""])],
        ),
        (
            "at the edge of an item it belongs to the item",
            [Row("(1) Dies ist"), Row("1.  a:"), Row("a)  eins,", 79.2), Row("b)  zwei,", 79.2),
             Row("wenn es gilt,", 79.2), Row("2.  b.")],
            [("1", ["", "Nr. 1", "Nr. 1 lit. a", "Nr. 1 lit. b", "Nr. 1", "Nr. 2"])],
        ),
        (
            "a number where a sentence wraps is none",
            [Row("(1) Das Gesetz vom 5. Mai 2010, das zuletzt durch das Gesetz geändert worden ist vom"),
             more("1. Januar 2011, gilt nach Absatz"), more("(2) weiter."), Row("(2) Ende.")],
            [("1", [""]), ("2", [""])],
        ),
        (
            "a list that does not begin with its first number is text, and no list opens below it",
            [Row("(1) Dies ist:"), Row("3.  drei:"), Row("a)  eins,", 79.2), Row("b)  zwei.", 79.2)],
            [("1", ["", "", "", ""])],
        ),
        (
            "inserted numbers go on with the list",
            [Row("(1) Dies:"), Row("1.  a,"), Row("1a. b,"), Row("2.  c."), Row("(1a) Eingefügt.")],
            [("1", ["", "Nr. 1", "Nr. 1a", "Nr. 2"]), ("1a", [""])],
        ),
        (
            "i) after h) is a letter",
            [Row("(1) Dies:"), *(Row(f"{letter})  x,") for letter in "abcdefghi")],
            [("1", ["", *(f"lit. {letter}" for letter in "abcdefghi")])],
        ),
        (
            "a repealed Absatz is none",
            [Row("(1) Gilt."), Row("(2) (weggefallen)"), Row("(3) Auch.")],
            [("1", [""]), ("3", [""])],
        ),
    ],
)  # fmt: skip
def test_layouts(why: str, rows: list[Row], expected: list[tuple[str, list[str]]]) -> None:
    assert [(number, [unit for unit, _ in blocks]) for number, blocks in outline(*rows)] == expected, why


def test_a_list_over_two_pages_keeps_its_units_and_pages() -> None:
    head = [centred("Gesetz"), centred("Vom 1. Januar 2020"), centred("§ 1"), Row("(1) Dies ist"), Row("1.  eins und")]
    act = read_pdf(press(head, [Row("2.  zwei."), Row("(2) Ende.")]), "test.pdf")
    first, second = provision(act, "1").absaetze
    assert [(b.marker, b.page) for b in first.blocks] == [("", 1), ("1.", 1), ("2.", 2)]
    assert (second.number, second.blocks[0].page) == ("2", 2)


def test_a_quotation_with_headings_opens_nothing() -> None:
    act = printed(
        centred("Artikel 1"), centred("Änderung"), Row("Das Gesetz wird wie folgt geändert:"),
        Row("1.  § 2 wird wie folgt gefasst:"), centred("„§ 2"), centred("Neues"), Row("(1) Eins."), Row("(2) Zwei.“"),
        Row("2.  § 3 wird aufgehoben."), centred("Artikel 2"), centred("Inkrafttreten"), Row("Es tritt in Kraft."),
    )  # fmt: skip
    assert [(p.article, p.heading) for p in act.provisions[1:]] == [("1", "Änderung"), ("2", "Inkrafttreten")]
    blocks = act.provisions[1].absaetze[0].blocks
    assert [b.text for b in blocks if b.quoted] == ["„§ 2", "Neues", "(1) Eins.", "(2) Zwei.“"]
    composed = compose([b for b in blocks if not b.quoted], "article")
    assert [write_sub(u.path) for u in composed.units] == ["Nr. 1", "Nr. 2"]


def test_contents_annexes_and_formulas() -> None:
    act = printed(
        centred("Inhaltsübersicht"), Row("§ 1 Zweck"), Row("§ 2 Ort"),
        centred("Teil 1"), centred("Allgemeines"), centred("§ 1"), centred("Zweck"), Row("Der Zweck ist dies."),
        centred("§ 2"), centred("Ort"), Row("Der Ort ist hier."),
        Row("Das vorstehende Gesetz wird hiermit ausgefertigt."),
        Row("Berlin, den 1. Januar 2020"), centred("Der Präsident"),
        Row("Anlage 1", 450.0, bold=True), Row("(zu § 1)", 450.0, bold=True), Row("1.  Eins:"), Row("a)  zwei.", 79.2),
    )  # fmt: skip
    assert [(p.kind, p.article, p.heading) for p in act.provisions] == [
        ("part", "Eingangsformel", None), ("norm", "1", "Zweck"), ("norm", "2", "Ort"),
        ("part", "Schlussformel", None), ("annex", "Anlage 1", "(zu § 1)"),
    ]  # fmt: skip
    assert provision(act, "1").context == ("Teil 1 Allgemeines",)


def test_a_database_print_has_notices_and_headings_beside_their_numbers() -> None:
    act = read_pdf(
        press(
            [
                Row("Probegesetz (ProbG)", bold=True), Row("Ausfertigungsdatum: 01.01.2020"),
                Row("Vollzitat: \"Probegesetz vom 1. Januar 2020, das zuletzt durch Artikel 1 des Gesetzes geändert"),
                more("worden ist\""), centred("Präambel"), Row("Im Bewusstsein."),
                Row("Abschnitt 1 Allgemeines", bold=True),
                Row("§ 1 Zweck", bold=True), Row("(1) Dies gilt."), Row("(2) Auch dies."), Row("§ 3a Ort", bold=True),
                Row("§ 2 des Ortsgesetzes und die Verordnung vom 1. Mai 2020 gelten, soweit hier nichts anderes"),
                more("gesagt ist."),
            ]
        ),
        "test.pdf",
    )  # fmt: skip
    assert [(p.kind, p.article, p.heading) for p in act.provisions] == [
        ("part", "Präambel", None), ("norm", "1", "Zweck"), ("norm", "3a", "Ort")
    ]  # fmt: skip
    assert (act.short, act.name) == ("ProbG", "Probegesetz")
    assert provision(act, "3a").context == ("Abschnitt 1 Allgemeines",)


# --- Refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.corpus
def test_garbage_pages_are_refused_with_their_numbers(shared: Path) -> None:
    with pytest.raises(SourceError) as caught:
        read(shared, FORMS)
    message = str(caught.value)
    assert "pages 4, 5, 6, 7, 8, 9, 10, 12, 13, 15" in message and "41 and 42 of 42 have no readable text" in message
    assert "3, 4" not in message  # pages 1 to 3 are sound


def test_pages_without_text_are_refused_unless_blank() -> None:
    law = [centred("Gesetz"), centred("Vom 1. Januar 2020"), centred("§ 1"), Row("Dies gilt.")]
    assert provision(read_pdf(press(law, []), "test.pdf"), "1").absaetze
    with pytest.raises(SourceError, match="holds no text"):
        read_pdf(press([]), "test.pdf")
    with pytest.raises(SourceError, match="neither a § or Artikel nor an annex"):
        read_pdf(press([Row("Nur ein Brief.")]), "test.pdf")


@pytest.mark.parametrize(
    "data", [b"", b"%PDF-1.7", b"%PDF-1.7\n%%EOF", b"%PDF-1.7\n" + b"\x00" * 5000 + b"%%EOF", b"<html>"]
)
def test_damaged_files_give_one_error(data: bytes) -> None:
    with pytest.raises(SourceError, match=r"test\.pdf"):
        read_pdf(data, "test.pdf")


@pytest.mark.corpus
@settings(max_examples=25)
@given(share=st.floats(0.0, 0.999))
def test_truncated_files_give_one_error(shared: Path, share: float) -> None:
    """Nothing is lost silently: what is cut exactly between two revisions is the whole law in its earlier revision."""
    data = (shared / AMENDING).read_bytes()
    try:
        act = read_pdf(data[: int(len(data) * share)], "test.pdf")
    except SourceError:
        return
    assert act.provisions == read_pdf(data, "test.pdf").provisions


@settings(max_examples=40)
@given(st.data())
def test_flipped_bytes_give_one_error_or_an_act(data: st.DataObject) -> None:
    law = bytearray(press([centred("Gesetz"), centred("§ 1"), Row("(1) Dies gilt."), Row("(2) Auch dies.")]))
    for at in data.draw(st.lists(st.integers(0, len(law) - 1), min_size=1, max_size=8)):
        law[at] = data.draw(st.integers(0, 255))
    try:
        act = read_pdf(bytes(law), "test.pdf")
    except SourceError:
        return
    assert act.provisions


@pytest.mark.parametrize(
    ("head", "expected"), [(b"%PDF-1.7", True), (b"\n%PDF-1.4", True), (b"<?xml", False), (b"", False)]
)
def test_pdfs_are_known_by_their_head(head: bytes, expected: bool) -> None:
    assert is_pdf(head) is expected
