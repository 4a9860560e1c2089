"""Measure the re-link on the gold: index, quotations a second, right and wrong links, and the whole run in Postgres.

    python benchmarks/relink.py [--shared DIR] [--shares N] [--controls 315914] [--baseline 200]

`--shares 8` reads an eighth of federal law; 1 reads all of it, which takes minutes before anything is measured.
`--baseline N` compares with rapidfuzz `extractOne` (partial_ratio) on N quotations; 0 leaves that out.
"""

import argparse
import dataclasses
import json
import random
import resource
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rapidfuzz import fuzz, process

sys.path[0] = str(Path(__file__).resolve().parents[1])  # else `relink` would be this file

from backends.tables.connect import open_tables  # noqa: E402
from backends.tables.upgrade import upgrade  # noqa: E402
from relink.anchors import make_anchors  # noqa: E402
from relink.chunks import LinkChunk  # noqa: E402
from relink.controls import export_controls, import_controls  # noqa: E402
from relink.corpus import Corpus, build_corpus  # noqa: E402
from relink.parallel import decide_in_parallel, processors  # noqa: E402
from relink.run import relink  # noqa: E402
from relink.tiers import TIERS  # noqa: E402
from tests.relink_gold import Row, in_share, read_gold, read_law, score  # noqa: E402

SEED = 20240601
SELF_WRITTEN = 0.03


def rows_of(gold: Sequence[Row], codes: set[str]) -> list[Row]:
    """Return the gold rows whose laws were read, with the places that were read."""
    rows = []
    for row in gold:
        here = frozenset(place for place in row.places if place[0] in codes)
        if bool(here) == bool(row.places) and (row.hint is None or row.hint.upper() in codes):
            rows.append(dataclasses.replace(row, places=here))
    return rows


def measure_engine(chunks: list[LinkChunk], rows: list[Row]) -> Corpus:
    """Print the seconds of the index and of the quotations, and a table of outcomes."""
    started = time.perf_counter()
    corpus = build_corpus(chunks)
    indexed = time.perf_counter()
    anchors = make_anchors(corpus, [(row.text, row.hint) for row in rows])
    decisions = decide_in_parallel(corpus, anchors, list(TIERS.values()))
    seconds = time.perf_counter() - indexed
    print(f"chunks {len(chunks)}  letters {len(corpus.letters)}  index {indexed - started:.1f} s")
    print(f"quotations {len(rows)}  {seconds:.1f} s  {len(rows) / seconds:.0f} a second on {processors()} processors")
    table = score(corpus, rows, decisions)
    for (damage, case), counts in sorted(table.items()):
        print(
            f"{damage:16} {case:15} rows {counts['rows']:5}  right {counts['right'] / counts['rows']:.4f}"
            f"  wrong {counts['wrong']:3}  ambiguous {counts['ambiguous']:5} (right first {counts['first']})"
            f"  unmatched {counts['unmatched']:5}"
        )
    whole = sum(table.values(), Counter[str]())
    print(
        f"links {whole['right'] + whole['wrong']}  precision {whole['right'] / (whole['right'] + whole['wrong']):.5f}"
    )
    return corpus


def measure_baseline(chunks: list[LinkChunk], rows: list[Row], number: int) -> None:
    """Print what comparing each quotation with each chunk costs."""
    texts = [chunk.chunk_text for chunk in chunks]
    sample = random.Random(SEED).sample(rows, min(number, len(rows)))
    started = time.perf_counter()
    for row in sample:
        process.extractOne(row.text, texts, scorer=fuzz.partial_ratio)
    seconds = time.perf_counter() - started
    print(f"rapidfuzz extractOne: {len(sample) / seconds:.2f} a second on {len(sample)} quotations")


def control_lines(rows: list[Row], number: int) -> list[str]:
    """Return control lines: the quotations, and atoms and self-written controls up to a number."""
    rng = random.Random(SEED)
    ids: list[str] = []
    lines: list[dict[str, object]] = []
    for row in rows:
        ids.append(str(uuid.UUID(int=rng.getrandbits(128))))
        lines.append({"control_uuid": ids[-1], "source_original_text": row.text, "source_regulation": row.hint})
    while len(lines) < number:
        new = str(uuid.UUID(int=rng.getrandbits(128)))
        if rng.random() < SELF_WRITTEN:
            lines.append({"control_uuid": new, "is_self_written": True})
        else:
            lines.append({"control_uuid": new, "parent_control_uuid": rng.choice(ids)})
        ids.append(new)
    return [json.dumps(line) for line in lines]


def measure_database(chunks: list[LinkChunk], rows: list[Row], number: int) -> None:
    """Print the seconds of import, re-link, the same again, and export in an embedded Postgres."""
    lines = control_lines(rows, number)
    with (
        tempfile.TemporaryDirectory(prefix="fundstelle-bench-", ignore_cleanup_errors=True) as home,
        open_tables(home=Path(home)) as tables,
    ):
        upgrade(tables)
        started = time.perf_counter()
        import_controls(tables, lines, "benchmark")
        print(f"import of {len(lines)} controls {time.perf_counter() - started:.1f} s")
        for what in ("re-link", "again"):
            started = time.perf_counter()
            report = relink(tables, chunks)
            print(f"{what} {time.perf_counter() - started:.1f} s  writes {report.writes}  {report.outcomes}")
            print(f"  stages {report.seconds}")
        started = time.perf_counter()
        rows_out = sum(1 for _ in export_controls(tables))
        print(f"export of {rows_out} controls {time.perf_counter() - started:.1f} s")


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path(__file__).resolve().parents[2] / "shared")
    parser.add_argument("--shares", type=int, default=1)
    parser.add_argument("--controls", type=int, default=315_914)
    parser.add_argument("--baseline", type=int, default=0)
    options = parser.parse_args()
    excluded, gold = read_gold(options.shared)
    with tempfile.TemporaryDirectory() as folder:
        chunks = read_law(options.shared, Path(folder), lambda code: in_share(code, options.shares))
    chunks = [chunk for chunk in chunks if chunk.regulation_code not in excluded]
    rows = rows_of(gold, {chunk.regulation_code for chunk in chunks})
    measure_engine(chunks, rows)
    if options.baseline:
        measure_baseline(chunks, rows, options.baseline)
    if options.controls:
        measure_database(chunks, rows, options.controls)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB")


if __name__ == "__main__":
    main()
