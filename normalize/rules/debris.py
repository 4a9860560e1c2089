"""What scanning and broken encodings leave in a text. It is reported, never mended: a guess could change the law."""

import re
from dataclasses import dataclass
from typing import Final

from normalize.rules.rule import MOST_EXAMPLES


@dataclass(frozen=True, slots=True)
class Debris:
    """A kind of damage, how often it occurs, and the first few places."""

    kind: str
    count: int
    examples: tuple[str, ...]


# Each kind with the pattern that finds it. A pattern finds damage in a word that cannot be right as it stands.
DEBRIS: Final[tuple[tuple[str, str, re.Pattern[str]], ...]] = (
    ("replacement-character", "the source could not be decoded here", re.compile("\ufffd+")),
    ("private-use-character", "a sign of a font without meaning outside it", re.compile("[\ue000-\uf8ff]+")),
    ("mojibake", "UTF-8 read as Latin-1", re.compile(r"Ã[\u0080-\u00bf¤¶¼Ÿ„–œ]|â€[\w™œž“”¦]|Â[§\u00a0]")),
    ("digit-in-word", "1 for l, 0 for o", re.compile(r"\b[A-ZÄÖÜ]?[a-zäöüß]{2,}[01][a-zäöüß]{2,}\b")),
    ("capital-i-in-word", "I for l", re.compile(r"\b[A-ZÄÖÜ]?[a-zäöüß]+I[a-zäöüß]+\b")),
    ("vv-for-w", "two v for w", re.compile(r"\b(?:[Vv]v|VV)[aeiouäöü][a-zäöüß]*|\b[a-zäöüß]+vv[aeiouäöü][a-zäöüß]*")),
    ("bar-in-word", "a bar for l or I", re.compile(r"[a-zäöüß][|¦¬][a-zäöüß]+")),
    (
        "lost-blank",
        "words or sentences run together",
        re.compile(
            r"\b[a-zäöüß]{3,}(?:\.[A-ZÄÖÜ]|[,;:][A-ZÄÖÜ]?)[a-zäöüß]{3,}\b"
            r"|\b(?:d(?:er|ie|as|es|em|en)|und|oder|im|zu[mr]?|vo[mn]|nach|für|bei|aus|durch)[A-ZÄÖÜ][a-zäöüß]{3,}\b"
        ),
    ),
    ("spaced-letters", "letters set apart", re.compile(r"(?<!\S)(?:[^\W\d_] ){4,}[^\W\d_](?!\S)")),
    ("word-cut-at-line-end", "a hyphen no evidence explains", re.compile(r"(?<!\S)[a-zäöüß]-[a-zäöüß]{4,}")),
)
_ADDRESS: Final = re.compile(r"www\.|://|@|\.(?:de|eu|com|org|int)\b")


def find_debris(text: str) -> tuple[Debris, ...]:
    """Return the damage in a text by kind; addresses of the web are none."""
    found = []
    for kind, _, pattern in DEBRIS:
        words = (_word_at(text, match) for match in pattern.finditer(text))
        places = [word for word in words if not _ADDRESS.search(word)]
        if places:
            found.append(Debris(kind, len(places), tuple(places[:MOST_EXAMPLES])))
    return tuple(found)


def _word_at(text: str, match: re.Match[str], reach: int = 40) -> str:
    """Return the match with what is glued to it."""
    before = text[max(match.start() - reach, 0) : match.start()].rpartition(" ")[2]
    return before + match.group() + text[match.end() : match.end() + reach].partition(" ")[0]
