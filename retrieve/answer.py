"""How a hit is shown: the source line and fields the consumers read, with their fall-backs for older chunks
(contract §7.1, §7.2).
"""

from collections.abc import Mapping
from typing import Any


def source_line(payload: Mapping[str, Any]) -> str:
    """Return what stands after "Quelle N:": the label, else the parts that are there, else "Unbekannt"."""
    label = str(payload.get("article_label") or "").strip()
    if label:
        return label
    law = payload.get("regulation_short") or payload.get("regulation_name") or regulation_code(payload)
    parts = (law, article(payload), payload.get("paragraph"), payload.get("sub"))
    return " ".join(str(part) for part in parts if part) or "Unbekannt"


def regulation_code(payload: Mapping[str, Any]) -> Any:
    """Return the code, or what older chunks have for it."""
    return payload.get("regulation_code") or payload.get("regulation_id")


def article(payload: Mapping[str, Any]) -> Any:
    """Return the article, or what older chunks have for it ("§ 38")."""
    return payload.get("article") or payload.get("section")


def response(payload: Mapping[str, Any], score: float) -> dict[str, Any]:
    """Return the response fields of the contract's §7.1 for one hit."""
    return {
        "article_label": payload.get("article_label"),
        "regulation_code": regulation_code(payload),
        "article": article(payload),
        "paragraph": payload.get("paragraph"),
        "sub": payload.get("sub"),
        "citation_style": payload.get("citation_style"),
        "is_recital": bool(payload.get("is_recital")),
        "text": payload.get("chunk_text"),
        "regulation_name": payload.get("regulation_name_de"),
        "regulation_short": payload.get("regulation_short"),
        "category": payload.get("category"),
        "pages": payload.get("pages"),
        "source_url": payload.get("source"),
        "score": score,
    }
