"""The precise last pass: a model that reads question and chunk together (spec/retrieval-architecture 5.3). Opt-in.

Needs the extra `models` (sentence-transformers). It orders the first 50 to 200 candidates and leaves the rest behind
them as they are.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from backends.embedders import EmbedderError
from retrieve.candidates import Candidate
from retrieve.config import Retriever

Judge = Callable[[list[tuple[str, str]]], Sequence[float]]


def load_judge(model: str) -> Judge:
    """Return the scoring function of a CrossEncoder model (a name or a folder).

    Raises EmbedderError if the extra or the model is missing.
    """
    try:
        package: Any = importlib.import_module("sentence_transformers")
    except ImportError:
        raise EmbedderError(
            "A cross-encoder needs the package sentence-transformers: pip install 'fundstelle[models]'."
        ) from None
    try:
        encoder = package.CrossEncoder(model)
    except Exception as error:  # the library raises whatever its hub client raises
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise EmbedderError(f"Cross-encoder '{model}' cannot be loaded ({reason}).") from None
    return lambda pairs: [float(value) for value in encoder.predict(pairs, show_progress_bar=False)]


def rerank(
    ranked: Sequence[Candidate], question: str, judge: Judge, retriever: Retriever, top_k: int
) -> list[Candidate]:
    """Return the candidates with the first of them in the order of the model's scores, which become their totals."""
    limits = retriever.config.rank
    depth = min(max(top_k * 4, limits.cross_encoder_least), limits.cross_encoder_most)
    head, tail = list(ranked[:depth]), list(ranked[depth:])
    scores = judge([(question, str(candidate.payload.get("chunk_text") or "")) for candidate in head])
    judged = [replace(candidate, total=float(value)) for candidate, value in zip(head, scores, strict=True)]
    return sorted(judged, key=lambda candidate: (-candidate.total, str(candidate.hit.id))) + tail
