"""All rules, and the profiles that say which apply to which kind of source, in which order."""

import hashlib
from typing import Final, Literal

from normalize.rules.blanks import NO_BLANKS_AT_THE_ENDS, ONE_BLANK, PLAIN_LINE_ENDS, TIDY_LINES
from normalize.rules.characters import (
    COMPOSED_LETTERS,
    CONTROL_CHARACTERS,
    INVISIBLE_CHARACTERS,
    LIGATURES,
    SOFT_HYPHENS,
)
from normalize.rules.footnotes import FOOTNOTE_MARKS, PAGE_FOOTNOTES
from normalize.rules.line_hyphens import LEFTOVER_LINE_HYPHENS, LINE_HYPHENS
from normalize.rules.page_furniture import PAGE_FURNITURE
from normalize.rules.rule import Rule

Profile = Literal["structured", "layout", "legacy"]

_SIGNS: Final = (CONTROL_CHARACTERS, INVISIBLE_CHARACTERS, LIGATURES)

PROFILES: Final[dict[Profile, tuple[Rule, ...]]] = {
    # Running text of XML and HTML: one line, nothing laid out.
    "structured": (*_SIGNS, SOFT_HYPHENS, COMPOSED_LETTERS, ONE_BLANK, NO_BLANKS_AT_THE_ENDS),
    # Text of PDF and plain files: lines stay, pages are divided by form feeds.
    "layout": (
        PLAIN_LINE_ENDS,
        *_SIGNS,
        COMPOSED_LETTERS,
        PAGE_FURNITURE,
        PAGE_FOOTNOTES,
        LINE_HYPHENS,
        LEFTOVER_LINE_HYPHENS,
        SOFT_HYPHENS,
        FOOTNOTE_MARKS,
        COMPOSED_LETTERS,
        TIDY_LINES,
    ),
    # Chunk texts of old payloads and quotations: laid out once, then kept as one piece.
    "legacy": (
        PLAIN_LINE_ENDS,
        *_SIGNS,
        COMPOSED_LETTERS,
        LINE_HYPHENS,
        LEFTOVER_LINE_HYPHENS,
        SOFT_HYPHENS,
        COMPOSED_LETTERS,
        ONE_BLANK,
        NO_BLANKS_AT_THE_ENDS,
    ),
}

RULES: Final[tuple[Rule, ...]] = tuple(dict.fromkeys(rule for rules in PROFILES.values() for rule in rules))


def registry_version(*parts: str) -> str:
    """Return a short version of all rules and profiles (and `parts`): equal as long as no outcome may differ."""
    lines = [
        *(f"{rule.name} {rule.version}" for rule in RULES),
        *(f"{profile}: {' '.join(rule.name for rule in rules)}" for profile, rules in PROFILES.items()),
        *parts,
    ]
    return hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest()[:8]
