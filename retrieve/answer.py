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
    names = (payload.get(field) for field in ("regulation_short", "regulation_name_de", "regulation_name"))
    law = next((name for name in names if name), None) or regulation_code(payload)
    parts = (law, article(payload), payload.get("paragraph"), payload.get("sub"))
    return " ".join(text for part in parts if (text := text_of(part))) or "Unbekannt"


def regulation_code(payload: Mapping[str, Any]) -> Any:
    """Return the code, or what older chunks have for it."""
    return payload.get("regulation_code") or payload.get("regulation_id")


def article(payload: Mapping[str, Any]) -> Any:
    """Return the article, or what older chunks have for it ("§ 38")."""
    return payload.get("article") or payload.get("section")


def place_of(payload: Mapping[str, Any]) -> int:
    """Return a chunk's place in its document; 0 where an older pipeline wrote none, or something else."""
    place = payload.get("chunk_index")
    return place if isinstance(place, int) else 0


def response(payload: Mapping[str, Any], score: float) -> dict[str, Any]:
    """Return the response fields of the contract's §7.1 for one hit.

    What older pipelines wrote under these names may be of any type: a number is shown as text, what is neither is left
    out, and only `true` is true.
    """
    return {
        "article_label": text_of(payload.get("article_label")),
        "regulation_code": text_of(regulation_code(payload)),
        "article": text_of(article(payload)),
        "paragraph": text_of(payload.get("paragraph")),
        "sub": text_of(payload.get("sub")),
        "citation_style": text_of(payload.get("citation_style")),
        "is_recital": payload.get("is_recital") is True,
        "text": text_of(payload.get("chunk_text")),
        "regulation_name": text_of(payload.get("regulation_name_de")),
        "regulation_short": text_of(payload.get("regulation_short")),
        "category": text_of(payload.get("category")),
        "pages": _pages(payload.get("pages")),
        "source_url": text_of(payload.get("source")),
        "score": score,
    }


def unit_names(payload: Mapping[str, Any]) -> list[str]:
    """Return the Satz, Nr. and lit. that a chunk holds wholly, as its `units` name them (or a response does)."""
    units = payload.get("units")
    names = (
        [unit.get("sub") if isinstance(unit, Mapping) else unit for unit in units] if isinstance(units, list) else []
    )
    return [name for name in names if isinstance(name, str)]


def text_of(value: Any) -> str | None:
    """Return a value of a payload as text: a number is written out, what is neither text nor number is None."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _pages(value: Any) -> list[int] | None:
    if not isinstance(value, list):
        return None
    whole = (page for page in value if isinstance(page, int) or (isinstance(page, float) and page.is_integer()))
    return [int(page) for page in whole if not isinstance(page, bool)]
