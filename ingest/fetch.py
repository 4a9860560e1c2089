"""Get the official file of a law: XML of gesetze-im-internet.de, or an EU act by CELEX number.

A file is replaced only by one that was read completely, is law and can be read. Beside it lies a small JSON file with
its checksum and ETag, so that the next call only asks whether it has changed.
"""

import contextlib
import hashlib
import io
import json
import os
import re
import time
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

from ingest.sources.detect import Format, detect_format
from normalize.errors import SourceError
from normalize.laws import LawTable


@dataclass(frozen=True, slots=True)
class BaseUrls:
    """Where the official files are. `{slug}`, `{celex}` and `{language}` stand for what is asked for.

    `gii`: the federal laws, one zip with one XML each, under the name of the law in the addresses of the site ("bdsg",
    "sgb_5"). `celex`: EU acts by CELEX number; the Publications Office gives the form that `celex_accept` asks for
    (`application/xhtml+xml`, or `application/zip;mtype=fmx4` for Formex). EUR-Lex itself answers programs with a
    challenge page; its address would be `https://eur-lex.europa.eu/legal-content/{language}/TXT/HTML/?uri=CELEX:{celex}`.
    """

    gii: str = "https://www.gesetze-im-internet.de/{slug}/xml.zip"
    celex: str = "https://publications.europa.eu/resource/celex/{celex}"
    celex_accept: str = "application/xhtml+xml"


OFFICIAL = BaseUrls()


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one fetch: bytes of the answer and of the file in it, tries, and seconds.

    `backoff` is the wait before the second try, doubled before each further one; a server that says how long to wait is
    obeyed up to `longest_wait`. `silence` is how long a connection may say nothing, `deadline` bounds it all.
    """

    answer_bytes: int = 50_000_000
    file_bytes: int = 100_000_000
    tries: int = 4
    backoff: float = 1.0
    longest_wait: float = 60.0
    silence: float = 30.0
    deadline: float = 300.0


LIMITS = Limits()

_CELEX = re.compile(r"[0-9CE]\d{4}[A-Z]{1,2}\d{4}(?:\(\d{2}\))?(?:R\(\d{2}\))?(?:-\d{8})?")
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_GONE = frozenset({404, 410})
_MOST_MEMBERS = 10_000
_SIDECAR = ".fetch.json"
_AGENT = "fundstelle (official law texts)"


class FetchError(SourceError):
    """An official file could not be got, or what came is not it; an older file stays as it was."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """An official file on disk: sha256 hex of its bytes, the server's ETag, and whether this call changed it."""

    path: Path
    sha256: str
    etag: str | None
    changed: bool


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is asked for: its name in messages, the stem of its file, and how to ask."""

    name: str
    stem: str
    url: str
    headers: tuple[tuple[str, str], ...]
    is_gii: bool


@dataclass(frozen=True, slots=True)
class _Kept:
    """What the file beside an official file says of it."""

    file: str
    url: str
    sha256: str
    etag: str | None


def fetch(
    code: str,
    target_dir: Path,
    *,
    base_urls: BaseUrls = OFFICIAL,
    client: httpx.Client | None = None,
    laws: LawTable | None = None,
    language: str = "de",
    limits: Limits = LIMITS,
) -> Fetched:
    """Get the official file of a law into `target_dir`, if it is new or has changed.

    `code` is a CELEX number ("32016R0679"), an EU act that `laws` knows ("DSGVO"), else a federal law as
    gesetze-im-internet.de writes it ("bdsg", "sgb_5"). `language` is that of an EU act. A `client` of the caller's own
    must follow redirects.

    Raises FetchError if it cannot be got, SourceError if what came is no law that can be read.
    """
    wanted = _wanted(code, base_urls, laws or LawTable.builtin(), language)
    kept = _kept(target_dir, wanted)
    with contextlib.ExitStack() as stack:
        own = client or stack.enter_context(
            httpx.Client(timeout=limits.silence, follow_redirects=True, max_redirects=5, headers={"User-Agent": _AGENT})
        )
        answer = _get(own, wanted, kept.etag if kept else None, limits)
    if answer is None:
        if kept is None:
            raise FetchError(f"{wanted.url} says 'not changed' to a first request: try again, or get it by hand.")
        return Fetched(target_dir / kept.file, kept.sha256, kept.etag, changed=False)
    body, etag = answer
    content = _unzipped(body, wanted, limits) if body.startswith(b"PK") else body
    source_format = _checked(content, wanted)
    file = wanted.stem + (".html" if b"<html" in content[:4096].lower() else ".xml")
    sha256 = hashlib.sha256(content).hexdigest()
    changed = kept is None or kept.sha256 != sha256 or kept.file != file
    try:
        target_dir.mkdir(parents=True, exist_ok=True)
        if changed:
            _write(target_dir / file, content)
        record = asdict(_Kept(file, wanted.url, sha256, etag)) | {"format": source_format.name}
        _write(_sidecar(target_dir, wanted), (json.dumps(record, indent=1, sort_keys=True) + "\n").encode())
    except OSError as error:
        raise FetchError(f"{target_dir} cannot be written ({error.strerror}): check path, rights and space.") from None
    return Fetched(target_dir / file, sha256, etag, changed)


def _wanted(code: str, base_urls: BaseUrls, laws: LawTable, language: str) -> _Wanted:
    name = code.strip()
    law = laws.resolve(name) or laws.by_code(name.upper())
    celex = law.celex if law is not None and law.celex else name.upper()
    if _CELEX.fullmatch(celex):
        if not re.fullmatch(r"[a-z]{2,3}", language):
            raise FetchError(f"'{language}' is no language: write it like 'de'.")
        url = base_urls.celex.replace("{celex}", celex).replace("{language}", language.upper())
        headers = (("Accept", base_urls.celex_accept), ("Accept-Language", language))
        return _Wanted(name, f"{re.sub('[()]+', '_', celex)}_{language}", url, headers, is_gii=False)
    # The site writes names in small letters, and "_" for all that is no letter of a to z or figure ("SGB 5", "BÄO").
    slug = re.sub(r"[^a-z0-9-]", "_", name.lower())
    if not re.search(r"[a-z0-9]", slug) or len(slug) > 100:
        raise FetchError(f"'{code}' is no name of a law: give one like 'BDSG', 'SGB 5' or a CELEX number.")
    url = base_urls.gii.replace("{slug}", slug)
    return _Wanted(name, slug, url, (("Accept", "application/zip"),), is_gii=True)


# --- Disk ----------------------------------------------------------------------------------------------------------


def _sidecar(target_dir: Path, wanted: _Wanted) -> Path:
    return target_dir / (wanted.stem + _SIDECAR)


def _kept(target_dir: Path, wanted: _Wanted) -> _Kept | None:
    """Return what is known of an earlier file, if it is still there, unchanged and from the same address."""
    try:
        record = json.loads(_sidecar(target_dir, wanted).read_bytes())
        kept = _Kept(record["file"], record["url"], record["sha256"], record["etag"])
        if kept.file not in (f"{wanted.stem}.xml", f"{wanted.stem}.html") or kept.url != wanted.url:
            return None
        if hashlib.sha256((target_dir / kept.file).read_bytes()).hexdigest() != kept.sha256:
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    is_tag = isinstance(kept.etag, str) and re.fullmatch(r'(?:W/)?"[\x21\x23-\x7e]{0,500}"', kept.etag)
    return kept if is_tag else _Kept(kept.file, kept.url, kept.sha256, None)


def _write(path: Path, data: bytes) -> None:
    """Write a file so that it is there as a whole or not at all."""
    partial = path.with_name(f".{path.name}.part")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


# --- Net -----------------------------------------------------------------------------------------------------------


class _TryAgainError(Exception):
    """A try failed in a way that may pass; `wait` is how long the server asks to wait."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


def _get(client: httpx.Client, wanted: _Wanted, etag: str | None, limits: Limits) -> tuple[bytes, str | None] | None:
    """Return body and ETag of the answer, or None if the server says that nothing has changed."""
    until = time.monotonic() + limits.deadline
    for number in range(1, limits.tries + 1):
        try:
            return _try(client, wanted, etag, limits, until)
        except _TryAgainError as failure:
            reason = str(failure)
            wait = limits.backoff * 2 ** (number - 1) if failure.wait is None else failure.wait
        wait = min(wait, limits.longest_wait)
        if number == limits.tries or time.monotonic() + wait > until:
            break
        time.sleep(wait)
    raise FetchError(
        f"{wanted.name} could not be got from {wanted.url} in {number} tries ({reason}): "
        "try again later, or get it by hand."
    )


def _try(
    client: httpx.Client, wanted: _Wanted, etag: str | None, limits: Limits, until: float
) -> tuple[bytes, str | None] | None:
    # Packed answers would hide their size until they are unpacked.
    headers = [*wanted.headers, ("Accept-Encoding", "identity"), *([("If-None-Match", etag)] if etag else [])]
    try:
        with client.stream("GET", wanted.url, headers=headers) as response:
            if response.status_code == httpx.codes.NOT_MODIFIED and etag:
                return None
            _check_status(response, wanted)
            return b"".join(_body(response, wanted, limits, until)), response.headers.get("ETag")
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.TooManyRedirects) as error:
        raise FetchError(f"{wanted.url} cannot be asked ({error}): check the base address in the settings.") from None
    except httpx.TimeoutException:
        raise _TryAgainError("no answer in time") from None
    except httpx.HTTPError as error:
        raise _TryAgainError(f"connection failed: {error}" if str(error) else "connection failed") from None


def _check_status(response: httpx.Response, wanted: _Wanted) -> None:
    status = response.status_code
    if status == httpx.codes.OK:
        return
    if status in _AGAIN:
        after = response.headers.get("Retry-After", "")
        raise _TryAgainError(f"HTTP {status}", float(after) if after.isascii() and after.isdigit() else None)
    if status in _GONE:
        how = "as in its address at gesetze-im-internet.de" if wanted.is_gii else "its CELEX number"
        raise FetchError(f"There is no {wanted.name} at {wanted.url} (HTTP {status}): write {how}.")
    raise FetchError(f"{wanted.url} answers with HTTP {status} instead of the file: get {wanted.name} by hand.")


def _body(response: httpx.Response, wanted: _Wanted, limits: Limits, until: float) -> Iterator[bytes]:
    """Yield the answer piece by piece, as long as it is neither too large nor too slow."""
    size = 0
    for piece in response.iter_bytes():
        size += len(piece)
        if size > limits.answer_bytes:
            raise FetchError(
                f"{wanted.url} answers with more than {limits.answer_bytes:,} bytes, which no law has: refused."
            )
        if time.monotonic() > until:
            raise FetchError(f"{wanted.url} answers too slowly (over {limits.deadline:g} s): try again later.")
        yield piece


# --- Content -------------------------------------------------------------------------------------------------------


def _unzipped(archive: bytes, wanted: _Wanted, limits: Limits) -> bytes:
    """Return the one XML of an archive, from memory: no name in it ever becomes a path.

    Formex archives also hold a list of their contents (`.doc.xml`), which is no law.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            members = opened.infolist()
            if len(members) > _MOST_MEMBERS:
                raise FetchError(f"The archive at {wanted.url} holds {len(members):,} files: refused.")
            for member in members:
                if ".." in re.split(r"[/\\]", member.filename) or re.match(r"[/\\]|[A-Za-z]:", member.filename):
                    raise FetchError(f"The archive at {wanted.url} holds a file outside itself: refused.")
            laws = [m for m in members if m.filename.lower().endswith(".xml") and not m.filename.endswith(".doc.xml")]
            if len(laws) != 1:
                raise FetchError(f"The archive at {wanted.url} holds {len(laws)} XML files, not one: get it by hand.")
            if laws[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise FetchError(f"The archive at {wanted.url} is packed in an unusual way: get it by hand.")
            with opened.open(laws[0]) as file:
                content = file.read(limits.file_bytes + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        raise FetchError(f"The archive at {wanted.url} is damaged ({error}): try again, or get it by hand.") from None
    if len(content) > limits.file_bytes:
        raise FetchError(f"The file at {wanted.url} unpacks to over {limits.file_bytes:,} bytes: refused.")
    return content


def _checked(content: bytes, wanted: _Wanted) -> Format:
    """Return the format of the file, once its reader has read it. Raises SourceError if it is none, or another's."""
    origin = f"What {wanted.url} sent"
    source_format = detect_format(content, origin)
    if (source_format.name == "gii") != wanted.is_gii:
        raise FetchError(f"{origin} is {source_format.name}, not the official file of {wanted.name}: refused.")
    source_format.read(content, origin)
    return source_format
