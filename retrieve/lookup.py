"""A citation in the question is looked up exactly, through the grammar: "Was sagt Art. 13 Abs. 1 lit. c DSGVO?"."""

from itertools import islice

from backends.vectors.store import Hit, Scalar, VectorStore, Where
from normalize.citing import find
from normalize.laws import LawTable

_MOST = 10


def look_up(store: VectorStore, collection: str, question: str, laws: LawTable) -> list[Hit]:
    """Return the chunks of the norms that the question cites, in the order it cites them; none for an unknown law."""
    hits: list[Hit] = []
    seen: set[object] = set()
    for found in find(question, laws):
        for target in found.targets:
            cited = target.citation
            if cited.regulation_code == "unknown" or not cited.article:
                continue
            must: dict[str, list[Scalar]] = {
                "regulation_code": [cited.regulation_code],
                "article": [cited.article],
                "is_recital": [cited.is_recital],
            }
            if cited.paragraph:
                must["paragraph"] = [cited.paragraph]
            records = islice(store.scroll(collection, Where(must=must), batch=_MOST), _MOST)
            ordered = sorted(records, key=lambda record: int(record.payload.get("chunk_index") or 0))
            hits += [Hit(r.id, 1.0, r.payload) for r in ordered if r.id not in seen]
            seen.update(record.id for record in ordered)
    return hits[:_MOST]
