"""Texts that are none: a broken text layer, a pointer to a file, an error page, a binary file. They are refused."""

import re
from typing import Final

_HEAD: Final = 2_000
_LFS_POINTER: Final = re.compile(r"\s*version https://git-lfs\.github\.com/spec/")
_ANNEX_POINTER: Final = re.compile(r"\s*(?:\.\./)*\.?(?:git/annex/objects/|/annex/objects/)\S+\s*\Z")
_BINARY: Final = ("%PDF-", "PK\x03\x04", "\x89PNG", "\x1f\x8b", "{\\rtf")
_MARKUP: Final = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE html|<html\b|<head\b|<body\b)", re.IGNORECASE)
# A status with its name, or a text that begins with what only such pages say.
_ERROR: Final = re.compile(
    r"\b(?:40[0134]|429|50[0234])\b[^.\n]{0,30}(?:not found|forbidden|unauthori[sz]ed|bad request|too many requests|"
    r"error|unavailable|bad gateway|time-?out|nicht gefunden|fehler)|\A\W*(?:access denied|zugriff verweigert|"
    r"just a moment\.\.\.|please enable javascript|(?:die )?seite (?:wurde )?nicht gefunden|service unavailable|"
    r"request (?:rejected|blocked)|verify (?:that )?you are (?:a )?human|page not found)",
    re.IGNORECASE,
)
_ERROR_HEAD: Final = 300
_LONGEST_ERROR_PAGE: Final = 1_500
_MOST_UNREADABLE: Final = 0.05  # share of the signs that no font-free reader can know
_UNREADABLE: Final = re.compile("[\x00-\x08\x0e-\x1b\ufffd\ud800-\udfff\ue000-\uf8ff\U000f0000-\U0010ffff]+")
_WORD: Final = re.compile(r"[^\W_]{3,}")
_FEWEST_WORDS: Final = 8
_PAGE_WORDS: Final = 30
_FEWEST_COMMON: Final = 0.02
_MOST_ODD_WORDS: Final = 0.5
_SHORTEST_MIXED: Final = 3
_MOST_ODD_SIGNS: Final = 0.3
_FEWEST_VOWELS: Final = 0.25
_MOST_VOWELS: Final = 0.6
_COMMON: Final = frozenset(
    word
    for line in (
        "der die das des dem den und oder in im an am auf für von vom zu zur zum mit nach bei aus durch ist sind",
        "wird werden nicht ein eine einer eines einem einen als auch sich dieser diese dieses nur bis kann hat so über",
        "unter sowie soweit the of and to in for or by on with shall is are be that this which any as from not it",
    )
    for small in line.split()
    for word in (small, small.capitalize())
)
_VOWELS: Final = frozenset("aeiouyäöüáéíóúàèìòùâêîôûæøåœAEIOUYÄÖÜÁÉÍÓÚÀÈÌÒÙÂÊÎÔÛÆØÅŒ")


def garbage_reason(text: str) -> str | None:
    """Say why a text (a page, a file) must be refused, or None if it may be read. An empty text is not refused."""
    if not text.strip():
        return None
    head = text[:_HEAD]
    if _LFS_POINTER.match(head):
        return "it is a Git LFS pointer, not the file; fetch the file itself"
    if _ANNEX_POINTER.match(head):
        return "it is a git-annex pointer, not the file; fetch the file itself"
    if head.startswith(_BINARY):
        return "it is a binary file, not text"
    if _MARKUP.match(head):
        return "it is a web page, not text" + (" (an error page)" if _ERROR.search(head) else "")
    if (
        len(text) <= _LONGEST_ERROR_PAGE
        and _ERROR.search(head[:_ERROR_HEAD])
        and "§" not in text
        and "Artikel" not in text
    ):
        return "it is the error page of a web server"
    return _unreadable(text)


def _unreadable(text: str) -> str | None:
    signs = len("".join(text.split()))
    bad = sum(map(len, _UNREADABLE.findall(text)))
    if bad > signs * _MOST_UNREADABLE:
        return f"{bad} of {signs} signs have no meaning outside their font or are undecodable: a broken text layer"
    words = [word for word in _WORD.findall(text) if not word.isdigit()]
    common = sum(map(_COMMON.__contains__, words))
    if len(words) < _FEWEST_WORDS or common > len(words) * _FEWEST_COMMON:
        return None
    odd = sum(map(_is_odd, words)) / len(words)
    if odd > _MOST_ODD_WORDS or (len(words) >= _PAGE_WORDS and _looks_encoded(text, signs, odd)):
        return f"hardly one of its {len(words)} words is a word: a broken text layer"
    return None


def _looks_encoded(text: str, signs: int, odd: float) -> bool:
    """Tell whether a page without common words has the signs of a shifted alphabet, not of a list of names.

    Measured on 16,286 stretches of federal law (at most 0.17 odd words and symbols, 0.3 to 0.5 vowels) and on the same
    under random shifts.
    """
    letters = [sign for sign in text if sign.isalpha()]
    symbols = signs - sum(sign.isalnum() for sign in text)
    vowels = sum(sign in _VOWELS for sign in letters) / max(len(letters), 1)
    if odd + symbols / signs > _MOST_ODD_SIGNS:
        return True
    return len(letters) * 2 > signs and not _FEWEST_VOWELS < vowels < _MOST_VOWELS


def _is_odd(word: str) -> bool:
    """A word of digits, small and capital letters ("9LWWg"; codes like E100 have two), or long without a vowel."""
    if len(word) > _SHORTEST_MIXED and any(map(str.isdigit, word)) and any(map(str.islower, word)):
        return any(map(str.isupper, word))
    return len(word) > 4 and word.isalpha() and not word.isupper() and _VOWELS.isdisjoint(word)
