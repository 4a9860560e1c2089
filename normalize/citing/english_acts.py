"""Names of laws in the English of EU acts: "Regulation (EU) No 575/2013", "this Directive", "TFEU"."""

import re

from normalize.citing.model import LawName
from normalize.euacts import celex_number
from normalize.laws import LawTable

_TREATY = r"EU|EC|EEC|Euratom|EURATOM|ECSC|JHA|CFSP"
_KIND = (
    r"(?:(?:Commission|Council|Delegated|Implementing)\s){0,3}"
    r"(?P<kind>Regulations?|Directives?|(?:Framework\s)?Decisions?)"
)
ACT = re.compile(
    rf"{_KIND}\s(?:\((?P<treaty>{_TREATY})(?:,\s?(?:{_TREATY}))*\)\s)?(?P<no>No\.?\s)?"
    rf"(?P<first>\d{{1,4}})/(?P<second>\d{{1,4}})(?:/(?P<behind>{_TREATY})\b)?(?![\d/])"
)
"""An act with its kind and number."""
_OF_INSTITUTIONS = re.compile(r"\sof\sthe\s(?:European\sParliament|Council|Commission)(?:\sand\sof\sthe\sCouncil)?")
_LINK = r",?\s(?:of|to|in|under)\s(?:the\s)?"
_THIS = re.compile(rf"{_LINK}?(?:this|present)\s(?:Regulation|Directive|(?:Framework\s)?Decision)\b")
_EARLIER = re.compile(
    r",?\s(?:thereof\b|of\s(?:which\b|(?:that|those|the\ssaid|the\ssame|these|each)\s[A-Z]\w+|the\s(?:former|latter)\b))"
)
_OF = re.compile(_LINK)
_BESIDE = re.compile(r",?\s(?=[A-Z]{2})")
_UNKNOWN = re.compile(
    r",?\s(?:of\s(?:the\s)?|to\sthe\s(?=Treat|Charter|Convention|Protocol))(?P<name>(?!Member\sStates?|Union\b|Commission\b|Council\b)[A-Z]\w+"
    r"(?:\s(?:(?:on|of|the|and|for)\s)*[A-Z]\w+(?=\s|[.,;)]|$))*)"
)
_LETTERS = {"Regulation": "R", "Directive": "L", "Decision": "D", "Framework Decision": "F"}
_GERMAN_TREATY = {"EC": "EG", "EEC": "EWG", "JHA": "JI", "CFSP": "GASP", "ECSC": "EGKS"}


def read_english_act(text: str, position: int, laws: LawTable) -> LawName | None:
    """Read an EU act with its number that starts at `position`, with the institutions it is of."""
    match = ACT.match(text, position)
    if match is None:
        return None
    treaty = match["treaty"] or match["behind"]
    celex = celex_number(
        _LETTERS[match["kind"].removesuffix("s")],
        _GERMAN_TREATY.get(treaty, treaty) if treaty else None,
        int(match["first"]),
        int(match["second"]),
        numbered=match["no"] is not None,
    )
    institutions = _OF_INSTITUTIONS.match(text, match.end())
    end = institutions.end() if institutions else match.end()
    return LawName(match.group(), end, laws.by_celex(celex) if celex else None, celex=celex)


def read_english_law(text: str, position: int, laws: LawTable) -> tuple[LawName, str | None] | None:
    """Read the law behind a place, and why it is in doubt ("thereof": a law named before); None if there is none."""
    this = _THIS.match(text, position)
    if this:
        return LawName(this.group().strip(" ,"), this.end(), is_this=True), None
    earlier = _EARLIER.match(text, position)
    if earlier:
        return LawName(earlier.group().strip(" ,"), earlier.end()), "a law named before is meant"
    of = _OF.match(text, position)
    if of:
        act = read_english_act(text, of.end(), laws)
        if act is not None:
            return act, None
    for link in (of, _BESIDE.match(text, position)):
        known = laws.match(text, link.end()) if link else None
        if link and known and text[link.end()].isupper():
            return LawName(text[link.end() : known[1]], known[1], known[0]), None
    unknown = _UNKNOWN.match(text, position)
    return (LawName(unknown["name"], unknown.end()), None) if unknown else None
