"""Random citations of all kinds, for property tests."""

from hypothesis import strategies as st

from normalize.citation import UNKNOWN, Citation
from normalize.laws import Law, LawTable
from normalize.units import BY_LEVEL, UNITS, Path, Step, may_follow

BUILTIN = LawTable.builtin()
LAWS = [law for law in BUILTIN.laws if law.style is not None]

number = st.from_regex(r"[1-9][0-9]{0,2}[a-z]?", fullmatch=True)
roman = st.sampled_from(["I", "II", "III", "IV", "V", "VIII", "IX", "XIV"])
VALUES = {
    "number": st.one_of(number, st.sampled_from(["28aa", "6ter", "3.4.2", "12.1a"])),
    "letter": st.sampled_from("abcdefghijklmnopqrstuvwxyz"),
    "double": st.sampled_from(["aa", "bb", "ii", "zz"]),
    "triple": st.sampled_from(["aaa", "ccc"]),
    "roman": st.sampled_from(["i", "ii", "iv", "xii", "3"]),
    "any": st.one_of(roman, st.sampled_from("ABD"), number),
}
ARTICLES = {
    "paragraph": st.one_of(number, st.sampled_from(["1.01", "312a", "3.2", "1600aa"])),
    "article": st.one_of(number, st.sampled_from(["229 § 5", "6ter", "6B", "V", "II", "10.1", "1 § 2a"])),
}
named_parts = st.one_of(
    st.sampled_from(["Präambel", "Eingangsformel", "Schlussformel", "Anhang", "Anlage", "Text", "Amtlicher Hinweis"]),
    st.sampled_from(["Anlage IIB", "Anhang EV", "Muster 2d", "Nr 1", "IV."]),
    st.builds("{} {}".format, st.sampled_from(["Anhang", "Anlage"]), st.one_of(roman, number, st.sampled_from("ABD"))),
)
unknown_names = st.sampled_from(["XyzG", "VwVfG NRW", "Dings-VO", "MusterstiftungsG 2011", "Gesetzes über das Muster"])


@st.composite
def paths(draw: st.DrawFn, *, in_annex: bool = False) -> Path:
    """Paths that the unit table allows, from general to special."""
    path: Path = ()
    for _ in range(draw(st.integers(0, 5))):
        levels = [unit.level for unit in UNITS if may_follow(path, unit.level)]
        if not in_annex and not path:
            levels = [level for level in levels if level not in {"teil", "kapitel", "sachgebiet"}]
        if not levels:
            break
        unit = BY_LEVEL[draw(st.sampled_from(levels))]
        words = [value for value, _ in unit.named]
        value = draw(st.one_of(VALUES[unit.kind], st.sampled_from(words)) if words else VALUES[unit.kind])
        path = (*path, Step(unit.level, value))
    return path


@st.composite
def citations(draw: st.DrawFn) -> Citation:
    """Citations: § and Art., recitals, annexes and other named parts, whole laws, unknown laws."""
    law = draw(st.one_of(st.sampled_from(LAWS), st.builds(_unknown, unknown_names)))
    style = draw(st.sampled_from(["paragraph", "article"])) if law.code == UNKNOWN else law.style or "paragraph"
    kind = draw(st.sampled_from(["norm", "norm", "norm", "named", "recital", "law"]))
    following = draw(st.sampled_from(["", "", "", "f.", "ff."])) if kind == "norm" else ""
    version = draw(st.sampled_from(["", "", "", "a.F.", "n.F."]))
    if kind == "law" and law.code != UNKNOWN:
        return Citation(law.code, law.short, style, version=version)
    if kind == "recital":
        return Citation(law.code, law.short, "article", draw(number), (), True, "", version)
    if kind == "named":
        return Citation(law.code, law.short, style, draw(named_parts), draw(paths(in_annex=True)), version=version)
    article = draw(ARTICLES[style])
    return Citation(law.code, law.short, style, article, draw(paths()), False, following, version)


def _unknown(name: str) -> Law:
    return Law(UNKNOWN, name, style=None)
