"""The tiers: rooms with one interface, tried in order until one links (DESIGN §7)."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from normalize.identity import chunk_hash
from normalize.text import clean_inline
from relink.align import Alignment, align, align_pieces
from relink.anchors import MIN_LETTERS, Anchor
from relink.corpus import Corpus
from relink.decision import AMENDED_SIMILARITY, Candidate, Decision, Level, decide
from relink.gaps import align_with_gap
from relink.measure import FAR, MANY_PLACES, WEAK_PLACES
from relink.skeleton import fold_all
from relink.tails import TAIL
from relink.vote import MOST_PLACES, Query, Votes, vote
from relink.written import as_written

_BLOCK_ANCHORS = 2048
UNCONFIRMED = "whole_chunk_unconfirmed"
"""Reason of a quotation that is a whole chunk, but may stand elsewhere too."""
_SPILL_SAVES = 0.7
_WEAK_SIMILARITY = 0.9
_BUDGET = 1 - AMENDED_SIMILARITY
_WEAK_BUDGET = 0.35


class Tier(Protocol):
    """One way of finding the place of a quotation."""

    @property
    def name(self) -> str:
        """What the tier is called in options and outcomes."""
        ...

    def decide_all(self, corpus: Corpus, anchors: Sequence[Anchor]) -> list[Decision]:
        """Return a decision for each anchor, in order."""
        ...


def candidate_of(corpus: Corpus, anchor: Anchor, found: Alignment) -> Candidate:
    """Return the candidate of an alignment: the chunks it lies in and their citation down to the Absatz."""
    first = corpus.chunk_at(found.start)
    last = first if found.end <= corpus.starts[first + 1] else corpus.chunk_at(found.end - 1)
    place = corpus.chunks[first].place
    places = {place} if first == last else {corpus.chunks[i].place for i in range(first, last + 1)}
    if len(places) > 1:
        same_norm = len({(p[0], p[1], p[3]) for p in places}) == 1
        place = (place[0], place[1] if same_norm else None, None, place[3])
    label = anchor.label
    labelled = bool(label) and corpus.letters.endswith(label, max(0, found.start - len(label)), found.start)
    wording = corpus.letters[found.start : found.end]
    front = len(label) if labelled else 0
    return Candidate(
        place, corpus.document_of(first), first, last, found, anchor.letters, wording, labelled, front=front
    )


def _chunks_that_read(corpus: Corpus, skeletons: Sequence[str]) -> dict[str, list[int]]:
    """Return the chunks with just the letters of a quotation, by those: no other one is it as a whole.

    The last letters of each chunk are looked at first, as numbers: that touches no object of it.
    """
    found: dict[str, list[int]] = {}
    wanted = set(skeletons)
    for i in corpus.tails.ending_like([skeleton for skeleton in wanted if len(skeleton) >= TAIL]):
        skeleton = corpus.letters[corpus.starts[i] : corpus.starts[i + 1]]
        if skeleton in wanted:
            found.setdefault(skeleton, []).append(i)
    return found


@dataclass(frozen=True, slots=True)
class HashTier:
    """Quotations that are a whole chunk: equal hash of the cleaned text.

    Alone it links only where the hint agrees and its law holds the words once. Without a hint they may stand inside a
    longer chunk elsewhere, and that only the fuzzy tier sees: it confirms then.
    """

    name: str = "hash"

    def decide_all(self, corpus: Corpus, anchors: Sequence[Anchor]) -> list[Decision]:
        """Return a decision for each anchor, in order."""
        folded = fold_all([anchor.text for anchor in anchors])
        letters, starts = folded.letters, folded.starts.tolist()
        skeletons = [letters[start:end] for start, end in itertools.pairwise(starts)]
        same = _chunks_that_read(corpus, skeletons)
        decisions = []
        for anchor, skeleton in zip(anchors, skeletons, strict=True):
            if anchor.letters < MIN_LETTERS:
                decisions.append(Decision("unmatched", None, "too_short", ()))
                continue
            mine = same.get(skeleton, [])
            if mine:
                hashes = {chunk_hash(anchor.text), chunk_hash(clean_inline(anchor.text))}
                mine = [i for i in mine if corpus.chunks[i].chunk_hash in hashes]
            decisions.append(self._decide(corpus, anchor, mine))
        return decisions

    def _decide(self, corpus: Corpus, anchor: Anchor, chunks: Sequence[int]) -> Decision:
        if not chunks and (anchor.hint is None or anchor.documents):  # part of a chunk may be in its law all the same
            return Decision("unmatched", None, "no_similar_text", ())
        candidates = [
            candidate_of(corpus, anchor, Alignment(corpus.starts[i], corpus.starts[i + 1], 0)) for i in chunks
        ]
        decision = decide(self.name, candidates, hint=anchor.hint, documents=anchor.documents, cited=anchor.cited)
        if decision.outcome != "linked":
            return decision
        if anchor.hint is None:
            return decision._replace(outcome="ambiguous", tier=None, reason=UNCONFIRMED)
        held = sum(_count(corpus, candidates[0].wording, document) for document in anchor.documents)
        return decision if held == 1 else decision._replace(outcome="ambiguous", tier=None, reason=UNCONFIRMED)


def _count(corpus: Corpus, wording: str, document: int) -> int:
    """Return how often a document holds a skeleton."""
    low, high = corpus.document_range(document)
    return corpus.letters.count(wording, low, high)


@dataclass(frozen=True, slots=True)
class FuzzyTier:
    """Damaged, shortened and amended quotations: seeds vote for places, alignment measures them."""

    name: str = "fuzzy"

    def decide_all(self, corpus: Corpus, anchors: Sequence[Anchor]) -> list[Decision]:
        """Return a decision for each anchor, in order."""
        decisions: list[Decision] = []
        for begin in range(0, len(anchors), _BLOCK_ANCHORS):
            decisions += _decide_block(self.name, corpus, anchors[begin : begin + _BLOCK_ANCHORS])
        return decisions


@dataclass(slots=True)
class _Search:
    """What has been found for one anchor so far."""

    anchor: Anchor
    candidates: list[Candidate]
    best: Candidate | None = None
    crowded: bool = False

    def add(self, candidate: Candidate) -> None:
        self.candidates.append(candidate)
        if self.best is None or candidate.edits < self.best.edits:
            self.best = candidate

    def is_weak(self) -> bool:
        return self.best is None or self.best.similarity < _WEAK_SIMILARITY


def _decide_block(name: str, corpus: Corpus, anchors: Sequence[Anchor]) -> list[Decision]:
    searches = [_Search(anchor, []) for anchor in anchors]
    ready = [search for search in searches if search.anchor.letters >= MIN_LETTERS]
    # first inside the known law, where boilerplate costs nothing; elsewhere only where that gave no exact text
    known = [search for search in ready if search.anchor.documents]
    _look(corpus, known, inside=True)
    _look(corpus, [search for search in known if search.is_weak()], inside=True, every_seed=True)
    rest = [search for search in ready if search.best is None or search.best.edits > 0]
    _look(corpus, rest, inside=False)
    _look(corpus, [search for search in rest if search.is_weak()], inside=False, every_seed=True)
    for search in known:
        if search.best is None or search.best.level > Level.AMENDED:
            _look_for_gap(corpus, search)
    decisions = []
    for search in searches:
        anchor = search.anchor
        if anchor.letters < MIN_LETTERS:
            decisions.append(Decision("unmatched", None, "too_short", ()))
            continue
        candidates = as_written(corpus, anchor, search.candidates)
        decisions.append(
            decide(
                name,
                candidates,
                hint=anchor.hint,
                documents=anchor.documents,
                crowded=search.crowded,
                cited=anchor.cited,
            )
        )
    return decisions


def _look_for_gap(corpus: Corpus, search: _Search) -> None:
    """Add the place in a known law where a quotation stands that leaves words out without a sign."""
    if len(search.anchor.pieces) == 1:
        for document in search.anchor.documents:
            for found in align_with_gap(search.anchor.pieces[0], corpus.letters, *corpus.document_range(document)):
                search.add(candidate_of(corpus, search.anchor, found))


def _look(corpus: Corpus, searches: Sequence[_Search], *, inside: bool, every_seed: bool = False) -> None:
    """Add candidates to each search, from its known documents or from the whole corpus."""
    share = _WEAK_BUDGET if every_seed else _BUDGET
    queries: list[Query] = []
    owners: list[_Search] = []
    for search in searches:
        anchor = search.anchor
        piece = anchor.pieces[anchor.main]
        budget = int(anchor.letters * share) + 1
        best = search.best.edits if search.best is not None else None
        ranges = [corpus.document_range(d) for d in anchor.documents] if inside else [(0, len(corpus.letters))]
        queries += [Query(piece, low, high, budget, best, len(anchor.pieces) == 1) for low, high in ranges]
        owners += [search] * len(ranges)
    found = vote(corpus.seeds, corpus.codes, corpus.borders, queries, every_seed=every_seed)
    for search, query, votes in zip(owners, queries, found, strict=True):
        _verify(corpus, search, votes, query.budget, every_seed=every_seed)


def _verify(corpus: Corpus, search: _Search, votes: Votes, budget: int, *, every_seed: bool) -> None:
    """Align at the voted places, as long as one may be as good as the best or rival it."""
    anchor = search.anchor
    letters = anchor.letters
    search.crowded = search.crowded or votes.flood
    best = -1 if search.best is None else search.best.edits
    exact = 0
    for looked_at, (count, start, end, measure) in enumerate(
        zip(votes.votes, votes.starts, votes.ends, votes.measures, strict=True)
    ):
        if every_seed:
            if looked_at >= WEAK_PLACES or count * 3 < votes.votes[0]:
                return
        elif best >= 0:
            rival = best + (max(2.0, best / 3) if best else 0.0)  # as `measure.is_beaten`, which measured so far
            if count + 2 * rival < votes.asked or (looked_at >= MANY_PLACES and count * 2 < votes.votes[0]):
                return
        if exact > MANY_PLACES:
            search.crowded = True
            return
        limit = budget if best < 0 else min(budget, best + max(8, letters // 20))
        if measure == FAR or measure > 2 * limit:
            continue
        found = _align_at(corpus, anchor, start, end, limit, is_near=measure >= 0)
        if found is None:
            continue
        candidate = candidate_of(corpus, anchor, found)
        search.add(candidate)
        exact += candidate.edits == 0
        if best < 0 or candidate.edits < best:
            best = candidate.edits
    search.crowded = search.crowded or (len(votes.votes) == MOST_PLACES and best == 0)


def _align_at(corpus: Corpus, anchor: Anchor, start: int, end: int, limit: int, *, is_near: bool) -> Alignment | None:
    piece = anchor.pieces[anchor.main]
    middle = min(max((start + end) // 2, 0), len(corpus.letters) - 1)
    bounds = corpus.document_range(corpus.document_of(corpus.chunk_at(middle)))
    found = align(piece, corpus.letters, bounds, start, end, limit, is_near=is_near)
    if found is None:
        return None
    if found.edits:
        found = _within_chunks(corpus, piece, found, limit)
    if len(anchor.pieces) == 1:
        return found
    return align_pieces(anchor.pieces, anchor.main, corpus.letters, bounds, found)


def _within_chunks(corpus: Corpus, piece: str, found: Alignment, limit: int) -> Alignment:
    """Return the alignment without a spill over the border of a chunk that is no quotation of the neighbour.

    Foreign words at an end of a quotation align with whatever stands there: that saves few edits for many letters.
    """
    first, last = corpus.chunk_at(found.start), corpus.chunk_at(found.end - 1)
    for low, high in (
        (corpus.starts[first + 1], corpus.starts[last + 1]),
        (corpus.starts[first], corpus.starts[last]),
    ):
        spill = max(0, low - found.start) + max(0, found.end - high)
        if first == last or spill == 0 or spill >= len(piece) // 2:
            continue
        allowed = found.edits + int(spill * _SPILL_SAVES)
        inside = align(piece, corpus.letters, (low, high), found.start, found.end, max(limit, allowed))
        if inside is not None and inside.edits <= allowed:
            found = inside
            first, last = corpus.chunk_at(found.start), corpus.chunk_at(found.end - 1)
    return found


def _same_place(one: Decision, other: Decision) -> bool:
    return one.best is not None and other.best is not None and one.best.place == other.best.place


TIERS: dict[str, Tier] = {"hash": HashTier(), "fuzzy": FuzzyTier()}


def decide_anchors(corpus: Corpus, anchors: Sequence[Anchor], tiers: Sequence[Tier]) -> list[Decision]:
    """Return the decision for each anchor: of the first tier that links, else the best informed one."""
    decisions: list[Decision] = [Decision("unmatched", None, "no_tier", ()) for _ in anchors]
    open_numbers = list(range(len(anchors)))
    for tier in tiers:
        found = tier.decide_all(corpus, [anchors[i] for i in open_numbers])
        still_open = []
        for i, decision in zip(open_numbers, found, strict=True):
            before = decisions[i]
            if decision.outcome == "linked" and before.reason == UNCONFIRMED and _same_place(before, decision):
                decision = decision._replace(tier=HashTier().name)
            if decision.outcome != "unmatched" or before.outcome == "unmatched":
                decisions[i] = decision
            if decision.outcome != "linked":
                still_open.append(i)
        open_numbers = still_open
    return decisions
