"""Chunks for the re-link tests: a few invented provisions, and payloads as the contract has them."""

from collections.abc import Sequence
from typing import Any

from normalize import identity
from normalize.citation import label
from relink.chunks import LinkChunk, chunks_from_payloads

Provision = tuple[str, str | None, str | None, str]
"""Law, article, Absatz, text."""

PROVISIONS: tuple[Provision, ...] = (
    ("KatzG", "1", "1", "Wer eine Katze hält, hat ihr täglich frisches Wasser und ausreichend Futter bereitzustellen."),
    (
        "KatzG",
        "1",
        "2",
        "Die zuständige Behörde kann im Einzelfall Ausnahmen von Absatz 1 zulassen, wenn die Katze krank ist.",
    ),
    (
        "KatzG",
        "2",
        None,
        "1. Der Schlafplatz muss trocken sein. 2. Er muss mindestens 40 Zentimeter breit sein, "
        "a) bei jungen Tieren 30 Zentimeter, b) bei alten Tieren 50 Zentimeter.",
    ),
    ("KatzG", "3", None, "Dieses Gesetz tritt am Tag nach der Verkündung in Kraft und gilt für alle Halter."),
    ("HundG", "1", "1", "Wer einen Hund hält, hat ihm täglich Auslauf von mindestens zwei Stunden zu gewähren."),
    ("HundG", "1", "2", "Die Frist nach Buchstabe i beträgt drei Monate ab der Anzeige des Halters bei der Behörde."),
    ("HundG", "1", "3", "Die Frist nach Buchstabe j beträgt drei Monate ab der Anzeige des Halters bei der Behörde."),
    ("HundG", "3", None, "Dieses Gesetz tritt am Tag nach der Verkündung in Kraft und gilt für alle Halter."),
    ("HundG", "4", "1", "Der Halter führt über die Impfungen seines Hundes ein Verzeichnis nach amtlichem Muster."),
    ("HundG", "4", "2", "Der Halter führt über die Impfungen seines Hundes kein Verzeichnis nach amtlichem Muster."),
)

UNITS: dict[tuple[str, str | None, str | None], list[dict[str, Any]]] = {
    ("KatzG", "2", None): [
        {"start": 0, "end": 37, "sub": "Nr. 1"},
        {"start": 38, "end": 156, "sub": "Nr. 2"},
        {"start": 86, "end": 121, "sub": "Nr. 2 lit. a"},
        {"start": 122, "end": 156, "sub": "Nr. 2 lit. b"},
    ]
}
NAMES = {"KatzG": "Katzengesetz", "HundG": "Hundegesetz"}


def payload(index: int, provision: Provision, version: str = "2024-01-01-00000000") -> dict[str, Any]:
    """Return the payload of one provision."""
    law, article, paragraph, text = provision
    code = law.upper()
    return {
        "chunk_id": identity.chunk_id(code, article, paragraph, index, version),
        "chunk_hash": identity.chunk_hash(text),
        "chunk_text": text,
        "regulation_code": code,
        "regulation_short": law,
        "regulation_name": NAMES[law],
        "citation_style": "paragraph",
        "article": article,
        "paragraph": paragraph,
        "sub": None,
        "is_recital": False,
        "article_label": label(law, "paragraph", article, paragraph),
        "page": None,
        "source_type": "gesetz",
        "license": "frei",
        "source_url": f"https://example.org/{law}",
        "document_id": f"DOC-{law}",
        "document_version": version,
        "chunk_index": index,
        "units": UNITS.get((law, article, paragraph), []),
    }


def link_chunks(provisions: Sequence[Provision] = PROVISIONS) -> list[LinkChunk]:
    """Return the chunks of some provisions in document order."""
    return chunks_from_payloads(payload(i, provision) for i, provision in enumerate(provisions))
