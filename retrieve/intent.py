"""Whether a question asks for controls ("Welche Maßnahmen …", "NIST …") rather than for a duty."""

from normalize.analyzer import words
from retrieve.config import Retriever

_SHORTEST_BEGINNING = 6


def asks_for_controls(question: str, retriever: Retriever) -> bool:
    """Tell whether a word of the question is one of the configured words, or begins as a longer one of them."""
    wanted = [word for entry in retriever.config.control.intent for word in words(entry)]
    return any(
        word == want or (len(want) >= _SHORTEST_BEGINNING and word.startswith(want))
        for word in words(question)
        for want in wanted
    )
