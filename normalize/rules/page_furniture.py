"""Rule for what a page repeats: running heads, running feet and page numbers."""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from normalize.rules.rule import MOST_EXAMPLES, Change, Context, Outcome, Rule

_EDGE_LINES: Final = 5  # how deep into a page heads and feet reach
_LEAST_PAGES: Final = 3
_LEAST_SHARE: Final = 0.3  # even and odd pages may differ, and a document may have several parts
_NUMBER: Final = re.compile(r"\d+")
_PAGE_OF_PAGES: Final = re.compile(r"(?:Seite|Page|S\.)\s+(\d+)\s+(?:von|of)\s+(\d+)")
_ONLY_NUMBER: Final = re.compile(r"[-–—\s]*\d+[-–—\s]*")
# What starts a provision is never furniture, however often pages start with it.
_PROVISION: Final = re.compile(
    r"\s*(?:§|Art(?:ikel|\.)?\s*\d|Anlage|Anhang|ANHANG|Abschnitt|Kapitel|KAPITEL|Teil|Buch|Titel|\(\d+[a-z]?\)|\d+[a-z]?[.)]|[a-z]{1,3}\))"
)

_Line = tuple[int, int, str]  # page, distance from its edge, text


def _drop_furniture(text: str, _: Context) -> Outcome:
    pages = [page.split("\n") for page in text.split("\f")]
    removed: list[str] = []
    for from_end in (False, True):
        furniture = _furniture(pages, from_end)
        for index, lines in enumerate(pages):
            cut = _depth(lines, from_end, furniture[index])
            if cut:
                removed += lines[-cut:] if from_end else lines[:cut]
                pages[index] = lines[:-cut] if from_end else lines[cut:]
    kept = [line for line in removed if line.strip()]
    examples = tuple(Change(line, "") for line in kept[:MOST_EXAMPLES])
    return Outcome("\f".join("\n".join(lines) for lines in pages), len(kept), examples, tuple(kept))


def _edge(lines: Sequence[str], from_end: bool) -> list[str]:
    """Return the first (last) lines that are not blank, the outermost first."""
    ordered = reversed(lines) if from_end else iter(lines)
    return [line for line in ordered if line.strip()][:_EDGE_LINES]


def _depth(lines: Sequence[str], from_end: bool, furniture: frozenset[str]) -> int:
    """Return how many lines from the edge inwards are furniture or blank; the first other line ends the search."""
    depth = cut = 0
    for line in reversed(lines) if from_end else lines:
        depth += 1
        if not line.strip():
            continue
        if line not in furniture:
            break
        cut = depth
    return cut


def _furniture(pages: Sequence[Sequence[str]], from_end: bool) -> list[frozenset[str]]:
    """Return for each page the lines of its edge that other pages have too, but for a page number that counts up."""
    groups: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for index, lines in enumerate(pages):
        for line in dict.fromkeys(_edge(lines, from_end)):
            groups[_NUMBER.sub("0", " ".join(line.split()))].append((index, line))
    found: list[set[str]] = [set() for _ in pages]
    needed = max(_LEAST_PAGES, int(len(pages) * _LEAST_SHARE))
    for shape, members in groups.items():
        if _PROVISION.match(shape) and not _PAGE_OF_PAGES.search(shape):
            continue
        for index, line in members:
            counted = _PAGE_OF_PAGES.search(line)
            if counted and (int(counted[1]), int(counted[2])) == (index + 1, len(pages)):
                found[index].add(line)
        for same in _same_but_page_number(members, bare=_ONLY_NUMBER.fullmatch(shape) is not None):
            if len(same) >= needed:
                for index, line in same:
                    found[index].add(line)
    return [frozenset(lines) for lines in found]


def _same_but_page_number(members: Sequence[tuple[int, str]], *, bare: bool) -> list[list[tuple[int, str]]]:
    """Group lines of one shape whose numbers are equal, or differ from the page's index by one constant."""
    groups: dict[tuple[object, ...], list[tuple[int, str]]] = defaultdict(list)
    for index, line in members:
        numbers = [int(number) for number in _NUMBER.findall(line)]
        if not bare:
            groups[("equal", *numbers)].append((index, line))
        for place, number in enumerate(numbers):
            others = (*numbers[:place], *numbers[place + 1 :])
            groups[("counting", place, number - index, *others)].append((index, line))
    return list(groups.values())


PAGE_FURNITURE = Rule(
    name="page-furniture",
    version=1,
    reason="Running heads, feet and page numbers cut sentences in two; they are known by repetition over the pages.",
    apply=_drop_furniture,
    changes=(
        (
            "Blatt 17\n§ 1\nWer\nSeite 1 von 3\fBlatt 17\nmuss\nSeite 2 von 3\fBlatt 17\nEnde\nSeite 3 von 3",
            "§ 1\nWer\fmuss\fEnde",
        ),
        ("a\n7\fb\n8\fc\n9", "a\fb\fc"),
        ("a\fb\nSeite 2 von 2", "a\fb"),
        ("5419/16 ab 1\nDE\na\f5419/16 ab 2\nDE\nb\f5419/16 ab 3\nDE\nc", "a\fb\fc"),
    ),
    keeps=(
        "Artikel 1\na\fArtikel 2\nb\fArtikel 3\nc\fArtikel 4\nd",
        "§ 1\na\f§ 1\nb\f§ 1\nc",
        "a\n7\fb\n3\fc\n5",
        "(1) a\f(2) b\f(3) c",
        "Kopf\na\fKopf\nb",
        "a\fb\nwie auf Seite 1 von 7",
    ),
    removes="lines that pages repeat at their head or foot, and page numbers",
)
