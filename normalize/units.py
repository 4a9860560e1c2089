"""The unit table: what stands below a norm, from general to special, how it is read and how a label writes it.

One table drives reading, ordering and writing (CITATIONS.md). A *path* is a tuple of (level, value) pairs, e.g.
``(("satz", "1"), ("nummer", "3"), ("buchstabe", "a"))`` which a label writes as ``Satz 1 Nr. 3 lit. a``.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Kind = Literal["number", "letter", "double", "triple", "roman", "any"]
"""How the values of a unit are counted: 1, 2a / a, b / aa / aaa / i, ii / any of these (Teil II, Abschnitt B)."""


class Step(NamedTuple):
    """One step of a path below the norm: a level of `UNITS` and its bare value."""

    level: str
    value: str


Path = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """A kind of unit.

    `pattern` is what a label writes, with `{}` for the value. `words` are the accepted markers without their dot.
    `after` names the levels this one may follow although they rank below it ("Nr. 40 Satz 1"). `named` maps a value
    that is a word (``letzte``) to what a label writes for it.
    """

    level: str
    pattern: str
    kind: Kind
    words: tuple[str, ...]
    after: tuple[str, ...] = ()
    named: tuple[tuple[str, str], ...] = ()


_LISTED = ("nummer", "buchstabe", "doppelbuchstabe", "dreifachbuchstabe", "ziffer", "gedankenstrich", "punkt")

UNITS: tuple[Unit, ...] = (
    Unit("teil", "Teil {}", "any", ("Teil", "Teile", "Teils", "Teilen", "Teiles"), ("abschnitt",)),
    Unit("kapitel", "Kapitel {}", "any", ("Kapitel", "Kapitels", "Kapiteln", "Kap")),
    Unit("sachgebiet", "Sachgebiet {}", "any", ("Sachgebiet", "Sachgebiets", "Sachgebiete")),
    Unit("abschnitt", "Abschnitt {}", "any", ("Abschnitt", "Abschnitts", "Abschnitte", "Abschnitten", "Abschn")),
    Unit(
        "unterabschnitt",
        "Unterabschnitt {}",
        "any",
        ("Unterabschnitt", "Unterabschnitts", "Unterabschnitte", "Unterabschnitten"),
    ),
    Unit(
        "absatz",
        "Abs. {}",
        "number",
        ("Absatz", "Absatzes", "Absätze", "Absätzen", "Abs", "Absatze"),
        ("nummer", "ziffer"),
    ),
    Unit(
        "unterabsatz",
        "UAbs. {}",
        "number",
        ("Unterabsatz", "Unterabsatzes", "Unterabsätze", "Unterabsätzen", "UAbs", "Unterabs", "UA", "Uabs"),
        ("buchstabe", "nummer"),
    ),
    Unit(
        "satz",
        "Satz {}",
        "number",
        ("Satz", "Satzes", "Sätze", "Sätzen", "Satze", "S"),
        _LISTED,
        (("letzte", "letzter Satz"), ("Eingang", "Eingangssatz")),
    ),
    Unit(
        "halbsatz",
        "Halbsatz {}",
        "number",
        ("Halbsatz", "Halbsatzes", "Halbsätze", "Halbsätzen", "Halbs", "Hs", "HS", "Hlbs"),
        _LISTED,
        (("letzte", "letzter Halbsatz"), ("Eingang", "Eingangshalbsatz")),
    ),
    Unit(
        "nummer", "Nr. {}", "number", ("Nummer", "Nummern", "Nr", "Nrn", "Nrs", "No"), ("buchstabe", "doppelbuchstabe")
    ),
    Unit(
        "buchstabe",
        "lit. {}",
        "letter",
        ("Buchstabe", "Buchstaben", "Buchstabens", "Buchst", "Buchstb", "Bst", "lit", "litt", "Lit"),
        ("ziffer",),
    ),
    Unit(
        "doppelbuchstabe",
        "Doppelbuchst. {}",
        "double",
        ("Doppelbuchstabe", "Doppelbuchstaben", "Doppelbuchst", "DBuchst"),
    ),
    Unit(
        "dreifachbuchstabe",
        "Dreifachbuchst. {}",
        "triple",
        ("Dreifachbuchstabe", "Dreifachbuchstaben", "Dreifachbuchst"),
    ),
    Unit("ziffer", "Ziff. {}", "roman", ("Ziffer", "Ziffern", "Ziff", "Zif")),
    Unit("punkt", "Punkt {}", "number", ("Punkt", "Punkte", "Punkten", "Punkts"), ("satz", "buchstabe")),
    Unit(
        "gedankenstrich",
        "{}. Gedankenstrich",
        "number",
        (
            "Gedankenstrich",
            "Gedankenstrichs",
            "Gedankenstriche",
            "Gedankenstrichen",
            "Spiegelstrich",
            "Spiegelstrichs",
            "Spiegelstriche",
            "Spiegelstrichen",
            "Anstrich",
            "Anstrichs",
            "Tiret",
        ),
        (),
        (("letzte", "letzter Gedankenstrich"),),
    ),
    Unit(
        "alternative",
        "Alt. {}",
        "number",
        ("Alternative", "Alternativen", "Alt", "Altern"),
        (),
        (("letzte", "letzte Alt."),),
    ),
    Unit("variante", "Var. {}", "number", ("Variante", "Varianten", "Var"), (), (("letzte", "letzte Var."),)),
)

PATTERN = {unit.level: unit.pattern for unit in UNITS}
BY_LEVEL = {unit.level: unit for unit in UNITS}
RANK = {unit.level: rank for rank, unit in enumerate(UNITS)}
UNIT_WORDS = {word: unit for unit in UNITS for word in unit.words}
"""Every accepted marker, without its dot, and the unit it names."""

NAMED_PARTS: tuple[str, ...] = (
    "Anhang",
    "Anlage",
    "Präambel",
    "Eingangsformel",
    "Schlussformel",
    "Schlußformel",
    "Inhaltsübersicht",
    "Amtlicher Hinweis",
    "Text",
    "Muster",
    "Formblatt",
    "Kapitel",
    "Regel",
    "Tabelle",
    "Übersicht",
    "Unterartikel",
    "Einziger Paragraph",
    "Anlagen",
    "Protokoll",
)
"""Heads of the named parts of an act that stand where its § or article would ("Anhang I", "Präambel")."""

ROMAN = re.compile(r"(?=[IVXLC])(?:X[LC]|L?X{0,3})(?:I[XV]|V?I{0,3})")
"""A roman number up to 99, as a pattern for `fullmatch`."""

_NUMBER = r"\d+(?:\.\d+)*(?:[A-Za-z]|bis|ter|quater|quinquies|sexies|([a-z])\2)?"
_VALUE = re.compile(rf"({_NUMBER}|[A-Za-z]{{1,3}}|[ivxlcIVXLC]+)")
_STEP_READERS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (unit.level, re.compile(re.escape(unit.pattern).replace(r"\{\}", _VALUE.pattern) + r"(?= |$)")) for unit in UNITS
)
_NAMED_STEPS = {text: Step(unit.level, value) for unit in UNITS for value, text in unit.named}


def write_step(step: Step) -> str:
    """Return the label text of one step (``Nr. 3``, ``letzte Alt.``)."""
    for value, text in BY_LEVEL[step.level].named:
        if value == step.value:
            return text
    return PATTERN[step.level].format(step.value)


def write_path(path: Sequence[Step]) -> str | None:
    """Return the label text of a path (``Nr. 3 lit. a``), or None for the empty path."""
    return " ".join([write_step(step) for step in path]) or None


def read_steps(text: str, start: int = 0) -> tuple[Path, int]:
    """Read label steps (the label column only) from `start` on; return the path and where reading stopped."""
    path: list[Step] = []
    position = start
    while True:
        begin = position + 1 if path and text[position : position + 1] == " " else position
        if path and begin == position:
            return tuple(path), position
        step, end = _read_step(text, begin)
        if step is None:
            return tuple(path), position
        path.append(step)
        position = end


def _read_step(text: str, position: int) -> tuple[Step | None, int]:
    for written, step in _NAMED_STEPS.items():
        if text.startswith(written, position) and text[position + len(written) : position + len(written) + 1] in "  ":
            return step, position + len(written)
    for level, reader in _STEP_READERS:
        match = reader.match(text, position)
        if match:
            return Step(level, match.group(1)), match.end()
    return None, position


def read_path(text: str | None) -> Path | None:
    """Return the path that `write_path` wrote as `text` (None is the empty path), or None if it is not one."""
    if text is None:
        return ()
    path, end = read_steps(text)
    return path if end == len(text) and path else None


def may_follow(path: Sequence[Step], level: str) -> bool:
    """Whether a unit of this level may stand directly below the last step of `path` ("Nr. 40 Satz 1")."""
    if not path:
        return True
    last = path[-1].level
    if level == "absatz" and any(step.level == "absatz" for step in path):
        return False
    return RANK[level] > RANK[last] or last in BY_LEVEL[level].after


def sibling(path: Path, level: str) -> Path:
    """Return the part of `path` that a unit of `level` inherits after a comma, "und", "oder".

    "Abs. 1 Satz 2 und 3" keeps Abs. 1; "Abs. 1 Nr. 2 und Satz 3" keeps Abs. 1 too, since Satz ranks above Nummer.
    """
    for index in range(len(path) - 1, -1, -1):
        if path[index].level == level:
            return path[:index]
    kept = len(path)
    while kept and RANK[path[kept - 1].level] >= RANK[level]:
        kept -= 1
    return path[:kept]
