"""Targets: ranges against an inventory, the JSON rows, and norms that a law does not have."""

import pytest

from normalize.citing import ListedInventory, cite_rows, find
from normalize.laws import LawTable

LAWS = LawTable.builtin()
INVENTORY = ListedInventory(
    {"BDSG": ["1", "2", "2a", "3", "4", "5", "6"], "DSGVO": ["1", "2", "3"]},
    {("BDSG", "2"): ["1", "1a", "2", "3"]},
)


def expanded(text: str) -> list[tuple[str, bool]]:
    """Return label and resolved of each target, ranges against the inventory."""
    return [
        (target.citation.label, target.resolved)
        for found in find(text, LAWS, inventory=INVENTORY)
        for target in found.targets
    ]


def test_range_includes_what_was_inserted() -> None:
    # "2 bis 4" includes an inserted 2a (interinstitutional style guide, Handbuch der Rechtsförmlichkeit)
    assert expanded("§§ 2 bis 4 BDSG") == [
        ("BDSG § 2", True),
        ("BDSG § 2a", True),
        ("BDSG § 3", True),
        ("BDSG § 4", True),
    ]


def test_range_of_absaetze() -> None:
    assert expanded("§ 2 Abs. 1 bis 2 BDSG") == [
        ("BDSG § 2 Abs. 1", True),
        ("BDSG § 2 Abs. 1a", True),
        ("BDSG § 2 Abs. 2", True),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("§§ 2 bis 4 BGB", "the law is not ingested"),
        ("§ 3 Abs. 1 bis 3 BDSG", "the Absätze of § 3 are not listed"),
        ("§ 2 Abs. 1 Nr. 1 bis 3 BDSG", "Nummern are not listed"),
        ("§§ 4 bis 9 BDSG", "§ 9 does not exist"),
        ("§§ 4 bis 2 BDSG", "the range runs backwards"),
    ],
)
def test_range_that_cannot_be_expanded_is_not_resolved(text: str, reason: str) -> None:
    ends = expanded(text)
    assert len(ends) == 2, reason
    assert not any(resolved for _, resolved in ends), reason
    assert all(found.complete for found in find(text, LAWS, inventory=INVENTORY))


def test_norm_that_the_law_does_not_have() -> None:
    assert expanded("Art. 44 DSGVO") == [("Art. 44 DSGVO", False)]
    assert expanded("Art. 2 DSGVO") == [("Art. 2 DSGVO", True)]
    # recitals are not articles of the inventory
    assert expanded("ErwG 44 DSGVO") == [("ErwG 44 DSGVO", True)]


def test_rows_have_the_shape_of_the_command() -> None:
    assert list(cite_rows("siehe § 38 Abs. 1 Satz 2 BDSG und § 5 XyzG", LAWS)) == [
        {
            "text": "§ 38 Abs. 1 Satz 2 BDSG",
            "start": 6,
            "end": 29,
            "complete": True,
            "targets": [
                {
                    "regulation_code": "BDSG",
                    "citation_style": "paragraph",
                    "article": "38",
                    "paragraph": "1",
                    "sub": "Satz 2",
                    "is_recital": False,
                    "label": "BDSG § 38 Abs. 1 Satz 2",
                    "resolved": True,
                }
            ],
        },
        {
            "text": "§ 5 XyzG",
            "start": 34,
            "end": 42,
            "complete": True,
            "targets": [
                {
                    "regulation_code": "unknown",
                    "citation_style": "paragraph",
                    "article": "5",
                    "paragraph": None,
                    "sub": None,
                    "is_recital": False,
                    "label": "XyzG § 5",
                    "resolved": False,
                }
            ],
        },
    ]
