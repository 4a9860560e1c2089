"""Cleaning of text by named rules (DESIGN §5)."""

import re
import unicodedata

_SPACES = re.compile(r"[ \t\r\n\f\v\u00a0\u2000-\u200a\u202f\u205f\u3000]+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")

NORMALIZER_VERSION = "1"


def clean_inline(text: str) -> str:
    """Return one run of source text as a single clean line: NFC, no soft hyphens, single spaces, trimmed."""
    return _SPACES.sub(" ", _INVISIBLE.sub("", unicodedata.normalize("NFC", text))).strip()
