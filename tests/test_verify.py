"""Verify reads the text of every stored chunk, not only of a sample, on every engine."""

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables
from backends.tables.runs import latest_receipt
from backends.vectors.store import VectorStore
from ingest.manifest import Manifest, read_manifest
from ingest.prune import prune
from ingest.reingest import reingest
from ingest.verify import verify
from normalize.errors import GateError
from normalize.laws import LawTable
from tests.vectors_fixtures import running_server as running_server
from tests.vectors_fixtures import server as server
from tests.vectors_fixtures import store as store

LAWS = LawTable.builtin()
MANIFEST = Path(__file__).parent.parent / "examples" / "manifest.yaml"
NAME = "gesetze"
CHECK = "the text of every chunk has the hash of its source"

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")


def embedder_for(dimension: int | None) -> HashingEmbedder:
    return HashingEmbedder(dimension or 64)


@pytest.fixture
def manifest(store: VectorStore, tables: Tables) -> Iterator[Manifest]:
    """The example laws, re-ingested and verified once."""
    read = read_manifest(MANIFEST)
    reingest(store, tables, NAME, read, LAWS, embedder_for)
    assert verify(store, tables, NAME, read, LAWS, sample=0.0)["ok"]
    yield read


@pytest.mark.parametrize("change", ["gone", "shortened", "decomposed"])
def test_each_changed_text_is_found_whatever_the_sample(
    store: VectorStore, tables: Tables, manifest: Manifest, change: str
) -> None:
    """A sample of one chunk a document would miss all but a few; here every chunk is tried in turn."""
    changed = {
        "gone": lambda text: "",
        "shortened": lambda text: text[:-1],
        "decomposed": lambda text: unicodedata.normalize("NFD", text),  # looks the same, is not (deja-vu#1098)
    }[change]
    tried = 0
    for record in list(store.scroll(NAME)):
        text = changed(record.payload["chunk_text"])
        if text == record.payload["chunk_text"]:
            continue
        tried += 1
        store.overwrite_payloads(NAME, {record.id: record.payload | {"chunk_text": text}})
        if tried <= 3:
            report = verify(store, tables, NAME, manifest, LAWS, sample=0.0)
            found = {c["name"]: (c["checked"], c["failed"]) for c in report["checks"]}
            assert found[CHECK] == (25, 1) and not report["ok"] and report["receipt"] is None
            store.overwrite_payloads(NAME, {record.id: record.payload})
    report = verify(store, tables, NAME, manifest, LAWS, sample=0.0)
    assert next(c["failed"] for c in report["checks"] if c["name"] == CHECK) == tried - 3 > 10


def test_a_text_lost_since_the_receipt_stops_the_prune(
    store: VectorStore, tables: Tables, manifest: Manifest, tmp_path: Path
) -> None:
    victim = next(iter(store.scroll(NAME)))
    store.overwrite_payloads(NAME, {victim.id: victim.payload | {"chunk_text": None}})
    with pytest.raises(GateError, match=CHECK):
        prune(store, tables, NAME, manifest, LAWS, tmp_path / "backups")


def test_the_receipt_says_what_it_was_made_from(store: VectorStore, tables: Tables, manifest: Manifest) -> None:
    receipt = latest_receipt(tables, NAME)
    assert receipt is not None and receipt["manifest"] == str(MANIFEST.resolve())
    assert sorted(receipt["names"]) == sorted(receipt["documents"]) and len(receipt["sources"]) == 64
    verify(store, tables, NAME, manifest, LAWS, sample=0.0)
    assert latest_receipt(tables, NAME) == receipt, "the same state gives the same receipt"
