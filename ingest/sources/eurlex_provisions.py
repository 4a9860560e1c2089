"""Build the provisions of an act from the lines of its page: preamble, recitals, articles, closing formula, annexes."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ingest.sources.eurlex_page import BREAK, PageLine
from ingest.sources.outline import Line, absaetze, placed_blocks, split_marker
from ingest.sources.quotations import OPENING_QUOTES, Quotable, quoted_lines
from ingest.tree import Absatz, Block, Provision
from normalize.text import clean_inline
from normalize.units import Path, Step

_ARTICLE = re.compile(r"(?:Artikel|Article|Art\.)\s*(\d+\s?[a-z]{0,3}|[IVXL]+)(?:\s*\((?:neu|new)\))?", re.IGNORECASE)
_ONLY_ARTICLE = re.compile(r"Einziger Artikel|Sole Article|Artikel|Article", re.IGNORECASE)
_ANNEX = re.compile(r"(?:ANHANG|ANNEX|Anhang|Annex|ANLAGE|Anlage)(?:\s+([IVXLC]+[a-z]?|\d+[a-z]?|[A-Z]))?(?![\w])")
PLAIN_ANNEX = re.compile(r"(?:ANHANG|ANNEX|Anhang|Annex)(?:\s+(?:[IVXLC]+|\d+|[A-Z])[a-z]?)?")
_DIVISION = re.compile(
    r"(TEIL|PART|TITEL|TITLE|KAPITEL|CHAPTER|ABSCHNITT|SECTION|UNTERABSCHNITT|SUBSECTION)\s+(?:[IVXLC]+|\d+|[A-Z])[a-z]?\b\.?",
    re.IGNORECASE,
)
_RANKS = {"teil": 0, "part": 0, "titel": 1, "title": 1, "kapitel": 2, "chapter": 2, "abschnitt": 3, "section": 3}
_ANNEX_UNITS = (
    ("teil", re.compile(r"(?:TEIL|PART|Teil|Part)\s+([IVXLC]+|\d+|[A-Z])\b")),
    ("kapitel", re.compile(r"(?:KAPITEL|CHAPTER|Kapitel|Chapter)\s+([IVXLC]+|\d+)\b")),
    ("abschnitt", re.compile(r"(?:ABSCHNITT|SECTION|Abschnitt|Section)\s+([IVXLC]+|\d+|[A-Z])\b")),
)
_WHEREAS = re.compile(r"in Erwägung (?:nachstehender|folgender) Gründe|\bwhereas\b", re.IGNORECASE)
_ENACTING = re.compile(
    r"(?:HAT|HABEN|HAS|HAVE)\b.*(?:ERLASSEN|ANGENOMMEN|BESCHLOSSEN|ADOPTED|DECIDED|AGREED|FOLGENDE|FOLLOWS)|"
    r"(?:ERLÄSST|ERLASSEN|BESCHLIESST|BESCHLIEẞT|HEREBY)\b",
    re.IGNORECASE,
)
_BINDING = re.compile(
    r"(?:Diese Verordnung|Dieser Beschluss|Diese Entscheidung) ist in allen (?:ihren |seinen )?Teilen verbindlich|"
    r"This (?:Regulation|Decision) shall be binding in its entirety"
)
SIGNED = re.compile(
    r"(?:Geschehen|Gegeben|Ausgefertigt) (?:zu|in)\b|Done (?:at|in)\b|(?:Brüssel|Brussels|Luxemburg),? den\b"
)
_LONGEST_HEADING = 300


@dataclass(slots=True)
class _Open:
    """A provision whose lines are being gathered."""

    provision: Provision
    lines: list[PageLine]
    footnotes: list[str]


class ProvisionReader:
    """Walk the lines of an act: preamble and recitals, articles under their divisions, closing formula, annexes."""

    def __init__(self, has_classes: bool, footnotes: dict[str, str]) -> None:
        self._has_classes = has_classes
        self._notes = footnotes
        self._divisions: list[tuple[int, str]] = []
        self._open: _Open | None = None
        self._state = "preamble"
        self._expects_title = False

    def provisions(self, body: Sequence[PageLine]) -> Iterator[Provision]:
        """Yield the provisions in document order; the preamble stands before its recitals."""
        quoted = quoted_lines([_quotable(line) for line in body])
        enacting = next(
            (i for i, line in enumerate(body) if i not in quoted and self._is_head(line, body, i)), len(body)
        )
        preamble, recitals = self._preamble(body[:enacting])
        if preamble is not None:
            yield preamble
        yield from recitals
        for index in range(enacting, len(body)):
            line = body[index]
            if index in quoted:
                self._add(line, quoted=True)
            elif line.role == "financial statement":
                yield from self._close()
                self._state = "skipped"
            elif line.role == "note" or line.role in ("cover", "memorandum", "language"):
                self._add_note(line)
            elif self._is_annex(line, body, index):
                yield from self._close()
                self._begin_annex(line)
            elif self._state != "annex" and self._is_article(line):
                yield from self._close()
                self._begin_article(line)
            elif self._state == "skipped":
                continue
            elif self._state == "annex":
                self._annex_line(line)
            elif self._is_division(line):
                yield from self._close()
                self._begin_division(line)
            elif self._expects_title and self._is_title(line, body, index):
                self._take_title(line)
            elif self._state != "final" and (_BINDING.match(line.text) or self._is_signature(line)):
                yield from self._close()
                self._begin_final(line)
            elif self._state == "final":
                self._final_line(line)
            else:
                self._expects_title = False
                self._add(line)
        yield from self._close()

    # --- Preamble ----

    def _preamble(self, lines: Sequence[PageLine]) -> tuple[Provision | None, list[Provision]]:
        """Return the formulas and citations as the named part "Präambel", and the recitals."""
        formulas: list[PageLine] = []
        groups: list[tuple[str, list[PageLine]]] = []
        whereas = False
        for line in lines:
            if line.role in ("cover", "memorandum", "language", "title", "financial statement"):
                continue
            if line.role == "note":
                continue
            number, text = self._recital_start(line, len(groups), whereas)
            if number is not None:
                groups.append((number, [replace(line, text=text, marker="")]))
            elif groups and not _ENACTING.match(line.text) and not self._ends_recitals(line):
                groups[-1][1].append(line)
            else:
                whereas = whereas or _WHEREAS.search(line.text) is not None
                formulas.append(line)
        recitals = [
            Provision(
                "recital", number, "article", None, (), self._single(part), self._footnotes_of(part)
            )
            for number, part in groups
        ]  # fmt: skip
        if not formulas:
            return None, recitals
        notes = self._footnotes_of(formulas)
        return Provision("part", "Präambel", "article", None, (), self._single(formulas), notes), recitals

    def _recital_start(self, line: PageLine, count: int, whereas: bool) -> tuple[str | None, str]:
        marker, text = line.marker, line.text
        if not marker and (line.depth or 0) == 0 and whereas:
            marker, text = split_marker(text) or ("", text)
        match = re.fullmatch(r"\(?(\d{1,3}[a-z]?)[.)]\)?", marker)
        if match is None or (line.depth or 0) > 1 or not (whereas or line.role == "recital" or line.depth == 1):
            return None, line.text
        number = int(re.sub(r"\D", "", match[1]))
        return (match[1], text) if count - 1 <= number <= count + 3 and number > 0 else (None, line.text)

    def _ends_recitals(self, line: PageLine) -> bool:
        return (line.depth or 0) == 0 and not line.marker and (line.text.isupper() or line.role != "text")

    def _single(self, lines: Sequence[PageLine]) -> tuple[Absatz, ...]:
        blocks = placed_blocks([_line(line) for line in lines], "article")
        return (Absatz(None, blocks),) if blocks else ()

    # --- Heads ----

    def _is_head(self, line: PageLine, body: Sequence[PageLine], index: int) -> bool:
        return self._is_article(line) or self._is_division(line) or self._is_annex(line, body, index)

    def _is_article(self, line: PageLine) -> bool:
        if line.depth or line.marker or line.text.startswith(OPENING_QUOTES):
            return False
        if line.role == "article":
            return True
        return not self._has_classes and line.role == "text" and article_number(line.text) is not None

    def _is_division(self, line: PageLine) -> bool:
        if line.depth or line.marker or line.text.startswith(OPENING_QUOTES):
            return False
        if line.role in ("division", "division title"):
            return True
        return not self._has_classes and line.role == "text" and _DIVISION.fullmatch(line.text) is not None

    def _is_annex(self, line: PageLine, body: Sequence[PageLine], index: int) -> bool:
        if line.depth or line.marker:
            return False
        if line.role == "annex":
            return True
        if line.role == "title":
            return _ANNEX.match(line.text) is not None
        return not self._has_classes and line.role == "text" and PLAIN_ANNEX.fullmatch(line.text) is not None

    def _is_title(self, line: PageLine, body: Sequence[PageLine], index: int) -> bool:
        """A heading under an article or division: marked as such, or in old pages a short line without full stop."""
        if line.role in ("article title", "division title"):
            return True
        if self._has_classes or line.role != "text" or line.depth or line.marker or split_marker(line.text):
            return False
        following = body[index + 1] if index + 1 < len(body) else None
        last = following is None or self._is_article(following) or self._is_division(following)
        if self._open is not None and last:
            return False  # the only line of an article is its text
        return len(line.text) <= _LONGEST_HEADING and not line.text.endswith((".", ";", ":", ",", "—", "–"))

    def _is_signature(self, line: PageLine) -> bool:
        return line.role == "signature" or (not line.depth and SIGNED.match(line.text) is not None)

    def _begin_article(self, line: PageLine) -> None:
        name, *rest = line.text.split(BREAK)
        number = article_number(name)
        if number is None and (match := _ARTICLE.match(name)):  # number and heading on one line
            number, rest = match[1].replace(" ", ""), [name[match.end() :].strip(" -–—:"), *rest]
        heading = " ".join(part for part in rest if part) or None
        context = tuple(text for _, text in self._divisions)
        self._state = "enacting"
        self._start(Provision("norm", number or name, "article", heading, context), line)
        self._expects_title = heading is None

    def _begin_division(self, line: PageLine) -> None:
        text = line.text.replace(BREAK, " ")
        match = _DIVISION.match(text)
        if line.role == "division title" or match is None:
            self._extend_division(text)
            return
        rank = _RANKS.get(match[1].lower(), 4)
        while self._divisions and self._divisions[-1][0] >= rank:
            self._divisions.pop()
        self._divisions.append((rank, text))
        self._expects_title = not text[match.end() :].strip()

    def _extend_division(self, text: str) -> None:
        if self._divisions:
            rank, title = self._divisions[-1]
            self._divisions[-1] = (rank, f"{title} {text}")
        else:
            self._divisions.append((4, text))

    def _take_title(self, line: PageLine) -> None:
        self._expects_title = False
        text = line.text.replace(BREAK, " ")
        if self._open is None:
            self._extend_division(text)
            return
        provision = self._open.provision
        heading = f"{provision.heading} {text}" if provision.heading else text
        self._open.provision = replace(provision, heading=heading)
        self._open.footnotes += self._footnotes_of([line])

    def _begin_annex(self, line: PageLine) -> None:
        first, *rest = line.text.split(BREAK)
        match = _ANNEX.match(first)
        name = f"Anhang {match[1]}" if match and match[1] else "Anhang"
        titles = [part for part in (first[match.end() :].strip(" -–—:") if match else first, *rest) if part]
        parts = [i for i, text in enumerate(titles) if _annex_step(replace(line, text=text)) is not None]
        own = parts[0] if parts else len(titles)
        self._state = "annex"
        self._start(Provision("annex", name, "article", " ".join(titles[:own]) or None), line)
        for text in titles[own:]:  # "ANHANG II … Abschnitt A": the section is a step of what follows, no title
            self._add(replace(line, text=text, notes=()))
        self._expects_title = own == len(titles)

    def _annex_line(self, line: PageLine) -> None:
        is_title = line.role in ("title", "annex title", "division title")
        in_capitals = not self._has_classes and line.text.isupper() and not line.marker
        if self._expects_title and _annex_step(line) is None and (is_title or in_capitals):
            self._take_title(line)
            self._expects_title = True
            return
        self._expects_title = False
        self._add(line)

    def _begin_final(self, line: PageLine) -> None:
        self._state = "final"
        self._start(Provision("part", "Schlussformel", "article"), line)
        self._final_line(line)

    def _final_line(self, line: PageLine) -> None:
        """After the place and date only names and offices follow; whole sentences are text again."""
        name = len(line.text) <= 100 and line.role == "text" and not line.marker and not _BINDING.match(line.text)
        numbered = split_marker(line.text) if not self._has_classes and not line.depth else None
        if self._is_signature(line) or (name and not line.text.endswith((".", ";", ":"))):
            return
        if numbered is not None:  # the footnotes of old pages stand below the signatures
            self._add_note(replace(line, text=numbered[1], role="note"))
            return
        self._add(line)

    # --- Gathering ----

    def _start(self, provision: Provision, line: PageLine) -> None:
        self._open = _Open(provision, [], list(self._footnotes_of([line])))
        self._expects_title = False

    def _add(self, line: PageLine, *, quoted: bool = False) -> None:
        if self._state == "skipped":
            return
        if quoted and line.role == "note":
            self._add_note(line)
            return
        if self._open is None:
            self._open = _Open(Provision("part", "Präambel", "article"), [], [])
        self._open.lines.append(replace(line, role="text", key="quoted" if quoted else None))

    def _add_note(self, line: PageLine) -> None:
        if line.role == "note" and not line.key and self._open is not None:
            self._open.footnotes.append(line.text)

    def _footnotes_of(self, lines: Sequence[PageLine]) -> tuple[str, ...]:
        found = [self._notes[key] for line in lines for key in line.notes if key in self._notes]
        return tuple(dict.fromkeys(found))

    def _close(self) -> Iterator[Provision]:
        opened, self._open = self._open, None
        if opened is None:
            return
        footnotes = (*opened.footnotes, *self._footnotes_of(opened.lines))
        provision = replace(opened.provision, footnotes=footnotes)
        if provision.kind == "norm":
            yield replace(
                provision, absaetze=absaetze([_line(line) for line in opened.lines], "article", counts_paragraphs=True)
            )
            return
        blocks = tuple(_annex_blocks(opened.lines)) if provision.kind == "annex" else None
        content = self._single(opened.lines) if blocks is None else ((Absatz(None, blocks),) if blocks else ())
        if content or provision.kind == "annex":
            yield replace(provision, absaetze=content)


def article_number(text: str) -> str | None:
    """Return the number of an article that a line names and nothing else ("Artikel 5"), or None."""
    if match := _ARTICLE.fullmatch(text):
        return match[1].replace(" ", "")
    return "1" if _ONLY_ARTICLE.fullmatch(text) else None


def _quotable(line: PageLine) -> Quotable:
    head = line.role in ("article", "annex") and not line.depth
    return Quotable(line.marker, line.text, head, line.role not in ("note", "row"))


def _line(line: PageLine) -> Line:
    text = line.text.replace(BREAK, " ")
    return Line(text, line.marker, line.depth, quoted=line.key == "quoted", is_row=line.role == "row")


def _annex_blocks(lines: Sequence[PageLine]) -> Iterator[Block]:
    """The blocks of an annex: its own headings ("Teil II", "Section A") are steps of the paths below them."""
    base: Path = ()
    gathered: list[Line] = []
    for line in lines:
        step = _annex_step(line)
        if step is None:
            gathered.append(_line(line))
            continue
        yield from placed_blocks(gathered, "article", base)
        gathered = []
        levels = [level for level, _ in _ANNEX_UNITS]
        above = tuple(s for s in base if levels.index(s.level) < levels.index(step.level))
        base = (*above, step)
        yield Block(clean_inline(line.text.replace(BREAK, " ")), base)
    yield from placed_blocks(gathered, "article", base)


def _annex_step(line: PageLine) -> Step | None:
    if line.depth or line.marker or line.key == "quoted" or len(line.text) > _LONGEST_HEADING:
        return None
    for level, pattern in _ANNEX_UNITS:
        match = pattern.match(line.text)
        if match and not line.text.endswith((".", ";", ",")):
            return Step(level, match[1])
    return None
