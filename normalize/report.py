"""What the `normalize` command shows: a text before and after with what each rule did, and old payloads converted."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from normalize import identity
from normalize.errors import ContractError
from normalize.hyphens import count_words
from normalize.laws import LawTable
from normalize.legacy import LEGACY_CHUNKER_VERSION, convert
from normalize.legacy_fields import CODE_FIELDS, payload_text
from normalize.rules import RULES, Profile
from normalize.text import NORMALIZER_VERSION, Applied, Cleaned, clean, find_debris, garbage_reason

_REASONS = {rule.name: rule.reason for rule in RULES}


def text_report(text: str, profile: Profile, *, known_words: Mapping[str, int] | None = None) -> dict[str, Any]:
    """Return one row on a text: before, after, what each rule did and took out, the damage found, why it is refused.

    Pages of a laid-out text are divided by form feeds.
    """
    cleaned = clean(text, profile, known_words=known_words)
    return {
        "profile": profile,
        "normalizer_version": NORMALIZER_VERSION,
        "changed": cleaned.text != text,
        "refused": garbage_reason(text),
        **_what_happened(cleaned),
        "debris": [
            {"kind": found.kind, "count": found.count, "examples": list(found.examples)}
            for found in find_debris(cleaned.text)
        ],
        "before": text,
        "after": cleaned.text,
    }


def payload_reports(payloads: Iterable[Mapping[str, Any]], *, laws: LawTable | None = None) -> Iterator[dict[str, Any]]:
    """Convert old payloads and yield one row each, in their order: the contract payload, or the error that refused it.

    The chunks of a document (`document_id`, else its regulation) are numbered from 0 in the order they come in. Its
    version is made of all its payloads, since the old corpus wrote "1.0" everywhere. All payloads are held in memory.
    """
    rows = list(payloads)
    laws = laws or LawTable.builtin()
    known_words = count_words(text for row in rows if (text := payload_text(row, "chunk_text", "text", "content")))
    documents: dict[str, list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        documents[_document(row)].append(number)
    places: dict[int, tuple[str, str, int]] = {}
    for document, numbers in documents.items():
        version = identity.document_version(
            None, [_bytes(rows[number]) for number in numbers], LEGACY_CHUNKER_VERSION, NORMALIZER_VERSION
        )
        places |= {number: (document, version, index) for index, number in enumerate(numbers)}
    for number, row in enumerate(rows):
        document, version, index = places[number]
        try:
            converted = convert(
                row,
                document_id=document,
                document_version=version,
                chunk_index=index,
                laws=laws,
                known_words=known_words,
            )
        except ContractError as error:
            yield {"row": number, "payload": None, "error": str(error), "unrecovered": [], "rules": [], "removed": []}
            continue
        yield {
            "row": number,
            "payload": converted.payload,
            "error": None,
            "unrecovered": [
                {"field": lost.field, "value": lost.value, "reason": lost.reason} for lost in converted.unrecovered
            ],
            **_what_happened(converted.cleaned),
        }


def _what_happened(cleaned: Cleaned) -> dict[str, Any]:
    return {
        "rules": [_rule_row(applied) for applied in cleaned.applied],
        "removed": [{"rule": rule, "text": text} for rule, text in cleaned.removed],
    }


def _rule_row(applied: Applied) -> dict[str, Any]:
    return {
        "rule": applied.rule,
        "count": applied.count,
        "reason": _REASONS[applied.rule],
        "examples": [{"before": change.before, "after": change.after} for change in applied.examples],
    }


def _document(payload: Mapping[str, Any]) -> str:
    return payload_text(payload, "document_id", *CODE_FIELDS) or "unknown"


def _bytes(payload: Mapping[str, Any]) -> bytes:
    return json.dumps(payload, ensure_ascii=False, sort_keys=True, default=str).encode("utf-8")
