"""Compare our citation finder with four libraries from PyPI on the same gold strings, and print a table.

The libraries are for this benchmark only; one that is not installed is named and left out:

    pip install legal-reference-extraction quantlaw gesetze lexref
    FUNDSTELLE_SHARED=../shared python benchmarks/citations.py

(`legal-reference-extraction` installs the module `refex`; the package called `refex` on PyPI is something else.)
Spans are scored as in `tests/citation_scores.py`: an overlap of 90 %, neighbours of one chain joined on both sides. The
libraries give spans of different kinds, so each adapter below says what it takes as the span of a citation.
"""

import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from normalize.laws import LawTable  # noqa: E402
from tests import citation_scores as scores  # noqa: E402

Finder = scores.Spans
_MARKER_BEFORE = re.compile(r"(?:§+|Art(?:ikel[ns]?)?\.?|Abs(?:atz)?\.?|Satz|Nr\.?|Nummer|Buchstabe|lit\.)\s*$")
_SMALL_GAP = re.compile(r"[^.;]{0,30}")


def ours() -> Finder:
    """Fundstelle with its built-in law table."""
    return scores.our_spans(LawTable.builtin())


def refex() -> Finder:
    """legal-reference-extraction: the spans of its law citations."""
    from refex.orchestrator import CitationExtractor

    extractor = CitationExtractor()

    def spans(text: str) -> Iterable[scores.Span]:
        for citation in extractor.extract(text).citations:
            if type(citation).__name__ == "LawCitation":
                yield citation.span.start, citation.span.end

    return spans


def quantlaw() -> Finder:
    """quantlaw: main area, suffix and law name; it is given all names of our table."""
    from quantlaw.de_extract.statutes_areas import StatutesExtractor
    from quantlaw.de_extract.stemming import stem_law_name

    names = {
        stem_law_name(name): law.code
        for law in LawTable.builtin().laws
        for name in (law.short, *law.aliases, *((law.name,) if law.name else ()))
    }
    extractor = StatutesExtractor(names)

    def spans(text: str) -> Iterable[scores.Span]:
        for match in extractor.find_all(text):
            if match.has_main_area():
                yield match.start, match.end + match.suffix_len + match.law_len

    return spans


def gesetze() -> Finder:
    """gesetze: the matches of its expression for a legal norm."""
    from gesetze import REGEX

    return lambda text: [match.span() for match in REGEX.finditer(text)]


def lexref() -> Finder:
    """lexref: it marks the value of every unit, so that neighbouring marks and the marker before them are joined."""
    from lexref import Reflector

    reflector = Reflector("DE", "annotate")

    def spans(text: str) -> Iterable[scores.Span]:
        joined: list[scores.Span] = []
        try:
            marks = [(mark["span"]["start"], mark["span"]["end"]) for mark in reflector(text)[0]["references"]]
        except Exception:
            return []  # it raises on some sentences; nothing found then
        for start, end in sorted(marks):
            marker = _MARKER_BEFORE.search(text, max(0, start - 12), start)
            begin = marker.start() if marker else start
            if joined and _SMALL_GAP.fullmatch(text, joined[-1][1], max(begin, joined[-1][1])):
                joined[-1] = (joined[-1][0], end)
            else:
                joined.append((begin, end))
        return joined

    return spans


TOOLS: dict[str, tuple[str, Callable[[], Finder]]] = {
    "fundstelle": ("", ours),
    "refex": ("legal-reference-extraction", refex),
    "quantlaw": ("quantlaw", quantlaw),
    "gesetze": ("gesetze", gesetze),
    "lexref": ("lexref", lexref),
}


def share_covered(lines: list[str], finder: Finder) -> float:
    """Return the share of strings that the joined spans of a finder cover from end to end."""
    covered = 0
    for line in lines:
        line = line.removeprefix("und ")
        joined = scores.join_chain(line, finder(line))
        covered += len(joined) == 1 and joined[0] == (0, len(line))
    return covered / len(lines)


def speed(text: str, finder: Finder) -> float:
    """Return megabytes of text a second of processor time."""
    start = time.process_time()
    list(finder(text))
    return len(text.encode()) / 1e6 / max(time.process_time() - start, 1e-9)


def main() -> int:
    """Print the table."""
    logging.disable()  # the libraries log every doubt
    shared = Path(os.environ.get("FUNDSTELLE_SHARED") or ROOT.parent / "shared")
    gold = shared / "gold" / "citations"
    if not gold.is_dir():
        print(f"No gold data at {gold}: set FUNDSTELLE_SHARED to the folder that holds gold/.", file=sys.stderr)
        return 1
    ler = gold / "ler_dev.conll"
    strings = list(scores.string_lines(gold / "strings"))
    styles = [line for line in (gold / "citation_styles.txt").read_text(encoding="utf-8").splitlines() if line.strip()]
    decisions = "\n".join(text for text, _, _ in scores.ler_sentences(ler))[:300_000]
    laws = LawTable.builtin()
    head = ("", "LER P", "LER R", "LER F1", "refex F1", "strings", "styles", "MB/s")
    print(("{:<11}" + "{:>9}" * 7).format(*head))
    for name, (package, make) in TOOLS.items():
        try:
            finder = make()
        except ImportError:
            print(f"{name:<11} is not installed; for the comparison: pip install {package}")
            continue
        score = scores.ler_score(ler, finder)
        spans = scores.refex_score(gold, laws, finder).spans
        figures = (score.precision, score.recall, score.f1, spans.f1)
        whole = (share_covered(strings, finder), share_covered(styles, finder))
        cells = "".join(f"{value:>9.3f}" for value in figures) + "".join(f"{value:>9.1%}" for value in whole)
        print(f"{name:<11}{cells}{speed(decisions, finder):>9.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
