"""The main job on the embedded stores, from a platform's old chunks to controls with a printable Fundstelle.

Runs the commands of the run book one after the other, as an operator would, and ends with a summary. Run it twice: the
second run changes nothing.
"""

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import printing.ingesting
import printing.linking
from backends.embedders import make_embedder
from backends.vectors import open_store
from backends.vectors.store import Layout, Point, SparseVector
from normalize.analyzer import sparse_document

HERE = Path(__file__).resolve().parent
HOME = Path(os.environ.get("FUNDSTELLE_HOME", ".fundstelle"))
COLLECTION = "beispiel"
QUESTIONS = (
    "Ab wann brauche ich einen Radbeauftragten?",
    "Wann sind Fahrtdaten nach der Abrechnung zu löschen?",
    "Darf der Preis während des Ladens erhöht werden?",
)


def run(*arguments: str) -> str:
    """Run one command as an operator would and return what it printed; stop the demo if it fails."""
    command = [str(Path(sys.executable).parent / "fundstelle"), "--home", str(HOME), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=False)
    if done.returncode:
        sys.exit(f"The demo stopped: 'fundstelle {' '.join(arguments)}' ended with exit code {done.returncode}.")
    return done.stdout


def say(*arguments: str) -> None:
    """Print the command that follows."""
    print(f"\n$ fundstelle {shlex.join(arguments)}", flush=True)


def report(*arguments: str) -> dict[str, Any]:
    """Run one command with --json and return its object."""
    say(*arguments)
    value: dict[str, Any] = json.loads(run(*arguments, "--json"))
    return value


def seed_old_points() -> int:
    """Make the collection as an older pipeline left it: random ids, raw payloads, no citation. Only where it is new."""
    store = open_store(home=HOME, url=None, api_key=None, timeout=10, lock_timeout=10)
    try:
        if store.describe(COLLECTION) is not None:
            return 0
        lines = (HERE / "legacy_points.jsonl").read_text("utf-8").splitlines()
        old = [json.loads(line) for line in lines if line]
        texts = [point["payload"]["chunk_text"] for point in old]
        embedder = make_embedder("hashing")
        store.create(COLLECTION, Layout(dimension=embedder.dimension), {}, {})
        rows = zip(old, embedder.embed(texts), map(sparse_document, texts), strict=True)
        points = [Point(p["id"], dense, SparseVector(*terms), p["payload"]) for p, dense, terms in rows]
        store.upsert(COLLECTION, points)
        return len(old)
    finally:
        store.close()


def main() -> None:
    """Run the demo."""
    started = time.perf_counter()
    HOME.mkdir(parents=True, exist_ok=True)
    old = seed_old_points()
    if old:
        print(f"A collection of today: '{COLLECTION}' has {old} old points with random ids and no Fundstelle.")
    say("db", "upgrade")
    print(run("db", "upgrade"), end="")
    written = report("reingest", "--collection", COLLECTION, "--manifest", str(HERE / "manifest.yaml"))
    printing.ingesting.print_plan(written, dry_run=False)
    verdict = report("verify", "--collection", COLLECTION)
    printing.ingesting.print_verdict(verdict)
    pruned = report("prune", "--collection", COLLECTION)
    printing.ingesting.print_pruned(pruned, dry_run=False)
    say("controls", "import", str(HERE / "controls.jsonl"))
    print(run("controls", "import", str(HERE / "controls.jsonl")), end="")
    links = report("relink")
    printing.linking.print_relinked(links, dry_run=False)
    answers = [report("search", question, "--limit", "1") for question in QUESTIONS]
    summarise(written, verdict, pruned, links, answers, time.perf_counter() - started)


def summarise(
    written: dict[str, Any],
    verdict: dict[str, Any],
    pruned: dict[str, Any],
    links: dict[str, Any],
    answers: list[dict[str, Any]],
    seconds: float,
) -> None:
    """Print the end of the demo: what an operator wants to know."""
    totals = written["totals"]
    print("\nSummary")
    before = f"{written['stored_points']} points before"
    print(f"  chunks        {before}, {verdict['chunks']} citable ones now ({totals['to_write']} written)")
    print(f"  verify        {'passed' if verdict['ok'] else 'FAILED'}, receipt {verdict['receipt']}")
    alone = f"{pruned['unclaimed']['points']} of other documents left alone"
    print(f"  pruned        {pruned['deleted']} old points; {alone}")
    print(f"  controls      {', '.join(f'{name} {count}' for name, count in links['outcomes'].items())}")
    print(f"  linked by     {', '.join(f'{name} {count}' for name, count in links['tiers'].items())}")
    for answer in answers:
        best = answer["results"][0]
        print(f"  {answer['query']}")
        print(f"    [Quelle 1: {best['source']}] {' '.join(best['text'].split())[:100]}…")
    if not totals["to_write"] and not totals["to_rewrite"] and not pruned["deleted"] and not links["writes"]:
        print("  Nothing was changed: everything was as it should be already.")
    print(f"  done in {seconds:.1f} s")


if __name__ == "__main__":
    main()
