"""The payloads a store must hold of a manifest, edges included."""

from typing import Any

from ingest.chunker import Chunk
from ingest.gather import survey
from ingest.manifest import Manifest
from ingest.reading import Gathered
from normalize.laws import LawTable


def chunks_of(gathered: Gathered) -> list[Chunk]:
    return gathered.chunks


def expected_payloads(manifest: Manifest, processes: int | None = None) -> dict[str, dict[str, Any]]:
    """Return the payload of every chunk of the manifest, by point id."""
    found = survey(manifest, LawTable.builtin(), chunks_of, processes=processes)
    return {chunk.point_id: found.edges.fill(chunk).payload for chunks in found.picked for chunk in chunks}
