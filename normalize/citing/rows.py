"""The rows of `fundstelle cite`."""

from collections.abc import Iterator
from typing import Any

from normalize.citing.find import find
from normalize.citing.model import Inventory
from normalize.laws import LawTable


def cite_rows(text: str, laws: LawTable, inventory: Inventory | None = None) -> Iterator[dict[str, Any]]:
    """Yield a row for each citation of `text`, in the shape that `fundstelle cite --json` prints."""
    for found in find(text, laws, inventory=inventory):
        yield found.as_row()
