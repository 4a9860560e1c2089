"""Thresholds of the embedding tier, found on a collection's own links and kept with it (DESIGN §7).

The gold is what letters or a person have linked already: of each of these quotations the place is known. It is asked
for twice: as it is, and with its law taken away, as if that were not ingested, so that whatever is nearest is wrong.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from backends.tables.connect import Tables
from backends.tables.mapping import reflect_controls
from backends.tables.schema import links
from backends.vectors.store import VectorStore
from normalize.errors import GateError
from relink.anchors import MIN_LETTERS, make_anchors
from relink.corpus import Corpus
from relink.embedding import Neighbours, Thresholds, calibrate, nearest_places
from relink.inherit import HUMAN

KEY = "relink_thresholds"
"""Where a collection's metadata keeps them."""
PRECISION = 0.999
SAMPLE = 2_000
FEWEST = 50
_TIERS = ("hash", "fuzzy")

Known = tuple[str, str, str | None, str | None]
"""A quotation and its place: text, regulation code, article, Absatz."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a calibration found: thresholds of a model, on how many quotations, and their precision on those."""

    model: str
    score: float
    margin: float
    quotations: int
    precision: float

    def as_dict(self) -> dict[str, Any]:
        """Return it as the collection's metadata keep it."""
        return {
            "model": self.model,
            "score": self.score,
            "margin": self.margin,
            "quotations": self.quotations,
            "precision": self.precision,
        }


def known_quotations(tables: Tables, limit: int = SAMPLE) -> list[Known]:
    """Return quotations that letters or a person have linked: a sample, the same each time."""
    with tables.begin() as connection:
        controls = reflect_controls(connection, tables.columns)
        text = controls.read["source_original_text"].element
        uuid = controls.read["control_uuid"].element
        cited = links.c.citation
        by_letters = sa.and_(links.c.outcome == "linked", links.c.tier.in_(_TIERS))
        query = (
            sa.select(text, cited["regulation_code"].astext, cited["article"].astext, cited["paragraph"].astext)
            .select_from(controls.table.join(links, links.c.control_uuid == uuid))
            .where(
                sa.or_(by_letters, links.c.outcome == HUMAN), text.is_not(None), cited["regulation_code"].is_not(None)
            )
            .distinct()
        )
        rows = [(str(row[0]), str(row[1]), row[2], row[3]) for row in connection.execute(query)]
    # in the order of a hash: a sample of all laws, and the same each time
    return sorted(rows, key=lambda row: (hashlib.sha256(row[0].encode()).digest(), str(row)))[:limit]


def measured(corpus: Corpus, neighbours: Neighbours, known: Sequence[Known]) -> list[tuple[float, float, bool]]:
    """Return (score, margin, right) of the nearest place of each quotation, with its law and without it."""
    anchors = make_anchors(corpus, [(text, None) for text, *_ in known])
    pairs = [(anchor, row) for anchor, row in zip(anchors, known, strict=True) if anchor.letters >= MIN_LETTERS]
    found: list[tuple[float, float, bool]] = []
    answers = neighbours.find(corpus, [anchor for anchor, _ in pairs])
    for (anchor, (_, code, article, paragraph)), near in zip(pairs, answers, strict=True):
        elsewhere = [hit for hit in near if corpus.chunks[hit[0]].regulation_code != code]
        for hits, is_there in ((near, True), (elsewhere, False)):
            ranked = nearest_places(corpus, anchor, hits)
            if not ranked:
                continue
            chunk = corpus.chunks[ranked[0].first_chunk]
            same = (chunk.regulation_code, chunk.article) == (code, article) and paragraph in (None, chunk.paragraph)
            margin = ranked[0].similarity - (ranked[1].similarity if len(ranked) > 1 else 0.0)
            found.append((ranked[0].similarity, margin, is_there and same))
    return found


def calibrate_collection(
    corpus: Corpus, neighbours: Neighbours, known: Sequence[Known], precision: float = PRECISION
) -> Calibration:
    """Return the thresholds that link most of the known quotations at a precision.

    Raises GateError where too few are known, or no thresholds reach the precision: the tier stays off then.
    """
    model = neighbours.embedder.model
    if len(known) < FEWEST:
        raise GateError(
            f"Only {len(known)} quotations are linked by their letters or by a person, {FEWEST} are needed to "
            "calibrate: run `fundstelle relink` first, or give --threshold and --margin."
        )
    rows = measured(corpus, neighbours, known)
    found = calibrate(rows, precision)
    if found is None:
        raise GateError(
            f"No thresholds of model '{model}' ({neighbours.embedder.description}) link at a precision of {precision}: "
            "leave the embedding tier out, or choose another model."
        )
    accepted = [right for score, margin, right in rows if score >= found.score and margin >= found.margin]
    return Calibration(model, found.score, found.margin, len(known), round(sum(accepted) / len(accepted), 6))


def stored_thresholds(store: VectorStore, collections: Sequence[str], model: str) -> Thresholds | None:
    """Return the strictest thresholds that some collections keep for a model; None where one of them has none."""
    found: list[Thresholds] = []
    for name in collections:
        about = store.describe(name)
        kept: Mapping[str, Any] = (about.metadata.get(KEY) if about else None) or {}
        if kept.get("model") != model:
            return None
        found.append(Thresholds(float(kept["score"]), float(kept["margin"])))
    if not found:
        return None
    return Thresholds(max(one.score for one in found), max(one.margin for one in found))
