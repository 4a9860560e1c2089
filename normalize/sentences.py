"""Sentences of legal German (`Satz`)."""


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Return the character spans of the sentences of a clean text, in order, without the spaces between them."""
    raise NotImplementedError
