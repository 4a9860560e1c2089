"""Turn what was read into targets: law table, "this law", ranges against the inventory, and the flags.

A target is resolved when code, norm and path are certain. It is not when the law is unknown, § and Art. do not fit the
law, a range could not be expanded, or the wording of another time is cited; the note says which.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from normalize.citation import UNKNOWN, Citation, Style
from normalize.citing.context import KIND_NOTE, is_kind_of
from normalize.citing.model import Element, Inventory, Target
from normalize.laws import Law
from normalize.units import Path, Step

_NO_LAW = "the text names no law"
_UNKNOWN_LAW = "the law is not in the law table"


def targets_of(
    elements: Sequence[Element], *, this_law: Law | None, this_norm: str | None, inventory: Inventory | None
) -> tuple[Target, ...]:
    """Return the places that the elements of one citation name, ranges expanded where the inventory allows it."""
    targets = [_target(element, this_law, this_norm, inventory) for element in elements]
    result: list[Target] = []
    ends = {index + 1 for index, element in enumerate(elements) if element.ranged}
    for index, target in enumerate(targets):
        starts = index + 1 in ends and index + 1 < len(targets)
        between = _between(target, targets[index + 1], inventory) if starts else None
        if starts and between is None:
            target = _doubted(target, "the range is not expanded: its law is not in the inventory")
            targets[index + 1] = _doubted(targets[index + 1], target.note)
        result.append(target)
        result.extend(between or ())
    return tuple(result)


def _doubted(target: Target, note: str | None) -> Target:
    return Target(target.citation, resolved=False, note=target.note or note, law_name=target.law_name)


def _target(element: Element, this_law: Law | None, this_norm: str | None, inventory: Inventory | None) -> Target:
    name = element.law
    law: Law | None
    note = element.doubt
    if name is None or name.is_this or not name.name:
        law = this_law
        short = law.short if law else ""
        note = note or (None if law else _NO_LAW)
        if law is not None and name is not None and name.is_this and not is_kind_of(name.name, law):
            note = note or KIND_NOTE
        if element.chained is False and name is None and law is None:
            note = note or _NO_LAW
    else:
        in_code = this_law is not None and this_law.short.startswith("SGB")
        law = name.law if in_code or not name.is_book else None
        short = law.short if law else " ".join(name.name.split())
        note = note or (None if law else _UNKNOWN_LAW)
    article = element.article
    if article is None and element.path and (name is None or name.is_this):
        article = this_norm
        note = note or (None if this_norm else "the text names no norm")
    style = _style(element, law)
    citation = Citation(
        law.code if law else UNKNOWN,
        short,
        style,
        article,
        element.path,
        element.is_recital,
        element.following,
        element.version,
    )
    note = note or _misfit(element, law, article, inventory)
    return Target(citation, resolved=note is None, note=note, law_name=name.name if name and name.name else None)


def _style(element: Element, law: Law | None) -> Style:
    if element.style is not None:
        return element.style
    if element.is_recital:
        return "article"
    if law is not None and law.style is not None:
        return law.style
    return "article" if (element.article or "").startswith("Anhang") else "paragraph"


def _misfit(element: Element, law: Law | None, article: str | None, inventory: Inventory | None) -> str | None:
    """Say what speaks against a target whose law is known."""
    if law is None:
        return None
    if element.style is not None and law.style is not None and element.style != law.style:
        return f"{law.short} is cited by {'§' if law.style == 'paragraph' else 'Art.'}"
    if element.is_recital and law.style == "paragraph":
        return f"{law.short} has no recitals"
    if element.version == "a.F.":
        return "an older wording is cited"
    if element.following:
        return "how far 'ff.' goes is not said"
    listed = inventory.articles(law.code) if inventory is not None else None
    if listed is not None and article is not None and not element.is_recital and article not in listed:
        return f"{law.short} has no such norm"
    return None


def _between(first: Target, last: Target, inventory: Inventory | None) -> list[Target] | None:
    """Return the places strictly between the two ends of a range, or None if they are not known."""
    start, stop = first.citation, last.citation
    if inventory is None or not first.resolved or not last.resolved or start.regulation_code != stop.regulation_code:
        return None
    if not start.path and not stop.path and start.article != stop.article:
        values = _slice(inventory.articles(start.regulation_code), start.article, stop.article)
        return None if values is None else [_copy(first, value, ()) for value in values]
    levels = [step.level for step in start.path], [step.level for step in stop.path]
    if start.article == stop.article and start.article is not None and levels == (["absatz"], ["absatz"]):
        listed = inventory.paragraphs(start.regulation_code, start.article)
        values = _slice(listed, start.path[0].value, stop.path[0].value)
        return None if values is None else [_copy(first, start.article, (Step("absatz", value),)) for value in values]
    return None


def _slice(listed: Sequence[str] | None, first: str | None, last: str | None) -> Sequence[str] | None:
    if listed is None or first not in listed or last not in listed:
        return None
    start, stop = listed.index(first), listed.index(last)
    return listed[start + 1 : stop] if start < stop else None


def _copy(target: Target, article: str, path: Path) -> Target:
    cited = target.citation
    return Target(
        Citation(cited.regulation_code, cited.short, cited.citation_style, article, path, cited.is_recital),
        resolved=True,
        law_name=target.law_name,
    )


def is_doubtful_neighbour(between: str, targets: Sequence[Target], following: Sequence[Target]) -> bool:
    """Whether places without a law may belong to the law named behind the next ones.

    "§ 376 sowie die Bußgeldvorschriften der §§ 378 bis 384 der Abgabenordnung" speaks of § 376 of the Abgabenordnung.
    """
    if targets[-1].law_name is not None or following[-1].law_name is None:
        return False
    return _GOES_ON.fullmatch(between) is not None


def doubted(targets: Sequence[Target]) -> tuple[Target, ...]:
    """Return the targets, none of them resolved."""
    return tuple(_doubted(target, "the law behind the next citation may be meant") for target in targets)


_GOES_ON = re.compile(r"(?:\s\([^()]{0,120}\))?,?\s(?:und|oder|sowie|bzw\.)\s[^.;:()]{0,60}|,\s(?:der|des|den|nach)\s")


def mark_chained(elements: Sequence[Element], *, in_statute: bool) -> None:
    """Doubt the law of places tied by "in Verbindung mit" inside a statute.

    There "§ 8 in Verbindung mit § 12 des Bürgerlichen Gesetzbuchs" means the statute's own § 8; in other texts the law
    at the end counts for both (hard case 8).
    """
    if not in_statute:
        return
    for before, element in pairwise(elements):
        if element.chained and element.law is not None and before.law is element.law and not element.law.is_this:
            before.doubt = before.doubt or "the law behind the chain may belong to its last place only"
