"""From text to BM25 terms, for German and English: split, lower-case, stop words, stem, hash.

The same analyzer runs over chunks and over questions, so all that counts is that spellings of one word meet: "§38" and
"§ 38", "Maßnahme" and "MASSNAHME", "Prüfung" and "Pruefung" give the same terms.

Compounds are not split. CharSplit's n-grams take 45 of 58 compounds of law apart as a person would. With the parts as
further, lighter terms of chunks and questions, BM25 alone found no more of 74 questions among 100,000 chunks, and found
them lower, whatever the weights (twelve were tried: recall@10 0.378 to 0.392 against 0.392, MRR 0.250 to 0.257 against
0.268). The character n-grams of the hashing embedder find the parts of a compound anyway.

The inverse document frequency is the search engine's part: a document carries the saturated term frequencies of BM25,
a question a 1 for each of its terms.
"""

import re
import unicodedata
import zlib
from collections import Counter
from functools import lru_cache
from typing import Final, Literal, NamedTuple

import numpy as np
from snowballstemmer.english_stemmer import EnglishStemmer
from snowballstemmer.german_stemmer import GermanStemmer

Language = Literal["de", "en"]

VERSION: Final = "bm25-2"
"""Changes whenever the same text would give other terms or weights; belongs to a collection's metadata."""

AVERAGE_LENGTH: Final = 45.0
"""Terms of an average Absatz of federal law (see tests/test_analyzer.py).

A constant on purpose: taken from the collection, it would change every stored vector with every document added."""

K1: Final = 1.2
B: Final = 0.4
"""How much a long chunk counts less. Below the usual 0.75: the first Absatz of a norm is often its longest, a list, and
would lose to every short one behind it (24 lay questions over eight laws, BM25 and its fusion: 18 instead of 14 answers
among the first ten)."""


# Letters and digits of any script stay together ("312a", "ISO27001"); the section sign is a term of its own; all else
# separates. An underscore is no letter here.
_TOKEN = re.compile(r"[^\W_]+|§")

# Words that stand in nearly every provision and ask for nothing. Negations and modal verbs are not among them: in law
# they are the content. Casefolded like the text, so "ß" is "ss".
_STOP_WORDS_DE: Final = """
    aber als also am an auch auf aus bei beim bin bis da dabei dadurch dafür daher damit dann daran darauf
    daraus darin darüber das dass davon dazu dem den denen denn der deren des dessen die dies diese diesem
    diesen dieser dieses doch dort du durch ein eine einem einen einer eines er es etwa euch euer für gegen hat
    hatte hatten haben hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im in ins ist ja je
    jede jedem jeden jeder jedes jene jenem jenen jener jenes man mein meine meinem meinen meiner mich mir mit
    nach noch nun nur ob oder sehr sein seine seinem seinen seiner seines seit sich sie sind so solche
    solchem solchen solcher solches sowie über um und uns unser unsere unter vom von vor wann war waren warum
    was weil welche welchem welchen welcher welches wenn wer werden wessen wie wieso wir wird wo wobei wodurch
    wurde wurden zu zum zur zwar zwischen
"""
_STOP_WORDS_EN: Final = """
    a about above after also am an and any are as at be because been before being below between both but by did
    do does doing down during each for from further had has have having he her here hers him his how i if in
    into is it its itself me more most my of off on once only or other our out over own same she so some such
    than that the their them then there these they this those through to too under until up us very was we were
    what when where which while who whom whose why with you your
"""
_STOP_WORDS: Final = {
    language: frozenset(listed.casefold().split())
    for language, listed in (("de", _STOP_WORDS_DE), ("en", _STOP_WORDS_EN))
}


class SparseTerms(NamedTuple):
    """Term ids (ascending, distinct, 32 bits) and their weights (values of 32-bit floats)."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


def terms(text: str, language: Language = "de") -> list[str]:
    """Return the stemmed terms of the text in order, with repetitions, without stop words."""
    found = (_term(word, language) for word in words(text))
    return [term for term in found if term]


def words(text: str) -> list[str]:
    """Return the words, numbers and section signs of the text, composed and without regard to case; "ß" is "ss"."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).replace("\u00ad", "")
    return _TOKEN.findall(text.casefold())


def is_stop_word(word: str, language: Language = "de") -> bool:
    """Tell whether a word as `words` gives it is too common to ask for anything."""
    return word in _STOP_WORDS[language]


def sparse_document(
    text: str, language: Language = "de", *, average_length: float = AVERAGE_LENGTH, k1: float = K1, b: float = B
) -> SparseTerms:
    """Return the BM25 weights of a chunk, without the inverse document frequency.

    weight = f (k1 + 1) / (f + k1 (1 - b + b length / average_length)), f and length counted in terms (Robertson and
    Zaragoza, The Probabilistic Relevance Framework, 2009). Weights of terms whose ids collide are added.
    """
    found = terms(text, language)
    norm = k1 * (1.0 - b + b * len(found) / average_length)
    weights: dict[int, float] = {}
    for term, frequency in Counter(found).items():
        term_key = term_id(term)
        weights[term_key] = weights.get(term_key, 0.0) + frequency * (k1 + 1.0) / (frequency + norm)
    return _sorted(weights)


def sparse_query(text: str, language: Language = "de") -> SparseTerms:
    """Return the terms of a question, each with weight 1."""
    return _sorted(dict.fromkeys(map(term_id, terms(text, language)), 1.0))


@lru_cache(maxsize=500_000)
def term_id(term: str) -> int:
    """Return the 32-bit id of a term, the same on every machine."""
    return zlib.crc32(term.encode("utf-8"))


@lru_cache(maxsize=500_000)
def _term(word: str, language: Language) -> str | None:
    """Return the stem of a word, or None for a stop word.

    The stemmer is made anew because it keeps its state in itself and threads would disturb one another; it is the plain
    Python one in every installation, so that terms do not depend on what else is installed.
    """
    if word in _STOP_WORDS[language]:
        return None
    stemmer = GermanStemmer() if language == "de" else EnglishStemmer()
    stem: str = stemmer.stemWord(word)
    return stem


def _sorted(weights: dict[int, float]) -> SparseTerms:
    indices = sorted(weights)
    values = np.array([weights[index] for index in indices], dtype=np.float32)
    return SparseTerms(tuple(indices), tuple(values.tolist()))
