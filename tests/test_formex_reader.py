"""Formex acts: subparagraphs, points, definitions, recitals, annexes, pages, and the counts of real acts."""

from collections import Counter
from pathlib import Path

import pytest

from ingest.compose import compose, write_sub
from ingest.documents import load_file
from ingest.sources.formex import read_formex
from ingest.tree import Act, Provision
from normalize.laws import LawTable

DSGVO = "corpus/eurlex-de/dsgvo_32016R0679_DE_formex_L_2016119DE.01000101.xml"

NIS2 = "corpus/eurlex-en/nis2_32022L2555_EN_formex_L_2022333EN.01008001.xml"


def act(article: str) -> Act:
    body = f"<ACT><ENACTING.TERMS><ARTICLE><TI.ART>Artikel 7</TI.ART>{article}</ARTICLE></ENACTING.TERMS></ACT>"
    return read_formex(body.encode(), "test.xml")


def texts(provision: Provision) -> list[tuple[str | None, str]]:
    return [(a.number, compose(a.blocks, "article").text) for a in provision.absaetze]


@pytest.mark.parametrize(
    ("article", "expected"),
    [
        ("<ALINEA>Nur einer.</ALINEA>", [(None, "Nur einer.")]),
        ("<ALINEA>Erster.</ALINEA><ALINEA>Zweiter.</ALINEA>", [("1", "Erster."), ("2", "Zweiter.")]),
        ("<PARAG><NO.PARAG>(1)</NO.PARAG><ALINEA>Eins.</ALINEA></PARAG>", [("1", "Eins.")]),
        ("<PARAG><NO.PARAG>1.</NO.PARAG><ALINEA>Alt.</ALINEA></PARAG>", [("1", "Alt.")]),
        (
            "<ALINEA>das \n <QUOT.START CODE='201E'/>\nWort\n <QUOT.END CODE='201C'/>\n , das gilt</ALINEA>",
            [(None, "das „Wort“, das gilt")],
        ),
        ("<ALINEA>vor<NOTE><P>ABl. L 1</P></NOTE>, nach</ALINEA>", [(None, "vor, nach")]),
        ("<ALINEA>vom<DATE ISO='20140515'>15. Mai 2014</DATE></ALINEA>", [(None, "vom 15. Mai 2014")]),
    ],
)
def test_articles(article: str, expected: list[tuple[str | None, str]]) -> None:
    assert texts(act(article).provisions[0]) == expected


def test_points_and_roman_points() -> None:
    def items(*pairs: tuple[str, str]) -> str:
        return "".join(f"<ITEM><NP><NO.P>{no}</NO.P><TXT>{text}</TXT></NP></ITEM>" for no, text in pairs)

    inner = f"<LIST>{items(('i)', 'eins'), ('ii)', 'zwei'))}</LIST>"
    letters = items(*((f"{letter})", letter.upper()) for letter in "abcdefgh"), ("i)", "I"))
    nested = f"<ITEM><NP><NO.P>j)</NO.P><TXT>J</TXT><P>{inner}</P></NP></ITEM>"
    provision = act(f"<ALINEA><P>Dies:</P><LIST>{letters}{nested}</LIST></ALINEA>").provisions[0]
    composed = compose(provision.absaetze[0].blocks, "article")
    found = {write_sub(u.path): composed.text[u.start : u.end] for u in composed.units}
    assert found["lit. i"] == "i) I"  # after h) it is the letter
    assert found["lit. j Ziff. i"] == "i) eins"  # the first of a list under a letter is roman
    assert found["lit. j Ziff. ii"] == "ii) zwei"


def test_footnotes_are_kept_apart() -> None:
    provision = act("<ALINEA>vor<NOTE><P>ABl. L 1</P></NOTE>, nach</ALINEA>").provisions[0]
    assert provision.footnotes == ("ABl. L 1",)


# --- Real acts -----------------------------------------------------------------------------------------------------


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("file", "celex", "counts"),
    [
        (DSGVO, "32016R0679", {"norm": 99, "recital": 173}),
        ("corpus/eurlex-en/aiact_32024R1689_EN_formex.xml", "32024R1689", {"norm": 113, "recital": 180, "annex": 13}),
        (NIS2, "32022L2555", {"norm": 46, "recital": 144}),
        ("corpus/eurlex-en/eprivacy_02002L0058_EN_formex-consolidated-2009.xml", "32002L0058", {"norm": 23}),
    ],
)  # fmt: skip
def test_counts_of_real_acts(shared: Path, file: str, celex: str, counts: dict[str, int]) -> None:
    read = read_formex((shared / file).read_bytes(), file)
    found = Counter(p.kind for p in read.provisions)
    assert read.celex == celex
    assert {kind: found[kind] for kind in counts} == counts


@pytest.mark.corpus
def test_dsgvo_labels_names_and_pages(shared: Path) -> None:
    loaded = load_file(shared / DSGVO, LawTable.builtin())
    chunks = {c.payload["article_label"]: c.payload for c in loaded.chunks()}
    assert loaded.document.document_id == "32016R0679" and loaded.document.regulation_code == "DSGVO"
    assert {"Art. 13 Abs. 1 DSGVO", "ErwG 26 DSGVO", "Art. 10 DSGVO", "Art. 99 Abs. 2 DSGVO"} <= set(chunks)
    assert chunks["ErwG 26 DSGVO"]["is_recital"] and not chunks["Art. 10 DSGVO"]["is_recital"]
    assert chunks["Art. 13 Abs. 1 DSGVO"]["page"] == 40
    units = {u["sub"]: u for u in chunks["Art. 6 Abs. 1 DSGVO"]["units"]}
    text = chunks["Art. 6 Abs. 1 DSGVO"]["chunk_text"]
    assert text[units["UAbs. 1 lit. f"]["start"] :].startswith("f) die Verarbeitung ist zur Wahrung")


@pytest.mark.corpus
def test_text_of_dsgvo_article_has_no_blanks_of_the_pretty_printer(shared: Path) -> None:
    loaded = load_file(shared / DSGVO, LawTable.builtin())
    texts = "\n".join(c.payload["chunk_text"] for c in loaded.chunks())
    assert not [bad for bad in (" ,", " ;", "„ ", " “", "  ") if bad in texts]
