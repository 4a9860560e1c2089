"""The older citation of a control: where its wording once stood, as far as that can be read (DESIGN §7).

It breaks ties inside a law, and it reveals wording that moved: old words that today stand in another provision.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from normalize.legacy_fields import legacy_citation

_BELOW = " § "
_RECITAL = "ErwG "


@dataclass(frozen=True, slots=True)
class OldPlace:
    """What an older citation says: a regulation (None: none), an article and perhaps an Absatz, all bare."""

    regulation: str | None
    article: str
    paragraph: str | None
    is_recital: bool = False


@dataclass(frozen=True, slots=True)
class Cited:
    """An older citation in a corpus; `documents` are those that it may mean, none if it names no regulation."""

    documents: tuple[int, ...]
    article: str
    paragraph: str | None
    is_recital: bool

    def agrees(self, document: int, place: tuple[str, str | None, str | None, bool]) -> bool:
        """Return whether a place (document id, article, Absatz, recital) of a document may be the cited one.

        An Absatz that only one of them names is no contradiction: a § without Absätze, a text over several of them.
        """
        _, article, paragraph, is_recital = place
        if article is None or is_recital != self.is_recital or (self.documents and document not in self.documents):
            return False
        # people cite a § of an Artikelgesetz without its Artikel
        short = article.rsplit(_BELOW, 1)[-1] if _BELOW not in self.article else article
        same = self.article.casefold() in (article.casefold(), short.casefold())
        return same and (not self.paragraph or not paragraph or paragraph.casefold() == self.paragraph.casefold())


def old_place(citation: Mapping[str, Any] | None) -> OldPlace | None:
    """Return the place that a `source_citation` names, in the contract's fields or in those of the old corpus.

    None where it names no article that can be read: a mere source says nothing that the hint does not say.
    """
    if not citation:
        return None
    article, paragraph = _text(citation, "article"), _text(citation, "paragraph")
    if article is None:
        return None
    regulation = _text(citation, "regulation_code") or _text(citation, "source")
    if citation.get("regulation_code") and (written := _text(citation, "article_label")):
        return OldPlace(regulation, article, paragraph, written.startswith(_RECITAL))
    section = f"§ {article}" if article[0].isdigit() else article
    fields = legacy_citation({"section": section, "paragraph": paragraph})
    if fields.article is None:
        return None
    is_recital = fields.is_recital or citation.get("is_recital") is True
    return OldPlace(regulation, fields.article, fields.paragraph, is_recital)


def _text(citation: Mapping[str, Any], name: str) -> str | None:
    value = citation.get(name)
    text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return text or None
