"""Read a text that is one citation, in label or in long form."""

from normalize.citation import UNKNOWN, Citation, CitationError, parse_label
from normalize.citing.find import find
from normalize.laws import LawTable


def parse(text: str, laws: LawTable) -> Citation:
    """Return the citation that `text` is: a label ("BDSG § 38 Abs. 1") or a long form ("§ 38 Absatz 1 des …").

    `parse(citation.label, laws) == citation` for every citation, and equal citations in long and short form are equal.
    Raises CitationError if the text is not exactly one citation that can be read completely.
    """
    text = " ".join(text.split())
    try:
        as_label = parse_label(text, laws)
    except CitationError:
        in_text = _only_citation(text, laws)
        if in_text is None:
            raise
        return in_text
    if as_label.regulation_code != UNKNOWN:
        return as_label
    # "Art. 6 I UAbs. 1 DSGVO" has the form of a label of a law called "I UAbs. 1 DSGVO".
    in_text = _only_citation(text, laws)
    if in_text is not None and (in_text.regulation_code != UNKNOWN or len(in_text.path) > len(as_label.path)):
        return in_text
    return as_label


def _only_citation(text: str, laws: LawTable) -> Citation | None:
    """Return the citation of a text that holds one complete citation of one place and nothing else."""
    found = find(text, laws)
    if len(found) != 1 or not found[0].complete or found[0].text != text or len(found[0].targets) != 1:
        return None
    return found[0].targets[0].citation
