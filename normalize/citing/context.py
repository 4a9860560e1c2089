"""What stands around a place and says that it is of another law than it seems.

A place without a law is one of "this law" only if nothing near it speaks of another: an Anhang, a law named before
("deren Artikel 5"), an act that is being amended. Each rule here came out of a comparison of German and English texts
of the same acts, where the two languages cited different norms.
"""

import re
from collections.abc import Sequence

from normalize.citing.model import Element
from normalize.laws import Law

_KINDS = (
    ("verordnung", "verordnung"),
    ("richtlinie", "richtlinie"),
    ("beschluss", "beschluss"),
    ("beschluß", "beschluss"),
    ("übereinkommen", "treaty"),
    ("abkommen", "treaty"),
    ("vertrag", "treaty"),
    ("gesetz", "gesetz"),
    ("ordnung", "ordnung"),
    ("satzung", "satzung"),
    ("regulation", "verordnung"),
    ("directive", "richtlinie"),
    ("decision", "beschluss"),
)
_EU_KINDS = {"R": "verordnung", "L": "richtlinie", "D": "beschluss", "F": "beschluss"}
# An "Ordnung" may be a law or a Verordnung (ZPO, StVO) and is called by either word.
_ALIKE = {"ordnung": frozenset(("gesetz", "verordnung", "ordnung"))}

_OF_ANNEX = re.compile(r"\s(?:des|zum)\sAnhangs?\b|\s(?:der|zur)\sAnlage\b(?!\s(?:zu|und|oder)\b)")
_WITH_NUMBER = re.compile(r"in\sVerbindung|i\.\s?V\.|\bund\s(?:den\s)?N|,\s(?:auch|jeweils)")
_OF_THAT = re.compile(r"\s(?:jene[rs]|derselben|desselben)\s[A-ZÄÖÜ]")
_POSSESSIVE = re.compile(r"\b(?:deren|dessen)\s$")
_LAW_WORD = (
    r"(?:[vV]ertrag(?:e?s)?|[aA]bkommens?|[üÜ]bereinkommens?|[gG]esetz(?:es|buch(?:e?s)?)?|[vV]erordnung|[rR]ichtlinie|"
    r"Charta|Union)"
)
_IN_PARTICULAR = re.compile(
    rf"(?<!diese[rs]\s){_LAW_WORD}\b[^.;:§]{{0,160}},\s(?:und\s)?(?:insbesondere|namentlich|vor\sallem)\s"
    r"(?:auf\s|nach\s|in\s|aus\s|gemäß\s|an\s)?(?:den\s|die\s|dem\s|der\s|das\s)?$"
)
_AMENDED = re.compile(
    r"\b(?:wird|werden)\s(?:[^.;:]{0,120}\s)?wie\sfolgt\s(?:geändert|gefaßt|gefasst|neu\sgefasst|ergänzt)\b|"
    rf"(?:^|[.;:\n]\s?)(?:\(?\w{{1,3}}[.)]\s)?In\s(?:der|dem|den)\s(?:[^\s.;:]+\s){{0,3}}[^\s.;:§]*{_LAW_WORD}\b[^;:§]{{0,240}}"
    r"\s(?:wird|werden)\s(?:(?:der|die|das|den|dem)\s)?$"
)
_BEFORE = 700
"""Characters before a place that are looked at."""

POSSESSIVE_NOTE = "a law named before is meant"
ANNEX_NOTE = "it is a norm of an annex"
AMENDED_NOTE = "it may be of the law that is amended"
KIND_NOTE = "another act named before is meant"


def doubt_by_context(text: str, start: int, end: int, elements: Sequence[Element]) -> None:
    """Mark places of German text that name no law, where what stands around them says that it is not this one.

    `start` and `end` are those of the whole citation in `text`.
    """
    waiting = [element for element in elements if element.law is None and element.article is not None]
    if not waiting:
        return
    before = text[max(0, start - _BEFORE) : start]
    note = None
    if _is_of_annex(text, start, end, waiting):
        note = ANNEX_NOTE
    elif _OF_THAT.match(text, end) or _POSSESSIVE.search(before) or _IN_PARTICULAR.search(before):
        note = POSSESSIVE_NOTE
    elif _AMENDED.search(before):
        note = AMENDED_NOTE
    for element in waiting if note else ():
        element.doubt = element.doubt or note


def _is_of_annex(text: str, start: int, end: int, waiting: Sequence[Element]) -> bool:
    """Whether "Artikel 2 des Anhangs" is cited; in "§ 3 in Verbindung mit Nummer 2 der Anlage" the § is the law's."""
    articles = {element.article for element in waiting}
    if len(articles) > 1 or (waiting[-1].article or "").startswith("An"):
        return False
    return _OF_ANNEX.match(text, end) is not None and _WITH_NUMBER.search(text, start, end) is None


def is_kind_of(words: str, law: Law) -> bool:
    """Whether "dieser Richtlinie", "this Regulation" can mean `law`: in a Verordnung it is one named before."""
    said = _kind(words)
    own = _EU_KINDS.get(law.celex[5:6]) if law.celex else _kind(law.name or "")
    if said is None or own is None:
        return True
    return said in _ALIKE.get(own, frozenset((own,))) or (said == "ordnung" and own in _ALIKE["ordnung"])


def _kind(name: str) -> str | None:
    """The kind of act that a name says it is.

    "Verordnung zur Durchführung des BSI-Gesetzes" is a Verordnung, the "Übereinkommens-Ausführungsgesetz" a Gesetz: the
    end of the first word that names a kind counts.
    """
    for word in name.lower().split():
        ends = [(word.rindex(kind) + len(kind), len(kind), meant) for kind, meant in _KINDS if kind in word]
        if ends:
            return max(ends)[2]
    return None
