"""Rules for blanks and line ends."""

from itertools import groupby

from normalize.rules.rule import MOST_EXAMPLES, Change, Context, Outcome, Rule, substitution

ONE_BLANK = Rule(
    name="one-blank",
    version=1,
    reason="Non-breaking, thin and repeated blanks and line ends all print as one blank between two words.",
    apply=substitution(r"\s{2,}|[^\S ]", " "),
    changes=(
        ("§\u00a01", "§ 1"),
        ("12.\u202fFebruar  2018", "12. Februar 2018"),
        ("an\n Kinder", "an Kinder"),
        ("§\u20041834", "§ 1834"),
        ("a\u2028b", "a b"),
    ),
    keeps=("§ 1", "Daten- und Verbraucherschutz", " am Rand"),
)

NO_BLANKS_AT_THE_ENDS = Rule(
    name="no-blanks-at-the-ends",
    version=1,
    reason="Blanks around a text say nothing, and would change its hash.",
    apply=substitution(r"^\s+|(?<!\s)\s+\Z", ""),
    changes=((" Wer ", "Wer"), ("Wer\n", "Wer"), ("\u00a0(1)", "(1)"), (" ", "")),
    keeps=("Wer will", "a\nb"),
)

PLAIN_LINE_ENDS = Rule(
    name="plain-line-ends",
    version=1,
    reason="Line ends are written in six ways; readers of laid-out text know one (a form feed stays: it ends a page).",
    apply=substitution("\r\n?|[\x0b\x85\u2028\u2029]", "\n"),
    changes=(("a\r\nb", "a\nb"), ("a\u2028b", "a\nb"), ("a\rb", "a\nb")),
    keeps=("a\nb", "a b", "a\fb"),
)


def _tidy_page(page: str) -> str:
    lines = (" ".join(line.split()) for line in page.split("\n"))
    kept: list[str] = []
    for empty, group in groupby(lines, key=lambda line: not line):
        kept += [""] if empty else group
    return "\n".join(kept).strip("\n")


def _tidy_lines(text: str, _: Context) -> Outcome:
    pages = text.split("\f")
    tidied = [_tidy_page(page) for page in pages]
    result = "\f".join(tidied)
    if result == text:
        return Outcome(text)
    changed = [Change(line, tidy) for line in _lines(text) if (tidy := " ".join(line.split())) != line]
    if not changed:
        changed = [Change("\n\n", "\n")]
    return Outcome(result, len(changed), tuple(changed[:MOST_EXAMPLES]))


def _lines(text: str) -> list[str]:
    return text.replace("\f", "\n").split("\n")


TIDY_LINES = Rule(
    name="tidy-lines",
    version=1,
    reason="Laid-out text keeps its lines and one empty line between paragraphs; other blanks are the typesetter's.",
    apply=_tidy_lines,
    changes=(("a \nb", "a\nb"), ("  a\u00a0b\n c", "a b\nc"), ("a\n\n \n\nb", "a\n\nb"), ("a\n\f\nb", "a\fb")),
    keeps=("a\nb", "a\n\nb", "a b", "a\fb"),
)
