"""Rows of an annex's table that are cited by their number: "BSIG Anlage 1 Nr. 1.1.1"."""

from pathlib import Path

import pytest

from ingest.documents import load_file
from ingest.sources.table_numbers import TableRow, row_numbers
from normalize.citing import parse
from normalize.laws import LawTable

LAWS = LawTable.builtin()


def numbers(*rows: tuple[str | None, ...]) -> list[str]:
    return row_numbers([TableRow(row[0], tuple(cell for cell in row if cell)) for row in rows])


def test_rows_stand_under_the_number_in_the_first_column() -> None:
    table = (("Nummer", "Sektor"), ("1", "Energie"), ("1.1", "Strom"), ("1.1.1", "Lieferanten"), ("1.1.1a", "Netze"))
    assert numbers(*table) == ["", "1", "1.1", "1.1.1", "1.1.1a"]


@pytest.mark.parametrize("head", ["Nr.", "Lfd. Nr.", "lfd. Nr.", "laufende Nummer", "Gebühren- nummer", "NUMMER"])
def test_heads_that_say_that_the_column_counts(head: str) -> None:
    assert numbers((head, "Was"), ("1.", "eins"), ("2.", "zwei")) == ["", "1", "2"]


def test_a_first_cell_that_reaches_down_numbers_the_rows_below_it() -> None:
    assert numbers(("Nr.", "Was"), ("1", "a"), (None, "b"), ("2", "c")) == ["", "1", "1", "2"]


def test_a_row_without_a_number_stands_under_none() -> None:
    assert numbers(("Nr.", "Was"), ("1", "a"), ("", "Zwischentitel"), ("2", "c")) == ["", "1", "", "2"]


def test_the_numbers_of_the_columns_are_no_rows() -> None:
    assert numbers(("Nr.", "Was", "Wert"), ("1", "2", "3"), ("1", "a", "x"), ("2", "b", "y")) == ["", "", "1", "2"]


@pytest.mark.parametrize(
    "rows",
    [
        (("Jahr", "Wert"), ("1950", "1"), ("1951", "2")),  # counts no rows
        (("Nr.", "Was"), ("1", "a"), ("2", "b"), ("1", "c")),  # counts twice
        (("Nr.", "Was"), ("2", "a"), ("1", "b")),  # steps back
        (("Nr.", "Was"), ("1", "a")),  # one number is no counting
        (("mm", "min."), ("10", "12"), ("11", "13")),
    ],
)
def test_tables_that_are_not_cited_by_row(rows: tuple[tuple[str, ...], ...]) -> None:
    assert set(numbers(*rows)) == {""}


TABLE = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE dokumente SYSTEM "http://www.gesetze-im-internet.de/dtd/1.01/gii-norm.dtd">
<dokumente builddate="20240101000000" doknr="BJNR1"><norm><metadaten><jurabk>XPrüfG</jurabk></metadaten></norm>
<norm><metadaten><jurabk>XPrüfG</jurabk><enbez>{name}</enbez></metadaten><textdaten><text format="XML"><Content>
{tables}</Content></text></textdaten></norm></dokumente>"""


def table(*rows: str) -> str:
    columns = '<colspec colname="col1"/><colspec colname="col2"/>'
    return f"<P><table><tgroup cols='2'>{columns}<tbody>{''.join(rows)}</tbody></tgroup></table></P>"


def row(first: str | None, second: str, down: int = 0) -> str:
    more = f' morerows="{down}"' if down else ""
    cell = f'<entry colname="col1"{more}>{first}</entry>' if first is not None else ""
    return f'<row>{cell}<entry colname="col2">{second}</entry></row>'


def units(tmp_path: Path, tables: str, name: str = "Anlage 1") -> dict[str, str]:
    """Unit → its text."""
    path = tmp_path / "g.xml"
    path.write_text(TABLE.format(name=name, tables=tables), "utf-8")
    [chunk] = load_file(path, LAWS).chunks()
    text = chunk.payload["chunk_text"]
    return {unit["sub"]: text[unit["start"] : unit["end"]] for unit in chunk.payload["units"]}


def test_a_number_holds_the_rows_that_count_below_it(tmp_path: Path) -> None:
    rows = (row("Nr.", "Was"), row("1", "eins"), row("1.1", "eins eins", 1), row(None, "weiter"), row("2", "zwei"))
    assert units(tmp_path, table(*rows)) == {
        "Nr. 1": "1 | eins\n1.1 | eins eins\nweiter",
        "Nr. 1.1": "1.1 | eins eins\nweiter",
        "Nr. 2": "2 | zwei",
    }


def test_a_number_that_two_tables_have_is_left_out(tmp_path: Path) -> None:
    first = table(row("Nr.", "Was"), row("1", "a"), row("2", "b"))
    second = table(row("Nr.", "Was"), row("2", "c"), row("3", "d"))
    assert units(tmp_path, first + second) == {"Nr. 1": "1 | a", "Nr. 3": "3 | d"}


def test_a_table_in_a_paragraph_has_no_numbered_units(tmp_path: Path) -> None:
    rows = (row("Nr.", "Was"), row("1", "eins"), row("2", "zwei"))
    assert not any(sub.startswith("Nr.") for sub in units(tmp_path, table(*rows), "§ 1"))


@pytest.mark.corpus
def test_annexes_of_the_bsig(shared: Path) -> None:
    found = {}
    for chunk in load_file(shared / "corpus/gii-xml/bsig-2025_2026-03.xml", LAWS).chunks():
        payload = chunk.payload
        if not payload["article"].startswith("Anlage"):
            continue
        for unit in payload["units"]:
            label = f"BSIG {payload['article']} {unit['sub']}"
            assert parse(label, LAWS).label == label
            found[label] = payload["chunk_text"][unit["start"] : unit["end"]]
    assert found["BSIG Anlage 1 Nr. 1.1.1"] == "1.1.1 | Stromlieferanten nach § 3 Nummer 31c EnWG"
    assert found["BSIG Anlage 1 Nr. 2.1"].splitlines()[0] == "2.1 | Luftverkehr"
    assert found["BSIG Anlage 1 Nr. 2.1"].count("\n2.1.") == 3
    assert found["BSIG Anlage 2 Nr. 5.4.1"].startswith("5.4.1 | Unternehmen, die eine der Wirtschaftstätigkeiten")
    assert len(found) > 80


@pytest.mark.corpus
def test_what_is_embedded_of_a_row_names_the_rows_it_counts_below(shared: Path) -> None:
    chunks = load_file(shared / "corpus/gii-xml/bsig-2025_2026-03.xml", LAWS).chunks()
    [chunk] = [c for c in chunks if c.payload["chunk_text"].startswith("2.4 | Straßenverkehr")]
    assert "\n2 | Transport und Verkehr\n2.4 | Straßenverkehr" in chunk.embed_text
    assert "2 | Transport und Verkehr" not in chunk.payload["chunk_text"]
