"""Read law as Markdown or plain text: one article a file, or a whole act with headings ("# Artikel 5", "§ 38 Titel").

A file whose front matter names its article is that article; several such files make one act through the manifest.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ingest.sources.markup_heads import ARTICLE, NUMBER, PARAGRAPH, Heading, division_of, heading_of, may_be_heading
from ingest.sources.markup_lines import MarkupText, TextLine, read_markup
from ingest.sources.outline import Line, absaetze, is_closed, number_key, placed_blocks, runs_on, split_marker
from ingest.sources.quotations import OPENING_QUOTES, Quotable, quoted_lines
from ingest.tree import Absatz, Act, Provision
from normalize.citation import Style
from normalize.errors import SourceError

_GONE = re.compile(r"\(?(?:weggefallen|aufgehoben|gestrichen|repealed|deleted)\)?\.?|[-–—]+")
# EU acts name themselves so in their title or text; German acts in articles (GG, EGBGB) call themselves laws.
_EU_ACT = re.compile(
    r"\b(?:[Dd]ies|vorliegend)\w*\s+(?:Richtlinie|Verordnung|Rahmenbeschluss\w*)\b|"
    r"\b[Tt]his\s+(?:Regulation|Directive|Decision)\b|"
    r"^(?:#+\s*)?(?:VERORDNUNG|RICHTLINIE|REGULATION|DIRECTIVE|Verordnung|Richtlinie|Regulation|Directive)\s+\((?:E[UGC])\)",
    re.MULTILINE,
)
_GERMAN_LAW = re.compile(r"\b[Dd]iese[sm]?\s+(?:Grundg|G)esetz(?:es|e)?\b")
_SHORT_NAME = re.compile(r"\((?:[^()]*[–-]\s)?([A-ZÄÖÜ][\w\-]{2,15})\)\s*$")
_FRONT_ARTICLE = re.compile(
    rf"\A(?:\ufeff)?---\s*\n(?:.*\n)*?[\w.\- ]+:\s*[\"']?(?:§|Artikel|Article|Art\.)\s*{NUMBER}[\"']?\s*$",
    re.MULTILINE,
)
# Headings of Markdown that name no division rank below all that do.
_BELOW_DIVISIONS = 20


def is_law_text(head: bytes) -> bool:
    """Tell by the first bytes of a file whether it is text with the heading of a § or Artikel."""
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"<", b"{", b"[", b"%") or b"\x00" in head:
        return False
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:  # else the head only ends within a character
            return False
        text = head[: error.start].decode("utf-8")
    text = text.replace("\r\n", "\n")
    return _FRONT_ARTICLE.match(text) is not None or any(_heading(line) for line in read_markup(text).lines)


def _heading(line: TextLine) -> Heading | None:
    return heading_of(line.text, marked=line.level > 0)


def read_markup_text(data: bytes, origin: str) -> Act:
    """Return the act (or the part of it) that one text file holds.

    Raises SourceError naming `origin` if it is no UTF-8 text or has no § or Artikel.
    """
    try:
        text = data.decode("utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig")
    except UnicodeDecodeError:
        raise SourceError(f"{origin} is no UTF-8 text: save it as UTF-8.") from None
    markup = read_markup(text)
    document = _Document(is_eu=_EU_ACT.search(text) is not None and _GERMAN_LAW.search(text) is None)
    provisions = tuple(document.read(markup))
    if not any(p.kind in ("norm", "recital", "annex") for p in provisions):
        raise SourceError(f"{origin} has no heading of a § or Artikel: it is no text of law that fundstelle can cite.")
    style = _majority_style(provisions)
    provisions = tuple(p if p.kind == "norm" else replace(p, style=style) for p in provisions)
    return _act(markup.fields, document.title, style, _language(text), provisions)


def _act(
    fields: Mapping[str, str], title: str | None, style: Style, language: str, provisions: tuple[Provision, ...]
) -> Act:
    name = _field(fields, "law_name", "regulation_name", "gesetz", "law", "act") or title
    short = _SHORT_NAME.search(name) if name else None
    celex = _field(fields, "celex")
    date = _field(fields, "date", "stand", "version_date")
    key = next((v for k, v in fields.items() if k.startswith("regulation") and re.fullmatch(r"[\w\-]{2,20}", v)), None)
    return Act(
        document_id=celex,
        code=None,
        short=short[1] if short else None,
        name=name,
        style=style,
        date=date if date and re.fullmatch(r"\d{4}-\d{2}-\d{2}", date) else None,
        language=(_field(fields, "language", "lang", "sprache") or language)[:2].lower(),
        provisions=provisions,
        names=(name,) if name else (),
        key=key,
        celex=celex,
        year=int(celex[1:5]) if celex and celex[1:5].isdigit() else None,
    )


def _language(text: str) -> str:
    words = Counter(re.findall(r"\w+", text.casefold()))
    german, english = (sum(words[word] for word in common) for common in (("der", "die", "und"), ("the", "of", "and")))
    return "en" if english > german else "de"


def _field(fields: Mapping[str, str], *names: str) -> str | None:
    return next((fields[name] for name in names if fields.get(name)), None)


def _majority_style(provisions: Sequence[Provision]) -> Style:
    styles = Counter(p.style for p in provisions if p.kind == "norm")
    return "paragraph" if styles["paragraph"] > styles["article"] else "article"


# --- The document --------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Document:
    """The walk through a text: its title, the divisions above, the provision whose lines are being gathered."""

    is_eu: bool
    title: str | None = None
    divisions: list[tuple[int, str]] = field(default_factory=list)
    provision: Provision | None = None
    gathered: list[TextLine] = field(default_factory=list)
    preface: list[TextLine] = field(default_factory=list)

    def read(self, markup: MarkupText) -> Iterator[Provision]:
        """Yield the provisions of a text in order."""
        lines = markup.lines
        front = _front_article(markup.fields)
        if front is not None:
            self.provision = front
        marked = any(line.level and _heading(line) for line in lines)
        quoted = quoted_lines([Quotable("", line.text, bool(line.level)) for line in lines])
        for index, line in enumerate(lines):
            heading = None if index in quoted else self._heading(line, lines, index, marked, front is not None)
            if heading is not None:
                yield from self._finished(markup.footnotes if front is not None else ())
                context = () if heading.kind == "annex" else tuple(text for _, text in self.divisions)
                self.provision = Provision(
                    heading.kind, heading.article, heading.style, heading.rest or None, context
                )  # fmt: skip
            elif index not in quoted and (
                self._is_division(line, marked) or (not marked and self._is_section_title(line, lines, index))
            ):
                if self.provision is not None and self.provision.kind != "annex":
                    yield from self._finished()
                if self.provision is None:
                    self._enter_division(line)
                else:
                    self.gathered.append(line)
            elif self.provision is None:
                self._before_first(line)
            elif self._takes_title(line, lines, index):
                title = f"{self.provision.heading} {line.text}" if self.provision.heading else line.text
                self.provision = replace(self.provision, heading=title)
            else:
                self.gathered.append(line)
        yield from self._finished(markup.footnotes)

    def _heading(
        self, line: TextLine, lines: Sequence[TextLine], index: int, marked: bool, has_front: bool
    ) -> Heading | None:
        """A heading is marked as such, or it stands where only a heading can: after a full stop, in sequence."""
        heading = _heading(line)
        if heading is None or line.level:
            return heading
        if marked or (has_front and heading.rest) or line.indent > 3 or split_marker(line.text):
            return None
        before = lines[index - 1].text if index else ""
        if runs_on(before) or (before.endswith((",", ";", ":")) and not line.apart):
            return None
        if heading.kind == "norm" and self.provision is not None and self.provision.kind == "norm":
            this, last = number_key(heading.article), number_key(self.provision.article)
            if self.provision.style != heading.style or (this is not None and last is not None and this <= last):
                return None
        return heading

    def _is_section_title(self, line: TextLine, lines: Sequence[TextLine], index: int) -> bool:
        """A short line that stands apart between the text of one provision and the heading of the next."""
        following = lines[index + 1] if index + 1 < len(lines) else None
        if following is None or not (line.apart and following.apart and self.gathered):
            return False
        before = self.gathered[-1].text
        finished = is_closed(before) or _GONE.fullmatch(before) is not None
        is_item = split_marker(before) is not None and split_marker(line.text) is not None
        return finished and not is_item and may_be_heading(line.text) and _heading(following) is not None

    def _is_division(self, line: TextLine, marked: bool) -> bool:
        if line.level:
            return self.provision is not None or self.title is not None or division_of(line.text) is not None
        division = division_of(line.text)
        return division is not None and not marked and line.apart and may_be_heading(division[1])

    def _enter_division(self, line: TextLine) -> None:
        division = division_of(line.text)
        rank = division[0] if division is not None else _BELOW_DIVISIONS + line.level
        while self.divisions and self.divisions[-1][0] >= rank:
            self.divisions.pop()
        self.divisions.append((rank, line.text))

    def _before_first(self, line: TextLine) -> None:
        """Above the first provision stand the title, divisions and their titles; other text is the preamble."""
        is_short = may_be_heading(line.text)
        if self.title is None and not self.preface and not self.divisions and is_short:
            self.title = line.text
        elif self.divisions and is_short and not self.preface:
            rank, text = self.divisions[-1]
            self.divisions[-1] = (rank, f"{text} {line.text}")
        else:
            self.preface.append(line)

    def _takes_title(self, line: TextLine, lines: Sequence[TextLine], index: int) -> bool:
        """The line below "§ 38" is its title if text follows and it is no sentence; so is the rest of a long title."""
        provision = self.provision
        if (
            provision is None
            or self.gathered
            or split_marker(line.text)
            or line.bullet
            or not may_be_heading(line.text)
        ):
            return False
        following = lines[index + 1] if index + 1 < len(lines) else None
        if following is None or _heading(following) is not None or _GONE.fullmatch(line.text):
            return False
        if line.apart and not following.apart and split_marker(following.text):
            return False  # the lead-in of a list
        if provision.heading:
            return not line.apart and not line.level and following.text.startswith("(1)")
        return not line.text.startswith(OPENING_QUOTES)

    def _finished(self, footnotes: tuple[str, ...] = ()) -> Iterator[Provision]:
        if self.preface:
            blocks = placed_blocks(_outline_lines(self.preface), "article")
            yield Provision("part", "Präambel", "article", None, (), (Absatz(None, blocks),))
            self.preface = []
        provision, lines = self.provision, self.gathered
        self.provision, self.gathered = None, []
        if provision is None:
            return
        outlined = _outline_lines(lines)
        of_eu = self.is_eu and provision.style == "article"
        if all(_GONE.fullmatch(line.text) for line in lines):
            content: tuple[Absatz, ...] = ()
        elif provision.kind == "norm":
            content = absaetze(outlined, provision.style, counts_paragraphs=of_eu)
        else:
            content = (Absatz(None, placed_blocks(outlined, provision.style)),)
        yield replace(provision, absaetze=content, footnotes=footnotes, satz_before_items=not of_eu)


def _front_article(fields: Mapping[str, str]) -> Provision | None:
    """The article that the front matter says the file is."""
    for name in ("reference", "article", "artikel", "paragraph", "paragraf", "norm", "section", "title"):
        value = fields.get(name, "")
        for style, pattern in (("paragraph", PARAGRAPH), ("article", ARTICLE)):
            match = pattern.match(value)
            if match is not None and (name != "title" or not value[match.end() :].strip()):
                heading = _field(fields, "heading", "überschrift", "titel", "subject")
                heading = heading or (fields.get("title") if name != "title" else None)
                found: Style = "paragraph" if style == "paragraph" else "article"
                return Provision("norm", match[1].replace(" ", ""), found, heading)
    return None


def _outline_lines(lines: Sequence[TextLine]) -> list[Line]:
    quoted = quoted_lines([Quotable("", line.text) for line in lines])
    base = min((line.indent for line in lines), default=0)
    return [Line(line.text, quoted=index in quoted, indent=line.indent - base) for index, line in enumerate(lines)]
