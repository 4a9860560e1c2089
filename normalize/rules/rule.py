"""What a cleaning rule is: a name, a version, a reason, examples both ways, and a function."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

MOST_EXAMPLES: Final = 5


@dataclass(frozen=True, slots=True)
class Context:
    """What a rule may know beside the text: how often words occur in the document or corpus."""

    known_words: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change:
    """One place a rule changed: what stood there and what stands there now."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """A text after one rule: how many places changed, the first few of them, and what was taken out on purpose.

    `removed` holds every stretch that had letters or digits; a rule that returns any must say so in `Rule.removes`.
    """

    text: str
    count: int = 0
    examples: tuple[Change, ...] = ()
    removed: tuple[str, ...] = ()


Apply = Callable[[str, Context], Outcome]


@dataclass(frozen=True, slots=True)
class Rule:
    """A cleaning rule. `changes` are (before, after) pairs, `keeps` are texts it must leave alone: both are tests.

    `version` goes up whenever the outcome for any text may differ; `removes` says which letters or digits the rule
    takes out, None if it never does.
    """

    name: str
    version: int
    reason: str
    apply: Apply
    changes: tuple[tuple[str, str], ...]
    keeps: tuple[str, ...]
    removes: str | None = None


def substitution(pattern: str, replacement: str | Callable[[re.Match[str]], str]) -> Apply:
    """Return a rule function that replaces every match of a pattern."""
    compiled = re.compile(pattern)

    def apply(text: str, _: Context) -> Outcome:
        changes: list[Change] = []
        count = 0

        def replace(match: re.Match[str]) -> str:
            nonlocal count
            after = replacement if isinstance(replacement, str) else replacement(match)
            if after != match.group():
                count += 1
                if len(changes) < MOST_EXAMPLES:
                    changes.append(Change(match.group(), after))
            return after

        return Outcome(compiled.sub(replace, text), count, tuple(changes))

    return apply
