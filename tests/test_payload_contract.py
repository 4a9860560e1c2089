"""The payload contract: a right payload passes, each broken one is refused with document, article and field."""

from pathlib import Path
from typing import Any

import pytest

from ingest.documents import load_file
from normalize.errors import ContractError
from normalize.laws import LawTable
from normalize.payload import Payload, check_payload

EXAMPLE = Path(__file__).parent.parent / "examples" / "leihradgesetz.xml"
CONSUMER_FIELDS = {  # contract §2 and §7.1, and the old names the consumer still reads
    "article_label", "regulation_code", "citation_style", "article", "paragraph", "sub", "is_recital",
    "regulation_name", "page", "chunk_text", "section_header", "chunk_id", "chunk_hash", "document_id",
    "document_version", "chunk_index", "doc_type", "use_case", "source_type", "license", "bundesland", "year",
    "regulation_name_de", "regulation_short", "category", "pages", "source",
}  # fmt: skip


@pytest.fixture
def payload() -> dict[str, Any]:
    chunks = list(load_file(EXAMPLE, LawTable.builtin()).chunks())
    return next(dict(c.payload) for c in chunks if c.payload["article_label"] == "LeihRadG § 3 Abs. 2")


def test_every_field_of_the_contract_is_there(payload: dict[str, Any]) -> None:
    assert set(payload) >= CONSUMER_FIELDS
    assert set(payload) == set(Payload.model_fields)


def test_absent_values_are_null_never_missing_never_empty(payload: dict[str, Any]) -> None:
    assert payload["bundesland"] is None and payload["sub"] is None and payload["page"] is None
    assert payload["pages"] == [] and payload["use_case"] == []
    assert "" not in payload.values()


def test_a_right_payload_passes(payload: dict[str, Any]) -> None:
    assert check_payload(payload).article_label == "LeihRadG § 3 Abs. 2"


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("article_label", "LeihRadG § 4 Abs. 2", "article_label"),  # a wrong Fundstelle
        ("article_label", "LeihRadG  § 3 Abs. 2", "article_label"),
        ("chunk_id", "0" * 40, "chunk_id"),
        ("chunk_hash", "0" * 64, "chunk_hash"),
        ("chunk_text", "Ein anderer Text.", "chunk_hash"),
        ("regulation_code", "LeihRadG", "regulation_code"),
        ("article", None, "article"),  # binding law without an article
        ("section_header", "", "section_header"),
        ("year", "2022", "year"),
        ("citation_style", "section", "citation_style"),
        ("extra", 1, "extra"),
        ("units", [{"start": 5, "end": 9_999, "sub": "Satz 1"}], "units"),
    ],
)
def test_a_broken_payload_is_refused_by_name(payload: dict[str, Any], field: str, value: object, named: str) -> None:
    payload[field] = value
    with pytest.raises(ContractError) as refused:
        check_payload(payload)
    assert named in str(refused.value)
    assert "BEISPIEL0001" in str(refused.value)


def test_a_missing_field_is_refused(payload: dict[str, Any]) -> None:
    del payload["use_case"]
    with pytest.raises(ContractError, match="use_case"):
        check_payload(payload)
