"""Rules for words that a line end cuts (the decisions are made in `normalize.hyphens`)."""

from normalize.hyphens import join_line_ends
from normalize.rules.rule import MOST_EXAMPLES, Change, Context, Outcome, Rule, substitution


def _join(text: str, context: Context) -> Outcome:
    mended, joined = join_line_ends(text, context.known_words)
    examples = tuple(
        Change(f"{one.left}-⏎{one.right}", f"{one.result} ({one.decision.kind}, {one.decision.evidence})")
        for one in joined[:MOST_EXAMPLES]
    )
    return Outcome(mended, len(joined), examples)


LINE_HYPHENS = Rule(
    name="line-hyphens",
    version=1,
    reason="A line end cuts words, compounds and suspended parts alike; which it was is decided by evidence.",
    apply=_join,
    changes=(
        ("Daten-\nschutz", "Datenschutz\n"),
        ("der Daten-\nschutz, die", "der Datenschutz,\ndie"),
        ("Offshore-\nNetzumlage nach", "Offshore-Netzumlage\nnach"),
        ("Geld\ufffeund Sachbezüge", "Geld- und Sachbezüge"),
        ("zus\u00ad\ntändigen Behörde", "zuständigen\nBehörde"),
        ("öffentlich-\nrechtlich", "öffentlich-rechtlich\n"),
        ("EU-\nweit", "EU-weit\n"),
        ("ein-\nbis zweimal", "ein- bis\nzweimal"),
        ("Bundes-\ndaten-\nschutz ist", "Bundesdatenschutz\n\nist"),
        ("Daten-\fschutz ist", "Datenschutz\fist"),
    ),
    keeps=(
        "Daten- und Verbraucherschutz",
        "Maßnahmen -\nauch technischer Art",
        "Daten-, Verbraucher-\n(und Klima-)Schutz",
        "§ 1\nZweck",
    ),
)

LEFTOVER_LINE_HYPHENS = Rule(
    name="leftover-line-hyphens",
    version=1,
    reason="PDFium writes U+FFFE for a hyphen at a line end; where no word was cut it is a plain hyphen.",
    apply=substitution("\ufffe", "-"),
    changes=(("(Haus)\ufffe(Garten)", "(Haus)-(Garten)"),),
    keeps=("Daten-\nschutz", "Daten- und"),
)
