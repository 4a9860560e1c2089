"""A citation and its printable label (DESIGN §3): the one place that writes a Fundstelle and reads it back."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from normalize.errors import FundstelleError
from normalize.units import NAMED_PARTS, ROMAN, Path, read_steps, write_path

Style = Literal["paragraph", "article"]

UNKNOWN = "unknown"
"""The regulation code of a law that the law table does not hold; it never stands for "this law"."""


class CitationError(FundstelleError):
    """A text is not one citation that can be read completely."""


class NamedLaw(Protocol):
    """What a citation takes from an entry of the law table."""

    @property
    def code(self) -> str: ...  # noqa: D102
    @property
    def short(self) -> str: ...  # noqa: D102
    @property
    def style(self) -> Style | None: ...  # noqa: D102


class LawNames(Protocol):
    """A law table as far as a label needs one."""

    def resolve(self, name: str) -> NamedLaw | None:
        """Return the law of this name, or None if no law or more than one has it."""


def label(
    short: str,
    style: Style,
    article: str | None,
    paragraph: str | None = None,
    sub: str | None = None,
    *,
    is_recital: bool = False,
    following: str = "",
    version: str = "",
) -> str:
    """Return the printable Fundstelle of one norm or part of it.

    `short` is the law as people cite it (``GewO``, ``DSGVO``); the other parts are bare values as in the payload
    contract. Named parts of an act (``Anhang I``, ``Anlage 1``, ``Präambel``) stand where the § or article would.
    `following` is ``f.`` or ``ff.``, `version` is ``a.F.`` or ``n.F.``. Absent parts are dropped without a trace.
    """
    if article is None:
        norm = ""
    elif is_recital:
        norm = f"ErwG {article}"
    elif is_named_part(article):
        norm = article
    else:
        norm = f"§ {article}" if style == "paragraph" else f"Art. {article}"
    where = _join(norm, f"Abs. {paragraph}" if paragraph else "", sub or "", following)
    short_first = is_short_first(style, is_recital=is_recital)
    return _join(short, where, version) if short_first else _join(where, short, version)


def is_short_first(style: Style, *, is_recital: bool) -> bool:
    """Whether the law stands before the norm (``BDSG § 38``) or behind it (``Art. 5 DSGVO``)."""
    return style == "paragraph" and not is_recital


def is_named_part(article: str) -> bool:
    """Whether an article value is a name (``Anhang I``) and takes no § or Art.; "V" and "12a" are numbers."""
    return not article[0].isdigit() and not _ROMAN_ARTICLE.fullmatch(article)


def _join(*parts: str) -> str:
    return " ".join([part for part in parts if part])


@dataclass(frozen=True, slots=True)
class Citation:
    """One cited place: a law, a norm of it (or none), and the path of units below the norm, Absatz included.

    `short` is the law as the label writes it; for a law that the table does not hold it is the name as read and the
    code is `UNKNOWN`. Long and short forms of one citation are equal, since both take code and short from the table.
    """

    regulation_code: str
    short: str
    citation_style: Style
    article: str | None = None
    path: Path = ()
    is_recital: bool = False
    following: str = ""
    version: str = ""

    @property
    def paragraph(self) -> str | None:
        """The bare number of the Absatz, where the path starts with one."""
        return self.path[0].value if self.path and self.path[0].level == "absatz" else None

    @property
    def sub(self) -> str | None:
        """The label text of the path below the Absatz (``Satz 2 Nr. 1``), or None."""
        return write_path(self.path[1:] if self.paragraph is not None else self.path)

    @property
    def label(self) -> str:
        """The printable Fundstelle; `parse` reads it back."""
        return label(
            self.short,
            self.citation_style,
            self.article,
            self.paragraph,
            self.sub,
            is_recital=self.is_recital,
            following=self.following,
            version=self.version,
        )

    @property
    def filter(self) -> dict[str, str | bool]:
        """The payload fields, and their values, of the chunks that hold the cited place (`sub` lies inside them)."""
        fields: dict[str, str | bool] = {"regulation_code": self.regulation_code}
        if self.article is not None:
            fields |= {"article": self.article, "is_recital": self.is_recital}
        if self.paragraph is not None:
            fields["paragraph"] = self.paragraph
        return fields


_ARTICLE = r"(?:\d+(?:[a-z]?\.\d+)*(?:[A-Z]|[a-z]{0,12})|[IVXLC]+[a-z]?)"
_ROMAN_ARTICLE = re.compile(rf"{ROMAN.pattern}[a-z]?(?: § .+)?")
# "Anhang I", "Anlage IIB", "Anhang EV" (of the unification treaty), "Muster 2d"; old instruments count "Nr 1" and "I.".
_NAMED_NUMBER = r"(?:\d+(?:\.\d+)*[A-Za-z]?|[IVXLC]+[A-Za-z]?|[A-Z]\d+[a-z]?|[A-Z]{1,2})"
_NAMED_WORD = rf"(?:{'|'.join(NAMED_PARTS)})"
# "Anlage 6 E" beside "Anlage 6"; annexes of annexes.
_ABOVE_NAMED = rf"(?: (?:zu Anlage {_NAMED_NUMBER}|zum Anhang)(?= |$))?"
_ORDINAL = r"(?:Erst|Zweit|Dritt|Viert|Fünft|Sechst|Siebent?|Acht|Neunt|Zehnt)er"
_NAMED = (
    rf"(?:{_NAMED_WORD}(?: {_NAMED_NUMBER}(?: [A-E]| bis \d+[a-z]?)?(?= |$))?{_ABOVE_NAMED}|Nr \d+[a-z]?"
    rf"|{_ORDINAL} (?:Teil|Abschnitt|Titel)|Abschnitt [IVXLC]+)"
)
_LETTERED = r"(?:[IVXLC]+\.|[A-E]\.)"
_RECITAL_HEAD = re.compile(r"ErwG (?P<article>\d+[a-z]?)(?= |$)")
_PARAGRAPH_HEAD = re.compile(rf" § (?P<article>{_ARTICLE})(?= |$)")
_ARTICLE_HEADS = (
    # Articles that were set as one ("Art. 14 bis 17") have one Fundstelle.
    re.compile(rf"Art\. (?P<article>{_ARTICLE}(?: § {_ARTICLE}| bis {_ARTICLE})?)(?= |$)"),
    re.compile(rf"(?P<article>{_NAMED})(?= |$)"),
    re.compile(rf"(?P<article>{_NAMED_WORD})(?= |$)"),  # "Anlage GG" is the Anlage of the GG
)
_NAMED_HEAD = re.compile(rf" (?P<article>{_NAMED}|{_LETTERED})(?= |$)")
_LETTERED_HEAD = re.compile(rf"(?P<article>{_LETTERED})(?= |$)")
# A control of a catalog as catalogs write it ("AC-2(1)", "KONF.13.7"), and the part of it that is cited ("guidance",
# "assessment-method TEST"); of a group of controls ("PM") only a part has text.
_CONTROL_ID = r"[A-Z][A-Z0-9]{0,7}(?:[-.]\d+[a-z]?)+(?:\(\d+\))*"
_CONTROL_PART = r"(?:assessment-method (?:EXAMINE|INTERVIEW|TEST)|[a-z]+(?:-[a-z]+)*)"
_CONTROL_HEAD = re.compile(
    rf"(?P<article>{_CONTROL_ID}(?: {_CONTROL_PART})?|[A-Z][A-Z0-9]{{1,7}} {_CONTROL_PART})(?= |$)"
)
_FOLLOWING = re.compile(r" (ff?\.)(?= |$)")
_VERSION = re.compile(r" ([an]\.F\.)$")


@dataclass(frozen=True, slots=True)
class _Head:
    """A way to read the beginning of a label: the law in front of its § (or None, it follows), the article, its end."""

    short: str | None
    article: str
    end: int
    recital: bool = False


def _heads(label: str) -> Iterator[_Head]:
    """Yield the ways to read the beginning of a label, the likelier first.

    A law's own name may hold the word of a named part ("Gesetz über das Muster Anlage 2"): each place is tried.
    """
    if match := _RECITAL_HEAD.match(label):
        yield _Head(None, match["article"], match.end(), recital=True)
    for match in _PARAGRAPH_HEAD.finditer(label, 1):
        yield _Head(label[: match.start()], match["article"], match.end())
    for pattern in _ARTICLE_HEADS:
        if match := pattern.match(label):
            yield _Head(None, match["article"], match.end())
    for match in _NAMED_HEAD.finditer(label, 1):
        yield _Head(label[: match.start()], match["article"], match.end())
    if match := _LETTERED_HEAD.match(label):
        yield _Head(None, match["article"], match.end())
    if match := _CONTROL_HEAD.match(label):
        yield _Head(None, match["article"], match.end())


def parse_label(text: str, laws: LawNames) -> Citation:
    """Return the citation whose label is `text` (the inverse of `Citation.label`).

    A law that `laws` does not hold gives the code `UNKNOWN` and keeps its name. Raises CitationError if `text` is no
    label; `normalize.citing.parse` also reads the long forms.
    """
    version = _VERSION.search(text)
    body = text[: version.start()] if version else text
    for head in _heads(body):
        path: Path = ()
        position = head.end
        if body[position : position + 1] == " ":
            path, end = read_steps(body, position + 1)
            position = end if path else position
        following = _FOLLOWING.match(body, position)
        position = following.end() if following else position
        rest = body[position:]
        short = rest[1:] if head.short is None else head.short
        if (head.short is not None) == bool(rest) or not short:
            continue
        law = laws.resolve(short)
        return Citation(
            law.code if law else UNKNOWN,
            law.short if law else short,
            "article" if head.short is None else "paragraph",
            head.article,
            path,
            head.recital,
            following.group(1) if following else "",
            version.group(1) if version else "",
        )
    law = laws.resolve(body)
    if law is not None:
        return Citation(law.code, law.short, law.style or "paragraph", version=version.group(1) if version else "")
    raise CitationError(f"'{text}' is not the label of a citation; write it like 'BDSG § 38 Abs. 1' or 'Art. 5 DSGVO'.")
