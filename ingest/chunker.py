"""The `legal` chunker: one chunk an Absatz, split at units only where it is too long, each with its exact citation.

Text is neither lost nor repeated: the chunks of an Absatz, joined, are the Absatz. A chunk never reaches over two
Absätze, so its Fundstelle is never wider than its text.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from backends.embedders import TokenLimit
from backends.vectors.store import SparseVector
from ingest.compose import DIVISIONS, Composed, Span, compose_absatz, write_sub
from ingest.tree import Absatz, Block, Provision
from normalize import identity
from normalize.citation import label
from normalize.payload import check_payload
from normalize.text import NORMALIZER_VERSION

CHUNKER_VERSION = "legal-2"
MAX_CHARACTERS = 2000
# A stem longer than this says more than the list needs; the embedder gets only its end.
_LONGEST_STEM = 400
_INNERMOST = 99
# Shorter pieces are not made for the sake of tokens: then it is label, heading and stem that fill the window.
_SHORTEST_FOR_TOKENS = 200
# A model that sees this many tokens sees every chunk of the default size whole.
_AMPLE_TOKENS = 2 * MAX_CHARACTERS


def chunker_version(tokens: TokenLimit | None) -> str:
    """Return the version of the chunker that works under a token limit; ample limits change nothing, nor its name."""
    return CHUNKER_VERSION if tokens is None else f"{CHUNKER_VERSION}/{limit_name(tokens)}"


def limit_name(tokens: TokenLimit | None) -> str:
    """Return what to call the limit that chunks are cut under; "characters" where tokens do not count."""
    return "characters" if tokens is None else f"tokens={tokens.tokens}/{tokens.tokenizer}"


def in_force(tokens: TokenLimit | None) -> TokenLimit | None:
    """Return the token limit if a chunk of the default size could exceed it, else None."""
    return tokens if tokens is not None and tokens.tokens < _AMPLE_TOKENS else None


@dataclass(frozen=True, slots=True)
class Document:
    """What the payloads of one document share; from the manifest, else from the file, else null.

    `chunker_version` says which limits it is chunked under (`chunker_version`).
    """

    document_id: str
    document_version: str
    regulation_code: str
    regulation_short: str
    regulation_name: str | None
    language: str = "de"
    doc_type: str | None = None
    source_type: str | None = None
    source_class: str | None = None
    license: str | None = None
    source_url: str | None = None
    use_case: tuple[str, ...] = ()
    bundesland: str | None = None
    year: int | None = None
    chunker_version: str = CHUNKER_VERSION


@dataclass(frozen=True, slots=True)
class Chunk:
    """A contract payload, and the text the embedder and BM25 see (heading and list stem in front).

    `terms` are its BM25 terms where they have been made already.
    """

    payload: dict[str, Any]
    embed_text: str
    language: str
    terms: SparseVector | None = None

    @property
    def chunk_id(self) -> str:
        """The deterministic id of the contract."""
        return str(self.payload["chunk_id"])

    @property
    def point_id(self) -> str:
        """The id of the chunk's point in the vector store."""
        return identity.point_id(self.chunk_id)

    @property
    def chunk_hash(self) -> str:
        """The sha256 of the chunk's text."""
        return str(self.payload["chunk_hash"])


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of an Absatz that becomes one chunk: characters `start` to `end` of the composed text."""

    start: int
    end: int
    stem: str


def chunk_act(
    document: Document,
    provisions: Iterable[Provision],
    *,
    limit: int = MAX_CHARACTERS,
    tokens: TokenLimit | None = None,
) -> Iterator[Chunk]:
    """Yield the chunks of a document in document order.

    `limit` is the longest chunk in characters, `tokens` the most tokens that the embedder sees of a chunk with the
    heading and stem in front of it.

    Raises ContractError if a payload would break the contract.
    """
    index = 0
    for provision in provisions:
        for absatz in provision.absaetze:
            composed = compose_absatz(provision, absatz)
            for piece in _pieces(document, provision, absatz, composed, limit, tokens):
                yield _chunk(document, provision, absatz, composed, piece, index)
                index += 1


def _pieces(
    document: Document, provision: Provision, absatz: Absatz, composed: Composed, limit: int, tokens: TokenLimit | None
) -> list[Piece]:
    """Split an Absatz so that every piece keeps both limits; the one in tokens by lowering the one in characters."""
    pieces = split(composed, limit)
    while tokens is not None and pieces and limit > _SHORTEST_FOR_TOKENS:
        labels = [_label(document, provision, absatz, _sub(composed, piece)) for piece in pieces]
        texts = [_embed_text(name, provision, composed, piece) for name, piece in zip(labels, pieces, strict=True)]
        most = max(_at_most(text, tokens) for text in texts)
        if most <= tokens.tokens:
            break
        longest = max(piece.end - piece.start for piece in pieces)
        limit = max(_SHORTEST_FOR_TOKENS, min(limit, longest) * tokens.tokens * 9 // (most * 10))
        pieces = split(composed, limit)
    return pieces


def _at_most(text: str, tokens: TokenLimit) -> int:
    """The tokens of a text; a text of few bytes need not be counted, since every token but a few has a byte."""
    size = len(text.encode()) + 8
    return size if size <= tokens.tokens else tokens.count(text)


def _label(document: Document, provision: Provision, absatz: Absatz, sub: str | None) -> str:
    is_recital = provision.kind == "recital"
    return label(
        document.regulation_short, provision.style, provision.article, absatz.number, sub, is_recital=is_recital
    )


def _embed_text(article_label: str, provision: Provision, composed: Composed, piece: Piece) -> str:
    """The text that embedder and BM25 see: the chunk, with label, heading and list stem in front."""
    front = (article_label, _header(provision), piece.stem)
    return "\n".join(part for part in (*front, composed.text[piece.start : piece.end]) if part)


def _header(provision: Provision) -> str | None:
    return provision.heading or (provision.context[-1] if provision.context else None)


def _chunk(
    document: Document, provision: Provision, absatz: Absatz, composed: Composed, piece: Piece, index: int
) -> Chunk:
    text = composed.text[piece.start : piece.end]
    inside = [u for u in composed.units if piece.start <= u.start and u.end <= piece.end]
    sub = _sub(composed, piece)
    article_label = _label(document, provision, absatz, sub)
    pages = _pages(absatz.blocks, composed, piece)
    code = document.regulation_code
    payload: dict[str, Any] = {
        "article_label": article_label,
        "regulation_code": code,
        "citation_style": provision.style,
        "article": provision.article,
        "paragraph": absatz.number,
        "sub": sub,
        "is_recital": provision.kind == "recital",
        "regulation_name": document.regulation_name,
        "regulation_name_de": document.regulation_name,
        "regulation_short": document.regulation_short,
        "page": pages[0] if pages else None,
        "pages": pages,
        "chunk_text": text,
        "section_header": _header(provision),
        "chunk_id": identity.chunk_id(code, provision.article, absatz.number, index, document.document_version),
        "chunk_hash": identity.chunk_hash(text),
        "document_id": document.document_id,
        "document_version": document.document_version,
        "chunk_index": index,
        "doc_type": document.doc_type,
        "use_case": list(document.use_case),
        "source_type": document.source_type,
        "source_class": document.source_class,
        "category": document.source_class,
        "license": document.license,
        "source": document.source_url,
        "source_url": document.source_url,
        "bundesland": document.bundesland,
        "year": document.year,
        "units": [
            {"start": u.start - piece.start, "end": u.end - piece.start, "sub": write_sub(u.path)} for u in inside
        ],
        "references_out": [],
        "references_in": [],
        "chunker_version": document.chunker_version,
        "normalizer_version": NORMALIZER_VERSION,
    }
    check_payload(payload)
    return Chunk(payload, _embed_text(article_label, provision, composed, piece), document.language)


def _sub(composed: Composed, piece: Piece) -> str | None:
    """The finest unit in which the whole piece lies; None for a whole Absatz, unless all of it is part of an annex."""
    whole = piece.start == 0 and piece.end == len(composed.text)
    around = [u for u in composed.units if u.start <= piece.start and piece.end <= u.end]
    if whole:
        around = [u for u in around if u.path[-1].level in DIVISIONS]
    return write_sub(min(around, key=_fineness).path) if around else None


def _fineness(unit: Span) -> tuple[int, int, int]:
    """Of units that are the same text the outer one is cited, but the innermost division of an annex."""
    below = sum(step.level not in DIVISIONS for step in unit.path)
    return unit.end - unit.start, below, -len(unit.path) if not below else len(unit.path)


def _pages(blocks: Sequence[Block], composed: Composed, piece: Piece) -> list[int]:
    kept = [block for block in blocks if block.text or block.marker]
    pages = {
        block.page
        for block, (start, end) in zip(kept, composed.blocks, strict=True)
        if block.page is not None and start < piece.end and piece.start < end
    }
    return sorted(pages)


# --- Splitting -----------------------------------------------------------------------------------------------------


def split(composed: Composed, limit: int) -> list[Piece]:
    """Cut a text into as few pieces of at most `limit` characters as it takes, of about equal size, between its units.

    Of the cuts near the ideal size the one before the outermost unit wins (a whole Nr. rather than a lit.), then the
    nearest. Only a unit that is too long by itself is cut inside, at a blank.
    """
    text = composed.text
    if len(text) <= limit:
        return [Piece(0, len(text), "")] if text else []
    cuts = _cuts(composed)
    pieces: list[Piece] = []
    start = 0
    while len(text) - start > limit:
        left = len(text) - start
        ideal = left / math.ceil(left / limit)
        cut = _best_cut(cuts, start, ideal, limit)
        if cut is None:
            cut = _blank_before(text, start, start + limit)
        pieces.append(_trimmed(composed, start, cut))
        start = cut
    pieces.append(_trimmed(composed, start, len(text)))
    return [piece for piece in pieces if piece.end > piece.start]


def _cuts(composed: Composed) -> list[tuple[int, int]]:
    """Return (position, depth) of every place where a unit or block begins; depth 1 is outermost."""
    depths: dict[int, int] = {start: _INNERMOST for start, _ in composed.blocks}
    for unit in composed.units:
        depths[unit.start] = min(depths.get(unit.start, _INNERMOST), _depth(unit))
    return sorted(depths.items())


def _depth(unit: Span) -> int:
    """How deep a unit lies; the number of a table's row says it itself ("1.1.2")."""
    return len(unit.path) + unit.path[-1].value.count(".")


def _best_cut(cuts: Sequence[tuple[int, int]], start: int, ideal: float, limit: int) -> int | None:
    near = [cut for cut in cuts if start + 0.6 * ideal <= cut[0] <= start + min(1.4 * ideal, limit)]
    any_size = near or [cut for cut in cuts if start < cut[0] <= start + limit]
    if not any_size:
        return None
    if not near:
        return max(position for position, _ in any_size)
    return min(near, key=lambda cut: (cut[1], abs(cut[0] - start - ideal)))[0]


def _blank_before(text: str, start: int, end: int) -> int:
    at = max(text.rfind(" ", start + 1, end), text.rfind("\n", start + 1, end))
    return at + 1 if at > start else end


def _trimmed(composed: Composed, start: int, end: int) -> Piece:
    while end > start and composed.text[end - 1].isspace():
        end -= 1
    return Piece(start, end, _stem(composed, start))


def _stem(composed: Composed, position: int) -> str:
    """The lead-in of the list that the piece goes on with: the text of the enclosing unit before its first item."""
    if position == 0:
        return ""
    items = [
        u for u in composed.units if u.start <= position < u.end and u.path[-1].level not in ("satz", "unterabsatz")
    ]
    first = min((u.start for u in composed.units if items and _is_sibling(u, items[0])), default=position)
    stem = composed.text[: min(first, position)].strip()[-_LONGEST_STEM:]
    if not (first < position or items):
        return ""
    rows = [
        composed.text[u.start : u.end].split("\n", 1)[0] for u in items if u.start < position and _has_rows(u, items)
    ]
    return "\n".join([stem, *rows]) if rows else stem


def _has_rows(unit: Span, inside: Sequence[Span]) -> bool:
    """Whether a unit is a table's row that others of the same units count below ("1.1" of "1.1.2")."""
    above = unit.path[-1].value
    return any(u.path[:-1] == unit.path[:-1] and u.path[-1].value.startswith(f"{above}.") for u in inside)


def _is_sibling(unit: Span, item: Span) -> bool:
    return unit.path[:-1] == item.path[:-1] and unit.path[-1].level == item.path[-1].level
