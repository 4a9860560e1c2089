"""Embeddings from a sentence-transformers model in this process (optional dependency `fundstelle[models]`)."""

import importlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from backends.embedders.protocol import EmbedderError, TokenLimit, check_rows
from normalize.errors import UsageError

DEFAULT_MODEL: Final = "BAAI/bge-m3"
MAX_CHARACTERS: Final = 2000
_BATCH: Final = 32


class TransformersEmbedder:
    """Loads the model at first use; `name` is a model's name, `name@revision`, or a directory.

    Several threads may use it; they wait for one another, since a tokenizer can be lent to one of them only.
    """

    description = "a language model in this process: finds shared meaning"
    max_characters = MAX_CHARACTERS

    def __init__(self, name: str, dimension: int | None) -> None:
        """Use model `name`; raises UsageError if the package is not installed."""
        try:
            self._package: Any = importlib.import_module("sentence_transformers")
        except ImportError:
            raise UsageError(
                "The embedder 'sentence-transformers' needs a package that is not installed; "
                "run `pip install 'fundstelle[models]'` or set another embedder."
            ) from None
        self._name, _, revision = name.partition("@")
        self._revision = revision or None
        self._expected = dimension
        self._loaded: Any = None
        self._lock = threading.RLock()

    @property
    def model(self) -> str:
        """Name and revision of the model, e.g. `sentence-transformers:BAAI/bge-m3@5617a9f61b02`."""
        revision = self._revision or _commit(self._load())
        return f"sentence-transformers:{self._name}" + (f"@{revision[:12]}" if revision else "")

    @property
    def dimension(self) -> int:
        """Number of components the model has; raises EmbedderError if it is not the one that was set."""
        found = len(self._encode(["Absatz"])[0])
        if self._expected is not None and found != self._expected:
            raise EmbedderError(
                f"Model {self._name} has {found} dimensions, not the {self._expected} that were set; mend the settings."
            )
        self._expected = found
        return found

    @property
    def token_limit(self) -> TokenLimit | None:
        """The model's window in its own tokens; None for a model that states none."""
        model = self._load()
        tokens = getattr(model, "max_seq_length", None)
        return TokenLimit(int(tokens), self._name, _Tokens(model.tokenizer)) if tokens else None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row a text, shape (len(texts), dimension); of each text the first 2,000 characters count."""
        dimension = self.dimension if self._expected is None else self._expected
        if not texts:
            return np.empty((0, dimension), dtype=np.float32)
        return check_rows(self._encode([text[:MAX_CHARACTERS] for text in texts]), len(texts), dimension, self._name)

    def _encode(self, texts: list[str]) -> NDArray[np.float32]:
        with self._lock:
            rows = self._load().encode(
                texts, batch_size=_BATCH, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
            )
        return np.asarray(rows, dtype=np.float32)

    def _load(self) -> Any:
        with self._lock:
            if self._loaded is None:
                try:
                    self._loaded = self._package.SentenceTransformer(self._name, revision=self._revision)
                except Exception as error:
                    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
                    raise EmbedderError(
                        f"The model '{self._name}' cannot be loaded ({reason}); check its name, or give a directory "
                        "that holds it."
                    ) from error
            return self._loaded


@dataclass(frozen=True, slots=True)
class _Tokens:
    """Counts the tokens of a text, special tokens included."""

    tokenizer: Any

    def __call__(self, text: str) -> int:
        return len(self.tokenizer(text, truncation=False, verbose=False)["input_ids"])


def _commit(model: Any) -> str | None:
    """Return the revision a model was fetched at, if it came from a hub."""
    config = getattr(getattr(model[0], "auto_model", None), "config", None)
    commit = getattr(config, "_commit_hash", None)
    return commit if isinstance(commit, str) else None
