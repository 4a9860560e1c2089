"""gii-norm laws: the quirks of the corpus, each as its kind, and the counts of real laws."""

from dataclasses import replace
from pathlib import Path

import pytest

from ingest.chunker import Chunk
from ingest.compose import compose, compose_absatz, write_sub
from ingest.documents import load_file
from ingest.sources.gii import read_gii
from ingest.tree import Act, Provision
from normalize.laws import LawTable

HEAD = (
    '<dokumente builddate="20240704120000" doknr="BJNRTEST"><norm><metadaten><jurabk>TestG 2020</jurabk>'
    "<amtabk>TestG</amtabk><langue>Testgesetz</langue></metadaten></norm>"
)


def act(*norms: str) -> Act:
    return read_gii((HEAD + "".join(norms) + "</dokumente>").encode(), "test.xml")


def norm(enbez: str, content: str, extra: str = "") -> str:
    return (
        f"<norm><metadaten><jurabk>TestG 2020</jurabk>{extra}<enbez>{enbez}</enbez></metadaten><textdaten><text>"
        f"<Content>{content}</Content></text></textdaten></norm>"
    )


def only(content: str, enbez: str = "§ 1") -> Provision:
    return act(norm(enbez, content)).provisions[0]


def texts(provision: Provision) -> list[tuple[str | None, str]]:
    return [(a.number, compose(a.blocks, provision.style).text) for a in provision.absaetze]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<P>(1) Die Stelle</P>", [("1", "Die Stelle")]),
        ("<P>(1)\u00a0Soweit</P>", [("1", "Soweit")]),
        ("<P>(1)Für alle</P>", [("1", "Für alle")]),
        ("<P>(1a) Auch dies</P>", [("1a", "Auch dies")]),
        ("<P>Ohne Nummer</P>", [(None, "Ohne Nummer")]),
        (
            "<P>(1) <BR/>(2) Arbeitnehmer sind</P>",
            [("2", "Arbeitnehmer sind")],
        ),  # two Absätze in one P, the first empty
        ("<P>(1) Eins.<BR/>(2) Zwei.</P>", [("1", "Eins."), ("2", "Zwei.")]),
        ("<P>(1) Eins<BR/>und weiter.</P>", [("1", "Eins und weiter.")]),
        ("<P>(1) Eins.</P><P>(2) (weggefallen)</P><P>(3) Drei.</P>", [("1", "Eins."), ("3", "Drei.")]),
        ("<P>(1) Eins.</P><P>(2)(weggefallen)</P>", [("1", "Eins.")]),
        ("<P>(1) Eins.</P><P>(2) bis (4) (weggefallen)</P>", [("1", "Eins.")]),
        ("<P>(1) Eins.</P><P>Schlusssatz.</P>", [("1", "Eins.\nSchlusssatz.")]),
        ("<P>Wasser H<SUB>2</SUB>O, 5 m<SUP>2</SUP></P>", [(None, "Wasser H2O, 5 m2")]),
        ("<P>Text<FnR ID='F1'/> mit Fußnote</P>", [(None, "Text mit Fußnote")]),
        ("<P>Text</P><kommentar typ='Fundstelle'>(Fundstelle: BGBl.)</kommentar>", [(None, "Text")]),
        ("<P>Schutz\u00adgut</P>", [(None, "Schutzgut")]),
    ],
)
def test_absaetze(content: str, expected: list[tuple[str | None, str]]) -> None:
    assert texts(only(content)) == expected


def test_a_number_inside_quoted_amending_text_is_no_absatz_of_this_act() -> None:
    """CITATIONS.md hard case 13."""
    content = (
        "<P>(1) § 5 wird wie folgt gefasst:</P><P>„(1) Neu eins.</P><P>(2) Neu zwei.“</P><P>(2) Es gilt sofort.</P>"
    )
    assert [number for number, _ in texts(only(content))] == ["1", "2"]


def test_an_opening_mark_that_never_closes_swallows_nothing() -> None:
    content = "<P>(1) Das „Wort ist falsch gesetzt.</P><P>(2) Zwei.</P><P>(3) Drei.</P>"
    assert [number for number, _ in texts(only(content))] == ["1", "2", "3"]


def test_nested_lists_with_several_paragraphs_in_an_item() -> None:
    content = (
        "<P>Es gilt <DL><DT>1.</DT><DD><LA>Erstens <DL><DT>a)</DT><DD><LA>klein <DL><DT>aa)</DT><DD><LA>kleiner"
        "</LA></DD></DL></LA></DD></DL></LA><LA>noch Erstens</LA></DD><DT>2a.</DT><DD><LA>Zweitens</LA></DD></DL>"
        "überall.</P>"
    )
    provision = only(content)
    composed = compose(provision.absaetze[0].blocks, "paragraph")
    found = {write_sub(u.path): composed.text[u.start : u.end] for u in composed.units}
    assert found == {
        "Nr. 1": "1. Erstens\na) klein\naa) kleiner\nnoch Erstens",
        "Nr. 1 lit. a": "a) klein\naa) kleiner",
        "Nr. 1 lit. a Doppelbuchst. aa": "aa) kleiner",
        "Nr. 2a": "2a. Zweitens",
    }


@pytest.mark.parametrize(
    ("enbez", "article", "style", "kind"),
    [
        ("§ 38", "38", "paragraph", "norm"),
        ("§ 312a", "312a", "paragraph", "norm"),
        ("§ 1.01", "1.01", "paragraph", "norm"),
        ("Art 2", "2", "article", "norm"),
        ("(XXXX) §§ 3 bis 6", "3 bis 6", "paragraph", "norm"),
        ("(XXXX)§§ 440 bis 442", "440 bis 442", "paragraph", "norm"),
        ("Anlage 1 (zu § 2 Abs. 1)", "Anlage 1", "paragraph", "annex"),
        ("Anlage", "Anlage", "paragraph", "annex"),
        ("Anhang II", "Anhang II", "paragraph", "annex"),
        ("Anlage 6 E", "Anlage 6 E", "paragraph", "annex"),  # beside Anlage 6 (PStV)
        ("Anhang 1 zu Anlage 6a", "Anhang 1 zu Anlage 6a", "paragraph", "annex"),  # beside Anhang 1 zu Anlage 4
        ("Anhang 1 zu Nummer 1", "Anhang 1", "paragraph", "annex"),
        ("Anlage 2 zum Anhang", "Anlage 2 zum Anhang", "paragraph", "annex"),
        ("Anlage 1 bis 24", "Anlage 1 bis 24", "paragraph", "annex"),
        ("Anlagen 1 bis 3i, 4 und 5", "Anlagen", "paragraph", "annex"),
        ("Anlage I Kap II A III", "Anlage I", "paragraph", "annex"),
        ("7a.", "Nr 7a", "paragraph", "part"),
        ("-", "Text", "paragraph", "part"),
        ("Eingangsformel", "Eingangsformel", "paragraph", "part"),
    ],
)
def test_the_name_of_a_norm(enbez: str, article: str, style: str, kind: str) -> None:
    first = act(norm(enbez, "<P>Text.</P>"), norm("§ 99", "<P>x</P>") if "Art" not in enbez else "").provisions[0]
    assert (first.article, first.style, first.kind) == (article, style, kind)


def test_a_norm_without_a_name_is_its_own_division_but_none_that_began_before_it() -> None:
    division = (
        "<gliederungseinheit><gliederungskennzahl>010</gliederungskennzahl><gliederungsbez>Art 7</gliederungsbez>"
        "</gliederungseinheit>"
    )
    read = act(norm("", "<P>Eins.</P>", division), norm("(XXXX)", "<P>Zwei.</P>"))
    assert [p.article for p in read.provisions] == ["7", "Text"]


@pytest.mark.parametrize(
    "content", ["<P/>", "<P>-</P>", "<P>(weggefallen)</P>", "", "<P>(ohne Inhalt)</P>", "<P>(Entfällt)</P>"]
)
def test_a_repealed_norm_is_a_tombstone(content: str) -> None:
    assert only(content).absaetze == ()


def test_a_section_under_an_artikel_keeps_its_artikel() -> None:
    """EGBGB: § 1 stands under Art. 229 and under others; without its Artikel the Fundstelle would be wrong."""

    def division(name: str, key: str) -> str:
        return (
            f"<gliederungseinheit><gliederungskennzahl>{key}</gliederungskennzahl><gliederungsbez>{name}</gliederungsbez>"
            "</gliederungseinheit>"
        )

    read = act(
        norm("§ 1", "<P>Eins.</P>", division("Art 229", "010")),
        norm("§ 1", "<P>Anders.</P>", division("Art 230", "020")),
    )
    assert [(p.article, p.style) for p in read.provisions] == [("229 § 1", "article"), ("230 § 1", "article")]


# --- Real laws -----------------------------------------------------------------------------------------------------


def chunks_of(path: Path) -> list[Chunk]:
    return list(load_file(path, LawTable.builtin()).chunks())


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("file", "labels"),
    [
        ("bdsg_2024-12", ["BDSG § 38 Abs. 1", "BDSG § 1 Abs. 1"]),
        ("agg_2024-12", ["AGG § 15 Abs. 4"]),  # the gap the contract names
        ("gg_2025-03", ["Art. 2 Abs. 1 GG", "Präambel GG", "Art. 93 Abs. 1 GG"]),
        ("tdddg_2026-03", ["TDDDG § 25 Abs. 1"]),
        ("bsig-2025_2026-03", ["BSIG § 30 Abs. 1", "BSIG Anlage 1"]),
        ("bgbeg_2026-03", ["Art. 229 § 1 Abs. 1 EGBGB"]),
    ],
)
def test_labels_of_real_laws(shared: Path, file: str, labels: list[str]) -> None:
    found = {chunk.payload["article_label"] for chunk in chunks_of(shared / f"corpus/gii-xml/{file}.xml")}
    assert not set(labels) - found


@pytest.mark.corpus
def test_every_norm_in_force_is_in_the_chunks(shared: Path) -> None:
    """BSIG, GG, BGB by the names of their norms in the file (`enbez`)."""
    for name in ("bsig-2025_2026-03", "gg_2025-03", "bgb_2026-04"):
        path = shared / f"corpus/gii-xml/{name}.xml"
        provisions = read_gii(path.read_bytes(), path.name).provisions
        in_force = {p.article for p in provisions if p.kind == "norm" and p.absaetze}
        cited = {c.payload["article"] for c in chunks_of(path)}
        assert in_force <= cited and len(in_force) > 60


@pytest.mark.corpus
def test_videoueberwachung_has_two_lists_told_apart(shared: Path) -> None:
    chunks = chunks_of(shared / "corpus/gii-xml/bdsg_2024-12.xml")
    first = next(c for c in chunks if c.payload["article_label"] == "BDSG § 4 Abs. 1")
    subs = [unit["sub"] for unit in first.payload["units"]]
    assert subs == ["Satz 1", "Satz 1 Nr. 1", "Satz 1 Nr. 2", "Satz 1 Nr. 3", "Satz 2", "Satz 2 Nr. 1", "Satz 2 Nr. 2"]


def test_official_sentence_numbers_are_no_text() -> None:
    content = '<P>(1) <SUP class="Rec">1</SUP>Eins gilt. <SUP class="Rec">2</SUP>Zwei gilt nicht.</P>'
    block = only(content).absaetze[0].blocks[0]
    assert (block.text, block.sentences) == ("Eins gilt. Zwei gilt nicht.", (0, 11))


def test_a_raised_figure_inside_a_sentence_is_text() -> None:
    """The Seeschifffahrtsstraßen-Ordnung writes the size of a group of lights in the same way."""
    block = only('<P>Licht in Gruppen (Fl.<SUP class="Rec">2</SUP>/Blz. <SUP class="Rec">2</SUP>) zeigen.</P>')
    assert block.absaetze[0].blocks[0].text == "Licht in Gruppen (Fl.2/Blz. 2) zeigen."
    assert block.absaetze[0].blocks[0].sentences == ()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<P>(1) Eins.</P><P>(7) - (10) (weggefallen)</P>", [("1", "Eins.")]),
        ("<P>(1) Eins.</P><P>(2) u. (3)</P>", [("1", "Eins.")]),
        (
            "<P>(1) Eins. <BR/>----- <DL><DT>*)</DT><DD><LA>Fußnote.</LA></DD></DL></P><P>(2) Zwei.</P>",
            [("1", "Eins."), ("2", "Zwei.")],
        ),
        (
            "<P><DL><DT>(1)</DT><DD><LA>Eins.</LA></DD><DT>(2)</DT><DD><LA>Zwei.</LA></DD></DL></P>",
            [("1", "Eins."), ("2", "Zwei.")],  # numbers of Absätze set as list labels
        ),
        (
            "<P>Es gilt <DL><DT>6.</DT><DD><DL><DT>a)</DT><DD><LA>Rot,</LA></DD></DL></DD></DL></P>",
            [(None, "Es gilt\n6.\na) Rot,")],  # an item that begins with a list keeps both labels
        ),
    ],
)
def test_kinds_that_an_audit_of_all_federal_law_found(content: str, expected: list[tuple[str | None, str]]) -> None:
    assert texts(only(content)) == expected


def test_an_annex_counts_no_sentences_and_no_row_numbers() -> None:
    """Tariffs and forms number their rows "(20)", "(40)"; headings and rows have no Satz."""
    content = "<P>Teil A. Gebühren. <DL><DT>1.</DT><DD><LA>Rot.</LA></DD></DL></P><P>(20) Zeile.</P><P>(20) Zeile.</P>"
    annex = only(content, "Anlage 1")
    assert [absatz.number for absatz in annex.absaetze] == [None]
    composed = compose_absatz(annex, annex.absaetze[0])
    assert [write_sub(u.path) for u in composed.units] == ["Nr. 1"]


ROWS = (
    "<table><tgroup cols='2'><tbody><row><entry>(1)</entry><entry>Daten</entry></row>"
    "<row><entry>(2)</entry><entry>Werte</entry></row></tbody></tgroup></table>"
)


@pytest.mark.parametrize(
    ("content", "numbers"),
    [
        ("<P>(1) Eins.</P><P>(2) Zwei.</P>", ["1", "2"]),
        ("<Title>Vorgaben</Title><P>(1) Eins.</P><P>(2) Zwei.</P>", [None, "1", "2"]),
        (ROWS, [None]),  # positions of a form (PrüfbV Anlage 1)
        ("<P>(1) Eins.</P><P>(2) Zwei.</P><Title>Teil 2</Title><P>Drei.</P>", [None]),  # BBesG Anlage III
        ("<P>(1) Eins.</P><P><B>Teil 2</B></P><P>Drei.</P>", [None]),
        ("<P>Teil 1</P><P>Eins.</P><P>Teil 2</P><P>(1) Zwei.</P><P>(2) Drei.</P>", [None]),
        ("<P>(1) Eins.</P><P>(4) Zwei.</P>", [None]),
    ],
)
def test_an_annex_has_absaetze_only_if_it_is_nothing_else(content: str, numbers: list[str | None]) -> None:
    """Below "(3)" of one part stands the next part: "Anlage III Abs. 3" would name what is not in it."""
    assert [absatz.number for absatz in only(content, "Anlage 1").absaetze] == numbers


def test_rows_of_a_norm_may_be_its_absaetze() -> None:
    assert [absatz.number for absatz in only(ROWS).absaetze] == ["1", "2"]  # EBO § 16


def test_the_parts_of_the_unification_treaty_are_told_apart(tmp_path: Path) -> None:
    """154 norms of its Anlage I have that name; what tells them apart is Kapitel, Sachgebiet, Abschnitt."""

    def part(enbez: str, title: str) -> str:
        content = (
            "<P>Es gilt. Ferner gilt <DL><DT>1.</DT><DD><LA>Rot,</LA></DD><DT>2.</DT><DD><LA>Blau</LA></DD></DL></P>"
        )
        return norm(enbez, content, "").replace("</enbez>", f"</enbez><titel>{title}</titel>")

    path = tmp_path / "v.xml"
    parts = (
        part("Anlage I Kap II A III", "Anlage I Kapitel II Sachgebiet A - Verfassung Abschnitt III"),
        part("Anlage I Kap I I", "Anlage I Kapitel I Abschnitt I"),
        part("Anlage I Kap VIII I I", "Anlage I Kapitel VIII Sachgebiet I - Unfall Abschnitt I"),
        part("Anlage I Kap IX", "Anlage I Kapitel IX"),
        part("Anlage 2 Teil 2", "Kennbuchstaben"),
    )
    path.write_text(HEAD + "".join(parts) + "</dokumente>", "utf-8")
    chunks = [chunk.payload for chunk in load_file(path, LawTable.builtin()).chunks()]
    assert [(p["article"], p["sub"]) for p in chunks] == [
        ("Anlage I", "Kapitel II Sachgebiet A Abschnitt III"),
        ("Anlage I", "Kapitel I Abschnitt I"),
        ("Anlage I", "Kapitel VIII Sachgebiet I Abschnitt I"),
        ("Anlage I", "Kapitel IX"),
        ("Anlage 2", "Teil 2"),
    ]
    assert [unit["sub"] for unit in chunks[3]["units"]] == ["Kapitel IX", "Kapitel IX Nr. 1", "Kapitel IX Nr. 2"]


def test_an_article_of_german_law_cites_the_satz_before_its_numbers() -> None:
    content = "<P>(1) Das gilt. Ferner gilt <DL><DT>1.</DT><DD><LA>Rot,</LA></DD></DL>nicht aber Blau.</P>"
    article = only(content, "Art 104b")
    composed = compose_absatz(article, article.absaetze[0])
    assert "Satz 2 Nr. 1" in [write_sub(u.path) for u in composed.units]


def test_an_absatz_that_begins_with_a_list_counts_it_to_its_first_sentence() -> None:
    content = "<P>(3) <DL><DT>1.</DT><DD><LA>Märkte,</LA></DD></DL>sind hier verboten. Sonst sind sie erlaubt.</P>"
    first = only(content)
    found = {write_sub(u.path) for u in compose_absatz(first, first.absaetze[0]).units}
    assert found == {"Satz 1", "Satz 1 Nr. 1", "Satz 2"}


def units(provision: Provision) -> dict[str, str]:
    composed = compose_absatz(provision, provision.absaetze[0])
    return {write_sub(u.path): composed.text[u.start : u.end] for u in composed.units}


def items(*labelled: tuple[str, str]) -> str:
    return "<DL>" + "".join(f"<DT>{label}</DT><DD><LA>{text}</LA></DD>" for label, text in labelled) + "</DL>"


def test_numbers_of_several_parts_are_cited_alone_and_stand_in_the_number_above() -> None:
    """StVZO Anlage VIII Nr. 1.2.1; the text of Nr. 1 may go on behind its 1.2."""
    nested = f"<P>{items(('1', 'Art ' + items(('1.1', 'Eins'), ('1.2', 'Zwei')) + 'und so fort'), ('2', 'Frist'))}</P>"
    assert units(only(nested, "Anlage 1")) == {
        "Nr. 1": "1 Art\n1.1 Eins\n1.2 Zwei\nund so fort",
        "Nr. 1.1": "1.1 Eins",
        "Nr. 1.2": "1.2 Zwei",
        "Nr. 2": "2 Frist",
    }
    flat = f"<P>{items(('1', 'Art'), ('1.1', 'Eins'), ('1.1.1', 'Eins eins'), ('1.10', 'Zehn'), ('2', 'Frist'))}</P>"
    assert units(only(flat, "Anlage 1"))["Nr. 1.1"] == "1.1 Eins\n1.1.1 Eins eins"


def test_a_number_that_a_source_nests_too_deep_is_not_in_the_number_before_it() -> None:
    """TÜPrKostO: 1.4 stands in the list of 1.3.2."""
    found = units(only(f"<P>{items(('1.3', 'A'), ('1.3.2', 'B ' + items(('1.4', 'C'))))}</P>", "Anlage 1"))
    assert found == {"Nr. 1.3": "1.3 A\n1.3.2 B", "Nr. 1.3.2": "1.3.2 B", "Nr. 1.4": "1.4 C"}


@pytest.mark.parametrize("labels", [("mit", "der"), ("P", "X"), ("le", "lx"), ("B'",), ("A", "B"), ("V",)])
def test_words_and_symbols_of_formulas_are_no_letters(labels: tuple[str, ...]) -> None:
    assert units(only(f"<P>Es ist {items(*((label, '= Wert') for label in labels))}</P>")) == {}


def test_letters_that_count_without_punctuation_and_capital_i_after_h() -> None:
    assert list(units(only(f"<P>{items(('a', 'Rot'), ('b', 'Blau'))}</P>"))) == ["lit. a", "lit. b"]
    assert list(units(only(f"<P>{items(('H.', 'Rot'), ('I.', 'Blau'))}</P>"))) == ["lit. H", "lit. I"]


def test_a_list_without_labels_is_text_of_what_it_stands_in() -> None:
    """Its items are no units, and neither are they of the item before."""
    content = (
        f"<P>Es gilt {items(('1.', 'Rot ' + items(('', 'hell'), ('', 'dunkel'))), ('', 'sowie'), ('2.', 'Blau'))}</P>"
    )
    assert units(only(content)) == {"Nr. 1": "1. Rot\nhell\ndunkel", "Nr. 2": "2. Blau"}


@pytest.mark.corpus
def test_sentences_counted_without_the_numbers_of_the_estg_are_those_it_numbers(shared: Path) -> None:
    """The EStG numbers its sentences; counted without these numbers no Satz may stand at another place."""
    read = read_gii((shared / "corpus/gii-xml/estg_2024-08.xml").read_bytes(), "estg.xml")
    numbered = [
        a for p in read.provisions if p.kind == "norm" for a in p.absaetze if any(b.sentences for b in a.blocks)
    ]
    wrong = []
    for absatz in numbered:
        with_numbers, without = (
            {
                (unit.start, unit.path[0].value)
                for unit in compose(blocks, "paragraph").units
                if [step.level for step in unit.path] == ["satz"]
            }
            for blocks in (absatz.blocks, [replace(block, sentences=()) for block in absatz.blocks])
        )
        wrong += sorted(without - with_numbers)
    assert len(numbered) > 600
    assert wrong == []


@pytest.mark.corpus
def test_behind_the_formula_of_estg_35_goes_on_the_count_of_the_law(shared: Path) -> None:
    [first] = [
        chunk.payload
        for chunk in load_file(shared / "corpus/gii-xml/estg_2024-08.xml", LawTable.builtin()).chunks()
        if (chunk.payload["article"], chunk.payload["paragraph"]) == ("35", "1")
        and "Gewerbliche Einkünfte im Sinne der Sätze 1 und 2" in chunk.payload["chunk_text"]
    ]
    third = next(unit for unit in first["units"] if unit["sub"] == "Satz 3")
    assert first["chunk_text"][third["start"] :].startswith("Gewerbliche Einkünfte im Sinne der Sätze 1 und 2")
