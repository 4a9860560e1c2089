"""Getting official files: from a server on the loopback interface that can fail in every way a real one does."""

import asyncio
import hashlib
import io
import json
import os
import socket
import threading
import time
import zipfile
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ingest.fetch import OFFICIAL, BaseUrls, Fetched, FetchError, Limits, fetch
from normalize.errors import SourceError

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Answer = Callable[[Scope, Receive, Send], Awaitable[None]]

LAW = (
    b'<dokumente builddate="20240704120000" doknr="BJNRTEST"><norm><metadaten><jurabk>TestG</jurabk></metadaten></norm>'
    b"<norm><metadaten><jurabk>TestG</jurabk><enbez>\xc2\xa7 1</enbez></metadaten><textdaten><text><Content>"
    b"<P>Es gilt.</P></Content></text></textdaten></norm></dokumente>"
)
AMENDED = LAW.replace(b"Es gilt.", b"Es gilt nicht.")
PAGE = b"<!DOCTYPE html><html><body><h1>Wartung</h1></body></html>"
FAST = Limits(tries=3, backoff=0.01, longest_wait=0.05, silence=2, deadline=5)


@dataclass
class Site:
    """Answers each request with the next of `answers` (the last one for ever), and keeps the requests."""

    answers: list[Answer] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    url: str = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.requests.append(Request(scope))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        await answer(scope, receive, send)

    @property
    def base_urls(self) -> BaseUrls:
        return BaseUrls(f"{self.url}/{{slug}}/xml.zip", f"{self.url}/celex/{{celex}}?lang={{language}}")


@pytest.fixture(scope="module")
def running() -> Iterator[Site]:
    site = Site()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        site.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = uvicorn.Server(uvicorn.Config(site, log_level="critical", lifespan="off", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        until = time.monotonic() + 10
        while not server.started:
            assert time.monotonic() < until, "the test server did not start"
            time.sleep(0.01)
        yield site
        server.should_exit = server.force_exit = True
        thread.join(timeout=10)


@pytest.fixture
def site(running: Site) -> Site:
    running.answers, running.requests = [], []
    return running


def zipped(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return made.getvalue()


def law(data: bytes = LAW, etag: str | None = '"v1"') -> Response:
    return Response(zipped(("BJNRTEST.xml", data)), headers={"ETag": etag} if etag else {})


def get(site: Site, folder: Path, code: str = "TestG", limits: Limits = FAST) -> Fetched:
    return fetch(code, folder, base_urls=site.base_urls, limits=limits)


# --- What works ----------------------------------------------------------------------------------------------------


def test_a_new_file_is_kept_with_checksum_and_etag(site: Site, tmp_path: Path) -> None:
    site.answers = [law()]
    got = get(site, tmp_path / "new" / "folder")
    assert got.path.read_bytes() == LAW
    assert (got.path.name, got.etag, got.changed) == ("testg.xml", '"v1"', True)
    assert got.sha256 == hashlib.sha256(LAW).hexdigest()
    record = json.loads((got.path.parent / "testg.fetch.json").read_text("utf-8"))
    assert record == {
        "etag": '"v1"',
        "file": "testg.xml",
        "format": "gii",
        "sha256": got.sha256,
        "url": f"{site.url}/testg/xml.zip",
    }
    assert sorted(path.name for path in got.path.parent.iterdir()) == ["testg.fetch.json", "testg.xml"]
    assert "if-none-match" not in site.requests[0].headers


def test_the_second_call_only_asks_whether_it_changed(site: Site, tmp_path: Path) -> None:
    site.answers = [law(), Response(status_code=304), law(AMENDED, '"v2"')]
    first, second, third = (get(site, tmp_path) for _ in range(3))
    assert [request.headers.get("if-none-match") for request in site.requests] == [None, '"v1"', '"v1"']
    assert second == replace(first, changed=False)
    assert (third.changed, third.etag, third.path.read_bytes()) == (True, '"v2"', AMENDED)


def test_the_same_file_under_a_new_etag_has_not_changed(site: Site, tmp_path: Path) -> None:
    site.answers = [law(), law(etag='"v2"'), Response(status_code=304)]
    get(site, tmp_path)
    assert (get(site, tmp_path).changed, get(site, tmp_path).etag) == (False, '"v2"')


def test_without_an_etag_the_file_is_got_anew_each_time(site: Site, tmp_path: Path) -> None:
    site.answers = [law(etag=None), law(etag=None), law(AMENDED, None)]
    assert [get(site, tmp_path).changed for _ in range(3)] == [True, False, True]


@pytest.mark.parametrize("damage", ["edited", "removed", "sidecar"])
def test_a_file_that_is_no_longer_the_official_one_is_got_anew(site: Site, tmp_path: Path, damage: str) -> None:
    site.answers = [law()]
    path = get(site, tmp_path).path
    if damage == "edited":
        path.write_bytes(LAW + b" ")
    elif damage == "removed":
        path.unlink()
    else:
        (tmp_path / "testg.fetch.json").write_text('{"file": "../x.xml"', "utf-8")
    assert get(site, tmp_path).changed and path.read_bytes() == LAW
    assert "if-none-match" not in site.requests[1].headers


@pytest.mark.parametrize(
    ("code", "path"),
    [
        ("BDSG", "/bdsg/xml.zip"),
        ("SGB 5", "/sgb_5/xml.zip"),
        ("BÄO", "/b_o/xml.zip"),
        ("../../etc/passwd", "/______etc_passwd/xml.zip"),
    ],
)
def test_the_address_of_a_federal_law(site: Site, tmp_path: Path, code: str, path: str) -> None:
    site.answers = [law()]
    got = get(site, tmp_path, code)
    assert site.requests[0].url.path == path
    assert got.path.resolve().parent == tmp_path.resolve()


@pytest.mark.corpus
@pytest.mark.parametrize("code", ["32016R0679", "32016r0679", "DSGVO", "Datenschutz-Grundverordnung"])
def test_an_eu_act_by_celex_number_or_name(site: Site, tmp_path: Path, shared: Path, code: str) -> None:
    act = next(path for path in sorted((shared / "corpus/eurlex-de").rglob("*.xml")) if b"<ACT" in path.read_bytes())
    archive = zipped(("L_1.doc.xml", b"<DOC/>"), ("L_1.xml", act.read_bytes()))
    site.answers = [RedirectResponse("/resource/1", 303), Response(archive, headers={"ETag": 'W/"7"'})]
    got = get(site, tmp_path, code)
    assert site.requests[0].url.path == "/celex/32016R0679" and site.requests[0].url.query == "lang=DE"
    assert [site.requests[0].headers[name] for name in ("accept", "accept-language")] == ["application/xhtml+xml", "de"]
    assert (got.path.name, got.path.read_bytes()) == ("32016R0679_de.xml", act.read_bytes())


def test_the_official_addresses_are_secure_and_complete() -> None:
    assert OFFICIAL.gii.startswith("https://www.gesetze-im-internet.de/") and "{slug}" in OFFICIAL.gii
    assert OFFICIAL.celex.startswith("https://publications.europa.eu/") and "{celex}" in OFFICIAL.celex


def test_a_client_of_the_caller_is_used_and_left_open(site: Site, tmp_path: Path) -> None:
    site.answers = [law()]
    with httpx.Client(headers={"User-Agent": "mine"}) as client:
        fetch("TestG", tmp_path, base_urls=site.base_urls, client=client, limits=FAST)
        assert not client.is_closed
    assert site.requests[0].headers["user-agent"] == "mine"


# --- What passes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_passing_fault_is_tried_again(site: Site, tmp_path: Path, status: int) -> None:
    site.answers = [Response(status_code=status), law()]
    assert get(site, tmp_path).changed
    assert len(site.requests) == 2


def test_a_server_that_says_how_long_to_wait_is_obeyed(site: Site, tmp_path: Path) -> None:
    site.answers = [Response(status_code=429, headers={"Retry-After": "1"}), law()]
    started = time.monotonic()
    get(site, tmp_path, limits=replace(FAST, longest_wait=5))
    assert time.monotonic() - started >= 1


def test_but_not_for_ever(site: Site, tmp_path: Path) -> None:
    site.answers = [Response(status_code=503, headers={"Retry-After": "86400"}), law()]
    with pytest.raises(FetchError, match="in 1 tries"):
        get(site, tmp_path, limits=replace(FAST, longest_wait=1e6))


async def cut_off(scope: Scope, receive: Receive, send: Send) -> None:
    """Promise more than is sent, then close."""
    body = zipped(("a.xml", LAW))
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})
    send.__self__.transport.close()  # type: ignore[attr-defined]  # uvicorn's own object behind `send`


async def drip(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(100):
        await send({"type": "http.response.body", "body": b"P", "more_body": True})
        await asyncio.sleep(0.05)


async def silent(scope: Scope, receive: Receive, send: Send) -> None:
    await asyncio.sleep(1)


def test_a_body_cut_off_is_tried_again(site: Site, tmp_path: Path) -> None:
    site.answers = [cut_off, law()]
    assert get(site, tmp_path).path.read_bytes() == LAW


def test_a_silent_server_is_tried_again(site: Site, tmp_path: Path) -> None:
    site.answers = [silent, law()]
    assert get(site, tmp_path, limits=replace(FAST, silence=0.3)).path.read_bytes() == LAW


# --- What is refused -------------------------------------------------------------------------------------------------

DOUBLE = zipped(("a.xml", LAW), ("b.xml", LAW))
BROKEN = zipped(("a.xml", LAW), method=zipfile.ZIP_STORED).replace(b"Es gilt.", b"Es gilt!")
OTHER = b"<ACT><BIB.INSTANCE/></ACT>"


@pytest.mark.parametrize(
    ("answer", "reason", "requests"),
    [
        (Response(status_code=404), "There is no TestG", 1),
        (Response(status_code=410), "There is no TestG", 1),
        (Response(status_code=202), "HTTP 202", 1),  # the challenge page of EUR-Lex
        (Response(status_code=403), "HTTP 403", 1),
        (Response(status_code=304), "HTTP 304", 1),  # nobody asked
        (Response(status_code=500), "in 3 tries .HTTP 500", 3),
        (cut_off, "in 3 tries .connection failed", 3),
        (drip, "too slowly", 1),
        (RedirectResponse("/again"), "Exceeded maximum", 6),
        (Response(PAGE, media_type="text/html"), "HTML", 1),
        (Response(zipped(("a.xml", PAGE))), "HTML", 1),
        (Response(b""), "is empty", 1),
        (Response(b"PK\x03\x04 no archive"), "damaged", 1),
        (Response(zipped(("a.xml", LAW))[:-30]), "damaged", 1),
        (Response(BROKEN), "damaged", 1),  # the checksum in the archive
        (Response(zipped(("a.xml", LAW), method=zipfile.ZIP_BZIP2)), "unusual way", 1),
        (Response(zipped(("../../a.xml", LAW))), "outside itself", 1),
        (Response(zipped(("a.xml", LAW), ("..\\b.gif", b""))), "outside itself", 1),
        (Response(zipped(("/etc/a.xml", LAW))), "outside itself", 1),
        (Response(zipped(("C:\\a.xml", LAW))), "outside itself", 1),
        (Response(DOUBLE), "2 XML files", 1),
        (Response(zipped(("readme.txt", b"x"))), "0 XML files", 1),
        (Response(zipped(("a.xml", b" " * 2_000_000))), "unpacks to over", 1),  # a bomb: 2 kB that become 2 MB
        (Response(b" " * 200_000), "answers with more than", 1),
        (Response(zipped(("a.xml", LAW[:-20]))), "not well-formed", 1),
        (Response(zipped(("a.xml", OTHER))), "is formex, not the official file", 1),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_the_file_is_refused_and_the_old_file_stays(
    site: Site, tmp_path: Path, answer: Answer, reason: str, requests: int
) -> None:
    limits = replace(FAST, answer_bytes=100_000, file_bytes=1_000_000, deadline=1)
    site.answers = [law(etag=None)]
    old = get(site, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    site.answers, site.requests = [answer], []
    with pytest.raises(SourceError, match=reason) as raised:
        get(site, tmp_path, limits=limits)
    assert "\n" not in str(raised.value)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before and old.path.name in before
    assert not list(tmp_path.parent.glob("a.xml")) and len(site.requests) == requests


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        base = BaseUrls(gii=f"http://127.0.0.1:{taken.getsockname()[1]}/{{slug}}")
        with pytest.raises(FetchError, match=r"in 3 tries \(connection failed"):
            fetch("TestG", tmp_path / "x", base_urls=base, limits=FAST)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("code", "base", "language", "reason"),
    [
        ("", OFFICIAL, "de", "no name of a law"),
        ("§§", OFFICIAL, "de", "no name of a law"),
        ("x" * 200, OFFICIAL, "de", "no name of a law"),
        ("DSGVO", OFFICIAL, "de\r\nX: y", "no language"),
        ("BDSG", BaseUrls(gii="ftp://127.0.0.1/{slug}"), "de", "check the base address"),
    ],
)
def test_what_cannot_be_asked(tmp_path: Path, code: str, base: BaseUrls, language: str, reason: str) -> None:
    with pytest.raises(FetchError, match=reason):
        fetch(code, tmp_path, base_urls=base, language=language, limits=FAST)


def test_a_write_that_fails_leaves_the_old_file(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site.answers = [law(), law(AMENDED, '"v2"')]
    old = get(site, tmp_path)

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FetchError, match="No space left"):
        get(site, tmp_path)
    assert old.path.read_bytes() == LAW
    assert sorted(path.name for path in tmp_path.iterdir()) == ["testg.fetch.json", "testg.xml"]
