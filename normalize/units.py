"""The unit table: what stands below a norm, from general to special, and how a label writes it (CITATIONS.md).

One table drives reading, ordering and writing. A *path* is a tuple of (level, value) pairs, e.g.
``(("satz", "1"), ("nummer", "3"), ("buchstabe", "a"))`` which a label writes as ``Satz 1 Nr. 3 lit. a``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Step(NamedTuple):
    """One step of a path below the norm: a level of `UNITS` and its bare value."""

    level: str
    value: str


Path = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """A kind of unit: its level name, and the pattern a label writes with `{}` for the value."""

    level: str
    pattern: str


UNITS: tuple[Unit, ...] = (
    Unit("teil", "Teil {}"),
    Unit("kapitel", "Kapitel {}"),
    Unit("abschnitt", "Abschnitt {}"),
    Unit("absatz", "Abs. {}"),
    Unit("unterabsatz", "UAbs. {}"),
    Unit("satz", "Satz {}"),
    Unit("halbsatz", "Halbsatz {}"),
    Unit("nummer", "Nr. {}"),
    Unit("buchstabe", "lit. {}"),
    Unit("doppelbuchstabe", "Doppelbuchst. {}"),
    Unit("dreifachbuchstabe", "Dreifachbuchst. {}"),
    Unit("ziffer", "Ziff. {}"),
    Unit("gedankenstrich", "{}. Gedankenstrich"),
    Unit("alternative", "Alt. {}"),
)

PATTERN = {unit.level: unit.pattern for unit in UNITS}


def write_path(path: Sequence[Step]) -> str | None:
    """Return the label text of a path (``Nr. 3 lit. a``), or None for the empty path."""
    return " ".join(PATTERN[step.level].format(step.value) for step in path) or None
