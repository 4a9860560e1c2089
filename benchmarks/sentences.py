"""Compare sentence splitters on the sentence numbers that federal laws carry themselves.

Run `python benchmarks/sentences.py` (the other libraries are optional: `pip install pysbd sentence-splitter syntok
spacy`). A sentence is right if both its ends are; *inner* counts the starts inside a block only, since the first start
is given away. Speed is in megabytes of text a second.
"""

import importlib.util
import os
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from normalize.sentences import split_sentences  # noqa: E402
from tests.sentence_gold import HELD_OUT, TUNED_ON, GoldBlock, bulk_laws, law_blocks  # noqa: E402

Span = tuple[int, int]
Splitter = Callable[[str], list[Span]]


def main() -> None:
    """Print one table for EStG and KStG (rules were written on them) and one for the laws held out."""
    corpus = Path(os.environ.get("FUNDSTELLE_SHARED") or ROOT.parent / "shared") / "corpus"
    archive = corpus / "bulk" / "gii-xml-all_2024-10.tar.zst"
    laws = dict(bulk_laws(archive, (*TUNED_ON, *HELD_OUT)))
    estg = list(law_blocks((corpus / "gii-xml" / "estg_2024-08.xml").read_bytes()))
    tuned = [block for name in TUNED_ON for block in law_blocks(laws[name])]
    held_out = [block for name in HELD_OUT for block in law_blocks(laws[name])]
    splitters = dict(_splitters())
    for title, blocks in (("EStG", estg), ("KStG", tuned), ("held out: " + ", ".join(HELD_OUT), held_out)):
        sentences = sum(len(block.sentences) for block in blocks)
        print(f"\n{title}: {len(blocks)} blocks, {sentences} sentences")
        print(f"{'splitter':34}{'right':>9}{'inner P':>9}{'inner R':>9}{'MB/s':>8}")
        for name, splitter in splitters.items():
            print(f"{name:34}{_row(splitter, blocks)}")


def _row(splitter: Splitter, blocks: Sequence[GoldBlock]) -> str:
    begin = time.perf_counter()
    found = [splitter(block.text) for block in blocks]
    seconds = time.perf_counter() - begin
    right = total = hits = claimed = true = 0
    for block, spans in zip(blocks, found, strict=True):
        total += len(block.sentences)
        right += len(set(block.sentences) & set(spans))
        gold_starts = {start for start, _ in block.sentences[1:]}
        starts = {start for start, _ in spans[1:]}
        hits += len(gold_starts & starts)
        claimed += len(starts)
        true += len(gold_starts)
    megabytes = sum(len(block.text.encode()) for block in blocks) / 1e6
    return f"{right / total:9.2%}{hits / max(claimed, 1):9.2%}{hits / true:9.2%}{megabytes / seconds:8.2f}"


def _splitters() -> Iterator[tuple[str, Splitter]]:
    yield "fundstelle", split_sentences
    if _installed("pysbd"):
        import pysbd

        segmenter = pysbd.Segmenter(language="de", clean=False)
        yield "pysbd (de)", lambda text: _place(text, segmenter.segment(text))
        from pysbd.lang.deutsch import Deutsch

        class Words(Deutsch.Abbreviation):  # type: ignore[misc]
            ABBREVIATIONS = sorted({*Deutsch.Abbreviation.ABBREVIATIONS, *(word.lower() for word in _our_words())})

        class Taught(Deutsch):  # type: ignore[misc]
            Abbreviation = Words

        taught = pysbd.Segmenter(language="de", clean=False)
        taught.language_module = Taught
        yield "pysbd + our words", lambda text: _place(text, taught.segment(text))
    if _installed("sentence_splitter"):
        import sentence_splitter
        from sentence_splitter import SentenceSplitter

        moses = SentenceSplitter(language="de")
        yield "sentence-splitter (de)", lambda text: _place(text, moses.split(text))
        own = Path(sentence_splitter.__file__).parent / "non_breaking_prefixes" / "de.txt"
        legal = SentenceSplitter(language="de", non_breaking_prefix_file=str(_our_prefixes(own)))
        yield "sentence-splitter + our words", lambda text: _place(text, legal.split(text))
    if _installed("syntok"):
        from syntok import segmenter as syntok

        yield (
            "syntok",
            lambda text: [
                (sentence[0].offset, sentence[-1].offset + len(sentence[-1].value))
                for paragraph in syntok.analyze(text)
                for sentence in paragraph
            ],
        )
    if _installed("spacy"):
        import spacy

        pipeline = spacy.blank("de")
        pipeline.add_pipe("sentencizer")
        yield "spaCy sentencizer (de)", lambda text: [(s.start_char, s.end_char) for s in pipeline(text).sents]


def _installed(module: str) -> bool:
    if importlib.util.find_spec(module) is None:
        print(f"{module} is not installed and left out", file=sys.stderr)
        return False
    return True


def _our_words() -> list[str]:
    words = tomllib.loads((ROOT / "normalize" / "abbreviations.toml").read_text(encoding="utf-8"))
    return [*words["never_last"], *words["maybe_last"]]


def _our_prefixes(own: Path) -> Path:
    """Add our abbreviations to the ones of sentence-splitter and return the file."""
    path = Path(tempfile.mkdtemp()) / "prefixes.txt"
    path.write_text(own.read_text(encoding="utf-8") + "\n" + "\n".join(_our_words()) + "\n", encoding="utf-8")
    return path


def _place(text: str, pieces: Sequence[str]) -> list[Span]:
    """Find the pieces of a splitter that returns strings in the text."""
    spans = []
    position = 0
    for piece in pieces:
        stripped = piece.strip()
        start = text.find(stripped, position)
        if start < 0 or not stripped:
            continue
        position = start + len(stripped)
        spans.append((start, position))
    return spans


if __name__ == "__main__":
    main()
