"""The letter skeleton: what is left of a text when everything that copying damages is gone.

Lower case a-z and 2-9 only; umlauts lose their dots, ß becomes ss, ligatures fall apart, and what scans confuse is one
letter (0 = o; 1, l, j, | = i). Blanks, hyphens, line ends and punctuation vanish, so quotations over line and Absatz
ends match by themselves. Only single characters fold: context rules (rn = m) were measured to cause wrong links.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from relink.compiled import compiled

Bytes = NDArray[np.uint8]
Characters = NDArray[np.uint16] | NDArray[np.uint32]
Offsets = NDArray[np.int64]

_CONFUSED = str.maketrans("lj10", "iiio")
_AS_WRITTEN = "lLjJ10"
_BREAK = "\x00"
_BREAK_CODE = 1
_SEVERAL_CODE = 2
_PLANE = 1 << 16
_BLOCK_CHARACTERS = 1 << 19
# The number in front of an Absatz is no part of `chunk_text`, but a quotation over two Absätze has it in the middle.
ABSATZ_NUMBER = re.compile(r"\([0-9]{1,3}[a-z]{0,2}\)")


@dataclass(frozen=True, slots=True)
class Folded:
    """Skeletons of many texts end to end, a byte a letter: text i is `codes[starts[i]:starts[i + 1]]`."""

    codes: Bytes
    starts: Offsets

    @property
    def letters(self) -> str:
        """The letters as text (a copy)."""
        return self.codes.tobytes().decode("ascii")


def _fold_character(character: str, confused: dict[int, int]) -> str:
    if character == "|":
        return "i"
    plain = unicodedata.normalize("NFKD", character).casefold()
    plain = unicodedata.normalize("NFKD", plain)
    return "".join(c for c in plain if c.isascii() and c.isalnum()).translate(confused)


@cache
def _tables() -> tuple[Bytes, dict[int, str]]:
    """Return a letter for each character of the basic plane (0 = dropped, 2 = several), and the several."""
    single = np.zeros(_PLANE, dtype=np.uint8)
    several: dict[int, str] = {}
    for code in range(_PLANE):
        if 0xD800 <= code < 0xE000:
            continue
        folded = _fold_character(chr(code), _CONFUSED)
        if len(folded) == 1:
            single[code] = ord(folded)
        elif folded:
            several[code] = folded
            single[code] = _SEVERAL_CODE
    single[ord(_BREAK)] = _BREAK_CODE
    return single, several


@cache
def _expansions() -> Bytes:
    """Return, for each character that folds to several letters, those letters (0 = no more)."""
    _, several = _tables()
    expansions = np.zeros((_PLANE, max(map(len, several.values()))), dtype=np.uint8)
    for code, letters in several.items():
        expansions[code, : len(letters)] = list(letters.encode("ascii"))
    return expansions


@compiled
def _absatz_number(characters: Characters, at: int) -> int:
    """Return how long the number of an Absatz is that begins at a position (see ABSATZ_NUMBER), or 0."""
    size = characters.size
    end = at + 1
    while end < size and end - at <= 3 and 48 <= characters[end] <= 57:
        end += 1
    if end == at + 1:
        return 0
    digits = end
    while end < size and end - digits < 2 and 97 <= characters[end] <= 122:
        end += 1
    return end + 1 - at if end < size and characters[end] == 41 else 0


@compiled
def _fold_characters(
    characters: Characters, single: Bytes, expansions: Bytes, letters: Bytes, ends: Offsets
) -> tuple[int, int]:
    """Write the letters of the characters, and where each text ends; return how many letters and ends there are."""
    size = texts = 0
    at = 0
    while at < characters.size:
        character = characters[at]
        if character == 40:
            skipped = _absatz_number(characters, at)
            if skipped:
                at += skipped
                continue
        letter = single[character]
        if letter == _BREAK_CODE:
            ends[texts] = size
            texts += 1
        elif letter == _SEVERAL_CODE:
            for i in range(expansions.shape[1]):
                if expansions[character, i]:
                    letters[size] = expansions[character, i]
                    size += 1
        elif letter:
            letters[size] = letter
            size += 1
        at += 1
    ends[texts] = size
    return size, texts + 1


def _fold_block(texts: Sequence[str]) -> tuple[bytes, Offsets]:
    """Return the skeletons of some texts, joined, and the length of each."""
    joined = _BREAK.join(texts)
    if joined.count(_BREAK) != len(texts) - 1:
        joined = _BREAK.join(text.replace(_BREAK, " ") for text in texts)
    characters = np.frombuffer(joined.encode("utf-16-le", "surrogatepass"), dtype=np.uint16)
    expansions = _expansions()
    letters = np.empty(expansions.shape[1] * characters.size, dtype=np.uint8)
    ends = np.empty(len(texts), dtype=np.int64)
    size, _ = _fold_characters(characters, _tables()[0], expansions, letters, ends)
    return letters[:size].tobytes(), np.diff(ends, prepend=0)


def _blocks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the texts in blocks of about so many characters."""
    begin = size = 0
    for end, text in enumerate(texts, start=1):
        size += len(text)
        if size >= _BLOCK_CHARACTERS or end == len(texts):
            yield texts[begin:end]
            begin, size = end, 0


def fold_all(texts: Sequence[str], threads: int = 1) -> Folded:
    """Return the skeletons of many texts; the same for any number of threads."""
    if threads == 1:
        folded = list(map(_fold_block, _blocks(texts)))
    else:
        with ThreadPoolExecutor(threads) as pool:
            folded = list(pool.map(_fold_block, _blocks(texts)))
    lengths = [np.zeros(1, dtype=np.int64), *(counts for _, counts in folded)]
    codes = np.frombuffer(b"".join(letters for letters, _ in folded), dtype=np.uint8)
    return Folded(codes, np.cumsum(np.concatenate(lengths)))


def fold(text: str) -> str:
    """Return the skeleton of one text."""
    return fold_all([text]).letters


@compiled
def _fold_one(
    characters: NDArray[np.uint32], single: Bytes, expansions: Bytes, letters: Bytes, positions: Offsets
) -> int:
    """Write the letters of one text, and the position of the character of each; return how many letters there are."""
    size = at = 0
    while at < characters.size:
        character = characters[at]
        skipped = _absatz_number(characters, at) if character == 40 else 0
        if skipped:
            at += skipped
            continue
        letter = single[character] if character < _PLANE else 0
        if letter == _SEVERAL_CODE:
            for i in range(expansions.shape[1]):
                if expansions[character, i]:
                    letters[size], positions[size] = expansions[character, i], at
                    size += 1
        elif letter > _SEVERAL_CODE:
            letters[size], positions[size] = letter, at
            size += 1
        at += 1
    return size


def _fold_text(text: str, single: Bytes) -> tuple[str, Offsets]:
    characters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    expansions = _expansions()
    room = characters.size if text.isascii() else expansions.shape[1] * characters.size
    letters, positions = np.empty(room, dtype=np.uint8), np.empty(room, dtype=np.int64)
    size = _fold_one(characters, single, expansions, letters, positions)
    return letters[:size].tobytes().decode("ascii"), positions[:size]


def fold_positions(text: str) -> tuple[str, Offsets]:
    """Return the skeleton of one text and, for each of its letters, the position of its character in the text."""
    return _fold_text(text, _tables()[0])


@cache
def _written_table() -> Bytes:
    """Return the letter for each character, but those that scans confuse as they are written."""
    single = _tables()[0].copy()
    for character in _AS_WRITTEN:
        single[ord(character)] = ord(character.lower())
    return single


def written_letters(text: str) -> str:
    """Return the same letters as `fold`, but those that scans confuse as they are written.

    As long as the skeleton, so that equal skeletons compare letter by letter: "Buchstabe i" and "Buchstabe j" have one.
    """
    return _fold_text(text, _written_table())[0]
