"""Find citations in running text: anchors first, then the grammar, then the law table."""

import re
from dataclasses import replace

from normalize.citing.context import doubt_by_context
from normalize.citing.english import find_english, is_english
from normalize.citing.grammar import read_amendment, read_chain
from normalize.citing.model import Element, Found, Inventory, LawName
from normalize.citing.names import eu_act_end
from normalize.citing.resolve import doubted, is_doubtful_neighbour, mark_chained, targets_of
from normalize.citing.statutes import name_start, published_end
from normalize.citing.tokens import ANCHOR, COMMENTARY_BEHIND, OTHER_WORDING, REPORTER_BEFORE, SEPARATOR, anchor_kind
from normalize.euacts import read_act
from normalize.laws import Law, LawTable

_LONGEST_NAME = 300
_NEAR = 200
_HEADING = re.compile(r"\s{1,4}(?:[A-ZÄÖÜ][^\W_]{2,}|\n)")
_UNIT_ANCHORS = ("Absatz", "Abs", "Absätz", "Satz", "Sätze", "Unterabs", "UAbs")


def find(
    text: str,
    laws: LawTable,
    *,
    this_law: Law | None = None,
    this_norm: str | None = None,
    inventory: Inventory | None = None,
    language: str | None = None,
) -> list[Found]:
    """Return all citations of `text`, in order, with character spans that do not overlap.

    `language` is that of the text (`en`, else German); None tells by the text. `this_law` and `this_norm` (a bare
    article) are what "dieses Gesetzes", "§ 5" without a law, and "Absatz 2" mean; without them such places are found
    and not resolved. Ranges are expanded against `inventory` if it holds the law.
    """
    if language == "en" or (language is None and is_english(text)):
        return find_english(text, laws, this_law=this_law, this_norm=this_norm, inventory=inventory)
    found: list[Found] = []
    whole = text.strip() if len(text) < _LONGEST_NAME else ""
    earliest = 0
    position = 0
    while True:
        anchor = ANCHOR.search(text, position)
        if anchor is None:
            break
        kind = anchor_kind(anchor)
        read = _read(text, anchor.start(), kind, laws, earliest)
        if read is None or not _is_wanted(read[0], kind, anchor.group(), whole, in_norm=this_norm is not None):
            position = anchor.end()
            continue
        elements, start, end, complete = read
        if kind == "norm" and (
            _is_literature(text, start, end) or (complete and _is_heading(text, elements, start, end))
        ):
            position = end
            continue
        if OTHER_WORDING.match(text, end):
            for element in elements:
                element.doubt = element.doubt or "the wording of another date is cited"
        if this_law is not None:
            doubt_by_context(text, start, end, elements)
        mark_chained(elements, in_statute=this_law is not None)
        targets = targets_of(elements, this_law=this_law, this_norm=this_norm, inventory=inventory)
        if this_law is not None and found and start - found[-1].end < _NEAR:
            before = found[-1]
            if is_doubtful_neighbour(text[before.end : start], before.targets, targets):
                found[-1] = replace(before, targets=doubted(before.targets))
        found.append(Found(text[start:end], start, end, complete, targets))
        position = earliest = max(end, anchor.end())
    return found or _bare_name(text, laws)


_Read = tuple[list[Element], int, int, bool]


def _read(text: str, start: int, kind: str, laws: LawTable, earliest: int) -> _Read | None:
    if kind == "act":
        return _read_acts(text, start, laws)
    if kind == "gazette":
        return _read_statute(text, start, laws, earliest)
    chain = read_chain(text, start, kind, laws, earliest)
    return (chain.elements, chain.start, chain.end, chain.complete) if chain else None


def _is_literature(text: str, start: int, end: int) -> bool:
    """Whether a § is the place of a law report or a commentary, which files by norm, rather than of the law."""
    if COMMENTARY_BEHIND.match(text, end):
        return True
    return REPORTER_BEFORE.search(text[max(0, start - 40) : start]) is not None


def _is_heading(text: str, elements: list[Element], start: int, end: int) -> bool:
    """Whether a line begins with a lone norm and a title ("§ 4 Schlussbestimmungen"): it heads the norm, cites none."""
    first = elements[0]
    if len(elements) > 1 or first.path or first.law is not None or first.following:
        return False
    line = text.rfind("\n", 0, start) + 1
    return start - line < 4 and not text[line:start].strip('„"“ ') and _HEADING.match(text, end) is not None


def _is_wanted(elements: list[Element], kind: str, anchor: str, whole: str, *, in_norm: bool) -> bool:
    """Keep out what only looks like a citation: a bare "Anlage", a "Nummer 5" that belongs to no norm."""
    first = elements[0]
    if kind == "annex":
        return " " in (first.article or "") or first.law is not None or whole == first.article
    if kind == "relative":
        return (
            first.article is not None
            or in_norm
            or (anchor.startswith(_UNIT_ANCHORS) and not anchor.startswith("Absch"))
        )
    if kind == "recital" and anchor == "EG":
        return first.law is not None and (first.law.law is not None or first.law.celex is not None)
    return True


def _read_acts(text: str, start: int, laws: LawTable) -> _Read | None:
    """Read EU acts that are named without a norm, also in a list ("Verordnungen (EWG) Nr. 3943/90 und (EG) Nr. …")."""
    act = read_act(text, start)
    if act is None:
        return None
    elements: list[Element] = []
    plural = act.plural
    while True:
        end = eu_act_end(text, act.end)
        law = laws.by_celex(act.celex) if act.celex else None
        elements.append(Element(None, None, law=LawName(act.name, end, law, celex=act.celex)))
        separator = SEPARATOR.match(text, end) if plural else None
        following = read_act(text, separator.end(), act.kind) if separator else None
        if following is None or following.kind is None:
            return elements, start, end, True
        act = following


def _read_statute(text: str, start: int, laws: LawTable, earliest: int) -> _Read | None:
    """Read a full citation whose date or gazette stands at `start`."""
    start = text.rfind("in der im", max(0, start - 12), start) if text[start] == "B" else start
    end = published_end(text, start) if start >= 0 else None
    begin = name_start(text, start, earliest) if end is not None else None
    if end is None or begin is None:
        return None
    name = text[begin:start].rstrip()
    known = laws.match(text, begin)
    law = known[0] if known and known[1] == begin + len(name) else None
    amending, end = read_amendment(text, end, laws)
    return [Element(None, None, law=LawName(name, end, law)), *amending], begin, end, True


def _bare_name(text: str, laws: LawTable) -> list[Found]:
    """A text that is nothing but the name of a law cites that law."""
    name = text.strip() if len(text) < _LONGEST_NAME else ""
    law = laws.resolve(name) if len(name) > 1 else None
    if law is None:
        return []
    start = text.index(name)
    element = Element(None, None, law=LawName(name, start + len(name), law))
    targets = targets_of([element], this_law=None, this_norm=None, inventory=None)
    return [Found(name, start, start + len(name), True, targets)]
