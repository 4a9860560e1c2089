"""Controls in and out: JSON lines, all or nothing, nothing written twice."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import zstandard

from backends.tables.connect import Tables
from backends.tables.locks import relink_lock
from backends.tables.mapping import ControlColumns
from backends.tables.schema import canonical_controls
from normalize.errors import LockedError, SourceError
from relink.controls import export_controls, import_controls, read_lines

A = "00000000-0000-4000-8000-00000000000a"
B = "00000000-0000-4000-8000-00000000000b"
C = "00000000-0000-4000-8000-00000000000c"


def line(control_uuid: str, **values: Any) -> str:
    return json.dumps({"control_uuid": control_uuid, **values})


def stored(tables: Tables) -> list[dict[str, Any]]:
    with tables.begin() as connection:
        rows = connection.execute(sa.select(canonical_controls).order_by(canonical_controls.c.control_uuid))
        return [dict(row._mapping) for row in rows]


FULL = line(
    A,
    parent_control_uuid=None,
    title="Benennung",
    source_original_text="Ergänzend zu Artikel 37",
    source_regulation="BDSG",
    is_self_written=False,
    source_citation={"article": "38"},
)


def test_import_counts_what_it_does(tables: Tables) -> None:
    report = import_controls(tables, [FULL, line(B, parent_control_uuid=A.upper()), ""], "f")
    assert (report.rows, report.inserted, report.updated, report.unchanged) == (2, 2, 0, 0)
    again = import_controls(tables, [FULL, line(B, parent_control_uuid=A)], "f")
    assert (again.rows, again.inserted, again.updated, again.unchanged) == (2, 0, 0, 2), "the same again writes nothing"
    changed = import_controls(tables, [line(B, parent_control_uuid=A, title="neu"), line(C)], "f")
    assert (changed.rows, changed.inserted, changed.updated, changed.unchanged) == (2, 1, 1, 0)
    assert stored(tables)[0] == {
        "control_uuid": A,
        "parent_control_uuid": None,
        "title": "Benennung",
        "source_original_text": "Ergänzend zu Artikel 37",
        "source_citation": {"article": "38"},
        "source_regulation": "BDSG",
        "is_self_written": False,
    }
    assert stored(tables)[1]["parent_control_uuid"] == A, "ids are kept in lower case"


def test_a_line_without_citation_takes_none_away(tables: Tables) -> None:
    import_controls(tables, [FULL], "f")
    without = {key: value for key, value in json.loads(FULL).items() if key != "source_citation"}
    assert import_controls(tables, [json.dumps(without)], "f").updated == 0
    assert stored(tables)[0]["source_citation"] == {"article": "38"}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("{", "line 2: EOF while parsing"),
        ("[]", "line 2: Input should be an object"),
        ("{}", "line 2: control_uuid: key is missing"),
        (line(B, uuid=B), "line 2: uuid: unknown key"),
        (line("b"), "line 2: control_uuid: 'b' is no UUID"),
        (line(B, parent_control_uuid=""), "line 2: parent_control_uuid: '' is no UUID"),
        (line(B, title=3), "line 2: title: Input should be a valid string"),
        (line(B, is_self_written="yes"), "line 2: is_self_written: Input should be a valid boolean"),
        (line(B, source_citation="§ 1"), "line 2: source_citation: Input should be an object"),
        (line(B, title="a\x00b"), "line 2: title: holds a NUL character"),
        ('{"control_uuid": "' + B + '", "title": "\\ud800"}', "line 2: unexpected end of hex escape"),
        (line(A.upper()), f"line 2: control {A} stands in line 1 already"),
        (b'{"control_uuid": "\xff"}', "line 2: "),
    ],
)
def test_a_bad_line_stops_all_with_its_place(tables: Tables, bad: str | bytes, message: str) -> None:
    with pytest.raises(SourceError, match=f"^f.jsonl {message}.*nothing was imported") as caught:
        import_controls(tables, [FULL, bad, line(C)], "f.jsonl")
    assert "\n" not in str(caught.value)
    assert stored(tables) == []


def test_files_plain_and_packed(tmp_path: Path) -> None:
    content = "".join(f"{line(uuid)}\n" for uuid in (A, B)).encode()
    plain, packed = tmp_path / "c.jsonl", tmp_path / "c.jsonl.zst"
    plain.write_bytes(content)
    packed.write_bytes(zstandard.compress(content))
    assert list(read_lines(plain)) == list(read_lines(packed)) == content.splitlines(keepends=True)
    packed.write_bytes(b"no zstd")
    for path in (packed, tmp_path / "missing.jsonl", tmp_path):
        with pytest.raises(SourceError, match="cannot be read"):
            list(read_lines(path))


def test_a_byte_order_mark_is_no_part_of_the_first_line(tables: Tables) -> None:
    assert import_controls(tables, [b"\xef\xbb\xbf" + line(A).encode()], "f").inserted == 1


def test_export_is_in_order_and_the_same_each_time(tables: Tables) -> None:
    import_controls(tables, [line(C), line(B), FULL], "f")
    rows = list(export_controls(tables))
    assert [row["control_uuid"] for row in rows] == [A, B, C]
    nothing = dict.fromkeys(("outcome", "tier", "score", "margin", "chunk_id"))
    assert rows[0] == {"control_uuid": A, "source_citation": {"article": "38"}} | nothing
    assert list(rows[0]) == ["control_uuid", "source_citation", "outcome", "tier", "score", "margin", "chunk_id"]
    assert json.dumps(rows) == json.dumps(list(export_controls(tables)))


def test_nobody_imports_while_another_run_writes(
    tables: Tables, database_url: str, open_database: Callable[..., Tables]
) -> None:
    with relink_lock(open_database(database_url)), pytest.raises(LockedError, match="the controls"):
        import_controls(tables, [FULL], "f")


def test_a_platform_with_other_names_and_types(empty_database_url: str, open_database: Callable[..., Tables]) -> None:
    columns = ControlColumns(
        table="c2", control_uuid="id", source_original_text="quotation", source_citation="citation", title="name"
    )
    tables = open_database(empty_database_url, columns=columns)
    with tables.begin() as connection:
        connection.execute(
            sa.text(
                "CREATE SCHEMA compliance; "
                "CREATE TABLE compliance.c2 (id text, quotation text, citation json, name text)"
            )
        )
    from backends.tables.upgrade import upgrade

    upgrade(tables)
    only = line(A, title="eins", source_original_text="Text", source_citation={"article": "1"})
    assert import_controls(tables, [only], "f").inserted == 1
    assert import_controls(tables, [only], "f").unchanged == 1
    assert next(export_controls(tables))["source_citation"] == {"article": "1"}
    with pytest.raises(SourceError, match="has a source_regulation, but the control table has no column"):
        import_controls(tables, [line(B, source_regulation="BDSG")], "f")
