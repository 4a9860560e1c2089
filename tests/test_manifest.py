"""The manifest: right ones are read, wrong ones are refused with the line to mend."""

import shutil
from pathlib import Path

import pytest

from ingest.documents import Loaded, load
from ingest.gather import gather, nothing
from ingest.manifest import read_manifest
from normalize.errors import FundstelleError, SourceError, UsageError
from normalize.laws import LawTable

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("leihradgesetz.xml", "ladesaeulen-verordnung.xml"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    return tmp_path


def write(folder: Path, text: str) -> Path:
    path = folder / "manifest.yaml"
    path.write_text(text, "utf-8")
    return path


def test_the_example_is_read() -> None:
    manifest = read_manifest(EXAMPLES / "manifest.yaml")
    loaded = [load(document, LawTable.builtin()).document for document in manifest.documents]
    assert manifest.collection == "beispiel"
    assert [d.regulation_code for d in loaded] == ["LEIHRADG", "LADEV"]
    assert [d.regulation_short for d in loaded] == ["LeihRadG", "LadeV"]
    assert loaded[0].use_case == ("leihrad",) and loaded[1].source_url == "https://example.org/ladev"


def test_a_glob_takes_id_code_and_name_from_each_file(folder: Path) -> None:
    manifest = read_manifest(write(folder, "documents:\n  - glob: '*.xml'\n"))
    loaded = [load(document, LawTable.builtin()).document for document in manifest.documents]
    assert [d.document_id for d in loaded] == ["32025R9901", "BEISPIEL0001"]  # in the order of the file names
    assert loaded[0].regulation_short == "VO (EU) 2025/9901"


def test_the_official_spelling_stays_in_the_label(folder: Path) -> None:
    manifest = read_manifest(write(folder, "documents:\n  - path: leihradgesetz.xml\n    code: leihradg\n"))
    document = load(manifest.documents[0], LawTable.builtin()).document
    assert (document.regulation_code, document.regulation_short) == ("LEIHRADG", "LeihRadG")


def test_an_entry_wins_over_the_defaults(folder: Path) -> None:
    text = "defaults: {license: offen, year: 1999}\ndocuments:\n  - path: leihradgesetz.xml\n    year: 2001\n"
    document = load(read_manifest(write(folder, text)).documents[0], LawTable.builtin()).document
    assert (document.license, document.year) == ("offen", 2001)


def test_the_date_of_the_version_can_be_set(folder: Path) -> None:
    text = "documents:\n  - path: leihradgesetz.xml\n    version_date: 2020-02-29\n"
    document = load(read_manifest(write(folder, text)).documents[0], LawTable.builtin()).document
    assert document.document_version.startswith("2020-02-29-")


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("documents:\n  - path: leihradgesetz.xml\n    colour: red\n", 3, "unknown key 'documents.colour'"),
        ("collections: x\ndocuments:\n  - path: leihradgesetz.xml\n", 1, "unknown key 'collections'"),
        ("documents: []\n", 1, "documents"),
        ("documents:\n  - code: X\n", 2, "either 'path' or 'glob'"),
        ("documents:\n  - path: a.xml\n    glob: '*.xml'\n", 2, "either 'path' or 'glob'"),
        ("documents:\n  - glob: '*.xml'\n    code: X\n", 2, "come from each file"),
        ("documents:\n  - path: leihradgesetz.xml\n    year: neu\n", 3, "documents.year"),
        ("documents:\n  - path: leihradgesetz.xml\n    path: other.xml\n", 3, "stands twice"),
        ("documents:\n  - path: [\n", 3, "not valid YAML"),
        ("documents:\n\n  - path: fehlt.xml\n", 3, "there is no file"),
        ("documents:\n  - glob: '*.md'\n", 2, "finds no file"),
        ("documents:\n  - path: ../geheim.xml\n", 2, "leads out of"),
        ("documents:\n  - path: /etc/hostname\n", 2, "leads out of"),
    ],
)
def test_a_mistake_is_named_with_its_line(folder: Path, text: str, line: int, reason: str) -> None:
    with pytest.raises((UsageError, SourceError)) as refused:
        read_manifest(write(folder, text))
    assert f"line {line}" in str(refused.value) and reason in str(refused.value)


def test_a_link_out_of_the_root_is_refused(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "law.xml"
    shutil.copy(EXAMPLES / "leihradgesetz.xml", outside)
    (folder / "link.xml").symlink_to(outside)
    with pytest.raises(UsageError, match="leads out of"):
        read_manifest(write(folder, "documents:\n  - path: link.xml\n"))
    allowed = write(folder, f"root: {outside.parent}\ndocuments:\n  - path: law.xml\n")
    assert read_manifest(allowed).documents[0].files == (outside,)


@pytest.mark.parametrize("name", ["missing.yaml", "."])
def test_a_manifest_that_cannot_be_read(folder: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_manifest(folder / name)


def test_two_documents_with_one_id_are_an_error_before_anything_is_written(folder: Path) -> None:
    shutil.copy(folder / "leihradgesetz.xml", folder / "zweite.xml")
    manifest = read_manifest(write(folder, "documents:\n  - path: leihradgesetz.xml\n  - path: zweite.xml\n"))
    with pytest.raises(FundstelleError, match="both document BEISPIEL0001"):
        list(gather(manifest, LawTable.builtin(), nothing))


def test_two_documents_with_one_code_and_version_collide(folder: Path) -> None:
    shutil.copy(folder / "leihradgesetz.xml", folder / "zweite.xml")
    text = "documents:\n  - path: leihradgesetz.xml\n  - path: zweite.xml\n    id: ANDERE\n"
    with pytest.raises(FundstelleError, match="Chunk id"):
        list(gather(read_manifest(write(folder, text)), LawTable.builtin(), nothing))


def test_a_repealed_law_that_a_glob_finds_is_skipped_and_named(folder: Path) -> None:
    gone = "<norm><metadaten><jurabk>AltG</jurabk><enbez>§ 1</enbez></metadaten><textdaten><text><Content><P>-</P>"
    head = "<norm><metadaten><jurabk>AltG</jurabk></metadaten></norm>"
    tail = "</Content></text></textdaten></norm>"
    (folder / "alt.xml").write_text(f'<dokumente doknr="ALT">{head}{gone}{tail}</dokumente>', "utf-8")
    skipped: list[Loaded] = []
    found = read_manifest(write(folder, "documents:\n  - glob: '*.xml'\n"))
    assert len(list(gather(found, LawTable.builtin(), nothing, skipped=skipped))) == 2
    assert [s.origin for s in skipped] == ["alt.xml"]
    named = read_manifest(write(folder, "documents:\n  - path: alt.xml\n"))
    with pytest.raises(SourceError, match="no text in force"):
        list(gather(named, LawTable.builtin(), nothing))
