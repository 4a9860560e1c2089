"""The question set that the search is measured on: large enough, answered by norms that are there, and fair."""

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ingest.documents import load_file
from normalize.analyzer import terms
from normalize.citation import Citation
from normalize.citing import find
from normalize.errors import FundstelleError
from normalize.laws import LawTable
from retrieve.retest import Question, read_retest

LAWS = LawTable.builtin()
QUESTIONS = read_retest(Path(__file__).parents[1] / "examples" / "questions.yaml", LAWS).questions
# Words that say how something is asked and nothing of what: modal verbs, "wegen", "alles", "ab", "bevor". The analyzer
# keeps them, since in a law "nicht" and "darf" are content.
LITTLE_WORDS = frozenset(terms("darf dürfen kann können muss müssen wegen alles ab bevor"))

# A law asked about so often is in both splits.
ENOUGH_FOR_BOTH_SPLITS = 4

Norm = tuple[str, str | None, str | None]
Payload = dict[str, Any]


@cache
def norms(shared: Path) -> dict[Norm, list[Payload]]:
    """Return the payloads of each Absatz of the newest laws and the German EU acts of the corpus."""
    corpus = shared / "corpus"
    newest = {path.stem.split("_")[0]: path for path in sorted((corpus / "gii-xml").glob("*.xml"))}
    found: dict[Norm, list[Payload]] = {}
    cited = {citation.regulation_code for question in QUESTIONS for citation in question.expected}
    for path in [*newest.values(), *sorted(p for p in (corpus / "eurlex-de").iterdir() if p.is_file())]:
        try:
            loaded = load_file(path, LAWS)
        except FundstelleError:
            continue  # a file that needs a code from the manifest
        if loaded.document.regulation_code not in cited:
            continue
        for chunk in loaded.chunks():
            payload = chunk.payload
            if not payload["is_recital"]:
                key = (payload["regulation_code"], payload["article"], payload["paragraph"])
                found.setdefault(key, []).append(payload)
    return found


def payloads_of(citation: Citation, found: dict[Norm, list[Payload]]) -> list[Payload]:
    """Return the payloads of the Absatz that a citation names, or of a norm without Absätze."""
    return found.get((citation.regulation_code, citation.article, citation.paragraph), [])


def is_there(citation: Citation, found: dict[Norm, list[Payload]]) -> bool:
    """Tell whether the corpus has the Absatz of a citation, and in it the sentence, number or letter it names.

    Of a norm with Absätze the whole is no answer: one has to be named. A citation may leave out the Unterabsatz
    or the sentence in front of a number or letter, as lawyers do.
    """
    payloads = payloads_of(citation, found)
    if not citation.sub:
        return bool(payloads)
    units = [unit["sub"] for payload in payloads for unit in payload["units"]]
    return any(f" {unit}".endswith(f" {citation.sub}") for unit in units)


def test_there_are_enough_questions_of_each_kind() -> None:
    kinds = Counter(question.kind for question in QUESTIONS)
    assert len(QUESTIONS) >= 190
    assert kinds["lay"] >= 0.45 * len(QUESTIONS)
    assert kinds["citation"] >= 20
    assert sum(question.every for question in QUESTIONS) >= 4, "that ask for several things"
    assert len({question.text for question in QUESTIONS}) == len(QUESTIONS)
    assert len({c.regulation_code for question in QUESTIONS for c in question.expected}) >= 30, "of many laws"


def test_half_of_each_kind_is_for_the_test() -> None:
    for kind in ("lay", "professional", "citation"):
        splits = Counter(question.split for question in QUESTIONS if question.kind == kind)
        assert set(splits) == {"tune", "test"}
        assert abs(splits["tune"] - splits["test"]) <= 1


def test_a_law_with_several_questions_is_in_both_splits() -> None:
    splits: dict[str, list[str | None]] = {}
    for question in QUESTIONS:
        for law in {citation.regulation_code for citation in question.expected}:
            splits.setdefault(law, []).append(question.split)
    for law, found in splits.items():
        assert len(found) < ENOUGH_FOR_BOTH_SPLITS or set(found) == {"tune", "test"}, law


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
def test_citation_questions_cite_their_answer_and_others_cite_nothing(question: Question) -> None:
    cited = [target.citation for found in find(question.text, LAWS) for target in found.targets]
    if question.kind != "citation":
        assert not cited
        return
    (citation,) = cited
    (expected,) = question.expected
    assert (citation.regulation_code, citation.article) == (expected.regulation_code, expected.article)
    assert citation.paragraph == expected.paragraph
    assert f" {citation.sub}".endswith(f" {expected.sub}")


@pytest.mark.corpus
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
def test_every_answer_is_a_norm_of_the_corpus(question: Question, shared: Path) -> None:
    for citation in question.expected:
        assert is_there(citation, norms(shared)), f"{citation.label} is not there"


@pytest.mark.corpus
@pytest.mark.parametrize("question", [q for q in QUESTIONS if q.kind == "lay"], ids=lambda question: question.text)
def test_lay_questions_share_no_content_word_with_their_answers(question: Question, shared: Path) -> None:
    asked = set(terms(question.text)) - LITTLE_WORDS
    for citation in question.expected:
        for payload in payloads_of(citation, norms(shared)):
            text = f"{payload['article_label']} {payload['section_header']} {payload['chunk_text']}"
            assert not asked & set(terms(text)), citation.label
