"""Payloads of the old corpus → the contract (spec/reingest-contract §3): text, identity, scope.

The citation is read by `normalize.legacy_fields`; what an old payload does not say is null and reported.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from normalize import identity
from normalize.citation import label
from normalize.errors import ContractError
from normalize.laws import LawTable
from normalize.legacy_fields import CODE_FIELDS, LegacyFields, Unrecovered, legacy_citation, payload_text
from normalize.payload import check_payload
from normalize.text import NORMALIZER_VERSION, Cleaned, clean, garbage_reason

__all__ = ["Converted", "LegacyFields", "Unrecovered", "convert", "legacy_citation", "to_contract"]

LEGACY_CHUNKER_VERSION: Final = "legacy"

_NEXT_ABSATZ: Final = re.compile(r"[.;:!?“)]\s+\((\d+)[a-z]{0,2}\)\s+(?=[„A-ZÄÖÜ])")

_TEXT_FIELDS: Final = ("chunk_text", "text", "content")


@dataclass(frozen=True, slots=True)
class Converted:
    """A contract payload made of an old one: what its text went through, and what could not be recovered."""

    payload: dict[str, Any]
    cleaned: Cleaned
    unrecovered: tuple[Unrecovered, ...]


def convert(
    payload: Mapping[str, Any],
    *,
    document_id: str,
    document_version: str,
    chunk_index: int,
    chunker_version: str = LEGACY_CHUNKER_VERSION,
    laws: LawTable | None = None,
    known_words: Mapping[str, int] | None = None,
) -> Converted:
    """Make a contract payload of an old one, and tell what could not be recovered.

    Raises ContractError if the payload has no text, a text that is none, or no regulation.
    """
    where = f"Old payload {chunk_index} of {document_id}"
    fields = legacy_citation(payload, laws)
    raw = payload_text(payload, *_TEXT_FIELDS, strip=False)
    if raw is None:
        raise ContractError(
            f"{where} has no text in {', '.join(_TEXT_FIELDS)}; nothing was written, look at its source."
        )
    if reason := garbage_reason(raw):
        raise ContractError(f"{where} is refused: {reason}; ingest the law anew from its source.")
    if fields.regulation_code is None or fields.regulation_short is None:
        raise ContractError(f"{where} names no regulation in {', '.join(CODE_FIELDS)}; say in the manifest what it is.")
    cleaned, lost = _body(clean(raw, "legacy", known_words=known_words), payload, fields)
    if not cleaned.text:
        raise ContractError(f"{where} has nothing but a heading in its text; nothing was written, look at its source.")
    unrecovered = list(fields.unrecovered)
    paragraph, sub = fields.paragraph, fields.sub
    if lost:
        unrecovered.append(lost)
        paragraph = sub = None
    style = fields.style
    if style is None:
        unrecovered.append(Unrecovered("citation_style", None, "neither section nor law tells § or Art."))
        style = "paragraph"  # without an article it prints nothing
    short, article, is_recital = fields.regulation_short, fields.article, fields.is_recital
    made: dict[str, Any] = {
        "article_label": label(short, style, article, paragraph, sub, is_recital=is_recital),
        "regulation_code": fields.regulation_code,
        "citation_style": style,
        "article": article,
        "paragraph": paragraph,
        "sub": sub,
        "is_recital": is_recital,
        "regulation_name": fields.regulation_name,
        "regulation_name_de": payload_text(payload, "regulation_name_de") or fields.regulation_name,
        "regulation_short": short,
        "chunk_text": cleaned.text,
        "section_header": fields.section_header,
        "chunk_id": identity.chunk_id(fields.regulation_code, article, paragraph, chunk_index, document_version),
        "chunk_hash": identity.chunk_hash(cleaned.text),
        "document_id": document_id,
        "document_version": document_version,
        "chunk_index": chunk_index,
        **_scope(payload, unrecovered),
        "units": [],
        "references_out": [],
        "references_in": [],
        "chunker_version": chunker_version,
        "normalizer_version": NORMALIZER_VERSION,
    }
    check_payload(made)
    return Converted(made, cleaned, tuple(unrecovered))


def to_contract(
    payload: Mapping[str, Any], *, document_id: str, document_version: str, chunk_index: int
) -> dict[str, Any]:
    """Return the contract payload of an old one (`convert` also tells what could not be recovered)."""
    return convert(payload, document_id=document_id, document_version=document_version, chunk_index=chunk_index).payload


def _body(cleaned: Cleaned, payload: Mapping[str, Any], fields: LegacyFields) -> tuple[Cleaned, Unrecovered | None]:
    """Take heading and Absatz number off the front of a text (DESIGN §5), and look for a second Absatz in it."""
    text = cleaned.text
    removed = list(cleaned.removed)
    for prefix in _headings(payload):
        if text.startswith(prefix) and not text[len(prefix) : len(prefix) + 1].isalnum():
            removed.append(("legacy-heading", prefix))
            text = text[len(prefix) :].lstrip(" :–—-]")
            break
    number = f"({fields.paragraph})"
    if fields.paragraph and text.startswith(number):
        removed.append(("legacy-paragraph-number", number))
        text = text[len(number) :].lstrip()
    lost = None
    if fields.paragraph:
        digits = int(re.match(r"\d+", fields.paragraph).group())  # type: ignore[union-attr]  # starts with a digit
        if any(int(match[1]) in (digits, digits + 1) for match in _NEXT_ABSATZ.finditer(text)):
            lost = Unrecovered("paragraph", fields.paragraph, "the text goes on into the next Absatz")
    return Cleaned(text, cleaned.applied, tuple(removed)), lost


def _headings(payload: Mapping[str, Any]) -> Iterator[str]:
    section, title = payload_text(payload, "section"), payload_text(payload, "section_title")
    if section and title:
        for middle in (" ", ": ", " - ", " – "):
            yield f"[{section}{middle}{title}]"
            yield f"{section}{middle}{title}"
    if section:
        yield f"[{section}]"
        yield section


def _scope(payload: Mapping[str, Any], unrecovered: list[Unrecovered]) -> dict[str, Any]:
    """Return the fields that only pass through, each of the type the contract wants."""
    pages = [page for value in _listed(payload.get("pages")) if (page := _integer(value)) is not None]
    page = _integer(payload.get("page"))
    year = _integer(payload.get("year"))
    for name, value in (("page", page), ("year", year)):
        if value is None and payload_text(payload, name):
            unrecovered.append(Unrecovered(name, payload_text(payload, name), "it is no number"))
    url = payload_text(payload, "source_url", "url", "source")
    return {
        "page": page if page is not None else (pages[0] if pages else None),
        "pages": pages or ([page] if page is not None else []),
        "doc_type": payload_text(payload, "doc_type"),
        "use_case": [str(value) for value in _listed(payload.get("use_case")) if str(value).strip()],
        "source_type": payload_text(payload, "source_type"),
        "source_class": None,  # the old corpus did not know it; it must not pass for checked binding law
        "category": payload_text(payload, "category"),
        "license": payload_text(payload, "license"),
        "source": payload_text(payload, "source", "source_url", "url"),
        "source_url": url,
        "bundesland": payload_text(payload, "bundesland"),
        "year": year,
    }


def _listed(value: object) -> list[Any]:
    if value is None or value == "":
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _integer(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    text = str(value).strip().removesuffix(".0") if value is not None else ""
    return int(text) if text.isdecimal() else None
