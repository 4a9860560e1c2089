"""Two versions of a law, for every pair of the corpus: the plan says what really changed, prune leaves exactly the new
points, rollback brings back exactly the old ones, byte for byte.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from backends.embedders import HashingEmbedder
from backends.tables.connect import Tables
from backends.vectors.edge import EdgeStore
from backends.vectors.store import VectorStore
from ingest.manifest import Manifest, read_manifest
from ingest.prune import prune
from ingest.reingest import make_plan, reingest
from ingest.rollback import rollback
from ingest.verify import verify
from normalize.laws import LawTable
from tests.payloads import expected_payloads

LAWS = LawTable.builtin()
FOLDER = Path(os.environ.get("FUNDSTELLE_SHARED", Path(__file__).parents[2] / "shared")) / "corpus" / "gii-xml"
NAME = "paare"


def pairs() -> list[tuple[str, str]]:
    """Neighbouring versions of each law; the BSIG of 2025 takes the place of the one of 2009."""
    versions: dict[str, list[str]] = defaultdict(list)
    for file in sorted(FOLDER.glob("*.xml")):
        law = file.stem.rsplit("_", 1)[0]
        versions["bsig" if law.startswith("bsig-") else law].append(file.name)
    return [pair for files in versions.values() for pair in pairwise(files)]


def manifest_of(folder: Path, file: str, replaces: str = "") -> Manifest:
    path = folder / f"{file}.yaml"
    path.write_text(f"root: {FOLDER}\ndocuments:\n  - path: {file}\n{replaces}", "utf-8")
    return read_manifest(path)


def embedder_for(dimension: int | None) -> HashingEmbedder:
    return HashingEmbedder(dimension or 32)


def norms(payloads: Mapping[str, dict[str, Any]]) -> dict[tuple[str, str | None], Counter[str]]:
    found: dict[tuple[str, str | None], Counter[str]] = defaultdict(Counter)
    for payload in payloads.values():
        found[payload["article"], payload["paragraph"]][payload["chunk_text"]] += 1
    return found


def difference(old: Mapping[str, dict[str, Any]], new: Mapping[str, dict[str, Any]]) -> dict[str, int]:
    """What changed between two chunkings, from their texts alone."""
    before, after = norms(old), norms(new)
    counts = dict.fromkeys(("new", "changed", "unchanged", "obsolete"), 0)
    for norm, texts in after.items():
        if norm not in before:
            counts["new"] += texts.total()
            continue
        same = (texts & before[norm]).total()
        counts["unchanged"] += same
        counts["changed"] += texts.total() - same
    counts["obsolete"] = sum(texts.total() for norm, texts in before.items() if norm not in after)
    return counts


def everything(store: VectorStore) -> dict[str, tuple[Any, ...]]:
    """Every point with payload and vectors, comparable byte for byte."""
    return {
        str(record.id): (record.payload, record.dense.tobytes() if record.dense is not None else None, record.sparse)
        for record in store.scroll(NAME, vectors=True)
    }


@pytest.mark.corpus
@pytest.mark.parametrize(("first", "second"), pairs(), ids=lambda name: str(name).removesuffix(".xml"))
def test_from_one_version_to_the_next_and_back(
    shared: Path, tmp_path: Path, tables: Tables, first: str, second: str
) -> None:
    old_manifest = manifest_of(tmp_path, first)
    old = expected_payloads(old_manifest)
    replaced = next(iter(old.values()))["document_id"]
    is_other_law = first.startswith("bsig-2009")
    new_manifest = manifest_of(tmp_path, second, f"    replaces: [{replaced}]\n" if is_other_law else "")
    new = expected_payloads(new_manifest)
    with EdgeStore(tmp_path / "home", 5.0) as store:
        reingest(store, tables, NAME, old_manifest, LAWS, embedder_for)
        before = everything(store)
        assert {point: kept[0] for point, kept in before.items()} == old

        (plan,) = make_plan(store, NAME, new_manifest, LAWS, embedder_for).documents
        summary = plan.summary()
        stay = old.keys() & new.keys()  # one version, or none of its source changed
        assert summary["old_points"] == len(old) - len(stay)
        if not stay:
            assert {name: summary[name] for name in ("new", "changed", "unchanged", "obsolete")} == difference(old, new)

        reingest(store, tables, NAME, new_manifest, LAWS, embedder_for)
        assert {str(record.id): record.payload for record in store.scroll(NAME)} == old | new
        assert verify(store, tables, NAME, new_manifest, LAWS)["ok"]
        backups = tmp_path / "backups"
        deleted = prune(store, tables, NAME, new_manifest, LAWS, backups, max_delete_ratio=1.0)["deleted"]
        after = everything(store)
        assert {point: kept[0] for point, kept in after.items()} == new and deleted == len(old) - len(stay)

        rollback(store, tables, NAME, backups)
        back = everything(store)
        assert {point: kept for point, kept in back.items() if point in old} == before
        assert {point: kept for point, kept in back.items() if point in new} == after
