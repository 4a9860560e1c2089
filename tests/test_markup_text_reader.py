"""Law as Markdown and plain text: headings, wrapped lines, lists, misprints, and the round trip of whole laws."""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.compose import compose, compose_absatz, write_sub
from ingest.sources.formex import read_formex
from ingest.sources.gii import read_gii
from ingest.sources.markup_text import is_law_text, read_markup_text
from ingest.sources.outline import Line
from ingest.sources.outline import absaetze as outlined
from ingest.tree import Act, Provision
from normalize.errors import SourceError

NIS2 = "corpus/eurlex-de/nis2_32022L2555_DE_articles-md"
NIS2_FORMEX = "corpus/eurlex-en/nis2_32022L2555_EN_formex_L_2022333EN.01008001.xml"


def read(text: str) -> Act:
    return read_markup_text(text.encode(), "test.md")


def texts(provision: Provision) -> list[tuple[str | None, str]]:
    return [(a.number, compose_absatz(provision, a).text) for a in provision.absaetze]


def only(text: str) -> list[tuple[str | None, str]]:
    (provision,) = read(text).provisions
    return texts(provision)


# --- Headings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Artikel 5\n\nText.", [("5", None)]),
        ("### § 38 Titel\n\nText.", [("38", "Titel")]),
        ("**§ 38** Titel\n\nText.", [("38", "Titel")]),
        ("§ 38 Titel\n\nText.", [("38", "Titel")]),
        ("§ 38\nTitel\n\n(1) Text.", [("38", "Titel")]),
        ("§ 38a\n\nText.", [("38a", None)]),
        ("Artikel 5\nText, der ein Satz ist.", [("5", None)]),
        ("Article 5 – Scope\n\nText.", [("5", "Scope")]),
        ("# Anhang I\n\nText.\n\n# § 1\n\nText.", [("Anhang I", None), ("1", None)]),
        # a range under one heading is one tombstone, never its first number
        ("# § 3 bis 6\n\n(weggefallen)\n\n# § 7\n\nText.", [("3 bis 6", None), ("7", None)]),
        # citations at the start of a line are no headings: they go on, or break the sequence
        ("§ 1\n\nEs gilt das Recht nach\n§ 2 Absatz 1 der Satzung.", [("1", None)]),
        ("§ 5 Titel\n\nText.\n\n§ 3 gilt entsprechend.", [("5", "Titel")]),
        ("# Artikel 1\n\nNach dem Anhang der Empfehlung,\nArtikel 2 des Anhangs gilt.", [("1", None)]),
        ("# Artikel 1\n\nEs wird eingefügt:\n\n„Artikel 1a\n\nNeu.“", [("1", None)]),
    ],
)
def test_headings(text: str, expected: list[tuple[str, str | None]]) -> None:
    assert [(q.article, q.heading) for q in read(text).provisions] == expected


def test_title_divisions_and_tombstones() -> None:
    act = read(
        "# Beispielgesetz (BspG)\n\n## Abschnitt 1 Allgemeines\n\n### § 1 Zweck\n\nText.\n\n### § 2 (weggefallen)\n"
    )
    assert (act.name, act.short, act.style) == ("Beispielgesetz (BspG)", "BspG", "paragraph")
    assert act.provisions[0].context == ("Abschnitt 1 Allgemeines",)
    assert act.provisions[1].absaetze == ()


def test_section_title_between_two_provisions_belongs_to_neither() -> None:
    act = read("§ 1\nZweck\n\n(1) Text.\n\nII. Der Bund\n\n§ 2\nZiel\n\n(1) Text.\n")
    assert [(q.article, texts(q)) for q in act.provisions] == [("1", [("1", "Text.")]), ("2", [("1", "Text.")])]
    assert act.provisions[1].context == ("II. Der Bund",)


def test_front_matter_names_the_article() -> None:
    act = read("---\nheading: Zweck\nreference: Article 7\nregulation.scomp_id: nis2\n---\n\nDiese Richtlinie gilt.\n")
    assert [(q.article, q.heading, texts(q)) for q in act.provisions] == [
        ("7", "Zweck", [(None, "Diese Richtlinie gilt.")])
    ]
    assert act.key == "nis2" and act.style == "article"


# --- Absätze, lists, wrapped lines -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("(1) Eins.\n(2) Zwei.", [("1", "Eins."), ("2", "Zwei.")]),
        ("1. Diese Verordnung gilt.\n2. Sie bindet.", [("1", "Diese Verordnung gilt."), ("2", "Sie bindet.")]),
        # numbers behind a lead-in are points
        ("Diese Verordnung meint\n1. „A“ dies;\n2. „B“ das.",
         [(None, "Diese Verordnung meint\n1. „A“ dies;\n2. „B“ das.")]),
        # wrapped inside a citation, even with an empty line between
        ("Nach der Verordnung (EU)\n\n2016/679 gilt dies.", [(None, "Nach der Verordnung (EU) 2016/679 gilt dies.")]),
        ("Es gilt Artikel 5 Absatz\n1. Mehr nicht.", [(None, "Es gilt Artikel 5 Absatz 1. Mehr nicht.")]),
        ("Es gilt bis zum\n17. Oktober 2024.", [(None, "Es gilt bis zum 17. Oktober 2024.")]),
        # a cut word is joined, a suspended one is not
        ("Der Daten-\nschutz gilt.", [(None, "Der Datenschutz gilt.")]),
        ("Die Daten- und\nVerbraucherrechte.", [(None, "Die Daten- und Verbraucherrechte.")]),
        # Markdown marks are no text
        ("**Wort** _kursiv_ [§ 4](http://x.de/a(b)) und 2*3*4.", [(None, "Wort kursiv § 4 und 2*3*4.")]),
        # the source left out the first number
        ("Der Staat erlässt diese Verordnung.\n2. Sie gilt.",
         [("1", "Der Staat erlässt diese Verordnung."), ("2", "Sie gilt.")]),
        # a misprinted number is not trusted: the first of "2., 2., 3." has none
        ("2. Diese Verordnung.\n2. Zwei.\n3. Drei.", [(None, "Diese Verordnung."), ("2", "Zwei."), ("3", "Drei.")]),
        ("Diese Verordnung gilt.\n\nSie bindet.", [("1", "Diese Verordnung gilt."), ("2", "Sie bindet.")]),
    ],
)  # fmt: skip
def test_absaetze_of_an_article(body: str, expected: list[tuple[str | None, str]]) -> None:
    assert only(f"# Artikel 9\n\n{body}\n") == expected


def test_german_law_counts_no_unnumbered_paragraphs() -> None:
    assert only("# Artikel 56\n\nErster Absatz.\n\nZweiter Absatz.\n") == [(None, "Erster Absatz.\nZweiter Absatz.")]


def test_german_items_are_cited_with_their_satz_and_those_of_the_eu_are_not() -> None:
    body = "(1) Ein Satz nach der Verordnung (EU) 2016/679. Es gilt:\n1. dies;\n2. das."
    german, of_eu = read(f"§ 1 Zweck\n\n{body}\n"), read(f"# Artikel 1\n\n{body}\n(2) Diese Verordnung gilt.\n")
    assert [act.provisions[0].satz_before_items for act in (german, of_eu)] == [True, False]


def test_lists_go_on_after_text_that_interrupts_them() -> None:
    (provision,) = read(
        "§ 33 Ausnahmen\n\n(1) Die Pflicht besteht nicht, wenn\n1. im Fall eines Amts\na) die Aufgabe oder\n"
        "b) die Ordnung\ngefährdet ist,\n2. im Fall eines Betriebs\na) der Anspruch,\nb) der Schutz leidet.\n"
    ).provisions
    (absatz,) = provision.absaetze
    found = [(b.marker, [s.value for s in b.path]) for b in absatz.blocks if b.marker]
    assert found == [
        ("1.", ["1"]),
        ("a)", ["1", "a"]),
        ("b)", ["1", "b"]),
        ("2.", ["2"]),
        ("a)", ["2", "a"]),
        ("b)", ["2", "b"]),
    ]


def test_letter_i_and_roman_i() -> None:
    letters = "\n".join(f"    {letter}) {letter.upper()};" for letter in "abcdefghi")
    (provision,) = read(
        f"# Artikel 2\n\n1. Diese Verordnung meint:\n{letters}\n    j) J:\n        i) eins;\n        ii) zwei.\n"
    ).provisions
    composed = compose_absatz(provision, provision.absaetze[0])
    found = {write_sub(u.path): composed.text[u.start : u.end] for u in composed.units}
    assert found["lit. i"] == "i) I;" and found["lit. j Ziff. ii"] == "ii) zwei."


# --- Refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"Nur ein Brief.\nOhne Recht.", b"\xff\xfa\x80 \x81", b"# Kapitel 1\n\nText."])
def test_other_texts_are_refused(data: bytes) -> None:
    with pytest.raises(SourceError, match=r"letter\.txt"):
        read_markup_text(data, "letter.txt")


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"# Artikel 5\n\nText.", True),
        ("§ 1 Zweck\n\n(1) Text.".encode(), True),
        (b"---\nheading: Zweck\nreference: Article 7\n---\n\nText.", True),
        ("Ein Brief über § 1 BGB.".encode(), False),
        (b'{"article": "Artikel 5"}', False),
        (b"<html>Artikel 5</html>", False),
        (b"%PDF-1.7\nArtikel 5\n", False),
    ],
)
def test_detection_by_content(head: bytes, expected: bool) -> None:
    assert is_law_text(head) is expected


@given(st.binary(max_size=300) | st.text("§ 1a()Ar.tikel\n#-*[]„“\t", max_size=300).map(str.encode))
def test_any_bytes_give_one_error_or_an_act(data: bytes) -> None:
    try:
        act = read_markup_text(b"# Artikel 1\n\n" + data, "any.md")
    except SourceError:
        return
    assert act.provisions[0].article == "1"


# --- Real law --------------------------------------------------------------------------------------------------------


def letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text)


@pytest.mark.corpus
def test_nis2_in_files_of_one_article_each(shared: Path) -> None:
    """46 files; nothing of them is lost, and their Absätze are those of the official Formex."""
    official = {
        q.article: q for q in read_formex((shared / NIS2_FORMEX).read_bytes(), "nis2").provisions if q.kind == "norm"
    }
    files = sorted((shared / NIS2).glob("*.md"))
    doubtful = []
    for file in files:
        data = file.read_bytes()
        (provision,) = read_markup_text(data, file.name).provisions
        body = data.decode().split("---\n", 2)[2]
        said = "".join((a.number or "") + "".join(b.marker + b.text for b in a.blocks) for a in provision.absaetze)
        numbers = [a.number for a in provision.absaetze]
        if numbers != [a.number for a in official[provision.article].absaetze]:
            doubtful.append((provision.article, numbers[:3]))
        # Numbers that the file leaves out are counted, so they may be missing in it.
        unnumbered = "".join(b.marker + b.text for a in provision.absaetze for b in a.blocks)
        printed = letters(re.sub(r"^\(?\d+[.)]+ ", "", body, flags=re.MULTILINE))
        assert letters(body) in (letters(said), letters(said[1:])) or letters(unnumbered) in (letters(body), printed)
        assert is_law_text(data)
    assert len(files) == 46
    assert doubtful == [("23", [None, "2", "3"])]  # the file misprints the number of the first Absatz


def as_text(act: Act, *, markdown: bool, width: int) -> Iterator[str]:
    """Write a law as people keep it in files: headings, Absatz numbers, indented lists, wrapped or not."""
    above: tuple[str, ...] = ()
    for provision in act.provisions:
        if provision.kind != "norm":
            continue
        same = sum(1 for one, other in zip(above, provision.context, strict=False) if one == other)
        for title in provision.context[same:]:
            yield f"{'## ' if markdown else ''}{title}\n"
        above = provision.context
        name = f"{'§' if provision.style == 'paragraph' else 'Artikel'} {provision.article}"
        if markdown:
            yield f"### {name} {provision.heading or ''}".rstrip() + "\n"
        else:
            yield f"{name}\n{provision.heading or ''}".rstrip() + "\n"
        if not provision.absaetze:
            yield "(weggefallen)\n"
        for absatz in provision.absaetze:
            for index, block in enumerate(absatz.blocks):
                text = f"{block.marker} {block.text}".strip()
                if index == 0 and absatz.number:
                    text = f"({absatz.number}) {text}"
                indent = "  " * len(block.path)
                wrapped = (
                    textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) if width else [text]
                )
                yield "\n".join(indent + line for line in wrapped)
            yield ""


@pytest.mark.corpus
@pytest.mark.parametrize("markdown", [True, False], ids=["markdown", "plain"])
@pytest.mark.parametrize("width", [0, 80], ids=["unwrapped", "wrapped"])
@pytest.mark.parametrize("law", ["bdsg_2024-12", "gg_2025-03", "hinschg_2025-12", "bsig-2025_2026-03", "urhg_2024-12"])
def test_a_law_written_as_text_comes_back(shared: Path, law: str, width: int, markdown: bool) -> None:
    """Provisions, Absätze, list items and every letter survive the way through a text file."""
    act = read_gii((shared / f"corpus/gii-xml/{law}.xml").read_bytes(), law)
    text = "\n".join(as_text(act, markdown=markdown, width=width))
    back = read_markup_text(text.encode(), f"{law}.md")

    def outline(read_act: Act) -> dict[str, list[object]]:
        return {
            q.article: [(a.number, [(b.marker, b.path) for b in a.blocks if b.marker]) for a in q.absaetze]
            for q in read_act.provisions
            if q.kind == "norm"
        }

    def wording(read_act: Act) -> dict[str, str]:
        return {
            q.article: letters("".join(b.marker + b.text for a in q.absaetze for b in a.blocks))
            for q in read_act.provisions
            if q.kind == "norm"
        }

    assert outline(back) == outline(act)
    assert {a: w for a, w in wording(act).items() if wording(back)[a] != w} == {}


def test_a_number_and_its_first_letter_on_one_line_are_two_units() -> None:
    text = "# § 1\n\n(1) Es gilt\n\n1. a) aa) Rot,\n   bb) Rosa,\n   b) Blau,\n2. Grün."
    (provision,) = read(text).provisions
    composed = compose_absatz(provision, provision.absaetze[0])
    assert {write_sub(u.path): composed.text[u.start : u.end] for u in composed.units} == {
        "Nr. 1": "1.\na)\naa) Rot,\nbb) Rosa,\nb) Blau,",
        "Nr. 1 lit. a": "a)\naa) Rot,\nbb) Rosa,",
        "Nr. 1 lit. a Doppelbuchst. aa": "aa) Rot,",
        "Nr. 1 lit. a Doppelbuchst. bb": "bb) Rosa,",
        "Nr. 1 lit. b": "b) Blau,",
        "Nr. 2": "2. Grün.",
    }


def test_rows_of_a_table_open_no_unterabsatz_and_no_satz() -> None:
    lines = [Line("(1) Die Sätze sind:", depth=0)]
    lines += [Line(f"{n}. | Fall {n}.", depth=0, is_row=True) for n in (1, 2)]
    [absatz] = outlined([*lines, Line("Dies gilt stets.", depth=0)], "article", counts_paragraphs=True)
    composed = compose(absatz.blocks, "article")
    assert {write_sub(u.path): composed.text[u.start : u.end] for u in composed.units} == {
        "UAbs. 1": "Die Sätze sind:\n1. | Fall 1.\n2. | Fall 2.",
        "UAbs. 2": "Dies gilt stets.",
    }
