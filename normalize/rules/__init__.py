"""Cleaning rules (DESIGN §5): one idea a module, each rule with its reason and its examples; `registry` lists them."""

from normalize.rules.registry import PROFILES, RULES, Profile
from normalize.rules.rule import Change, Context, Outcome, Rule

__all__ = ["PROFILES", "RULES", "Change", "Context", "Outcome", "Profile", "Rule"]
