"""Citations in text: find them, read them, name what they point to.

`find` gives spans and targets, `parse` reads a text that is one citation, `cite_rows` the rows of `fundstelle cite`.
The grammar is one recursive-descent reader over the unit table (`normalize.units`); laws are data (`normalize.laws`).
"""

from normalize.citing.english import ENGLISH_ANCHOR
from normalize.citing.find import find
from normalize.citing.model import Found, Inventory, ListedInventory, Target
from normalize.citing.parse import parse
from normalize.citing.rows import cite_rows

__all__ = ["ENGLISH_ANCHOR", "Found", "Inventory", "ListedInventory", "Target", "cite_rows", "find", "parse"]
