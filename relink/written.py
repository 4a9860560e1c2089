"""A closer look at candidates: the words and numbers as they are written, beyond the letters that they fold to."""

import re
from collections.abc import Sequence

from relink.anchors import ELLIPSIS, Anchor, without_labels
from relink.corpus import Corpus
from relink.decision import SOME_LOST, Candidate, Level
from relink.skeleton import written_letters
from relink.spans import span_of
from relink.twins import key_difference, same_numbers

_MOST_TWINS = 6
# Digits that the skeleton may run together ("1,5" and "15"): without them equal letters are equal numbers.
_NUMBERS = re.compile(r"\d\W{0,3}\d")
_BEHIND = 2
"""Edits behind the best within which a candidate is looked at: one that is further behind is out anyway."""


def as_written(corpus: Corpus, anchor: Anchor, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates, with what tells near twins apart noted on those that may be linked.

    `fine` counts, where several places agree word for word, the letters that the skeleton folds into one; `key` says
    that a number, a negation or a party is another one.
    """
    best = min((candidate.edits for candidate in candidates), default=0)
    if best == 0:
        candidates = _with_fine_differences(corpus, anchor, candidates)
    mine = [candidate for candidate in candidates if candidate.document in anchor.documents]
    at_home = min((candidate.edits for candidate in mine), default=best)
    if at_home == best == 0 and not _NUMBERS.search(anchor.text):
        return list(candidates)
    looked_at = 0
    noted: list[Candidate] = []
    for candidate in candidates:
        least = at_home if candidate.document in anchor.documents else best
        if candidate.edits <= least + (_BEHIND if least else 0) and looked_at < _MOST_TWINS:
            looked_at += 1
            clean = candidate.level <= Level.NOISE
            if _key_differs(corpus, anchor, candidate) if clean else _number_lost(anchor, candidate):
                candidate = candidate._replace(key=True)
        noted.append(candidate)
    return noted


def _number_lost(anchor: Anchor, candidate: Candidate) -> bool:
    """Return whether a number at an end of a quotation is in words that stand nowhere."""
    found = candidate.found
    if found.lost < SOME_LOST or not found.digits:
        return False
    piece = anchor.pieces[anchor.main]
    ends = (*range(min(found.lost, len(piece))), *range(max(0, len(piece) - found.lost), len(piece)))
    touched = {source for kind, source, _ in found.changes if kind != "insert"}
    return any(i in touched and piece[i].isdigit() for i in ends)


def _key_differs(corpus: Corpus, anchor: Anchor, candidate: Candidate) -> bool:
    if candidate.edits == 0 and not _NUMBERS.search(anchor.text):
        return False
    texts = [corpus.chunks[i].chunk_text for i in range(candidate.first_chunk, candidate.last_chunk + 1)]
    label, rest = without_labels(anchor.text)
    quoted = label + rest if candidate.front else rest
    if candidate.edits == 0 and any(same_numbers(quoted, text) for text in texts):
        return False
    span = span_of(corpus, candidate)
    if len(texts) == 1:
        texts = [texts[0][span.start : span.end]]
    else:
        texts = [texts[0][span.start :], *texts[1:-1], texts[-1][: span.end]]
    return key_difference(ELLIPSIS.sub(" ", quoted), "\n".join(texts), with_gaps=len(anchor.pieces) > 1)


def _with_fine_differences(corpus: Corpus, anchor: Anchor, candidates: Sequence[Candidate]) -> list[Candidate]:
    exact = {c.place for c in candidates if c.edits == 0 and (not anchor.documents or c.document in anchor.documents)}
    if not 1 < len(exact) <= _MOST_TWINS or len(anchor.pieces) > 1:
        return list(candidates)
    written = written_letters(anchor.text)[-anchor.letters :]
    counted = []
    for candidate in candidates:
        if candidate.edits == 0:
            theirs = _letters_as_written(corpus, candidate)
            fine = sum(1 for a, b in zip(written, theirs, strict=False) if a != b)
            candidate = candidate._replace(fine=fine)
        counted.append(candidate)
    return counted


def _letters_as_written(corpus: Corpus, candidate: Candidate) -> str:
    first, last = candidate.first_chunk, candidate.last_chunk
    letters = "".join(written_letters(corpus.chunks[i].chunk_text) for i in range(first, last + 1))
    offset = candidate.found.start - corpus.starts[first]
    return letters[offset : offset + candidate.found.end - candidate.found.start]
