"""What an embedder is, and the error all of them raise."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from normalize.errors import FundstelleError


class EmbedderError(FundstelleError):
    """The embedding model cannot be reached, refuses the texts, or answers with something that is no vector."""


@dataclass(frozen=True, slots=True)
class TokenLimit:
    """How many tokens of a text a model sees, special tokens included; `count` counts them as `tokenizer` does.

    `count` must be picklable, since sources are read in several processes.
    """

    tokens: int
    tokenizer: str
    count: Callable[[str], int]


class Embedder(Protocol):
    """A model that turns texts into vectors."""

    @property
    def model(self) -> str:
        """Identity of the model with its version: equal identity means equal vectors for equal texts."""
        ...

    @property
    def dimension(self) -> int:
        """Number of components of a vector."""
        ...

    @property
    def max_characters(self) -> int:
        """How much of a text is embedded; the rest is cut off."""
        ...

    @property
    def token_limit(self) -> TokenLimit | None:
        """How many tokens of a text are embedded; None where the model has no tokenizer that can be asked."""
        ...

    @property
    def description(self) -> str:
        """What the vectors mean, in a few words for people."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one finite, non-zero row a text, shape (len(texts), dimension). Raises EmbedderError."""
        ...


def check_rows(rows: NDArray[np.float32], expected: int, dimension: int, model: str) -> NDArray[np.float32]:
    """Return the rows; raises EmbedderError unless they are `expected` finite, non-zero vectors of the dimension."""
    if rows.shape != (expected, dimension):
        raise EmbedderError(
            f"Model {model} answered {expected} texts with vectors of shape {rows.shape} instead of "
            f"{(expected, dimension)}; check the model's name and the dimension in the settings."
        )
    if not np.isfinite(rows).all() or not rows.any(axis=1).all():
        raise EmbedderError(
            f"Model {model} answered with a vector of zeros, NaN or infinity; restart the model server."
        )
    return rows
