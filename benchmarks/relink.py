"""Measure the re-link on the gold: index, quotations a second, right and wrong links, and the whole run in Postgres.

    pip install bm25s PyStemmer
    python benchmarks/relink.py [--shared DIR] [--shares N] [--controls 315914] [--baseline 200] [--growth]

`--shares 8` reads an eighth of federal law; 1 reads all of it, which takes minutes before anything is measured.
`--baseline N` compares with what one would take instead on N quotations: bm25s for 20 candidates and rapidfuzz
`partial_ratio` on them, and on a tenth of N rapidfuzz `extractOne` over all chunks; 0 leaves that out. `--growth`
prints the time of a quotation in 30,000 to 1,000,000 chunks: the law itself, then copies of it with changed words.
Wall time depends on the load of the machine; the processor time beside it hardly does.
"""

import argparse
import dataclasses
import itertools
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
from relink.decision import Decision  # noqa: E402
from relink.parallel import decide_in_parallel, processors  # noqa: E402
from relink.run import relink  # noqa: E402
from relink.tiers import TIERS, decide_anchors  # noqa: E402
from tests.relink_gold import Row, in_share, is_held_out, read_gold, read_law, score  # noqa: E402

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


def engine(corpus: Corpus, rows: Sequence[Row]) -> list[Decision]:
    """Decide the quotations of gold rows, as `relink` does."""
    anchors = make_anchors(corpus, [(row.text, row.hint) for row in rows])
    return decide_in_parallel(corpus, anchors, list(TIERS.values()))


class Stopwatch:
    """Wall and processor seconds of a block, children that ended in it included."""

    def __enter__(self) -> "Stopwatch":
        self._wall, self._processor = time.perf_counter(), self._used()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall = time.perf_counter() - self._wall
        self.processor = self._used() - self._processor

    @staticmethod
    def _used() -> float:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(one.ru_utime + one.ru_stime for one in used)


def measure_compilation(chunks: Sequence[LinkChunk], row: Row) -> None:
    """Print what the first call in a process waits for: all of it on a fresh install, else what was kept is read."""
    with Stopwatch() as watch:
        engine(build_corpus(chunks[:10]), [row])
    print(f"first quotation in ten chunks {watch.wall:.1f} s (compiled code: made now, or read where it was kept)")


def measure_engine(chunks: list[LinkChunk], rows: list[Row]) -> float:
    """Print the seconds of the index and of the quotations, and a table of outcomes; return quotations a second."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "index"
        for what in ("cold", "cold and kept", "kept"):
            with Stopwatch() as watch:
                corpus = build_corpus(chunks, processors(), None if what == "cold" else kept)
            print(f"index {what:14} {watch.wall:5.2f} s  ({watch.processor:.1f} s of processor time)")
        del corpus
        changed = [dataclasses.replace(chunks[0], chunk_text=f"{chunks[0].chunk_text} Neu."), *chunks[1:]]
        with Stopwatch() as watch:
            build_corpus(changed, processors(), kept)
        print(f"index {'of one law new':14} {watch.wall:5.2f} s  ({watch.processor:.1f} s of processor time)")
    corpus = build_corpus(chunks, processors())
    print(f"chunks {len(chunks):,}  letters {len(corpus.letters):,}  peak memory {memory_peak():,} MB")
    with Stopwatch() as watch:
        decisions = engine(corpus, rows)
    rate = len(rows) / watch.wall
    print(
        f"quotations {len(rows):,}  {watch.wall:.1f} s  {rate:,.0f} a second on {processors()} processors; "
        f"{len(rows) / watch.processor:,.0f} a second of processor time"
    )
    table = score(corpus, rows, decisions)
    for (damage, case), counts in sorted(table.items()):
        print(
            f"{damage:16} {case:15} rows {counts['rows']:5}  right {counts['right'] / counts['rows']:.4f}"
            f"  wrong {counts['wrong']:3}  ambiguous {counts['ambiguous']:5} (right first {counts['first']})"
            f"  unmatched {counts['unmatched']:5}"
        )
    whole = sum(table.values(), Counter[str]())
    print(f"links {whole['right'] + whole['wrong']}  precision {precision(whole):.5f}")
    both = list(zip(rows, decisions, strict=True))
    for half, held in (("tuned", False), ("held out", True)):
        mine = [pair for pair in both if is_held_out(pair[0]) == held]
        part = sum(score(corpus, [row for row, _ in mine], [d for _, d in mine]).values(), Counter[str]())
        print(f"  {half}: links {part['right'] + part['wrong']}  precision {precision(part):.5f}")
    return rate


def precision(counts: Counter[str]) -> float:
    """Return the share of links that are right."""
    return counts["right"] / max(1, counts["right"] + counts["wrong"])


def memory_peak() -> int:
    """Return the most megabytes that this process held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def measure_peers(chunks: list[LinkChunk], rows: list[Row], number: int, rate: float) -> None:
    """Print what others take a quotation, and how often the best chunk of theirs is a right place."""
    texts = [chunk.chunk_text for chunk in chunks]
    places = [(c.regulation_code, c.article, c.paragraph) for c in chunks]
    sample = random.Random(SEED).sample([row for row in rows if row.places], min(number, len(rows)))

    def say(what: str, found: list[int], seconds: float) -> None:
        right = sum(places[i] in row.places for i, row in zip(found, sample, strict=False)) / len(found)
        there = len(found) / seconds
        print(
            f"{what}: {there:,.2f} a second, best one right {right:.3f}; fundstelle {rate / there:,.0f} times as fast"
        )

    try:
        import bm25s
        import Stemmer
    except ModuleNotFoundError:
        print("bm25s is not installed; for the comparison: pip install bm25s PyStemmer")
    else:
        stemmer = Stemmer.Stemmer("german")
        with Stopwatch() as watch:
            retriever = bm25s.BM25()
            retriever.index(
                bm25s.tokenize(texts, stopwords="de", stemmer=stemmer, show_progress=False), show_progress=False
            )
        print(f"bm25s index {watch.wall:.1f} s")
        with Stopwatch() as watch:
            tokens = bm25s.tokenize([r.text for r in sample], stopwords="de", stemmer=stemmer, show_progress=False)
            hits, _ = retriever.retrieve(tokens, k=20, show_progress=False, n_threads=processors())
            best = [
                max(near.tolist(), key=lambda i: fuzz.partial_ratio(row.text, texts[i]))
                for row, near in zip(sample, hits, strict=True)
            ]
        say("bm25s + rapidfuzz partial_ratio", best, watch.wall)
    few = sample[: max(1, number // 10)]
    with Stopwatch() as watch:
        best = [process.extractOne(row.text, texts, scorer=fuzz.partial_ratio)[2] for row in few]
    say("rapidfuzz extractOne partial_ratio", best, watch.wall)


def grown(chunks: Sequence[LinkChunk], size: int) -> list[LinkChunk]:
    """Return so many chunks: the law, then copies of it under other names, every eighth word another one."""
    rng = random.Random(SEED)
    made = list(chunks[:size])
    for copy in itertools.count(1):
        for chunk in chunks:
            if len(made) >= size:
                return made
            words = chunk.chunk_text.split(" ")
            for i in range(rng.randrange(8), len(words), 8):
                words[i] = "".join(rng.choices("abcdefghiklmnoprstuw", k=max(3, len(words[i]))))
            document = f"{chunk.document_id}-{copy}"
            made.append(dataclasses.replace(chunk, document_id=document, chunk_text=" ".join(words)))
    raise AssertionError("unreachable")


def measure_growth(chunks: list[LinkChunk], rows: list[Row]) -> None:
    """Print the processor time of a quotation without a hint in more and more chunks."""
    print("chunks     index s   microseconds a quotation   against the row before: chunks, time")
    before: tuple[int, float] | None = None
    plain = [dataclasses.replace(row, hint=None) for row in random.Random(SEED).sample(rows, min(4000, len(rows)))]
    for size in (30_000, 100_000, 300_000, 1_000_000):
        with Stopwatch() as watch:
            corpus = build_corpus(more := grown(chunks, size), processors())
        built = watch.wall
        with Stopwatch() as watch:
            decide_anchors(corpus, make_anchors(corpus, [(row.text, row.hint) for row in plain]), list(TIERS.values()))
        each = watch.processor / len(plain) * 1e6
        ratio = f"{len(more) / before[0]:.2f}x {each / before[1]:.2f}x" if before else ""
        print(f"{len(more):>9,}  {built:7.1f}  {each:20.0f}       {ratio}", flush=True)
        before = (len(more), each)
        del corpus, more


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
            report = relink(tables, chunks, index=Path(home) / "index")
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
    parser.add_argument("--growth", action="store_true")
    options = parser.parse_args()
    excluded, gold = read_gold(options.shared)
    with tempfile.TemporaryDirectory() as folder:
        chunks = read_law(options.shared, Path(folder), lambda code: in_share(code, options.shares))
    chunks = [chunk for chunk in chunks if chunk.regulation_code not in excluded]
    rows = rows_of(gold, {chunk.regulation_code for chunk in chunks})
    measure_compilation(chunks, rows[0])
    rate = measure_engine(chunks, rows)
    if options.baseline:
        measure_peers(chunks, rows, options.baseline, rate)
    if options.controls:
        measure_database(chunks, rows, options.controls)
    if options.growth:
        measure_growth(chunks, rows)
    print(f"peak memory {memory_peak():,} MB")


if __name__ == "__main__":
    main()
