"""Tables of Formex annexes whose first columns number their rows: "Annex I Nr. 1 lit. a NIS2".

The source marks such a cell itself as a numbered paragraph (`<NP>`), and says by ROWSPAN how far down it reaches. A
table that does not count 1, 2, 3 and a, b, c is read as text: a wrong Fundstelle is worse than a missing one.
"""

from collections.abc import Iterator

from lxml import etree

from ingest.sources.markers import read_marker
from ingest.sources.safe_xml import text_of
from normalize.units import Path, Step

_ANNEXES = ("ANNEX", "CONS.ANNEX")
_FEWEST = 2


def row_paths(table: etree._Element) -> list[Path]:
    """Return for each `<ROW>` of a table the number, and the letter below it, that the row stands under."""
    rows = list(table.iter("ROW"))
    if next(table.iterancestors(*_ANNEXES), None) is None:
        return [()] * len(rows)
    paths = list(_paths(rows))
    return paths if _counts(paths) else [()] * len(rows)


def _paths(rows: list[etree._Element]) -> Iterator[Path]:
    reached: dict[str, tuple[Step | None, int]] = {}
    for row in rows:
        cells = {cell.get("COL"): cell for cell in row.iterchildren("CELL")}
        path: Path = ()
        for column, level in (("1", "nummer"), ("2", "buchstabe")):
            step, left = reached.get(column, (None, 0))
            if column in cells:
                step, left = _step(cells[column], level, path), _rows_down(cells[column])
            reached[column] = step if left else None, max(left - 1, 0)
            if step is None or not left:
                break
            path = (*path, step)
        yield path


def _rows_down(cell: etree._Element) -> int:
    span = cell.get("ROWSPAN") or "1"
    return int(span) if span.isdigit() else 1


def _step(cell: etree._Element, level: str, above: Path) -> Step | None:
    """Return the unit of a cell that is one numbered paragraph."""
    numbered = list(cell.iter("NO.P"))
    if len(numbered) != 1:
        return None
    # Whether "i" is a letter is seen by the counting of all rows; a letter needs one before it to be read as such.
    before = Step("buchstabe", "h") if level == "buchstabe" else None
    step = read_marker(text_of(numbered[0]).strip(), "article", above, before)
    return step if step is not None and step.level == level else None


def _counts(paths: list[Path]) -> bool:
    numbers = list(dict.fromkeys(path[:1] for path in paths if path))
    if len(numbers) < _FEWEST or [path[0].value for path in numbers] != [str(n) for n in range(1, len(numbers) + 1)]:
        return False
    for number in numbers:
        letters = list(dict.fromkeys(path[1].value for path in paths if path[:1] == number and len(path) > 1))
        if letters != [chr(ord("a") + n) for n in range(len(letters))]:
            return False
    # Rows under one number stand together.
    runs = [path for index, path in enumerate(paths) if path and (index == 0 or paths[index - 1] != path)]
    return len(runs) == len(set(runs))
