"""Parse XML of unknown origin: no network, no external DTD, no entities of the document's own."""

from lxml import etree

from normalize.errors import SourceError

_ENTITY = tuple("<!ENTITY".encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be"))


def parse_xml(data: bytes, origin: str) -> etree._Element:
    """Return the root element of `data`.

    Raises SourceError naming `origin` if the bytes are no well-formed XML, declare entities (an entity bomb) or use
    one, whose text would be missing.
    """
    if any(mark in data for mark in _ENTITY):
        raise _entities(origin)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        line, reason = error.lineno or 0, " ".join((error.msg or "no text").split())
        if "huge" in reason.lower() or "depth" in reason.lower():
            reason = "an element larger or nested deeper than any official text"
        raise SourceError(
            f"{origin} is not well-formed XML (line {line}: {reason}): the file is damaged or cut off, get it anew."
        ) from None
    dtd = root.getroottree().docinfo.internalDTD
    if dtd is not None and next(dtd.iterentities(), None) is not None:  # in an encoding the search above does not know
        raise _entities(origin)
    if next(root.iter(etree.Entity), None) is not None:
        raise SourceError(
            f"{origin} uses an XML entity that only an external DTD could explain, so that text would be missing: "
            "refused, get the file anew."
        )
    return root


def _entities(origin: str) -> SourceError:
    return SourceError(f"{origin} declares XML entities, which official texts never do: refused, get the file anew.")


def text_of(element: etree._Element | None) -> str:
    """Return all text below an element, comments and processing instructions left out."""
    if element is None:
        return ""
    return "".join(str(part) for part in element.itertext(etree.Element))


def local_tag(element: etree._Element) -> str:
    """Return the tag of an element, or "" for a processing instruction."""
    return element.tag if isinstance(element.tag, str) else ""
