"""Numbers of EU acts: find "Verordnung (EU) 2016/679" or "RL 2001/29/EG" and give the CELEX number 32016R0679.

Regulations were numbered "Nr. number/year" until 2014 and "year/number" since (interinstitutional style guide 2.2.1);
directives always "year/number", with the treaty behind ("2003/87/EG") until 2014.
"""

import re
from dataclasses import dataclass

_TREATY = r"EU|EG|EWG|Euratom|EURATOM|EGKS|JI|GASP|EAG"
_KIND = (
    r"(?:(?:[Dd]elegierten?[rs]?|[Dd]urchf[üu]hrungs)\s?-?\s?)?"
    r"(?:Durchführungs|Änderungs|Grund|Basis|Rahmen)?-?"
    r"(?:[Vv]erordnung(?:en)?|[Rr]ichtlinien?|[Bb]eschluss(?:es)?|[Bb]eschlüssen?|[Bb]eschlu(?:ß|sses)|[Ee]ntscheidung(?:en)?|"
    r"VERORDNUNG|RICHTLINIE|VO|RL)(?:en)?"
)
_NUMBER = (
    rf"(?:[(<\[]\s?(?P<pre>{_TREATY})(?:\s?,\s?(?:{_TREATY}))*\s?[)>\]]\s?,?\s?(?P<nr>Nr\.?\s?)?"
    rf"(?P<first>\d{{1,4}})\s?/\s?(?P<second>\d{{1,4}})(?![\d/])"
    rf"|(?:(?P<pre2>{_TREATY})[-\s]{{1,2}})?(?P<nr2>Nr\.?\s?)?(?P<first2>\d{{1,4}})\s?/\s?(?P<second2>\d{{1,4}})"
    rf"(?:\s?/\s?(?P<post>{_TREATY})\b|(?![\d/])))"
)
ACT = re.compile(rf"(?:(?P<kind>{_KIND})\s{{1,4}}(?:der\s(?:Europäischen\s)?(?:Union|Gemeinschaft)\s)?)?{_NUMBER}")
"""An act with its kind ("Richtlinie 2008/94/EG"), or a number that names its treaty alone ("2003/87/EG")."""


@dataclass(frozen=True, slots=True)
class EuAct:
    """An act read at a place of a text: its CELEX number (None when the kind is not known) and its span."""

    kind: str | None
    name: str
    """The act in one spelling ("Verordnung (EU) Nr. 648/2012"), however it is written."""
    celex: str | None
    start: int
    end: int
    plural: bool


def read_act(text: str, position: int, kind: str | None = None) -> EuAct | None:
    """Read an EU act that starts exactly at `position`.

    `kind` is the kind of the act before it in a list ("Richtlinien 67/548/EWG und 1999/45/EG"). A bare number without
    kind and treaty ("12/2004") is no act.
    """
    match = ACT.match(text, position)
    if match is None:
        return None
    groups = match.groupdict()
    treaty = groups["pre"] or groups["pre2"] or groups["post"]
    if groups["kind"] is None and treaty is None:
        return None
    # "VO 12/2004" without treaty and "Nr." is no EU act; "VO Nr. 1408/71" is.
    if treaty is None and not groups["nr2"]:
        return None
    read = _letter(groups["kind"]) or kind
    first = int(groups["first"] or groups["first2"])
    second = int(groups["second"] or groups["second2"])
    numbered = bool(groups["nr"] or groups["nr2"])
    plural = bool(groups["kind"]) and bool(re.search(r"(?:ungen|inien|üssen?)$", groups["kind"]))
    celex = celex_number(read, treaty, first, second, numbered=numbered)
    written = _NOTHING.sub(
        "", " ".join(text[match.end("kind") if groups["kind"] else match.start() : match.end()].split())
    )
    name = f"{_WORDS[read]} {written.strip()}" if read else written.strip()
    return EuAct(read, name, celex, match.start(), match.end(), plural)


_WORDS = {"R": "Verordnung", "L": "Richtlinie", "D": "Beschluss"}
_NOTHING = re.compile(r"(?<=[(<\[/]) | (?=[)>\]/])")


def _letter(kind: str | None) -> str | None:
    if kind is None:
        return None
    folded = kind.lower()
    if folded.endswith(("verordnung", "verordnungen", "vo")):
        return "R"
    if folded.endswith(("richtlinie", "richtlinien", "rl")):
        return "L"
    return "D"


def celex_number(kind: str | None, treaty: str | None, first: int, second: int, *, numbered: bool) -> str | None:
    """Return the CELEX number of an act `first`/`second`, or None if its kind is not known or no number can be a year.

    `kind` is its CELEX letter (R, L, D, F), `treaty` as German texts write it ("EG"), `numbered` whether "Nr." stands
    before it.
    """
    if kind is None:
        return None
    year_first = kind == "L" or (not numbered and (treaty in {"EU", None} or kind in "DF"))
    if kind == "L" and numbered and second > 31:
        year_first = False
    year, number = (first, second) if year_first else (second, first)
    if year < 100:
        year += 1900
    if not 1950 <= year <= 2099:
        year, number = number, year  # "(EU) Nr. 2016/679": a "Nr." too many; the year is whichever can be one
    if not 1950 <= year <= 2099:
        return None
    return f"3{year}{kind}{number:04d}"
