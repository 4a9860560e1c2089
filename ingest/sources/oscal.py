"""Read OSCAL JSON catalogs (NIST SP 800-53, BSI): a control is cited like an Artikel, "AC-2(1) lit. a".

The requirement (the `statement` parts) is the control's own text. Guidance, assessment objectives and methods and the
definitions of parameters are no requirement: each is a named part of its own ("AC-2 guidance"), so that its chunks
never bear the bare control's Fundstelle. Its name is the one the catalog gives it.

Left out as data about the catalog: props, links, back matter, roles and parties.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any

from ingest.sources.markers import read_marker
from ingest.tree import Absatz, Act, Block, Provision
from normalize.errors import SourceError
from normalize.text import clean_inline
from normalize.units import Path, Step

_MODELS = (
    "catalog|profile|component-definition|system-security-plan|assessment-plan|assessment-results"
    "|plan-of-action-and-milestones|mapping-collection"
)
_HEAD = re.compile(
    rb'\A(?:\xef\xbb\xbf)?\s*\{\s*(?:"\$schema"\s*:\s*"[^"]*"\s*,\s*)?"(?:' + _MODELS.encode() + rb')"\s*:'
)
_OSCAL_KEYS = re.compile(rb'"(?:uuid|oscal-version|metadata)"\s*:')

# With the blank that some catalogs put between a parameter and a full stop.
_INSERT = re.compile(r"\{\{\s*(?:insert:\s*param\s*,\s*)?([\w.\-]+)\s*\}\}(?: +(?=[;,.:)]))?")
_LINK = re.compile(r"!?\[([^\[\]]+)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"]*\")?\)")
_STRONG = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")
# A star inside a word ("Administrator*innen") is no mark-up.
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*]+?)(?<=[^\s*])\*(?![\w*])")
_CODE = re.compile(r"`([^`]+)`")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|nbsp|#\d+);")
# Line ends that were escaped twice on their way into the file.
_ESCAPED_BREAK = re.compile(r"(?:\\r)?\\n(?:\\r)?\\n")
_PARAGRAPH_END = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+|]\s?|\d+[.)]\s))")
_TABLE_RULE = re.compile(r"[\s|:\-]+")

_SPECIAL_PUBLICATION = re.compile(r"(NIST) Special Publication (\d+-\d+[A-Z]?) Revision (\d+)((?:\.\d+)*)\s*(.*)$")
_LONGEST_SHORT = 40
_WORDS = {
    "de": frozenset(("der", "die", "das", "und", "ist", "mit", "von", "für")),
    "en": frozenset(("the", "and", "of", "to", "is", "for", "a")),
}
_DEEPEST = 40


def is_oscal(head: bytes) -> bool:
    """Tell whether a file that starts with `head` is OSCAL JSON of any model (catalog, profile, …)."""
    return _HEAD.match(head) is not None and _OSCAL_KEYS.search(head) is not None


def read_oscal(data: bytes, origin: str) -> Act:
    """Return the framework of one OSCAL JSON catalog. Raises SourceError naming `origin` if it is none."""
    catalog = _Catalog(_parse(data, origin), origin)
    provisions = tuple(catalog.provisions())
    if not any(p.kind == "norm" for p in provisions):
        raise SourceError(f"{origin} is an OSCAL catalog without controls: get the catalog itself, not its frame.")
    return catalog.act(provisions)


def _parse(data: bytes, origin: str) -> dict[str, Any]:
    try:
        root = json.loads(data)
    except RecursionError:
        raise SourceError(f"{origin} is nested deeper than any catalog: refused, get the file anew.") from None
    except ValueError as error:
        raise SourceError(f"{origin} is no well-formed JSON ({error}): damaged or cut off, get it anew.") from None
    if not isinstance(root, dict):
        raise SourceError(f"{origin} is no OSCAL JSON: an object with 'catalog' is expected.")
    catalog = root.get("catalog")
    if isinstance(catalog, dict):
        return catalog
    model = next((name for name in _MODELS.split("|") if name in root), None)
    if model and model != "catalog":
        raise SourceError(f"{origin} is an OSCAL {model}, which holds no controls: give the (resolved) catalog.")
    raise SourceError(f"{origin} is no OSCAL catalog: an object with 'catalog' is expected.")


@dataclass(frozen=True, slots=True)
class _Control:
    """A control, or a group (its label is empty), and where it stands: the titles above it, a group's own included."""

    raw: Mapping[str, Any]
    label: str
    context: tuple[str, ...]


class _Catalog:
    """One parsed catalog: its groups and controls in order, its parameters by id."""

    def __init__(self, raw: Mapping[str, Any], origin: str) -> None:
        self._raw = raw
        self._origin = origin
        self._controls: list[_Control] = []
        self._nodes: list[_Control] = []
        self._params: dict[str, Mapping[str, Any]] = {}
        self._collect_params(raw)
        self._walk(raw, (), 0)
        self._language = _language(self._proses())
        self._labels = self._unique_labels()

    # --- Walking ---------------------------------------------------------------------------------------------------

    def _collect_params(self, node: Mapping[str, Any], depth: int = 0) -> None:
        self._check_depth(depth)
        for param in self._objects(node, "params"):
            self._params.setdefault(_string(param, "id"), param)
        for key in ("groups", "controls"):
            for child in self._objects(node, key):
                self._collect_params(child, depth + 1)

    def _walk(self, node: Mapping[str, Any], context: tuple[str, ...], depth: int) -> None:
        """Note groups' own parts and all controls in document order."""
        for group in self._objects(node, "groups"):
            title = " ".join(part for part in (_prop(group, "label"), _title(group)) if part)
            above = (*context, title) if title else context
            self._nodes.append(_Control(group, "", above))
            self._walk(group, above, depth + 1)
        for raw in self._objects(node, "controls"):
            name = _prop(raw, "label") or _as_cited(_string(raw, "id"))
            if not name:
                raise SourceError(f"{self._origin} has a control without an id: the catalog is damaged, get it anew.")
            control = _Control(raw, name, context)
            self._controls.append(control)
            self._nodes.append(control)
            self._walk(raw, (*context, f"{name} {_title(raw)}".strip()), depth + 1)

    def _unique_labels(self) -> dict[str, str]:
        """Return the citable name of each control by its id: its label, or its id where two share a label."""
        ids = Counter(_string(control.raw, "id") for control in self._controls)
        doubled = next((name for name, count in ids.items() if count > 1), None)
        if doubled is not None:
            raise SourceError(f"{self._origin} has two controls with the id '{doubled}': the catalog is damaged.")
        labels = Counter(control.label for control in self._controls)
        return {
            _string(c.raw, "id"): c.label if labels[c.label] == 1 else _as_cited(_string(c.raw, "id"))
            for c in self._controls
        }

    def _proses(self) -> Iterator[str]:
        for control in self._controls:
            for part in self._objects(control.raw, "parts"):
                yield _string(part, "prose")

    def _objects(self, node: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
        found = node.get(key, [])
        if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
            name = node.get("id") or "the catalog"
            raise SourceError(
                f"{self._origin} has '{key}' of {name} that is no list of objects: no OSCAL, get it anew."
            )
        return found

    def _check_depth(self, depth: int) -> None:
        if depth > _DEEPEST:
            raise SourceError(f"{self._origin} is nested deeper than any catalog: refused, get the file anew.")

    # --- Act -------------------------------------------------------------------------------------------------------

    def act(self, provisions: tuple[Provision, ...]) -> Act:
        """Return the act; its short name is what its title says, a standard's number where it has one."""
        metadata = self._raw.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        title = clean_inline(_string(metadata, "title")) or None
        date = (_string(metadata, "published") or _string(metadata, "last-modified"))[:10]
        is_date = re.fullmatch(r"\d{4}-\d{2}-\d{2}", date) is not None
        identifiers = [_string(entry, "identifier") for entry in self._objects(metadata, "document-ids")]
        document_id = next((text for text in identifiers if text), None)
        short = title if title and len(title) <= _LONGEST_SHORT else None
        names: tuple[str, ...] = (title,) if title else ()
        if title and (match := _SPECIAL_PUBLICATION.match(title)):
            publisher, number, revision, minor, rest = match.groups()
            rest = "" if rest.startswith(":") else rest  # a subtitle; anything else names a selection of the controls
            short = f"{publisher} SP {number} Rev. {revision}{minor} {rest}".strip()
            document_id = document_id or "-".join(f"{publisher} SP {number} R{revision} {rest}".upper().split())
            if not rest:
                names += (f"{publisher} SP {number}", f"SP {number}", f"{publisher} SP {number} Rev. {revision}")
        return Act(
            document_id=document_id,
            code=short.upper() if short else None,
            short=short,
            name=title,
            style="article",
            date=date if is_date else None,
            language=self._language,
            provisions=provisions,
            names=tuple(dict.fromkeys(names)),
            doc_type="framework",
            year=int(date[:4]) if is_date else None,
        )

    # --- Provisions ------------------------------------------------------------------------------------------------

    def provisions(self) -> Iterator[Provision]:
        """Yield every control and behind it its named parts, in document order; a group's parts before its controls."""
        yield from self._named_parts(self._objects(self._raw, "parts"), "", None, ())
        for node in self._nodes:
            if node.label:
                yield from self._control(node)
            else:
                name = _as_cited(_string(node.raw, "id")) or _title(node.raw)
                parts = self._objects(node.raw, "parts")
                yield from self._named_parts(parts, name, _title(node.raw) or None, node.context)
                yield from self._remarks(node.raw, name, node.context)

    def _control(self, control: _Control) -> Iterator[Provision]:
        raw = control.raw
        name = self._labels[_string(raw, "id")]
        heading = _title(raw) or None
        if (_prop(raw, "status") or "").lower() == "withdrawn":
            yield Provision("norm", name, "article", heading, control.context, (), tuple(self._withdrawal(raw)))
            return
        statement: list[Block] = []
        for part in self._objects(raw, "parts"):
            if part.get("name") == "statement":
                statement += self._blocks(part, (), 0)
        absaetze = (Absatz(None, tuple(statement)),) if statement else ()
        yield Provision("norm", name, "article", heading, control.context, absaetze)
        others = [part for part in self._objects(raw, "parts") if part.get("name") != "statement"]
        yield from self._named_parts(others, name, heading, control.context)
        definitions = tuple(self._definitions(raw))
        if definitions:
            yield Provision("part", f"{name} params", "article", heading, control.context, (Absatz(None, definitions),))

    def _named_parts(
        self, parts: Iterable[Mapping[str, Any]], owner: str, heading: str | None, context: tuple[str, ...]
    ) -> Iterator[Provision]:
        """Yield the parts that are no requirement, those of one name together."""
        blocks: dict[str, list[Block]] = {}
        titles: dict[str, str] = {}
        for part in parts:
            kind = clean_inline(_string(part, "name")) or "part"
            name = " ".join(text for text in (owner, kind, _prop(part, "method")) if text)
            blocks.setdefault(name, []).extend(self._blocks(part, (), 0))
            titles.setdefault(name, _title(part))
        for name, found in blocks.items():
            if found:
                title = titles[name] or heading
                yield Provision("part", name, "article", title, context, (Absatz(None, tuple(found)),))

    def _remarks(self, group: Mapping[str, Any], name: str, context: tuple[str, ...]) -> Iterator[Provision]:
        """Yield what the remarks on a group's label say: the BSI describes its practices there."""
        for prop in self._objects(group, "props"):
            if prop.get("name") == "label" and _string(prop, "remarks").strip():
                blocks = tuple(Block(text) for text in self._paragraphs(_string(prop, "remarks")))
                yield Provision(
                    "part", f"{name} remarks", "article", _title(group) or None, context, (Absatz(None, blocks),)
                )

    def _definitions(self, raw: Mapping[str, Any]) -> Iterator[Block]:
        """Yield what the parameters of a control stand for, as the catalog's guidelines define them."""
        for param in self._objects(raw, "params"):
            marker = _prop(param, "label") or _string(param, "id")
            for guideline in self._objects(param, "guidelines"):
                for text in self._paragraphs(_string(guideline, "prose")):
                    yield _entry(text, (), marker)
                    marker = ""

    def _withdrawal(self, raw: Mapping[str, Any]) -> Iterator[str]:
        """Yield what the catalog says on a withdrawn control: its note, and where the text went."""
        for part in self._objects(raw, "parts"):
            yield from (block.text for block in self._blocks(part, (), 0) if block.text)
        for link in self._objects(raw, "links"):
            relation = _string(link, "rel")
            if relation in ("incorporated-into", "moved-to"):
                control, _, place = _string(link, "href").removeprefix("#").partition("_smt.")
                label = self._labels.get(control)
                if label:
                    yield f"{relation.replace('-', ' ')} {label}{place.replace('.', '')}"

    # --- Text ------------------------------------------------------------------------------------------------------

    def _blocks(
        self, part: Mapping[str, Any], path: Path, depth: int, marker: str = "", *, is_unit: bool = True
    ) -> Iterator[Block]:
        """Yield the text of a part and of the parts below it; a label like "a." opens a unit."""
        self._check_depth(depth)
        texts = list(self._paragraphs(_string(part, "prose")))
        if depth and _title(part):
            texts.insert(0, _title(part))
        if marker and is_unit and not texts:
            texts = [""]
        for index, text in enumerate(texts):
            label = marker if index == 0 else ""
            yield Block(text, path, label) if is_unit else _entry(text, path, label)
        before: Step | None = None
        for child in self._objects(part, "parts"):
            label = clean_inline(_prop(child, "label") or "")
            step = read_marker(label, "article", path, before) if label else None
            before = step or before
            below = (*path, step) if step else path
            yield from self._blocks(child, below, depth + 1, label, is_unit=step is not None or not label)

    def _paragraphs(self, prose: str) -> Iterator[str]:
        """Yield the paragraphs of a prose, mark-up taken off, parameters written out; a table gives a row a line."""
        for piece in _PARAGRAPH_END.split(_ESCAPED_BREAK.sub("\n\n", prose)):
            text = self._plain(piece)
            if text.startswith("|") and text.endswith("|"):
                text = "" if _TABLE_RULE.fullmatch(text) else " | ".join(c.strip() for c in text.strip("|").split("|"))
            if text:
                yield text

    def _plain(self, markup: str) -> str:
        text = self._filled(markup, 0)
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise SourceError(f"{self._origin} holds a lone surrogate, half a character: get the file anew.") from None
        return clean_inline(text)

    def _filled(self, markup: str, depth: int) -> str:
        """Take off the mark-up, then write out the parameters: their brackets are no mark-up."""
        return _INSERT.sub(lambda match: self._parameter(match[1], depth), _unmarked(markup))

    def _parameter(self, name: str, depth: int) -> str:
        """Write a parameter as the publication prints it: "[Assignment: …]", "[Selection (one or more): a; b]".

        The words of SP 800-53 are for English catalogs; others get the parameter's own label in brackets. A value that
        the catalog sets stands for itself. A parameter that the catalog does not define keeps its id.
        """
        self._check_depth(depth)
        param = self._params.get(name)
        if param is None:
            return f"[{name}]"
        values = [value for value in _strings(param.get("values")) if value.strip()]
        if values:
            return ", ".join(values)
        select = param.get("select")
        if isinstance(select, dict):
            written = "; ".join(self._filled(choice, depth + 1).strip() for choice in _strings(select.get("choice")))
            if self._language != "en":
                return f"[{written}]"
            several = " (one or more)" if select.get("how-many") == "one-or-more" else ""
            return f"[Selection{several}: {written}]"
        label = self._filled(_prop(param, "alt-label") or _string(param, "label"), depth + 1).strip()
        if not label:
            return f"[{name}]"
        return f"[Assignment: {_organization_defined(label, param)}]" if self._language == "en" else f"[{label}]"


def _unmarked(text: str) -> str:
    """Take the mark-up of OSCAL prose (a part of Markdown) off a text."""
    text = _LINK.sub(r"\1", text)
    text = _CODE.sub(r"\1", _EMPHASIS.sub(r"\1", _STRONG.sub(r"\1", text)))
    return _ENTITY.sub(lambda match: unescape(match[0]), _ESCAPED.sub(r"\1", text))


def _entry(text: str, path: Path, marker: str) -> Block:
    """Return an entry of a list whose labels are no units ("AC-01a.[01]"): its full stops end no Satz of the list."""
    return Block(text, path, marker, counts=False)


def _organization_defined(label: str, param: Mapping[str, Any]) -> str:
    """Say what the catalog's own mark "ODP" (organization-defined parameter) says, where the label leaves it out."""
    marks = (_string(param, "id"), _prop(param, "label") or "")
    is_odp = any("_odp" in mark.lower() for mark in marks)
    return f"organization-defined {label}" if is_odp and not label.lower().startswith("organization") else label


def _as_cited(identifier: str) -> str:
    """Return an id as a name people cite: in capitals unless it has some ("ac-2" → "AC-2")."""
    return identifier.upper() if identifier == identifier.lower() else identifier


def _prop(node: Mapping[str, Any], name: str) -> str | None:
    """Return the value of a prop: the one without a class (the plain label) before those of other publications."""
    props = node.get("props")
    if not isinstance(props, list):
        return None
    found = [p for p in props if isinstance(p, dict) and p.get("name") == name and _string(p, "value").strip()]
    found.sort(key=lambda prop: "class" in prop)
    return clean_inline(_string(found[0], "value")) if found else None


def _title(node: Mapping[str, Any]) -> str:
    return clean_inline(_string(node, "title"))


def _string(node: Mapping[str, Any], key: str) -> str:
    value = node.get(key)
    return value if isinstance(value, str) else ""


def _strings(value: object) -> list[str]:
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def _language(texts: Iterable[str]) -> str:
    """Tell German from English by their commonest words; OSCAL has no field for the language."""
    counts = Counter[str]()
    for text in texts:
        for word in text.lower().split():
            for language, words in _WORDS.items():
                counts[language] += word in words
    return "de" if counts["de"] > counts["en"] else "en"
