"""The legal tree every reader builds: act → provision (§, Artikel, recital, annex) → Absatz → blocks of text.

A block is a run of text at one place of the outline; list items carry their path (Nr. 3 lit. a). Text is clean (DESIGN
§5) and holds neither headings nor Absatz numbers. Footnotes and editorial notes are no law text and stand apart.
"""

from dataclasses import dataclass
from typing import Literal

from normalize.citation import Style
from normalize.units import Path

Kind = Literal["norm", "recital", "annex", "part"]


@dataclass(frozen=True, slots=True)
class Block:
    """A run of clean text. `marker` is the printed list label ("1.", "a)") that stands before it, or "".

    `sentences` holds the offsets in `text` where the source itself numbers a sentence; empty where it does not.
    `quoted` text is the wording of another act (amending law): its numbers are no units of this act. `row` is the
    number of the table row that the block is, where the table's rows are cited by number ("1.1.1"). Full stops of a
    block that counts not (`counts`) end no Satz: it is a row or an entry of a list without units.
    """

    text: str
    path: Path = ()
    marker: str = ""
    page: int | None = None
    sentences: tuple[int, ...] = ()
    quoted: bool = False
    row: str = ""
    counts: bool = True


@dataclass(frozen=True, slots=True)
class Absatz:
    """One Absatz: its bare number, or None where the provision has no numbered Absätze."""

    number: str | None
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Provision:
    """One § or Artikel, recital, annex or named part, in document order.

    `article` is the bare number ("38", "312a") or the name of the part ("Anhang I", "Präambel"). A provision without
    Absätze is a tombstone: repealed, or a collapsed range; it stays in the inventory but gives no chunk. German law
    cites an item with the Satz its list hangs on (`satz_before_items`), whether it has § or Artikel; EU acts do not.
    """

    kind: Kind
    article: str
    style: Style
    heading: str | None = None
    context: tuple[str, ...] = ()
    absaetze: tuple[Absatz, ...] = ()
    footnotes: tuple[str, ...] = ()
    satz_before_items: bool = False


@dataclass(frozen=True, slots=True)
class Act:
    """One document as its reader understood it; what the source does not say is None.

    `short` is the law as people cite it; `key` a database's key for it ("BGBEG" for the EGBGB), which is none. `names`
    are further names the act is known by (database key, long title), for matching old points and hints.
    """

    document_id: str | None
    code: str | None
    short: str | None
    name: str | None
    style: Style
    date: str | None
    language: str
    provisions: tuple[Provision, ...]
    names: tuple[str, ...] = ()
    key: str | None = None
    celex: str | None = None
    doc_type: str | None = None
    year: int | None = None
