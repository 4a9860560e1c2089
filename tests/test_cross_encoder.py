"""The cross-encoder: it orders the head of the pool, and whatever is wrong with it, the search goes on and says so.

The last tests run a real CrossEncoder: a tiny BERT with random weights, made here, nothing is downloaded.

    pip install torch sentence-transformers

Without these packages they are left out: they are several hundred megabytes, and CI does without them.
"""

import importlib.util
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from backends.embedders import EmbedderError, HashingEmbedder
from backends.vectors.edge import EdgeStore
from backends.vectors.store import ANALYZER, Layout, Point, SparseVector, VectorStore
from normalize.analyzer import VERSION, sparse_document
from normalize.laws import LawTable
from retrieve.cross_encoder import CrossEncoderJudge, Judge
from retrieve.search import Answer, SearchOptions, search
from tests.vectors_points import uuid_of

LAWS = LawTable.builtin()
EMBEDDER = HashingEmbedder(64)
QUESTION = "Wie lang müssen Passwörter sein?"
TEXTS = [f"Passwörter müssen mindestens {number} Zeichen lang sein." for number in range(1, 9)]
has_models = pytest.mark.skipif(
    importlib.util.find_spec("sentence_transformers") is None, reason="needs torch and sentence-transformers"
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VectorStore]:
    with EdgeStore(tmp_path_factory.mktemp("judged"), 5.0) as edge:
        edge.create("regeln", Layout(dimension=64), {}, {"embedder": EMBEDDER.model, ANALYZER: VERSION})
        edge.upsert(
            "regeln",
            [
                Point(
                    uuid_of(number), EMBEDDER.embed([text])[0], SparseVector(*sparse_document(text)),
                    {"article_label": f"REGEL § {number}", "chunk_text": text, "source_class": "binding_law"},
                )
                for number, text in enumerate(TEXTS, 1)
            ],
        )  # fmt: skip
        yield edge


def asked(store: VectorStore, judge: Judge | None) -> Answer:
    return search(store, "regeln", EMBEDDER, QUESTION, LAWS, SearchOptions(8, judge=judge))


def sources(answer: Answer) -> list[str]:
    return [source.source for source in answer.sources]


def test_its_scores_are_the_order(store: VectorStore) -> None:
    answer = asked(store, lambda pairs: [float(text.split()[3]) for _, text in pairs])
    assert sources(answer) == [f"REGEL § {number}" for number in range(8, 0, -1)]
    assert answer.sources[0].candidate.total == 8.0 and not answer.telemetry.degraded


def broken(_pairs: list[tuple[str, str]]) -> Sequence[float]:
    raise RuntimeError("CUDA out of memory.\nTried to allocate 2 GiB")


@pytest.mark.parametrize(
    ("judge", "says"),
    [
        (broken, "CUDA out of memory"),
        (lambda pairs: [0.5], "1 scores for 8 candidates"),
        (lambda pairs: [0.5] * 9, "9 scores for 8 candidates"),
        (lambda pairs: [float("nan"), *[0.5] * 7], "no number"),
        (lambda pairs: [0.5, float("-inf"), *[0.5] * 6], "no number"),
        (lambda pairs: [[0.1, 0.9]] * 8, "failed"),  # a classifier with two classes
        (lambda pairs: None, "failed"),
        (CrossEncoderJudge("/dev/null/no-such-model"), "cross-encoder|Cross-encoder"),
    ],
)
def test_whatever_is_wrong_with_it_the_search_goes_on(store: VectorStore, judge: Judge, says: str) -> None:
    answer = asked(store, judge)
    assert sources(answer) == sources(asked(store, None))
    (fault,) = answer.telemetry.degraded
    assert fault.startswith("cross-encoder: ") and re.search(says, fault)
    assert "\n" not in fault
    stage = next(stage for stage in answer.telemetry.stages if stage.name == "cross-encoder")
    assert (stage.candidates_in, stage.candidates_out) == (8, 8)


def test_a_model_that_cannot_be_loaded_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    def load(model: str) -> object:
        tries.append(model)
        raise EmbedderError(f"Cross-encoder '{model}' cannot be loaded (gone).")

    monkeypatch.setattr("retrieve.cross_encoder._load", load)
    judge = CrossEncoderJudge("fehlt")
    for _ in range(3):
        with pytest.raises(EmbedderError, match="cannot be loaded"):
            judge([("a", "b")])
    assert tries == ["fehlt"]


# --- A real CrossEncoder -------------------------------------------------------------------------------------------


def make_model(folder: Path, labels: int) -> str:
    """A BERT of one layer and 16 dimensions with seeded random weights, saved as sentence-transformers loads it."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    words = sorted({word for text in [QUESTION, *TEXTS] for word in re.findall(r"\w+|[^\w\s]", text.lower())})
    vocabulary = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        model_max_length=128,
    ).save_pretrained(folder)  # fmt: skip
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        num_labels=labels, initializer_range=1.0,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    return str(folder)


@has_models
def test_a_real_model_orders_the_answer(store: VectorStore, tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder

    model = make_model(tmp_path, labels=1)
    answer = asked(store, CrossEncoderJudge(model))
    assert not answer.telemetry.degraded
    scores = CrossEncoder(model).predict([(QUESTION, text) for text in TEXTS], show_progress_bar=False)
    assert len({round(float(score), 6) for score in scores}) > 4, "the order would say nothing"
    told = {f"REGEL § {number}": float(score) for number, score in enumerate(scores, 1)}
    totals = [source.candidate.total for source in answer.sources]
    assert totals == sorted(totals, reverse=True)
    assert totals == pytest.approx([told[name] for name in sources(answer)], abs=1e-5)
    assert sources(answer) != sources(asked(store, None))


@has_models
def test_a_real_model_that_is_no_cross_encoder_degrades(store: VectorStore, tmp_path: Path) -> None:
    """A classifier of three classes gives three numbers a pair."""
    answer = asked(store, CrossEncoderJudge(make_model(tmp_path, labels=3)))
    assert sources(answer) == sources(asked(store, None))
    assert [fault.split(":")[0] for fault in answer.telemetry.degraded] == ["cross-encoder"]


@has_models
def test_a_folder_without_a_model_degrades(store: VectorStore, tmp_path: Path) -> None:
    answer = asked(store, CrossEncoderJudge(str(tmp_path)))
    assert sources(answer) == sources(asked(store, None))
    assert "cannot be loaded" in answer.telemetry.degraded[0]
