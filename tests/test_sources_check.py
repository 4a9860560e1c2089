"""`sources check`: files, folders and archives; refused, unmeasured and faulty files; exit codes and JSON."""

import io
import json
import tarfile
from pathlib import Path

import pytest
import zstandard
from typer.testing import CliRunner

import ingest.conservation.run as run
from cli import app
from ingest.conservation.compare import Stretch
from ingest.conservation.run import check_bytes, check_sources, source_files
from normalize.errors import SourceError

LAW = """<?xml version="1.0" encoding="UTF-8"?><dokumente doknr="BJNR1"><norm><metadaten><jurabk>XG</jurabk></metadaten>
</norm><norm><metadaten><jurabk>XG</jurabk><enbez>§ 1</enbez><titel>Zweck</titel></metadaten><textdaten><text>
<Content><P>(1) Zweck dieses Gesetzes ist die Prüfung.</P><P>(2) Näheres gilt.</P></Content></text></textdaten></norm>
</dokumente>""".encode()
WHOLE = "Zweck dieses Gesetzes ist die Prüfung Näheres gilt"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "laws"
    (place / "b").mkdir(parents=True)
    (place / "b" / "x.xml").write_bytes(LAW)
    (place / "a.xml").write_bytes(LAW)
    (place / "broken.xml").write_bytes(LAW[:300])
    (place / ".hidden.xml").write_bytes(LAW)
    return place


def test_a_folder_is_checked_in_order_and_a_refused_file_has_its_reason(folder: Path) -> None:
    found = list(check_sources([folder], workers=1))
    assert [(file.name, file.status) for file in found] == [
        ("a.xml", "conserved"),
        ("b/x.xml", "conserved"),
        ("broken.xml", "refused"),
    ]
    assert "not well-formed" in (found[2].reason or "")
    first = found[0].conserved
    assert first is not None
    assert [(r.rule, r.count) for r in first.removed] == [("absatz-number", 2), ("heading", 1)]


def test_two_processes_say_what_one_says(folder: Path) -> None:
    for number in range(20):
        (folder / f"many{number}.xml").write_bytes(LAW)
    assert list(check_sources([folder], workers=2)) == list(check_sources([folder], workers=1))


@pytest.mark.parametrize("name", ["laws.tar", "laws.tar.zst"])
def test_an_archive_is_read_member_by_member(tmp_path: Path, folder: Path, name: str) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(folder / "a.xml", "one/a.xml")
        archive.add(folder / "b" / "x.xml", "two.xml")
    data = buffer.getvalue()
    path = tmp_path / name
    path.write_bytes(zstandard.compress(data) if name.endswith(".zst") else data)
    assert [(file, content) for file, content in source_files([path])] == [("one/a.xml", LAW), ("two.xml", LAW)]
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(SourceError, match="no complete archive"):
        list(source_files([path]))


def test_a_path_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        list(check_sources([tmp_path / "nothing.xml"], workers=1))


def test_a_format_without_a_second_way_to_read_it_is_said_to_be_unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(run._WALKS, "gii")
    found = check_bytes("a.xml", LAW)
    assert (found.status, found.conserved, found.chunks) == ("unmeasured", None, 2)
    assert "gii" in (found.reason or "")


def test_the_command_prints_json_lines_and_totals(folder: Path) -> None:
    result = CliRunner().invoke(app, ["sources", "check", str(folder), "--json", "--workers", "1"])
    assert result.exit_code == 0, result.output
    *files, last = [json.loads(line) for line in result.stdout.splitlines()]
    assert [file["status"] for file in files] == ["conserved", "conserved", "refused"]
    assert files[0]["share"] == 1.0
    totals = last["totals"]
    assert totals["ok"] is True
    assert totals["files"] == {"conserved": 2, "refused": 1}
    assert totals["letters"] == files[0]["letters"] + files[1]["letters"]
    assert {entry["rule"]: entry["count"] for entry in totals["removed"]} == {"absatz-number": 4, "heading": 2}


def test_a_file_below_the_floor_ends_with_exit_code_3(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The source of this test says more than the reader keeps."""
    monkeypatch.setitem(run._WALKS, "gii", lambda data, act: iter([Stretch(WHOLE + " Mehr", None, "§ 1")]))
    result = CliRunner().invoke(app, ["sources", "check", str(folder / "a.xml"), "--workers", "1"])
    assert result.exit_code == 3, result.output
    assert "lost in § 1: 4 letters: Mehr" in result.stdout
    assert "Below the floor of 99.99%: 1 files" in result.stdout


def test_the_floor_can_be_set(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(run._WALKS, "gii", lambda data, act: iter([Stretch(WHOLE + " x", None, "§ 1")]))
    assert CliRunner().invoke(app, ["sources", "check", str(folder / "a.xml"), "--workers", "1"]).exit_code == 3
    lower = ["sources", "check", str(folder / "a.xml"), "--workers", "1", "--floor", "0.9"]
    assert CliRunner().invoke(app, lower).exit_code == 0
