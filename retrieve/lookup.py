"""A citation in the question is looked up exactly, through the grammar: "Was sagt Art. 13 Abs. 1 lit. c DSGVO?"."""

from itertools import islice

from backends.vectors.store import Hit, Scalar, VectorStore, Where
from normalize.citation import UNKNOWN
from normalize.citing import Target, find
from normalize.laws import LawTable

_MOST = 10


def look_up(store: VectorStore, collection: str, question: str, laws: LawTable) -> list[Hit]:
    """Return the chunks of the norms that the question cites, in the order it cites them."""
    hits: list[Hit] = []
    seen: set[object] = set()
    for found in find(question, laws):
        for target in found.targets:
            must = _filter(target)
            if must is None:
                continue
            records = islice(store.scroll(collection, Where(must=must), batch=_MOST), _MOST)
            ordered = sorted(records, key=lambda record: int(record.payload.get("chunk_index") or 0))
            hits += [Hit(r.id, 1.0, r.payload) for r in ordered if r.id not in seen]
            seen.update(record.id for record in ordered)
    return hits[:_MOST]


def _filter(target: Target) -> dict[str, list[Scalar]] | None:
    """The payload fields of a cited norm; a law the table does not know is looked for by the name as written."""
    cited = target.citation
    if not cited.article:
        return None
    must: dict[str, list[Scalar]] = {"article": [cited.article], "is_recital": [cited.is_recital]}
    if cited.regulation_code != UNKNOWN:
        must["regulation_code"] = [cited.regulation_code]
    elif target.law_name:
        must["regulation_short"] = [target.law_name]
    else:
        return None
    if cited.paragraph:
        must["paragraph"] = [cited.paragraph]
    return must
