"""What finding citations gives: spans of text, and the places each span names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from normalize.citation import Citation, Style
from normalize.laws import Law
from normalize.units import Path


@dataclass(frozen=True, slots=True)
class Target:
    """One place a citation names.

    `resolved` says that code, norm and path are certain; `note` says why they are not. `law_name` is the law as the
    text writes it, or None where it names none.
    """

    citation: Citation
    resolved: bool
    note: str | None = None
    law_name: str | None = None

    def as_row(self) -> dict[str, Any]:
        """Return the JSON shape of a target."""
        cited = self.citation
        return {
            "regulation_code": cited.regulation_code,
            "citation_style": cited.citation_style,
            "article": cited.article,
            "paragraph": cited.paragraph,
            "sub": cited.sub,
            "is_recital": cited.is_recital,
            "label": cited.label,
            "resolved": self.resolved,
        }


@dataclass(frozen=True, slots=True)
class Found:
    """A citation at `start` to `end` of a text; `complete` is False where a part of it could not be read."""

    text: str
    start: int
    end: int
    complete: bool
    targets: tuple[Target, ...]

    def as_row(self) -> dict[str, Any]:
        """Return the JSON shape of a found citation."""
        return {
            "text": self.text,
            "start": self.start,
            "end": self.end,
            "complete": self.complete,
            "targets": [target.as_row() for target in self.targets],
        }


class Inventory(Protocol):
    """The norms of ingested laws in their order; against it a range is expanded (never by counting)."""

    def articles(self, code: str) -> Sequence[str] | None:
        """Return the article numbers of a law in order, or None if the law is not ingested."""

    def paragraphs(self, code: str, article: str) -> Sequence[str] | None:
        """Return the numbers of the Absätze of an article in order, or None if they are not known."""


@dataclass(frozen=True, slots=True)
class ListedInventory:
    """An inventory held in memory: articles by code, Absätze by (code, article)."""

    listed_articles: Mapping[str, Sequence[str]]
    listed_paragraphs: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)

    def articles(self, code: str) -> Sequence[str] | None:
        """Return the article numbers of a law in order, or None."""
        return self.listed_articles.get(code)

    def paragraphs(self, code: str, article: str) -> Sequence[str] | None:
        """Return the numbers of the Absätze of an article in order, or None."""
        return self.listed_paragraphs.get((code, article))


@dataclass(frozen=True, slots=True)
class LawName:
    """A law named in a text: what stands there, and the law of the table if there is exactly one."""

    name: str
    end: int
    law: Law | None = None
    is_this: bool = False
    celex: str | None = None
    is_book: bool = False
    """Named as "des Elften Buches", which is a law inside the Sozialgesetzbuch only."""


@dataclass(slots=True)
class Element:
    """One place while its citation is being read; the law often comes only at the end of the chain."""

    style: Style | None
    """§ or Art. as written; None for annexes, recitals and units without a norm."""
    article: str | None
    path: Path = ()
    is_recital: bool = False
    following: str = ""
    version: str = ""
    law: LawName | None = None
    ranged: bool = False
    """A range runs from this place to the next one."""
    chained: bool = False
    """Tied to the place before it by "in Verbindung mit" and a marker of its own."""
    doubt: str | None = None
    short_form: bool = False
    """Written with a roman Absatz (§ 433 II)."""
