"""Read acts that were rebuilt from old points (`sources rebuild`): JSON lines, the act first, then a line a provision.

The format is fundstelle's own and says all that the rebuilding found out, so that the file can be looked at, mended by
hand and ingested like any other source.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ingest.sources.plain import json_lines
from ingest.tree import Absatz, Act, Block, Kind, Provision
from normalize.citation import Style
from normalize.errors import SourceError

FORMAT: Final = "fundstelle-legacy-1"
_HEAD: Final = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{\s*"format"\s*:\s*"fundstelle-legacy-')


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


_AnyLine = TypeVar("_AnyLine", bound=_Line)


class _Head(_Line):
    format: str
    document_id: str | None
    code: str | None
    short: str | None
    name: str | None
    style: Style
    language: str
    names: list[str]
    celex: str | None
    doc_type: str | None
    year: int | None


class _BlockLine(_Line):
    text: str
    page: int | None = None
    sentences: list[int] = []


class _AbsatzLine(_Line):
    number: str | None
    blocks: list[_BlockLine]


class _ProvisionLine(_Line):
    kind: Kind
    article: str
    style: Style
    heading: str | None
    absaetze: list[_AbsatzLine]


def is_legacy(head: bytes) -> bool:
    """Tell by the first bytes of a file whether it is a rebuilt act, of whatever version of the format."""
    return _HEAD.match(head) is not None


def write_legacy(act: Act) -> bytes:
    """Return the file of a rebuilt act: `read_legacy` gives the same act.

    Raises ValueError for an act that no rebuilding gives (units, markers, quotations, footnotes or a date).
    """
    head = _Head(
        format=FORMAT,
        document_id=act.document_id,
        code=act.code,
        short=act.short,
        name=act.name,
        style=act.style,
        language=act.language,
        names=list(act.names),
        celex=act.celex,
        doc_type=act.doc_type,
        year=act.year,
    )
    written = "".join(_written(line) for line in (head, *(_line(provision) for provision in act.provisions))).encode()
    if read_legacy(written, "the written act") != act:
        raise ValueError("the act says more than the format of rebuilt acts holds")
    return written


def _written(line: BaseModel) -> str:
    return json.dumps(line.model_dump(), ensure_ascii=False) + "\n"


def _line(provision: Provision) -> _ProvisionLine:
    return _ProvisionLine(
        kind=provision.kind,
        article=provision.article,
        style=provision.style,
        heading=provision.heading,
        absaetze=[
            _AbsatzLine(
                number=absatz.number,
                blocks=[_BlockLine(text=b.text, page=b.page, sentences=list(b.sentences)) for b in absatz.blocks],
            )
            for absatz in provision.absaetze
        ],
    )


def read_legacy(data: bytes, origin: str) -> Act:
    """Return the act of a rebuilt file. Raises SourceError naming `origin` and the line that is not as it should be."""
    rows = enumerate(json_lines(data, origin), 1)
    first = next(rows, (1, {}))[1]
    if first.get("format") != FORMAT:
        raise SourceError(
            f"{origin} is a rebuilt act in the format {first.get('format')!r}, expected {FORMAT!r}: rebuild it anew."
        )
    head = _checked(_Head, first, origin, 1)
    provisions = tuple(_provisions(rows, origin))
    if not provisions:
        raise SourceError(f"{origin} holds an act without provisions: it is cut off, rebuild it anew.")
    return Act(
        document_id=head.document_id,
        code=head.code,
        short=head.short,
        name=head.name,
        style=head.style,
        date=None,
        language=head.language,
        provisions=provisions,
        names=tuple(head.names),
        celex=head.celex,
        doc_type=head.doc_type,
        year=head.year,
    )


def _provisions(rows: Iterable[tuple[int, dict[str, Any]]], origin: str) -> Iterator[Provision]:
    for number, row in rows:
        line = _checked(_ProvisionLine, row, origin, number)
        yield Provision(
            kind=line.kind,
            article=line.article,
            style=line.style,
            heading=line.heading,
            absaetze=tuple(
                Absatz(a.number, tuple(Block(b.text, page=b.page, sentences=tuple(b.sentences)) for b in a.blocks))
                for a in line.absaetze
            ),
        )


def _checked(model: type[_AnyLine], row: dict[str, Any], origin: str, number: int) -> _AnyLine:
    try:
        return model.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise SourceError(
            f"{origin} line {number}: {where}: {first['msg']}; mend it or rebuild the act anew."
        ) from None
