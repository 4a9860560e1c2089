"""Embedders: texts to dense vectors. `make_embedder` makes the one the settings name.

`hashing` needs no model and is lexical; `ollama` asks a server; `sentence-transformers` runs a model in this process.
"""

from backends.embedders.hashing import DIMENSION, HashingEmbedder
from backends.embedders.protocol import Embedder, EmbedderError, TokenLimit
from normalize.errors import UsageError

__all__ = ["EMBEDDERS", "Embedder", "EmbedderError", "HashingEmbedder", "TokenLimit", "make_embedder"]

EMBEDDERS = ("hashing", "ollama", "sentence-transformers")


def make_embedder(
    name: str, *, model: str | None = None, url: str | None = None, dimension: int | None = None
) -> Embedder:
    """Return the embedder of that name; nothing is contacted or loaded before it is used.

    `model` is the model's name (default bge-m3), `url` the address of the Ollama server, `dimension` the number of
    components: chosen for hashing (default 512), checked for the others (default: whatever the model has).
    Raises UsageError for an unknown name, an impossible dimension, or a missing optional package.
    """
    if dimension is not None and dimension < 1:
        raise UsageError(f"Embedding dimension {dimension} is impossible; set a positive number or leave it out.")
    if name == "hashing":
        return HashingEmbedder(dimension or DIMENSION)
    if name == "ollama":
        from backends.embedders.ollama import DEFAULT_MODEL, DEFAULT_URL, OllamaEmbedder

        return OllamaEmbedder(url or DEFAULT_URL, model or DEFAULT_MODEL, dimension)
    if name == "sentence-transformers":
        from backends.embedders import transformers

        return transformers.TransformersEmbedder(model or transformers.DEFAULT_MODEL, dimension)
    raise UsageError(f"There is no embedder '{name}'; take one of {', '.join(EMBEDDERS)}.")
