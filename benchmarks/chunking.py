"""Compare our chunker with three text splitters from PyPI on the same laws, in one run, and print a table.

The libraries are for this benchmark only; one that is not installed is named and left out:

    pip install langchain-text-splitters llama-index-core chonkie
    FUNDSTELLE_SHARED=../shared python benchmarks/chunking.py --laws 60

The texts are a seeded sample of the bulk of federal law and the EU acts of the corpus, written out with their headings
and numbers. The splitters get them as plain text, and the same limit in characters without overlap; ours reads the
official files. Every chunk is found again in the plain text, where the norms and the citations stand:

- over a border: chunks with text of more than one § or Artikel;
- in a citation: chunks that begin or end inside a citation ("Art. 6 Abs. 1 | Buchst. a");
- with a label: chunks from which one can tell the norm: ours carry it; the others if they begin with its heading.
"""

import argparse
import os
import random
import statistics
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from ingest.chunker import MAX_CHARACTERS, Document, chunk_act  # noqa: E402
from ingest.compose import compose_absatz  # noqa: E402
from ingest.conservation.run import source_files  # noqa: E402
from ingest.sources.detect import read_act  # noqa: E402
from ingest.tree import Provision  # noqa: E402
from normalize.errors import SourceError  # noqa: E402
from normalize.laws import LawTable  # noqa: E402
from tests import citation_scores as scores  # noqa: E402

SEED = 2024
REPEATS = 3
_NOBODY = Document("benchmark", "0000-00-00", "LAW", "LAW", None)
Splitter = Callable[[str], Sequence[str]]


@dataclass(frozen=True)
class Law:
    """A law as its file, as its tree, and as plain text: where its norms begin, and where its citations stand."""

    name: str
    data: bytes
    provisions: tuple[Provision, ...]
    text: str
    borders: tuple[int, ...]
    headings: tuple[str, ...]
    citations: tuple[tuple[int, int], ...]


def write_out(
    provisions: Sequence[Provision], find: scores.Spans
) -> tuple[str, list[int], list[str], list[tuple[int, int]]]:
    """Return the plain text of a law, where each norm begins in it, the first line of each, and its citations.

    Citations are sought in the text of each Absatz: a heading and the number below it look like one and are none.
    """
    borders, headings, citations = [], [], []
    parts: list[str] = []
    length = 0
    for provision in provisions:
        texts = [(a.number, composed) for a in provision.absaetze if (composed := compose_absatz(provision, a).text)]
        if not texts:
            continue
        sign = "§" if provision.style == "paragraph" else "Artikel"
        name = f"{sign} {provision.article}" if provision.article[0].isdigit() else provision.article
        heading = f"{name} {provision.heading or ''}".strip()
        borders.append(length)
        headings.append(heading)
        for line in (heading, *texts):
            number, text = line if isinstance(line, tuple) else (None, line)
            if number:
                parts.append(f"({number}) ")
                length += len(parts[-1])
            if isinstance(line, tuple):
                citations += [(length + start, length + end) for start, end in find(text)]
            parts.append(f"{text}\n\n")
            length += len(parts[-1])
    return "".join(parts), borders, headings, sorted(citations)


def read_laws(shared: Path, count: int) -> Iterator[Law]:
    """Yield the sample: so many laws of the bulk, then the Formex acts of the corpus."""
    corpus = shared / "corpus"
    bulk = list(source_files([corpus / "bulk" / "gii-xml-all_2024-10.tar.zst"]))
    chosen = sorted(random.Random(SEED).sample(range(len(bulk)), min(count, len(bulk))))
    files = [bulk[index] for index in chosen]
    files += [(path.name, path.read_bytes()) for path in sorted(corpus.glob("eurlex-*/*.xml"))]
    spans = scores.our_spans(LawTable.builtin())
    for name, data in files:
        try:
            provisions = read_act(data, name)[0].provisions
        except SourceError:
            continue
        text, borders, headings, citations = write_out(provisions, spans)
        if text:
            yield Law(name, data, provisions, text, tuple(borders), tuple(headings), tuple(citations))


# --- The splitters -------------------------------------------------------------------------------------------------


def langchain() -> Splitter:
    """LangChain's RecursiveCharacterTextSplitter: paragraphs, lines, words."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    return RecursiveCharacterTextSplitter(chunk_size=MAX_CHARACTERS, chunk_overlap=0).split_text


def llama_index() -> Splitter:
    """LlamaIndex' SentenceSplitter, its size counted in characters as the others' is."""
    from llama_index.core.node_parser import SentenceSplitter

    return SentenceSplitter(chunk_size=MAX_CHARACTERS, chunk_overlap=0, tokenizer=list).split_text


def chonkie() -> Splitter:
    """chonkie's RecursiveChunker: paragraphs, sentences, words."""
    from chonkie import RecursiveChunker

    chunker = RecursiveChunker(tokenizer="character", chunk_size=MAX_CHARACTERS)
    return lambda text: [chunk.text for chunk in chunker(text)]


OTHERS: dict[str, tuple[str, Callable[[], Splitter]]] = {
    "langchain": ("langchain-text-splitters", langchain),
    "llama-index": ("llama-index-core", llama_index),
    "chonkie": ("chonkie", chonkie),
}


# --- Measuring -----------------------------------------------------------------------------------------------------


@dataclass
class Score:
    """What was counted over all laws."""

    chunks: int = 0
    over_border: int = 0
    in_citation: int = 0
    labelled: int = 0
    not_found: int = 0

    def add(self, law: Law, chunks: Sequence[str], labels: Sequence[str] | None = None) -> None:
        """Count the chunks of a law; `labels` are those that the chunks carry themselves."""
        position = 0
        starts = [start for start, _ in law.citations]
        for number, chunk in enumerate(chunks):
            inner = chunk.strip()
            start = law.text.find(inner, position)
            self.chunks += 1
            if start < 0:
                self.not_found += 1
                continue
            end = position = start + len(inner)
            first = bisect_right(law.borders, start) - 1
            self.over_border += bisect_right(law.borders, end - 1) - 1 > first
            self.in_citation += _inside(starts, law.citations, start) or _inside(starts, law.citations, end)
            self.labelled += bool(labels[number]) if labels is not None else inner.startswith(law.headings[first])


def _inside(starts: Sequence[int], citations: Sequence[tuple[int, int]], place: int) -> bool:
    index = bisect_right(starts, place) - 1
    return index >= 0 and citations[index][0] < place < citations[index][1]


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of one call, the median of several."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return max(statistics.median(times), 1e-9)


def ours(laws: Sequence[Law]) -> tuple[Score, float, float]:
    """Return our score, and the seconds for reading and chunking, and for chunking alone."""
    score = Score()
    for law in laws:
        payloads = [chunk.payload for chunk in chunk_act(_NOBODY, law.provisions)]
        score.add(law, [p["chunk_text"] for p in payloads], [p["article_label"] for p in payloads])
    both = seconds(lambda: [list(chunk_act(_NOBODY, read_act(law.data, law.name)[0].provisions)) for law in laws])
    alone = seconds(lambda: [list(chunk_act(_NOBODY, law.provisions)) for law in laws])
    return score, both, alone


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Our chunker and three text splitters on the same laws.")
    parser.add_argument("--laws", type=int, default=60, help="laws of the bulk in the sample (the EU acts come on top)")
    count = parser.parse_args().laws
    shared = Path(os.environ.get("FUNDSTELLE_SHARED") or ROOT.parent / "shared")
    if not (shared / "corpus").is_dir():
        print(f"No corpus at {shared / 'corpus'}: set FUNDSTELLE_SHARED to the folder that holds it.", file=sys.stderr)
        return 1
    laws = list(read_laws(shared, count))
    size = sum(len(law.text.encode()) for law in laws) / 1e6
    norms, cited = sum(len(law.borders) for law in laws), sum(len(law.citations) for law in laws)
    print(
        f"{len(laws)} laws, {size:.1f} MB of plain text, {norms:,} norms, {cited:,} citations; at most "
        f"{MAX_CHARACTERS:,} characters a chunk"
    )
    head = ("", "MB/s", "chunks", "over a border", "in a citation", "with a label", "lost track")
    print(("{:<28}{:>8}{:>9}" + "{:>15}" * 3 + "{:>12}").format(*head))
    rows: list[tuple[str, Score, float]] = []
    score, both, alone = ours(laws)
    rows += [("fundstelle, read and chunk", score, size / both), ("fundstelle, chunk alone", score, size / alone)]
    for name, (package, make) in OTHERS.items():
        try:
            split = make()
        except ImportError:
            print(f"{name:<28}is not installed; for the comparison: pip install {package}")
            continue
        score = Score()
        for law in laws:
            score.add(law, split(law.text))
        rows.append((name, score, size / seconds(lambda split=split: [split(law.text) for law in laws])))  # type: ignore[misc]
    for name, score, speed in rows:
        shares = [score.over_border, score.in_citation, score.labelled]
        cells = "".join(f"{value / max(score.chunks, 1):>15.2%}" for value in shares)
        print(f"{name:<28}{speed:>8.2f}{score.chunks:>9,}{cells}{score.not_found:>12,}")
    print("\nRatios to fundstelle, read and chunk (speed) and to its chunks (faults)")
    reference, own = rows[0][2], rows[0][1]
    for name, score, speed in rows[2:]:
        faults = (score.over_border + score.in_citation) / max(score.chunks, 1)
        mine = (own.over_border + own.in_citation) / max(own.chunks, 1)
        times = (
            f"{faults / mine:.0f} times as many faulty chunks" if mine else f"{faults:.1%} faulty chunks against none"
        )
        print(f"{name:<28}{speed / reference:>7.2f}x speed, {times}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
