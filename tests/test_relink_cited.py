"""The older citation of a control: what it says, the ties it breaks, and the wording that it shows to have moved."""

import json
from typing import Any

import pytest
import sqlalchemy as sa

from backends.tables import schema
from backends.tables.connect import Tables
from relink.anchors import make_anchors
from relink.cited import Cited, OldPlace, old_place
from relink.controls import export_controls, import_controls
from relink.corpus import Corpus, build_corpus
from relink.decision import Decision
from relink.run import RelinkOptions, relink
from relink.tiers import TIERS, decide_anchors
from tests.relink_cases import PROVISIONS, Provision, link_chunks

DUTY = "Die zuständige Behörde ist unverzüglich über jede Erkrankung eines gehaltenen Tieres zu unterrichten."
TWINS: tuple[Provision, ...] = (
    *PROVISIONS,
    ("KatzG", "7", "1", DUTY),
    ("KatzG", "8", "2", DUTY),
    ("KatzG", "8", "3", "Wer die Unterrichtung unterlässt, handelt ordnungswidrig und zahlt eine Geldbuße."),
)


@pytest.mark.parametrize(
    ("citation", "old"),
    [
        (None, None),
        ({}, None),
        ({"source": "BDSG"}, None),
        ({"article": ""}, None),
        ({"article": "siehe oben"}, None),
        ({"article": "§ 3 bis 5"}, None),
        ({"article": "38"}, OldPlace(None, "38", None)),
        ({"article": 38, "paragraph": 1}, OldPlace(None, "38", "1")),
        ({"article": "§ 38 Abs. 1", "source": "BDSG"}, OldPlace("BDSG", "38", "1")),
        ({"article": "38 Abs. 1a"}, OldPlace(None, "38", "1a")),
        ({"article": "Artikel 13 Absatz 2", "source": "DSGVO"}, OldPlace("DSGVO", "13", "2")),
        ({"article": "Erwägungsgrund 26"}, OldPlace(None, "26", None, True)),
        ({"article": "Anhang I", "source": "NIS2"}, OldPlace("NIS2", "Anhang I", None)),
        (
            {"regulation_code": "DSGVO", "article": "26", "paragraph": None, "article_label": "ErwG 26 DSGVO"},
            OldPlace("DSGVO", "26", None, True),
        ),
        (
            {"regulation_code": "GG", "article": "V", "paragraph": "2", "article_label": "Art. V Abs. 2 GG"},
            OldPlace("GG", "V", "2"),
        ),
    ],
)
def test_what_an_older_citation_says(citation: dict[str, Any] | None, old: OldPlace | None) -> None:
    assert old_place(citation) == old


@pytest.mark.parametrize(
    ("cited", "place", "agrees"),
    [
        (("5", "1"), ("5", "1"), True),
        (("5", "1"), ("5", "2"), False),
        (("5", "1"), ("6", "1"), False),
        (("5", "1"), ("5", None), True),
        (("5", None), ("5", "1"), True),
        (("5a", None), ("5A", None), True),
        (("5", None), ("1 § 5", None), True),
        (("1 § 5", None), ("1 § 5", None), True),
        (("1 § 5", None), ("2 § 5", None), False),
        (("5", None), (None, None), False),
    ],
)
def test_when_a_place_may_be_the_cited_one(
    cited: tuple[str, str | None], place: tuple[str | None, str | None], agrees: bool
) -> None:
    assert Cited((3,), *cited, False).agrees(3, ("D", *place, False)) is agrees
    assert not Cited((3,), *cited, False).agrees(4, ("D", *place, False)), "another law"
    assert not Cited((3,), *cited, True).agrees(3, ("D", *place, False)), "a recital is no article"
    assert Cited((), *cited, False).agrees(4, ("D", *place, False)) is agrees, "no law is named"


CORPUS = build_corpus(link_chunks(TWINS))


def decided(text: str, hint: str | None, old: OldPlace | None, corpus: Corpus = CORPUS) -> Decision:
    return decide_anchors(corpus, make_anchors(corpus, [(text, hint)], [old]), list(TIERS.values()))[0]


@pytest.mark.parametrize(
    ("text", "hint", "old", "expected"),
    [
        (DUTY, "KatzG", None, "several_places"),
        (DUTY, "KatzG", OldPlace("KatzG", "8", "2"), ("8", "2")),
        (DUTY, "KatzG", OldPlace(None, "7", None), ("7", "1")),
        (DUTY, None, OldPlace("KATZG", "7", None), ("7", "1")),
        (DUTY.replace("jede", "jcde"), "KatzG", OldPlace("KatzG", "8", "2"), ("8", "2")),
        (DUTY, "KatzG", OldPlace("KatzG", "9", "1"), "several_places"),
        (DUTY, "KatzG", OldPlace("HundG", "7", "1"), "several_places"),
        (PROVISIONS[0][3], None, OldPlace("KatzG", "1", "1"), ("1", "1")),
        (PROVISIONS[0][3], None, OldPlace("KatzG", "1", None), ("1", "1")),
        (PROVISIONS[0][3], None, OldPlace("KatzG", "1", "2"), "moved"),
        (PROVISIONS[0][3], "KatzG", OldPlace("Katzengesetz", "4", None), "moved"),
        (PROVISIONS[0][3], "KatzG", OldPlace(None, "4", None), ("1", "1")),
        (PROVISIONS[0][3], None, OldPlace("HundG", "1", "1"), "moved"),
        (PROVISIONS[0][3], None, OldPlace("VogelG", "4", "1"), ("1", "1")),
        (PROVISIONS[3][3], None, OldPlace(None, "3", None), "several_places"),
        (PROVISIONS[9][3], None, OldPlace("HundG", "4", "1"), "moved"),
    ],
)
def test_ties_and_moved_wording(
    text: str, hint: str | None, old: OldPlace | None, expected: str | tuple[str, str]
) -> None:
    decision = decided(text, hint, old)
    assert decision.best is not None
    got = decision.reason or decision.best.place[1:3]
    assert got == expected
    assert (decision.outcome == "linked") == isinstance(expected, tuple)


def number(n: int) -> str:
    """Return the id of control n."""
    return f"00000000-0000-4000-8000-{n:012d}"


def load(tables: Tables, n: int, text: str | None, **values: Any) -> None:
    line = {"control_uuid": number(n), "source_original_text": text, **values}
    import_controls(tables, [json.dumps(line)], "test")


def outcomes(tables: Tables) -> dict[int, tuple[str | None, str | None, str | None]]:
    """Return outcome, reason and label of each control."""
    with tables.begin() as connection:
        rows = connection.execute(sa.select(schema.links.c.control_uuid, schema.links.c.reason))
        reasons = {row.control_uuid: row.reason for row in rows}
    return {
        int(row["control_uuid"][-12:]): (
            row["outcome"],
            reasons[row["control_uuid"]],
            row["source_citation"] and row["source_citation"].get("article_label"),
        )
        for row in export_controls(tables)
    }


def renumbered() -> tuple[Provision, ...]:
    """Return the laws after a revision: what was § 1 of the KatzG is § 9, and § 1 says something else."""
    return tuple(
        ("KatzG", "9", p[2], p[3]) if p[:2] == ("KatzG", "1") else p
        for p in (*PROVISIONS, ("KatzG", "1", None, "Zweck dieses Gesetzes ist der Schutz aller gehaltenen Katzen."))
    )


def test_a_link_whose_wording_moved_goes_to_the_review_and_stays_there(tables: Tables) -> None:
    load(tables, 1, PROVISIONS[0][3])
    load(tables, 2, None, parent_control_uuid=number(1))
    relink(tables, link_chunks())
    assert outcomes(tables)[2] == ("inherited", f"from {number(1)}", "KatzG § 1 Abs. 1")
    moved = link_chunks(renumbered())
    relink(tables, moved)
    expected = {1: ("ambiguous", "moved", None), 2: ("unmatched", "parent_ambiguous", None)}
    assert outcomes(tables) == expected
    with tables.begin() as connection:
        candidates = connection.execute(
            sa.select(schema.links.c.candidates).where(schema.links.c.control_uuid == number(1))
        ).scalar_one()
    assert [candidate["article_label"] for candidate in candidates] == ["KatzG § 9 Abs. 1"]
    assert relink(tables, moved).writes == 0, "the older citation is not forgotten"
    assert outcomes(tables) == expected


def test_an_older_citation_breaks_a_tie_when_it_may_be_replaced(tables: Tables) -> None:
    load(tables, 1, DUTY, source_regulation="KatzG", source_citation={"source": "KatzG", "article": "§ 8"})
    chunks = link_chunks(TWINS)
    assert relink(tables, chunks).outcomes == {"kept": 1}
    relink(tables, chunks, RelinkOptions(force=True))
    assert outcomes(tables) == {1: ("linked", None, "KatzG § 8 Abs. 2")}
    assert relink(tables, chunks).writes == 0, "now the tie is broken by the link itself"


def test_a_person_s_citation_that_moved_is_kept_and_reviewed(tables: Tables) -> None:
    by_hand = {"source": "KatzG", "article": "99", "article_label": "von Hand"}
    load(tables, 1, PROVISIONS[0][3], source_citation=by_hand)
    load(tables, 2, None, parent_control_uuid=number(1))
    chunks = link_chunks()
    relink(tables, chunks, RelinkOptions(force=True))
    expected = {1: ("ambiguous", "moved", "von Hand"), 2: ("inherited", f"from {number(1)}", "von Hand")}
    assert outcomes(tables) == expected
    assert relink(tables, chunks).writes == 0
    assert relink(tables, chunks, RelinkOptions(force=True)).writes == 0
