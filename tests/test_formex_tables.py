"""Rows of Formex annexes that are cited by number and letter of their first columns: "Anhang I Nr. 1 lit. a NIS2"."""

from pathlib import Path

import pytest

from ingest.compose import compose_absatz, write_sub
from ingest.documents import load_file
from ingest.sources.formex import read_formex
from normalize.citing import parse
from normalize.laws import LawTable

LAWS = LawTable.builtin()


def cell(column: int, text: str, number: str = "", down: int = 1) -> str:
    span = f' ROWSPAN="{down}"' if down > 1 else ""
    inner = f"<NP><NO.P>{number}</NO.P><TXT>{text}</TXT></NP>" if number else text
    return f'<CELL COL="{column}"{span}>{inner}</CELL>'


def units(*rows: str) -> dict[str, str]:
    table = "".join(f"<ROW>{row}</ROW>" for row in rows)
    content = f"<CONTENTS><TBL><CORPUS>{table}</CORPUS></TBL></CONTENTS>"
    xml = f"<ANNEX><TITLE><TI><P>ANHANG I</P></TI></TITLE>{content}</ANNEX>"
    [annex] = read_formex(xml.encode(), "a.xml").provisions
    composed = compose_absatz(annex, annex.absaetze[0])
    return {write_sub(u.path): composed.text[u.start : u.end] for u in composed.units}


HEAD = cell(1, "Sektor") + cell(2, "Teilsektor") + cell(3, "Art")


def test_cells_that_reach_down_number_the_rows_below_them() -> None:
    rows = (
        HEAD,
        cell(1, "Energie", "1.", down=3) + cell(2, "Strom", "a)", down=2) + cell(3, "Lieferanten."),
        cell(3, "Netze."),
        cell(2, "Öl", "b)") + cell(3, "Leitungen"),
        cell(1, "Banken", "2.") + cell(2, "") + cell(3, "Kreditinstitute"),
    )
    assert units(*rows) == {
        "Nr. 1": "1. Energie | a) Strom | Lieferanten.\nNetze.\nb) Öl | Leitungen",
        "Nr. 1 lit. a": "1. Energie | a) Strom | Lieferanten.\nNetze.",
        "Nr. 1 lit. b": "b) Öl | Leitungen",
        "Nr. 2": "2. Banken | Kreditinstitute",
    }


def test_a_letter_i_counts_on_after_h() -> None:
    letters = "abcdefghij"
    first = cell(1, "Eins", "1.", down=10)
    rows = [(first if letter == "a" else "") + cell(2, letter, f"({letter})") for letter in letters]
    assert list(units(*rows, cell(1, "Zwei", "2.")))[-3:] == ["Nr. 1 lit. i", "Nr. 1 lit. j", "Nr. 2"]


@pytest.mark.parametrize(
    "rows",
    [
        (cell(1, "Eins", "1."),),  # one number is no counting
        (cell(1, "Eins", "1."), cell(1, "Drei", "3.")),
        (cell(1, "Eins", "1."), cell(1, "Zwei", "2."), cell(1, "Eins", "1.")),
        (cell(1, "Eins", "1.") + cell(2, "b", "b)"), cell(1, "Zwei", "2.")),
        (cell(1, "1") + cell(2, "x"), cell(1, "2") + cell(2, "y")),  # the source does not say that these are numbers
    ],
)
def test_tables_that_are_not_cited_by_row(rows: tuple[str, ...]) -> None:
    assert units(*rows) == {}


@pytest.mark.corpus
def test_annex_i_of_nis2(shared: Path) -> None:
    file = shared / "corpus/eurlex-en/nis2_32022L2555_EN_formex_L_2022333EN.01014301.xml"
    found = {}
    for chunk in load_file(file, LAWS, code="NIS2", document_id="32022L2555").chunks():
        for unit in chunk.payload["units"]:
            label = f"Anhang I {unit['sub']} NIS2"
            assert parse(label, LAWS).label == label
            found[unit["sub"]] = chunk.payload["chunk_text"][unit["start"] : unit["end"]]
    assert found["Nr. 1 lit. e"] == "(e) Hydrogen | Operators of hydrogen production, storage and transmission"
    assert found["Nr. 2 lit. b"].count("\n") == 1
    assert found["Nr. 8"].startswith("8. Digital infrastructure | Internet Exchange Point providers\n")
    assert found["Nr. 11"].startswith("11. Space | ")
