"""What the documents of a manifest teach the citation grammar: their laws by name, and which norms they have.

The law table knows the hand-kept laws; the corpus adds its own from its metadata. Against the inventory a range
("§§ 3 bis 7") is expanded, with every inserted 3a that the law really has.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ingest.documents import Loaded, load
from ingest.manifest import Manifest
from normalize.citing import ListedInventory
from normalize.laws import Law, LawTable


@dataclass(frozen=True, slots=True)
class Listed:
    """The norms of one law, repealed ones included: articles and annexes in order, and the Absätze of each."""

    articles: tuple[str, ...]
    paragraphs: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class KnownLaws:
    """A law table with the laws of a corpus, and the norms these laws have."""

    laws: LawTable
    inventory: ListedInventory


def known_laws(manifest: Manifest, laws: LawTable) -> KnownLaws:
    """Read the documents of a manifest and return what they add to `laws`. Raises the errors of `ingest.documents`."""
    found: list[tuple[Law, Listed]] = []
    for entry in manifest.documents:
        loaded = load(entry, laws)
        found.append((law_of(loaded), listed(loaded)))
    return KnownLaws(laws.with_laws(law for law, _ in found), inventory_of(found))


def law_of(loaded: Loaded) -> Law:
    """Return a document as an entry of the law table."""
    document = loaded.document
    style = next((p.style for p in loaded.provisions if p.kind == "norm"), None)
    return Law(document.regulation_code, document.regulation_short, document.regulation_name, style, loaded.spellings)


def listed(loaded: Loaded) -> Listed:
    """Return the norms of a document; annexes stand behind all articles, so that a range of articles holds none."""
    norms = [p for p in loaded.provisions if p.kind == "norm"]
    named = [p for p in loaded.provisions if p.kind in ("annex", "part")]
    paragraphs = {p.article: tuple(a.number for a in p.absaetze if a.number is not None) for p in (*norms, *named)}
    return Listed(
        tuple(p.article for p in (*norms, *named)), {article: found for article, found in paragraphs.items() if found}
    )


def inventory_of(laws: Iterable[tuple[Law, Listed]]) -> ListedInventory:
    """Return the norms of all laws by code; a code that two laws share names neither and is left out."""
    by_code: dict[str, list[Listed]] = defaultdict(list)
    for law, norms in laws:
        by_code[law.code].append(norms)
    alone = {code: found[0] for code, found in by_code.items() if len(found) == 1}
    return ListedInventory(
        {code: norms.articles for code, norms in alone.items()},
        {(code, article): found for code, norms in alone.items() for article, found in norms.paragraphs.items()},
    )
