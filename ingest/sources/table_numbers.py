"""The numbers in the first column of a table, where they are citable: "BSIG Anlage 1 Nr. 1.1.1".

Only a table that says itself that its first column counts ("Nummer", "Lfd. Nr.") and then counts without a repetition
or a step back is read so: a wrong Fundstelle is worse than a missing one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_COUNTS = re.compile(
    r"(?:(?:lfd\.?|laufende)\s?)?(?:nr\.?|nummer)|gebühren-?\s?(?:nr\.?|nummer)|tarif-?\s?(?:nr\.?|nummer)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"((?:\d{1,4}\.)*\d{1,4}[a-z]?)\.?\)?")
_PART = re.compile(r"(\d+)([a-z]?)")
_FEWEST = 2


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table: the text of its first column (None if a cell from above reaches down), and all filled cells."""

    first: str | None
    cells: tuple[str, ...]


def row_numbers(rows: Sequence[TableRow]) -> list[str]:
    """Return for each row the number that it stands under, "" for rows under none (headings; tables that count not).

    A row below a first cell that reaches down over several rows stands under the number of that cell.
    """
    none = [""] * len(rows)
    heading = next((index for index, row in enumerate(rows) if row.first and _COUNTS.fullmatch(row.first)), None)
    if heading is None:
        return none
    numbers = [""] * len(rows)
    for index in range(heading + 1, len(rows)):
        row = rows[index]
        if row.first is None:
            numbers[index] = numbers[index - 1]
        elif (match := _NUMBER.fullmatch(row.first)) and not _counts_columns(row):
            numbers[index] = match[1]
    own = [number for number, row in zip(numbers, rows, strict=True) if number and row.first is not None]
    keys = [_key(number) for number in own]
    if len(own) < _FEWEST or not all(before < after for before, after in pairwise(keys)):
        return none
    return numbers


def _counts_columns(row: TableRow) -> bool:
    """Whether a row only numbers the columns ("1 | 2 | 3")."""
    return len(row.cells) > 1 and row.cells == tuple(str(column) for column in range(1, len(row.cells) + 1))


def _key(number: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(digits), letter) for digits, letter in _PART.findall(number))
