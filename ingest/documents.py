"""Bring a manifest entry and its file together: who the document is (identity, names) and what it says (provisions)."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path

from backends.embedders import TokenLimit
from ingest.chunker import MAX_CHARACTERS, Chunk, Document, chunk_act, chunker_version, in_force
from ingest.manifest import Entry, ManifestDocument
from ingest.sources.detect import Format, read_act
from ingest.tree import Act, Provision
from normalize import identity
from normalize.errors import SourceError, UsageError
from normalize.laws import LawTable
from normalize.text import NORMALIZER_VERSION

_EU_NUMBER = re.compile(
    r"\((?:EU|EG|EWG|Euratom|EC|EEC)(?:, ?Euratom)?\)\s*(?:Nr\.|No)?\s*\d+/\d+|\d+/\d+/(?:EU|EG|EWG|EC|EEC|JI|JHA)"
)
_EU_KINDS = {"R": "VO", "L": "RL", "D": "Beschluss", "F": "Rahmenbeschluss"}


@dataclass(frozen=True, slots=True)
class Names:
    """How a document is known: its id, the ids it takes over (`replaces`), and its other names as alias keys."""

    document_id: str
    replaces: tuple[str, ...]
    aliases: frozenset[str]


@dataclass(frozen=True, slots=True)
class Loaded:
    """One document, read: what its payloads share, its provisions, and every name old points may know it by.

    `spellings` are the names people write it by besides code, short and full name, `tokens` the limit it is chunked
    under, which is part of its version.
    """

    document: Document
    provisions: tuple[Provision, ...]
    names: Names
    spellings: tuple[str, ...]
    origin: str
    tokens: TokenLimit | None = None

    def chunks(self, limit: int = MAX_CHARACTERS) -> Iterator[Chunk]:
        """Yield the document's chunks in order."""
        return chunk_act(self.document, self.provisions, limit=limit, tokens=self.tokens)


def load(entry: ManifestDocument, laws: LawTable, tokens: TokenLimit | None = None) -> Loaded:
    """Read the files of a manifest document; `tokens` is the embedder's limit, which counts only where it can bite.

    Raises SourceError (unreadable file, wrong content) or UsageError (the document has no id or code).
    """
    return _load(entry.entry, entry.files, laws, f"line {entry.line} of the manifest", tokens)


def load_file(path: Path, laws: LawTable, *, code: str | None = None, document_id: str | None = None) -> Loaded:
    """Read one file without a manifest: everything comes from the file itself, but for what is given here."""
    entry = Entry(path=(str(path),), code=code, id=document_id)
    return _load(entry, (path,), laws, "or give --code and --id")


def _load(entry: Entry, files: Sequence[Path], laws: LawTable, where: str, tokens: TokenLimit | None = None) -> Loaded:
    tokens = in_force(tokens)
    version = chunker_version(tokens)
    sources = [_read_bytes(file) for file in files]
    parts = [read_act(data, file.name, entry.format) for data, file in zip(sources, files, strict=True)]
    act, source_format = _joined(parts)
    origin = ", ".join(file.name for file in files)
    law = laws.by_celex(act.celex) if act.celex else None
    if act.short is None and act.key is not None:
        law = laws.by_code(act.key) or laws.resolve(act.key)
    printed = act.short or (law.short if law is not None else None) or act.key or _eu_short(act)
    short = entry.short or _same_spelling(entry.code, printed) or entry.code or printed
    document_id = entry.id or act.document_id
    if short is None or document_id is None:
        missing = "code" if short is None else "id"
        raise UsageError(f"{origin} does not say its {missing}: add '{missing}:' to its entry ({where}).")
    code = (entry.code or act.code or (law.code if law is not None else None) or short).upper()
    name = entry.name or act.name
    if entry.name is None and law is not None and act.code is None:
        name = law.name
    document = Document(
        document_id=document_id,
        document_version=identity.document_version(
            entry.version_date or act.date, sources, version, NORMALIZER_VERSION
        ),
        regulation_code=code,
        regulation_short=short,
        regulation_name=name,
        language=entry.language or act.language,
        doc_type=entry.doc_type or act.doc_type,
        source_type=entry.source_type or source_format.source_type,
        source_class=entry.source_class or source_format.source_class,
        license=entry.license,
        source_url=entry.source_url,
        use_case=entry.use_case or (),
        bundesland=entry.bundesland,
        year=entry.year if entry.year is not None else act.year,
        chunker_version=version,
    )
    known = (code, short, name, document_id, act.code, act.short, act.celex, *act.names)
    from_table = (law.code, law.short, law.name, *law.aliases) if law is not None else ()
    aliases = _aliases(entry, (text for text in (*known, *from_table) if text))
    spellings = tuple(dict.fromkeys(text for text in (act.key, *act.names, *entry.aliases) if text))
    return Loaded(document, act.provisions, Names(document_id, entry.replaces, aliases), spellings, origin, tokens)


def _aliases(entry: Entry, known: Iterable[str]) -> frozenset[str]:
    """Return the names by which a document claims older points, as alias keys.

    A name that several laws bear claims nothing by itself (DESIGN §4: AEG), even if the manifest has only one of them:
    the points may be of the other one. An operator who writes such a name under `aliases`, or says with `replaces` that
    this law took the other one's place, has decided it.
    """
    explicit = frozenset(alias_key(text) for text in entry.aliases)
    found = frozenset(alias_key(text) for text in known)
    if not entry.replaces and not explicit & shared_names():
        found -= shared_names()
    return explicit | found


@cache
def shared_names() -> frozenset[str]:
    """Return the names that several laws bear, as alias keys (ingest/shared_names.toml)."""
    table = tomllib.loads(resources.files("ingest").joinpath("shared_names.toml").read_text("utf-8"))
    return frozenset(alias_key(name) for name in (*table["codes"], *table["names"]))


def alias_key(text: str) -> str:
    """Return the form in which names are compared: letters and digits, without regard to case."""
    return re.sub(r"[\W_]+", "", text.casefold())


def _same_spelling(code: str | None, short: str | None) -> str | None:
    """The file's own spelling of the manifest's code ("GEWO" in the manifest, "GewO" in the file)."""
    return short if code and short and code.casefold() == short.casefold() else None


def _read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise SourceError(f"{file} cannot be read ({error.strerror}): check the path and its permissions.") from None


def _joined(parts: Sequence[tuple[Act, Format]]) -> tuple[Act, Format]:
    """Several files make one act: the first names it, the others (annexes) add their provisions."""
    (act, source_format), *others = parts
    added = tuple(p for other, _ in others for p in other.provisions)
    return replace(act, provisions=(*act.provisions, *added)), source_format


def _eu_short(act: Act) -> str | None:
    """The citation form of an EU act without a usual short name: kind and number as its title has them."""
    if act.celex is None or act.name is None:
        return None
    number = _EU_NUMBER.search(act.name)
    kind = _EU_KINDS.get(act.celex[5])
    if number is None or kind is None:
        return None
    return f"{kind} {number[0]}".replace("(EC)", "(EG)").replace("(EEC)", "(EWG)").replace(" No ", " Nr. ")
