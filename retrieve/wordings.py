"""The wordings in which a question is searched: the original first and always, then what was made of it beside it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wording:
    """One text that is searched. `name` says where it is from ("" = the question as it was asked).

    A text that only resembles an answer (HyDE) is compared by its vector alone (`by_terms` False): the words in it are
    a model's, not the asker's.
    """

    text: str
    name: str = ""
    by_terms: bool = True

    def list_name(self, leg: str) -> str:
        """Return what the ranked list of a leg for this wording is called: "dense", "bm25+table", "dense+hyde"."""
        return f"{leg}+{self.name}" if self.name else leg
