"""What an operator reads of a plan: each norm once, with the number of its chunks, in the order of the law."""

from pathlib import Path

import pytest

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables
from backends.vectors.edge import EdgeStore
from ingest.manifest import read_manifest
from ingest.reingest import make_plan, reingest
from normalize.laws import LawTable
from printing.ingesting import print_plan

LAWS = LawTable.builtin()


def manifest_of(folder: Path, shared: Path, *files: str) -> Path:
    path = folder / "manifest.yaml"
    paths = "".join(f"  - path: {file}\n" for file in files)
    path.write_text(f"collection: gesetze\nroot: {shared / 'corpus' / 'gii-xml'}\ndocuments:\n{paths}", "utf-8")
    return path


@pytest.mark.corpus
def test_examples_of_a_new_version(
    tmp_path: Path, tables: Tables, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = read_manifest(manifest_of(tmp_path, shared, "enwg_2026-04.xml", "bdsg_2024-12.xml"))
    new = read_manifest(manifest_of(tmp_path, shared, "enwg_2024-07.xml", "bdsg_2024-12.xml"))
    with EdgeStore(tmp_path / "home", 2.0) as store:
        reingest(store, tables, "gesetze", old, LAWS, lambda dimension: HashingEmbedder(dimension or 64))
        report = make_plan(store, "gesetze", new, LAWS, lambda dimension: HashingEmbedder(dimension or 64)).report()
    changed = next(d for d in report["documents"] if d["regulation_code"] == "ENWG")
    obsolete = changed["examples"]["obsolete"]
    numbers = [int(label.removeprefix("EnWG § ").split()[0].rstrip("abcdefghijklmnopqrstuvwxyz")) for label in obsolete]
    assert numbers == sorted(numbers)
    assert numbers[0] < 10
    assert max(obsolete.values()) > 1
    print_plan(report, dry_run=True)
    printed = capsys.readouterr().out
    assert "(2 chunks)" in printed
    assert "1 of the documents need nothing." in printed
    assert "more documents" not in printed
