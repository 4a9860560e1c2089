"""Full citations of statutes: name, date and gazette ("… vom 28. April 2016 (BGBl. I S. 994), das zuletzt durch …").

The name stands before the date, so it is looked for backwards from there (Handbuch der Rechtsförmlichkeit: Vollzitat).
"""

import re

from normalize.citing.tokens import DATE

_PUBLISHED = re.compile(
    rf"(?:in\sder\sFassung\sder\sBekanntmachung\s)?vom\s{DATE}\s\((?:BGBl|RGBl)[^()]{{0,120}}\)"
    r"|in\sder\sim\sBundesgesetzblatt\sTeil\sIII,\sGliederungsnummer\s[\d-]+,\sveröffentlichten\sbereinigten\sFassung"
)
AMENDED = re.compile(r",?\s(?:das|die|der)\s(?:zuletzt\s)?(?:durch|mit)\s(?:den\s)?(?=Art)")
AMENDED_END = re.compile(r"\s(?:geändert|neu\sgefasst|eingefügt|berichtigt)\s(?:worden\s)?(?:ist|sind)\b")
_WINDOW = 420
_CLAUSE = re.compile(
    r"[;:„“»]|(?<=[a-zäöüß]{3})\.\s|,\s(?:die|das|der|dem|den|dass|wenn)\s|\sgeändert\s|\n\n|§|Artikel"
)
_HEAD = re.compile(
    r"(?<![^\W_-])(?:(?:Erste|Zweite|Dritte|Vierte|Fünfte|Sechste|Siebte|Achte|Neunte|Zehnte|[A-ZÄÖÜ][a-zäöü]+(?:lich|isch)e)[nrs]?s?\s)?"
    r"(?:(?:[A-ZÄÖÜ][^\W_]*-\s(?:und|oder)\s)?[A-ZÄÖÜ][^\W_]*(?:-[^\W_]+)*)?"
    r"(?:[Gg]esetz(?:buch)?(?:e?s)?|[Vv]erordnung|[Oo]rdnung|[Aa]bkommens?|[Vv]ertrag(?:e?s)?|[Bb]ekanntmachung)(?![^\W_])(?!-)"
)


def published_end(text: str, position: int) -> int | None:
    """Return the end of "vom 28. April 2016 (BGBl. I S. 994)" and its like at `position`, or None."""
    match = _PUBLISHED.match(text, position)
    return match.end() if match else None


def name_start(text: str, position: int, earliest: int) -> int | None:
    """Return where the name of the statute begins whose date stands at `position`, not before `earliest`.

    It is the first head of a title in the clause ("Gesetz zu dem Abkommen vom …"), since titles hold further titles.
    """
    window = max(earliest, position - _WINDOW)
    clause = window
    for boundary in _CLAUSE.finditer(text, window, position):
        clause = boundary.end()
    head = _HEAD.search(text, clause, position)
    return head.start() if head else None
