"""The terminal: tables, numbers, progress bars."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:  # a search prints too, and need not load what reads laws
    from ingest.gather import Progress as ProgressCallback

MANY_DOCUMENTS = 30
_PIPE_WIDTH = 200


def console() -> Console:
    """Standard output; plain text, as wide as its lines are, when it is no terminal."""
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(highlight=False, markup=False, soft_wrap=True, width=width)


class _Rate(ProgressColumn):
    """How many a second, of late."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "")


@contextmanager
def progress_bars() -> Iterator["ProgressCallback"]:
    """Yield a callback that draws a bar a stage, with rate and time left, on a terminal's standard error only."""
    errors = Console(stderr=True)
    if not errors.is_terminal:
        yield lambda *_: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True) as progress:
        tasks: dict[str, Any] = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, total=total)
            progress.update(tasks[stage], completed=done, total=total)

        yield show


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """Return a plain table; numbers to the right."""
    result = Table(box=None, pad_edge=False, header_style="bold")
    for index, name in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[index], int | float) for row in rows)
        result.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        result.add_row(*(_cell(value) for value in row))
    return result


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def seconds(stages: Mapping[str, float]) -> str:
    """Return "plan 0.12 s, write 1.30 s"."""
    return ", ".join(f"{stage} {value:.2f} s" for stage, value in stages.items())


def counts(numbers: Mapping[str, int]) -> str:
    """Return "linked 3, unmatched 2"."""
    return ", ".join(f"{name} {count:,}" for name, count in numbers.items())
