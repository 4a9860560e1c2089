"""The payload contract (spec/reingest-contract §2 and §7.1, DESIGN §3) as one strict model.

A payload that breaks it is never written: the error names document, article and field.
"""

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator

from normalize import identity
from normalize.citation import label
from normalize.errors import ContractError


class UnitSpan(BaseModel):
    """Characters `start` to `end` of `chunk_text` are exactly the unit that `sub` cites."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    start: int
    end: int
    sub: str


class Payload(BaseModel):
    """One chunk as the consumers read it. Fields that do not apply are null (or empty lists), never missing."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    article_label: str
    regulation_code: str
    citation_style: Literal["paragraph", "article"]
    article: str | None
    paragraph: str | None
    sub: str | None
    is_recital: bool
    regulation_name: str | None
    regulation_name_de: str | None
    regulation_short: str
    page: int | None
    pages: list[int]
    chunk_text: str
    section_header: str | None
    chunk_id: str
    chunk_hash: str
    document_id: str
    document_version: str
    chunk_index: int
    doc_type: str | None
    use_case: list[str]
    source_type: str | None
    source_class: str | None
    category: str | None
    license: str | None
    source: str | None
    source_url: str | None
    bundesland: str | None
    year: int | None
    units: list[UnitSpan]
    references_out: list[str]
    references_in: list[str]
    chunker_version: str
    normalizer_version: str

    @field_validator("*")
    @classmethod
    def _never_empty(cls, value: Any) -> Any:
        if value == "":
            raise ValueError("must be null, never an empty string")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.regulation_code != self.regulation_code.upper():
            raise ValueError("regulation_code must be upper case")
        if self.source_class == "binding_law" and self.article is None:
            raise ValueError("article must not be empty in binding law")
        if "  " in self.article_label or self.article_label != self.article_label.strip():
            raise ValueError("article_label has superfluous spaces")
        expected = {
            "article_label": label(
                self.regulation_short,
                self.citation_style,
                self.article,
                self.paragraph,
                self.sub,
                is_recital=self.is_recital,
            ),
            "chunk_id": identity.chunk_id(
                self.regulation_code, self.article, self.paragraph, self.chunk_index, self.document_version
            ),
            "chunk_hash": identity.chunk_hash(self.chunk_text),
        }
        for field, value in expected.items():
            if getattr(self, field) != value:
                raise ValueError(f"{field} is {getattr(self, field)!r} but the other fields give {value!r}")
        last = len(self.chunk_text)
        for unit in self.units:
            if not 0 <= unit.start < unit.end <= last:
                raise ValueError(f"units: span {unit.start}-{unit.end} of {unit.sub!r} is outside the text")
        return self


def check_payload(raw: dict[str, Any]) -> Payload:
    """Return the validated payload.

    Raises ContractError naming document, article and field if the contract is broken.
    """
    try:
        return Payload.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "payload"
        where = f"{raw.get('document_id')} article {raw.get('article')} paragraph {raw.get('paragraph')}"
        raise ContractError(
            f"Payload of {where} breaks the contract at '{field}': {first['msg']}; nothing was written, "
            "mend the source or the reader."
        ) from None
