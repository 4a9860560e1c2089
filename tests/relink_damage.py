"""Damage that knows its offsets: quotations cut from chunks of real law, damaged in seeded ways, and where they stand.

The kinds are those of the gold, written anew: this says for each quotation the characters that it covers.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from relink.chunks import LinkChunk

SOFT = "\u00ad"
SLIPS = {"e": "c", "c": "e", "n": "u", "u": "n", "h": "b", "b": "h", "f": "t", "m": "rn", "l": "1", "O": "0", "v": "y"}
SLIP_SHARE = 0.015
LINE = 60


@dataclass(frozen=True, slots=True)
class Damaged:
    """A quotation, its kind of damage, and its characters: from `start` in chunk `first` to `end` in chunk `last`."""

    kind: str
    text: str
    first: int
    last: int
    start: int
    end: int


def _soft_hyphens(rng: random.Random, text: str) -> str:
    words = text.split(" ")
    for i, word in enumerate(words):
        if len(word) > 7 and rng.random() < 0.4:
            at = rng.randrange(3, len(word) - 3)
            words[i] = word[:at] + SOFT + word[at:]
    return " ".join(words)


def _line_ends(rng: random.Random, text: str) -> str:
    lines: list[str] = []
    while len(text) > LINE + 10:
        at = LINE
        if text[at - 3 : at + 3].isalpha() and text[at:].split(" ")[0].islower() and rng.random() < 0.9:
            lines.append(text[:at] + "-")
            text = text[at:]
        else:
            at = text.find(" ", at)
            if at < 0:
                break
            lines.append(text[:at])
            text = text[at + 1 :]
    return "\n".join([*lines, text])


def _scan(rng: random.Random, text: str) -> str:
    return "".join(SLIPS[c] if c in SLIPS and rng.random() < SLIP_SHARE else c for c in text)


def _lost_blanks(rng: random.Random, text: str) -> str:
    return "".join(c for c in text if c != " " or rng.random() > 0.2)


def _number(rng: random.Random, text: str) -> str:
    return rng.choice(["(3) ", "§ 7 ", "b) ", "12. ", "Abs. 2: ", "§ 3 Abs. 1 "]) + text


def _combination(rng: random.Random, text: str) -> str:
    return _number(rng, _lost_blanks(rng, _scan(rng, _soft_hyphens(rng, text))))


def _unchanged(rng: random.Random, text: str) -> str:
    return text


CHANGES: dict[str, Callable[[random.Random, str], str]] = {
    "exact": _unchanged,
    "softhyphen": _soft_hyphens,
    "eol_hyphen": _line_ends,
    "ocr": _scan,
    "nospace": _lost_blanks,
    "truncated": _unchanged,
    "short": _unchanged,
    "renumber": _number,
    "combo": _combination,
}
KINDS = (*CHANGES, "ellipsis", "span2")


def _words(text: str) -> list[tuple[int, int]]:
    """Return begin and end of each run of letters and digits."""
    found: list[tuple[int, int]] = []
    for i, character in enumerate(text):
        if character.isalnum():
            if found and found[-1][1] == i:
                found[-1] = (found[-1][0], i + 1)
            else:
                found.append((i, i + 1))
    return found


def _cut(rng: random.Random, kind: str, text: str) -> tuple[int, int] | None:
    """Return what a quotation covers: whole words, or with `truncated` any letters."""
    words = _words(text)
    least, most = (45, 75) if kind == "short" else (110, 420)
    if not words or words[-1][1] - words[0][0] < least:
        return None
    length = rng.randint(least, min(most, words[-1][1] - words[0][0]))
    begin = rng.choice([b for b, _ in words if b + length <= words[-1][1]])
    if kind == "truncated":
        inside = [i for i in range(begin, begin + length) if text[i].isascii() and text[i].isalnum()]
        return inside[0], inside[-1] + 1
    ends = [e for _, e in words if e >= begin + length]
    return begin, ends[0]


def damage(chunks: Sequence[LinkChunk], count: int, seed: int) -> Iterator[Damaged]:
    """Yield so many quotations of each kind, from chunks in document order; the same for the same seed."""
    rng = random.Random(seed)
    for kind in KINDS:
        made = 0
        while made < count:
            number = rng.randrange(len(chunks))
            quotation = _over_a_border(rng, chunks, number) if kind == "span2" else _inside(rng, kind, chunks, number)
            if quotation is not None:
                made += 1
                yield quotation


def _inside(rng: random.Random, kind: str, chunks: Sequence[LinkChunk], number: int) -> Damaged | None:
    text = chunks[number].chunk_text
    span = _cut(rng, kind, text)
    if span is None:
        return None
    start, end = span
    if kind == "ellipsis":
        words = [(b, e) for b, e in _words(text) if start <= b and e <= end]
        if len(words) < 24:
            return None
        third = len(words) // 3
        front, back = words[third + rng.randint(0, 2)][1], words[2 * third + rng.randint(0, 2)][0]
        made = f"{text[start:front]} {rng.choice(['[…]', '…', '(...)', '[...]'])} {text[back:end]}"
    else:
        made = CHANGES[kind](rng, text[start:end])
    return Damaged(kind, made, number, number, start, end)


def _over_a_border(rng: random.Random, chunks: Sequence[LinkChunk], number: int) -> Damaged | None:
    """Return the end of a chunk with the beginning of the next Absatz of the same norm."""
    if number + 1 == len(chunks):
        return None
    one, two = chunks[number], chunks[number + 1]
    if one.place[:2] != two.place[:2] or one.article is None or one.paragraph == two.paragraph:
        return None
    front, back = _words(one.chunk_text), _words(two.chunk_text)
    if len(front) < 14 or len(back) < 14:
        return None
    start, end = front[-rng.randint(12, min(40, len(front)))][0], back[rng.randint(11, min(40, len(back)) - 1)][1]
    between = f" ({two.paragraph}) " if two.paragraph and rng.random() < 0.5 else " "
    return Damaged("span2", one.chunk_text[start:] + between + two.chunk_text[:end], number, number + 1, start, end)
