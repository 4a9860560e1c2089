"""The review: what goes out, what comes back, and that a decision made on something else is refused."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from backends.tables import schema
from backends.tables.connect import Tables
from backends.tables.locks import relink_lock
from backends.vectors.edge import EdgeStore
from backends.vectors.store import Layout, Point, VectorStore
from normalize.errors import LockedError, SourceError, UsageError
from normalize.identity import point_id
from relink.inherit import HUMAN
from relink.report import link_report
from relink.review import ReviewItem, import_decisions, review_items
from relink.review_files import as_csv, as_json_lines, decisions_of_csv
from relink.review_page import review_page
from relink.run import RelinkOptions, relink
from relink.undo import undo
from tests.relink_cases import PROVISIONS, payload
from tests.test_relink_run import CHUNKS, FORCE, WATER, c, everything, load, number, outcomes
from tests.vectors_points import vector

LAYOUT = Layout(dimension=8, sparse=None)
HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>&amp; \u2028 ${1} `"


def points(texts: dict[int, str] | None = None) -> list[Point]:
    made = []
    for i, provision in enumerate(PROVISIONS):
        fields = payload(i, provision)
        fields["chunk_text"] = (texts or {}).get(i, fields["chunk_text"])
        made.append(Point(point_id(fields["chunk_id"]), vector(i), None, fields))
    return made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VectorStore]:
    with EdgeStore(tmp_path / "store", lock_timeout=1) as edge:
        edge.create("law", LAYOUT, {}, {"model": "m"})
        edge.upsert("law", points())
        yield edge


@pytest.fixture
def queue(tables: Tables) -> Tables:
    load(
        tables,
        c(1, FORCE, title="Inkrafttreten"),
        c(2, "Das Unternehmen benennt einen Verantwortlichen für die Protokollierung aller Zugriffe."),
        c(3, WATER),
        c(4, None, under=1),
    )
    relink(tables, CHUNKS)
    return tables


def items(tables: Tables, store: VectorStore, *names: str) -> list[ReviewItem]:
    return review_items(tables, store, ["law"], outcomes=names or ("ambiguous", "unmatched"))


def line(item: ReviewItem, choice: int | None, **more: Any) -> str:
    """Return the decision for a candidate, or for none of them."""
    candidate: dict[str, Any] = {} if choice is None else item.candidates[choice]
    values = {"control_uuid": item.control_uuid, "state": item.state}
    chosen = {name: candidate.get(name) for name in ("chunk_id", "article_label")}
    return json.dumps(values | chosen | {"reviewer": "Anna"} | more)


def apply(tables: Tables, store: VectorStore, *lines: str, **options: Any) -> Any:
    return import_decisions(tables, store, ["law"], lines, "d.jsonl", **options)


def test_the_queue_has_what_a_reviewer_needs(queue: Tables, store: VectorStore) -> None:
    first, second = items(queue, store)
    assert (first.title, first.outcome, first.reason) == ("Inkrafttreten", "ambiguous", "several_places")
    assert [(x["article_label"], x["text"]) for x in first.candidates] == [("HundG § 3", FORCE), ("KatzG § 3", FORCE)]
    assert (second.outcome, second.candidates) == ("unmatched", ())
    (linked,) = items(queue, store, "linked")
    assert [(x["article_label"], x["text"]) for x in linked.candidates] == [("KatzG § 1 Abs. 1", WATER)]


def test_a_decision_becomes_a_link_that_no_later_run_overwrites(queue: Tables, store: VectorStore) -> None:
    first = items(queue, store)[0]
    report = apply(queue, store, line(first, 1, decided_at="2026-01-02T03:04:05+01:00"))
    assert (report.rows, report.applied, report.unchanged, report.refused) == (1, 1, 0, ())
    assert outcomes(queue)[1] == (HUMAN, "KatzG § 3")
    with queue.begin() as connection:
        audit = connection.execute(
            sa.select(schema.link_audit).where(schema.link_audit.c.run_id == report.run_id)
        ).one()
        link = connection.execute(sa.select(schema.links).where(schema.links.c.control_uuid == number(1))).one()
    assert audit.previous_citation is None
    assert audit.new_citation["article_label"] == "KatzG § 3"
    assert audit.previous_link["outcome"] == "ambiguous"
    assert (audit.found["reviewer"], audit.found["decided_at"]) == ("Anna", "2026-01-02T02:04:05+00:00")
    assert link.reason == "reviewed by Anna at 2026-01-02T02:04:05+00:00"
    assert (link.chunk_id, link.span_start) == (first.candidates[1]["chunk_id"], 0)
    again = relink(queue, CHUNKS)
    assert outcomes(queue)[1] == (HUMAN, "KatzG § 3")
    assert outcomes(queue)[4] == ("inherited", "KatzG § 3"), "atoms get it from the decision"
    assert again.outcomes == {"human": 1, "inherited": 1, "linked": 1, "unmatched": 1}
    assert relink(queue, CHUNKS).writes == 0


def test_force_overwrites_a_decision_only_with_another_citation(queue: Tables, store: VectorStore) -> None:
    first = items(queue, store)[0]
    (linked,) = items(queue, store, "linked")
    apply(queue, store, line(first, 1), line(linked, None))
    assert outcomes(queue)[3] == (HUMAN, None), "none of them takes the citation away"
    assert relink(queue, CHUNKS).citations_written == 1, "only the atom's"
    assert outcomes(queue)[3] == (HUMAN, None)
    relink(queue, CHUNKS, RelinkOptions(force=True))
    assert outcomes(queue)[1] == (HUMAN, "KatzG § 3"), "the run comes to the same: it stays the person's"
    assert outcomes(queue)[3] == ("linked", "KatzG § 1 Abs. 1")


def test_an_import_can_be_undone(queue: Tables, store: VectorStore) -> None:
    before = everything(queue, "fundstelle_runs", "fundstelle_link_audit")
    first, second = items(queue, store)
    (linked,) = items(queue, store, "linked")
    report = apply(queue, store, line(first, 0), line(second, None), line(linked, None))
    assert report.applied == 3
    assert undo(queue, report.run_id).restored == 3
    assert everything(queue, "fundstelle_runs", "fundstelle_link_audit") == before
    with pytest.raises(UsageError, match="undone already"):
        undo(queue, report.run_id)


def test_the_same_decisions_again_change_nothing(queue: Tables, store: VectorStore) -> None:
    first, second = items(queue, store)
    lines = (line(first, 0), line(second, None))
    apply(queue, store, *lines)
    before = everything(queue, "fundstelle_runs")
    again = apply(queue, store, *lines)
    assert (again.applied, again.unchanged, again.refused) == (0, 2, ())
    assert everything(queue, "fundstelle_runs") == before


def test_dependents_are_not_touched(queue: Tables, store: VectorStore) -> None:
    with queue.begin() as connection:
        for table in schema.DEPENDENTS:
            connection.execute(sa.insert(table), [{"control_uuid": number(n)} for n in (1, 2, 4)])
    names = {table.name for table in schema.DEPENDENTS}
    before = {name: rows for name, rows in everything(queue).items() if name in names}
    assert all(len(rows) == 3 for rows in before.values())
    report = apply(queue, store, *(line(item, None) for item in items(queue, store)))
    assert report.applied == 2
    relink(queue, CHUNKS, RelinkOptions(only_unmatched=True))
    undo(queue, report.run_id)
    assert {name: rows for name, rows in everything(queue).items() if name in names} == before


def test_a_dry_run_says_the_same_and_writes_nothing(queue: Tables, store: VectorStore) -> None:
    first, second = items(queue, store)
    lines = (line(first, 0), line(second, None, state="0" * 64))
    before = everything(queue)
    dry = apply(queue, store, *lines, dry_run=True)
    assert everything(queue) == before
    real = apply(queue, store, *lines)
    assert (
        (dry.applied, dry.unchanged, dry.refused) == (real.applied, real.unchanged, real.refused) == (1, 0, dry.refused)
    )
    assert [row["line"] for row in dry.refused] == [2]


def test_a_changed_control_refuses_its_row_only(queue: Tables, store: VectorStore) -> None:
    first, second = items(queue, store)
    load(queue, c(2, "Das Unternehmen benennt niemanden.", title="neu"))
    report = apply(queue, store, line(first, 0), line(second, None))
    assert report.applied == 1
    ((row),) = report.refused
    assert (row["line"], row["control_uuid"]) == (2, number(2))
    assert "changed since the export" in row["reason"]


@pytest.mark.parametrize("what", ["text", "gone", "hint", "citation", "candidates"])
def test_anything_the_reviewer_saw_that_changed_refuses(queue: Tables, store: VectorStore, what: str) -> None:
    first = items(queue, store)[0]
    if what == "text":
        store.upsert("law", points({7: FORCE + " Satz 2."}))
    elif what == "gone":
        store.delete("law", [point_id(first.candidates[0]["chunk_id"])])
    elif what == "hint":
        load(queue, c(1, FORCE, source_regulation="HundG"))
    elif what == "citation":
        load(queue, c(1, FORCE, source_citation={"article": "9"}))
    else:
        relink(queue, [chunk for chunk in CHUNKS if chunk.regulation_code == "KATZG"])
    before = everything(queue, "fundstelle_runs")
    report = apply(queue, store, line(first, 0))
    assert (report.applied, len(report.refused)) == (0, 1)
    assert everything(queue, "fundstelle_runs") == before


def test_what_cannot_be_chosen_is_refused(queue: Tables, store: VectorStore) -> None:
    first, second = items(queue, store)
    report = apply(
        queue,
        store,
        line(first, 0, chunk_id="f" * 40),
        line(second, None, control_uuid=number(99)),
        line(second, None, control_uuid=number(4)),
        line(second, None, reviewer=None),
    )
    reasons = [row["reason"] for row in report.refused]
    assert report.applied == 0
    for reason, said in zip(
        reasons, ("none of the control's", "no such control", "no such", "no reviewer"), strict=True
    ):
        assert said in reason
    assert apply(queue, store, line(second, None, reviewer=None), reviewer="Ben").applied == 1


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("{", "line 1: Invalid JSON"),
        ("[]", "line 1: Input should be an object"),
        ('{"control_uuid": "a"}', "line 1: state: Field required"),
        (json.dumps({"control_uuid": "a", "state": "x", "chunk_id": None, "article_label": None}), "line 1: state"),
        (json.dumps({"control_uuid": "", "state": "0" * 64, "chunk_id": None, "article_label": None}), "control_uuid"),
        (
            json.dumps({"control_uuid": "a", "state": "0" * 64, "chunk_id": None, "article_label": None, "sql": 1}),
            "line 1: sql",
        ),
    ],
)
def test_a_bad_line_stops_all(queue: Tables, store: VectorStore, bad: str, message: str) -> None:
    first = items(queue, store)[0]
    with pytest.raises(SourceError, match=message):
        apply(queue, store, bad, line(first, 0))
    with pytest.raises(SourceError, match=r"line 2: control .* stands in line 1 already"):
        apply(queue, store, line(first, 0), line(first, 1))
    assert outcomes(queue)[1] == ("ambiguous", None)


def test_nobody_decides_while_another_run_writes(
    queue: Tables, store: VectorStore, database_url: str, open_database: Any
) -> None:
    first = items(queue, store)[0]
    with relink_lock(open_database(database_url)), pytest.raises(LockedError):
        apply(queue, store, line(first, 0))


def test_the_files_are_the_same_each_time(queue: Tables, store: VectorStore) -> None:
    report = link_report(queue)
    one, two = items(queue, store), items(queue, store)
    for make in (as_json_lines, as_csv):
        assert "".join(make(one)) == "".join(make(two))
    assert review_page(one, report) == review_page(two, report)
    rows = [json.loads(row) for row in as_json_lines(one)]
    assert [row["control_uuid"] for row in rows] == [number(1), number(2)]
    assert rows[0]["candidates"][0]["text"] == FORCE


def test_a_spreadsheet_there_and_back(queue: Tables, store: VectorStore) -> None:
    rows = list(csv.DictReader(io.StringIO("".join(as_csv(items(queue, store))))))
    assert [(row["control_uuid"], row["article_label"]) for row in rows] == [
        (number(1), "HundG § 3"),
        (number(1), "KatzG § 3"),
        (number(2), ""),
    ]
    rows[1]["decision"], rows[2]["decision"] = " X ", "none"
    for delimiter in ",;":
        written = io.StringIO()
        writer = csv.DictWriter(written, rows[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
        lines = list(decisions_of_csv(written.getvalue(), "f.csv"))
        assert [json.loads(row)["article_label"] for row in lines] == ["KatzG § 3", None]
    assert apply(queue, store, *lines, reviewer="Ben").applied == 2
    assert outcomes(queue)[1] == (HUMAN, "KatzG § 3")
    assert outcomes(queue)[2] == (HUMAN, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "has no column 'decision'"),
        ("decision,control_uuid,chunk_id,article_label,state\nja,1,2,3,4\n", "line 2: decision 'ja' is unknown"),
        ("decision,control_uuid,chunk_id,article_label,state\nx,1,,,4\n", "line 2: there is no candidate"),
        ("", "has no column"),
    ],
)
def test_a_bad_spreadsheet(text: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        list(decisions_of_csv(text, "f.csv"))


def test_a_text_is_no_formula_in_a_spreadsheet(tables: Tables, store: VectorStore) -> None:
    load(tables, c(1, '=HYPERLINK("http://example.org") in einer Vorschrift, die es nirgends gibt', title="+1"))
    relink(tables, CHUNKS)
    (row,) = csv.DictReader(io.StringIO("".join(as_csv(items(tables, store)))))
    assert (row["quotation"][:2], row["title"]) == ("'=", "'+1")


def test_hostile_text_stays_text_in_the_page(tables: Tables, store: VectorStore) -> None:
    load(tables, c(1, FORCE + HOSTILE, title=HOSTILE, source_regulation=HOSTILE.replace("\u2028", "")))
    relink(tables, CHUNKS)
    page = review_page(items(tables, store, "ambiguous", "unmatched", "linked"), link_report(tables))
    assert page.count("<script") == page.count("</script>") == 2
    assert "<img" not in page
    assert "http:" not in page and "https:" not in page
    assert "\u2028" not in page


def test_the_report_counts_what_is_there(queue: Tables, store: VectorStore) -> None:
    report = link_report(queue)
    assert report["controls"] == 4
    assert {(r["outcome"], r["tier"]): r["controls"] for r in report["coverage"]} == {
        ("ambiguous", None): 1,
        ("linked", "hash"): 1,
        ("unmatched", None): 2,
    }
    assert report["regulations"] == [
        {
            "regulation": "(not known)",
            "controls": 3,
            "cited": 0,
            "outcomes": {"ambiguous": 1, "unmatched": 2},
        },
        {"regulation": "KATZG", "controls": 1, "cited": 1, "outcomes": {"linked": 1}},
    ]
    assert report["scores"] == [{"from": 1.0, "controls": 1}]
    assert {row["reason"]: row["controls"] for row in report["left"]} == {
        "several_places": 1,
        "no_similar_text": 1,
        "parent_ambiguous": 1,
    }
    assert (report["before"]["cited"], report["after"]["cited"]) == (0, 1)
    apply(queue, store, line(items(queue, store)[0], 0))
    relink(queue, CHUNKS)
    after = link_report(queue)
    assert (after["before"]["cited"], after["after"]) == (0, {"cited": 3, "with_label": 3})
