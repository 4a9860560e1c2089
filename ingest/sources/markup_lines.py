"""Turn Markdown or plain text into its logical lines: marks of Markdown taken off, wrapped lines joined again.

Sources wrap at the margin, in the middle of a word, and even with an empty line inside a citation ("Verordnung (EU)",
"2016/679"; corpus README 14). A line end that a full line explains is no paragraph.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ingest.sources.markup_heads import heading_of
from ingest.sources.outline import is_closed, runs_on, split_marker
from normalize.hyphens import count_words
from normalize.text import clean

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"([A-Za-zÄÖÜäöü][\w.\- ]*?)\s*:\s*(.*\S)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_HASHES = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*$")
_FENCE_OR_RULE = re.compile(r"\s*(?:`{3,}.*|~{3,}.*|([-*_=])(?:\s*\1){2,}\s*|\|?[\s:|-]*\|[\s:|-]*)$")
_NOTE = re.compile(r"\[\^([^\]]+)\]:\s*(.*)")
_NOTE_REFERENCE = re.compile(r"\[\^[^\[\]]+\]")
_BULLET = re.compile(r"[*+-]\s+")
_QUOTE_MARK = re.compile(r"(?:>\s?)+")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\((?:[^()\s]|\([^()]*\))*(?:\s+\"[^\"]*\")?\)")
_STRONG = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*]+?)(?<=[^\s*])\*(?![\w*])|(?<!\w)_(?=\S)([^_]+?)(?<=\S)_(?!\w)")
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|>~§])")
_TAG = re.compile(r"</?(?:br|p|b|i|u|em|strong|sup|sub|span|div)(?:\s[^<>]*)?/?>", re.IGNORECASE)
_CUT_CITATION = re.compile(
    r"(?:\((?:EU|EG|EWG|EC|EEC|Euratom)\)|Nr\.|No|Richtlinie|Verordnung|Regulation|Directive|-)$"
)
# Margins at which people and programs wrap.
_NARROWEST, _WIDEST = 40, 140


@dataclass(frozen=True, slots=True)
class TextLine:
    """A logical line: its clean text, its Markdown heading level (0: none), its indent in columns.

    `apart` tells that an empty line stands before it, `bullet` that it is a Markdown list item.
    """

    text: str
    level: int = 0
    indent: int = 0
    apart: bool = False
    bullet: bool = False


@dataclass(frozen=True, slots=True)
class MarkupText:
    """A text file: the fields of its front matter, its logical lines, its footnotes."""

    fields: Mapping[str, str]
    lines: tuple[TextLine, ...]
    footnotes: tuple[str, ...]


def read_markup(text: str) -> MarkupText:
    """Return the logical lines of a text, each clean and on one line."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")
    fields: dict[str, str] = {}
    if match := _FRONT_MATTER.match(text):
        pairs = (_FIELD.fullmatch(line.strip()) for line in match[1].split("\n"))
        fields = {pair[1].casefold(): pair[2].strip("\"'") for pair in pairs if pair is not None}
        text = text[match.end() :]
    text = _COMMENT.sub(" ", text)
    footnotes: list[str] = []
    physical = list(_physical(text, footnotes))
    words = count_words([text])
    joined = [(line, clean(line.text, "legacy", known_words=words).text) for line in _joined(physical)]
    lines = tuple(replace(line, text=clean_text) for line, clean_text in joined if clean_text)
    return MarkupText(fields, lines, tuple(clean(note, "legacy").text for note in footnotes))


def _physical(text: str, footnotes: list[str]) -> Iterator[TextLine]:
    """Yield the lines of a file without marks of Markdown; an empty text stands for an empty line."""
    for raw in text.split("\n"):
        expanded = raw.expandtabs(4).rstrip()
        content = _QUOTE_MARK.sub("", expanded.lstrip(), count=1) if expanded.lstrip().startswith(">") else expanded
        indent = len(content) - len(content.lstrip())
        content = content.strip()
        if not content or _FENCE_OR_RULE.fullmatch(content):
            yield TextLine("")
            continue
        if note := _NOTE.match(content):
            footnotes.append(_plain(note[2]))
            continue
        level = 0
        if heading := _HASHES.match(content):
            level, content = len(heading[1]), heading[2]
        bullet = _BULLET.match(content) if not level else None
        if bullet is not None and not content.startswith("**"):
            rest = content[bullet.end() :]
            content = rest if split_marker(_plain(rest)) else f"- {rest}"
        if content.startswith("|") and content.endswith("|"):
            content = " | ".join(cell.strip() for cell in content.strip("|").split("|") if cell.strip())
        yield TextLine(_plain(content), level, indent, bullet=bullet is not None)


def _plain(text: str) -> str:
    text = _LINK.sub(r"\1", _NOTE_REFERENCE.sub("", text))
    text = _STRONG.sub(r"\2", text)
    text = _EMPHASIS.sub(lambda match: match[1] or match[2], text)
    return _ESCAPE.sub(r"\1", _TAG.sub(" ", text)).strip()


def _joined(physical: Sequence[TextLine]) -> Iterator[TextLine]:
    """Join the lines of a paragraph; a cut word is mended later, so the line ends stay."""
    width = _width(physical)
    current: TextLine | None = None
    last = ""
    apart = True
    for line in physical:
        if not line.text:
            apart = True
            continue
        if current is not None and _goes_on(current, last, line, apart, width):
            current = replace(current, text=f"{current.text}\n{line.text}")
        else:
            if current is not None:
                yield current
            current = replace(line, apart=apart)
        last, apart = f"{' ' * line.indent}{line.text}", False
    if current is not None:
        yield current


def _width(physical: Sequence[TextLine]) -> int:
    """Return the width at which a file wraps: its longest line that breaks off in a sentence; 0 if none does."""
    widths = [
        line.indent + len(line.text)
        for line, following in pairwise(physical)
        if line.text[-1:].isalnum() and following.text and not split_marker(following.text) and not following.bullet
    ]
    width = max((width for width in widths if width <= _WIDEST), default=0)
    return width if width >= _NARROWEST else 0


def _goes_on(current: TextLine, last: str, line: TextLine, apart: bool, width: int) -> bool:
    """Tell whether a line belongs to the paragraph before it."""
    if current.level or line.level or line.bullet:
        return False
    before = last.strip()
    head = heading_of(current.text, marked=False)
    if head is not None and not line.text[:1].islower() and not (head.rest and before.endswith("-")):
        return False
    if runs_on(before) and not (apart and split_marker(line.text)):
        return True
    if split_marker(line.text):
        return False
    if apart:
        return _CUT_CITATION.search(before) is not None or (line.text[:1].islower() and before[-1:].isalnum())
    first_word = line.text.split(" ", 1)[0]
    is_full = len(last) <= width < len(last) + 1 + len(first_word)
    if is_closed(before) or before.endswith((":", ";")):
        return is_full
    is_long = 0.75 * width <= len(last) <= width
    item = split_marker(current.text)
    if item is not None and not item[0].startswith("("):
        # Text after an item goes on with it only if it stands below the item's text, or if the line was full.
        return line.indent > current.indent or (line.indent == current.indent and (is_long or current.indent > 0))
    return heading_of(line.text, marked=False) is None or is_long
