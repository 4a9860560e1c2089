"""A citation and its printable label (DESIGN §3): the one place that writes a Fundstelle."""

from typing import Literal

Style = Literal["paragraph", "article"]


def label(
    short: str,
    style: Style,
    article: str | None,
    paragraph: str | None = None,
    sub: str | None = None,
    *,
    is_recital: bool = False,
) -> str:
    """Return the printable Fundstelle of one norm or part of it.

    `short` is the law as people cite it (``GewO``, ``DSGVO``); the other parts are bare values as in the payload
    contract. Named parts of an act (``Anhang I``, ``Anlage 1``, ``Präambel``) stand where the § or article would.
    Absent parts are dropped without a trace.
    """
    if article is None:
        return short
    if is_recital:
        norm = f"ErwG {article}"
    elif not article[0].isdigit():
        norm = article
    else:
        norm = f"§ {article}" if style == "paragraph" else f"Art. {article}"
    below = " ".join(part for part in (f"Abs. {paragraph}" if paragraph else "", sub or "") if part)
    where = f"{norm} {below}".strip()
    return f"{short} {where}" if style == "paragraph" and not is_recital else f"{where} {short}"
