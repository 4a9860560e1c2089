"""The decision: which citation a quotation gets, or why none (DESIGN §7, figures from ALIGN.md).

Decided by similarity *and* margin to the best different citation; a hint breaks ties and never overrides the text.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Literal, NamedTuple

from rapidfuzz.distance import Levenshtein

from relink.align import NEAR, Alignment, is_slip
from relink.cited import Cited

NOISE_SIMILARITY = 0.93
NOISE_BLOCK = 3
AMENDED_SIMILARITY = 0.80
TWIN_EDITS = 8
"""Letters in which two places may differ and still be near twins."""
AMENDED_MARGIN = 3
AMENDED_MARGIN_SHARE = 0.75
NEAR_TWIN = "near_twin"
"""Reason of a quotation whose text differs from it, or from another text, only in what turns the rule."""
MOVED = "moved"
"""Reason of a quotation whose words stand elsewhere than an older citation, which names its law, says."""
MOST_LOST = 30
"""Letters at one end of an amended quotation that may stand nowhere: with more, its Absatz is a guess."""
SOME_LOST = 12
"""The same, where a number is among them."""

Outcome = Literal["linked", "ambiguous", "unmatched"]
Place = tuple[str, str | None, str | None, bool]


class Level(IntEnum):
    """How well a text agrees: word for word, but for slips of copying, but for an amendment, not."""

    EXACT = 0
    NOISE = 1
    AMENDED = 2
    NONE = 3


class Candidate(NamedTuple):
    """One place that may be quoted: its citation down to the Absatz, its chunks, and how it agrees.

    `place` has no article where the text runs over several; `letters` is the length of the quotation, `wording` the
    skeleton of the text; `labelled` says that the text itself has the label in front of the quotation; `fine` counts
    letters that are one in the skeleton but not as written ("Buchstabe i"/"Buchstabe j"); `key` says that a number, a
    negation or a party is another one; `front` is how many letters that label has there. `score` is the similarity of a
    tier that compares meanings instead of letters.
    """

    place: Place
    document: int
    first_chunk: int
    last_chunk: int
    found: Alignment
    letters: int
    wording: str
    labelled: bool = False
    fine: int = 0
    key: bool = False
    front: int = 0
    score: float | None = None

    @property
    def edits(self) -> int:
        """Edits between quotation and text, in letters."""
        return self.found.edits

    def scored(self, score: float) -> "Candidate":
        """Return the candidate with a score of its own."""
        return self._replace(score=round(score, 6))

    @property
    def similarity(self) -> float:
        """1 less edits per letter of the quotation, or the score."""
        if self.score is not None:
            return self.score
        return round(max(0.0, 1.0 - self.found.edits / self.letters), 9)

    @property
    def level(self) -> Level:
        """The tier of ALIGN.md (T0 exact, T1 noise, T2 amended)."""
        if self.edits == 0 and not self.key:
            return Level.EXACT
        clean = self.found.block <= NOISE_BLOCK and not self.found.digits and not self.key
        if clean and self.similarity >= NOISE_SIMILARITY:
            return Level.NOISE
        return Level.AMENDED if self.similarity >= AMENDED_SIMILARITY else Level.NONE


class Decision(NamedTuple):
    """What becomes of a quotation; `candidates` are the best ones of different citations, best first."""

    outcome: Outcome
    tier: str | None
    reason: str | None
    candidates: tuple[Candidate, ...]

    @property
    def best(self) -> Candidate | None:
        """The citation that is linked, or the first to look at in the review."""
        return self.candidates[0] if self.candidates else None

    @property
    def score(self) -> float | None:
        """Similarity of the best candidate."""
        return self.candidates[0].similarity if self.candidates else None

    @property
    def margin(self) -> float | None:
        """Similarity of the best candidate less that of the next citation (0 where there is none)."""
        if not self.candidates:
            return None
        rival = self.candidates[1].similarity if len(self.candidates) > 1 else 0.0
        return self.candidates[0].similarity - rival


def _rank(candidate: Candidate) -> tuple[int, bool, bool, int, int]:
    return (candidate.edits, not candidate.labelled, candidate.key, candidate.fine, candidate.found.start)


def _best_of_places(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the best candidate of each citation, best first.

    One that encloses another that is as good is none: the pieces of a quotation with an ellipsis were found too far
    apart.
    """
    best: dict[Place, Candidate] = {}
    for candidate in sorted(candidates, key=_rank):
        best.setdefault(candidate.place, candidate)
    ranked = list(best.values())
    return [
        candidate
        for candidate in ranked
        if not _is_spread(candidate)
        or not any(_encloses(candidate, other) for other in ranked if other.edits <= candidate.edits)
    ]


def _is_spread(candidate: Candidate) -> bool:
    """Return whether a candidate covers clearly more than was quoted, as only one with an ellipsis does."""
    return candidate.found.end - candidate.found.start > candidate.letters + candidate.edits


def _encloses(candidate: Candidate, other: Candidate) -> bool:
    """Return whether a candidate covers all of a shorter one."""
    outer, inner = candidate.found, other.found
    return outer.start <= inner.start and inner.end <= outer.end and outer.end - outer.start > inner.end - inner.start


def _rivals(ranked: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that are not worse than the first by enough (ALIGN.md); none: the first is unique."""
    first = ranked[0]
    if first.edits:
        return [rival for rival in ranked[1:] if not _is_worse(first, rival)]
    return [
        rival
        for rival in ranked[1:]
        if (rival.edits, rival.labelled, rival.key, rival.fine) == (0, first.labelled, first.key, first.fine)
    ]


def _is_worse(first: Candidate, rival: Candidate) -> bool:
    """Return whether a rival of an inexact first one is out: by enough edits, or by what tells the two texts apart.

    Near twins differ in a number, a "nicht", an authority. Where the quotation is damaged just there, nothing can be
    told. Where it has every one of those letters as the first has them, its other slips say nothing for the rival,
    unless the one letter is one that scans confuse.
    """
    behind = rival.edits - first.edits
    if behind < 1:
        return False
    if behind <= TWIN_EDITS:
        differences = list(Levenshtein.editops(first.wording, rival.wording))
        told_apart = len(differences) == behind
        if len(differences) <= TWIN_EDITS and not _is_whole_at(first, [op.src_pos for op in differences]):
            return False
        if told_apart and first.level is Level.NOISE:
            one = differences[0]
            slip = one.tag == "replace" and is_slip(first.wording[one.src_pos], rival.wording[one.dest_pos])
            return behind > 1 or not slip
    if first.level is Level.AMENDED:
        return behind >= max(AMENDED_MARGIN, first.edits * AMENDED_MARGIN_SHARE)
    return behind >= max(2, first.edits / 3)


def _are_twins(first: Candidate, rival: Candidate) -> bool:
    """Return whether two places that a quotation does not tell apart differ in a few letters: not the same words."""
    if first.wording == rival.wording:
        return first.fine > 0 or first.key
    return Levenshtein.distance(first.wording, rival.wording, score_cutoff=TWIN_EDITS) <= TWIN_EDITS


def _is_whole_at(candidate: Candidate, positions: Sequence[int]) -> bool:
    """Return whether the quotation is undamaged around some letters of a candidate's text."""
    changes = candidate.found.changes
    return all(abs(target - position) > NEAR for _, _, target in changes for position in positions)


def _as_cited(ranked: Sequence[Candidate], rivals: Sequence[Candidate], cited: Cited | None) -> Candidate | None:
    """Return the one of several candidates, all as good, that an older citation names; None where it does not tell."""
    first = ranked[0]
    if cited is None or (not cited.documents and any(rival.document != first.document for rival in rivals)):
        return None
    agreeing = [c for c in (first, *rivals) if cited.agrees(c.document, c.place)]
    return agreeing[0] if len(agreeing) == 1 and agreeing[0].edits == first.edits else None


def _link(tier: str, ranked: Sequence[Candidate], worst: Level, crowded: bool, cited: Cited | None) -> Decision:
    """Link the first of the candidates if it is the only one and agrees well enough, else send all to the review."""
    rivals = _rivals(ranked)
    if rivals and (named := _as_cited(ranked, rivals, cited)) is not None:
        ranked, rivals = (named, *(c for c in ranked if c is not named)), []
    first = ranked[0]
    reason: str | None = None
    if crowded or rivals:
        twins = not crowded and all(_are_twins(first, rival) for rival in rivals)
        reason = NEAR_TWIN if twins else "several_places"
    elif first.key and first.edits == 0:
        reason = NEAR_TWIN
    elif first.place[1] is None:
        reason = "several_articles"
    elif cited is not None and cited.documents and not cited.agrees(first.document, first.place):
        reason = MOVED
    elif first.level > worst:
        reason = NEAR_TWIN if first.key else "amended_without_regulation"
    elif first.level is Level.AMENDED and first.found.lost > (SOME_LOST if first.key else MOST_LOST):
        reason = "part_not_found"
    return Decision("ambiguous" if reason else "linked", None if reason else tier, reason, tuple(ranked))


def decide(
    tier: str,
    candidates: Sequence[Candidate],
    *,
    hint: str | None,
    documents: Sequence[int],
    crowded: bool = False,
    cited: Cited | None = None,
) -> Decision:
    """Decide on the candidates that a tier found in all that is ingested.

    A hint whose law is not ingested, or does not hold the text, sends the quotation to the review even where nothing
    was found. `documents` are those that `hint` may mean; `crowded` says that more places of the same quality were not
    looked at; `cited` is what an older citation says: it breaks ties, and what stands elsewhere now goes to the review.
    """
    ranked = [c for c in _best_of_places(candidates) if c.level < Level.NONE]
    if hint is not None and not documents:
        return Decision("ambiguous", None, "regulation_missing", tuple(ranked))
    if not ranked and crowded:
        return Decision("ambiguous", None, "several_places", ())
    if hint is None:
        if not ranked:
            return Decision("unmatched", None, "no_similar_text", ())
        return _link(tier, ranked, Level.NOISE, crowded, cited)
    inside = [candidate for candidate in ranked if candidate.document in documents]
    outside = [candidate for candidate in ranked if candidate.document not in documents]
    if not inside or (outside and _contradicts(inside[0], outside[0])):
        return Decision("ambiguous", None, "regulation_conflict", tuple(ranked))
    return _link(tier, inside, Level.AMENDED, crowded, cited)


def _contradicts(inside: Candidate, outside: Candidate) -> bool:
    """Return whether a text outside the known law is clearly the one that was quoted.

    It agrees, and better: by enough edits, or in a number, a negation or a party that the known law has not.
    """
    behind = inside.edits - outside.edits
    if outside.level > Level.NOISE or behind < 1:
        return False
    return inside.key or inside.found.digits or behind >= max(2, inside.edits / 3)
