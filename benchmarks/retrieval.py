"""Measure the search stage by stage, beside two other hybrid retrievers, on the same chunks and vectors.

    pip install langchain-qdrant llama-index-core llama-index-retrievers-bm25 llama-index-vector-stores-qdrant fastembed
    FUNDSTELLE_SHARED=../shared python benchmarks/retrieval.py --chunks 100000

`--model FOLDER` takes a sentence-transformers model instead of the hashing embedder, `--cross-encoder FOLDER` adds the
last stage; `--work FOLDER` keeps what was prepared for the next run (with the same `--chunks` and `--model`). At
100,000 chunks the local mode of the Qdrant client takes seconds for a question: `--sample 20` for the times, 25,000
chunks for the ranks.

The collection: the newest version of each law of the corpus, its EU acts in German, and a seeded sample of the bulk of
federal law up to the wanted number of chunks, written by `reingest` into the embedded engine. The questions: those of
`examples/questions.yaml`; one whose Fundstelle is not in the collection is named and left out.

- dense, BM25: one leg alone, the question as it was asked; hybrid: both, with the table's wording beside it;
- + binding, + graph, + scoring: the pool after each further stage (graph: the norms that the best hits cite; scoring:
  totals with the edges over one hop, authority);
- search: all of it as `fundstelle search` does it by default: cited norms looked up, twins shown once, no graph;
- langchain: QdrantVectorStore in RetrievalMode.HYBRID, once with our BM25 terms, once with its usual FastEmbed BM25
  (German stemmer; where its stop words cannot be downloaded, those of bm25s);
- llama-index: QueryFusionRetriever (reciprocal rerank, the question alone) over its BM25Retriever (German stemmer and
  stop words) and a vector index.

Both of these keep their vectors in the Qdrant client's own local mode: there is no server in this comparison, so their
times say what a user without one waits, and their ranks what they find. recall@10: of several Fundstellen that are all
needed the share that is found, else whether one is; MRR: of the first right source; nDCG@10: each needed Fundstelle
gains 1 at its first source. Times are of one question from text to sources, the processor's beside those on the wall.
"""

import argparse
import contextlib
import io
import json
import logging
import math
import os
import random
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from backends.embedders import Embedder, make_embedder  # noqa: E402
from backends.vectors.edge import EdgeStore  # noqa: E402
from backends.vectors.store import SparseVector  # noqa: E402
from ingest.conservation.run import source_files  # noqa: E402
from ingest.documents import load_file  # noqa: E402
from normalize.analyzer import sparse_document, sparse_query  # noqa: E402
from normalize.citation import Citation  # noqa: E402
from normalize.citing import parse  # noqa: E402
from normalize.errors import FundstelleError  # noqa: E402
from normalize.laws import LawTable  # noqa: E402
from retrieve.candidates import Candidate, score  # noqa: E402
from retrieve.config import Retriever, load_retriever  # noqa: E402
from retrieve.cross_encoder import CrossEncoderJudge  # noqa: E402
from retrieve.expand import expand  # noqa: E402
from retrieve.graph import bonuses  # noqa: E402
from retrieve.pool import Request, build_pool  # noqa: E402
from retrieve.rank import by_authority, with_binding_law  # noqa: E402
from retrieve.retest import meets  # noqa: E402
from retrieve.search import SearchOptions, search  # noqa: E402
from retrieve.telemetry import Telemetry  # noqa: E402
from retrieve.wordings import Wording  # noqa: E402

SEED = 2024
COLLECTION = "bench"
TOP = 10
DEPTH = 20
"""Hits that each leg of the others' fusions gets, as ours does for ten sources."""


@dataclass(frozen=True)
class Asked:
    """A question, its Fundstellen (one suffices, or every one is needed), of which kind and split."""

    text: str
    expected: tuple[Citation, ...]
    every: bool
    kind: str
    split: str


@dataclass(frozen=True)
class Found:
    """A source: the payload of its chunk, and the Fundstellen of the same text elsewhere."""

    payload: Mapping[str, Any]
    also: Sequence[str] = ()

    def is_one(self, wanted: Citation) -> bool:
        """Whether it is (part of) the wanted norm."""
        return meets(self.payload, wanted) or wanted.label in self.also


System = Callable[[str], Sequence[Found]]
"""Answer a question with its sources, best first."""


# --- Data ------------------------------------------------------------------------------------------------------------


def read_questions(path: Path, laws: LawTable) -> list[Asked]:
    raw = yaml.safe_load(path.read_text("utf-8"))
    asked = []
    for row in raw["questions"]:
        expected = tuple(parse(text, laws) for text in row.get("any_of") or row["all_of"])
        kind, split = str(row.get("kind", "-")), str(row.get("split", "-"))
        asked.append(Asked(row["question"], expected, bool(row.get("all_of")), kind, split))
    return asked


def sources(shared: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files in the order in which they are taken: newest versions of the corpus, EU acts, then the bulk."""
    corpus = shared / "corpus"
    dated = sorted((corpus / "gii-xml").glob("*.xml"), key=lambda path: path.stem.split("_")[1])
    newest = {re.sub(r"-\d{4}$", "", path.stem.split("_")[0]): path for path in dated}
    for path in [*newest.values(), *sorted(p for p in (corpus / "eurlex-de").iterdir() if p.is_file())]:
        yield path.name, path.read_bytes()
    bulk = list(source_files([corpus / "bulk" / "gii-xml-all_2024-10.tar.zst"]))
    random.Random(SEED).shuffle(bulk)
    yield from ((Path(name).name, data) for name, data in bulk)


def prepare(shared: Path, folder: Path, wanted: int, laws: LawTable) -> None:
    """Write the files of so many chunks, the manifest, and the text of each chunk as embedder and BM25 see it.

    Of a law that is there already, by its id or its code, the bulk may have another version, which is left out.
    """
    files = folder / "files"
    files.mkdir(parents=True)
    count = 0
    known: set[str] = set()
    with (folder / "texts.jsonl").open("w", encoding="utf-8") as out:
        for name, data in sources(shared):
            if count >= wanted:
                break
            path = files / name
            path.write_bytes(data)
            try:
                loaded = load_file(path, laws)
                names = {loaded.names.document_id, loaded.document.regulation_code}
                chunks = [] if names & known else list(loaded.chunks())
            except FundstelleError:
                chunks = []
            if not chunks:
                path.unlink()
                continue
            known |= names
            count += len(chunks)
            for chunk in chunks:
                out.write(json.dumps([chunk.point_id, chunk.embed_text], ensure_ascii=False) + "\n")
    (folder / "manifest.yaml").write_text("documents:\n  - glob: files/*\n", "utf-8")


def ingest(folder: Path, model: str | None) -> None:
    """Build the collection with our own commands."""
    import cli

    os.environ["FUNDSTELLE_HOME"] = str(folder / "home")
    if model:
        os.environ |= {"FUNDSTELLE_EMBEDDER": "sentence-transformers", "FUNDSTELLE_EMBEDDER_MODEL": model}
    for command in (["db", "upgrade"], ["reingest", "-c", COLLECTION, "-m", str(folder / "manifest.yaml"), "--json"]):
        sys.argv = ["fundstelle", *command]
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                cli.main()
            except SystemExit as end:
                if end.code:
                    raise


def texts(folder: Path) -> dict[str, str]:
    with (folder / "texts.jsonl").open(encoding="utf-8") as file:
        return dict(json.loads(line) for line in file)


# --- Ours ------------------------------------------------------------------------------------------------------------


def ours(
    store: EdgeStore, embedder: Embedder, laws: LawTable, retriever: Retriever, judge: CrossEncoderJudge | None
) -> dict[str, System]:
    about = store.describe(COLLECTION)
    assert about is not None

    def dense(question: str) -> list[Found]:
        hits = store.query_dense(COLLECTION, embedder.embed([question])[0], TOP)
        return [Found(hit.payload) for hit in hits]

    def bm25(question: str) -> list[Found]:
        hits = store.query_sparse(COLLECTION, SparseVector(*sparse_query(question)), TOP)
        return [Found(hit.payload) for hit in hits]

    def pool(question: str, *, graph: bool) -> list[Candidate]:
        table = expand(question)
        wordings = (Wording(question), Wording(table, "table")) if table else (Wording(question),)
        return build_pool(store, about, embedder, Request(wordings, TOP, graph=graph), retriever, Telemetry())

    def found(ranked: Sequence[Candidate]) -> list[Found]:
        return [Found(candidate.payload) for candidate in ranked[:TOP]]

    def hybrid(question: str) -> list[Found]:
        return found([candidate for candidate in pool(question, graph=False) if candidate.stage == "hybrid"])

    def binding(question: str) -> list[Found]:
        return found(with_binding_law(pool(question, graph=False), TOP))

    def graph(question: str) -> list[Found]:
        return found(with_binding_law(pool(question, graph=True), TOP))

    def scoring(question: str) -> list[Found]:
        everything = pool(question, graph=True)
        edges = bonuses(everything, retriever.config.edge_types, 1)
        return found(with_binding_law(by_authority(score(everything, retriever, edges), retriever), TOP))

    def whole(options: SearchOptions) -> System:
        def ask(question: str) -> list[Found]:
            answer = search(store, COLLECTION, embedder, question, laws, options, retriever)
            return [Found(source.candidate.payload, source.also) for source in answer.sources]

        return ask

    systems: dict[str, System] = {
        "dense": dense,
        "BM25": bm25,
        "hybrid": hybrid,
        "+ binding": binding,
        "+ graph": graph,
        "+ scoring": scoring,
        "search": whole(SearchOptions(TOP)),
    }
    if judge is not None:
        systems["search, cross-encoder"] = whole(SearchOptions(TOP, judge=judge))
    return systems


# --- The others ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chunks:
    """The same chunks and vectors for all: ids, texts, payloads, dense vectors."""

    ids: list[str]
    texts: list[str]
    payloads: dict[str, dict[str, Any]]
    vectors: list[list[float]]

    @classmethod
    def of(cls, store: EdgeStore, folder: Path) -> "Chunks":
        """Read them back from our collection."""
        written = texts(folder)
        records = [record for record in store.scroll(COLLECTION, vectors=True) if record.dense is not None]
        ids = [str(record.id) for record in records]
        payloads = {str(record.id): record.payload for record in records}
        vectors = [record.dense.tolist() for record in records if record.dense is not None]
        return cls(ids, [written[i] for i in ids], payloads, vectors)


def langchain(chunks: Chunks, embedder: Embedder, sparse: Any) -> System:
    """LangChain's hybrid retriever over a sparse embedding."""
    from langchain_core.embeddings import Embeddings
    from langchain_qdrant import QdrantVectorStore, RetrievalMode
    from qdrant_client import QdrantClient, models

    class Ready(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise NotImplementedError("the vectors are there already")

        def embed_query(self, text: str) -> list[float]:
            vector: list[float] = embedder.embed([text])[0].tolist()
            return vector

    warnings.filterwarnings("ignore", message="Local mode is not recommended")
    client = QdrantClient(":memory:")
    client.create_collection(
        COLLECTION,
        {"dense": models.VectorParams(size=embedder.dimension, distance=models.Distance.COSINE)},
        {"bm25": models.SparseVectorParams(modifier=models.Modifier.IDF)},
    )
    for start in range(0, len(chunks.ids), 1000):
        part = slice(start, start + 1000)
        terms = sparse.embed_documents(chunks.texts[part])
        points = [
            models.PointStruct(
                id=i,
                vector={"dense": v, "bm25": models.SparseVector(indices=t.indices, values=t.values)},
                payload={"page_content": "", "metadata": {"id": i}},
            )
            for i, v, t in zip(chunks.ids[part], chunks.vectors[part], terms, strict=True)
        ]
        client.upsert(COLLECTION, points)
    store = QdrantVectorStore(
        client, COLLECTION, Ready(), vector_name="dense", sparse_embedding=sparse, sparse_vector_name="bm25",
        retrieval_mode=RetrievalMode.HYBRID, validate_embeddings=False, validate_collection_config=False,
    )  # fmt: skip
    retriever = store.as_retriever(search_kwargs={"k": TOP})
    return lambda question: [Found(chunks.payloads[one.metadata["id"]]) for one in retriever.invoke(question)]


def langchain_ours(chunks: Chunks, embedder: Embedder) -> System:
    """LangChain fed with our BM25 terms."""
    from langchain_qdrant.sparse_embeddings import SparseEmbeddings
    from langchain_qdrant.sparse_embeddings import SparseVector as Terms

    class Ours(SparseEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[Terms]:
            found = (sparse_document(text) for text in texts)
            return [Terms(indices=list(f.indices), values=list(f.values)) for f in found]

        def embed_query(self, text: str) -> Terms:
            found = sparse_query(text)
            return Terms(indices=list(found.indices), values=list(found.values))

    return langchain(chunks, embedder, Ours())


def langchain_fastembed(chunks: Chunks, embedder: Embedder) -> System:
    """LangChain with the sparse embedding it documents."""
    from langchain_qdrant import FastEmbedSparse

    logging.disable()
    with contextlib.suppress(ImportError):
        from loguru import logger

        logger.disable("fastembed")
    try:
        sparse = FastEmbedSparse("Qdrant/bm25", language="german")
    except Exception:  # whatever the hub client raises without a network
        from bm25s.stopwords import STOPWORDS_GERMAN

        print("fastembed's stop words cannot be downloaded; those of bm25s are used")
        empty = tempfile.mkdtemp(prefix="bm25-")
        sparse = FastEmbedSparse(
            "Qdrant/bm25", language="german", stopwords=set(STOPWORDS_GERMAN), specific_model_path=empty
        )
        shutil.rmtree(empty)
    return langchain(chunks, embedder, sparse)


def llama_index(chunks: Chunks, embedder: Embedder) -> System:
    """LlamaIndex' fusion of its BM25 retriever and a vector index."""
    import Stemmer
    from llama_index.core import VectorStoreIndex
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.core.schema import TextNode
    from llama_index.retrievers.bm25 import BM25Retriever
    from llama_index.vector_stores.qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient

    class Ready(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            vector: list[float] = embedder.embed([query])[0].tolist()
            return vector

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

        def _get_text_embedding(self, text: str) -> list[float]:
            raise NotImplementedError("the vectors are there already")

    nodes = [
        TextNode(id_=i, text=text, embedding=vector)
        for i, text, vector in zip(chunks.ids, chunks.texts, chunks.vectors, strict=True)
    ]
    warnings.filterwarnings("ignore", message="Payload indexes have no effect")
    vectors = QdrantVectorStore(COLLECTION, client=QdrantClient(":memory:"))
    vectors.add(nodes)
    for node in nodes:
        node.embedding = None
    stemmer = Stemmer.Stemmer("german")
    bm25 = BM25Retriever.from_defaults(nodes=nodes, stemmer=stemmer, language="de", similarity_top_k=DEPTH)
    index = VectorStoreIndex.from_vector_store(vectors, embed_model=Ready())
    fusion = QueryFusionRetriever(
        [index.as_retriever(similarity_top_k=DEPTH), bm25], llm=MockLLM(), mode="reciprocal_rerank", num_queries=1,
        similarity_top_k=TOP, use_async=False,
    )  # fmt: skip
    return lambda question: [Found(chunks.payloads[one.node.node_id]) for one in fusion.retrieve(question)]


OTHERS: dict[str, tuple[str, Callable[[Chunks, Embedder], System]]] = {
    "langchain, our terms": ("langchain-qdrant", langchain_ours),
    "langchain, fastembed": ("langchain-qdrant fastembed bm25s", langchain_fastembed),
    "llama-index": (
        "llama-index-core llama-index-retrievers-bm25 llama-index-vector-stores-qdrant",
        llama_index,
    ),
}


# --- Measuring -------------------------------------------------------------------------------------------------------


def scores(question: Asked, found: Sequence[Found]) -> tuple[float, float, float]:
    """Return recall@10, reciprocal rank and nDCG@10 of an answer."""
    ranks = [
        next((rank for rank, one in enumerate(found[:TOP], 1) if one.is_one(wanted)), None)
        for wanted in question.expected
    ]
    there = [rank for rank in ranks if rank is not None]
    if not there:
        return 0.0, 0.0, 0.0
    first = min(there)
    if not question.every:
        return 1.0, 1 / first, 1 / math.log2(1 + first)
    # Several Fundstellen may be met by one source; the ideal order has no more places than this one needs.
    gain = sum(1 / math.log2(1 + rank) for rank in set(there))
    ideal = sum(1 / math.log2(1 + rank) for rank in range(1, len(set(there)) + ranks.count(None) + 1))
    return len(there) / len(ranks), 1 / first, gain / ideal


@dataclass(frozen=True)
class Measured:
    """What a system did: its scores for every question, and seconds on the wall and of the processor."""

    scores: list[tuple[float, float, float]]
    wall: list[float]
    processor: list[float]


def measure(system: System, questions: Sequence[Asked]) -> Measured:
    result = Measured([], [], [])
    for question in questions[:3]:
        system(question.text)
    for question in questions:
        used, started = time.process_time(), time.perf_counter()
        found = system(question.text)
        result.wall.append(time.perf_counter() - started)
        result.processor.append(time.process_time() - used)
        result.scores.append(scores(question, found))
    return result


def share(values: Sequence[float], part: float) -> float:
    """Return the value that so great a part does not exceed, in milliseconds."""
    return sorted(values)[min(int(len(values) * part), len(values) - 1)] * 1000


def row(name: str, cells: Sequence[str]) -> str:
    return f"{name:<24}" + "".join(f"{cell:>22}" for cell in cells)


def print_scores(questions: Sequence[Asked], measured: Mapping[str, Measured]) -> None:
    for split in sorted({question.split for question in questions}, reverse=True):
        kinds = ["all", *sorted({question.kind for question in questions if question.split == split})]
        places = {
            kind: [n for n, q in enumerate(questions) if q.split == split and kind in ("all", q.kind)] for kind in kinds
        }
        print(f"\n{split}: recall@{TOP}, MRR, nDCG@{TOP}")
        print(row("", [f"{kind} ({len(places[kind])})" for kind in kinds]))
        for name, result in measured.items():
            cells = []
            for kind in kinds:
                picked = [result.scores[n] for n in places[kind]]
                cells.append("  ".join(f"{sum(values) / len(values):.3f}" for values in zip(*picked, strict=True)))
            print(row(name, cells))


def print_times(measured: Mapping[str, Measured], points: int) -> None:
    print(
        f"\nMilliseconds a question at {points:,} chunks; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
    )
    print(row("", ["p50", "p95", "p50 of processor", "p95 of processor"]))
    for name, result in measured.items():
        cells = [f"{share(times, part):,.1f}" for times in (result.wall, result.processor) for part in (0.5, 0.95)]
        print(row(name, cells))
    own = measured["search"]
    for name in OTHERS:
        if name in measured:
            ratio = share(measured[name].wall, 0.95) / share(own.wall, 0.95)
            used = share(measured[name].processor, 0.95) / share(own.processor, 0.95)
            print(f"{name}: p95 {ratio:.1f}x that of search ({used:.1f}x of processor time)")


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="The search stage by stage, and two other hybrid retrievers.")
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--questions", type=Path, default=ROOT / "examples" / "questions.yaml")
    parser.add_argument("--model", help="Folder of a sentence-transformers model (default: the hashing embedder).")
    parser.add_argument("--cross-encoder", help="Folder of a cross-encoder.")
    parser.add_argument("--work", type=Path, help="Folder that keeps what was prepared (default: none is kept).")
    parser.add_argument("--alone", action="store_true", help="Leave the others out.")
    parser.add_argument("--sample", type=int, help="Ask only so many questions (langchain takes seconds for each).")
    given = parser.parse_args()
    shared = Path(os.environ.get("FUNDSTELLE_SHARED") or ROOT.parent / "shared")
    if not (shared / "corpus").is_dir():
        print(f"No corpus at {shared / 'corpus'}: set FUNDSTELLE_SHARED to the folder that holds it.", file=sys.stderr)
        return 1
    laws, retriever = LawTable.builtin(), load_retriever(environment={})
    questions = read_questions(given.questions, laws)
    with contextlib.ExitStack() as stack:
        folder = given.work or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="retrieval-")))
        if not (folder / "home").exists():
            prepare(shared, folder, given.chunks, laws)
            ingest(folder, given.model)
        name = "sentence-transformers" if given.model else "hashing"
        embedder = make_embedder(name, model=given.model)
        store = stack.enter_context(EdgeStore(folder / "home", 30))
        questions = [question for question in questions if _is_there(store, question)]
        if given.sample:
            questions = random.Random(SEED).sample(questions, min(given.sample, len(questions)))
        points = store.count(COLLECTION)
        print(f"{points:,} chunks, vectors of {embedder.dimension} ({embedder.model}), {len(questions)} questions")
        judge = CrossEncoderJudge(given.cross_encoder) if given.cross_encoder else None
        measured: dict[str, Measured] = {}
        for name, system in ours(store, embedder, laws, retriever, judge).items():
            measured[name] = measure(system, questions)
        if not given.alone:
            chunks = Chunks.of(store, folder)
            for name, (package, make) in OTHERS.items():
                try:
                    system = make(chunks, embedder)
                except ImportError:
                    print(f"{name} is not installed; for the comparison: pip install {package}")
                    continue
                measured[name] = measure(system, questions)
                del system
        print_scores(questions, measured)
        print_times(measured, points)
    return 0


def _is_there(store: EdgeStore, question: Asked) -> bool:
    """Whether the collection has the Fundstellen of a question; say which it has not."""
    from backends.vectors.store import Where

    there = []
    for wanted in question.expected:
        where = Where(must={"regulation_code": [wanted.regulation_code], "article": [wanted.article or ""]})
        there.append(any(meets(record.payload, wanted) for record in store.scroll(COLLECTION, where)))
        if not there[-1]:
            print(f"not in the collection: {wanted.label} ({question.text})")
    return all(there) if question.every else any(there)


if __name__ == "__main__":
    sys.exit(main())
