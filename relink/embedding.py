"""The embedding tier: the nearest chunks by meaning, for quotations whose letters were found nowhere.

Accepted only with an absolute score *and* a margin to the best different citation, both calibrated for the model. A
vector hardly sees a number or a "nicht": where those differ, the control goes to the review.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from backends.embedders.protocol import Embedder
from backends.vectors.store import Floats, Hit, VectorStore, Where
from normalize.errors import GateError
from relink.align import Alignment
from relink.anchors import MIN_LETTERS, Anchor
from relink.corpus import Corpus
from relink.decision import Candidate, Decision, Place
from relink.tiers import candidate_of

NEIGHBOURS = 16
"""Chunks that are asked for."""

_BATCH = 64
_CALIBRATION = Path(__file__).with_name("calibration.toml")
_FIGURE = re.compile(r"\d+")
_NEGATION = re.compile(r"\b(?:nicht|kein\w*|ohne|weder|not|no|without|neither)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What a quotation's best chunk needs: cosine, and distance to the best chunk of another citation."""

    score: float
    margin: float


@cache
def calibrated() -> dict[str, Thresholds]:
    """Return the thresholds of every model that was calibrated, by the model's id."""
    table: dict[str, Any] = tomllib.loads(_CALIBRATION.read_text("utf-8"))
    return {
        str(model["id"]): Thresholds(float(model["score"]), float(model["margin"])) for model in table.get("models", ())
    }


def thresholds_for(
    model: str, score: float | None, margin: float | None, stored: Thresholds | None = None
) -> Thresholds:
    """Return the thresholds of a model: those given first, then those `stored` with the collections, then the list.

    Raises GateError for a model that was not calibrated, unless a score is given.
    """
    known = stored or calibrated().get(model)
    if known is None and score is None:
        raise GateError(
            f"Model '{model}' is not calibrated for the embedding tier: run `fundstelle relink calibrate`, give "
            "--threshold (and --margin), or leave the tier out."
        )
    base = known or Thresholds(1.0, 0.05)
    return Thresholds(base.score if score is None else score, base.margin if margin is None else margin)


def calibrate(found: Iterable[tuple[float, float, bool]], precision: float = 0.999) -> Thresholds | None:
    """Return the thresholds that link most at a precision, from (score, margin, right) on gold; None where none do."""
    rows = list(found)
    best: tuple[int, Thresholds] | None = None
    for margin in (0.01, 0.02, 0.03, 0.05, 0.08, 0.12):
        inside = sorted((row for row in rows if row[1] >= margin), key=lambda row: -row[0])
        right = 0
        for number, (score, _, is_right) in enumerate(inside, start=1):
            right += is_right
            last_of_score = number == len(inside) or inside[number][0] < score
            if last_of_score and right >= precision * number and (best is None or right > best[0]):
                best = (right, Thresholds(score, margin))
    return best[1] if best else None


def whole_chunk(corpus: Corpus, anchor: Anchor, chunk: int) -> Candidate:
    """Return the candidate that is all of a chunk."""
    return candidate_of(corpus, anchor, Alignment(corpus.starts[chunk], corpus.starts[chunk + 1], 0))


def figures_agree(quotation: str, text: str) -> bool:
    """Return whether every number of a quotation stands in a text too, and both negate or neither does."""
    numbers = set(_FIGURE.findall(quotation)) <= set(_FIGURE.findall(text))
    return numbers and bool(_NEGATION.search(quotation)) == bool(_NEGATION.search(text))


class Neighbours:
    """The nearest chunks of quotations in some collections, as numbers of a corpus."""

    def __init__(self, store: VectorStore, collections: Sequence[str], embedder: Embedder) -> None:
        """Search `collections`; raises GateError for one that another model filled."""
        for name in collections:
            about = store.describe(name)
            model = about.metadata.get("embedder") if about else None
            if model != embedder.model:
                raise GateError(
                    f"Collection '{name}' holds vectors of model '{model}', not of '{embedder.model}': set the "
                    "embedder that filled it, or leave the tier out."
                )
        self._store, self._collections, self.embedder = store, tuple(collections), embedder

    def find(self, corpus: Corpus, anchors: Sequence[Anchor]) -> list[list[tuple[int, float]]]:
        """Return (chunk, cosine) of the nearest chunks of each anchor, best first: of its known law, and of all."""
        numbers = {chunk.chunk_id: i for i, chunk in enumerate(corpus.chunks)}
        found: list[list[tuple[int, float]]] = []
        for begin in range(0, len(anchors), _BATCH):
            batch = anchors[begin : begin + _BATCH]
            queries: list[tuple[Floats, Where | None]] = []
            owners: list[int] = []
            for owner, (anchor, vector) in enumerate(
                zip(batch, self.embedder.embed([anchor.text for anchor in batch]), strict=True)
            ):
                wheres: list[Where | None] = [None]
                if anchor.documents:
                    codes = {corpus.chunks[corpus.document_starts[d]].regulation_code for d in anchor.documents}
                    wheres.append(Where(must={"regulation_code": sorted(codes)}))
                queries += [(vector, where) for where in wheres]
                owners += [owner] * len(wheres)
            near: list[dict[int, float]] = [{} for _ in batch]
            for name in self._collections:
                answers = self._store.query_batch(name, queries, NEIGHBOURS, payload=["chunk_id"])
                for owner, hits in zip(owners, answers, strict=True):
                    _note(near[owner], hits, numbers)
            found += [sorted(mine.items(), key=lambda item: (-item[1], item[0])) for mine in near]
        return found


def _note(near: dict[int, float], hits: Sequence[Hit], numbers: Mapping[str, int]) -> None:
    """Add the chunks of some hits, each with its best score; `numbers` are those of the corpus by chunk id."""
    for hit in hits:
        number = numbers.get(str(hit.payload.get("chunk_id")))
        if number is not None:
            near[number] = max(hit.score, near.get(number, -1.0))


def nearest_places(corpus: Corpus, anchor: Anchor, near: Sequence[tuple[int, float]]) -> tuple[Candidate, ...]:
    """Return the best candidate of each citation among near chunks, best first."""
    best: dict[Place, Candidate] = {}
    for chunk, cosine in near:
        candidate = whole_chunk(corpus, anchor, chunk).scored(cosine)
        best.setdefault(candidate.place, candidate)
    return tuple(best.values())


@dataclass(frozen=True, slots=True)
class EmbeddingTier:
    """Links a quotation to the nearest chunk where that is near enough and nearer than any other citation."""

    neighbours: Neighbours
    thresholds: Thresholds
    name: str = "embedding"

    def decide_all(self, corpus: Corpus, anchors: Sequence[Anchor]) -> list[Decision]:
        """Return a decision for each anchor, in order."""
        ready = [anchor for anchor in anchors if anchor.letters >= MIN_LETTERS]
        found = iter(self.neighbours.find(corpus, ready))
        return [
            self._decide(corpus, anchor, next(found))
            if anchor.letters >= MIN_LETTERS
            else Decision("unmatched", None, "too_short", ())
            for anchor in anchors
        ]

    def _decide(self, corpus: Corpus, anchor: Anchor, near: Sequence[tuple[int, float]]) -> Decision:
        ranked = nearest_places(corpus, anchor, near)
        if not ranked or ranked[0].similarity < self.thresholds.score:
            return Decision("unmatched", None, "not_near_enough", ranked)
        if anchor.hint is not None and not anchor.documents:
            return Decision("ambiguous", None, "regulation_missing", ranked)
        if anchor.documents and ranked[0].document not in anchor.documents:
            return Decision("ambiguous", None, "regulation_conflict", ranked)
        decision = Decision("linked", self.name, None, ranked)
        if (decision.margin or 0.0) < self.thresholds.margin:
            return decision._replace(outcome="ambiguous", tier=None, reason="several_places")
        if not figures_agree(anchor.text, corpus.chunks[ranked[0].first_chunk].chunk_text):
            return decision._replace(outcome="ambiguous", tier=None, reason="figures_differ")
        return decision
