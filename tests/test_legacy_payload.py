"""Payloads of the old corpus become contract payloads (contract §3): what they say is kept, the rest is reported."""

import json
from typing import Any

import pytest

from normalize.errors import ContractError
from normalize.identity import chunk_hash, chunk_id
from normalize.legacy import convert, legacy_citation, to_contract
from normalize.payload import check_payload
from normalize.report import payload_reports, text_report
from normalize.text import NORMALIZER_VERSION

VERSION = "2024-07-04-3f9a1c22"

# section, paragraph, paragraph_num → style, article, paragraph, sub
CITATIONS: list[tuple[dict[str, Any], tuple[str | None, str | None, str | None, str | None]]] = [
    # the three rows of the contract's table
    ({"section": "§ 38", "paragraph": "(1)", "paragraph_num": 1}, ("paragraph", "38", "1", None)),
    ({"section": "Artikel 13", "paragraph": "(1)"}, ("article", "13", "1", None)),
    ({"section": "§ 38", "paragraph_num": 1}, ("paragraph", "38", "1", None)),
    # spellings of the marker
    ({"section": "§38"}, ("paragraph", "38", None, None)),
    ({"section": "§\u00a038a"}, ("paragraph", "38a", None, None)),
    ({"section": "Art 13"}, ("article", "13", None, None)),
    ({"section": "Art. 13"}, ("article", "13", None, None)),
    ({"section": "ARTIKEL 13"}, ("article", "13", None, None)),
    ({"section": "§ 1.01"}, ("paragraph", "1.01", None, None)),
    # spellings of the Absatz; a suffix is never dropped
    ({"section": "§ 3", "paragraph": 1}, ("paragraph", "3", "1", None)),
    ({"section": "§ 3", "paragraph": "1"}, ("paragraph", "3", "1", None)),
    ({"section": "§ 3", "paragraph": "(1a)", "paragraph_num": 1}, ("paragraph", "3", "1a", None)),
    ({"section": "§ 3", "paragraph": "Abs. 2"}, ("paragraph", "3", "2", None)),
    ({"section": "§ 3", "paragraph": "Absatz 2 Satz 1"}, ("paragraph", "3", "2", "Satz 1")),
    ({"section": "§ 3", "paragraph_num": 2.0}, ("paragraph", "3", "2", None)),
    ({"section": "§ 3", "paragraph": ""}, ("paragraph", "3", None, None)),
    # finer units, wherever they stand
    ({"section": "Art. 13 Abs. 1 lit. c"}, ("article", "13", "1", "lit. c")),
    ({"section": "§ 4 (2) Satz 1 Nr. 3"}, ("paragraph", "4", "2", "Satz 1 Nr. 3")),
    ({"section": "§ 3", "paragraph": "(1)", "sub": "lit. c"}, ("paragraph", "3", "1", "lit. c")),
    ({"section": "§ 3", "paragraph": "(1)", "sub": "Nummer 3 Buchstabe a"}, ("paragraph", "3", "1", "Nr. 3 lit. a")),
    ({"section": "§ 3", "paragraph": "(1)", "sub": "1. Gedankenstrich"}, ("paragraph", "3", "1", "1. Gedankenstrich")),
    ({"section": "§ 3", "paragraph": "(1)", "satz": 2, "lit": "c)"}, ("paragraph", "3", "1", "Satz 2 lit. c")),
    # parts of an act that are no § and no Artikel
    ({"section": "Anhang I"}, (None, "Anhang I", None, None)),
    ({"section": "Anlage 1 (zu § 2 Abs. 1)"}, (None, "Anlage 1", None, None)),
    # a new payload read as an old one stays what it is
    ({"article": "38", "citation_style": "paragraph", "paragraph": "1"}, ("paragraph", "38", "1", None)),
]


@pytest.mark.parametrize(
    ("old", "expected"), CITATIONS, ids=[json.dumps(old, ensure_ascii=False) for old, _ in CITATIONS]
)
def test_what_an_old_payload_says_is_kept(old: dict[str, Any], expected: tuple[str | None, ...]) -> None:
    fields = legacy_citation({**old, "regulation_id": "TestG"})
    assert (fields.style, fields.article, fields.paragraph, fields.sub) == expected
    assert fields.unrecovered == ()


# payload → the field that stays null, and what is reported for it
LOST: list[tuple[dict[str, Any], str, str]] = [
    ({"section": "§§ 5 bis 7"}, "article", "§§ 5 bis 7"),
    ({"section": "Artikel 5, 6 und 7"}, "article", "Artikel 5, 6 und 7"),
    ({"section": "§ 5 - § 7"}, "article", "§ 5 - § 7"),
    ({"section": "Kapitel 3"}, "article", "Kapitel 3"),
    ({"section": "38"}, "article", "38"),
    ({}, "article", None),  # type: ignore[list-item]
    ({"section": "§ 3", "paragraph": "(2)", "paragraph_num": 1}, "paragraph", "(2) / 1"),
    ({"section": "§ 3 Abs. 1", "paragraph": "(2)"}, "paragraph", "1 / 2"),
    ({"section": "§ 3", "paragraph": "(1)-(3)"}, "paragraph", "(1)-(3)"),
    ({"section": "§ 3", "paragraph": "1 bis 3"}, "paragraph", "1 bis 3"),
    ({"section": "§ 3", "paragraph": "a)"}, "paragraph", "a)"),
    ({"section": "§ 3", "paragraph_num": 0}, "paragraph", "0"),
    ({"section": "§ 3", "paragraph": "(1)", "sub": "irgendwo"}, "sub", "irgendwo"),
    ({"paragraph": "(1)"}, "paragraph", "1"),
]


@pytest.mark.parametrize(("old", "name", "value"), LOST)
def test_what_cannot_be_recovered_is_null_and_reported(old: dict[str, Any], name: str, value: str | None) -> None:
    fields = legacy_citation({**old, "regulation_id": "TestG"})
    assert getattr(fields, name) is None
    assert (name, value) in [(lost.field, lost.value) for lost in fields.unrecovered]


@pytest.mark.parametrize(
    ("given", "code", "short"),
    [
        ({"regulation_id": "bdsg"}, "BDSG", "BDSG"),
        ({"regulation_id": "gewo"}, "GEWO", "GewO"),
        ({"regulation_short": "GewO"}, "GEWO", "GewO"),
        ({"regulation_id": "32016R0679"}, "DSGVO", "DSGVO"),
        ({"regulation_id": "eu_2016_679", "regulation_short": "DSGVO"}, "DSGVO", "DSGVO"),
        ({"regulation_id": "testg"}, "TESTG", "TESTG"),
        ({"regulation_id": "TestG"}, "TESTG", "TestG"),
        ({"regulation_code": "BDSG", "regulation_short": "DSGVO"}, None, None),
        ({}, None, None),
    ],
)
def test_the_regulation_is_found_under_its_official_name(given: dict[str, str], code: str, short: str) -> None:
    fields = legacy_citation({"section": "§ 1", **given})
    assert (fields.regulation_code, fields.regulation_short) == (code, short)
    assert ("regulation_code" in [lost.field for lost in fields.unrecovered]) == (code is None)


def test_a_marker_that_does_not_fit_the_law_is_no_fundstelle() -> None:
    fields = legacy_citation({"section": "§ 44", "paragraph": "(1)", "regulation_id": "DSGVO"})
    assert (fields.article, fields.paragraph, fields.style) == (None, None, "article")
    assert "article" in [lost.field for lost in fields.unrecovered]


def test_a_section_that_names_another_law_is_no_fundstelle() -> None:
    assert legacy_citation({"section": "§ 312a BGB", "regulation_id": "bgb"}).section_header is None
    assert legacy_citation({"section": "§ 312a BGB", "regulation_id": "HGB"}).article is None


def test_a_recital_is_told_from_an_article_and_has_no_absatz() -> None:
    for section in ("Erwägungsgrund 26", "ErwG 26", "ErwGr. 26", "EG (26)"):
        fields = legacy_citation({"section": section, "regulation_id": "DSGVO", "paragraph_num": 26})
        assert (fields.article, fields.is_recital, fields.style, fields.paragraph) == ("26", True, "article", None)


def old_payload(**fields: Any) -> dict[str, Any]:
    return {
        "section": "§ 38",
        "paragraph": "(1)",
        "regulation_id": "bdsg",
        "chunk_text": "Wer muss, der soll.",
        **fields,
    }


def test_an_old_payload_becomes_a_contract_payload() -> None:
    new = to_contract(
        old_payload(
            section_title="Beauftragte", use_case="dsb", year="2018", page="7", source="https://example.org/bdsg"
        ),
        document_id="BJNR209710017",
        document_version=VERSION,
        chunk_index=57,
    )
    check_payload(new)
    assert new["article_label"] == "BDSG § 38 Abs. 1"
    assert new["chunk_id"] == chunk_id("BDSG", "38", "1", 57, VERSION)
    assert new["chunk_hash"] == chunk_hash("Wer muss, der soll.")
    assert (new["section_header"], new["use_case"], new["year"], new["page"], new["pages"]) == (
        "Beauftragte",
        ["dsb"],
        2018,
        7,
        [7],
    )
    assert (new["source"], new["source_url"]) == ("https://example.org/bdsg",) * 2
    assert new["normalizer_version"] == NORMALIZER_VERSION


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(1) Wer muss, der soll.", "Wer muss, der soll."),
        ("§ 38 Beauftragte (1) Wer muss, der soll.", "Wer muss, der soll."),
        ("[§ 38 Beauftragte] Wer muss, der soll.", "Wer muss, der soll."),
        ("§ 38: Beauftragte\n(1)\u00a0Wer muss,\nder soll.", "Wer muss, der soll."),
        ("§ 38a gilt entsprechend.", "§ 38a gilt entsprechend."),
        ("(2) Wer muss, der soll.", "(2) Wer muss, der soll."),
        ("1. wer muss,", "1. wer muss,"),
        ("Der Daten\u00ad\nschutz, die Geld-\nund Sachbezüge", "Der Datenschutz, die Geld- und Sachbezüge"),
    ],
)
def test_the_text_has_neither_heading_nor_absatz_number(text: str, expected: str) -> None:
    new = convert(
        old_payload(chunk_text=text, section_title="Beauftragte"),
        document_id="x", document_version=VERSION, chunk_index=0,
    )  # fmt: skip
    assert new.payload["chunk_text"] == expected


def test_a_text_over_two_absaetze_cites_the_norm_only() -> None:
    new = convert(
        old_payload(chunk_text="(1) Wer muss, der soll. (2) Die Behörde kann."),
        document_id="x", document_version=VERSION, chunk_index=0,
    )  # fmt: skip
    assert new.payload["article_label"] == "BDSG § 38"
    assert [lost.field for lost in new.unrecovered] == ["paragraph"]


@pytest.mark.parametrize(
    "broken",
    [
        {"chunk_text": ""},
        {"chunk_text": "(1)"},
        {"chunk_text": "version https://git-lfs.github.com/spec/v1\noid sha256:0"},
        {"chunk_text": "<html><head><title>404 Not Found</title></head></html>"},
        {"regulation_id": None},
    ],
)
def test_what_is_no_text_of_a_law_is_refused_with_a_reason(broken: dict[str, Any]) -> None:
    with pytest.raises(ContractError, match="Old payload 3 of x"):
        to_contract(old_payload(**broken), document_id="x", document_version=VERSION, chunk_index=3)


def test_rows_number_the_chunks_of_each_document_and_never_stop_at_a_broken_one() -> None:
    old = [
        old_payload(document_id="a"),
        old_payload(document_id="b", section="§§ 5 bis 7"),
        old_payload(document_id="a", chunk_text=""),
        old_payload(document_id="a", paragraph="(2)"),
    ]
    rows = list(payload_reports(old))
    assert [row["row"] for row in rows] == [0, 1, 2, 3]
    assert [row["error"] is None for row in rows] == [True, True, False, True]
    assert [(row["payload"] or {}).get("chunk_index") for row in rows] == [0, 0, None, 2]
    assert rows[1]["unrecovered"][0]["field"] == "article"
    assert rows[0]["payload"]["document_version"] == rows[3]["payload"]["document_version"]
    assert rows[0]["payload"]["document_version"] != rows[1]["payload"]["document_version"]
    assert rows == list(payload_reports(old))


def test_a_text_report_shows_before_after_and_which_rule_did_what() -> None:
    row = text_report("§\u00a038 Daten\u00adschutz", "structured")
    assert (row["before"], row["after"], row["changed"]) == ("§\u00a038 Daten\u00adschutz", "§ 38 Datenschutz", True)
    assert {(rule["rule"], rule["count"]) for rule in row["rules"]} == {("soft-hyphens", 1), ("one-blank", 1)}
    assert all(rule["reason"] and rule["examples"] for rule in row["rules"])
    json.dumps(row)
