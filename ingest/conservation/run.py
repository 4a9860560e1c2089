"""Check many sources for text conservation: files, folders and archives, two at a time, in a fixed order."""

import io
import tarfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, Literal

import zstandard
from lxml import etree, html

from ingest.chunker import Document, chunk_act
from ingest.conservation.compare import Conserved, Stretch, conserve
from ingest.conservation.formex import formex_stretches
from ingest.conservation.gii import gii_stretches
from ingest.conservation.legaldocml import legaldocml_stretches
from ingest.conservation.oscal import oscal_stretches
from ingest.conservation.page import has_classes, page_stretches
from ingest.conservation.raw import pdf_stretches, plain_page_stretches, text_stretches
from ingest.sources.detect import read_act
from ingest.tree import Act
from normalize.errors import FundstelleError, SourceError

FLOOR: Final = 0.9999
WORKERS: Final = 2
_WINDOW: Final = 2**27
# Files that are read ahead for each worker.
_AHEAD: Final = 4
_ARCHIVES: Final = (".tar", ".tar.zst")
_NOBODY: Final = Document("check", "0000-00-00", "CHECK", "CHECK", None)

# Cuts the bytes of a file into stretches; for files that do not mark their headings, by what the act took out of them.
_Walk = Callable[[bytes, Act], Iterator[Stretch]]

Status = Literal["conserved", "faulty", "refused", "unmeasured"]


@dataclass(frozen=True, slots=True)
class Checked:
    """One file: its format, whether its text is conserved, refused or cannot be measured (`reason`), the comparison."""

    name: str
    format: str | None
    status: Status
    chunks: int = 0
    reason: str | None = None
    conserved: Conserved | None = None

    def report(self) -> dict[str, Any]:
        """Return what `--json` prints of a file."""
        found = self.conserved
        return {
            "file": self.name,
            "format": self.format,
            "status": self.status,
            "reason": self.reason,
            "chunks": self.chunks,
            "letters": found.law if found else None,
            "lost": found.lost if found else None,
            "invented": found.invented if found else None,
            "share": found.share if found else None,
            "removed": [{"rule": r.rule, "count": r.count, "letters": r.letters} for r in found.removed]
            if found
            else [],
            "faults": [
                {"kind": f.kind, "place": f.place, "letters": f.letters, "excerpt": f.excerpt} for f in found.faults
            ]
            if found
            else [],
        }


def check_bytes(name: str, data: bytes, floor: float = FLOOR) -> Checked:
    """Check one file.

    A file that its reader refuses is `refused` with the reason; a format without a walk of its own is `unmeasured`.
    """
    try:
        act, source_format = read_act(data, name)
        texts = [chunk.payload["chunk_text"] for chunk in chunk_act(_NOBODY, act.provisions)]
    except FundstelleError as error:
        return Checked(name, None, "refused", reason=str(error))
    stretches = stretches_of(source_format.name, data, act)
    if stretches is None:
        reason = f"There is no second way to read {source_format.name} against which to check its reader."
        return Checked(name, source_format.name, "unmeasured", len(texts), reason)
    conserved = conserve(stretches, texts)
    status: Status = "conserved" if conserved.keeps(floor) else "faulty"
    return Checked(name, source_format.name, status, len(texts), conserved=conserved)


def stretches_of(format_name: str, data: bytes, act: Act) -> Iterator[Stretch] | None:
    """Return the stretches of a file of a format that gives `act`, None where there is no second way to read it."""
    walk = _WALKS.get(format_name)
    return walk(data, act) if walk is not None else None


def check_sources(paths: Sequence[Path], *, floor: float = FLOOR, workers: int = WORKERS) -> Iterator[Checked]:
    """Check files, folders (their files by name, hidden ones left out) and archives (.tar, .tar.zst) in this order.

    Few files are in memory at once, however large an archive is. Raises SourceError for a path that is not there or an
    archive that is damaged.
    """
    files = ((name, data, floor) for name, data in source_files(paths))
    if workers <= 1:
        yield from (check_bytes(*file) for file in files)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting: deque[Future[Checked]] = deque()
        for file in files:
            waiting.append(pool.submit(check_bytes, *file))
            if len(waiting) >= workers * _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def source_files(paths: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of every file. Raises SourceError as `check_sources`."""
    for path in paths:
        try:
            if path.is_dir():
                for file in sorted(p for p in path.rglob("*") if p.is_file()):
                    relative = file.relative_to(path)
                    if not any(part.startswith(".") for part in relative.parts):
                        yield relative.as_posix(), file.read_bytes()
            elif path.name.endswith(_ARCHIVES):
                yield from _members(path)
            else:
                yield path.name, path.read_bytes()
        except OSError as error:
            reason = error.strerror or error
            raise SourceError(f"{path} cannot be read ({reason}): check the path and its permissions.") from None


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with path.open("rb") as file:
            stream: Any = file
            if path.name.endswith(".zst"):
                stream = io.BufferedReader(zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(file))
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                for member in archive:
                    content = archive.extractfile(member) if member.isfile() else None
                    if content is not None:
                        yield member.name, content.read()
    except (tarfile.TarError, zstandard.ZstdError, EOFError) as error:
        raise SourceError(f"{path} is no complete archive ({error}): get it anew.") from None


def _xml(walk: Callable[[etree._Element], Iterator[Stretch]]) -> _Walk:
    def stretches(data: bytes, act: Act) -> Iterator[Stretch]:
        parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True)
        return walk(etree.fromstring(data, parser))

    return stretches


def _page(data: bytes, act: Act) -> Iterator[Stretch]:
    """A page that says by class what a paragraph is has a walk of its own; any other goes by lines."""
    if not has_classes(data):
        return plain_page_stretches(data, act)
    parser = html.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    return page_stretches(html.document_fromstring(data, parser=parser))


_WALKS: Final[dict[str, _Walk]] = {
    "gii": _xml(gii_stretches),
    "formex": _xml(formex_stretches),
    "legaldocml": _xml(legaldocml_stretches),
    "eurlex_html": _page,
    "pdf": pdf_stretches,
    "text": text_stretches,
    "oscal": lambda data, act: oscal_stretches(data),
}


@dataclass(slots=True)
class Totals:
    """What a check found in all; files are counted by status, removals by rule."""

    files: dict[str, int]
    letters: int = 0
    lost: int = 0
    invented: int = 0
    chunks: int = 0
    removed: dict[str, list[int]] | None = None

    def add(self, checked: Checked) -> None:
        """Count one file."""
        self.files[checked.status] = self.files.get(checked.status, 0) + 1
        self.chunks += checked.chunks
        found = checked.conserved
        if found is None:
            return
        self.letters += found.law
        self.lost += found.lost
        self.invented += found.invented
        for removed in found.removed:
            self.removed = self.removed or {}
            counted = self.removed.setdefault(removed.rule, [0, 0])
            counted[0] += removed.count
            counted[1] += removed.letters

    @property
    def ok(self) -> bool:
        """Whether no file is below the floor."""
        return not self.files.get("faulty")

    def report(self) -> dict[str, Any]:
        """Return the totals as `--json` prints them."""
        removed = self.removed or {}
        return {
            "ok": self.ok,
            "files": dict(sorted(self.files.items())),
            "chunks": self.chunks,
            "letters": self.letters,
            "lost": self.lost,
            "invented": self.invented,
            "share": 1.0 - self.lost / self.letters if self.letters else 1.0,
            "removed": [
                {"rule": rule, "count": count, "letters": letters} for rule, (count, letters) in sorted(removed.items())
            ],
        }
