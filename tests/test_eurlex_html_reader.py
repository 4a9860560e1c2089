"""EUR-Lex pages of all generations: structure, footnotes, quotations, what is no text of law, and damaged pages."""

import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from lxml import html

from ingest.compose import compose_absatz, write_sub
from ingest.sources.eurlex_html import is_eurlex_html, read_eurlex_html
from ingest.sources.formex import read_formex
from ingest.tree import Act, Provision
from normalize.errors import SourceError

DORA = "corpus/eurlex-de/dora_32022R2554_DE_oj.html"
GDPR = "corpus/eurlex-en/gdpr_32016R0679_EN_oj.html"
PROPOSAL = "corpus/eurlex-de/ki-vo-vorschlag_52021PC0206_DE.html"
WARRANT = "corpus/eurlex-de/eu-haftbefehl_32002F0584_DE_old-html.html"
JOINT_ACTION = "corpus/eurlex-de/gemeinsame-massnahme_01998F0699-20010705_DE_consolidated-old-html.html"
DSGVO_FORMEX = "corpus/eurlex-de/dsgvo_32016R0679_DE_formex_L_2016119DE.01000101.xml"


def page(body: str, head: str = "") -> Act:
    return read_eurlex_html(f"<html><head>{head}</head><body>{body}</body></html>".encode(), "test.html")


def oj(article: str) -> Provision:
    return page(f'<p class="oj-ti-art">Artikel 7</p><p class="oj-sti-art">Titel</p>{article}').provisions[0]


def row(label: str, content: str) -> str:
    return f'<table><tbody><tr><td><p class="oj-normal">{label}</p></td><td>{content}</td></tr></tbody></table>'


def p(text: str) -> str:
    return f'<p class="oj-normal">{text}</p>'


def texts(provision: Provision) -> list[tuple[str | None, str]]:
    return [(a.number, compose_absatz(provision, a).text) for a in provision.absaetze]


def units(provision: Provision) -> dict[str, str]:
    composed = compose_absatz(provision, provision.absaetze[0])
    return {write_sub(u.path): composed.text[u.start : u.end] for u in composed.units}


NBSP3 = "\u00a0\u00a0\u00a0"


@pytest.mark.parametrize(
    ("article", "expected"),
    [
        # one unnumbered paragraph has no number; several are counted (style guide 3.2.3)
        (p("Nur einer."), [(None, "Nur einer.")]),
        (p("Erster.") + p("Zweiter."), [("1", "Erster."), ("2", "Zweiter.")]),
        # the number is text with three NBSP behind it, in brackets (German) or with a dot (English)
        (f'<div id="007.001">{p(f"(1){NBSP3}Eins.")}</div><div id="007.002">{p(f"(2){NBSP3}Zwei.")}</div>',
         [("1", "Eins."), ("2", "Zwei.")]),
        (p(f"1.{NBSP3}One.") + p(f"2.{NBSP3}Two."), [("1", "One."), ("2", "Two.")]),
        # text after a list that goes on in small letters belongs to the Absatz, not to the last item
        (p("Es gilt") + row("a)", p("dies,")) + p("wenn es passt."), [(None, "Es gilt\na) dies,\nwenn es passt.")]),
        # numbers behind a lead-in are points, not Absätze
        (p("Es bezeichnet:") + row("(1)", p("„Wort“ eins;")) + row("(2)", p("„Wort“ zwei.")),
         [(None, "Es bezeichnet:\n(1) „Wort“ eins;\n(2) „Wort“ zwei.")]),
        # a link that EUR-Lex injects keeps its text, once
        (p('nach der <a class="ref2link-generated" data-ref2link-initial="RL" title="to EUR-Lex">RL 1/EG</a> gilt.'),
         [(None, "nach der RL 1/EG gilt.")]),
        # the number of a footnote leaves neither brackets nor a blank before the comma
        (p('vor <a id="ntc1-L" href="#ntr1-L">(<span class="oj-super oj-note-tag">1</span>)</a>, nach.'),
         [(None, "vor, nach.")]),
        (p('vor <span class="FootnoteReference"> <a href="#footnote2">1</a> </span><span> , nach.</span>'),
         [(None, "vor, nach.")]),
        # a table of data is rows
        ("<table><tr><td><p>Art</p></td><td><p>Wert</p></td></tr><tr><td><p>A</p></td><td><p>1</p></td></tr></table>",
         [(None, "Art | Wert\nA | 1")]),
    ],
)  # fmt: skip
def test_articles_of_the_official_journal(article: str, expected: list[tuple[str | None, str]]) -> None:
    assert texts(oj(article)) == expected


def test_subparagraphs_and_nested_points() -> None:
    nested = p("zwei:") + row("i)", p("klein;")) + row("ii)", p("groß."))
    article = p(f"(1){NBSP3}Erstens.") + p("Für Unterabsatz 1 gilt:") + row("a)", p("eins;")) + row("b)", nested)
    found = units(oj(article))
    assert found["UAbs. 1"] == "Erstens."
    assert found["UAbs. 2 lit. a"] == "a) eins;"
    assert found["UAbs. 2 lit. b Ziff. ii"] == "ii) groß."


def test_footnotes_stand_apart_with_the_provision_that_names_them() -> None:
    note = '<p class="oj-note"><a id="ntr1-L" href="#ntc1-L">(<span class="oj-super">1</span>)</a> ABl. L 1.</p>'
    act = page(
        '<p class="oj-ti-art">Artikel 1</p>'
        + p('Wort<a id="ntc1-L" href="#ntr1-L">(<span>1</span>)</a>.')
        + f'<p class="oj-ti-art">Artikel 2</p>{p("Ohne.")}{note}'
    )
    assert [(q.article, q.footnotes) for q in act.provisions] == [("1", ("ABl. L 1.",)), ("2", ())]
    assert texts(act.provisions[0]) == [(None, "Wort.")]


def test_quoted_wording_opens_no_article_and_no_absatz() -> None:
    quoted = p("„Artikel 9a") + p(f"(1){NBSP3}Neu eins.") + p(f"(2){NBSP3}Neu zwei.“")
    provision = oj(
        p("Die Richtlinie wird geändert:") + row("1.", p("Es wird eingefügt:") + quoted) + row("2.", p("Ende."))
    )
    (absatz,) = provision.absaetze
    assert [(b.quoted, [s.value for s in b.path]) for b in absatz.blocks] == [
        (False, []), (False, ["1"]), (True, ["1"]), (True, ["1"]), (True, ["1"]), (False, ["2"]),
    ]  # fmt: skip


def test_a_quotation_that_never_ends_quotes_nothing() -> None:
    provision = oj(p(f"(1){NBSP3}„Falsch gesetzt.") + p(f"(2){NBSP3}Zwei."))
    assert [a.number for a in provision.absaetze] == ["1", "2"]
    assert not any(b.quoted for a in provision.absaetze for b in a.blocks)


def test_recitals_preamble_formula_signature_and_annex() -> None:
    act = page(
        '<p class="oj-doc-ti">VERORDNUNG (EU) 2024/7 DES RATES</p><p class="oj-doc-ti">vom 3. Mai 2024</p>'
        + p("DER RAT DER EUROPÄISCHEN UNION —")
        + p("in Erwägung nachstehender Gründe:")
        + row("(1)", p("Grund eins.") + p("Noch eins."))
        + row("(2)", p("Grund zwei."))
        + p("HAT FOLGENDE VERORDNUNG ERLASSEN:")
        + '<p class="oj-ti-section-1">KAPITEL I</p><p class="oj-ti-section-2">Allgemeines</p>'
        + f'<p class="oj-ti-art">Artikel 1</p><p class="oj-sti-art">Zweck</p>{p("Text.")}'
        + f'<div class="oj-final">{p("Diese Verordnung ist in allen ihren Teilen verbindlich.")}'
        + p("Geschehen zu Brüssel am 3. Mai 2024.")
        + '<p class="oj-signatory">Die Präsidentin</p></div>'
        + '<p class="oj-doc-ti">ANHANG I</p><p class="oj-doc-ti">Liste</p><p class="oj-ti-grseq-1">TEIL B</p>'
        + row("1.", p("Posten."))
    )
    assert act.celex == "32024R0007" and act.date == "2024-05-03" and act.doc_type == "verordnung_eu"
    found = [(q.kind, q.article, q.heading, [t for _, t in texts(q)]) for q in act.provisions]
    assert found == [
        ("part", "Präambel", None, [
            "DER RAT DER EUROPÄISCHEN UNION —\nin Erwägung nachstehender Gründe:\nHAT FOLGENDE VERORDNUNG ERLASSEN:"]),
        ("recital", "1", None, ["Grund eins.\nNoch eins."]),
        ("recital", "2", None, ["Grund zwei."]),
        ("norm", "1", "Zweck", ["Text."]),
        ("part", "Schlussformel", None, ["Diese Verordnung ist in allen ihren Teilen verbindlich."]),
        ("annex", "Anhang I", "Liste", ["TEIL B\n1. Posten."]),
    ]  # fmt: skip
    assert act.provisions[3].context == ("KAPITEL I Allgemeines",)
    assert units(act.provisions[-1])["Teil B Nr. 1"] == "1. Posten."


def test_pages_before_2023_have_the_classes_without_prefix() -> None:
    act = page('<p class="ti-art">Article 3</p><p class="sti-art">Scope</p><p class="normal">1.   This.</p>')
    assert [(q.article, q.heading, texts(q)) for q in act.provisions] == [("3", "Scope", [("1", "This.")])]


def test_consolidated_pages_use_grids_and_mark_amendments() -> None:
    grid = (
        '<div class="grid-container grid-list"><div class="list grid-list-column-1"><span>{}</span></div>'
        '<div class="grid-list-column-2"><p class="norm">{}</p></div></div>'
    )
    act = page(
        '<p class="title-article-norm">Article 2</p><p class="stitle-article-norm">Terms</p>'
        '<p class="modref"><a href="x">▼M1</a></p>'
        '<div class="norm"><span class="no-parag">1.  </span><div class="norm inline-element">It covers:'
        + grid.format("(a)", "►M2 one; ◄")
        + grid.format("(b)", "two.")
        + "</div></div>",
        "<title>Consolidated TEXT: 32014R0575 — EN — 28.06.2021</title>",
    )
    assert texts(act.provisions[0]) == [("1", "It covers:\n(a) one;\n(b) two.")]
    assert (act.celex, act.date, act.language) == ("32014R0575", "2021-06-28", "en")


def test_numbers_of_proposals_stand_in_spans() -> None:
    def item(kind: str, label: str, text: str) -> str:
        return f'<p class="li {kind}"><span class="num"><span>{label}</span></span><span>{text}</span></p>'

    act = page(
        '<p class="Exposdesmotifstitre">BEGRÜNDUNG</p><p class="Normal">Kein Recht.</p>'
        '<p class="Typedudocument">VERORDNUNG</p><p class="Institutionquiagit">DAS EUROPÄISCHE PARLAMENT</p>'
        + item("ManualConsidrant", "(1)", "Grund.")
        + '<p class="Titrearticle"><span>Artikel 4</span><span><br>Pflichten</span></p>'
        + item("Point0", "(1)", "Es gilt:")
        + item("Point1", "a)", "dies;")
        + item("Point2", "i)", "und das.")
        + '<p class="Fichefinanciretitre">FINANZBOGEN</p><p class="Normal">Kein Recht.</p>'
        + '<p class="Annexetitre">ANHANG II<br>Titel</p>'
        + item("NumPar1", "3.", "Drei")
        + item("NumPar2", "3.1.", "Enthält:")
        + item("Point1", "a)", "Posten.")
    )
    assert [q.article for q in act.provisions] == ["Präambel", "1", "4", "Anhang II"]
    assert texts(act.provisions[2]) == [("1", "Es gilt:\na) dies;\ni) und das.")]
    assert units(act.provisions[2])["lit. a Ziff. i"] == "i) und das."
    assert units(act.provisions[3])["Nr. 3.1 lit. a"] == "a) Posten."


def test_old_pages_have_only_text() -> None:
    act = page(
        "<p>Richtlinie des Rates</p><p>vom 1. Juni 1999</p><p>DER RAT -</p><p>auf Vorschlag der Kommission(1),</p>"
        "<p>in Erwägung nachstehender Gründe:</p><p>(1) Grund.</p><p>HAT FOLGENDE RICHTLINIE ERLASSEN:</p>"
        "<p>KAPITEL 1</p><p>ALLGEMEINES</p><p>Artikel 1</p><p>Zweck</p><p>(1) Eins.</p><p>(2) Zwei:</p>"
        "<p>- Strich eins,</p><p>- Strich zwei.</p><p>Artikel 2</p><p>Nur Text.</p>"
        "<p>Geschehen zu Brüssel am 1. Juni 1999.</p><p>Im Namen des Rates</p><p>A. NAME</p><p>(1) ABl. C 1.</p>"
    )
    assert [(q.article, q.heading, texts(q)) for q in act.provisions if q.kind == "norm"] == [
        ("1", "Zweck", [("1", "Eins."), ("2", "Zwei:\n- Strich eins,\n- Strich zwei.")]),
        ("2", None, [(None, "Nur Text.")]),
    ]
    assert act.provisions[0].footnotes == ("ABl. C 1.",)
    assert "Kommission,\n" in texts(act.provisions[0])[0][1]
    assert act.provisions[2].context == ("KAPITEL 1 ALLGEMEINES",)


# --- Refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>", "neither an article nor an annex"),
        (b'<html><body><p class="oj-ti-art">Artikel 1</p><p>Abgeschn', "cut off"),
        (b"<html>" + b"<div>" * 4000 + b"</div>" * 4000 + b"</html>", "deep"),
    ],
)
def test_other_pages_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        read_eurlex_html(data, "page.html")


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b'<html><p class="oj-doc-ti">', True),
        (b'<?xml version="1.0"?><!DOCTYPE html><html><div class="eli-subdivision">', True),
        (b'<html><link href="https://eur-lex.europa.eu/?uri=CELEX%3A32022R2554"/>', True),
        (b"<html><title>502 Bad Gateway</title>", False),
        (b"<dokumente><norm/></dokumente>", False),
        (b"# Artikel 1", False),
    ],
)
def test_detection_by_content(head: bytes, expected: bool) -> None:
    assert is_eurlex_html(head) is expected


# --- Real pages ------------------------------------------------------------------------------------------------------


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("file", "celex", "date", "counts"),
    [
        (DORA, "32022R2554", "2022-12-14", {"norm": 64, "recital": 106}),
        (GDPR, "32016R0679", "2016-04-27", {"norm": 99, "recital": 173}),
        (PROPOSAL, "52021PC0206", None, {"norm": 85, "recital": 89, "annex": 9}),
        (WARRANT, "32002F0584", "2002-06-13", {"norm": 5, "recital": 3, "annex": 1}),
        (JOINT_ACTION, "31998F0699", "2001-07-05", {"norm": 7}),
    ],
)
def test_counts_of_real_pages(shared: Path, file: str, celex: str, date: str | None, counts: dict[str, int]) -> None:
    data = (shared / file).read_bytes()
    act = read_eurlex_html(data, file)
    found = Counter[str](q.kind for q in act.provisions)
    assert is_eurlex_html(data[:65_536])
    assert (act.celex, act.date) == (celex, date)
    assert {kind: found[kind] for kind in counts} == counts


@pytest.mark.corpus
def test_gdpr_page_has_the_structure_of_the_dsgvo_in_formex(shared: Path) -> None:
    """The same act in two formats and two languages: every Absatz, item and footnote at the same place."""

    def structure(act: Act) -> list[object]:
        return [
            (q.kind, q.article, len(q.footnotes), [(a.number, [b.path for b in a.blocks]) for a in q.absaetze])
            for q in act.provisions
            if q.kind in ("norm", "recital")
        ]

    english = structure(read_eurlex_html((shared / GDPR).read_bytes(), GDPR))
    assert english == structure(read_formex((shared / DSGVO_FORMEX).read_bytes(), DSGVO_FORMEX))


def letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text)


# Declared removals, told without the code of the reader: heads of pages, footnotes and their numbers, signatures.
_REMOVED = (
    "//*[contains(@class, 'oj-note') or contains(@class, 'oj-signatory') or contains(@class, 'FootnoteReference')]",
    "//a[starts-with(@href, '#ntr') or starts-with(@href, '#E0') or starts-with(@href, '#src')]",
    "//dd | //script | //head | //*[contains(@class, 'hd-')] | //*[@class='efTooltip FormHelpTooltip']",
    "//p[starts-with(normalize-space(), 'Geschehen zu') or starts-with(normalize-space(), 'Done at')]",
)


def law_text(data: bytes, removed: tuple[str, ...]) -> str:
    root = html.fromstring(data, parser=html.HTMLParser(encoding="utf-8", remove_comments=True))
    for path in removed:
        for element in root.xpath(path):
            element.drop_tree()
    return letters(root.text_content())


def pieces(act: Act) -> Iterator[tuple[str, bool]]:
    """What the act says from its first article on, in order; a number that may be counted, not printed, is optional."""
    above: tuple[str, ...] = ()
    for provision in act.provisions:
        if provision.kind == "recital" or provision.article == "Präambel":
            continue
        same = 0
        while same < min(len(above), len(provision.context)) and above[same] == provision.context[same]:
            same += 1
        if provision.kind == "norm":
            yield from ((title, False) for title in provision.context[same:])
            above = provision.context
            yield ("Artikel" if act.language == "de" else "Article") + provision.article, False
        if provision.kind == "annex":
            yield provision.article.upper(), False
        yield provision.heading or "", False
        for absatz in provision.absaetze:
            yield absatz.number or "", True
            for block in absatz.blocks:
                yield block.marker + block.text, False


@pytest.mark.corpus
@pytest.mark.parametrize("file", [DORA, GDPR])
def test_no_letter_is_lost_or_invented(shared: Path, file: str) -> None:
    data = (shared / file).read_bytes()
    act = read_eurlex_html(data, file)
    text = law_text(data, _REMOVED)
    reasons = [q for q in act.provisions if q.kind == "recital"]
    recitals = [letters(q.article + "".join(b.text for b in q.absaetze[0].blocks)) for q in reasons]
    assert "".join(recitals) in text
    follow = list(pieces(act))
    at = text.index(letters(follow[0][0] + follow[1][0] + follow[2][0]))
    preamble = next(q for q in act.provisions if q.article == "Präambel")
    formulas = letters("".join(b.text for b in preamble.absaetze[0].blocks))
    before = letters(act.name or "") + "".join(recitals) + formulas
    assert Counter(before) == Counter(text[:at])
    for piece, optional in follow:
        wanted = letters(piece)
        if optional and not text.startswith(wanted, at):
            continue
        assert text.startswith(wanted, at), f"{piece[:80]!r} is not next in {text[at : at + 80]!r}"
        at += len(wanted)
    assert text[at:] == ""


@pytest.mark.corpus
@pytest.mark.parametrize("file", [PROPOSAL, WARRANT, JOINT_ACTION])
def test_every_paragraph_of_the_articles_is_kept(shared: Path, file: str) -> None:
    """Of pages without containers: each paragraph of the articles stands in the act, in order."""
    data = (shared / file).read_bytes()
    act = read_eurlex_html(data, file)
    said = "".join(letters(piece) for piece, _ in pieces(act))
    root = html.fromstring(data, parser=html.HTMLParser(encoding="utf-8", remove_comments=True))
    for path in _REMOVED[:2]:
        for element in root.xpath(path):
            element.drop_tree()
    paragraphs = [
        " ".join(e.text_content().split()) for e in root.iter("p") if next(e.iterdescendants("p"), None) is None
    ]
    first = next(i for i, text in enumerate(paragraphs) if re.match(r"Artikel \d", text))
    last = next(i for i, text in enumerate(paragraphs) if i > first and text.startswith("Geschehen zu"))
    at = 0
    for text in paragraphs[first:last]:
        wanted = letters(re.sub(r"[▼►]\s?\w+|\(\d+\)$", "", text))
        found = said.find(wanted, at)
        assert found >= 0, text
        at = found + len(wanted)


@pytest.mark.corpus
def test_damaged_pages_give_one_error_or_an_act(shared: Path) -> None:
    data = (shared / JOINT_ACTION).read_bytes()
    chance = random.Random(7)
    outcomes = Counter[str]()
    for _ in range(40):
        damaged = bytearray(data)
        for _ in range(25):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        cut = chance.choice((len(damaged), chance.randrange(len(damaged))))
        try:
            outcomes[read_eurlex_html(bytes(damaged[:cut]), "damaged.html").style] += 1
        except SourceError:
            outcomes["refused"] += 1
    assert set(outcomes) == {"article", "refused"}
