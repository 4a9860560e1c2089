"""Anchors: the quotations of the controls, made ready for matching."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from relink.cited import Cited, OldPlace
from relink.corpus import Corpus
from relink.garbage import without_collection
from relink.skeleton import fold_all

MIN_LETTERS = 20
"""Skeleton letters below which a quotation is refused: about 25 characters (ALIGN.md)."""

ELLIPSIS = re.compile(r"\[\s*(?:…|\.\s?\.\s?\.)\s*\]|\(\s*(?:…|\.\s?\.\s?\.)\s*\)|…|\.\s?\.\s?\.+")
# Numbers that a quotation brings along from its place, or from another: "§ 5 (2a)", "3.", "b)", "Absatz 2:".
_NORM_LABEL = re.compile(
    r"\s*(?:§+|Art\.|Artikel)\s*\d+[a-z]{0,2}\b(?:\s+(?:Abs\.|Absatz)\s*\d+[a-z]?\b)?[.:]?\s+(?=\S)"
)
_ITEM_LABEL = re.compile(
    r"\s*(?:\(\d{1,3}[a-z]{0,2}\)|\d{1,3}[a-z]?\.|[a-z]{1,3}\)|(?:Abs\.|Absatz)\s*\d+[a-z]?:)\s+(?=\S)"
)


class Anchor(NamedTuple):
    """One quotation: its text, what its control knows of the law, and its skeleton in pieces between ellipses.

    `label` is the skeleton of a "§ 5" in front that was taken off: mostly the number of the norm, but sometimes the
    first word of the text itself. `documents` are what `hint` may mean, none if it is not ingested. `cited` is what an
    older citation of the control says. `letters` is how many all pieces have, `main` the number of the longest one,
    which is looked up first. A tuple, since there is one for each of a great many quotations.
    """

    text: str
    hint: str | None
    documents: tuple[int, ...]
    label: str
    pieces: tuple[str, ...]
    cited: Cited | None
    letters: int
    main: int


def without_labels(text: str) -> tuple[str, str]:
    """Return the label of a norm in front (or "") and the text without labels."""
    label = ""
    rest = text
    if found := _NORM_LABEL.match(rest):
        label, rest = found[0], rest[found.end() :]
    for _ in range(3):
        found = _ITEM_LABEL.match(rest)
        if found is None:
            break
        rest = rest[found.end() :]
    return label, rest


def make_anchors(
    corpus: Corpus, quotations: Sequence[tuple[str, str | None]], old: Sequence[OldPlace | None] | None = None
) -> list[Anchor]:
    """Return the anchors of (text, hint) pairs, in their order; `old` has what older citations of them say."""
    with without_collection():
        return _anchors(corpus, quotations, old)


def _anchors(
    corpus: Corpus, quotations: Sequence[tuple[str, str | None]], old: Sequence[OldPlace | None] | None
) -> list[Anchor]:
    labels: list[str] = []
    pieces: list[str] = []
    counts: list[int] = []
    for text, _hint in quotations:
        label, rest = without_labels(text)
        parts = ELLIPSIS.split(rest) if "…" in rest or ".." in rest or ". ." in rest else [rest]
        labels.append(label)
        pieces += parts
        counts.append(len(parts))
    folded = fold_all([*labels, *pieces])
    letters = folded.letters
    every = [letters[a:b] for a, b in zip(folded.starts[:-1].tolist(), folded.starts[1:].tolist(), strict=True)]
    known: dict[str | None, tuple[int, ...]] = {None: ()}
    anchors: list[Anchor] = []
    begin = len(labels)
    for i, (text, hint) in enumerate(quotations):
        if hint not in known:
            known[hint] = corpus.documents_of_hint(hint or "")
        mine = tuple([piece for piece in every[begin : begin + counts[i]] if len(piece) > 2]) or ("",)
        begin += counts[i]
        cited = _cited(corpus, old[i]) if old is not None else None
        sizes = list(map(len, mine))
        anchors.append(Anchor(text, hint, known[hint], every[i], mine, cited, sum(sizes), sizes.index(max(sizes))))
    return anchors


def _cited(corpus: Corpus, old: OldPlace | None) -> Cited | None:
    """Return an older citation as the corpus knows its law; None where it names one that is not there."""
    if old is None:
        return None
    documents = corpus.documents_of_hint(old.regulation) if old.regulation else ()
    if old.regulation and not documents:
        return None
    return Cited(documents, old.article, old.paragraph, old.is_recital)
