"""The payloads a store must hold of a manifest, edges included."""

from typing import Any

from ingest.chunker import Chunk
from ingest.gather import survey
from ingest.manifest import Manifest
from normalize.laws import LawTable


def expected_payloads(manifest: Manifest) -> dict[str, dict[str, Any]]:
    """Return the payload of every chunk of the manifest, by point id."""
    chunks: list[Chunk] = []
    found = survey(manifest, LawTable.builtin(), each=lambda gathered: chunks.extend(gathered.chunks))
    return {chunk.point_id: found.edges.fill(chunk).payload for chunk in chunks}
