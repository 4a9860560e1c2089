"""What the documents of a manifest teach the citation grammar: their laws by name, and which norms they have.

The law table knows the hand-kept laws; the corpus adds its own from its metadata. Against the inventory a range
("§§ 3 bis 7") is expanded, with every inserted 3a that the law really has.
"""

from dataclasses import dataclass

from ingest.documents import load
from ingest.manifest import Manifest
from normalize.citing import ListedInventory
from normalize.laws import Law, LawTable


@dataclass(frozen=True, slots=True)
class KnownLaws:
    """A law table with the laws of a corpus, and the norms these laws have (repealed ones included)."""

    laws: LawTable
    inventory: ListedInventory


def known_laws(manifest: Manifest, laws: LawTable) -> KnownLaws:
    """Read the documents of a manifest and return what they add to `laws`. Raises the errors of `ingest.documents`."""
    found: list[Law] = []
    articles: dict[str, list[str]] = {}
    paragraphs: dict[tuple[str, str], list[str]] = {}
    for entry in manifest.documents:
        loaded = load(entry, laws)
        document = loaded.document
        norms = [p for p in loaded.provisions if p.kind == "norm"]
        style = norms[0].style if norms else None
        found.append(
            Law(document.regulation_code, document.regulation_short, document.regulation_name, style, loaded.spellings)
        )
        articles[document.regulation_code] = [norm.article for norm in norms]
        for norm in norms:
            numbers = [absatz.number for absatz in norm.absaetze if absatz.number is not None]
            if numbers:
                paragraphs[document.regulation_code, norm.article] = numbers
    return KnownLaws(laws.with_laws(found), ListedInventory(articles, paragraphs))
