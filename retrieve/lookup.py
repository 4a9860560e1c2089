"""A citation in the question is looked up exactly, through the grammar: "Was sagt Art. 13 Abs. 1 lit. c DSGVO?".

A place below the Absatz ("Satz 2", "Nr. 3 lit. a") is looked for among the chunks of its norm: the one that holds it
comes first, and chunks of the norm that have nothing of it are left out.

The grammar reads written law, where case counts. Where it finds no norm of a known law, a question is read once more:
as English ("Recital 26 GDPR" is too short to tell), and with words as the law writes them ("art 33 dsgvo").
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from backends.vectors.store import Hit, PointId, Scalar, VectorStore, Where
from normalize.citation import UNKNOWN
from normalize.citing import Target, find
from normalize.laws import LawTable
from normalize.units import NAMED_PARTS, UNIT_WORDS, Path, read_path
from retrieve.answer import place_of

_MOST = 10
_MOST_OF_A_NORM = 5000
"""Chunks looked at of one norm; the annexes of some laws have more than a thousand."""

_SHORTEST_NAME = 2
_NORM_WORDS = (
    "Paragraph", "Paragraf", "Artikel", "Artikels", "Art", "Erwägungsgrund", "ErwG", "Article", "Recital", "Annex",
)  # fmt: skip
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")

_Fit = tuple[int, int]
"""How a chunk meets a cited place, the better the smaller; see `_fit`."""


def look_up(store: VectorStore, collection: str, question: str, laws: LawTable) -> list[Hit]:
    """Return the chunks of the norms that the question cites, in the order it cites them."""
    ids: dict[PointId, None] = {}
    for target in cited_in(question, laws):
        must = _filter(target)
        if must is not None and len(ids) < _MOST:
            ids |= dict.fromkeys(_of_norm(store, collection, must, _below_absatz(target)))
    wanted = list(ids)[:_MOST]
    payloads = {record.id: record.payload for record in store.retrieve(collection, wanted)} if wanted else {}
    return [Hit(point, 1.0, payloads[point]) for point in wanted if point in payloads]


def cited_in(question: str, laws: LawTable) -> list[Target]:
    """Return the places a question cites, as the first reading has them that finds a norm of a known law.

    Where none does, as the question is read without help: its law may be one that was ingested and is in no table.
    """
    first = _targets(question, laws)
    if any(map(_is_known, first)):
        return first
    for text in (question, _as_law_writes(question, laws)):
        for language in ("en", "de"):
            reading = _targets(text, laws, language)
            if any(map(_is_known, reading)):
                return reading
    return first


def _targets(question: str, laws: LawTable, language: str | None = None) -> list[Target]:
    return [target for found in find(question, laws, language=language) for target in found.targets]


def _is_known(target: Target) -> bool:
    return target.citation.article is not None and target.citation.regulation_code != UNKNOWN


def _as_law_writes(question: str, laws: LawTable) -> str:
    """Return the question with the names of laws, norms and units in their own case; other words stay as they are."""
    spellings = _spellings(laws)
    return _WORD.sub(lambda word: spellings.get(word.group().casefold(), word.group()), question)


@lru_cache(maxsize=4)
def _spellings(laws: LawTable) -> Mapping[str, str]:
    """How words are written that are names of one word of one law, or of norms and units; units win."""
    owners: dict[str, set[str]] = {}
    names: dict[str, str] = {}
    for law in laws.laws:
        for name in (law.short, *law.aliases, law.name or ""):
            if len(name) >= _SHORTEST_NAME and _WORD.fullmatch(name):
                owners.setdefault(name.casefold(), set()).add(law.code)
                names.setdefault(name.casefold(), name)
    units = {word.casefold(): word for word in (*reversed(UNIT_WORDS), *NAMED_PARTS, *_NORM_WORDS) if len(word) > 1}
    return {key: name for key, name in names.items() if len(owners[key]) == 1} | units


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


def _below_absatz(target: Target) -> Path:
    path = target.citation.path
    return path[1:] if target.citation.paragraph is not None else path


def _of_norm(store: VectorStore, collection: str, must: Mapping[str, list[Scalar]], wanted: Path) -> Iterable[PointId]:
    """Return the points of a norm that have the wanted place, best first; all of them if none says that it has it."""
    fields = ["chunk_index", "sub", "units"]
    records = list(islice(store.scroll(collection, Where(must=must), payload=fields), _MOST_OF_A_NORM))
    records.sort(key=lambda record: place_of(record.payload))
    if wanted:
        fits = [(fit, record) for record in records if (fit := _fit(record.payload, wanted)) is not None]
        records = [record for _, record in sorted(fits, key=lambda pair: pair[0])] or records
    return [record.id for record in records]


def _sub_path(holder: object) -> Path:
    """The path that a chunk or a unit of one says it is, or the empty one."""
    sub = holder.get("sub") if isinstance(holder, Mapping) else None
    return (read_path(sub) or ()) if isinstance(sub, str) else ()


def _fit(payload: Mapping[str, Any], wanted: Path) -> _Fit | None:
    """Return how a chunk meets a cited place below the Absatz, or None if nothing says that it does.

    Best first: the chunk has the whole place, is (a part of) it, has or is what only the steps between tell from it
    ("Nr. 3" for "Satz 1 Nr. 3"), is a unit of it, has or is what the place is a unit of (the finer the better).
    """
    units = payload.get("units")
    whole = [path for unit in (units if isinstance(units, list) else ()) if (path := _sub_path(unit))]
    around = _sub_path(payload)
    if wanted in whole:
        return 0, 0
    if around == wanted:
        return 1, 0
    if any(_loosely(path, wanted) for path in whole):
        return 2, 0
    if _loosely(around, wanted):
        return 3, 0
    if around[: len(wanted)] == wanted:
        return 4, 0
    over = [len(path) for path in whole if wanted[: len(path)] == path]
    if over:
        return 5, -max(over)
    if around and wanted[: len(around)] == around:
        return 6, -len(around)
    return None


def _loosely(path: Path, wanted: Path) -> bool:
    """Whether two paths end in the same unit, and one has all the steps of the other in their order."""
    if not path or path[-1] != wanted[-1]:
        return False
    longer, shorter = (path, wanted) if len(path) > len(wanted) else (wanted, path)
    steps = iter(longer)
    return all(step in steps for step in shorter)
