"""Lay out the blocks of one Absatz as a text, and map every citable unit to its characters.

Satz, Nr. and lit. are nested: the sentences of an Absatz run through its lists, and an item may hold sentences of its
own (EStG § 3 Nr. 40 Satz 1 lit. d Satz 3). A unit whose name would not be unique in the Absatz is left out: a missing
unit is a pity, a wrong Fundstelle is not.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ingest.tree import Absatz, Block, Provision
from normalize.citation import Style
from normalize.sentences import split_sentences
from normalize.units import Path, Step, write_path

BLOCK_SEPARATOR = "\n"
DIVISIONS = frozenset({"teil", "kapitel", "sachgebiet", "abschnitt", "unterabschnitt"})
"""The parts of an annex; they hold headings and lists, and nothing in them is cited by Satz."""
_SENTENCE_END = (".", "!", "?")
# What stands in place of a repealed item says nothing on where the sentence of its list ends.
_GONE = re.compile(r"[(\[]?(?:weggefallen|aufgehoben|gestrichen|entfallen)[)\]]?[.;,]?|[-–—.…]*")
_CLOSERS = "\"'”“’‘»«)]"


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` of a text are the unit at `path`."""

    start: int
    end: int
    path: Path


@dataclass(frozen=True, slots=True)
class Composed:
    """The text of an Absatz, its units (by start, larger first), and the character span of each block."""

    text: str
    units: tuple[Span, ...]
    blocks: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Placed:
    """A block with its place in the text: `start` of the marker, `body` of the block's own text."""

    block: Block
    start: int
    body: int
    end: int


def compose_absatz(provision: Provision, absatz: Absatz) -> Composed:
    """Return text and units of one Absatz as its provision cites them.

    An annex is no running text: headings, rows and form fields have no Satz, only its items and the numbered rows of
    its tables are cited.
    """
    style = "paragraph" if provision.satz_before_items else provision.style
    is_annex = provision.kind == "annex"
    return compose(absatz.blocks, style, count_sentences=not is_annex, cite_rows=is_annex)


def compose(
    blocks: Sequence[Block], style: Style, *, count_sentences: bool = True, cite_rows: bool = False
) -> Composed:
    """Join the blocks by line ends and return text and units.

    In a German statute (`paragraph`) an item is cited with the Satz its list hangs on wherever the text has more than
    one Satz (CITATIONS.md); an EU act (`article`) cites its points without it. Without `count_sentences` the text
    itself has no Satz; with `cite_rows` a numbered row of a table is the Nr. of its number.
    """
    parts: list[str] = []
    placed: list[_Placed] = []
    position = 0
    for block in blocks:
        printed = f"{block.marker} {block.text}".strip() if block.marker else block.text
        if not printed:
            continue
        if parts:
            position += len(BLOCK_SEPARATOR)
        body = position + len(printed) - len(block.text)
        placed.append(_Placed(block, position, body, position + len(printed)))
        parts.append(printed)
        position += len(printed)
    top = _sentences((), placed) if count_sentences else []
    spans = _units((), placed, (), top, satz_before_items=style == "paragraph")
    if cite_rows:
        spans += _row_units(placed)
    return Composed(BLOCK_SEPARATOR.join(parts), _unique(spans), tuple((p.start, p.end) for p in placed))


def _unique(spans: Sequence[Span]) -> tuple[Span, ...]:
    counts = Counter(span.path for span in spans)
    unique = [span for span in spans if counts[span.path] == 1]
    return tuple(sorted(unique, key=lambda span: (span.start, -span.end, span.path)))


def _units(
    path: Path,
    placed: Sequence[_Placed],
    cited: Path,
    sentences: Sequence[tuple[int, int]],
    *,
    satz_before_items: bool,
) -> list[Span]:
    """Return the units inside the container at `path`, whose citation so far is `cited`, with its own sentences."""
    spans: list[Span] = []
    if len(sentences) > 1:
        spans = [Span(start, end, (*cited, Step("satz", str(n)))) for n, (start, end) in enumerate(sentences, 1)]
    items = _items(path, placed)
    steps = [item[0].block.path[len(path)] for item in items]
    names = Counter(steps)
    for index, item in enumerate(items):
        step = steps[index]
        needs_satz = len(sentences) > 1 and (satz_before_items or names[step] > 1) and step.level != "unterabsatz"
        prefix: Path = ()
        if needs_satz:
            number = _sentence_at(sentences, item[0].start)
            if number is None:
                continue
            prefix = (Step("satz", str(number)),)
        item_cited = (*cited, *prefix, step)
        last = _last_below(steps, index)
        spans.append(Span(item[0].start, max(item[-1].end, items[last][-1].end), item_cited))
        inside = (*path, step)
        inner = _sentences(inside, item) if step.level not in DIVISIONS else []
        spans.extend(_units(inside, item, item_cited, inner, satz_before_items=satz_before_items))
    return spans


def _last_below(steps: Sequence[Step], index: int) -> int:
    """Return the last of the items that count below one: 3.1 and 3.1.1 stand in Nr. 3, and are cited without it."""
    step = steps[index]
    last = index
    while step.level == "nummer" and last + 1 < len(steps):
        following = steps[last + 1]
        if following.level != "nummer" or following == step or not is_row_under(following.value, step.value):
            break
        last += 1
    return last


def _row_units(placed: Sequence[_Placed]) -> list[Span]:
    """Return the numbered rows of tables, each with the rows that count below it ("1.1" with "1.1.1" and "1.1.2").

    A number whose rows do not stand together (two tables that count alike) is left out.
    """
    rows = [(index, entry.block.row) for index, entry in enumerate(placed) if entry.block.row and not entry.block.path]
    spans: list[Span] = []
    for number in dict.fromkeys(row for _, row in rows):
        places = [place for place, (_, row) in enumerate(rows) if is_row_under(row, number)]
        own = [index for index, row in rows if row == number]
        together = places == list(range(places[0], places[-1] + 1)) and own == list(range(own[0], own[-1] + 1))
        if together and rows[places[0]][1] == number:
            first, last = rows[places[0]][0], rows[places[-1]][0]
            spans.append(Span(placed[first].start, placed[last].end, (Step("nummer", number),)))
    return spans


def is_row_under(number: str, above: str) -> bool:
    """Whether the number of a row is `above` or counts below it: 1.1.2 under 1.1, 1.10 not."""
    return number == above or number.startswith(f"{above}.")


def _items(path: Path, placed: Sequence[_Placed]) -> list[list[_Placed]]:
    """Group the blocks below `path` by item; an item that starts anew after a marker is another item."""
    depth = len(path)
    items: list[list[_Placed]] = []
    previous: Step | None = None
    for entry in placed:
        if len(entry.block.path) <= depth:
            previous = None
            continue
        step = entry.block.path[depth]
        starts = bool(entry.block.marker) and len(entry.block.path) == depth + 1
        if step == previous and not starts:
            items[-1].append(entry)
        elif previous is not None and not starts and (above := _goes_on(items, step, depth)) is not None:
            above.append(entry)  # text of Nr. 3 after its 3.1 and 3.2
        else:
            items.append([entry])
        previous = step
    return items


def _goes_on(items: Sequence[list[_Placed]], step: Step, depth: int) -> list[_Placed] | None:
    """Return the item that an unmarked text goes on with, after items that count below it."""
    for item in reversed(items):
        other = item[0].block.path[depth]
        if other == step:
            return item
        if other.level != "nummer" or step.level != "nummer" or not is_row_under(other.value, step.value):
            return None
    return None


def _sentences(path: Path, placed: Sequence[_Placed]) -> list[tuple[int, int]]:
    """Return the spans of the container's own sentences; each runs through the lists that hang on it."""
    official = [entry for entry in placed if entry.block.sentences]
    depth = len(path)
    result: list[list[int]] = []
    open_sentence = after_list = False
    last = ""
    for entry in placed:
        block = entry.block
        if len(block.path) > depth:
            if result:
                result[-1][1] = entry.end
                after_list = True
                last = last if _GONE.fullmatch(block.text) else block.text
                open_sentence = open_sentence if _GONE.fullmatch(block.text) else not _closed(block.text)
            continue
        if block.quoted or block.row or not block.counts:  # no Satz of this text
            if result:
                result[-1][1] = entry.end
            open_sentence, after_list = False, True  # what begins small behind it goes on with the sentence before
            continue
        if after_list and last.endswith(";") and _starts_sentence(block.text) and not official:
            break  # a Halbsatz or a Satz ("…; Gleiches gilt …"): from here on the count is unknown
        for number, (start, end) in enumerate(_own_sentences(block, bool(official))):
            continues = (
                number == 0
                and bool(result)
                and (open_sentence or (after_list and not _starts_sentence(block.text[start:end])))
            )
            if official:  # a source that numbers sentences numbers all of them
                continues = number == 0 and bool(result) and start not in block.sentences
            if continues:
                result[-1][1] = entry.body + end
            else:
                begin = entry.start if number == 0 and not result else entry.body + start
                result.append([begin, entry.body + end])
            open_sentence = not _closed(block.text[start:end])
        after_list, last = False, ""
    if result and placed and len(placed[0].block.path) > depth and result[0][0] > placed[0].start:
        # The container begins with a list: its first sentence goes on behind it, or it is unknown how they are counted.
        first = next(entry for entry in placed if len(entry.block.path) <= depth)
        if not first.block.text[:1].islower():
            return []
        result[0][0] = placed[0].start
    return [(start, end) for start, end in result]


def _own_sentences(block: Block, official: bool) -> list[tuple[int, int]]:
    """Sentence spans of one block: as the source numbers them, else as the splitter finds them."""
    if block.sentences:
        starts = sorted({0, *block.sentences})
        ends = [*starts[1:], len(block.text)]
        spans = [(start, start + len(block.text[start:end].rstrip())) for start, end in zip(starts, ends, strict=True)]
        return [(start, end) for start, end in spans if end > start]
    if official:
        return [(0, len(block.text))]
    return split_sentences(block.text) if block.text else []


def _closed(text: str) -> bool:
    return text.rstrip(_CLOSERS).endswith(_SENTENCE_END)


def _starts_sentence(text: str) -> bool:
    first = text.lstrip("„\"'»(")[:1]
    return first.isupper() or first.isdigit() or first == "§"


def _sentence_at(sentences: Sequence[tuple[int, int]], position: int) -> int | None:
    for number, (start, end) in enumerate(sentences, 1):
        if start <= position < end:
            return number
    return None


def write_sub(path: Path) -> str:
    """Return the label text of a unit of a composed text."""
    text = write_path(path)
    if text is None:
        raise ValueError("a unit has at least one step")
    return text
