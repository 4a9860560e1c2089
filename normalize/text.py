"""Cleaning of text by named rules (DESIGN §5): the entry points.

`clean` applies the rules of a profile and tells what each did; `clean_inline` is its fast form for the running text of
structured sources; `clean_pages` is for laid-out documents. The rules themselves live in `normalize.rules`.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from normalize.hyphens import count_words
from normalize.rules import PROFILES, Change, Context, Profile
from normalize.rules.characters import INVISIBLE
from normalize.rules.debris import Debris, find_debris
from normalize.rules.garbage import garbage_reason
from normalize.rules.registry import registry_version
from normalize.sentences import SPLITTER_VERSION

__all__ = [
    "NORMALIZER_VERSION",
    "Applied",
    "Cleaned",
    "CleanedPages",
    "Debris",
    "clean",
    "clean_inline",
    "clean_pages",
    "find_debris",
    "garbage_reason",
]

NORMALIZER_VERSION: Final = registry_version(f"sentences {SPLITTER_VERSION}")

_MOST_PASSES: Final = 10

# Anything a rule of the profile `structured` could change: most texts have nothing of it.
_SUSPECT: Final = re.compile(rf"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad{INVISIBLE}\uffff\ufb00-\ufb06]|\s\s|[^\S ]")


@dataclass(frozen=True, slots=True)
class Applied:
    """What one rule did to a text: how many places it changed, and the first few of them."""

    rule: str
    count: int
    examples: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A clean text and how it came about. `removed` holds (rule, stretch) for every letter or digit taken out."""

    text: str
    applied: tuple[Applied, ...]
    removed: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CleanedPages:
    """The pages of a laid-out document: clean texts with their lines, and reasons for those that were refused.

    `pages` has one text a page, empty where `refused` names the page (index from 0) and why.
    """

    pages: tuple[str, ...]
    refused: tuple[tuple[int, str], ...]
    applied: tuple[Applied, ...]
    removed: tuple[tuple[str, str], ...]


def clean(text: str, profile: Profile, *, known_words: Mapping[str, int] | None = None) -> Cleaned:
    """Apply the rules of a profile to a text.

    `known_words` counts words of the corpus (`normalize.hyphens.count_words`); what a line end cut is decided by it.
    Where none is given, the words of the text itself are counted. Laid-out text is gone through until nothing changes,
    since what one rule takes out may be what hid the next place from an earlier one.
    """
    if known_words is None:
        known_words = count_words([text]) if profile != "structured" else {}
    context = Context(known_words)
    applied: dict[str, Applied] = {}
    removed: list[tuple[str, str]] = []
    for _ in range(_MOST_PASSES):
        before = text
        for rule in PROFILES[profile]:
            outcome = rule.apply(text, context)
            text = outcome.text
            removed += ((rule.name, stretch) for stretch in outcome.removed)
            if outcome.count:
                so_far = applied.get(rule.name, Applied(rule.name, 0, ()))
                examples = so_far.examples or outcome.examples
                applied[rule.name] = Applied(rule.name, so_far.count + outcome.count, examples)
        if text == before or profile == "structured":
            break
    return Cleaned(text, tuple(applied.values()), tuple(removed))


def clean_inline(text: str) -> str:
    """Return one run of text of a structured source as a single clean line: `clean(text, "structured").text`, fast."""
    if _SUSPECT.search(text) is None and unicodedata.is_normalized("NFC", text):
        return text.strip()
    return clean(text, "structured").text


def clean_pages(pages: Sequence[str], *, known_words: Mapping[str, int] | None = None) -> CleanedPages:
    """Clean the pages of a laid-out document: heads, feet and page numbers out, words mended across pages.

    A page whose text layer is garbage is refused: it comes back empty, with the reason.
    """
    reasons = [garbage_reason(page) for page in pages]
    kept = ["" if reason else page.replace("\f", "\n") for page, reason in zip(pages, reasons, strict=True)]
    cleaned = clean("\f".join(kept), "layout", known_words=known_words)
    return CleanedPages(
        pages=tuple(cleaned.text.split("\f")) if pages else (),
        refused=tuple((index, reason) for index, reason in enumerate(reasons) if reason),
        applied=cleaned.applied,
        removed=cleaned.removed,
    )
