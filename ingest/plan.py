"""The plan of a re-ingest: what is new, changed, unchanged and obsolete in each document, and what must be written.

It is made from the store, not from the books: the ledger is a claim, the store is the truth (DESIGN §6).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.reading import Expected
from ingest.stored import PointSketch

EXAMPLES = 5
_NUMBER = re.compile(r"([0-9]+)")
Norm = tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class DocumentPlan:
    """The plan of one document.

    new / changed / unchanged / obsolete compare the norms of the two versions (labels, or a count). `write` are the ids
    of points that are missing, `rewrite` of those whose payload alone differs, `reuse` says which old point has the
    vectors for a new id, `old` are the points that go once the new ones are verified.
    """

    expected: Expected
    new: list[str]
    changed: list[str]
    unchanged: int
    obsolete: list[str]
    write: frozenset[str]
    rewrite: frozenset[str]
    reuse: dict[str, PointSketch]
    old: list[PointSketch]

    @property
    def replaces(self) -> dict[str, int]:
        """How many of the old points are of another document, whose place this one takes, by its id."""
        own = self.expected.names.document_id
        others = Counter(p.document_id for p in self.old if p.is_contract and p.document_id != own)
        return {str(document_id): count for document_id, count in sorted(others.items(), key=str)}

    def summary(self) -> dict[str, Any]:
        """Return the plan as counts and a few examples."""
        return {
            "document_id": self.expected.names.document_id,
            "regulation_code": self.expected.regulation_code,
            "version": self.expected.version,
            "old_versions": sorted({p.version or "none" for p in self.old}),
            "chunks": len(self.expected.points),
            "new": len(self.new),
            "changed": len(self.changed),
            "unchanged": self.unchanged,
            "obsolete": len(self.obsolete),
            "to_write": len(self.write),
            "to_rewrite": len(self.rewrite),
            "vectors_reused": len(self.reuse),
            "old_points": len(self.old),
            "replaces": self.replaces,
            "examples": {
                "new": _examples(self.new),
                "changed": _examples(self.changed),
                "obsolete": _examples(sorted(self.obsolete, key=_by_number)),
            },
        }


def _examples(labels: Iterable[str]) -> dict[str, int]:
    """Return the first few labels, each with the number of its chunks."""
    return dict(list(Counter(labels).items())[:EXAMPLES])


def _by_number(label: str) -> list[tuple[int, str]]:
    """Sort key: "BDSG § 9" before "BDSG § 10"."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in _NUMBER.split(label)]


def plan_document(expected: Expected, stored: Sequence[PointSketch], *, rewrite_all: bool = False) -> DocumentPlan:
    """Compare what a document must have with the points it has in the store.

    A point whose label, heading or text differs is written anew with its vectors, which see them.
    """
    present = {str(point.id): point for point in stored}
    wanted = {str(point.id) for point in expected.points}
    old = [point for point in stored if str(point.id) not in wanted]
    missing = [point for point in expected.points if str(point.id) not in present]
    kept = [point for point in expected.points if str(point.id) in present]
    stale = [point for point in kept if seen_by_vectors(point) != seen_by_vectors(present[str(point.id)])]
    changed = [point.name for point in stale]
    stale_ids = {str(point.id) for point in stale}

    before = _by_norm(old)
    new: list[str] = []
    unchanged = len(kept) - len(stale)
    reuse: dict[str, PointSketch] = {}
    for norm, points in _by_norm(missing).items():
        earlier = before.get(norm)
        if earlier is None:
            new += [point.name for point in points]
            continue
        left = Counter(point.chunk_hash for point in earlier)
        for point in points:
            if left[point.chunk_hash] > 0:
                left[point.chunk_hash] -= 1
                unchanged += 1
            else:
                changed.append(point.name)
        if len(points) == len(earlier) == 1 and _same_vectors(points[0], earlier[0]):
            reuse[str(points[0].id)] = earlier[0]
    still = {(point.article, point.paragraph) for point in expected.points}
    return DocumentPlan(
        expected=expected,
        new=new,
        changed=changed,
        unchanged=unchanged,
        obsolete=[point.name for norm, points in before.items() if norm not in still for point in points],
        write=frozenset(str(point.id) for point in (*missing, *stale)),
        rewrite=frozenset(
            str(point.id)
            for point in kept
            if str(point.id) not in stale_ids and (rewrite_all or point.digest != present[str(point.id)].digest)
        ),
        reuse=reuse,
        old=old,
    )


def _by_norm(points: Iterable[PointSketch]) -> dict[Norm, list[PointSketch]]:
    norms: dict[Norm, list[PointSketch]] = defaultdict(list)
    for point in points:
        norms[point.article, point.paragraph].append(point)
    return dict(norms)


def seen_by_vectors(point: PointSketch) -> tuple[object, ...]:
    """Return what of a whole Absatz its vectors depend on; points that agree in it have the same ones."""
    return point.label, point.header, point.chunk_hash, point.rules


def _same_vectors(new: PointSketch, old: PointSketch) -> bool:
    """Whether the old point's vectors serve the new one: the same whole Absatz, printed and headed alike.

    Vectors see label, heading and text; a piece of a split Absatz also sees its stem, so pieces are embedded anew.
    """
    return new.sub is None and old.sub is None and old.is_contract and seen_by_vectors(new) == seen_by_vectors(old)
