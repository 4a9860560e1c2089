"""A whole re-link on real Postgres: outcomes, inheritance, what is left alone, undo, and nothing written twice."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from backends.tables import schema
from backends.tables.connect import Tables
from backends.tables.locks import relink_lock
from backends.tables.mapping import ControlColumns
from backends.tables.runs import latest_runs
from backends.tables.upgrade import upgrade
from normalize.errors import LockedError, UsageError
from relink.controls import export_controls, import_controls
from relink.run import RelinkOptions, relink
from relink.undo import undo
from tests.relink_cases import PROVISIONS, link_chunks

CHUNKS = link_chunks()
WATER, EXCEPTION, BED, FORCE = (PROVISIONS[i][3] for i in range(4))


def number(n: int) -> str:
    """Return the id of control n."""
    return f"00000000-0000-4000-8000-{n:012d}"


def load(tables: Tables, *controls: dict[str, Any]) -> None:
    lines = [json.dumps({**c, "control_uuid": number(c["control_uuid"])} | _parent(c)) for c in controls]
    import_controls(tables, lines, "test")


def _parent(control: dict[str, Any]) -> dict[str, Any]:
    parent = control.get("parent_control_uuid")
    return {} if parent is None else {"parent_control_uuid": number(parent)}


def c(n: int, text: str | None = None, *, under: int | None = None, **values: Any) -> dict[str, Any]:
    return {"control_uuid": n, "source_original_text": text, "parent_control_uuid": under, **values}


def outcomes(tables: Tables) -> dict[int, tuple[str | None, str | None]]:
    """Return outcome and label of each control by its number."""
    rows = {}
    for row in export_controls(tables):
        citation = row["source_citation"]
        rows[int(row["control_uuid"][-12:])] = (row["outcome"], citation and citation.get("article_label"))
    return rows


def everything(tables: Tables, *leave_out: str) -> dict[str, list[str]]:
    """Return every row of the schema's tables as text."""
    with tables.begin() as connection:
        names = sorted(sa.inspect(connection).get_table_names(schema="compliance"))
        return {
            name: sorted(connection.execute(sa.text(f"SELECT t::text FROM compliance.{name} t")).scalars())
            for name in names
            if name not in leave_out
        }


def test_every_outcome(tables: Tables) -> None:
    load(
        tables,
        c(1, WATER, source_regulation="KatzG"),
        c(2, WATER.replace("täglich", "täg­lich"), source_regulation="Katzengesetz"),
        c(3, FORCE),
        c(4, FORCE, source_regulation="katzg"),
        c(5, WATER, source_regulation="HundG"),
        c(6, WATER, source_regulation="VogelG"),
        c(7, "Das Unternehmen benennt einen Verantwortlichen für die Protokollierung aller Zugriffe."),
        c(8, "Zu kurz."),
        c(9, None),
        c(10, WATER, is_self_written=True),
        c(11, WATER, source_citation={"article": "99", "article_label": "von Hand"}),
        c(12, WATER + " " + EXCEPTION),
        c(13, "b) bei alten Tieren 50 Zentimeter"),
        c(14, "mindestens 40 Zentimeter breit sein, a) bei jungen Tieren"),
        c(15, "  "),
    )
    report = relink(tables, CHUNKS)
    assert outcomes(tables) == {
        1: ("linked", "KatzG § 1 Abs. 1"),
        2: ("linked", "KatzG § 1 Abs. 1"),
        3: ("ambiguous", None),
        4: ("linked", "KatzG § 3"),
        5: ("ambiguous", None),
        6: ("ambiguous", None),
        7: ("unmatched", None),
        8: ("unmatched", None),
        9: ("unmatched", None),
        10: ("self_written", None),
        11: ("kept", "von Hand"),
        12: ("linked", "KatzG § 1"),
        13: ("linked", "KatzG § 2 Nr. 2 lit. b"),
        14: ("linked", "KatzG § 2 Nr. 2"),
        15: ("unmatched", None),
    }
    assert report.outcomes == {"ambiguous": 3, "kept": 1, "linked": 6, "self_written": 1, "unmatched": 4}
    assert report.reasons == {
        "no_quotation": 2,
        "no_similar_text": 1,
        "regulation_conflict": 1,
        "regulation_missing": 1,
        "several_places": 1,
        "too_short": 1,
    }
    assert report.tiers == {"fuzzy": 3, "hash": 3}
    assert (report.controls, report.quotations, report.chunks) == (15, 11, len(CHUNKS))


def test_the_citation_has_what_consumers_read(tables: Tables) -> None:
    load(tables, c(1, WATER))
    relink(tables, CHUNKS)
    row = next(export_controls(tables))
    assert row["source_citation"] == {
        "regulation_code": "KATZG",
        "article": "1",
        "paragraph": "1",
        "sub": None,
        "page": None,
        "source_type": "gesetz",
        "license": "frei",
        "url": "https://example.org/KatzG",
        "source": "Katzengesetz",
        "article_label": "KatzG § 1 Abs. 1",
    }
    assert (row["tier"], row["score"], row["margin"], row["chunk_id"]) == ("hash", 1.0, 1.0, CHUNKS_BY_TEXT[WATER])
    with tables.begin() as connection:
        span = connection.execute(sa.select(schema.links.c.span_start, schema.links.c.span_end)).one()
    assert tuple(span) == (0, len(WATER) - 1), "without the full stop"


CHUNKS_BY_TEXT = {chunk.chunk_text: chunk.chunk_id for chunk in CHUNKS}


def test_a_second_run_writes_nothing(tables: Tables) -> None:
    load(tables, c(1, WATER), c(2, None, under=1), c(3, FORCE), c(4, None))
    first = relink(tables, CHUNKS)
    assert (first.citations_written, first.links_written) == (2, 4)
    before = everything(tables, "fundstelle_runs")
    second = relink(tables, CHUNKS)
    assert second.writes == 0
    assert everything(tables, "fundstelle_runs") == before
    assert second.outcomes == first.outcomes


def test_a_dry_run_counts_the_same_and_writes_nothing(tables: Tables) -> None:
    load(tables, c(1, WATER), c(2, None, under=1), c(3, FORCE))
    before = everything(tables)
    dry = relink(tables, CHUNKS, RelinkOptions(dry_run=True))
    assert everything(tables) == before
    real = relink(tables, CHUNKS)
    assert dry.run_id is None
    for name in ("outcomes", "tiers", "reasons", "citations_written", "links_written", "examples"):
        assert getattr(dry, name) == getattr(real, name), name


def test_atoms_inherit_over_any_depth(tables: Tables) -> None:
    load(
        tables,
        c(1, WATER),
        *(c(n, None, under=n - 1) for n in range(2, 40)),
        c(50, EXCEPTION, under=39),
        c(51, None, under=50),
        c(60, None, under=1, is_self_written=True),
        c(61, None, under=60),
        c(62, None, under=1, source_citation={"article": "7", "article_label": "von Hand"}),
        c(63, None, under=62),
        c(70, FORCE),
        c(71, None, under=70),
        c(72, None, under=71),
        c(80, None, under=99),
    )
    report = relink(tables, CHUNKS)
    found = outcomes(tables)
    assert all(found[n] == ("inherited", "KatzG § 1 Abs. 1") for n in range(2, 40))
    assert found[50] == ("linked", "KatzG § 1 Abs. 2"), "an own quotation keeps its own link"
    assert found[51] == ("inherited", "KatzG § 1 Abs. 2")
    assert found[60] == ("self_written", None)
    assert found[61] == ("unmatched", None), "a self-written parent has no Fundstelle to hand down"
    assert found[62] == ("kept", "von Hand")
    assert found[63] == ("inherited", "von Hand")
    assert found[71] == found[72] == ("unmatched", None), "nothing comes from a parent under review"
    assert found[80] == ("unmatched", None)
    assert report.reasons == {
        "parent_ambiguous": 2,
        "parent_missing": 1,
        "parent_self_written": 1,
        "several_places": 1,
    }
    with tables.begin() as connection:
        link = connection.execute(sa.select(schema.links).where(schema.links.c.control_uuid == number(39))).one()
    assert (link.reason, link.chunk_id) == (f"from {number(1)}", CHUNKS_BY_TEXT[WATER])


def test_cycles_of_parents_are_reported_and_get_nothing(tables: Tables) -> None:
    load(
        tables,
        c(1, None, under=2),
        c(2, None, under=3),
        c(3, None, under=1),
        c(4, None, under=3),
        c(5, None, under=5),
        c(6, WATER, under=6),
        c(7, None, under=6),
    )
    report = relink(tables, CHUNKS)
    assert report.cycles == tuple(number(n) for n in range(1, 6))
    assert report.reasons == {"parent_cycle": 5}
    assert outcomes(tables)[7] == ("inherited", "KatzG § 1 Abs. 1")


def test_a_citation_set_by_a_human_gives_way_only_to_force(tables: Tables) -> None:
    load(tables, c(1, WATER, source_citation={"article": "99"}), c(2, None, under=1))
    assert relink(tables, CHUNKS).citations_written == 1, "only the atom's"
    forced = relink(tables, CHUNKS, RelinkOptions(force=True))
    assert forced.outcomes == {"inherited": 1, "linked": 1}
    assert outcomes(tables) == {1: ("linked", "KatzG § 1 Abs. 1"), 2: ("inherited", "KatzG § 1 Abs. 1")}


def test_a_citation_changed_by_a_human_after_the_run_is_kept(tables: Tables) -> None:
    load(tables, c(1, WATER))
    relink(tables, CHUNKS)
    load(tables, c(1, WATER, source_citation={"article": "5", "article_label": "von Hand"}))
    assert relink(tables, CHUNKS).citations_written == 0
    assert outcomes(tables) == {1: ("kept", "von Hand")}


def test_a_law_that_this_run_did_not_read_keeps_its_links(tables: Tables) -> None:
    load(tables, c(1, WATER), c(2, None, under=1), c(3, PROVISIONS[4][3]))
    relink(tables, CHUNKS)
    hunde = [chunk for chunk in CHUNKS if chunk.regulation_code == "HUNDG"]
    assert relink(tables, hunde).writes == 0
    assert outcomes(tables)[2] == ("inherited", "KatzG § 1 Abs. 1")


def test_wording_that_left_its_law_loses_its_link(tables: Tables) -> None:
    load(tables, c(1, WATER), c(2, None, under=1))
    relink(tables, CHUNKS)
    without = link_chunks([p for p in PROVISIONS if p[3] != WATER])
    report = relink(tables, without)
    assert report.citations_written == 2
    assert outcomes(tables) == {1: ("unmatched", None), 2: ("unmatched", None)}


def test_undo_puts_back_what_was_there(tables: Tables) -> None:
    load(
        tables,
        c(1, WATER, source_citation={"article": "99"}),
        c(2, None, under=1),
        c(3, FORCE, source_regulation="HundG"),
    )
    relink(tables, CHUNKS)
    before = everything(tables, "fundstelle_runs", "fundstelle_link_audit")
    forced = relink(tables, CHUNKS, RelinkOptions(force=True))
    assert forced.run_id is not None
    report = undo(tables, forced.run_id)
    assert (report.restored, report.changed_since) == (2, 0)
    assert everything(tables, "fundstelle_runs", "fundstelle_link_audit") == before
    with pytest.raises(UsageError, match="undone already"):
        undo(tables, forced.run_id)
    with pytest.raises(UsageError, match="is no re-link"):
        undo(tables, report.run_id)
    with pytest.raises(UsageError, match="is no re-link"):
        undo(tables, 4711)


def test_undo_leaves_alone_what_somebody_changed_since(tables: Tables) -> None:
    load(tables, c(1, WATER), c(2, EXCEPTION))
    run = relink(tables, CHUNKS).run_id
    assert run is not None
    load(tables, c(1, WATER, source_citation={"article": "5", "article_label": "von Hand"}))
    report = undo(tables, run)
    assert (report.restored, report.changed_since) == (1, 1)
    assert outcomes(tables) == {1: ("linked", "von Hand"), 2: (None, None)}


def test_every_write_has_an_audit_row(tables: Tables) -> None:
    load(tables, c(1, WATER), c(2, FORCE))
    report = relink(tables, CHUNKS)
    with tables.begin() as connection:
        row = connection.execute(sa.select(schema.link_audit)).one()
    assert (row.run_id, row.control_uuid, row.previous_citation) == (report.run_id, number(1), None)
    assert row.new_citation["article_label"] == "KatzG § 1 Abs. 1"
    assert row.found["tier"] == "hash"
    assert row.found["chunk_id"] == CHUNKS_BY_TEXT[WATER]
    run = latest_runs(tables, 1)[0]
    assert (run.command, run.status, run.summary and run.summary["outcomes"]) == ("relink", "done", report.outcomes)


def test_dependents_are_not_touched(tables: Tables) -> None:
    load(tables, c(1, WATER), c(2, None, under=1))
    with tables.begin() as connection:
        for table in schema.DEPENDENTS:
            connection.execute(sa.insert(table), [{"control_uuid": number(n)} for n in (1, 2)])
    names = {table.name for table in schema.DEPENDENTS}
    before = {name: rows for name, rows in everything(tables).items() if name in names}
    assert all(len(rows) == 2 for rows in before.values())
    run = relink(tables, CHUNKS).run_id
    assert run is not None
    undo(tables, run)
    assert {name: rows for name, rows in everything(tables).items() if name in names} == before


def test_the_review_gets_its_candidates_in_order(tables: Tables) -> None:
    load(tables, c(1, FORCE))
    relink(tables, CHUNKS)
    with tables.begin() as connection:
        candidates = connection.execute(sa.select(schema.links.c.candidates)).scalar_one()
    assert [candidate["article_label"] for candidate in candidates] == ["HundG § 3", "KatzG § 3"]


def test_tiers_can_be_chosen(tables: Tables) -> None:
    load(tables, c(1, WATER, source_regulation="KatzG"), c(2, WATER[:60]))
    assert relink(tables, CHUNKS, RelinkOptions(tiers=("hash",))).outcomes == {"linked": 1, "unmatched": 1}
    with pytest.raises(UsageError, match="no tier 'psychic'; choose from hash, fuzzy"):
        relink(tables, CHUNKS, RelinkOptions(tiers=("psychic",)))


def test_nobody_relinks_while_another_run_writes(
    tables: Tables, database_url: str, open_database: Callable[..., Tables]
) -> None:
    load(tables, c(1, WATER))
    with relink_lock(open_database(database_url)):
        with pytest.raises(LockedError):
            relink(tables, CHUNKS)
        assert relink(tables, CHUNKS, RelinkOptions(dry_run=True)).outcomes == {"linked": 1}, "a dry run may look"


def test_a_failed_run_writes_nothing_and_says_so(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    load(tables, c(1, WATER))
    before = everything(tables, "fundstelle_runs")
    monkeypatch.setattr("relink.run._examples", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        relink(tables, CHUNKS)
    assert everything(tables, "fundstelle_runs") == before
    assert latest_runs(tables, 1)[0].status == "failed"


def test_no_chunks_link_nothing(tables: Tables) -> None:
    load(tables, c(1, WATER), c(2, None, under=1))
    assert relink(tables, []).outcomes == {"unmatched": 2}


@pytest.mark.parametrize("kind", ["json", "jsonb", "text"])
def test_a_platform_with_other_names_and_types(
    kind: str, empty_database_url: str, open_database: Callable[..., Tables]
) -> None:
    columns = ControlColumns(
        table="c2", control_uuid="id", source_original_text="quotation", source_citation="citation"
    )
    tables = open_database(empty_database_url, columns=columns)
    with tables.begin() as connection:
        connection.execute(
            sa.text(f"CREATE SCHEMA compliance; CREATE TABLE compliance.c2 (id text, quotation text, citation {kind})")
        )
        connection.execute(
            sa.text("INSERT INTO compliance.c2 VALUES ('one', :water, NULL), ('two', :water, '{\"article\": \"9\"}')"),
            {"water": WATER},
        )
    upgrade(tables)
    assert relink(tables, CHUNKS).outcomes == {"kept": 1, "linked": 1}
    assert relink(tables, CHUNKS).writes == 0
    assert [row["outcome"] for row in export_controls(tables)] == ["linked", "kept"]
