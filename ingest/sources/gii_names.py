"""The name of a norm in a gii-norm file (`<enbez>`): what kind of provision it is, and what it is cited as."""

import re
from dataclasses import dataclass

from ingest.tree import Kind
from normalize.citation import Style
from normalize.units import NAMED_PARTS, Path, Step

_PARAGRAPH = re.compile(r"§\s*(\d.*)$")
_ARTICLE = re.compile(r"Art(?:ikel|\.)?\s*([\dIVXLC].*)$")
_COLLAPSED = re.compile(r"(?:\(X{2,}\)\s*)?(?:§§|Art(?:ikel|\.)?)\s*(\S+)\s*(?:bis|und|u\.|,)\s*(?:§|Art\.?)?\s*(\S+)$")
_BARE_NUMBER = re.compile(r"(\d+[a-z]?)\.?$")
_WORD = re.compile(r"\w")
_NOT_REPRODUCED = re.compile(r"\(?X{3,}\)?\s*")
_NUMBER = r"(?!zu\b)[A-Z]{0,2}[\d.]*[0-9A-Za-z.]*"
# "Anlage 6 E" stands beside "Anlage 6", "Anhang 1 zu Anlage 4" beside "Anhang 1 zu Anlage 6a".
_ANNEX = re.compile(
    rf"((?:Anlage|Anhang)\b(?:\s+{_NUMBER}(?:\s+(?:[A-E]|bis\s+\d+[a-z]?)(?=\s|$))?)?"
    rf"(?:\s+(?:zu\s+Anlage\s+{_NUMBER}|zum\s+Anhang)(?=\s|$))?|Anlagen\b|(?=Anlagenverzeichnis))\s*(.*)$"
)
_ABOVE_ANNEX = re.compile(r"\(?(zu\s+Anlage\s+\w+)\b")
# The parts of the unification treaty's annexes ("Kap II A III"), and the "Teil 2" of others.
_TREATY_PART = re.compile(r"Kap ([IVXLC]+)(?: ([A-Z]))?(?: ([IVXLC]+))?$")
_ANNEX_PART = re.compile(r"Teil (\d+|[IVXLC]+)$")


@dataclass(frozen=True, slots=True)
class Division:
    """A heading above the norms; `depth` is the length of its key (gliederungskennzahl)."""

    depth: int
    name: str
    title: str | None


@dataclass(frozen=True, slots=True)
class Name:
    """What a norm is cited as; `rest` is a heading that its name holds, `part` the part of an annex that it is.

    `is_range` tells that it stands for several norms ("(XXXX) §§ 3 bis 6").
    """

    kind: Kind
    article: str
    style: Style = "paragraph"
    rest: str | None = None
    part: Path = ()
    is_range: bool = False


def read_name(enbez: str, heading: str | None, own: Division | None) -> Name:
    """Return what a norm is cited as; `own` is the division that begins with it, if one does.

    A norm without a name is the division itself ("Art 7" of some Artikelgesetze); else it is the named part that its
    heading says ("Protokoll"), or nothing but text. A division that began above it is no name of it.
    """
    if match := _COLLAPSED.match(enbez):
        return Name("norm", f"{match[1]} bis {match[2]}", "paragraph" if "§" in enbez else "article", is_range=True)
    bare = _NOT_REPRODUCED.sub("", enbez)
    if match := _PARAGRAPH.match(bare):
        return Name("norm", match[1].removesuffix("."))
    if match := _ARTICLE.match(bare):
        return Name("norm", match[1], "article")
    if match := _ANNEX.match(bare):
        return _annex(match[1].strip(), match[2], heading)
    if not bare and own is not None:
        name = read_name(own.name or own.title or "Text", None, None)
        return Name(name.kind, name.article, name.style, own.title if own.name else None)
    if not bare and heading in NAMED_PARTS:
        return Name("part", heading)
    if match := _BARE_NUMBER.match(bare):  # decrees that count "1." and "7a."
        return Name("part", f"Nr {match[1]}")
    return Name("part", bare if _WORD.search(bare) else "Text")


def _annex(article: str, rest: str, heading: str | None) -> Name:
    if article in ("", "Anlagen"):
        return Name("annex", "Anlagen", rest=f"Anlagen {rest}".strip() if article else rest)
    if article == "Anhang" and heading is not None and (match := _ABOVE_ANNEX.match(heading)):
        article = f"{article} {match[1]}"
    if match := _TREATY_PART.match(rest):
        chapter, subject, section = match.groups()
        if section is None and subject is not None and "Sachgebiet" not in (heading or ""):
            subject, section = None, subject  # "Kap I I" has no Sachgebiet
        steps = (("kapitel", chapter), ("sachgebiet", subject), ("abschnitt", section))
        return Name("annex", article, part=tuple(Step(level, value) for level, value in steps if value))
    if match := _ANNEX_PART.match(rest):
        return Name("annex", article, part=(Step("teil", match[1]),))
    return Name("annex", article, rest=rest or None)
