"""Identity (DESIGN §4): the two worked examples, and what must tell two chunks or versions apart."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normalize.identity import chunk_hash, chunk_id, document_version, point_id

ID = "8d5332772031aa48d65d8a522d66c988937c04ac"


def test_the_worked_example_of_the_design() -> None:
    assert chunk_id("BDSG", "38", "1", 57, "2024-07-04-3f9a1c22") == ID
    assert point_id(ID) == "8d533277-2031-5a48-965d-8a522d66c988"


def test_the_hash_of_the_design() -> None:
    expected = "09ed8ca6ac62ed6f93d234ea0225f6d22bcbe7fbfd0acad65e6ab8506ae97168"
    assert chunk_hash("Ergänzend zu Artikel 37 gilt dies.") == expected


def test_a_decomposed_umlaut_hashes_like_a_composed_one() -> None:
    text = "Für Überführung"
    assert chunk_hash(unicodedata.normalize("NFD", text)) == chunk_hash(unicodedata.normalize("NFC", text))


def test_null_is_the_empty_string() -> None:
    assert chunk_id("BGB", None, None, 0, "v") == chunk_id("BGB", "", "", 0, "v")


@pytest.mark.parametrize(
    "other",
    [
        ("BDSG", "3", "8|1", 57, "v"),  # the bar is the separator; no citation holds one
        ("BDSG", "38", "1", 58, "v"),
        ("BDSG", "38", "1a", 57, "v"),
        ("BGB", "38", "1", 57, "v"),
        ("BDSG", "38", "1", 57, "w"),
    ],
)
def test_any_part_makes_another_chunk(other: tuple[str, str, str, int, str]) -> None:
    assert chunk_id(*other) != chunk_id("BDSG", "38", "1", 57, "v")


def test_version_changes_with_source_and_with_rules() -> None:
    base = document_version("2024-12-31", [b"text"], "chunker-1", "rules-1")
    assert base.startswith("2024-12-31-") and len(base) == len("2024-12-31-") + 8
    assert base == document_version("2024-12-31", [b"text"], "chunker-1", "rules-1")
    assert base != document_version("2024-12-31", [b"text."], "chunker-1", "rules-1")
    assert base != document_version("2024-12-31", [b"text"], "chunker-2", "rules-1")
    assert base != document_version("2024-12-31", [b"text"], "chunker-1", "rules-2")


def test_a_source_without_date_says_so() -> None:
    assert document_version(None, [b"x"], "c", "n").startswith("0000-00-00-")


@given(st.lists(st.binary(max_size=8), min_size=2, max_size=4))
def test_two_ways_to_cut_the_same_bytes_are_two_versions(parts: list[bytes]) -> None:
    joined = document_version(None, [b"".join(parts)], "c", "n")
    assert joined != document_version(None, parts, "c", "n")
