"""Read a text that is one citation, in label or in long form."""

from normalize.citation import Citation, CitationError, parse_label
from normalize.citing.find import find
from normalize.laws import LawTable


def parse(text: str, laws: LawTable) -> Citation:
    """Return the citation that `text` is: a label ("BDSG § 38 Abs. 1") or a long form ("§ 38 Absatz 1 des …").

    `parse(citation.label, laws) == citation` for every citation, and equal citations in long and short form are equal.
    Raises CitationError if the text is not exactly one citation that can be read completely.
    """
    text = " ".join(text.split())
    try:
        return parse_label(text, laws)
    except CitationError:
        found = find(text, laws)
        if len(found) == 1 and found[0].complete and found[0].text == text and len(found[0].targets) == 1:
            return found[0].targets[0].citation
        raise
