"""The citation of a payload of the old corpus (spec/reingest-contract §3).

The old chunker wrote `section` "§ 38" or "Artikel 13", `paragraph` "(1)" or 1, `regulation_id` "bdsg". What these say
is kept, what they do not say is None and reported; nothing is guessed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from normalize.citation import Style
from normalize.laws import Law, LawTable
from normalize.text import clean_inline
from normalize.units import RANK, UNIT_WORDS, Path, Step, read_steps, write_path

CODE_FIELDS: Final = ("regulation_code", "regulation_id", "regulation_short")

_NUMBER: Final = r"\d+(?:\.\d+)*[a-z]{0,2}"
_SECTION: Final = re.compile(
    rf"(?P<mark>§§?|Art(?:ikels?|\.)?(?![^\W\d_])|ART(?:IKEL|\.)?(?![^\W\d_]))\s*(?P<number>{_NUMBER})(?!\w)"
)
_RECITAL: Final = re.compile(rf"(?:Erwägungsgrund|ErwGr?\.?|EG|Recital)\s*\(?(?P<number>{_NUMBER})\)?(?!\w)")
_PART: Final = re.compile(r"(?P<name>Anhang|ANHANG|Anlage|ANLAGE)(?:\s+(?P<number>[IVXLC]+|\d+[a-z]?|[A-Z]))?(?!\w)")
_SEVERAL: Final = re.compile(rf"\s*(?:bis|und|oder|u\.|,|[-–—])\s*(?:§§?|Art(?:ikel|\.)?)?\s*\(?{_NUMBER}(?!\w)")
_BRACKETED: Final = re.compile(r"\s*\((\d+[a-z]{0,2})\)")
_BELOW: Final = re.compile(rf"\s*,?\s*§\s*({_NUMBER})(?!\w)")
_PARAGRAPH: Final = re.compile(r"\s*(?:\((?P<bracket>\d+[a-z]{0,2})\)|(?P<bare>\d+[a-z]{0,2}))(?!\w)")
_POINT: Final = re.compile(r"\s*\(?(?:(?P<letter>[a-z])|(?P<number>\d+[a-z]?)\.)\)?\s*$")
_UNIT: Final = re.compile(r"[\s,]*(?P<word>[^\W\d_]+)\.?\s*(?P<value>\d+[a-z]{0,2}|[a-z]{1,3}|[ivx]+)(?!\w)\)?")
_UNIT_FIELDS: Final = {"satz": "satz", "nummer": "nummer", "nr": "nummer", "buchstabe": "buchstabe", "lit": "buchstabe"}


@dataclass(frozen=True, slots=True)
class Unrecovered:
    """A field the old payload could not fill: what stood there, and why it was not used."""

    field: str
    value: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class LegacyFields:
    """The citation an old payload holds, in the names of the contract; what could not be recovered is None."""

    style: Style | None
    article: str | None
    paragraph: str | None
    sub: str | None
    is_recital: bool
    regulation_code: str | None
    regulation_short: str | None
    regulation_name: str | None
    section_header: str | None
    unrecovered: tuple[Unrecovered, ...]


@dataclass(slots=True)
class _Draft:
    """Fields as they are found."""

    style: Style | None = None
    article: str | None = None
    paragraph: str | None = None
    path: Path = ()
    is_recital: bool = False
    header: str | None = None
    lost: list[Unrecovered] = field(default_factory=list)

    def lose(self, name: str, value: object, reason: str) -> None:
        self.lost.append(Unrecovered(name, None if value is None else str(value), reason))


def legacy_citation(payload: Mapping[str, Any], laws: LawTable | None = None) -> LegacyFields:
    """Read the citation of an old payload (the table of contract §3).

    `laws` knows official spellings and whether a law is cited by § or Art.; the built-in table by default.
    """
    draft = _Draft()
    laws = laws or _builtin_laws()
    law, code, short = _regulation(payload, laws, draft)
    _read_section(payload, law, draft)
    _check_law_in_section(law, laws, draft)
    _read_paragraph(payload, draft)
    _read_sub(payload, draft)
    if law and law.style and draft.article and not _is_named(draft) and draft.style != law.style:
        draft.lose("article", payload.get("section"), f"{law.short} has no such norm: § or Art. does not fit it")
        draft.article, draft.paragraph, draft.path, draft.style = None, None, (), law.style
    if draft.article is None and draft.paragraph is not None:
        draft.lose("paragraph", draft.paragraph, "the norm it belongs to is not known")
        draft.paragraph, draft.path = None, ()
    return LegacyFields(
        style=draft.style or (law.style if law else None),
        article=draft.article,
        paragraph=draft.paragraph,
        sub=write_path(draft.path) if draft.article else None,
        is_recital=draft.is_recital,
        regulation_code=code,
        regulation_short=short,
        regulation_name=payload_text(payload, "regulation_name", "regulation_name_de") or (law.name if law else None),
        section_header=draft.header,
        unrecovered=tuple(draft.lost),
    )


@cache
def _builtin_laws() -> LawTable:
    return LawTable.builtin()


def _regulation(payload: Mapping[str, Any], laws: LawTable, draft: _Draft) -> tuple[Law | None, str | None, str | None]:
    """Return law (if the table holds it), code and short name."""
    given = [value for name in CODE_FIELDS if (value := payload_text(payload, name))]
    if not given:
        draft.lose("regulation_code", None, "the payload names no regulation")
        return None, None, None
    known = {law.code: law for value in given if (law := _law(value, laws))}
    if len(known) > 1:
        draft.lose("regulation_code", " / ".join(given), f"these are different laws: {', '.join(known)}")
        return None, None, None
    for law in known.values():
        return law, law.code, law.short
    short = payload_text(payload, "regulation_short") or given[0]
    return None, given[0].upper(), short if short != short.lower() else short.upper()


def _law(value: str, laws: LawTable) -> Law | None:
    return (
        laws.resolve(value)
        or laws.by_code(value)
        or laws.by_celex(value.upper())
        or laws.resolve(value.replace("_", " "))
    )


def _read_section(payload: Mapping[str, Any], law: Law | None, draft: _Draft) -> None:
    """Read `section` (or `article`): marker and number, and what stands behind them."""
    value = payload_text(payload, "section", "article")
    title = payload_text(payload, "section_title", "section_header")
    draft.header = title
    if value is None:
        draft.lose("article", None, "the payload names no section")
        return
    match = _RECITAL.match(value) or _SECTION.match(value) or _PART.match(value)
    if match is None and (bare := re.fullmatch(_NUMBER, value)):
        style = payload_text(payload, "citation_style") or (law.style if law else None)
        if style in ("paragraph", "article"):
            draft.style, draft.article = ("paragraph" if style == "paragraph" else "article"), bare.group()
            draft.is_recital = payload.get("is_recital") is True
            return
        draft.lose("article", value, "nothing tells whether it is a § or an Artikel")
        return
    if match is None:
        draft.lose("article", value, "it is no §, Artikel, Anhang, Anlage or Erwägungsgrund")
        draft.header = title or value
        return
    if match.re is _SECTION:
        draft.style = "paragraph" if match["mark"].startswith("§") else "article"
    rest = value[match.end() :]
    if _SEVERAL.match(rest):
        draft.lose("article", value, "it names several norms")
        draft.header = f"{value} {title}" if title else value
        return
    if match.re is _PART:
        draft.article = " ".join(part for part in (match["name"].capitalize(), match["number"]) if part)
        draft.style = law.style if law else None
    else:
        draft.article = match["number"]
        if draft.style == "article" and (below := _BELOW.match(rest)):  # EGBGB: "Artikel 229 § 5"
            draft.article, rest = f"{draft.article} § {below[1]}", rest[below.end() :]
        draft.is_recital = match.re is _RECITAL
        draft.style = "article" if draft.is_recital else draft.style
    _read_rest(rest, title, draft)


def _read_rest(rest: str, title: str | None, draft: _Draft) -> None:
    """Read what stands behind the number of a section: units ("Abs. 1 Satz 2"), else a title."""
    bracket = _BRACKETED.match(rest)
    position = bracket.end() if bracket else 0
    path, end = _units(rest, position)
    if bracket:
        draft.paragraph = bracket[1]
    elif path and path[0].level == "absatz":
        draft.paragraph, path = path[0].value, path[1:]
    draft.path = path
    left = rest[end:].strip(" \t.:,–—-")
    draft.header = title or left or None


def _check_law_in_section(law: Law | None, laws: LawTable, draft: _Draft) -> None:
    """A section may name its law ("§ 312a BGB"): that is no title, and another law than the payload's is a conflict."""
    named = laws.resolve(draft.header) if draft.header and draft.article else None
    if named is None:
        return
    if law is not None and named.code != law.code:
        draft.lose("article", draft.header, f"section names {named.short}, the payload is of {law.short}")
        draft.article, draft.paragraph, draft.path = None, None, ()
        return
    draft.header = None


def _read_paragraph(payload: Mapping[str, Any], draft: _Draft) -> None:
    """Read `paragraph` ("(1)", 1, "Abs. 1", "a)") and `paragraph_num`; they must not contradict each other."""
    value, number = payload_text(payload, "paragraph"), payload_text(payload, "paragraph_num")
    found: str | None = None
    if value is not None:
        match = _PARAGRAPH.match(value)
        path, end = _units(value, 0)
        if match and not _SEVERAL.match(value, match.end()) and value[match.end() : match.end() + 1] != ".":
            found = match["bracket"] or match["bare"]
            path, end = _units(value, match.end())
        elif path and path[0].level == "absatz" and not _SEVERAL.match(value, end):
            found, path = path[0].value, path[1:]
        elif (point := _POINT.match(value)) and (point["letter"] or draft.style == "paragraph"):
            path = (Step("buchstabe", point["letter"]) if point["letter"] else Step("nummer", point["number"]),)
            end = len(value)
        if found is None:
            reason = "a point whose Absatz is not known" if path and not draft.paragraph else "it is not one Absatz"
            if not path or not draft.paragraph:
                draft.lose("paragraph", value, reason)
                path = ()
        elif value[end:].strip(" .,:;)"):
            draft.lose("sub", value, "only its beginning could be read")
        draft.path = path or draft.path
    if number is not None:
        bare = number.removesuffix(".0")
        if not bare.isdigit() or int(bare) == 0:
            draft.lose("paragraph", number, "it is no number of an Absatz")
        elif found is None and value is None:
            found = bare
        elif found is not None and re.match(r"\d+", found).group() != bare:  # type: ignore[union-attr]  # has digits
            draft.lose("paragraph", f"{value} / {number}", "paragraph and paragraph_num contradict each other")
            draft.paragraph, draft.path = None, ()
            return
    if found and draft.paragraph and found != draft.paragraph:
        draft.lose("paragraph", f"{draft.paragraph} / {found}", "section and paragraph contradict each other")
        draft.paragraph, draft.path = None, ()
        return
    draft.paragraph = found or draft.paragraph
    if draft.is_recital and draft.paragraph:
        draft.lose("paragraph", draft.paragraph, "a recital has no Absatz")
        draft.paragraph = None


def _read_sub(payload: Mapping[str, Any], draft: _Draft) -> None:
    """Read `sub`, or fields called after a unit (`satz`, `lit`)."""
    value = payload_text(payload, "sub")
    if value is not None:
        path, end = read_steps(value)
        if end < len(value):
            path, end = _units(value, 0)
        if path and not value[end:].strip(" .,:;)"):
            draft.path = path
        else:
            draft.lose("sub", value, "it is no unit of a norm")
        return
    steps = [
        Step(level, text.strip("().")) for name, level in _UNIT_FIELDS.items() if (text := payload_text(payload, name))
    ]
    if steps:
        draft.path = tuple(sorted(dict(steps).items(), key=lambda step: RANK[step[0]]))  # type: ignore[arg-type]
        draft.path = tuple(Step(*step) for step in draft.path)


def _units(text: str, position: int) -> tuple[Path, int]:
    """Read units from general to special; return the path and where reading stopped."""
    path: list[Step] = []
    while match := _UNIT.match(text, position):
        unit = UNIT_WORDS.get(match["word"])
        if unit is None or (path and RANK[unit.level] <= RANK[path[-1].level] and path[-1].level not in unit.after):
            break
        if (unit.kind == "number") != match["value"][0].isdigit() and unit.kind != "any":
            break
        if _SEVERAL.match(text, match.end()):
            break
        path.append(Step(unit.level, match["value"]))
        position = match.end()
    return tuple(path), position


def _is_named(draft: _Draft) -> bool:
    return draft.is_recital or not (draft.article or "")[:1].isdigit()


def payload_text(payload: Mapping[str, Any], *names: str, strip: bool = True) -> str | None:
    """Return the first of the fields that says something, as a clean string."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            continue
        text = clean_inline(str(value)) if strip else str(value)
        if text.strip():
            return text
    return None
