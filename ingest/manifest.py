"""The manifest: which documents a collection holds, and what their files do not say themselves (YAML).

Every mistake is reported with the line it stands in. Paths are relative to the manifest's root and never leave it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from normalize.errors import SourceError, UsageError


class Defaults(BaseModel):
    """What holds for every document that does not say otherwise."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: str | None = None
    source_url: str | None = None
    source_type: str | None = None
    source_class: str | None = None
    license: str | None = None
    use_case: tuple[str, ...] | None = None
    bundesland: str | None = None
    year: int | None = None
    doc_type: str | None = None
    language: str | None = None

    @field_validator("use_case", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value


class Entry(Defaults):
    """One document (`path`, one file or several that make one act), or one for each file of a `glob`."""

    id: str | None = None
    code: str | None = None
    short: str | None = None
    name: str | None = None
    aliases: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    version_date: str | None = Field(default=None, pattern=r"^\d{4}-\d{2}-\d{2}$")
    path: tuple[str, ...] = ()
    glob: str | None = None

    @field_validator("path", "aliases", "replaces", mode="before")
    @classmethod
    def _as_tuple(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("version_date", mode="before")
    @classmethod
    def _iso(cls, value: Any) -> Any:
        return value.isoformat() if hasattr(value, "isoformat") else value

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if bool(self.path) == bool(self.glob):
            raise ValueError("an entry has either 'path' or 'glob'")
        if self.glob and (self.id or self.code or self.short or self.name or self.version_date):
            raise ValueError("with 'glob', id, code, short, name and version_date come from each file")
        return self


class _Manifest(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    collection: str | None = None
    root: str | None = None
    defaults: Defaults = Defaults()
    documents: tuple[Entry, ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class ManifestDocument:
    """One document to ingest: its entry with the defaults filled in, its files, and where the manifest says so."""

    entry: Entry
    files: tuple[Path, ...]
    line: int

    @property
    def origin(self) -> str:
        """The file (or the first of several) for messages."""
        return self.files[0].name if len(self.files) == 1 else f"{self.files[0].name} (+{len(self.files) - 1})"


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest as read: where it is, the collection it names (or None), its documents in order."""

    path: Path
    collection: str | None
    documents: tuple[ManifestDocument, ...]


def read_manifest(path: Path) -> Manifest:
    """Read and check a manifest and find the files of its documents.

    Raises UsageError (what is wrong in the manifest, with its line) or SourceError (a file that is not there).
    """
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise UsageError(
            f"Manifest {path} cannot be read ({error.strerror}): give an existing file with --manifest."
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"Manifest {path} is not UTF-8 text: save it as UTF-8.") from None
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        raw = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that does not exist
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        raise UsageError(
            f"Manifest {path} line {line} is not valid YAML: {getattr(error, 'problem', error)}."
        ) from None
    if not isinstance(raw, dict) or node is None:
        raise UsageError(
            f"Manifest {path} line 1: expected keys 'documents' and optionally 'collection', 'defaults', 'root'."
        )
    _refuse_double_keys(node, path)
    try:
        manifest = _Manifest.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        line = _line(node, first["loc"])
        where = ".".join(str(part) for part in first["loc"] if not isinstance(part, int))
        raise UsageError(f"Manifest {path} line {line}: {_reason(first['type'], first['msg'], where)}.") from None
    root = (path.parent / (manifest.root or ".")).resolve()
    documents = tuple(_documents(manifest, root, path, node))
    return Manifest(path, manifest.collection, documents)


def _reason(kind: str, message: str, where: str) -> str:
    if kind == "extra_forbidden":
        return f"unknown key '{where}', remove it or correct its spelling"
    return f"'{where}': {message}" if where else message


def _documents(manifest: _Manifest, root: Path, path: Path, node: yaml.Node) -> Iterator[ManifestDocument]:
    for number, entry in enumerate(manifest.documents):
        line = _line(node, ("documents", number))
        merged = entry.model_copy(
            update={
                field: getattr(manifest.defaults, field)
                for field in Defaults.model_fields
                if getattr(entry, field) is None and getattr(manifest.defaults, field) is not None
            }
        )
        where = f"Manifest {path} line {line}"
        if merged.glob is None:
            files = tuple(_inside(root, name, where) for name in merged.path)
            for file in files:
                if not file.is_file():
                    raise SourceError(f"{where}: there is no file {file}; correct 'path' or fetch the file.")
            yield ManifestDocument(merged, files, line)
            continue
        _inside(root, merged.glob, where)
        try:
            found = sorted(file for file in root.glob(merged.glob) if file.is_file())
        except (ValueError, NotImplementedError) as error:
            raise UsageError(f"{where}: glob {merged.glob!r} is not valid ({error}).") from None
        if not found:
            raise SourceError(f"{where}: glob {merged.glob!r} finds no file below {root}; correct it.")
        for file in found:
            yield ManifestDocument(merged, (_inside(root, str(file.relative_to(root)), where),), line)


def _inside(root: Path, name: str, where: str) -> Path:
    """Return the file's path; links and ".." must not lead out of the root."""
    target = root / name
    if "\0" in name:
        raise UsageError(f"{where}: a path holds a NUL character; correct it.")
    if Path(name).is_absolute() or ".." in Path(name).parts or not target.resolve().is_relative_to(root):
        raise UsageError(
            f"{where}: {name!r} leads out of {root}; keep the files below the manifest, "
            "or name their folder with 'root:'."
        )
    return target


def _line(node: yaml.Node, location: tuple[int | str, ...]) -> int:
    """Return the line of the deepest node on the way to a location."""
    line = int(node.start_mark.line) + 1
    for part in location:
        if isinstance(node, yaml.MappingNode):
            pair = next(((k, v) for k, v in node.value if k.value == part), None)
            if pair is None:
                break
            line = int(pair[0].start_mark.line) + 1
            node = pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = int(node.start_mark.line) + 1
        else:
            break
    return line


def _refuse_double_keys(node: yaml.Node, path: Path) -> None:
    """YAML keeps the last of two equal keys silently; here that would lose a document's data."""
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                raise UsageError(f"Manifest {path} line {key.start_mark.line + 1}: key '{key.value}' stands twice.")
            seen.add(key.value)
            _refuse_double_keys(value, path)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _refuse_double_keys(value, path)
