"""Rules for footnotes: their marks inside the text, and their texts at the foot of a page."""

import re
from typing import Final

from normalize.rules.rule import MOST_EXAMPLES, Change, Context, Outcome, Rule

# A raised number after a word is a mark; after a unit it is an exponent (Meter², cm³).
_MARK: Final = re.compile(
    r"(?<=[a-zäöüß]{3})(?<!meter)(?<!metern)(?<!meters)[¹²³⁰⁴-⁹]{1,3}\)?(?!\w)|(?<=[^\W\d_]{2})\*{1,3}\)"
)
_NOTE_LINE: Final = re.compile(r"\s*(\d{1,3})\s+\S")
_MOST_OF_PAGE: Final = 0.5


def _drop_marks(text: str, _: Context) -> Outcome:
    marks = [match.group() for match in _MARK.finditer(text)]
    removed = tuple(mark for mark in marks if any(sign.isalnum() for sign in mark))
    examples = tuple(Change(mark, "") for mark in marks[:MOST_EXAMPLES])
    return Outcome(_MARK.sub("", text), len(marks), examples, removed)


FOOTNOTE_MARKS = Rule(
    name="footnote-marks",
    version=1,
    reason="A raised number or star after a word points to a note; it is no part of the wording.",
    apply=_drop_marks,
    changes=(("Ausschusses¹ und", "Ausschusses und"), ("je Gebühr*) in", "je Gebühr in"), ("Rates²) vom", "Rates vom")),
    keeps=("5 m³ je Tonne", "Quadratmeter²", "3 cm² groß", "Art. 6 *", "2 * 3)", "CO₂"),
    removes="raised digits that mark a footnote",
)


def _drop_notes(text: str, _: Context) -> Outcome:
    pages = text.split("\f")
    removed: list[str] = []
    examples: list[Change] = []
    count = 0
    for index, page in enumerate(pages):
        found = _split_notes(page)
        if found is None:
            continue
        pages[index], taken = found
        count += 1
        removed += taken
        examples.append(Change(taken[-1], ""))
    return Outcome("\f".join(pages), count, tuple(examples[:MOST_EXAMPLES]), tuple(removed))


def _split_notes(page: str) -> tuple[str, list[str]] | None:
    """Return the page without its notes and what was taken out, or None where no notes can be proven.

    Proof: the last lines of the page start with consecutive numbers, and each number stands exactly once in the text
    above, glued to a word.
    """
    lines = page.split("\n")
    numbered = [(i, int(match[1])) for i, line in enumerate(lines) if (match := _NOTE_LINE.match(line))]
    for position, (first, number) in enumerate(numbered):
        if first < len(lines) * (1 - _MOST_OF_PAGE):
            continue
        numbers = [value for _, value in numbered[position:]]
        if numbers != list(range(number, number + len(numbers))):
            continue
        body = "\n".join(lines[:first])
        marks = [list(_glued(value).finditer(body)) for value in numbers]
        starts = [found[0].start() for found in marks if len(found) == 1]
        if len(starts) < len(marks) or starts != sorted(starts):
            continue
        notes = "\n".join(lines[first:])
        for value in numbers:
            body = _glued(value).sub("", body)
        return body, [*(str(value) for value in numbers), notes]
    return None


def _glued(number: int) -> re.Pattern[str]:
    """A mark: the number right after a word; a line end that PDFium puts between it and a comma goes with it."""
    return re.compile(rf"(?<=[a-zäöüß]{{3}}){number}(?:\s*\n(?=[,.;:])|(?=[\s,.;:)“])|\Z)")


PAGE_FOOTNOTES = Rule(
    name="page-footnotes",
    version=1,
    reason="Notes at the foot of a page stand in the middle of a sentence that goes on overleaf, and are no law.",
    apply=_drop_notes,
    changes=(
        (
            "nach Stellungnahme des Ausschusses1\n,\nnach Anhörung der Regionen2 hat\n1 ABl. C 1.\n2 ABl. C 2, S. 3.",
            "nach Stellungnahme des Ausschusses,\nnach Anhörung der Regionen hat",
        ),
    ),
    keeps=(
        "Die Liste:\n1 Hund\n2 Katzen",
        "Nach Absatz1 gilt:\n1 Hund\n3 Katzen",
        "§ 1\n1 Satz",
    ),
    removes="numbers of footnotes and the notes at the foot of a page",
)
