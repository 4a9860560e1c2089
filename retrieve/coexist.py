"""While old and new points of a document stand side by side, a search shows one of them, never both.

Between `reingest` and `prune` a norm is there twice. The collection says which version of such a document counts
(`current_versions`); of a document it does not name (a run that was killed while it wrote) the version of the better
ranked point counts. Older points without a version give way to any point that has one, of the same article.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from backends.vectors.store import CURRENT_VERSIONS
from normalize.legacy_fields import legacy_citation
from retrieve.answer import article, regulation_code
from retrieve.candidates import Candidate


def one_version(ranked: Sequence[Candidate], metadata: Mapping[str, Any]) -> list[Candidate]:
    """Return the candidates without those that another version of their document stands for; the order stays."""
    current: dict[str, str] = dict(metadata.get(CURRENT_VERSIONS) or {})
    versions: dict[str, str] = {}
    held: set[tuple[str, str]] = set()
    for candidate in ranked:
        payload = candidate.payload
        if _is_contract(payload):
            document_id, version = str(payload["document_id"]), str(payload["document_version"])
            if version == versions.setdefault(document_id, current.get(document_id, version)):
                held.add((str(regulation_code(payload)).casefold(), str(article(payload))))
    return [c for c in ranked if _counts(c.payload, versions, held)]


def _counts(payload: Mapping[str, Any], versions: Mapping[str, str], held: set[tuple[str, str]]) -> bool:
    if _is_contract(payload):
        return versions[str(payload["document_id"])] == str(payload["document_version"])
    return not _norms(payload) & held


def _is_contract(payload: Mapping[str, Any]) -> bool:
    return bool(payload.get("chunk_id")) and bool(payload.get("document_id")) and bool(payload.get("document_version"))


def _norms(payload: Mapping[str, Any]) -> set[tuple[str, str]]:
    """The norm of an older point, under each name its law goes by."""
    fields = legacy_citation(payload)
    names = {fields.regulation_code, fields.regulation_short, regulation_code(payload)}
    return {(str(name).casefold(), str(fields.article)) for name in names if name and fields.article}
