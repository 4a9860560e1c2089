"""Compare a re-ingest with what a user would pick instead, on the same chunks and vectors, in one run.

    pip install langchain-core langchain-classic langchain-qdrant
    FUNDSTELLE_SHARED=../shared python benchmarks/reingest.py --chunks 100000

- fundstelle: `reingest` from the official files (read, chunk, edges, embed, BM25, write, read back), embedded engine;
- langchain: `index()` with its SQL record manager and Qdrant vector store, `cleanup="incremental"`;
- script: `QdrantClient.upload_points`, as one would write it in an afternoon.

The two others get chunks and vectors ready made and only store them, in the client's own local mode: there is no Qdrant
server in this comparison. Each run is a process of its own: a first run, an unchanged one, one with a law changed;
then a first run that is killed (kill -9) half-way and run again. A run after the first that takes longer than
`--limit` seconds is stopped and shown as "> limit". Goals: first run no slower than the script, unchanged run at least
20 times as fast as langchain. Wall time depends on the load of the machine; the processor time beside it hardly does.
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

DIMENSION = 512
SEED = 2024
COLLECTION = "bench"
KINDS = ("fundstelle", "langchain", "script")
# Where in the first run the kill comes, as a share of its time.
KILL_AT = 0.6


# --- Data ------------------------------------------------------------------------------------------------------------


def prepare(shared: Path, folder: Path, wanted: int) -> int:
    """Write files, chunks and vectors of so many chunks of federal law, and of the same with one law changed."""
    from backends.embedders import HashingEmbedder
    from ingest.conservation.run import source_files
    from ingest.documents import load_file
    from normalize.errors import FundstelleError
    from normalize.laws import LawTable

    laws, embedder = LawTable.builtin(), HashingEmbedder(DIMENSION)
    files = list(source_files([shared / "corpus" / "bulk" / "gii-xml-all_2024-10.tar.zst"]))
    random.Random(SEED).shuffle(files)
    for variant in ("same", "changed"):
        (folder / variant).mkdir()
    count = 0
    changed = False
    outs = {variant: (folder / f"{variant}.jsonl").open("w", encoding="utf-8") for variant in ("same", "changed")}
    vectors: dict[str, list[Any]] = {"same": [], "changed": []}
    for name, data in files:
        if count >= wanted:
            break
        base = Path(name).name
        path = folder / "same" / base
        path.write_bytes(data)
        try:
            chunks = list(load_file(path, laws).chunks())
        except FundstelleError:
            chunks = []
        if not chunks:
            path.unlink()
            continue
        other = data
        if not changed and b" muss " in data and len(chunks) > 5:
            other, changed = data.replace(b" muss ", b" soll ", 1), True
        (folder / "changed" / base).write_bytes(other)
        for variant in ("same", "changed"):
            mine = (
                chunks
                if other is data or variant == "same"
                else list(load_file(folder / variant / base, laws).chunks())
            )
            vectors[variant].append(embedder.embed([chunk.embed_text for chunk in mine]))
            for chunk in mine:
                row = {"id": chunk.point_id, "text": chunk.payload["chunk_text"], "payload": chunk.payload}
                outs[variant].write(json.dumps(row, ensure_ascii=False) + "\n")
        count += len(chunks)
    for variant, out in outs.items():
        out.close()
        np.save(folder / f"{variant}.npy", np.vstack(vectors[variant]))
        (folder / f"{variant}.yaml").write_text(f"documents:\n  - glob: {variant}/*.xml\n", "utf-8")
    return count


def rows(data: Path, variant: str) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield the chunks of a variant with their vectors."""
    matrix = np.load(data / f"{variant}.npy", mmap_mode="r")
    with (data / f"{variant}.jsonl").open(encoding="utf-8") as file:
        for line, vector in zip(file, matrix, strict=True):
            yield json.loads(line), vector


# --- What is compared ----------------------------------------------------------------------------------------------


def fundstelle(data: Path, state: Path, variant: str) -> None:
    """Our own command."""
    import cli

    os.environ["FUNDSTELLE_HOME"] = str(state)
    sys.argv = ["fundstelle", "reingest", "-c", COLLECTION, "-m", str(data / f"{variant}.yaml"), "--json"]
    try:
        cli.main()
    except SystemExit as end:
        if end.code:
            raise


def set_up(state: Path) -> None:
    """Make our tables, which an operator does once; the others make theirs while they run."""
    from backends.tables.connect import open_tables
    from backends.tables.upgrade import upgrade

    with open_tables(home=state) as tables:
        upgrade(tables)


def langchain(data: Path, state: Path, variant: str) -> None:
    """LangChain's indexing API: every chunk is hashed and looked up in the record manager."""
    from langchain_classic.indexes import SQLRecordManager
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.indexing import index
    from langchain_qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient, models

    ready = {row["text"]: vector for row, vector in rows(data, variant)}

    class Ready(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [ready[text].tolist() for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return [0.0] * DIMENSION

    client = QdrantClient(path=str(state / "qdrant"))
    if not client.collection_exists(COLLECTION):
        client.create_collection(COLLECTION, models.VectorParams(size=DIMENSION, distance=models.Distance.COSINE))
    store = QdrantVectorStore(client, COLLECTION, Ready(), validate_embeddings=False, validate_collection_config=False)
    records = SQLRecordManager(f"qdrant/{COLLECTION}", db_url=f"sqlite:///{state}/records.sqlite")
    records.create_schema()
    documents = (Document(row["text"], metadata=row["payload"] | {"chunk_text": ""}) for row, _ in rows(data, variant))
    index(documents, records, store, cleanup="incremental", source_id_key="document_id")
    client.close()


def script(data: Path, state: Path, variant: str) -> None:
    """A plain upload; the second run writes everything again."""
    from qdrant_client import QdrantClient, models

    client = QdrantClient(path=str(state / "qdrant"))
    if not client.collection_exists(COLLECTION):
        client.create_collection(COLLECTION, models.VectorParams(size=DIMENSION, distance=models.Distance.COSINE))
    client.upload_points(
        COLLECTION,
        (models.PointStruct(id=row["id"], vector=v.tolist(), payload=row["payload"]) for row, v in rows(data, variant)),
        batch_size=256,
        wait=True,
    )
    client.close()


def points(kind: str, state: Path) -> tuple[int, int]:
    """Return how many points are there, and how many chunk texts of one law are there twice."""
    seen: dict[tuple[str, str, int], int] = {}
    if kind == "fundstelle":
        from backends.vectors.edge import EdgeStore

        with EdgeStore(state, 30) as store:
            payloads = [r.payload for r in store.scroll(COLLECTION)] if store.describe(COLLECTION) else []
    else:
        from qdrant_client import QdrantClient

        client = QdrantClient(path=str(state / "qdrant"))
        payloads, offset = [], None
        while True:
            page, offset = client.scroll(COLLECTION, limit=2000, offset=offset, with_payload=True)
            payloads += [record.payload.get("metadata", record.payload) for record in page if record.payload]
            if offset is None:
                break
        client.close()
    for payload in payloads:
        key = (payload["document_id"], payload["chunk_hash"], payload["chunk_index"])
        seen[key] = seen.get(key, 0) + 1
    return len(payloads), sum(count - 1 for count in seen.values())


RUNS: dict[str, Callable[[Path, Path, str], None]] = {
    "fundstelle": fundstelle,
    "langchain": langchain,
    "script": script,
}


def memory_peak() -> float:
    """Return the most megabytes this process held; `ru_maxrss` would count those of the process that started it too."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return next(int(line.split()[1]) / 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM"))


# --- Measuring -----------------------------------------------------------------------------------------------------


def child(kind: str, data: Path, state: Path, variant: str) -> int:
    """Run one thing in this process and say what it took, on standard error."""
    if kind == "fundstelle":
        set_up(state)
    started = time.perf_counter()
    RUNS[kind](data, state, variant)
    seconds = time.perf_counter() - started
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    peak = memory_peak()
    processor = sum(one.ru_utime + one.ru_stime for one in used)
    sys.stderr.write(json.dumps({"seconds": seconds, "peak": peak, "processor": processor}) + "\n")
    return 0


def start(kind: str, data: Path, state: Path, variant: str) -> subprocess.Popen[str]:
    """Start one run as a process group of its own."""
    state.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable,
        __file__,
        "--child",
        kind,
        "--data",
        str(data),
        "--state",
        str(state),
        "--variant",
        variant,
    ]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


@dataclass(frozen=True)
class Took:
    """Wall and processor seconds and peak megabytes of a run; `over` if it was stopped at the limit."""

    seconds: float
    processor: float
    peak: float
    over: bool = False

    def __str__(self) -> str:
        return f"> {self.seconds:,.0f}" if self.over else f"{self.seconds:,.1f} ({self.processor:,.0f})"


def measure(kind: str, data: Path, state: Path, variant: str = "same", limit: float | None = None) -> Took | None:
    """Run to the end, or for `limit` seconds; None if it is not installed."""
    process = start(kind, data, state, variant)
    try:
        _, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Took(limit or 0.0, 0.0, 0.0, over=True)
    lines = errors.strip().splitlines()
    if lines and lines[-1].startswith("{"):
        return Took(**json.loads(lines[-1]))
    if "ModuleNotFoundError" in errors:
        return None
    raise RuntimeError(f"{kind} failed:\n{errors[-2000:]}")


def killed(kind: str, data: Path, state: Path, after: float) -> None:
    """Start a first run and kill it, with all its processes, after so many seconds."""
    process = start(kind, data, state, "same")
    try:
        process.wait(timeout=after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="A re-ingest beside LangChain's index() and a plain script.")
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--only", choices=KINDS, action="append", help="Only this (repeatable).")
    parser.add_argument("--limit", type=float, default=900.0, help="Seconds for each run after the first.")
    for hidden in ("--child", "--data", "--state", "--variant"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        return child(given.child, Path(given.data), Path(given.state), given.variant)
    shared = Path(os.environ.get("FUNDSTELLE_SHARED") or ROOT.parent / "shared")
    if not (shared / "corpus").is_dir():
        print(f"No corpus at {shared / 'corpus'}: set FUNDSTELLE_SHARED to the folder that holds it.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="reingest-") as scratch:
        folder = Path(scratch)
        data = folder / "data"
        data.mkdir()
        count = prepare(shared, data, given.chunks)
        print(
            f"{count:,} chunks of federal law, vectors of {DIMENSION}; seconds of a whole process (of processor time)"
        )
        columns = (
            "",
            "first run",
            "chunks/s",
            "unchanged",
            "one law changed",
            "peak MB",
            "killed: there, again, twice",
        )
        row = "{:<12}{:>17}{:>10}{:>16}{:>17}{:>9}{:>30}"
        print(row.format(*columns), flush=True)
        first: dict[str, tuple[Took, Took]] = {}
        for kind in given.only or KINDS:
            state = folder / kind
            runs = [measure(kind, data, state)]
            runs += [measure(kind, data, state, variant, given.limit) for variant in ("same", "changed") if runs[0]]
            done = [run for run in runs if run]
            if len(done) < 3:
                print(f"{kind:<12}is not installed; for the comparison: pip install langchain-classic langchain-qdrant")
                continue
            new, again, changed = done
            broken = folder / f"{kind}-killed"
            killed(kind, data, broken, new.seconds * KILL_AT)
            there, _ = points(kind, broken)
            rest = measure(kind, data, broken, limit=given.limit)
            after, twice = points(kind, broken)
            ended = f"{there:,}, {after:,}{' (stopped)' if rest and rest.over else ''}, {twice:,}"
            rate, peak = f"{count / new.seconds:,.0f}", f"{max(run.peak for run in done):,.0f}"
            print(row.format(kind, str(new), rate, str(again), str(changed), peak, ended), flush=True)
            first[kind] = (new, again)
            for old in (state, broken):
                shutil.rmtree(old, ignore_errors=True)
        if "fundstelle" in first:
            mine = first["fundstelle"]
            for kind, (new, again) in first.items():
                if kind != "fundstelle":
                    least = "at least " if again.over else ""
                    times = f"first run {new.seconds / mine[0].seconds:.2f}x, unchanged run {least}"
                    print(f"{kind}: {times}{again.seconds / mine[1].seconds:.1f}x the time of fundstelle")
    return 0


if __name__ == "__main__":
    sys.exit(main())
