"""The precise last pass: a model that reads question and chunk together (spec/retrieval-architecture 5.3). Opt-in.

Needs the extra `models` (sentence-transformers). It orders the first 50 to 200 candidates and leaves the rest behind
them as they are. A model that cannot be loaded, fails, or answers with something else than one number a candidate is an
EmbedderError, upon which the search keeps the order it had and says so.
"""

import importlib
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from backends.embedders import EmbedderError
from normalize.errors import FundstelleError
from retrieve.candidates import Candidate
from retrieve.config import Retriever

Judge = Callable[[list[tuple[str, str]]], Sequence[float]]
"""Score (question, text) pairs, higher is better; one score a pair."""


class CrossEncoderJudge:
    """A CrossEncoder model (a name or a folder), loaded when it is first asked, once for all searches and threads.

    A model that cannot be loaded is not tried again: every search is told the same.
    """

    def __init__(self, model: str) -> None:
        self.model = model
        self._lock = threading.Lock()
        self._encoder: Any = None
        self._fault: str | None = None

    def __call__(self, pairs: list[tuple[str, str]]) -> Sequence[float]:
        """Return the model's scores. Raises EmbedderError if the extra or the model is missing."""
        with self._lock:
            if self._fault is None and self._encoder is None:
                try:
                    self._encoder = _load(self.model)
                except EmbedderError as error:
                    self._fault = str(error)
            if self._fault is not None:
                raise EmbedderError(self._fault)
            return [float(value) for value in self._encoder.predict(pairs, show_progress_bar=False)]


def _load(model: str) -> Any:
    try:
        package: Any = importlib.import_module("sentence_transformers")
    except ImportError:
        raise EmbedderError(
            "A cross-encoder needs the package sentence-transformers: pip install 'fundstelle[models]'."
        ) from None
    try:
        return package.CrossEncoder(model)
    except Exception as error:  # the library raises whatever its hub client raises
        raise EmbedderError(
            f"Cross-encoder '{model}' cannot be loaded ({_reason(error)}); name a model or a folder that holds one."
        ) from None


def rerank(
    ranked: Sequence[Candidate], question: str, judge: Judge, retriever: Retriever, top_k: int
) -> list[Candidate]:
    """Return the candidates with the first of them in the order of the model's scores, which become their totals.

    Raises EmbedderError if the model fails or does not give one finite score a candidate.
    """
    limits = retriever.config.rank
    depth = min(max(top_k * 4, limits.cross_encoder_least), limits.cross_encoder_most)
    head, tail = list(ranked[:depth]), list(ranked[depth:])
    scores = _scores(judge, [(question, str(candidate.payload.get("chunk_text") or "")) for candidate in head])
    judged = [replace(candidate, total=value) for candidate, value in zip(head, scores, strict=True)]
    return sorted(judged, key=lambda candidate: (-candidate.total, str(candidate.hit.id))) + tail


def _scores(judge: Judge, pairs: list[tuple[str, str]]) -> list[float]:
    if not pairs:
        return []
    try:
        scores = [float(value) for value in judge(pairs)]
    except FundstelleError:
        raise
    except Exception as error:  # a model fails in its own ways: out of memory, a text it cannot read, two scores a pair
        raise EmbedderError(f"The cross-encoder failed ({_reason(error)}); the order before it stays.") from None
    if len(scores) != len(pairs):
        raise EmbedderError(
            f"The cross-encoder gave {len(scores)} scores for {len(pairs)} candidates; the order before it stays."
        )
    if not all(map(math.isfinite, scores)):
        raise EmbedderError("The cross-encoder gave a score that is no number; the order before it stays.")
    return scores


def _reason(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0][:200] if lines else type(error).__name__
