"""Edges between norms: the key that a citation edge names, which stays the same over the versions of a law.

A norm key is `document_id|article|paragraph`: the paragraph is empty for an article as a whole, a recital's article is
written `ErwG 26`. The document's id stands in it, not its code, since one code can mean two laws (DESIGN §4).
"""

from collections.abc import Mapping

_RECITAL = "ErwG "


def norm_key(payload: Mapping[str, object]) -> str | None:
    """Return the key of the Absatz (or article without Absätze) that a chunk is of; None where it does not say."""
    document_id, article, paragraph = (payload.get(name) for name in ("document_id", "article", "paragraph"))
    if not document_id or not article or "|" in f"{document_id}{article}{paragraph}":
        return None  # a key with a further | could not be read back
    return f"{document_id}|{_RECITAL if payload.get('is_recital') else ''}{article}|{paragraph or ''}"


def split_key(key: str) -> tuple[str, str, str]:
    """Return document id, article and paragraph of a key; a recital's article keeps its `ErwG`.

    Raises ValueError for a text that is no key.
    """
    document_id, article, paragraph = key.split("|")
    return document_id, article, paragraph


def article_key(key: str) -> str:
    """Return the key of the whole article that a key is of (`X|38|1` → `X|38|`)."""
    return key[: key.rindex("|") + 1]


def bare_article(article: str) -> str:
    """Return the article of a key as payloads have it (`ErwG 26` → `26`)."""
    return article.removeprefix(_RECITAL)
