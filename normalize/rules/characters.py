"""Rules for single characters: composed letters, ligatures, and what nobody can see."""

import re
import unicodedata
from typing import Final

from normalize.rules.rule import MOST_EXAMPLES, Change, Context, Outcome, Rule, substitution

_LIGATURES: Final = {
    "\ufb00": "ff",
    "\ufb01": "fi",
    "\ufb02": "fl",
    "\ufb03": "ffi",
    "\ufb04": "ffl",
    "\ufb05": "st",
    "\ufb06": "st",
}
_DECOMPOSED: Final = re.compile(r"[^\W_][\u0300-\u036f]+|[^\x00-\u02ff]")

# Zero width, direction marks, variation selectors, joiners, byte order mark.
INVISIBLE: Final = (
    "\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
)


def _compose(text: str, _: Context) -> Outcome:
    if unicodedata.is_normalized("NFC", text):
        return Outcome(text)
    composed = unicodedata.normalize("NFC", text)
    changes = [
        Change(match.group(), unicodedata.normalize("NFC", match.group()))
        for match in _DECOMPOSED.finditer(text)
        if not unicodedata.is_normalized("NFC", match.group())
    ]
    return Outcome(composed, max(len(changes), 1), tuple(changes[:MOST_EXAMPLES]))


COMPOSED_LETTERS = Rule(
    name="composed-letters",
    version=1,
    reason="A letter and its dots may be one character or two (NFC, NFD); ids and hashes must not depend on it.",
    apply=_compose,
    changes=(("u\u0308ber", "über"), ("Tiefe in \u2126", "Tiefe in Ω")),
    keeps=("über", "x\u0304 ist der Mittelwert", "m³"),
)

LIGATURES = Rule(
    name="ligatures",
    version=1,
    reason="Typeset sources write fi, fl, ff as one sign, which no search finds and no other copy of the text has.",
    apply=substitution("[\ufb00-\ufb06]", lambda match: _LIGATURES[match.group()]),
    changes=(("verö\ufb00entlichen", "veröffentlichen"), ("Ober\ufb02äche", "Oberfläche"), ("P\ufb02icht", "Pflicht")),
    keeps=("Pflicht", "Straße", "œuvre"),
)

SOFT_HYPHENS = Rule(
    name="soft-hyphens",
    version=1,
    reason="U+00AD marks where a word may be broken and is no part of it.",
    apply=substitution("\u00ad+", ""),
    changes=(("Bestands\u00admeldung", "Bestandsmeldung"), ("853\u00ad/2004", "853/2004")),
    keeps=("Daten- und Verbraucherschutz", "Offshore-Netzumlage", "EU\u2011weit"),
)

INVISIBLE_CHARACTERS = Rule(
    name="invisible-characters",
    version=1,
    reason="Zero-width blanks, joiners, direction marks and byte order marks cut words in two for every search.",
    apply=substitution(f"[{INVISIBLE}]+", ""),
    changes=(("\ufeff§ 1", "§ 1"), ("Daten\u200bschutz", "Datenschutz"), ("\u200e(1)\u200f", "(1)")),
    keeps=("§ 1", "a b", "x\u0304"),
)

CONTROL_CHARACTERS = Rule(
    name="control-characters",
    version=1,
    reason="Control codes come from broken text layers and old files; some stores and XML refuse them.",
    apply=substitution("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\uffff]+", ""),
    changes=(("Daten\x00schutz", "Datenschutz"), ("§\x7f 1", "§ 1")),
    keeps=("a\tb", "a\nb", "a\x85b", "€ 5"),
)
