"""The review page in a real browser: a person chooses by keyboard, downloads, and the import makes the link."""

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.tables.connect import Tables
from backends.vectors.store import VectorStore
from relink.inherit import HUMAN
from relink.report import link_report
from relink.review import import_decisions, review_items
from relink.review_page import review_page
from relink.run import relink
from tests.chromium import PATIENCE, Page, find_chromium, open_browser
from tests.test_relink_run import CHUNKS, FORCE, WATER, c, load, number, outcomes
from tests.test_review import HOSTILE, items, queue, store

__all__ = ["queue", "store"]


@pytest.fixture
def page() -> Iterator[Page]:
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium: install the package chromium to test the page in a browser")
    with (
        tempfile.TemporaryDirectory(prefix="fundstelle-browser-", ignore_cleanup_errors=True) as profile,
        open_browser(program, Path(profile)) as opened,
    ):
        yield opened


def downloaded(folder: Path) -> str:
    """Wait for the file of decisions and return what it holds."""
    deadline = time.monotonic() + PATIENCE
    path = folder / "decisions.jsonl"
    while not path.exists():
        assert time.monotonic() < deadline, "nothing was downloaded"
        time.sleep(0.05)
    return path.read_text("utf-8")


def test_choose_by_keyboard_download_import(queue: Tables, store: VectorStore, page: Page, tmp_path: Path) -> None:
    path = tmp_path / "review.html"
    path.write_text(review_page(items(queue, store), link_report(queue)), "utf-8")
    page.open(path, tmp_path)
    assert page.value("document.getElementById('position').textContent") == "1 of 2"
    labels = "[...document.querySelectorAll('.candidate .head')].map(e => e.textContent)"
    assert page.value(labels) == ["1  HundG § 31", "2  KatzG § 31"]
    page.press("2")
    assert page.value("document.querySelector('.chosen').dataset.number") == "2"
    page.press("j")
    assert page.value("document.getElementById('position').textContent") == "2 of 2"
    page.press("0")
    assert page.value("document.getElementById('count').textContent") == "2 decided"
    page.press("u")
    assert page.value("document.getElementById('count').textContent") == "1 decided"
    page.press("7")
    assert page.value("document.getElementById('count').textContent") == "1 decided", "there is no seventh candidate"
    page.press("f")
    assert page.value("document.getElementById('position').textContent") == "1 of 1"
    assert page.value("document.getElementById('outcome').value") == "ambiguous"
    page.value("document.getElementById('reviewer').value = 'Anna Müller'")
    page.press("d")
    text = downloaded(tmp_path)
    report = import_decisions(queue, store, ["law"], text.splitlines(), "decisions.jsonl")
    assert (report.applied, report.refused) == (1, ())
    assert outcomes(queue)[1] == (HUMAN, "KatzG § 3")
    assert json.loads(text)["reviewer"] == "Anna Müller"


def test_differences_are_marked_on_both_sides(tables: Tables, store: VectorStore, page: Page, tmp_path: Path) -> None:
    load(tables, c(1, WATER.replace("täglich", "wöchentlich"), source_regulation="VogelG"))
    relink(tables, CHUNKS)
    path = tmp_path / "review.html"
    path.write_text(review_page(items(tables, store), link_report(tables)), "utf-8")
    page.open(path, tmp_path)
    assert page.value("[...document.querySelectorAll('del')].map(e => e.textContent)") == ["wöchentlich"]
    assert page.value("[...document.querySelectorAll('ins')].map(e => e.textContent)") == ["täglich"]
    assert page.value("document.getElementById('quotation').textContent") == WATER.replace("täglich", "wöchentlich")


def test_hostile_text_does_nothing_and_nothing_is_loaded(
    tables: Tables, store: VectorStore, page: Page, tmp_path: Path
) -> None:
    load(tables, c(1, f"{FORCE} {HOSTILE}", title=HOSTILE, source_regulation="KatzG"), c(2, HOSTILE * 3))
    relink(tables, CHUNKS)
    every = review_items(tables, store, ["law"], outcomes=("ambiguous", "unmatched", "linked"))
    path = tmp_path / "review.html"
    path.write_text(review_page(every, link_report(tables)), "utf-8")
    page.open(path, tmp_path)
    page.press("j")
    assert page.value("document.title") == "fundstelle: review"
    assert page.value("document.images.length") == 0
    assert HOSTILE[:30] in page.value("document.getElementById('quotation').textContent")
    urls = [e["params"]["request"]["url"] for e in page.events if e["method"] == "Network.requestWillBeSent"]
    assert set(urls) == {path.resolve().as_uri()}
    wrong = [e for e in page.events if e["method"] in ("Runtime.exceptionThrown", "Page.javascriptDialogOpening")]
    assert wrong == []
    assert number(2) in page.value("document.querySelector('.meta + .pair') ? document.body.textContent : ''")
