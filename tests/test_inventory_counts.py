"""How many norms each act has, counted in the raw file or known from print: none is missing, none is made up."""

import re
from collections import Counter
from pathlib import Path

import pytest
from lxml import etree

from ingest.documents import load_file
from ingest.tree import Provision
from normalize.laws import LawTable

LAWS = LawTable.builtin()
ONE_NORM = re.compile(r"(?:§|Art(?:ikel)?\.?)\s*(\d+[a-z]*|[IVXLC]+[a-z]?)\.?")


def provisions(path: Path) -> tuple[Provision, ...]:
    return load_file(path, LAWS, code="CODE", document_id="ID").provisions


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("eurlex-de/dsgvo_32016R0679_DE_formex_L_2016119DE.01000101.xml", {"norm": 99, "recital": 173}),
        ("eurlex-en/gdpr_32016R0679_EN_oj.html", {"norm": 99, "recital": 173}),
        ("eurlex-de/dora_32022R2554_DE_oj.html", {"norm": 64, "recital": 106}),
        ("eurlex-en/aiact_32024R1689_EN_formex.xml", {"norm": 113, "recital": 180, "annex": 13}),
        ("eurlex-en/nis2_32022L2555_EN_formex_L_2022333EN.01008001.xml", {"norm": 46, "recital": 144}),
        ("pdf/dsgvo_ratsstandpunkt_ST-5419-2016_DE.pdf", {"norm": 99, "recital": 173}),
        ("nist/NIST_SP-800-53_rev5_LOW-baseline-resolved-profile_catalog-min_2024.json", {"norm": 149}),
    ],
)
def test_acts_whose_numbers_are_known(shared: Path, file: str, counts: dict[str, int]) -> None:
    found = Counter(p.kind for p in provisions(shared / "corpus" / file))
    assert {kind: found[kind] for kind in counts} == counts


@pytest.mark.corpus
def test_each_article_of_nis2_is_one_of_46(shared: Path) -> None:
    files = sorted((shared / "corpus/eurlex-de/nis2_32022L2555_DE_articles-md").glob("*.md"))
    articles = [p.article for file in files for p in provisions(file) if p.kind == "norm"]
    assert articles == [str(number) for number in range(1, 47)]


@pytest.mark.corpus
@pytest.mark.parametrize("law", ["gg_2025-03", "bgb_2026-04", "bsig-2025_2026-03", "bsig-2009_2024-02", "bdsg_2024-12"])
def test_federal_law_by_its_own_designations(shared: Path, law: str) -> None:
    """Every § or Artikel that the file names is there once, under its number, in its order."""
    path = shared / "corpus/gii-xml" / f"{law}.xml"
    named = [enbez.text or "" for enbez in etree.parse(path).iterfind("norm/metadaten/enbez")]
    expected = [match[1] for enbez in named if (match := ONE_NORM.fullmatch(" ".join(enbez.split())))]
    assert len(expected) > 40
    assert [p.article for p in provisions(path) if p.kind == "norm" and " bis " not in p.article] == expected
