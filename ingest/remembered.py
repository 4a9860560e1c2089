"""What the sources said last time, so that a run with nothing to do need not read them all again.

Only the conclusion "nothing is to be written" may rest on this memory: as soon as anything is, the sources are read,
and `verify` and `prune` read them always. It holds only for the very same bytes: of the manifest and all its files, of
the program, and under the same token limit; anything else, or a damaged file, is as if there were none.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from sys import intern
from typing import Any, Final

import zstandard

from ingest.documents import Names
from ingest.gather import Survey
from ingest.manifest import Manifest
from ingest.reading import Expected
from ingest.receipt import sources_digest
from ingest.stored import PointSketch

_PROGRAM: Final = ("ingest", "normalize")
_LONGEST: Final = 4 << 30


@dataclass(frozen=True, slots=True)
class Remembered:
    """A survey without its chunks: what is expected, the files without text, how many citations gave an edge."""

    expected: list[Expected]
    skipped: list[tuple[Names, str]]
    citations: dict[str, int]


def survey_key(manifest: Manifest, limit: str | None) -> str:
    """Return what a memory is good for; reads all sources as bytes, which takes a second for all of federal law."""
    parts = (_program_digest(), sources_digest(manifest), str(manifest.path.resolve()), limit or "")
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@lru_cache(maxsize=1)
def _program_digest() -> str:
    """A digest of all code and tables that decide what a source says."""
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parents[1]
    for package in _PROGRAM:
        for path in sorted((root / package).rglob("*")):
            if path.suffix in (".py", ".toml"):
                digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def remember(file: Path, key: str, found: Survey[Any], manifest: Manifest) -> None:
    """Keep a survey under its key; a memory that cannot be written is no reason to stop."""
    numbers = {document.files: number for number, document in enumerate(manifest.documents)}
    rows: list[dict[str, Any]] = [{"key": key, "citations": dict(found.edges.counts)}]
    rows += [_document(document, numbers[document.entry.files]) for document in found.expected]
    rows += [{"skipped": loaded.origin, "names": _names(loaded.names)} for loaded in found.skipped]
    lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows]
    aside = file.with_name(f"{file.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(zstandard.ZstdCompressor(level=1, write_checksum=True).compress("\n".join(lines).encode()))
        aside.replace(file)


def recall(file: Path, key: str, manifest: Manifest) -> Remembered | None:
    """Return the survey kept under this key, or None if there is none that can be read."""
    try:
        data = zstandard.ZstdDecompressor().decompress(file.read_bytes(), max_output_size=_LONGEST)
        head, *rows = data.split(b"\n")
        about = json.loads(head)
        if about["key"] != key:
            return None
        values = [json.loads(row) for row in rows]
        return Remembered(
            [_expected(value, manifest) for value in values if "points" in value],
            [(_as_names(value["names"]), value["skipped"]) for value in values if "skipped" in value],
            about["citations"],
        )
    except (OSError, zstandard.ZstdError, ValueError, KeyError, IndexError, TypeError):
        return None


def _document(document: Expected, number: int) -> dict[str, Any]:
    return {
        "entry": number,
        "names": _names(document.names),
        "code": document.regulation_code,
        "version": document.version,
        "origin": document.origin,
        "bytes": document.text_bytes,
        "rules": list(document.points[0].rules) if document.points else [None, None],
        "points": [
            [p.id, p.chunk_hash, p.article, p.paragraph, p.sub, p.is_recital, p.label, p.name, p.header, p.digest.hex()]
            for p in document.points
        ],
    }


def _expected(value: Mapping[str, Any], manifest: Manifest) -> Expected:
    names = _as_names(value["names"])
    version, rules = intern(value["version"]), (_known(value["rules"][0]), _known(value["rules"][1]))
    points = [
        PointSketch(
            id=point_id,
            is_contract=True,
            document_id=names.document_id,
            version=version,
            chunk_hash=chunk_hash,
            article=_known(article),
            paragraph=_known(paragraph),
            sub=_known(sub),
            is_recital=is_recital,
            label=_known(label),
            name=intern(name),
            header=_known(header),
            rules=rules,
            names=(),
            full_name=None,
            digest=bytes.fromhex(digest),
        )
        for point_id, chunk_hash, article, paragraph, sub, is_recital, label, name, header, digest in value["points"]
    ]
    entry = manifest.documents[value["entry"]]
    return Expected(entry, names, value["code"], version, value["origin"], points, value["bytes"])


def _known(text: str | None) -> str | None:
    return intern(text) if text is not None else None


def _names(names: Names) -> list[Any]:
    return [names.document_id, list(names.replaces), sorted(names.aliases)]


def _as_names(value: list[Any]) -> Names:
    return Names(value[0], tuple(value[1]), frozenset(value[2]))
