"""Citation edges between the documents of a manifest: which norm cites which (DESIGN §3, `references_out` / `_in`).

Citations can be resolved only when all documents are known, so they are collected while the documents go by and
resolved at the end of the pass: a law that joins the manifest later gives its edges to all others, whose payloads then
differ and are rewritten. Edges are therefore no part of a document's version.

An edge needs certainty: a law of the manifest, a norm it has, an Absatz it has. Less gives none, and is counted.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from sys import intern

from ingest.chunker import Chunk
from ingest.documents import Loaded, alias_key
from normalize.citation import Citation
from normalize.citing import ListedInventory, Target, find
from normalize.edges import article_key, norm_key, split_key
from normalize.laws import Law, LawTable

# Chunks without any of these hold no citation; most chunks do not.
_MARKER = re.compile(r"§|\bArt|\bAbs|\bAnlage|\bAnhang|\bAnhänge|\bErw|\bPräambel|\bSatz|\bNummer|\bBuchstabe")
_THIS_LAW = re.compile(r"(?:dies|vorliegend)", re.IGNORECASE)


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
        whole = article_key(key)
        citing = {*self.into.get(key, ()), *self.into.get(whole, ())} - {key}
        return list(cited), sorted(citing, key=self.order.__getitem__)

    def fill(self, chunk: Chunk) -> Chunk:
        """Return the chunk with its edges in the payload."""
        cites, cited_by = self.of(chunk.payload)
        return replace(chunk, payload=chunk.payload | {"references_out": cites, "references_in": cited_by})


@dataclass(frozen=True, slots=True)
class _Text:
    """A chunk's text that may hold citations."""

    index: int
    key: str
    norm: str | None
    text: str


@dataclass(slots=True)
class EdgeCollector:
    """Takes the documents of a pass one after the other, and resolves their citations at its end."""

    _laws: list[Law] = field(default_factory=list)
    _texts: dict[str, list[_Text]] = field(default_factory=dict)
    _law_of: dict[str, Law] = field(default_factory=dict)
    _norms: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    _listed: dict[str, tuple[list[str], dict[str, list[str]]]] = field(default_factory=dict)
    _by_code: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    _by_alias: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _order: dict[str, int] = field(default_factory=dict)

    def add(self, loaded: Loaded, chunks: Sequence[Chunk]) -> None:
        """Take one document: its names, its norms, and the texts that may cite."""
        document = loaded.document
        document_id = document.document_id
        norms = [p for p in loaded.provisions if p.kind == "norm"]
        law = Law(
            document.regulation_code, document.regulation_short, document.regulation_name,
            norms[0].style if norms else None, loaded.spellings,
        )  # fmt: skip
        self._laws.append(law)
        self._law_of[document_id] = law
        self._by_code[law.code].append(document_id)
        for alias in loaded.names.aliases - {""}:
            self._by_alias[alias].add(document_id)
        paragraphs = {
            n.article: [a.number for a in n.absaetze if a.number is not None] for n in norms
        }  # repealed norms count for ranges
        self._listed[document_id] = ([n.article for n in norms], {a: p for a, p in paragraphs.items() if p})
        held: dict[str, list[str]] = {}
        texts = []
        for chunk in chunks:
            payload = chunk.payload
            key = norm_key(payload)
            if key is None:
                continue
            key = intern(key)
            self._order.setdefault(key, len(self._order))
            held.setdefault(article_key(key), []).append(key)
            if _MARKER.search(payload["chunk_text"]):
                norm = payload["article"] if not payload["is_recital"] else None
                texts.append(_Text(payload["chunk_index"], key, norm, payload["chunk_text"]))
        self._norms[document_id] = held
        self._texts[document_id] = texts

    def resolve(self, laws: LawTable) -> Edges:
        """Find and resolve all citations; `laws` is the table that the manifest's own laws are added to."""
        table = laws.with_laws(self._laws)
        inventory = self._inventory()
        out: dict[str, dict[int, tuple[str, ...]]] = {}
        into: dict[str, dict[str, None]] = defaultdict(dict)
        counts: Counter[str] = Counter()
        for document_id, texts in self._texts.items():
            law = self._law_of[document_id]
            cites: dict[int, tuple[str, ...]] = {}
            for text in texts:
                found = find(text.text, table, this_law=law, this_norm=text.norm, inventory=inventory)
                keys = self._keys((target for one in found for target in one.targets), document_id, counts)
                own = {text.key, article_key(text.key)}
                kept = tuple(key for key in keys if key not in own)
                if kept:
                    cites[text.index] = kept
                    for key in kept:
                        into[key][text.key] = None
            out[document_id] = cites
            texts.clear()  # a corpus is not held twice
        counts["edges"] = sum(len(kept) for cites in out.values() for kept in cites.values())
        cited_by = {key: tuple(citing) for key, citing in into.items()}
        return Edges(out, cited_by, self._order, dict(sorted(counts.items())))

    def _inventory(self) -> ListedInventory:
        """The norms by code, for ranges; a code that two laws share has none."""
        articles = {}
        paragraphs: dict[tuple[str, str], list[str]] = {}
        for code, documents in self._by_code.items():
            if len(documents) == 1:
                articles[code], numbered = self._listed[documents[0]]
                paragraphs |= {(code, article): numbers for article, numbers in numbered.items()}
        return ListedInventory(articles, paragraphs)

    def _keys(self, targets: Iterable[Target], own: str, counts: Counter[str]) -> list[str]:
        keys: dict[str, None] = {}
        for target in targets:
            cited = target.citation
            if cited.article is None:
                continue
            if not target.resolved:
                counts["not certain"] += 1
                continue
            document_id = self._document(target, own)
            if document_id is None:
                counts["law not in the manifest"] += 1
                continue
            key = self._key(document_id, cited)
            if key is None:
                counts["norm not found"] += 1
                continue
            counts["resolved"] += 1
            keys[key] = None
        return list(keys)

    def _document(self, target: Target, own: str) -> str | None:
        """The one document that a target's law is; of two laws with one code the one whose name alone it is."""
        code, name = target.citation.regulation_code, target.law_name
        if code == self._law_of[own].code and (name is None or _THIS_LAW.match(name)):
            return own
        candidates = self._by_code.get(code, [])
        if len(candidates) > 1 and name is not None:
            named = self._by_alias.get(alias_key(name), set())
            candidates = [document_id for document_id in candidates if document_id in named]
        return candidates[0] if len(candidates) == 1 else None

    def _key(self, document_id: str, cited: Citation) -> str | None:
        """The key of a cited norm that the document has; its Absatz where one is cited."""
        whole = norm_key({"document_id": document_id, "article": cited.article, "is_recital": cited.is_recital})
        held = self._norms[document_id].get(whole or "")
        if whole is None or held is None:
            return None
        if cited.paragraph is None:
            return intern(whole)
        return next((key for key in held if split_key(key)[2] == cited.paragraph), None)
