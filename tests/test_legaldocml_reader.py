"""LegalDocML.de: provisions, both list vocabularies, quotations, annexes, identity, and conservation of the text."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from ingest.compose import compose, write_sub
from ingest.sources.legaldocml import is_legaldocml, read_legaldocml
from ingest.tree import Act, Block
from normalize.errors import SourceError

FOLDER = "corpus/legaldocml"
AMENDING = "milpersgleifog_bgbl-1-2024-17_1.xml"
MAIN_LAW = "milpersgleifog_bgbl-1-2024-17_2.xml"
STATUTE = "vereinsgesetz_1964-08-05_regelungstext.xml"
ANNEX = "vereinsgesetz_1964-08-05_anlage.xml"
NAMESPACE = "http://Inhaltsdaten.LegalDocML.de/1.8.2/"


def read(shared: Path, name: str) -> Act:
    return read_legaldocml((shared / FOLDER / name).read_bytes(), name)


def act(body: str) -> Act:
    text = f'<a:akomaNtoso xmlns:a="{NAMESPACE}"><a:act><a:body>{body}</a:body></a:act></a:akomaNtoso>'
    return read_legaldocml(text.encode(), "test.xml")


def article(content: str, number: str = "§ 1") -> str:
    return f"<a:article><a:num>{number}</a:num>{content}</a:article>"


def absatz(content: str, number: str = "(1)") -> str:
    return article(f"<a:paragraph><a:num>{number}</a:num>{content}</a:paragraph>")


def blocks(content: str) -> tuple[Block, ...]:
    return act(absatz(content)).provisions[0].absaetze[0].blocks


# --- Provisions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("§ 20", ("20", "paragraph")),
        ("\n  § 3a\n", ("3a", "paragraph")),
        ("Artikel 34", ("34", "article")),
        ("Art. 5", ("5", "article")),
        ("§§ 5 bis 7", ("5 bis 7", "paragraph")),
    ],
)
def test_designations(number: str, expected: tuple[str, str]) -> None:
    provision = act(article("<a:paragraph><a:num/><a:content><a:p>Gilt.</a:p></a:content></a:paragraph>", number))
    assert (provision.provisions[0].article, provision.provisions[0].style) == expected


@pytest.mark.parametrize(("number", "expected"), [("(1)", "1"), (" (2a) ", "2a"), ("", None)])
def test_absatz_numbers(number: str, expected: str | None) -> None:
    found = act(absatz("<a:content><a:p>Gilt.</a:p></a:content>", number)).provisions[0].absaetze
    assert [(a.number, [b.text for b in a.blocks]) for a in found] == [(expected, ["Gilt."])]


@pytest.mark.parametrize("text", ["(weggefallen)", "–", "(aufgehoben)"])
def test_a_repealed_norm_is_a_tombstone(text: str) -> None:
    found = act(absatz(f"<a:content><a:p>{text}</a:p></a:content>", "")).provisions[0]
    assert (found.article, found.absaetze) == ("1", ())


def test_divisions_are_the_context() -> None:
    norm = article(
        "<a:heading>Zweck</a:heading><a:paragraph><a:num/><a:content><a:p>X.</a:p></a:content></a:paragraph>"
    )
    part = f"<a:part><a:num>Teil 1</a:num><a:heading>Allgemeines</a:heading><a:section>{norm}</a:section></a:part>"
    found = act(part).provisions[0]
    assert (found.heading, found.context) == ("Zweck", ("Teil 1 Allgemeines",))


# --- Lists, quotations, notes --------------------------------------------------------------------------------------

ITEMS = [("", ""), ("Nr. 1", "1."), ("Nr. 1 lit. a", "a)"), ("Nr. 1 lit. b", "b)"), ("Nr. 2", "2."), ("", "")]


@pytest.mark.parametrize(
    ("outer", "item", "stem", "end"),
    [("blockList", "item", "listIntroduction", "listWrapUp"), ("list", "point", "intro", "wrapUp")],
)
def test_both_list_vocabularies(outer: str, item: str, stem: str, end: str) -> None:
    def one(number: str, content: str) -> str:
        return f"<a:{item}><a:num>{number}</a:num>{content}</a:{item}>"

    letters = one("a)", "<a:p>A,</a:p>") + one("b)", "<a:p>B,</a:p>")
    inner = f"<a:{outer}><a:{stem}>wer</a:{stem}>{letters}</a:{outer}>"
    items = one("1.", inner) + one("2.", "<a:p>zwei,</a:p>")
    stem_and_end = (f"<a:{stem}>Es gilt,</a:{stem}>", f"<a:{end}>wird bestraft.</a:{end}>")
    found = blocks(f"<a:content><a:{outer}>{stem_and_end[0]}{items}{stem_and_end[1]}</a:{outer}></a:content>")
    assert [(write_sub(b.path) if b.path else "", b.marker) for b in found] == ITEMS
    assert [b.text for b in found] == ["Es gilt,", "wer", "A,", "B,", "zwei,", "wird bestraft."]


def test_quoted_text_is_whole_and_its_numbers_are_no_units() -> None:
    quoted = (
        '<a:quotedStructure startQuote="„" endQuote="“">'
        "<a:point><a:num>4.</a:num><a:content><a:p>neu,</a:p></a:content></a:point>"
        "<a:point><a:num>5.</a:num><a:content><a:p>auch.</a:p></a:content></a:point></a:quotedStructure>"
    )
    item = f"<a:item><a:num>1.</a:num><a:p><a:mod>Nummer 4 wird so gefasst: {quoted}</a:mod></a:p></a:item>"
    found = blocks(f"<a:content><a:blockList>{item}</a:blockList></a:content>")
    assert [(b.marker, b.text, b.quoted) for b in found] == [
        ("1.", "Nummer 4 wird so gefasst:", False),
        ("", "„4. neu,", True),
        ("", "5. auch.“", True),
    ]
    assert {write_sub(b.path) for b in found} == {"Nr. 1"}


def test_inline_elements_notes_and_tables() -> None:
    found = act(
        absatz(
            "<a:content><a:p>vor<a:authorialNote><a:p>Fußnote.</a:p></a:authorialNote>,\n   <a:ref>§ 2</a:ref>"
            "<a:br/>nach</a:p><a:table><a:tr><a:td><a:p>eins</a:p></a:td><a:td><a:p>zwei</a:p></a:td></a:tr></a:table></a:content>"
        )
    ).provisions[0]
    assert [b.text for b in found.absaetze[0].blocks] == ["vor, § 2 nach", "eins | zwei"]
    assert found.footnotes == ("Fußnote.",)


# --- Real files ----------------------------------------------------------------------------------------------------


@pytest.mark.corpus
def test_inventory_of_a_main_law(shared: Path) -> None:
    law = read(shared, MAIN_LAW)
    assert [p.article for p in law.provisions] == [str(n) for n in range(1, 76)]
    assert sum(len(p.absaetze) for p in law.provisions) == 243
    assert {p.style for p in law.provisions} == {"paragraph"}
    twenty_three = law.provisions[22]
    assert twenty_three.context[0].startswith("Teil 5 Gleichstellungsbeauftragte") and len(twenty_three.context) == 3


@pytest.mark.corpus
def test_units_of_a_list_within_a_sentence(shared: Path) -> None:
    statute = read(shared, STATUTE)
    norm = next(p for p in statute.provisions if p.article == "20")
    composed = compose(norm.absaetze[0].blocks, norm.style)
    units = {write_sub(u.path): composed.text[u.start : u.end] for u in composed.units}
    assert list(units) == ["Nr. 1", "Nr. 2"]
    assert composed.text.endswith("bedroht ist.") and not units["Nr. 2"].endswith("bedroht ist.")


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "document_id", "short", "date", "doc_type"),
    [
        (AMENDING, "eli/bund/bgbl-1/2024/17/regelungstext-verkuendung-1", "MilPersGleiFoG", "2024-01-24", "gesetz"),
        (MAIN_LAW, "eli/bund/bgbl-1/2024/17/regelungstext-verkuendung-2", "SGleiG", "2024-01-24", "gesetz"),
        (STATUTE, "eli/bund/bgbl-1/1964/s593/regelungstext-verkuendung-1", "VereinsG", "1964-08-05", "gesetz"),
        (ANNEX, "eli/bund/bgbl-1/1964/s593/anlage-regelungstext-1", None, "1964-08-05", None),
    ],
)
def test_identity(
    shared: Path, name: str, document_id: str, short: str | None, date: str, doc_type: str | None
) -> None:
    found = read(shared, name)
    assert (found.document_id, found.short, found.date, found.doc_type) == (document_id, short, date, doc_type)


@pytest.mark.corpus
def test_names_come_apart(shared: Path) -> None:
    found = read(shared, AMENDING)
    assert found.names[1:] == ("Gleichstellungsfortentwicklungsgesetz militärisches Personal", "MilPersGleiFoG")
    assert read(shared, MAIN_LAW).name == "Soldatinnen- und Soldatengleichstellungsgesetz"


@pytest.mark.corpus
def test_an_annex_file_is_one_annex(shared: Path) -> None:
    (annex,) = read(shared, ANNEX).provisions
    assert (annex.kind, annex.article, len(annex.footnotes)) == ("annex", "Anlage", 4)
    rows = [b.text for b in annex.absaetze[0].blocks if " | " in b.text]
    assert len(rows) == 9 and rows[1] == "Nr./Seite | vom"


# What is no text of law, or stands in fields of its own (numbers and headings of norms and divisions, notes).
DECLARED = frozenset({"meta", "preface", "toc", "signature", "location", "authorialNote"})
OWN_FIELDS = frozenset({"article", "part", "section", "subsection", "blockContainer"})


@pytest.mark.corpus
@pytest.mark.parametrize("name", [AMENDING, MAIN_LAW, STATUTE, ANNEX])
def test_letters_and_digits_are_conserved_in_order(shared: Path, name: str) -> None:
    root = etree.fromstring((shared / FOLDER / name).read_bytes(), etree.XMLParser(resolve_entities=False))
    source: list[str] = []

    def collect(element: etree._Element, quoted: bool = False) -> None:
        if not isinstance(element.tag, str):
            return
        tag = etree.QName(element).localname
        parent = element.getparent()
        above = etree.QName(parent).localname if parent is not None else ""
        signed = tag == "blockContainer" and above == "conclusions"
        own_field = tag in ("num", "heading") and above in OWN_FIELDS | {"paragraph"} and not quoted
        if tag in DECLARED or signed or own_field:
            return
        quoted = quoted or tag == "quotedStructure"
        source.append(element.text or "")
        for child in element:
            collect(child, quoted)
            source.append(child.tail or "")

    collect(root)
    found = read(shared, name)
    kept = "".join(b.marker + b.text for p in found.provisions for a in p.absaetze for b in a.blocks)
    assert "".join(filter(str.isalnum, kept)) == "".join(filter(str.isalnum, "".join(source)))


# --- Refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"<?xml version='1.0'?><!-- <dokumente/> --><akn:akomaNtoso xmlns:akn='x'>", True),
        (b"<akomaNtoso xmlns='http://docs.oasis-open.org/legaldocml/ns/akn/3.0'>", True),
        ("<akn:akomaNtoso>".encode("utf-16"), True),
        (b"<?xml version='1.0'?><dokumente><!-- <akn:akomaNtoso> --></dokumente>", False),
        (b"<html>akomaNtoso</html>", False),
        (b"", False),
    ],
)
def test_documents_are_known_by_their_root(head: bytes, expected: bool) -> None:
    assert is_legaldocml(head) is expected


@pytest.mark.parametrize(
    "text",
    [
        "<html/>",
        f'<a:akomaNtoso xmlns:a="{NAMESPACE}"/>',
        f'<a:akomaNtoso xmlns:a="{NAMESPACE}"><a:documentCollection/></a:akomaNtoso>',
        f'<a:akomaNtoso xmlns:a="{NAMESPACE}"><a:act><a:body/></a:act></a:akomaNtoso>',
        f'<!DOCTYPE a [<!ENTITY x "y">]><a:akomaNtoso xmlns:a="{NAMESPACE}">&x;</a:akomaNtoso>',
    ],
)
def test_what_is_no_act_gives_one_error(text: str) -> None:
    with pytest.raises(SourceError, match=r"test\.xml"):
        read_legaldocml(text.encode(), "test.xml")


@pytest.mark.corpus
@settings(max_examples=25)
@given(share=st.floats(0.0, 0.999))
def test_truncated_files_give_one_error(shared: Path, share: float) -> None:
    data = (shared / FOLDER / STATUTE).read_bytes().rstrip()
    with pytest.raises(SourceError):
        read_legaldocml(data[: int(len(data) * share)], "test.xml")
