"""The law table: codes, names, aliases, and whether a law is cited by § or by Art.

It is data: a small hand-kept list (`laws.toml`) and whatever the metadata of the ingested laws say (`with_laws`).
Names are matched word by word, abbreviations exactly, full names without regard to case and inflection
("des Bundesdatenschutzgesetzes"). A name that two laws share names neither.
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import Any

from normalize.citation import Style
from normalize.euacts import read_act


@dataclass(frozen=True, slots=True)
class Law:
    """A law: `code` is the key of chunks (upper case), `short` what a label writes, `name` its full name.

    `style` is None where it is not known whether the law is cited by § or by Art.
    """

    code: str
    short: str
    name: str | None = None
    style: Style | None = "paragraph"
    aliases: tuple[str, ...] = ()
    celex: str | None = None


def law_from_metadata(
    jurabk: str, amtabk: str | None, title: str | None, short_title: str | None, style: Style | None
) -> Law:
    """Return the law that the metadata of a gii document describe (DESIGN §3: code is `amtabk`, else `jurabk`)."""
    short = amtabk or jurabk
    aliases = [jurabk, _YEAR.sub("", jurabk), _YEAR.sub("", short), *_bracketless(title), *_bracketless(short_title)]
    return Law(short.upper(), short, _clean(title), style, tuple(dict.fromkeys(name for name in aliases if name)))


def _clean(title: str | None) -> str | None:
    return " ".join(title.split()) if title else None


def _bracketless(title: str | None) -> Iterable[str]:
    """Yield a title, and the title without what it says in brackets ("(SGB)", "(Artikel 1 des Gesetzes …)")."""
    if title:
        yield " ".join(title.split())
        yield " ".join(re.sub(r"\([^()]*\)", " ", title).split())


_YEAR = re.compile(r" (?:19|20)\d\d$")
_WORD = re.compile(r"[\s\-–]{0,8}([^\W_]+)(\.?)")
_ENDING = re.compile(r"(?<=[^\W\d_]{4})(?:es|en|em|er|s|e|n)$")
_LONGEST = 32
"""Words of a name that are compared; titles go on for ever."""


@lru_cache(maxsize=65536)
def _key(word: str) -> str:
    """Return what a word is compared by: an abbreviation (BDSG, GewO, G, 2, II) by itself, any other word by its stem.

    Words in capitals ("BUNDESDATENSCHUTZGESETZ") are words, not abbreviations.
    """
    capitals = sum(letter.isupper() for letter in word)
    if not word.isalpha() or len(word) < 3 or (capitals > 1 and not (capitals == len(word) > 8)):
        return word
    return _ENDING.sub("", word.lower().replace("ß", "ss"))


_Node = dict[str, Any]
_LAW = ""
"""Key of a node that holds the (rank, law) a name ends at; no word is empty."""


class LawTable:
    """An immutable table of laws, by code, CELEX number and name."""

    __slots__ = ("_by_celex", "_by_code", "_hand_kept", "_laws", "_names")

    def __init__(self, laws: Sequence[Law], hand_kept: Sequence[Law] = ()) -> None:
        """Build the table of `laws`; the names of `hand_kept` win where a name is given to two laws."""
        self._laws = tuple(laws)
        self._hand_kept = tuple(hand_kept)
        kept = {law.code: {law.short, law.code, law.name, *law.aliases} for law in hand_kept}
        self._by_code: dict[str, Law] = {}
        self._by_celex: dict[str, Law] = {}
        self._names: _Node = {}
        for law in self._laws:
            self._by_code.setdefault(law.code, law)
            if law.celex:
                self._by_celex.setdefault(law.celex, law)
            own = kept.get(law.code, set())
            # An abbreviation without its year counts as the abbreviation: "UmwStG" may be that of 1995 or of 2006.
            strong = {law.short, law.code, _YEAR.sub("", law.short)}
            for name in dict.fromkeys((*sorted(strong), *law.aliases, *((law.name,) if law.name else ()))):
                if name in own:
                    self._enter(name, law, 0)
                elif name not in _generic_names():
                    self._enter(name, law, 1 if name in strong else 2)

    @classmethod
    def builtin(cls) -> "LawTable":
        """Return the table of the hand-kept list (`laws.toml`)."""
        laws = _builtin()
        return cls(laws, laws)

    def with_laws(self, laws: Iterable[Law]) -> "LawTable":
        """Return this table with further laws.

        A law whose code is in the table already is the same law: its names are added, the hand-kept short name, style
        and CELEX number stay.
        """
        merged = list(self._laws)
        hand_kept = {law.code for law in self._hand_kept}
        places = {law.code: place for place, law in enumerate(merged) if law.code in hand_kept}
        for law in laws:
            place = places.get(law.code)
            if place is None:
                merged.append(law)
                continue
            kept = merged[place]
            names = (*kept.aliases, law.short, *law.aliases, *((law.name,) if law.name else ()))
            merged[place] = replace(
                kept, name=kept.name or law.name, aliases=tuple(dict.fromkeys(names)), celex=kept.celex or law.celex
            )
        return LawTable(merged, self._hand_kept)

    def __len__(self) -> int:
        return len(self._laws)

    @property
    def laws(self) -> tuple[Law, ...]:
        """All laws of the table, hand-kept ones first."""
        return self._laws

    def by_code(self, code: str) -> Law | None:
        """Return the law with this regulation code, upper or lower case, or None."""
        return self._by_code.get(code.upper())

    def by_celex(self, celex: str) -> Law | None:
        """Return the EU act with this CELEX number (``32016R0679``), or None."""
        return self._by_celex.get(celex)

    def resolve(self, name: str) -> Law | None:
        """Return the law that `name` as a whole names, or None if no law or more than one is called so."""
        name = name.strip()
        node: _Node | None = self._names
        for word in _NAME_WORD.findall(name):
            node = node.get(_key(word)) if node is not None else None
        if node and _LAW in node:
            law: Law | None = node[_LAW][1]
            return law
        act = read_act(name, 0)
        if act is not None and act.end == len(name) and act.celex is not None:
            return self.by_celex(act.celex)
        return self.by_code(name)

    def match(self, text: str, position: int) -> tuple[Law, int] | None:
        """Return the law whose longest name stands at `position` of `text`, and the end of that name.

        The end is a word boundary, so BDSG is not found in "BDSGx" or "BDSG-Novelle".
        """
        node: _Node | None = self._names
        best: tuple[Law, int] | None = None
        for steps in range(_LONGEST):
            word = _WORD.match(text, position)
            if word is None or node is None or (steps == 0 and word.start(1) != position):
                break
            key = word.group(1)
            node = node.get(_key(key))
            if node is None:
                break
            position = word.end(1)
            entry = node.get(_LAW)
            if entry is not None and entry[1] is not None and _JOINED.match(text, position) is None:
                best = (entry[1], position)
            if word.group(2) and key.isdigit():
                position += 1
        return best

    def _enter(self, name: str, law: Law, rank: int) -> None:
        words = _NAME_WORD.findall(name)[:_LONGEST]
        if not words:
            return
        node = self._names
        for word in words:
            node = node.setdefault(_key(word), {})
        held = node.get(_LAW)
        if held is None or rank < held[0]:
            node[_LAW] = (rank, law)
        elif rank == held[0] and (held[1] is None or held[1].code != law.code):
            node[_LAW] = (rank, None)


_NAME_WORD = re.compile(r"([^\W_]+)")
# A name goes on here, so that "BDSG" is not found in "BDSGx" or "BDSG-Novelle"; "-neu" and "-alt" are editions.
_JOINED = re.compile(r"[^\W_]|-(?!(?:neu|alt|[an]F)\b)[^\W_]")


@lru_cache(maxsize=1)
def _generic_names() -> frozenset[str]:
    return frozenset(
        tomllib.loads(files("normalize").joinpath("names.toml").read_text(encoding="utf-8"))["generic_names"]
    )


@lru_cache(maxsize=1)
def _builtin() -> tuple[Law, ...]:
    rows = tomllib.loads(files("normalize").joinpath("laws.toml").read_text(encoding="utf-8"))["laws"]
    return tuple(
        Law(
            row.get("code", row["short"].upper()),
            row["short"],
            row.get("name"),
            row.get("style", "paragraph"),
            tuple(row.get("aliases", ())),
            row.get("celex"),
        )
        for row in rows
    )
