"""The text of an OSCAL catalog for the proof of conservation, cut by rules; a walk of its own over the raw JSON.

A control's requirement (`statement`) comes first, then its other parts, those of one name together, then what its
parameters are said to mean. A parameter in a prose counts as the text that the catalog gives it.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from typing import Any, Final

from ingest.conservation.compare import Stretch

_TOKEN: Final = re.compile(
    r"\{\{\s*(?:insert:\s*param\s*,\s*)?(?P<param>[\w.\-]+)\s*\}\}"
    r"|!?\[(?P<shown>[^\[\]]+)\](?P<link>\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"]*\")?\))"
)
_BREAKS: Final = re.compile(r"(?:\\r)?\\n(?:\\r)?\\n")
_DEEPEST: Final = 40


def oscal_stretches(data: bytes) -> Iterator[Stretch]:
    """Yield the stretches of a catalog; the place is the id of the control or group."""
    catalog = json.loads(data)["catalog"]
    yield from _Walk(catalog).node(catalog)


class _Walk:
    """The walk; it needs the parameters of the whole catalog, since a prose may use those of another control."""

    def __init__(self, catalog: Mapping[str, Any]) -> None:
        self._params: dict[str, Mapping[str, Any]] = {}
        self._collect(catalog)

    def _collect(self, node: Mapping[str, Any]) -> None:
        for param in node.get("params", ()):
            self._params.setdefault(param.get("id", ""), param)
        for child in (*node.get("groups", ()), *node.get("controls", ())):
            self._collect(child)

    def node(self, node: Mapping[str, Any], *, is_control: bool = False) -> Iterator[Stretch]:
        """Yield a catalog, group or control with all below it."""
        place = str(node.get("id", ""))
        parts = node.get("parts", ())
        if is_control and _prop(node, "status").lower() == "withdrawn":
            for part in parts:
                yield from (Stretch(s.text, "withdrawn", place) for s in self._part(part, place, 0))
        else:
            for group in _by_name(parts, statement_first=is_control):
                for part in group:
                    yield from self._part(part, place, 0)
            for prop in () if is_control else node.get("props", ()):
                if prop.get("name") == "label":
                    yield from self._prose(prop.get("remarks", ""), place, 0)
            for param in node.get("params", ()) if is_control else ():
                for guideline in param.get("guidelines", ()):
                    yield Stretch(f"{_prop(param, 'label') or param.get('id', '')}", "number", place)
                    yield from self._prose(guideline.get("prose", ""), place, 0)
        for child in node.get("groups", ()):
            yield from self.node(child)
        for child in node.get("controls", ()):
            yield from self.node(child, is_control=True)

    def _part(self, part: Mapping[str, Any], place: str, depth: int) -> Iterator[Stretch]:
        yield Stretch(_prop(part, "label"), "number", place)
        yield Stretch(part.get("title", ""), "heading", place)
        yield from self._prose(part.get("prose", ""), place, 0)
        for child in part.get("parts", ()):
            yield from self._part(child, place, depth + 1)

    def _prose(self, prose: str, place: str, depth: int) -> Iterator[Stretch]:
        """Yield a prose: its words, the addresses of its links, and its parameters written out."""
        text = unescape(_BREAKS.sub(" ", prose))
        position = 0
        for token in _TOKEN.finditer(text):
            yield Stretch(text[position : token.start()], None, place)
            position = token.end()
            if token["param"]:
                yield from self._param(token["param"], place, depth)
            else:
                yield Stretch(token["shown"], None, place)
                yield Stretch(token["link"], "link", place)
        yield Stretch(text[position:], None, place)

    def _param(self, name: str, place: str, depth: int) -> Iterator[Stretch]:
        param = self._params.get(name)
        if param is None or depth > _DEEPEST:
            yield Stretch(name, None, place)
            return
        values = [value for value in param.get("values", ()) if value.strip()]
        select = param.get("select")
        label = _prop(param, "alt-label") or param.get("label", "")
        if values:
            yield Stretch(" ".join(values), None, place)
        elif select:
            yield Stretch("Selection", "parameter-words", place)
            yield Stretch("one or more", "parameter-words", place)
            for choice in select.get("choice", ()):
                yield from self._prose(choice, place, depth + 1)
        else:
            yield Stretch("Assignment", "parameter-words", place)
            yield Stretch("organization-defined", "parameter-words", place)
            yield from self._prose(label or name, place, depth + 1)


def _by_name(parts: Sequence[Mapping[str, Any]], *, statement_first: bool) -> list[list[Mapping[str, Any]]]:
    """Put parts of one name (and method) together, in the order of the first of each; a control's statement first."""
    groups: dict[tuple[bool, str, str], list[Mapping[str, Any]]] = {}
    for part in parts:
        name = str(part.get("name", ""))
        groups.setdefault((name != "statement", name, _prop(part, "method")), []).append(part)
    return [groups[key] for key in sorted(groups, key=lambda key: key[0] and statement_first)]


def _prop(node: Mapping[str, Any], name: str) -> str:
    """The value of a prop, the one without a class first."""
    found = [prop for prop in node.get("props", ()) if prop.get("name") == name and prop.get("value", "").strip()]
    return str(min(found, key=lambda prop: "class" in prop)["value"]) if found else ""
