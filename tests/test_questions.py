"""The question set that the search is measured on: large enough, answered by norms that are there, and fair."""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from ingest.documents import load_file
from normalize.analyzer import terms
from normalize.citation import Citation
from normalize.errors import FundstelleError
from normalize.laws import LawTable
from retrieve.retest import Question, read_retest

LAWS = LawTable.builtin()
QUESTIONS = read_retest(Path(__file__).parents[1] / "examples" / "questions.yaml", LAWS).questions
# Words that say how something is asked and nothing of what: modal verbs, "wegen", "alles", "ab", "bevor". The analyzer
# keeps them, since in a law "nicht" and "darf" are content.
LITTLE_WORDS = frozenset(terms("darf dürfen kann können muss müssen wegen alles ab bevor"))

Norm = tuple[str, str | None, str | None]


def absatz(citation: Citation) -> str | None:
    """Return the Absatz of a citation, if it has one."""
    return next((step.value for step in citation.path if step.level == "absatz"), None)


@cache
def norms(shared: Path) -> dict[Norm, list[str]]:
    """Return the texts, labels and headings of each Absatz of the newest laws and the German EU acts of the corpus."""
    corpus = shared / "corpus"
    newest = {path.stem.split("_")[0]: path for path in sorted((corpus / "gii-xml").glob("*.xml"))}
    found: dict[Norm, list[str]] = {}
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
                text = f"{payload['article_label']} {payload['section_header']} {payload['chunk_text']}"
                found.setdefault(key, []).append(text)
    return found


def texts_of(citation: Citation, found: dict[Norm, list[str]]) -> list[str]:
    """Return the texts of the Absätze that a citation names."""
    wanted = absatz(citation)
    return [
        text
        for (code, article, paragraph), texts in found.items()
        if (code, article) == (citation.regulation_code, citation.article) and wanted in (None, paragraph)
        for text in texts
    ]


def test_there_are_enough_questions_of_each_kind() -> None:
    kinds = Counter(question.kind for question in QUESTIONS)
    assert len(QUESTIONS) >= 140
    assert kinds["lay"] >= 0.45 * len(QUESTIONS)
    assert kinds["citation"] >= 15
    assert len({question.text for question in QUESTIONS}) == len(QUESTIONS)
    assert len({c.regulation_code for question in QUESTIONS for c in question.expected}) >= 25, "of many laws"


def test_half_of_each_kind_is_for_the_test() -> None:
    for kind in ("lay", "professional", "citation"):
        splits = Counter(question.split for question in QUESTIONS if question.kind == kind)
        assert set(splits) == {"tune", "test"}
        assert abs(splits["tune"] - splits["test"]) <= 1


@pytest.mark.corpus
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
def test_every_answer_is_a_norm_of_the_corpus(question: Question, shared: Path) -> None:
    for citation in question.expected:
        assert texts_of(citation, norms(shared)), f"{citation.label} is not there"


@pytest.mark.corpus
@pytest.mark.parametrize("question", [q for q in QUESTIONS if q.kind == "lay"], ids=lambda question: question.text)
def test_lay_questions_share_no_content_word_with_their_answers(question: Question, shared: Path) -> None:
    asked = set(terms(question.text)) - LITTLE_WORDS
    for citation in question.expected:
        for text in texts_of(citation, norms(shared)):
            assert not asked & set(terms(text)), citation.label
