"""OSCAL catalogs: controls cited by their labels, requirements told from guidance, parameters as they are printed."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest.chunker import Chunk, Document, chunk_act
from ingest.compose import compose, write_sub
from ingest.sources.oscal import is_oscal, read_oscal
from ingest.tree import Act, Provision
from normalize.errors import SourceError

LOW = "NIST_SP-800-53_rev5_LOW-baseline-resolved-profile_catalog-min_2024.json"
FULL = "NIST_SP-800-53_rev5_catalog-min_2021-06.json"
BSI = "BSI-Stand-der-Technik-Kernel-catalog_2026-07.json"


def catalog(*controls: dict[str, Any], **more: Any) -> bytes:
    metadata = {"title": "Test Framework", "last-modified": "2024-02-13T17:43:40Z", "oscal-version": "1.1.2"}
    group = {"id": "ac", "title": "Access Control", "controls": list(controls)}
    return json.dumps({"catalog": {"uuid": "1", "metadata": metadata, "groups": [group], **more}}).encode()


def control(statement: str | dict[str, Any] = "Do the things of the kind.", **more: Any) -> dict[str, Any]:
    part = {"name": "statement", "prose": statement} if isinstance(statement, str) else statement
    return {"id": "ac-1", "title": "Policy", "parts": [part], **more}


def item(label: str, prose: str = "", *parts: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"name": "item", "props": [{"name": "label", "value": label}], "parts": list(parts)}
    return {**made, "prose": prose} if prose else made


def act(*controls: dict[str, Any]) -> Act:
    return read_oscal(catalog(*controls), "test.json")


def text(provision: Provision) -> str:
    return compose(provision.absaetze[0].blocks, provision.style).text


def printed(prose: str, *params: dict[str, Any]) -> str:
    return text(act(control(prose, params=list(params))).provisions[0])


# --- Names ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("identifier", "props", "expected"),
    [
        ("ac-2.1", [{"name": "label", "value": "AC-2(1)"}, {"name": "sort-id", "value": "ac-02.01"}], "AC-2(1)"),
        # the label of another publication is not the control's own
        (
            "ac-2",
            [{"name": "label", "value": "AC-02", "class": "sp800-53a"}, {"name": "label", "value": "AC-2"}],
            "AC-2",
        ),
        ("ac-2", [], "AC-2"),  # no label: the id as people cite it
        ("ASST.1.1", [], "ASST.1.1"),
    ],
)
def test_a_control_is_cited_by_its_label(identifier: str, props: list[dict[str, str]], expected: str) -> None:
    first = act(control(id=identifier, props=props)).provisions[0]
    assert (first.kind, first.article, first.style, first.heading) == ("norm", expected, "article", "Policy")


def test_two_controls_with_one_label_are_cited_by_their_ids() -> None:
    label = [{"name": "label", "value": "1"}]
    read = act(control(id="a-1", props=label), control(id="b-1", props=label))
    assert [p.article for p in read.provisions] == ["A-1", "B-1"]


def test_the_titles_above_a_control_are_its_context() -> None:
    read = act(control(controls=[control(id="ac-1.1", title="More")]))
    assert [(p.article, p.context) for p in read.provisions] == [
        ("AC-1", ("Access Control",)),
        ("AC-1.1", ("Access Control", "AC-1 Policy")),
    ]


def test_a_withdrawn_control_is_a_tombstone_with_a_note() -> None:
    props = [{"name": "status", "value": "withdrawn"}]
    links = [{"rel": "incorporated-into", "href": "#ac-1_smt.k"}, {"rel": "related", "href": "#ac-1"}]
    parts = [{"name": "statement", "prose": "By tailoring."}]
    gone = act(control(), {"id": "ac-2", "props": props, "links": links, "parts": parts}).provisions[1]
    assert (gone.article, gone.kind, gone.absaetze) == ("AC-2", "norm", ())
    assert gone.footnotes == ("By tailoring.", "incorporated into AC-1k")


# --- Statement and what is none ------------------------------------------------------------------------------------


def test_labels_of_parts_are_units() -> None:
    statement = {
        "name": "statement",
        "parts": [
            item("a.", "Write:", item("1.", "a policy that", item("(a)", "is short; and"), item("(b)", "is clear;"))),
            item("b.", "", item("1.", "Read it.")),
        ],
    }
    composed = compose(act(control(statement)).provisions[0].absaetze[0].blocks, "article")
    assert composed.text == "a. Write:\n1. a policy that\n(a) is short; and\n(b) is clear;\nb.\n1. Read it."
    assert {write_sub(u.path): composed.text[u.start : u.end] for u in composed.units} == {
        "lit. a": "a. Write:\n1. a policy that\n(a) is short; and\n(b) is clear;",
        "lit. a Nr. 1": "1. a policy that\n(a) is short; and\n(b) is clear;",
        "lit. a Nr. 1 lit. a": "(a) is short; and",
        "lit. a Nr. 1 lit. b": "(b) is clear;",
        "lit. b": "b.\n1. Read it.",
        "lit. b Nr. 1": "1. Read it.",
    }


def test_what_is_no_requirement_never_bears_the_control_s_own_fundstelle() -> None:
    method = {"name": "assessment-method", "props": [{"name": "method", "value": "TEST"}]}
    parts = [
        {"name": "statement", "prose": "Do it."},
        {"name": "guidance", "prose": "It may help."},
        {**method, "parts": [{"name": "assessment-objects", "prose": "logs\n\nmechanisms"}]},
    ]
    guideline = {"id": "x", "label": "events", "guidelines": [{"prose": "events are defined;"}]}
    read = act(control(parts=parts, params=[guideline]))
    assert [(p.kind, p.article, text(p)) for p in read.provisions] == [
        ("norm", "AC-1", "Do it."),
        ("part", "AC-1 guidance", "It may help."),
        ("part", "AC-1 assessment-method TEST", "logs\nmechanisms"),
        ("part", "AC-1 params", "x events are defined;"),
    ]


def test_entries_whose_labels_are_no_units_have_no_sentences_either() -> None:
    objective = {"name": "assessment-objective", "parts": [item("AC-01a.[01]", "one."), item("AC-01a.[02]", "two.")]}
    provision = act(control(parts=[objective])).provisions[1]
    composed = compose(provision.absaetze[0].blocks, "article")
    assert (composed.text, composed.units) == ("AC-01a.[01] one.\nAC-01a.[02] two.", ())


def test_a_group_s_own_text_stands_before_its_controls() -> None:
    group = {"id": "pm", "title": "Program", "parts": [{"name": "overview", "title": "About", "prose": "All of it."}]}
    read = read_oscal(catalog(control(), groups=[{**group, "controls": [control(id="pm-1")]}]), "test.json")
    assert [(p.kind, p.article, p.heading) for p in read.provisions] == [
        ("part", "PM overview", "About"),
        ("norm", "PM-1", "Policy"),
    ]


# --- Parameters and mark-up ----------------------------------------------------------------------------------------

SELECT = {"id": "s", "select": {"how-many": "one-or-more", "choice": ["the system", "{{ insert: param, p }}"]}}


@pytest.mark.parametrize(
    ("param", "expected"),
    [
        ({"id": "p", "label": "organization-defined events"}, "[Assignment: organization-defined events]"),
        ({"id": "p", "label": "events"}, "[Assignment: events]"),
        # the catalog's mark for an organization-defined parameter
        (
            {"id": "p", "label": "events", "props": [{"name": "label", "value": "AC-01_ODP[01]"}]},
            "[Assignment: organization-defined events]",
        ),
        (
            {"id": "p", "label": "events", "props": [{"name": "alt-label", "value": "kinds of events"}]},
            "[Assignment: kinds of events]",
        ),
        ({"id": "p", "select": {"choice": ["remove", "disable"]}}, "[Selection: remove; disable]"),
        ({"id": "p", "label": "period", "values": ["30 days"]}, "30 days"),
        ({"id": "p"}, "[p]"),
        ({"id": "other"}, "[p]"),  # not defined: its id, nothing invented
    ],
)
def test_a_parameter_is_printed_as_the_publication_does(param: dict[str, Any], expected: str) -> None:
    assert (
        printed("Review the {{ insert: param, p }} ; and the rest.", param) == f"Review the {expected}; and the rest."
    )


def test_a_selection_may_hold_parameters() -> None:
    inner = {"id": "p", "label": "organization-defined parts"}
    expected = "[Selection (one or more): the system; [Assignment: organization-defined parts]] of the whole."
    assert printed("{{ insert: param, s }} of the whole.", SELECT, inner) == expected


def test_a_german_catalog_gets_no_english_words() -> None:
    prose = "Die Stelle MUSS die Aufgaben der {{ insert: param, p }} und das Verfahren mit der Leitung zuweisen."
    assert "der [zuständigen Rolle] und" in printed(prose, {"id": "p", "label": "zuständigen Rolle"})


@pytest.mark.parametrize(
    ("prose", "expected"),
    [
        ("see the [PE](#pe) family", "see the PE family"),
        ("the **lock** of *the* `door`", "the lock of the door"),
        ("Administrator*innen und Nutzer*innen", "Administrator*innen und Nutzer*innen"),
        ("press the <BREAK> key", "press the <BREAK> key"),
        ("this &amp; that", "this & that"),
        ("one\n\ntwo\nand three", "one\ntwo and three"),
        ("one\\n\\ntwo", "one\ntwo"),  # a line end escaped twice
        ("of:\n- one\n- two", "of:\n- one\n- two"),
        ("| a | b |\n|---|---|\n| c | d |", "a | b\nc | d"),
    ],
)
def test_markup_is_taken_off(prose: str, expected: str) -> None:
    assert printed(prose) == expected


# --- Refused -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{", "no well-formed JSON"),
        (b'{"catalog": {"groups"', "no well-formed JSON"),
        (b"[]", "no OSCAL JSON"),
        (b'{"profile": {"uuid": "1"}}', "OSCAL profile"),
        (b'{"catalog": {"uuid": "1"}}', "without controls"),
        (b'{"catalog": {"groups": 3}}', "no list of objects"),
        (b'{"catalog": {"controls": [{"title": "x"}]}}', "without an id"),
        (catalog(control(), control()), "two controls with the id"),
        (b'{"catalog":' + b'{"groups":[' * 60_000, "nested deeper"),
        (catalog(control("half \ud800 a character")), "lone surrogate"),
        (catalog(control("{{ p }}", params=[{"id": "p", "label": "{{ p }}"}])), "nested deeper"),
        ("Grüße".encode("latin-1"), "no well-formed JSON"),
    ],
)
def test_what_is_no_catalog_is_refused_in_one_sentence(data: bytes, reason: str) -> None:
    with pytest.raises(SourceError, match=reason) as raised:
        read_oscal(data, "test.json")
    assert "test.json" in str(raised.value) and "\n" not in str(raised.value)


def test_parts_nested_without_end_are_refused() -> None:
    deep = item("a.", "x")
    for _ in range(100):
        deep = item("a.", "x", deep)
    with pytest.raises(SourceError, match="nested deeper"):
        act(control(deep | {"name": "statement"}))


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (catalog(control()), True),
        (b'\xef\xbb\xbf {"$schema": "x", "catalog": {"metadata": {', True),
        (b'{"profile": {"uuid": "1"', True),  # OSCAL, though no catalog: the reader says so
        (b'{"catalog": [1, 2]}', False),
        (b'{"text": "catalog", "uuid": "1"}', False),
        (b"<catalog/>", False),
    ],
)
def test_oscal_is_told_by_its_beginning(head: bytes, expected: bool) -> None:
    assert is_oscal(head[:65_536]) is expected


# --- Real catalogs -------------------------------------------------------------------------------------------------


def real(shared: Path, name: str) -> tuple[dict[str, Any], Act]:
    data = (shared / "corpus/nist" / name).read_bytes()
    assert is_oscal(data[:65_536])
    return json.loads(data)["catalog"], read_oscal(data, name)


def chunks_of(read: Act) -> list[Chunk]:
    document = Document(str(read.document_id), "2024-01-01-00000000", str(read.code), str(read.short), read.name)
    return list(chunk_act(document, read.provisions))


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "short", "language", "controls", "withdrawn"),
    [
        (LOW, "NIST SP 800-53 Rev. 5.1.1 LOW IMPACT BASELINE", "en", 149, 0),
        (FULL, "NIST SP 800-53 Rev. 5", "en", 1189, 182),
        (BSI, "BSI Stand der Technik Kernel", "de", 901, 0),
    ],
)
def test_counts_of_real_catalogs(
    shared: Path, name: str, short: str, language: str, controls: int, withdrawn: int
) -> None:
    _, read = real(shared, name)
    norms = [p for p in read.provisions if p.kind == "norm"]
    assert (read.short, read.language, len(norms)) == (short, language, controls)
    assert sum(not p.absaetze for p in norms) == withdrawn
    assert len({p.article for p in read.provisions}) == len(read.provisions)
    cited = {chunk.payload["article"] for chunk in chunks_of(read)}  # every payload keeps the contract, or this raises
    assert cited == {p.article for p in read.provisions if p.absaetze}


@pytest.mark.corpus
def test_labels_of_real_controls(shared: Path) -> None:
    _, read = real(shared, FULL)
    chunks = {chunk.payload["article_label"]: chunk.payload for chunk in chunks_of(read)}
    first = chunks["AC-2(3) NIST SP 800-53 Rev. 5"]
    assert [unit["sub"] for unit in first["units"]] == ["lit. a", "lit. b", "lit. c", "lit. d"]
    assert first["section_header"] == "Disable Accounts" and "AC-2 guidance NIST SP 800-53 Rev. 5" in chunks


def proses(node: dict[str, Any]) -> Iterator[str]:
    """All prose of a catalog; what is said about a group's label and to define a parameter is prose too."""
    yield node.get("prose", "")
    yield from (p["remarks"] for p in node.get("props", []) if p["name"] == "label" and "remarks" in p)
    yield from (g["prose"] for p in node.get("params", []) for g in p.get("guidelines", []))
    for key in ("parts", "groups", "controls"):
        for child in node.get(key, []):
            yield from proses(child)


def blank_params(node: dict[str, Any]) -> None:
    """Set every parameter to a value without letters, so that only prose is compared."""
    for param in node.get("params", []):
        param["values"] = ["…"]
    for key in ("groups", "controls"):
        for child in node.get(key, []):
            blank_params(child)


def letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text)


@pytest.mark.corpus
@pytest.mark.parametrize("name", [LOW, FULL, BSI])
def test_no_prose_is_lost_and_none_is_doubled(shared: Path, name: str) -> None:
    """All prose but the targets of links and line ends escaped twice is in the chunks, as often as in the catalog."""
    raw, _ = real(shared, name)
    blank_params(raw)
    expected = Counter[str]()
    for group in raw["groups"]:
        for prose in proses(group):
            plain = re.sub(r"\]\([^()]*\)", "", prose.replace("\\n", "\n"))
            expected.update(letters(re.sub(r"\{\{.*?\}\}", "", plain)))
    found = Counter[str]()
    for provision in read_oscal(json.dumps({"catalog": raw}).encode(), name).provisions:
        found.update(letters("".join(block.text for absatz in provision.absaetze for block in absatz.blocks)))
        notes = (note for note in provision.footnotes if not note.startswith(("incorporated into ", "moved to ")))
        found.update(letters("".join(notes)))
    assert sum(expected.values()) > 100_000
    assert found == expected


@pytest.mark.corpus
def test_parameters_read_alike_in_both_releases(shared: Path) -> None:
    """The 2021 catalog spells parameters out ("organization-defined frequency"), the 2024 one marks them as ODP.

    Written out, the requirements are the same letter for letter, but for three that the later release amends.
    """
    full = {p.article: letters(text(p)).lower() for p in real(shared, FULL)[1].provisions if p.absaetze}
    low = {p.article: letters(text(p)).lower() for p in real(shared, LOW)[1].provisions if p.kind == "norm"}
    assert {article for article, words in low.items() if words != full[article]} == {"AC-7", "SR-3", "SR-8"}
