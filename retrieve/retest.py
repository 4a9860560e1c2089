"""The retest: a file of questions with the Fundstellen that must be among their sources (contract §7.3).

    questions:
      - question: Ab wann braucht man einen Datenschutzbeauftragten?
        any_of: [BDSG § 38 Abs. 1, Art. 37 DSGVO]   # or all_of
        k: 5                                        # rank at which it must be there; default 5
        kind: professional                          # how it is asked, for benchmarks; not needed
        split: test                                 # tune or test, for benchmarks; not needed

A Fundstelle is met by a chunk of that norm: "BDSG § 38" by each of its Absätze, "BDSG § 38 Abs. 1 Satz 2" by the chunk
that holds it or is part of it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from normalize.citation import Citation, CitationError
from normalize.citing import parse
from normalize.errors import UsageError
from normalize.laws import LawTable
from retrieve.answer import article, regulation_code, unit_names

DEFAULT_RANK = 5
Ask = Callable[[str, int], Sequence[Mapping[str, Any]]]
"""Answer a question with up to k results, best first, each with the response fields and `source`."""


class _Question(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str = Field(min_length=1)
    any_of: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()
    k: int = Field(default=DEFAULT_RANK, ge=1, le=200)
    note: str | None = None
    kind: Literal["lay", "professional", "citation"] | None = None
    split: Literal["tune", "test"] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if bool(self.any_of) == bool(self.all_of):
            raise ValueError("give either 'any_of' or 'all_of'")
        return self


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    collection: str | None = None
    questions: tuple[_Question, ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Question:
    """One question, the Fundstellen it must find (one of them, or all), and by which rank."""

    text: str
    expected: tuple[Citation, ...]
    every: bool
    k: int
    kind: str | None = None
    split: str | None = None


@dataclass(frozen=True, slots=True)
class Retest:
    """A retest file as read; `collection` is the one it is for, or None."""

    path: Path
    collection: str | None
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a question found: the rank of each expected Fundstelle (None = not within k), and the sources shown."""

    question: Question
    ranks: tuple[int | None, ...]
    sources: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether enough of the expected Fundstellen are there."""
        found = [rank is not None for rank in self.ranks]
        return all(found) if self.question.every else any(found)

    @property
    def rank(self) -> int | None:
        """The rank at which the question is answered: of the first hit, or of the last that is needed."""
        ranks = [rank for rank in self.ranks if rank is not None]
        if not self.passed:
            return None
        return max(ranks) if self.question.every else min(ranks)

    def report(self) -> dict[str, Any]:
        """Return the outcome as one JSON object."""
        return {
            "question": self.question.text,
            "passed": self.passed,
            "rank": self.rank,
            "k": self.question.k,
            "expected": [citation.label for citation in self.question.expected],
            "need": "all" if self.question.every else "any",
            "ranks": list(self.ranks),
            "sources": list(self.sources),
        }


def read_retest(path: Path, laws: LawTable) -> Retest:
    """Read a retest file. Raises UsageError saying which question or Fundstelle cannot be read."""
    try:
        raw = yaml.safe_load(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"Retest file {path} cannot be read ({error.strerror}): give an existing file.") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"Retest file {path} is not valid YAML: {' '.join(str(error).split())}.") from None
    try:
        read = _File.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part + 1) if isinstance(part, int) else part for part in first["loc"]) or "the file"
        raise UsageError(f"Retest file {path}, {where}: {first['msg']}.") from None
    questions = []
    for number, entry in enumerate(read.questions, 1):
        expected = []
        for text in entry.any_of or entry.all_of:
            try:
                expected.append(parse(text, laws))
            except CitationError as error:
                raise UsageError(f"Retest file {path}, question {number}: {error}") from None
        questions.append(
            Question(entry.question, tuple(expected), bool(entry.all_of), entry.k, entry.kind, entry.split)
        )
    return Retest(path, read.collection, tuple(questions))


def run_retest(ask: Ask, retest: Retest) -> list[Outcome]:
    """Ask every question and return what each found."""
    outcomes = []
    for question in retest.questions:
        results = ask(question.text, question.k)
        ranks = tuple(
            next((rank for rank, found in enumerate(results, 1) if meets(found, wanted)), None)
            for wanted in question.expected
        )
        outcomes.append(Outcome(question, ranks, tuple(str(found["source"]) for found in results)))
    return outcomes


def retest_report(outcomes: Sequence[Outcome], before: Sequence[Outcome] | None = None) -> dict[str, Any]:
    """Return a retest as one JSON object; with `before`, the same questions asked of an older state beside it."""
    rows = [outcome.report() for outcome in outcomes]
    for row, earlier in zip(rows, before or (), strict=False):
        row["before"] = {"passed": earlier.passed, "rank": earlier.rank, "sources": list(earlier.sources)}
    passed = sum(outcome.passed for outcome in outcomes)
    report: dict[str, Any] = {"questions": rows, "passed": passed, "failed": len(outcomes) - passed}
    if before is not None:
        report["before"] = {"passed": sum(outcome.passed for outcome in before)}
    return report


def meets(found: Mapping[str, Any], wanted: Citation) -> bool:
    """Tell whether a result is (part of) the wanted norm, or holds the wanted part of it."""
    laws = {str(name).casefold() for name in (regulation_code(found), found.get("regulation_short")) if name}
    if not laws & {wanted.regulation_code.casefold(), wanted.short.casefold()}:
        return False
    if wanted.article is not None and (
        str(article(found)) != wanted.article or bool(found.get("is_recital")) != wanted.is_recital
    ):
        return False
    if wanted.paragraph is not None and found.get("paragraph") != wanted.paragraph:
        return False
    sub, wanted_sub = found.get("sub"), wanted.sub
    if not wanted_sub:
        return True
    # a chunk without a sub of its own is a whole Absatz or a piece of one: then its units say what it holds
    held = [str(sub)] if sub else unit_names(found)
    return not held or any(_is_part(unit, wanted_sub) for unit in held)


def _is_part(unit: str, wanted: str) -> bool:
    """Tell whether a unit is the wanted one, part of it, or holds it; "Satz 1 Nr. 2" is "Nr. 2" too."""
    return (
        f"{unit} ".startswith(f"{wanted} ") or f"{wanted} ".startswith(f"{unit} ") or f" {unit}".endswith(f" {wanted}")
    )
