"""What search prints."""

from printing.console import console
from retrieve.search import Answer


def print_answer(answer: Answer) -> None:
    """Print the sources as the advisor does (contract §7.2)."""
    out = console()
    if not answer.sources:
        out.print("Nothing found.")
    for number, source in enumerate(answer.sources, 1):
        out.print(f"[Quelle {number}: {source.source}]")
        out.print(source.text)
        out.print()
