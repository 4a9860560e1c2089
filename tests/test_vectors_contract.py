"""What every vector engine must do alike: edge, the Qdrant client in process, and the client over HTTP."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from backends.vectors.checks import id_key, unit_length
from backends.vectors.store import (
    GENERATION,
    Layout,
    Point,
    PointId,
    Record,
    SparseVector,
    VectorStore,
    Where,
    real_name,
    served,
)
from normalize.errors import StoreError, UsageError
from tests.vectors_fixtures import filled as filled
from tests.vectors_fixtures import running_server as running_server
from tests.vectors_fixtures import server as server
from tests.vectors_fixtures import store as store
from tests.vectors_points import INDEXES, LAYOUT, METADATA, point, uuid_of, vector

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")


def everything(store: VectorStore, collection: str = "law") -> dict[PointId, Record]:
    return {record.id: record for record in store.scroll(collection, vectors=True)}


def as_bytes(record: Record) -> tuple[Any, ...]:
    """Everything a point holds, comparable bit for bit."""
    dense = None if record.dense is None else record.dense.tobytes()
    return (record.id, json.dumps(record.payload, sort_keys=True), dense, record.sparse)


def store_name(store: VectorStore) -> str:
    """Tell the engines apart where one of them cannot do better."""
    return store.where


def keeps_indexes(store: VectorStore) -> bool:
    """The client in process has no payload indexes at all."""
    return "in-process" not in store_name(store)


class TestCollections:
    def test_an_empty_store_has_none(self, store: VectorStore) -> None:
        assert store.collections() == []
        assert store.describe("law") is None

    def test_create_and_describe(self, filled: VectorStore) -> None:
        filled.create("another-one_2.x", replace(LAYOUT, sparse=None), {}, {})
        assert filled.collections() == ["another-one_2.x", "law"]
        about = filled.describe("law")
        assert about is not None
        assert (about.name, about.layout, about.metadata, about.points) == ("law", LAYOUT, METADATA, 30)
        assert about.indexes == (INDEXES if keeps_indexes(filled) else {})

    def test_create_refuses_a_name_that_is_taken(self, filled: VectorStore) -> None:
        with pytest.raises(StoreError, match="'law' already exists"):
            filled.create("law", LAYOUT, {}, {})
        assert filled.count("law") == 30

    @pytest.mark.parametrize("name", ["", ".", "..", "../law", "a/b", "a\\b", ".hidden", "-x", "ä", "a b", "x" * 201])
    def test_names_that_could_leave_their_place_are_refused(self, store: VectorStore, name: str) -> None:
        with pytest.raises(UsageError, match="Collection name"):
            store.create(name, LAYOUT, {}, {})
        with pytest.raises(UsageError):
            store.drop(name)

    @pytest.mark.parametrize(
        "layout",
        [
            Layout(dimension=8, dense="", sparse=None),  # how older collections of the platform look
            Layout(dimension=8, dense="", sparse="bm25"),
            Layout(dimension=8, dense="text", sparse=None),
            Layout(dimension=8, dense="dense", sparse="bm25", distance="Dot"),
        ],
        ids=str,
    )
    def test_every_layout_is_described_and_kept(self, store: VectorStore, layout: Layout) -> None:
        store.create("law", layout, {}, {})
        about = store.describe("law")
        assert about is not None and about.layout == layout
        one = replace(point(1), sparse=point(1).sparse if layout.sparse else None)
        store.upsert("law", [one])
        (record,) = store.retrieve("law", [one.id], vectors=True)
        assert one.dense is not None and record.dense is not None
        expected = one.dense if layout.distance == "Dot" else one.dense / np.linalg.norm(one.dense)
        np.testing.assert_allclose(record.dense, expected, rtol=1e-6)
        assert record.sparse == one.sparse
        assert [hit.id for hit in store.query_dense("law", one.dense, 5)] == [one.id]

    def test_indexes_are_created_where_missing(self, filled: VectorStore) -> None:
        if not keeps_indexes(filled):
            pytest.skip("the client in process has no payload indexes")
        assert filled.ensure_indexes("law", {"document_id": "keyword", "regulation_code": "keyword"}) == ["document_id"]
        assert filled.ensure_indexes("law", {"document_id": "keyword"}) == []
        about = filled.describe("law")
        assert about is not None and about.indexes == {**INDEXES, "document_id": "keyword"}

    def test_metadata_is_merged_and_never_a_point(self, filled: VectorStore) -> None:
        filled.set_metadata("law", {"analyzer": {"version": "bm25-1"}, "model_dimension": 9})
        about = filled.describe("law")
        assert about is not None
        assert about.metadata == {"model": "hashing-1-8", "model_dimension": 9, "analyzer": {"version": "bm25-1"}}
        assert len(everything(filled)) == about.points == 30

    def test_drop_removes_it_and_may_be_repeated(self, filled: VectorStore) -> None:
        filled.drop("law")
        filled.drop("law")
        assert filled.collections() == []
        filled.create("law", replace(LAYOUT, dimension=4), {}, {})
        assert filled.count("law") == 0

    def test_an_unknown_collection_is_named(self, store: VectorStore) -> None:
        calls: list[Callable[[], object]] = [
            lambda: store.count("nowhere"),
            lambda: list(store.scroll("nowhere")),
            lambda: store.upsert("nowhere", [point(1)]),
            lambda: store.delete("nowhere", [uuid_of(1)]),
            lambda: store.set_metadata("nowhere", {"a": 1}),
        ]
        for call in calls:
            with pytest.raises(StoreError, match="nowhere"):
                call()


class TestAliases:
    def test_an_alias_reads_as_the_collection_it_stands_for(self, filled: VectorStore) -> None:
        filled.create("law.v2", LAYOUT, {}, METADATA)
        filled.upsert("law.v2", [point(99)])
        filled.switch_alias("current", "law")
        assert filled.aliases() == {"current": "law"} and real_name(filled, "current") == "law"
        assert filled.collections() == ["law", "law.v2"]
        assert filled.count("current") == 30 and everything(filled, "current").keys() == everything(filled).keys()
        filled.switch_alias("current", "law.v2")
        about = filled.describe("current")
        assert about is not None and (about.points, about.layout, about.metadata) == (1, LAYOUT, METADATA)
        assert [hit.id for hit in filled.query_dense("current", vector(99), 5)] == [uuid_of(99)]
        assert [one.id for one in filled.retrieve("current", [uuid_of(99), uuid_of(1)])] == [uuid_of(99)]
        filled.switch_alias("other", "law")
        assert filled.aliases() == {"current": "law.v2", "other": "law"}

    def test_what_is_read_where_no_name_is_given(self, filled: VectorStore) -> None:
        """Each collection once, by its alias if it has one; what was built for an alias and has none is left out."""
        for name, metadata in (("x.v1", {GENERATION: {}}), ("x.v2", {GENERATION: {}}), ("plain.v3", {})):
            filled.create(name, LAYOUT, {}, metadata)
        filled.switch_alias("x", "x.v2")
        filled.switch_alias("y", "x.v2")
        assert served(filled) == ["law", "plain.v3", "x"]

    def test_a_name_is_a_collection_or_an_alias_never_both(self, filled: VectorStore) -> None:
        with pytest.raises(StoreError, match="'law' has the name"):
            filled.switch_alias("law", "law")
        with pytest.raises(StoreError, match="no collection 'nowhere'"):
            filled.switch_alias("current", "nowhere")
        filled.switch_alias("current", "law")
        with pytest.raises(StoreError, match="'current' already exists"):
            filled.create("current", LAYOUT, {}, {})
        with pytest.raises(UsageError, match="Collection name"):
            filled.switch_alias("../law", "law")
        assert filled.aliases() == {"current": "law"} and filled.collections() == ["law"]


class TestWriting:
    def test_what_is_written_is_read(self, filled: VectorStore) -> None:
        found = everything(filled)
        assert len(found) == 30
        for number in range(30):
            written, record = point(number), found[uuid_of(number)]
            assert record.payload == written.payload  # null, empty lists, nested objects, Unicode
            assert record.sparse == written.sparse
            assert written.dense is not None and record.dense is not None and record.dense.dtype == np.float32
            np.testing.assert_allclose(record.dense, written.dense / np.linalg.norm(written.dense), rtol=1e-6)

    def test_unit_vectors_are_stored_bit_for_bit(self, filled: VectorStore) -> None:
        if "in-process" in store_name(filled):
            pytest.skip("the client's local mode normalises again in its own arithmetic")
        rows = unit_length(np.stack([vector(number) for number in range(200)]))
        points = [replace(point(number), dense=row) for number, row in enumerate(rows)]
        filled.upsert("law", points)
        found = everything(filled)
        for one, row in zip(points, rows, strict=True):
            stored = found[one.id].dense
            assert stored is not None and stored.tobytes() == row.tobytes()

    def test_upsert_replaces_the_whole_point(self, filled: VectorStore) -> None:
        filled.upsert("law", [Point(uuid_of(3), vector(99), SparseVector((7,), (1.0,)), {"chunk_id": "new"})])
        (record,) = filled.retrieve("law", [uuid_of(3)], vectors=True)
        assert record.payload == {"chunk_id": "new"}
        assert record.sparse == SparseVector((7,), (1.0,))
        assert filled.count("law") == 30

    def test_backup_and_restore_are_byte_stable(self, filled: VectorStore) -> None:
        before = everything(filled)
        filled.delete("law", list(before))
        assert filled.count("law") == 0
        filled.upsert("law", [Point(one.id, one.dense, one.sparse, one.payload) for one in before.values()])
        after = everything(filled)
        if "in-process" in store_name(filled):
            # The client's local mode alone normalises what is normal already, and moves last bits by it.
            for one, old in zip(after.values(), before.values(), strict=True):
                np.testing.assert_allclose(one.dense, old.dense, rtol=1e-6)  # type: ignore[arg-type]
            after = {key: replace(one, dense=before[key].dense) for key, one in after.items()}
        assert [as_bytes(one) for one in after.values()] == [as_bytes(one) for one in before.values()]

    def test_a_point_without_vectors_can_be_put_back(self, filled: VectorStore) -> None:
        filled.upsert("law", [Point(uuid_of(77), None, None, {"chunk_id": "bare"})])
        (record,) = filled.retrieve("law", [uuid_of(77)], vectors=True)
        assert (record.dense, record.sparse, record.payload) == (None, None, {"chunk_id": "bare"})

    def test_overwriting_payloads_keeps_vectors(self, filled: VectorStore) -> None:
        before = everything(filled)
        filled.overwrite_payloads("law", {uuid_of(n): {"chunk_id": f"new {n}", "page": None} for n in range(10)})
        after = everything(filled)
        for number in range(30):
            one, old = after[uuid_of(number)], before[uuid_of(number)]
            expected = {"chunk_id": f"new {number}", "page": None} if number < 10 else old.payload
            assert as_bytes(one) == as_bytes(replace(old, payload=expected))

    def test_overwriting_a_missing_point_is_an_error_that_names_it(self, filled: VectorStore) -> None:
        with pytest.raises(StoreError, match=str(uuid_of(99))):
            filled.overwrite_payloads("law", {uuid_of(1): {"a": 1}, uuid_of(99): {"a": 1}})
        assert filled.count("law") == 30
        assert filled.retrieve("law", [uuid_of(1)])[0].payload == point(1).payload

    def test_delete_takes_exactly_the_ids(self, filled: VectorStore) -> None:
        filled.delete("law", [uuid_of(number) for number in range(0, 40, 2)])  # 30 to 38 are not there
        assert set(everything(filled)) == {uuid_of(number) for number in range(1, 30, 2)}
        filled.delete("law", [])
        assert filled.count("law") == 15

    def test_empty_calls_change_nothing(self, filled: VectorStore) -> None:
        filled.upsert("law", [])
        filled.overwrite_payloads("law", {})
        filled.set_metadata("law", {})
        assert filled.retrieve("law", []) == []
        assert filled.count("law") == 30

    def test_integer_ids(self, store: VectorStore) -> None:
        store.create("law", LAYOUT, {}, {})
        ids: list[PointId] = [0, 7, 2**63 + 1, uuid_of(1)]
        store.upsert("law", [replace(point(1), id=one) for one in ids])
        assert [record.id for record in store.scroll("law")] == ids
        store.delete("law", [7])
        assert {record.id for record in store.retrieve("law", ids)} == {0, 2**63 + 1, uuid_of(1)}


class TestChecks:
    """Engines store NaN, or half of a batch before they refuse the rest; nothing of the kind may reach them."""

    BAD: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("too short", {"dense": vector(1, 7)}, "has shape"),
        ("a matrix", {"dense": np.ones((1, 8), dtype=np.float32)}, "has shape"),
        ("NaN", {"dense": np.full(8, np.nan, dtype=np.float32)}, "NaN or infinity"),
        ("infinite", {"dense": np.full(8, np.inf, dtype=np.float32)}, "NaN or infinity"),
        ("too large for 32 bits", {"dense": np.full(8, 1e300)}, "NaN or infinity"),
        ("terms not ascending", {"sparse": SparseVector((5, 3), (1.0, 1.0))}, "ascending"),
        ("a term twice", {"sparse": SparseVector((3, 3), (1.0, 1.0))}, "distinct"),
        ("a term beyond 32 bits", {"sparse": SparseVector((2**32,), (1.0,))}, "32-bit"),
        ("a term below zero", {"sparse": SparseVector((-1,), (1.0,))}, "32-bit"),
        ("a weight missing", {"sparse": SparseVector((1, 2), (1.0,))}, "not as many weights"),
        ("NaN weight", {"sparse": SparseVector((1,), (float("nan"),))}, "NaN"),
        ("no UUID", {"id": "chunk-1"}, "neither an unsigned integer nor"),
        ("upper-case UUID", {"id": "8D533277-2031-5A48-965D-8A522D66C988"}, "neither an unsigned integer nor"),
        ("negative id", {"id": -1}, "neither an unsigned integer nor"),
        ("id beyond 64 bits", {"id": 2**64}, "neither an unsigned integer nor"),
        ("truth value as id", {"id": True}, "neither an unsigned integer nor"),
        ("NaN in the payload", {"payload": {"chunk_id": "c", "score": float("nan")}}, "not plain JSON"),
        ("an object in the payload", {"payload": {"chunk_id": "c", "when": object()}}, "not plain JSON"),
        ("bytes in the payload", {"payload": {"chunk_id": "c", "raw": b"x"}}, "not plain JSON"),
        ("half a surrogate pair", {"payload": {"chunk_id": "c", "text": "\ud800"}}, "not plain JSON"),
        ("a key that is a number", {"payload": {"chunk_id": "c", "inner": [{1: 2}]}}, "not plain JSON"),
        ("an integer beyond 64 bits", {"payload": {"chunk_id": "c", "inner": [2**64]}}, "64 bits"),
        ("more than a server takes", {"payload": {"chunk_id": "c" * 40, "chunk_text": "x" * 33_600_000}}, "c" * 40),
    )

    @pytest.mark.parametrize(("change", "message"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
    def test_a_bad_point_is_named_and_nothing_is_written(
        self, filled: VectorStore, change: dict[str, Any], message: str
    ) -> None:
        good = [point(number) for number in range(100, 103)]
        with pytest.raises(StoreError, match=message):
            filled.upsert("law", [*good, replace(point(103), **change)])
        assert filled.count("law") == 30

    def test_the_error_names_the_chunk(self, filled: VectorStore) -> None:
        with pytest.raises(StoreError, match=point(5).payload["chunk_id"]):
            filled.upsert("law", [replace(point(5), dense=np.full(8, np.nan, dtype=np.float32))])

    def test_two_points_of_one_id_in_a_call_are_refused(self, filled: VectorStore) -> None:
        with pytest.raises(StoreError, match="occurs twice"):
            filled.upsert("law", [point(50), point(51), point(50)])
        assert filled.count("law") == 30

    def test_a_sparse_vector_without_a_place_is_refused(self, store: VectorStore) -> None:
        store.create("law", replace(LAYOUT, sparse=None), {}, {})
        with pytest.raises(StoreError, match="carries a sparse vector"):
            store.upsert("law", [point(1)])
        with pytest.raises(StoreError, match="has no sparse vector"):
            store.query_sparse("law", SparseVector((1,), (1.0,)), 5)

    def test_a_query_of_the_wrong_dimension_is_refused(self, filled: VectorStore) -> None:
        with pytest.raises(StoreError, match="has 8 dimensions"):
            filled.query_dense("law", vector(1, 9), 5)
        with pytest.raises(StoreError, match="NaN"):
            filled.query_dense("law", np.full(8, np.nan, dtype=np.float32), 5)

    def test_integers_of_64_bits_and_a_zero_vector_are_kept(self, filled: VectorStore) -> None:
        payload = {"chunk_id": "c", "big": 2**64 - 1, "small": -(2**63), "float": 1.0, "text": "1234567890123456789012"}
        filled.upsert("law", [Point(uuid_of(60), np.zeros(8, dtype=np.float32), None, payload)])
        (record,) = filled.retrieve("law", [uuid_of(60)], vectors=True)
        assert record.payload == payload and type(record.payload["float"]) is float
        assert record.dense is not None and not record.dense.any()


class TestReading:
    def test_scroll_yields_every_point_once_in_the_order_of_ids(self, filled: VectorStore) -> None:
        expected = sorted((uuid_of(number) for number in range(30)), key=id_key)
        for batch in (1, 7, 30, 1000):
            assert [record.id for record in filled.scroll("law", batch=batch)] == expected

    FILTERS: tuple[tuple[str, Where, set[int]], ...] = (
        ("nothing asked", Where(), set(range(30))),
        ("one value", Where({"regulation_code": ["BDSG"]}), set(range(0, 30, 3))),
        ("either value", Where({"regulation_code": ["BDSG", "GG"]}), {n for n in range(30) if n % 3 < 2}),
        ("both fields", Where({"regulation_code": ["GG"], "chunk_index": [1, 2, 4]}), {1, 4}),
        ("a list has the value", Where({"use_case": ["hr"]}), set(range(1, 30, 2))),
        ("a truth value", Where({"is_recital": [True]}), set(range(0, 30, 5))),
        ("either truth value", Where({"is_recital": [True, False]}), set(range(30))),
        ("false is not absent", Where({"is_recital": [False]}), {n for n in range(30) if n % 5}),
        ("zero is not false", Where({"chunk_index": [0]}), {0}),
        ("none of these", Where(must_not={"regulation_code": ["BDSG", "GG"]}), set(range(2, 30, 3))),
        ("no field of must_not", Where(must_not={"regulation_code": ["BDSG"], "is_recital": [True]}),
         {n for n in range(30) if n % 3 and n % 5}),
        ("must and must_not", Where({"regulation_code": ["BDSG"]}, {"is_recital": [True]}),
         {n for n in range(30) if n % 3 == 0 and n % 5}),
        ("no value is allowed", Where({"regulation_code": []}), set()),
        ("no value is forbidden", Where(must_not={"regulation_code": []}), set(range(30))),
        ("a field nobody has", Where({"page": ["1"]}), set()),
        ("not a field nobody has", Where(must_not={"page": ["1"]}), set(range(30))),
        ("text does not match a number", Where({"chunk_index": ["1"]}), set()),
        ("text or number", Where({"chunk_index": ["1", 2]}), {2}),
    )  # fmt: skip

    @pytest.mark.parametrize(("where", "expected"), [row[1:] for row in FILTERS], ids=[row[0] for row in FILTERS])
    def test_filters(self, filled: VectorStore, where: Where, expected: set[int]) -> None:
        ids = {uuid_of(number) for number in expected}
        assert {record.id for record in filled.scroll("law", where, batch=4)} == ids
        assert filled.count("law", where) == len(ids)
        assert {hit.id for hit in filled.query_dense("law", vector(1), 30, where)} == ids
        assert {hit.id for hit in filled.query_sparse("law", SparseVector((1,), (1.0,)), 30, where)} == ids

    def test_payload_selection(self, filled: VectorStore) -> None:
        wanted = ["chunk_id", "paragraph", "nowhere"]
        some = {"chunk_id": point(4).payload["chunk_id"], "paragraph": None}
        for selection, expected in ((True, dict(point(4).payload)), (False, {}), ([], {}), (wanted, some)):
            (record,) = filled.retrieve("law", [uuid_of(4)], payload=selection)
            assert record.payload == expected
            scrolled = {one.id: one for one in filled.scroll("law", payload=selection)}
            assert scrolled[uuid_of(4)].payload == expected
            (hit,) = filled.query_dense("law", vector(4), 1, payload=selection)
            assert (hit.id, hit.payload) == (uuid_of(4), expected)

    def test_vectors_come_only_when_asked_for(self, filled: VectorStore) -> None:
        (record,) = filled.retrieve("law", [uuid_of(4)])
        assert record.dense is None and record.sparse is None
        assert all(one.dense is None and one.sparse is None for one in filled.scroll("law"))

    def test_retrieve_returns_what_exists_once(self, filled: VectorStore) -> None:
        found = filled.retrieve("law", [uuid_of(1), uuid_of(99), uuid_of(2), uuid_of(1)])
        assert sorted(str(record.id) for record in found) == sorted([str(uuid_of(1)), str(uuid_of(2))])


class TestSearch:
    def test_dense_ranks_by_cosine(self, filled: VectorStore) -> None:
        query = vector(1000)
        rows = np.stack([vector(number) for number in range(30)])
        scores = rows @ query / np.linalg.norm(rows, axis=1) / np.linalg.norm(query)
        hits = filled.query_dense("law", query, 10)
        assert [hit.id for hit in hits] == [uuid_of(int(number)) for number in np.argsort(-scores)[:10]]
        np.testing.assert_allclose([hit.score for hit in hits], np.sort(scores)[::-1][:10], rtol=1e-5)

    @pytest.mark.parametrize("limit", [0, 1, 7, 100])
    def test_a_batch_of_queries_is_the_same_as_one_after_the_other(self, filled: VectorStore, limit: int) -> None:
        wheres = (None, Where(must={"regulation_code": ["BDSG"]}), None)
        queries = [(vector(number), wheres[number % 3]) for number in range(150)]
        for payload in (True, False, ["regulation_code"]):
            found = filled.query_batch("law", queries, limit, payload=payload)
            single = [filled.query_dense("law", one, limit, where, payload=payload) for one, where in queries[:6]]
            assert len(found) == 150
            for many, one in zip(found, single, strict=False):
                assert [(hit.id, hit.payload) for hit in many] == [(hit.id, hit.payload) for hit in one]
                np.testing.assert_allclose([hit.score for hit in many], [hit.score for hit in one], rtol=1e-5)
        assert filled.query_batch("law", [], 5) == []

    def test_ties_in_a_batch_come_by_id_even_across_the_limit(self, store: VectorStore) -> None:
        store.create("law", LAYOUT, {}, {})
        same = [replace(point(number), dense=vector(1)) for number in range(60)]
        store.upsert("law", same)
        expected = sorted((one.id for one in same), key=id_key)[:3]
        found = store.query_batch("law", [(vector(2), None), (vector(1), None)], 3)
        assert [[hit.id for hit in hits] for hits in found] == [expected, expected]

    def test_sparse_weighs_rare_terms_higher(self, store: VectorStore) -> None:
        store.create("law", LAYOUT, {}, {})
        texts = {1: (10, 20), 2: (10,), 3: (10,), 4: (10,), 5: (20, 30), 6: (40,)}
        store.upsert("law", [Point(n, vector(n), SparseVector(t, (1.0,) * len(t)), {"n": n}) for n, t in texts.items()])
        hits = store.query_sparse("law", SparseVector((10, 20, 30), (1.0, 1.0, 1.0)), 10)

        # Qdrant's IDF over the points that have the vector: ln(1 + (N - n + 0.5) / (n + 0.5)).
        frequency = {term: sum(term in terms for terms in texts.values()) for term in (10, 20, 30)}
        idf = {term: np.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for term, n in frequency.items()}
        scores = {n: sum(idf.get(term, 0) for term in terms) for n, terms in texts.items()}
        expected = sorted((n for n in texts if scores[n] > 0), key=lambda n: (-scores[n], n))
        assert [hit.id for hit in hits] == expected == [5, 1, 2, 3, 4]
        np.testing.assert_allclose([hit.score for hit in hits], [scores[n] for n in expected], rtol=1e-5)

    def test_a_question_without_terms_finds_nothing(self, filled: VectorStore) -> None:
        assert filled.query_sparse("law", SparseVector((), ()), 10) == []
        assert filled.query_sparse("law", SparseVector((9,), (1.0,)), 10) == []

    def test_a_chunk_without_terms_is_kept_and_found_by_no_term(self, filled: VectorStore) -> None:
        filled.upsert("law", [replace(point(70), sparse=SparseVector((), ()))])
        assert filled.count("law") == 31
        hits = filled.query_sparse("law", SparseVector((1,), (1.0,)), 100)
        assert uuid_of(70) not in {hit.id for hit in hits} and len(hits) == 30

    @pytest.mark.parametrize("limit", [1, 3, 17, 59, 60, 100])
    def test_equal_scores_come_by_id_even_across_the_limit(self, store: VectorStore, limit: int) -> None:
        store.create("law", LAYOUT, {}, {})
        same = [replace(point(number), dense=vector(1)) for number in range(60)]
        store.upsert("law", [replace(one, sparse=SparseVector((1,), (1.0,))) for one in same])
        expected = sorted((one.id for one in same), key=id_key)[:limit]
        assert [hit.id for hit in store.query_dense("law", vector(2), limit)] == expected
        assert [hit.id for hit in store.query_sparse("law", SparseVector((1,), (1.0,)), limit)] == expected

    def test_a_limit_of_zero_gives_nothing(self, filled: VectorStore) -> None:
        assert filled.query_dense("law", vector(1), 0) == []
