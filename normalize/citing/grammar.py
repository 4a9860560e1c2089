"""The grammar of citations: a recursive-descent reader over the pieces of `tokens`, started at an anchor.

It reads one chain ("§ 22 Abs. 1 Nr. 1 lit. a i.V.m. § 26 Abs. 3 BDSG") into elements, one for each place named
(`places`, `items`); the law may stand behind the last one only. Reading never goes back further than the last
separator, so it takes time linear in what it reads.
"""

from dataclasses import dataclass

from normalize.citing import tokens as t
from normalize.citing.items import add, bare_value, marked_unit
from normalize.citing.model import Element, LawName
from normalize.citing.names import law_before, read_law
from normalize.citing.places import DEEPEST, TO_NORM, Reader
from normalize.citing.statutes import AMENDED, AMENDED_END
from normalize.laws import LawTable
from normalize.units import Path, may_follow


@dataclass(slots=True)
class Chain:
    """What was read at an anchor."""

    elements: list[Element]
    start: int
    end: int
    complete: bool = True


def read_chain(text: str, start: int, kind: str, laws: LawTable, earliest: int = 0) -> Chain | None:
    """Read the citation that starts at an anchor of this kind (norm, annex, recital, relative), or None.

    `earliest` is where a law before the anchor may begin at most ("BDSG § 38").
    """
    reader = Reader(text, laws, start)
    if kind == "relative":
        return _read_relative(reader, start)
    first = reader.norm() if kind == "norm" else reader.annex() if kind == "annex" else reader.recital()
    if first is None:
        return None
    reader.elements.append(first)
    _chain(reader)
    begin = start
    if kind != "recital" and all(element.law is None for element in reader.elements):
        before = law_before(text, start, earliest, laws)
        if before is not None:
            name, begin = before
            for element in reader.elements:
                element.law = name
    _read_amendment(reader)
    return Chain(reader.elements, begin, reader.position, reader.complete)


def _read_amendment(reader: Reader) -> None:
    """Read ", das zuletzt durch Artikel 3 des Gesetzes vom … geändert worden ist" as a part of the citation."""
    opening = AMENDED.match(reader.text, reader.position)
    if opening is None:
        return
    inner = Reader(reader.text, reader.laws, opening.end())
    first = inner.norm()
    if first is None:
        return
    inner.elements.append(first)
    _chain(inner)
    closing = AMENDED_END.match(reader.text, inner.position)
    if closing is None:
        return
    reader.elements.extend(inner.elements)
    reader.position = closing.end()


def read_amendment(text: str, position: int, laws: LawTable) -> tuple[list[Element], int]:
    """Read the amending clause behind a full citation: its elements and end (none and `position` if there is none)."""
    reader = Reader(text, laws, position)
    _read_amendment(reader)
    return reader.elements, reader.position


def _read_relative(reader: Reader, start: int) -> Chain | None:
    """Read units without a norm: "Absatz 2", or with it behind: "Satz 2 des § 5 Absatz 1 BDSG"."""
    first = Element(None, None)
    if not reader.unit(first, short_form=False):
        return None
    reader.units_of(first)
    reader.elements.append(first)
    mark = (reader.position, reader.complete)
    while not _is_before_norm(reader) and _following_element(reader, bare_only=False):
        if reader.elements[-1].article is not None:
            reader.elements.pop()
            break
        mark = (reader.position, reader.complete)
    reader.position, reader.complete = mark
    below = list(reader.elements)
    while True:
        of = t.OF.match(reader.text, reader.position)
        if of is None:
            break
        inner = Reader(reader.text, reader.laws, of.end())
        head = inner.norm() or inner.annex()
        if head is None:
            head = Element(None, None)
            if not inner.unit(head, short_form=False):
                break
            inner.units_of(head)
        if any(not _fits(head.path, element.path) for element in below):
            break
        for element in below:
            element.path = (*head.path, *element.path)
            element.style, element.article = head.style, head.article
            element.version = element.version or head.version
        reader.position = inner.position
        reader.complete = reader.complete and inner.complete
        if head.article is not None:
            break
    reader.elements = below
    if below[0].article is not None or reader.text[reader.position : reader.position + 2] in {" d", " B", " G"}:
        _close(reader)
    if below[0].article is None and below[0].law is not None and not below[0].law.is_this:
        # "Nummer 2 des Vertrags": the units of something that is not a norm; not ours to guess.
        for element in below:
            element.doubt = "the norm is not named"
    return Chain(below, start, reader.position, reader.complete)


def _is_before_norm(reader: Reader) -> bool:
    of = t.OF.match(reader.text, reader.position)
    return of is not None and t.NORM.match(reader.text, of.end()) is not None


def _fits(above: Path, below: Path) -> bool:
    path = above
    for step in below:
        if not may_follow(path, step.level):
            return False
        path = (*path, step)
    return len(path) <= DEEPEST


def _chain(reader: Reader) -> None:
    """Read everything that belongs together with the first element, up to its law."""
    closed: tuple[int, int, bool] | None = None
    while True:
        if _close(reader):
            closed = (len(reader.elements), reader.position, reader.complete)
            if not reader.plural:
                break
        mark = (reader.position, reader.complete)
        if not _following_element(reader, bare_only=closed is not None and closed[0] == len(reader.elements)):
            reader.position, reader.complete = mark
            break
    if closed is not None and closed[0] < len(reader.elements):
        del reader.elements[closed[0] :]
        reader.position, reader.complete = closed[1], closed[2]
        reader.elements[-1].ranged = False


def _close(reader: Reader) -> bool:
    """Read the law behind the last element and give it to all that wait for one."""
    law = read_law(reader.text, reader.position, reader.laws)
    if law is None and reader.text.startswith(" (", reader.position):
        gloss = t.GLOSS.match(reader.text, reader.position)
        law = read_law(reader.text, gloss.end(), reader.laws) if gloss else None
    if law is None and reader.parenthesis:
        # "§ 4 Absatz 1, auch in Verbindung mit Absatz 2, des Aufenthaltsgesetzes"
        closed = t.PARENTHESIS_CLOSED.match(reader.text, reader.position)
        law = read_law(reader.text, closed.end(), reader.laws) if closed else None
    if law is None:
        return False
    reader.position = law.end
    for element in reader.elements[reader.open_from :]:
        element.law = law
    reader.version_of(reader.elements[reader.open_from :])
    reader.open_from = len(reader.elements)
    reader.parenthesis = False
    return True


def _following_element(reader: Reader, *, bare_only: bool) -> bool:
    """Read a separator and one further place; return False, with the state as it may be, if there is none."""
    amended = None
    if not bare_only and reader.text.startswith(" in der Fassung", reader.position):
        amended = t.AS_AMENDED.match(reader.text, reader.position)
    if amended:
        for element in reader.elements[reader.open_from :]:
            element.law = element.law or LawName("", reader.position, is_this=False)
            element.doubt = element.doubt or "the wording of another date is cited"
        reader.open_from = len(reader.elements)
        reader.position = amended.end()
        return add(reader, reader.norm())
    if not bare_only and reader.text.startswith(" (", reader.position):
        gloss = t.GLOSS.match(reader.text, reader.position)
        reader.position = gloss.end() if gloss else reader.position
    separator = t.SEPARATOR.match(reader.text, reader.position)
    if separator is None:
        zu = (
            TO_NORM.match(reader.text, reader.position)
            if (reader.elements[-1].article or "").startswith("An")
            else None
        )
        if zu is None:
            return False
        reader.position = zu.end()
        return add(reader, reader.norm())
    reader.position = separator.end()
    is_range = separator.group("range") is not None
    is_chain = separator.group("chain") is not None
    comma = separator.group("comma") is not None or separator.group("sign") == ","
    previous = reader.elements[-1]
    if is_chain and separator.group().lstrip()[:1] == ",":
        reader.parenthesis = True
    if not bare_only and _marked(reader, previous, is_chain=is_chain, comma=comma, ranged=is_range):
        return True
    return bare_value(
        reader,
        previous,
        sign=separator.group("sign") or separator.group("comma") or "",
        ranged=is_range,
        norm_only=bare_only,
    )


def _marked(reader: Reader, previous: Element, *, is_chain: bool, comma: bool, ranged: bool) -> bool:
    """Read a further place that has a marker: a norm, an annex, a recital or a unit."""
    marked = reader.norm() or reader.annex()
    if marked is not None:
        marked.chained = is_chain
        previous.ranged = ranged
        return add(reader, marked)
    if previous.is_recital:
        recital = reader.recital()
        if recital is not None:
            return add(reader, recital)
    return marked_unit(reader, previous, comma=comma, ranged=ranged)
