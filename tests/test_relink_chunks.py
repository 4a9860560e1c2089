"""Which chunks a re-link reads, in what order, and what a hint may mean."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import pytest

from backends.vectors.store import Record, VectorStore
from normalize.errors import StoreError
from relink.chunks import FIELDS, chunk_from_payload, chunks_from_payloads, current_only, read_chunks
from relink.corpus import build_corpus
from tests.relink_cases import PROVISIONS, link_chunks, payload

OLD, NEW = "2023-01-01-aaaaaaaa", "2024-01-01-bbbbbbbb"


def test_payloads_from_before_the_contract_are_no_chunks() -> None:
    legacy = {"text": "alt", "section": "§ 38", "paragraph": "(1)", "regulation_id": "BDSG"}
    assert chunk_from_payload(legacy) is None
    assert chunks_from_payloads([legacy, payload(0, PROVISIONS[0])]) == link_chunks(PROVISIONS[:1])


def test_chunks_come_in_document_order() -> None:
    payloads = [payload(i, provision) for i, provision in enumerate(PROVISIONS)]
    assert chunks_from_payloads(payloads[::-1]) == chunks_from_payloads(payloads)
    assert [c.document_id for c in link_chunks()] == ["DOC-HundG"] * 6 + ["DOC-KatzG"] * 4


def test_everything_a_chunk_needs_is_asked_for() -> None:
    whole = payload(2, PROVISIONS[2])
    asked = {key: value for key, value in whole.items() if key in FIELDS}
    assert chunk_from_payload(asked) == chunk_from_payload(whole)
    assert chunk_from_payload(json.loads(json.dumps(whole))) == chunk_from_payload(whole)


@pytest.mark.parametrize(
    ("current", "version"),
    [({}, NEW), ({"DOC-KatzG": OLD}, OLD), ({"DOC-KatzG": "2025-01-01-cccccccc"}, NEW), ({"DOC-HundG": OLD}, NEW)],
)
def test_of_two_versions_the_current_one_is_read(current: dict[str, str], version: str) -> None:
    chunks = chunks_from_payloads(payload(0, PROVISIONS[0], version) for version in (OLD, NEW))
    assert [chunk.document_version for chunk in current_only(chunks, current)] == [version]


class Shelf:
    """The two calls of a vector store that reading needs, over payloads in memory."""

    where = "memory"

    def __init__(self, collections: Mapping[str, Sequence[dict[str, Any]]]) -> None:
        self.collections = collections

    def describe(self, collection: str) -> object | None:
        return self.collections.get(collection)

    def scroll(self, collection: str, **_options: object) -> Iterator[Record]:
        for i, one in enumerate(self.collections[collection]):
            yield Record(i, one)


def test_collections_are_read_one_after_the_other_and_a_document_once() -> None:
    katz = [payload(i, p) for i, p in enumerate(PROVISIONS) if p[0] == "KatzG"]
    hund = [payload(i, p) for i, p in enumerate(PROVISIONS) if p[0] == "HundG"]
    again = [payload(i, p, OLD) for i, p in enumerate(PROVISIONS) if p[0] == "KatzG"]
    store = cast("VectorStore", Shelf({"a": katz, "b": [*hund, *again]}))
    assert read_chunks(store, ["a", "b"], {}) == link_chunks()
    with pytest.raises(StoreError, match="no collection 'c' in memory"):
        read_chunks(store, ["a", "c"], {})


@pytest.mark.parametrize(
    ("hint", "laws"),
    [
        ("KATZG", {"KatzG"}),
        ("katzg", {"KatzG"}),
        ("Katz-G", {"KatzG"}),
        ("Katzengesetz", {"KatzG"}),
        ("KatzG 2018", {"KatzG"}),
        ("Katz", set()),
        ("", set()),
        ("§", set()),
    ],
)
def test_a_hint_is_a_code_or_a_name(hint: str, laws: set[str]) -> None:
    corpus = build_corpus(link_chunks())
    documents = corpus.documents_of_hint(hint)
    assert {corpus.chunks[corpus.document_starts[document]].regulation_short for document in documents} == laws


def test_a_code_of_two_laws_means_both() -> None:
    chunks = chunks_from_payloads(
        payload(i, provision) | {"document_id": f"DOC-{i}"} for i, provision in enumerate(PROVISIONS[:2])
    )
    assert build_corpus(chunks).documents_of_hint("KatzG") == (0, 1)
