"""The commands as an operator calls them: the chain on a fresh home, exit codes, one sentence for every mistake."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import cli
from backends.tables.connect import Tables
from backends.tables.locks import collection_lock
from normalize.payload import check_payload

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
MANIFEST = str(EXAMPLES / "manifest.yaml")


@dataclass
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.out)
        return value

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Call the command line in this process, on a fresh home and a fresh, migrated database."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.delenv("QDRANT_URL", raising=False)

    def call(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["fundstelle", "--home", str(tmp_path / "home"), *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        code = ended.value.code
        return Done(code if isinstance(code, int) else int(code is not None), captured.out, captured.err)

    return call


def chain(run: Run) -> None:
    """The interface others rely on."""
    for arguments in (
        ("db", "upgrade"),
        ("reingest", "--collection", "beispiel", "--manifest", MANIFEST),
        ("controls", "import", str(EXAMPLES / "controls.jsonl")),
        ("relink",),
    ):
        done = run(*arguments)
        assert done.code == 0, done.err


def test_the_chain_links_the_example_controls_to_the_right_norms(run: Run) -> None:
    chain(run)
    rows = {row["control_uuid"][-3:] + row["control_uuid"][0]: row for row in run("controls", "export", "--json").lines}
    found = {
        key: (row["outcome"], row["source_citation"] and row["source_citation"]["article_label"])
        for key, row in rows.items()
    }
    assert found == {
        "0011": ("linked", "LeihRadG § 3 Abs. 1 Satz 1"),
        "0021": ("linked", "LeihRadG § 4 Abs. 1"),
        "0031": ("linked", "LeihRadG § 3 Abs. 2 Satz 1 Nr. 2"),
        "0041": ("linked", "LeihRadG § 5 Abs. 2"),
        "0051": ("linked", "Art. 3 Abs. 1 UAbs. 1 LadeV"),
        "0061": ("linked", "Art. 4 Abs. 1 Satz 1 LadeV"),
        "0071": ("linked", "LeihRadG § 4"),  # over two Absätze: the article, no Absatz
        "0081": ("ambiguous", None),  # the law that it names does not hold it
        "0091": ("self_written", None),
        "0012": ("inherited", "LeihRadG § 3 Abs. 1 Satz 1"),
        "0022": ("inherited", "LeihRadG § 3 Abs. 1 Satz 1"),
        "0013": ("inherited", "LeihRadG § 3 Abs. 1 Satz 1"),
    }
    citation = rows["0011"]["source_citation"]
    assert set(citation) == {
        "regulation_code", "article", "paragraph", "sub", "page", "source_type", "license", "url", "source",
        "article_label",
    }  # fmt: skip
    assert (citation["article"], citation["paragraph"], citation["source"]) == ("3", "1", "Leihradgesetz")


def test_everything_twice_changes_nothing(run: Run) -> None:
    chain(run)
    before = run("controls", "export", "--json").out
    assert run("reingest", "-c", "beispiel", "-m", MANIFEST, "--json").json["written"] == 0
    assert run("controls", "import", str(EXAMPLES / "controls.jsonl"), "--json").json["unchanged"] == 12
    assert run("relink", "--json").json["writes"] == 0
    assert "Nothing to write" in run("reingest", "-c", "beispiel").out
    assert run("controls", "export", "--json").out == before


def test_a_dry_run_needs_no_database_and_leaves_nothing_behind(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_URL")
    before = sorted(tmp_path.iterdir())
    done = run("reingest", "-c", "beispiel", "-m", MANIFEST, "--dry-run", "--exit-code", "--json")
    assert done.code == 5 and done.json["totals"]["to_write"] == 25
    assert done.json["takes"]["bytes_to_write"] > 0
    assert sorted(tmp_path.iterdir()) == before


def test_pending_changes_have_an_exit_code_of_their_own(run: Run) -> None:
    plan = ("reingest", "-c", "beispiel", "-m", MANIFEST, "--dry-run", "--exit-code")
    assert run(*plan).code == 5
    assert run("reingest", "-c", "beispiel", "-m", MANIFEST).code == 0
    assert run(*plan).code == 0


def test_verify_prune_and_rollback(run: Run) -> None:
    assert run("reingest", "-c", "beispiel", "-m", MANIFEST).code == 0
    refused = run("prune", "-c", "beispiel")
    assert refused.code == 3 and "no receipt" in refused.err
    assert run("verify", "-c", "beispiel", "--json").json["ok"]
    assert run("prune", "-c", "beispiel", "--json").json["deleted"] == 0
    assert run("rollback", "-c", "beispiel").code == 2
    status = run("status", "--json").json
    assert status["collections"][0]["states"] == {"pruned": 2}


def test_search_prints_the_fundstelle(run: Run) -> None:
    chain(run)
    done = run("search", "Ab wann brauche ich einen Radbeauftragten?")
    assert done.out.startswith("[Quelle 1: LeihRadG § 3 Abs. 1a]\nEin Anbieter, der in der Regel")
    fields = run("search", "Radbeauftragter", "--json", "--limit", "1").json["results"][0]
    assert fields["article_label"] == fields["source"] == "LeihRadG § 3 Abs. 1a" and fields["is_recital"] is False


def test_a_cited_norm_of_an_ingested_law_comes_first(run: Run) -> None:
    chain(run)
    found = run("search", "Was steht in § 5 Abs. 2 LeihRadG?", "--json").json["results"]
    assert found[0]["source"] == "LeihRadG § 5 Abs. 2" and "citation" in found[0]["ranks"]


def test_cite_knows_the_usual_laws_and_those_of_a_manifest(run: Run) -> None:
    row = run("cite", "nach Artikel 13 Absatz 1 Buchstabe c der Verordnung (EU) 2016/679", "--json").lines[0]
    assert row["complete"] and row["targets"][0]["label"] == "Art. 13 Abs. 1 lit. c DSGVO"
    text = "die §§ 3 bis 6 LeihRadG"
    unknown = run("cite", text, "--json").lines[0]["targets"]
    assert {target["regulation_code"] for target in unknown} == {"unknown"}
    known = run("cite", text, "--json", "--manifest", MANIFEST).lines[0]["targets"]
    assert [target["label"] for target in known] == [f"LeihRadG § {n}" for n in ("3", "4", "5", "6")]
    assert "LeihRadG § 3" in run("cite", text, "--manifest", MANIFEST).out
    assert run("cite", "kein Zitat").out == "No citation found.\n"


def test_normalize_shows_what_the_rules_did(run: Run, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("Daten- und Aus-\nkunftsrechte der Per\u00adson", "utf-8")
    report = run("normalize", "text.txt", "--json").json
    assert report["after"].split() == ["Daten-", "und", "Auskunftsrechte", "der", "Person"]
    assert {"line-hyphens", "soft-hyphens"} <= {rule["rule"] for rule in report["rules"]}


def test_normalize_turns_old_payloads_into_contract_payloads(run: Run, tmp_path: Path) -> None:
    old = (EXAMPLES / "legacy_points.jsonl").read_text("utf-8").splitlines()
    raw = [json.dumps(json.loads(line)["payload"]) for line in old]
    (tmp_path / "raw.jsonl").write_text("\n".join([*raw, "{}"]), "utf-8")
    done = run("normalize", "raw.jsonl", "--json")
    assert done.code == 3 and "payload 8" in done.err  # nothing to convert in {}; the others come out
    assert [p["article_label"] for p in done.lines[:2]] == ["LeihRadG § 1 Abs. 1", "LeihRadG § 3 Abs. 1"]
    assert all(check_payload(payload) for payload in done.lines) and len(done.lines) == 7


def test_chunk_needs_no_store(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    lines = run("chunk", str(EXAMPLES / "leihradgesetz.xml"), "--json").lines
    assert [line["article_label"] for line in lines[:2]] == ["LeihRadG § 1 Abs. 1", "LeihRadG § 1 Abs. 2"]


def test_undo_takes_a_relink_back(run: Run) -> None:
    chain(run)
    run_id = run("status", "--json").json["runs"][0]["run"]
    assert run("relink", "undo", str(run_id)).code == 0
    assert all(row["source_citation"] is None for row in run("controls", "export", "--json").lines)


def test_doctor_names_origins_and_what_is_missing(run: Run) -> None:
    done = run("doctor", "--json")
    assert done.code == 0
    origins = {value["setting"]: value["from"] for value in done.json["settings"]}
    assert origins["database_url"] == "environment DATABASE_URL" and origins["home"] == "flag"
    assert {f["part"] for f in done.json["findings"]} == {"vectors", "tables", "embedder", "disk", "extras"}


def test_the_embedded_stores_need_nothing_but_a_home(run: Run, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.delenv("DATABASE_URL")

    def there(*arguments: str) -> Done:
        return run("--home", str(home), *arguments)

    too_early = there("relink")
    assert too_early.code == 2 and "db upgrade" in too_early.err
    chain(there)
    assert (home / "postgres").is_dir() and (home / "vectors" / "beispiel").is_dir()
    status = there("status", "--json")
    assert status.code == 0, status.err
    assert status.json["controls"]["outcomes"]["linked"] == 7


def test_force_replaces_but_never_erases_a_citation_set_by_people(run: Run, tmp_path: Path) -> None:
    chain(run)
    uuid = "10000000-0000-4000-8000-000000000099"
    line = {"control_uuid": uuid, "source_original_text": "Kein Satz irgendeines Gesetzes, sondern frei erfunden hier."}
    (tmp_path / "more.jsonl").write_text(json.dumps(line | {"source_citation": {"article": "7"}}), "utf-8")
    assert run("controls", "import", "more.jsonl").code == 0
    assert run("relink", "--force").code == 0
    row = next(r for r in run("controls", "export", "--json").lines if r["control_uuid"] == uuid)
    assert (row["outcome"], row["source_citation"]) == ("kept", {"article": "7"})


def test_an_import_takes_nothing_away_that_it_does_not_say(run: Run, tmp_path: Path) -> None:
    chain(run)
    (tmp_path / "hint.jsonl").write_text('{"control_uuid": "10000000-0000-4000-8000-000000000009"}', "utf-8")
    assert run("controls", "import", "hint.jsonl", "--json").json["unchanged"] == 1


# --- Mistakes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("reingest",), 2, "--collection"),
        (("reingest", "-c", "x", "-m", "missing.yaml"), 2, "cannot be read"),
        (("reingest", "-c", "x"), 2, "no known manifest"),
        (("reingest", "-c", "anders", "-m", MANIFEST), 2, "is for collection 'beispiel'"),
        (("reingest", "-c", "../x", "-m", "plain.yaml"), 2, "../x"),
        (("reingest", "-c", "x", "-m", "html.yaml"), 1, "HTML page"),
        (("reingest", "-c", "x", "-m", "bomb.yaml"), 1, "XML entities"),
        (("reingest", "-c", "x", "-m", "double.yaml"), 2, "both document BEISPIEL0001"),
        (("reingest", "-c", "x", "-m", "unknown.yaml"), 2, "line 3: unknown key"),
        (("reingest", "-c", "x", "-m", "glob.yaml"), 2, "glob"),
        (("reingest", "-c", "x", "-m", "date.yaml"), 2, "date.yaml line"),
        (("verify", "-c", "x", "-m", "plain.yaml"), 3, "no collection"),
        (("prune", "-c", "x", "-m", "plain.yaml"), 3, "no receipt"),
        (("relink",), 2, "no collection"),
        (("relink", "undo", "99"), 2, "no re-link"),
        (("chunk", "missing.xml"), 1, "cannot be read"),
        (("chunk", "page.html"), 1, "HTML page"),
        (("controls", "import", "missing.jsonl"), 1, "cannot be read"),
        (("controls", "import", "bad.jsonl"), 1, "bad.jsonl line 2"),
        (("search", "Frage"), 2, "Name the collection"),
        (("search", "Frage", "-c", "fehlt"), 2, "no collection 'fehlt'"),
        (("--config", "missing.toml", "status"), 2, "cannot be read"),
        (("unknown",), 2, "unknown"),
    ],
)
def test_a_mistake_is_one_sentence_and_an_exit_code(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], code: int, reason: str
) -> None:
    shutil.copy(EXAMPLES / "leihradgesetz.xml", tmp_path / "law.xml")
    shutil.copy(EXAMPLES / "leihradgesetz.xml", tmp_path / "again.xml")
    (tmp_path / "page.html").write_text("<!DOCTYPE html><html><body>404</body></html>")
    (tmp_path / "bomb.xml").write_text('<!DOCTYPE d [<!ENTITY a "aa">]><dokumente><norm>&a;</norm></dokumente>')
    (tmp_path / "plain.yaml").write_text("documents:\n  - path: law.xml\n")
    (tmp_path / "html.yaml").write_text("documents:\n  - path: law.xml\n  - path: page.html\n")
    (tmp_path / "bomb.yaml").write_text("documents:\n  - path: bomb.xml\n")
    (tmp_path / "double.yaml").write_text("documents:\n  - path: law.xml\n  - path: again.xml\n")
    (tmp_path / "unknown.yaml").write_text("documents:\n  - path: law.xml\n    farbe: rot\n")
    (tmp_path / "glob.yaml").write_text("documents:\n  - glob: '**.xml'\n")
    (tmp_path / "date.yaml").write_text("documents:\n  - path: law.xml\n    version_date: 2024-13-45\n")
    good = '{"control_uuid": "10000000-0000-4000-8000-000000000001"}\n'
    (tmp_path / "bad.jsonl").write_text(good + '{"control_uuid": "x", "farbe": "rot"}\n')
    done = run(*arguments)
    assert done.code == code, done.err
    assert reason in done.err and "Traceback" not in done.err
    assert run("status", "--json").json["collections"] == []  # nothing half-written
    assert run("status", "--json").json["controls"]["controls"] == 0


def test_a_second_writer_ends_with_exit_code_4(run: Run, tables: Tables) -> None:
    with collection_lock(tables, "beispiel"):
        done = run("reingest", "-c", "beispiel", "-m", MANIFEST)
    assert done.code == 4 and "beispiel" in done.err


def test_a_database_that_is_down(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://u:GEHEIM@127.0.0.1:1/db")
    done = run("reingest", "-c", "beispiel", "-m", MANIFEST)
    assert done.code == 1 and "127.0.0.1:1" in done.err
    assert "GEHEIM" not in done.err and len(done.err.strip().splitlines()) == 1


def test_a_vector_server_that_is_down(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QDRANT_URL", "http://127.0.0.1:1")
    done = run("reingest", "-c", "beispiel", "-m", MANIFEST)
    assert done.code == 1 and "127.0.0.1:1" in done.err and len(done.err.strip().splitlines()) == 1


def test_the_same_bytes_under_any_hash_seed_locale_and_time_zone() -> None:
    def chunks(**environment: str) -> bytes:
        command = [sys.executable, "-m", "cli", "chunk", str(EXAMPLES / "leihradgesetz.xml"), "--json"]
        base = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
        return subprocess.run(command, env=base | environment, capture_output=True, check=True).stdout

    first = chunks(PYTHONHASHSEED="1", LC_ALL="C", TZ="UTC", PYTHONIOENCODING="latin-1")
    assert first == chunks(PYTHONHASHSEED="2", LC_ALL="C.UTF-8", TZ="Asia/Tokyo")
    assert first.count(b"\n") == 14
