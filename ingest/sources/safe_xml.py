"""Parse XML of unknown origin: no network, no external DTD, no entities of the document's own."""

import re

from lxml import etree

from normalize.errors import SourceError

_ENTITY = re.compile(rb"<!ENTITY", re.IGNORECASE)
_PROLOG = 4096


def parse_xml(data: bytes, origin: str) -> etree._Element:
    """Return the root element of `data`.

    Raises SourceError naming `origin` if the bytes are no well-formed XML or declare entities (an entity bomb).
    """
    doctype_end = data.find(b"]>", 0, 1 << 20)
    if _ENTITY.search(data[: max(doctype_end, _PROLOG)]):
        raise SourceError(f"{origin} declares XML entities, which official texts never do: refused, get the file anew.")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True
    )
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        line = error.lineno or 0
        raise SourceError(
            f"{origin} is not well-formed XML (line {line}: {error.msg}): the file is damaged or cut off, get it anew."
        ) from None


def text_of(element: etree._Element | None) -> str:
    """Return all text below an element, comments and processing instructions left out."""
    if element is None:
        return ""
    return "".join(str(part) for part in element.itertext(etree.Element))


def local_tag(element: etree._Element) -> str:
    """Return the tag of an element, or "" for a processing instruction."""
    return element.tag if isinstance(element.tag, str) else ""
