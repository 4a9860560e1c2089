"""Citation edges between the documents of a manifest: which norm cites which (DESIGN §3, `references_out` / `_in`).

Citations can be resolved only when all documents are known, so of each document is kept what may cite and what can be
cited (`norms_of`), and all is resolved at the end of the pass. A law that joins the manifest later gives its edges to
all others, whose payloads then differ and are rewritten; edges are therefore no part of a document's version.

An edge needs certainty: a law of the manifest, a norm it has, an Absatz it has. Less gives none, and is counted.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from sys import intern

from ingest.chunker import Chunk
from ingest.documents import Loaded
from ingest.known_laws import Listed, inventory_of, law_of, listed
from normalize.citation import UNKNOWN
from normalize.citing import ENGLISH_ANCHOR, Inventory, ListedInventory, Target, find
from normalize.edges import article_key, norm_key
from normalize.laws import Law, LawTable

# Chunks without any of these name no other norm; a third of all chunks does not.
_MARKER = re.compile(r"§|\b(?:A(?:rt|RT|bs|nlage|NLAGE|nh[aä]ng|NHANG)|Paragra|Erw|EG \d|Präambel)")
_THIS_LAW = re.compile(
    r"(?:de[rs] )?(?:diese|vorliegend)|(?:(?:of|to|in|under) )?(?:the )?(?:this|present) ", re.IGNORECASE
)

RESOLVED = "resolved"
NO_LAW = "law not in the manifest"
NO_NORM = "norm not found"
UNCERTAIN = "not certain"
EDGES = "edges"


@dataclass(frozen=True, slots=True)
class Edges:
    """The edges of one pass: `out` what each chunk cites (document id → chunk index → keys), `into` who cites a key.

    `order` is the place of every key in the manifest; `counts` says how many citations gave an edge, and why not.
    """

    out: Mapping[str, Mapping[int, tuple[str, ...]]]
    into: Mapping[str, tuple[str, ...]]
    order: Mapping[str, int]
    counts: Mapping[str, int]

    def of(self, payload: Mapping[str, object]) -> tuple[list[str], list[str]]:
        """Return `references_out` and `references_in` of a chunk, given its payload.

        Cited by: who cites its Absatz, and who cites its article as a whole; in the order of the manifest.
        """
        cited = self.out.get(str(payload["document_id"]), {}).get(int(str(payload["chunk_index"])), ())
        key = norm_key(payload)
        if key is None:
            return list(cited), []
        citing = {*self.into.get(key, ()), *self.into.get(article_key(key), ())} - {key}
        return list(cited), sorted(citing, key=self.order.__getitem__)

    def fill(self, chunk: Chunk) -> Chunk:
        """Return the chunk with its edges in the payload."""
        cites, cited_by = self.of(chunk.payload)
        return replace(chunk, payload=chunk.payload | {"references_out": cites, "references_in": cited_by})


@dataclass(frozen=True, slots=True)
class CitingText:
    """The text of a chunk that may cite: its place, the norm it is of, and the article that "Absatz 2" is one of."""

    index: int
    key: str
    article: str | None
    text: str


@dataclass(frozen=True, slots=True)
class DocumentNorms:
    """What the edges need of one document: its law, the keys of its norms in order, and the texts that may cite."""

    document_id: str
    language: str
    law: Law
    listed: Listed
    keys: tuple[str, ...]
    texts: tuple[CitingText, ...]


def norms_of(loaded: Loaded, chunks: Iterable[Chunk]) -> DocumentNorms:
    """Return what the edges need of a document and its chunks."""
    keys: dict[str, None] = {}
    texts = []
    document = loaded.document
    marker = ENGLISH_ANCHOR if document.language == "en" else _MARKER
    for chunk in chunks:
        payload = chunk.payload
        key = norm_key(payload)
        if key is None:
            continue
        keys.setdefault(key)
        if marker.search(payload["chunk_text"]):
            article = None if payload["is_recital"] else payload["article"]
            texts.append(CitingText(payload["chunk_index"], key, article, payload["chunk_text"]))
    return DocumentNorms(
        document.document_id, document.language, law_of(loaded), listed(loaded), tuple(keys), tuple(texts)
    )


def resolve(documents: Sequence[DocumentNorms], laws: LawTable) -> Edges:
    """Find and resolve the citations of all documents; their own laws are added to the table `laws`.

    A chunk gets no edge to its own Absatz or article.
    """
    corpus = _Corpus.of(documents, laws)
    out: dict[str, dict[int, tuple[str, ...]]] = {}
    into: dict[str, dict[str, None]] = defaultdict(dict)
    counts = Counter(dict.fromkeys((RESOLVED, NO_LAW, NO_NORM, UNCERTAIN, EDGES), 0))
    for document in documents:
        inventory = corpus.inventory_for(document)
        cites: dict[int, tuple[str, ...]] = {}
        for text in document.texts:
            found = find(
                text.text,
                corpus.table,
                this_law=document.law,
                this_norm=text.article,
                inventory=inventory,
                language=document.language,
            )
            targets = (target for one in found for target in one.targets)
            keys = corpus.keys(targets, document, counts)
            own = {text.key, article_key(text.key)}
            kept = tuple(key for key in keys if key not in own)
            if kept:
                cites[text.index] = kept
                for key in kept:
                    into[key].setdefault(text.key)
                counts[EDGES] += len(kept)
        if cites:
            out[document.document_id] = cites
    return Edges(out, {key: tuple(citing) for key, citing in into.items()}, corpus.order, dict(counts))


@dataclass(frozen=True, slots=True)
class _Corpus:
    """All documents together: the names of their laws, their norms, and the place of every norm."""

    table: LawTable
    twins: LawTable
    """Laws that share their code, by document id."""
    inventory: ListedInventory
    by_code: Mapping[str, Sequence[DocumentNorms]]
    articles: Mapping[str, str]
    order: Mapping[str, int]

    @classmethod
    def of(cls, documents: Sequence[DocumentNorms], laws: LawTable) -> "_Corpus":
        by_code: dict[str, list[DocumentNorms]] = defaultdict(list)
        order: dict[str, int] = {}
        articles: dict[str, str] = {}
        for document in documents:
            by_code[document.law.code].append(document)
            for key in document.keys:
                order.setdefault(intern(key), len(order))
                whole = article_key(key)
                articles.setdefault(whole, intern(whole))
        twins = [d for found in by_code.values() if len(found) > 1 for d in found]
        return cls(
            laws.with_laws(document.law for document in documents),
            LawTable([replace(document.law, code=document.document_id) for document in twins]),
            inventory_of((document.law, document.listed) for document in documents),
            by_code,
            articles,
            order,
        )

    def inventory_for(self, document: DocumentNorms) -> Inventory:
        """The inventory as a document sees it: a code that it shares with another law is its own."""
        code = document.law.code
        if len(self.by_code[code]) == 1:
            return self.inventory
        own = document.listed
        return ListedInventory(
            {**self.inventory.listed_articles, code: own.articles},
            {**self.inventory.listed_paragraphs, **{(code, a): found for a, found in own.paragraphs.items()}},
        )

    def keys(self, targets: Iterable[Target], citing: DocumentNorms, counts: Counter[str]) -> list[str]:
        """Return the keys that targets resolve to, each once; what gives none is counted by its reason."""
        keys: dict[str, None] = {}
        for target in targets:
            if target.citation.article is None:
                continue
            cited, reason = self._document(target, citing)
            key = self._key(cited, target) if cited is not None else None
            if cited is not None:
                reason = NO_NORM if key is None else RESOLVED if target.resolved else UNCERTAIN
            counts[reason] += 1
            if key is not None and reason == RESOLVED:
                keys.setdefault(key)
        return list(keys)

    def _document(self, target: Target, citing: DocumentNorms) -> tuple[DocumentNorms | None, str]:
        """The one document that a target's law is, or why there is none.

        Of documents that share a code it is the one whose name alone the text uses, else the one in the language of
        the text (an EU act in two languages).
        """
        code, name = target.citation.regulation_code, target.law_name
        if code == citing.law.code and (name is None or _THIS_LAW.match(name)):
            return citing, RESOLVED
        sharing = self.by_code.get(code, ())
        if len(sharing) > 1:
            named = self.twins.resolve(name) if name is not None else None
            same_language = [d for d in sharing if d.language == citing.language]
            sharing = [d for d in sharing if named is not None and d.document_id == named.code] or same_language
        if len(sharing) == 1:
            return sharing[0], RESOLVED
        return None, UNCERTAIN if sharing or (code == UNKNOWN and name is None) else NO_LAW

    def _key(self, cited: DocumentNorms, target: Target) -> str | None:
        """The key of a cited norm that the document has; its Absatz where one is cited."""
        citation = target.citation
        place = {
            "document_id": cited.document_id,
            "article": citation.article,
            "paragraph": citation.paragraph,
            "is_recital": citation.is_recital,
        }
        key = norm_key(place)
        if key is None or (citation.paragraph is not None and key not in self.order):
            return None
        return intern(key) if citation.paragraph is not None else self.articles.get(key)
