"""Scores of the citation finder on gold data; used by the floors test and by `benchmarks/citations.py`.

A finder is a function from a text to (start, end) spans. Neighbours of one chain ("§ 167 VwGO i.V.m. § 711 ZPO") are
joined on both sides before comparing, since it is a convention whether they are one citation or two. A span is right
when the longer of the two shares at least 90 % of its characters with the other.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from normalize.citing import Found, Target, find
from normalize.laws import LawTable

Span = tuple[int, int]
Spans = Callable[[str], Iterable[Span]]

LER_CLASSES = frozenset({"GS", "VO", "EUN", "VS", "VT"})
MARKER = re.compile(r"§|\bArt(?:ikel[ns]?)?\b")
CONNECTOR = re.compile(
    r"[\s,;/]*(?:(?:und|oder|sowie|bzw\.?|beziehungsweise|bis|als auch|i\.?\s?V\.?\s?m\.?|in Verbindung mit)[\s,;/]*"
    r"(?:den|dem|des|der)?\s*)?"
)
REFEX_CONNECTOR = re.compile(rf"(?:{CONNECTOR.pattern}|[\s,]*(?:Abs|Nr|Satz)\.?\s?\d+)*")
"""The refex gold drops units between the numbers of a list ("§§ 92 Abs. 1, 97" is "§§ 92" and "97")."""


@dataclass(frozen=True, slots=True)
class Score:
    """Counts of right, missed and wrongly found spans, and the shares made of them."""

    right: int
    missed: int
    extra: int

    @property
    def precision(self) -> float:
        """Share of found spans that are right."""
        return self.right / (self.right + self.extra) if self.right else 0.0

    @property
    def recall(self) -> float:
        """Share of gold spans that were found."""
        return self.right / (self.right + self.missed) if self.right else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.right / (2 * self.right + self.missed + self.extra) if self.right else 0.0


def digest(path: Path) -> str:
    """Return the sha256 of a gold file, which the floors are pinned to."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def our_spans(laws: LawTable) -> Spans:
    """Return our finder as a function to spans."""
    return lambda text: [(found.start, found.end) for found in find(text, laws)]


def join_chain(text: str, spans: Iterable[Span], connector: re.Pattern[str] = CONNECTOR) -> list[Span]:
    """Join spans that only a connector separates."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and connector.fullmatch(text, joined[-1][1], max(joined[-1][1], start)):
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def compare(gold: list[Span], found: list[Span]) -> tuple[list[tuple[Span, Span]], list[Span], list[Span]]:
    """Match spans one to one: the right pairs, the missed gold spans, the extra found ones."""
    pairs: list[tuple[Span, Span]] = []
    rest = list(found)
    missed = []
    for span in gold:
        for other in rest:
            shared = min(span[1], other[1]) - max(span[0], other[0])
            if shared >= 0.9 * max(span[1] - span[0], other[1] - other[0]):
                pairs.append((span, other))
                rest.remove(other)
                break
        else:
            missed.append(span)
    return pairs, missed, rest


# -- LER: statute citations of German court decisions ----------------------------------------------------------------


def ler_sentences(path: Path, *, spaced: bool = False) -> Iterator[tuple[str, list[Span], list[Span]]]:
    """Yield sentences, their gold spans that contain § or Art., and the spans of all other entities.

    The file holds tokens; punctuation is set as in print, or with `spaced` every token stands between spaces.
    """
    tokens: list[tuple[str, str]] = []
    for line in [*path.read_text(encoding="utf-8").splitlines(), ""]:
        if line.strip():
            token, _, tag = line.rpartition(" ")
            tokens.append((token, tag))
        elif tokens:
            yield _sentence(tokens, spaced=spaced)
            tokens = []


def _sentence(tokens: list[tuple[str, str]], *, spaced: bool) -> tuple[str, list[Span], list[Span]]:
    text = ""
    spans: list[tuple[str, int, int]] = []
    before = "O"
    for token, tag in tokens:
        glued = not text or (not spaced and (token in {",", ".", ";", ":", ")", "]", "?", "!"} or text[-1] in "(["))
        start = len(text) + (not glued)
        text += ("" if glued else " ") + token
        if tag.startswith("I-") and before[2:] == tag[2:]:
            spans[-1] = (tag[2:], spans[-1][1], len(text))
        elif tag != "O":
            spans.append((tag[2:], start, len(text)))
        before = tag
    laws = [(start, end) for kind, start, end in spans if kind in LER_CLASSES and MARKER.search(text, start, end)]
    others = [(start, end) for kind, start, end in spans if kind not in LER_CLASSES]
    return text, laws, others


def is_countable(text: str, span: Span, gold: list[Span], others: list[Span]) -> bool:
    """Whether the gold says anything about a found span.

    The gold marks citations that name a law: it is silent on "§ 15" alone, on "§ 3 der Satzung", and on what stands
    inside a literature or case reference. Such a span counts only where it meets a gold span.
    """
    if any(span[0] < end and start < span[1] for start, end in gold):
        return True
    if any(start <= span[0] and span[1] <= end for start, end in others):
        return False
    return NAMELESS.fullmatch(text, *span) is None


NAMELESS = re.compile(
    r"(?:[\s,;.()§/–-]|\d+[a-z]?|[a-z]\b|Art(?:ikel[ns]?)?\b|Abs(?:atz|ätze)?n?\b|Unterabs(?:atz)?\b|UAbs\b|Satz\b|Sätze\b|S\b|"
    r"Nr\b|Nrn\b|Nummern?\b|Buchst(?:aben?)?\b|lit\b|Halbs(?:atz)?\b|HS\b|Alt(?:ernative)?\b|und\b|oder\b|bis\b|sowie\b|ff\b|aF\b|"
    r"in Verbindung mit\b|bzw\b|(?:der|des)\s(?:Satzung|Vertrag(?:e?s)?|Gesetzes|Verordnung)$)*"
)


def ler_score(path: Path, finder: Spans, *, spaced: bool = False, show: bool = False) -> Score:
    """Score the spans of a finder on LER sentences."""
    right = missed = extra = 0
    for text, gold, others in ler_sentences(path, spaced=spaced):
        found = [span for span in finder(text) if MARKER.search(text, *span) and is_countable(text, span, gold, others)]
        pairs, lost, more = compare(join_chain(text, gold), join_chain(text, found))
        right, missed, extra = right + len(pairs), missed + len(lost), extra + len(more)
        if show and (lost or more):
            print([text[slice(*span)] for span in lost], "<>", [text[slice(*span)] for span in more], "|", text)
    return Score(right, missed, extra)


# -- refex: decisions with book, number and structure ----------------------------------------------------------------

REFEX_SLIPS = {
    ("10 SGB V", "10"): "is Nr. 10 of '§ 5 Abs 1 Nrn 9, 10 SGB V'",
    ("2 Satz 2 FGG", "2"): "is Abs. 2 of '§ 199 Abs.1 und 2 Satz 2 FGG'",
    ("§ 79 a FGO", "79"): "is § 79a",
    ("Art. 1", "1"): "names a law (baykatfortgebg) that its text does not name",
}
"""Faults of the gold in law or number, with the reason; they are not counted."""

REFEX_UNITS = {"absatz": "absatz", "satz": "satz", "nummer": "nummer", "buchstabe": "buchstabe"}


@dataclass(frozen=True, slots=True)
class RefexScore:
    """Span score, and the shares of gold citations whose law and number, and whose units, are right."""

    spans: Score
    book_number: float
    structure: float


def refex_documents(folder: Path) -> Iterator[tuple[str, list[dict]]]:
    """Yield the text and the law citations of each decision."""
    texts = {}
    for line in (folder / "refex_documents.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        texts[row["doc_id"]] = row["text"]
    for line in (folder / "refex_annotations.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield texts[row["doc_id"]], [citation for citation in row["citations"] if citation["type"] == "law"]


def refex_score(folder: Path, laws: LawTable, finder: Spans | None = None, *, show: bool = False) -> RefexScore:
    """Score spans (of any finder), and our laws, numbers and units."""
    right = missed = extra = 0
    named = named_right = structured = structured_right = 0
    for text, citations in refex_documents(folder):
        found = find(text, laws)
        spans = list(finder(text)) if finder else [(item.start, item.end) for item in found]
        gold = [(citation["span"]["start"], citation["span"]["end"]) for citation in citations]
        # The gold leaves out whole citations ("§ 47 VwGO", all of the Satzung): only places it marks can be compared.
        spans = [span for span in spans if any(span[0] < end and start < span[1] for start, end in gold)]
        pairs, lost, more = compare(join_chain(text, gold, REFEX_CONNECTOR), join_chain(text, spans, REFEX_CONNECTOR))
        right, missed, extra = right + len(pairs), missed + len(lost), extra + len(more)
        if show and (lost or more):
            print([text[slice(*span)] for span in lost], "<>", [text[slice(*span)] for span in more])
        for citation in citations:
            if (citation["span"]["text"], citation.get("number")) in REFEX_SLIPS:
                continue
            if not citation.get("number"):
                continue  # a bare EU act, or the inner number of a list that has no law of its own in the gold
            named += 1
            good, units = _refex_target(citation, found, laws)
            named_right += good
            if citation.get("structure"):
                structured += 1
                structured_right += units
            if show and not (good and units):
                print(
                    "   ", citation["span"]["text"], citation.get("book"), citation["number"], citation.get("structure")
                )
    return RefexScore(Score(right, missed, extra), named_right / named, structured_right / structured)


def _refex_target(citation: dict, found: list[Found], laws: LawTable) -> tuple[bool, bool]:
    """Whether one of our targets at this place has the law and number, and whether one has the units too."""
    start, end = citation["span"]["start"], citation["span"]["end"]
    wanted = {
        REFEX_UNITS[level]: value for level, value in citation.get("structure", {}).items() if level in REFEX_UNITS
    }
    good = units = False
    for item in found:
        if item.start >= end or item.end <= start:
            continue
        for target in item.targets:
            cited = target.citation
            if cited.article != citation["number"] or not _same_law(citation.get("book") or "", target, laws):
                continue
            good = True
            held = {step.level: step.value for step in cited.path}
            units = units or all(held.get(level) == value for level, value in wanted.items())
    return good, units


def _same_law(book: str, target: Target, laws: LawTable) -> bool:
    book = {"5": "sgb v"}.get(book, book)  # the gold's tool read "SGB V" as its number
    law = laws.resolve(book)
    if law is not None and law.code == target.citation.regulation_code:
        return True
    names = {target.citation.short.lower(), (target.law_name or "").lower()}
    # Of a long name the gold keeps one word ("liegenschaftskatasters", "dezember").
    return book in names or any(book in name.split() for name in names)


# -- strings: whole citations ----------------------------------------------------------------------------------------


def string_lines(folder: Path) -> Iterator[str]:
    """Yield the citation strings of all files of a folder."""
    for path in sorted(folder.glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.strip():
                yield line.strip()


def is_read_completely(line: str, laws: LawTable) -> bool:
    """Whether one complete citation covers the whole string (a leading "und" of a list aside)."""
    found = find(line, laws)
    start = len(line) - len(line.removeprefix("und "))
    return len(found) == 1 and found[0].complete and (found[0].start, found[0].end) == (start, len(line))


def is_covered(line: str, found: list[Found]) -> bool:
    """Whether complete citations cover a string but for connectors and the bracketed abbreviation behind a name."""
    rest = ""
    end = 0
    for item in found:
        rest += line[end : item.start]
        end = item.end
    rest = re.sub(r"<\w+>", "", rest + line[end:])
    return bool(found) and all(item.complete for item in found) and CONNECTOR.fullmatch(rest) is not None
