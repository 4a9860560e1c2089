"""The letter skeleton: what is left of a text when everything that copying damages is gone.

Lower case a-z and 2-9 only; umlauts lose their dots, ß becomes ss, ligatures fall apart, and what scans confuse is one
letter (0 = o; 1, l, j, | = i). Blanks, hyphens, line ends and punctuation vanish, so quotations over line and Absatz
ends match by themselves. Only single characters fold: context rules (rn = m) were measured to cause wrong links.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]

_CONFUSED = str.maketrans("lj10", "iiio")
_AS_WRITTEN = frozenset("lj10")
_BREAK = "\x00"
_BREAK_CODE = 1
_SEVERAL = b"\x02"
_PLANE = 1 << 16
_BLOCK_CHARACTERS = 1 << 16
# The number in front of an Absatz is no part of `chunk_text`, but a quotation over two Absätze has it in the middle.
ABSATZ_NUMBER = re.compile(r"\([0-9]{1,3}[a-z]{0,2}\)")


@dataclass(frozen=True, slots=True)
class Folded:
    """Skeletons of many texts end to end: text i is `letters[starts[i]:starts[i + 1]]`."""

    letters: str
    starts: Offsets

    def codes(self) -> Bytes:
        """Return the letters as bytes (a view, no copy of meaning)."""
        return np.frombuffer(self.letters.encode("ascii"), dtype=np.uint8)


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
            single[code] = _SEVERAL[0]
    single[ord(_BREAK)] = _BREAK_CODE
    return single, several


def _look_up(single: Bytes, text: str) -> bytes:
    return single[np.frombuffer(text.encode("utf-16-le", "surrogatepass"), dtype=np.uint16)].tobytes()


def _fold_block(texts: Sequence[str]) -> tuple[bytes, Offsets]:
    """Return the skeletons of some texts, joined, and the length of each."""
    single, several = _tables()
    joined = _BREAK.join(texts)
    if joined.count(_BREAK) != len(texts) - 1:
        joined = _BREAK.join(text.replace(_BREAK, " ") for text in texts)
    joined = ABSATZ_NUMBER.sub("", joined).replace("ß", "ss")
    folded = _look_up(single, joined)
    if _SEVERAL in folded:
        folded = _look_up(single, joined.translate(several))
    folded = folded.translate(None, b"\x00")
    breaks = np.flatnonzero(np.frombuffer(folded, dtype=np.uint8) == _BREAK_CODE)
    edges = np.concatenate(([-1], breaks, [len(folded)])).astype(np.int64)
    return folded.translate(None, bytes([_BREAK_CODE])), np.diff(edges) - 1


def fold_all(texts: Sequence[str]) -> Folded:
    """Return the skeletons of many texts."""
    parts: list[bytes] = []
    lengths: list[Offsets] = [np.zeros(1, dtype=np.int64)]
    begin = size = 0
    for end, text in enumerate(texts, start=1):
        size += len(text)
        if size >= _BLOCK_CHARACTERS or end == len(texts):
            letters, counts = _fold_block(texts[begin:end])
            parts.append(letters)
            lengths.append(counts)
            begin, size = end, 0
    return Folded(b"".join(parts).decode("ascii"), np.cumsum(np.concatenate(lengths)))


def fold(text: str) -> str:
    """Return the skeleton of one text."""
    return fold_all([text]).letters


def fold_positions(text: str) -> tuple[str, NDArray[np.int64]]:
    """Return the skeleton of one text and, for each of its letters, the position of its character in the text."""
    single, several = _tables()
    masked = ABSATZ_NUMBER.sub(lambda found: " " * len(found[0]), text.replace(_BREAK, " "))
    wide = np.frombuffer(masked.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    folded = np.where(wide < _PLANE, single[np.minimum(wide, _PLANE - 1)], 0)
    lengths = (folded != 0).astype(np.int64)
    wider = np.flatnonzero(folded == _SEVERAL[0]).tolist()
    for position in wider:
        lengths[position] = len(several[int(wide[position])])
    positions = np.repeat(np.arange(wide.size), lengths)
    letters = np.repeat(folded, lengths)
    for position in wider:
        letters[positions == position] = list(several[int(wide[position])].encode("ascii"))
    return letters.astype(np.uint8).tobytes().decode("ascii"), positions


def written_letters(text: str) -> str:
    """Return the same letters as `fold`, but those that scans confuse as they are written.

    As long as the skeleton, so that equal skeletons compare letter by letter: "Buchstabe i" and "Buchstabe j" have one.
    """
    letters, positions = fold_positions(text)
    written = [text[position].casefold() for position in positions.tolist()]
    return "".join(c if c in _AS_WRITTEN else letter for c, letter in zip(written, letters, strict=True))
