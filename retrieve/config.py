"""The retriever's constants and weights: `retriever.yaml` and `types.yaml` (spec/retriever-scoring 3.2 and 4).

Packaged defaults ← environment `RETRIEVER_W_SEM`, `RETRIEVER_W_EDGE`, `RETRIEVER_W_CENT` ← the file that
`FUNDSTELLE_RETRIEVER_CONFIG` names. A file wins over the environment, as the specification has it: the variables are
the defaults of a missing file.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from normalize.errors import UsageError

CONFIG_VARIABLE = "FUNDSTELLE_RETRIEVER_CONFIG"
WEIGHT_VARIABLES = {
    "RETRIEVER_W_SEM": "semantic_weight",
    "RETRIEVER_W_EDGE": "edge_weight",
    "RETRIEVER_W_CENT": "centrality_weight",
}
Weight = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Scoring(_Strict):
    """The global weights W_sem, W_edge and W_cent."""

    semantic_weight: Weight
    edge_weight: Weight
    centrality_weight: Weight


class Pool(_Strict):
    """How many candidates each stage fetches (spec/retrieval-pipeline, table of constants)."""

    query_characters: int = Field(ge=1)
    prefetch: int = Field(ge=1)
    prefetch_factor: int = Field(ge=1)
    rrf_k: int = Field(ge=0)
    binding_limit: int = Field(ge=0)
    control_depth: int = Field(ge=0)
    graph_seeds: int = Field(ge=0)
    graph_most: int = Field(ge=0)
    graph_hop_penalty: float = Field(ge=0, le=1)

    def prefetch_limit(self, top_k: int) -> int:
        """Return how many hits each leg fetches: `prefetch`, or `prefetch_factor` times topK above it."""
        return self.prefetch if top_k <= self.prefetch else top_k * self.prefetch_factor


class Ranking(_Strict):
    """How the pool is put in order."""

    authority_band: float = Field(ge=0, lt=1)
    controls_of_one_source: int = Field(ge=1)
    cross_encoder_least: int = Field(ge=1)
    cross_encoder_most: int = Field(ge=1)


class ControlIntent(_Strict):
    """What tells that a question asks for controls."""

    intent: tuple[str, ...]


class SourceKind(_Strict):
    """What one kind of source is worth; see `types.yaml`."""

    retriever_weight: float = Field(default=1.0, allow_inf_nan=False)
    authority: int = Field(default=3, ge=1)
    pool: str | None = None
    edge_defaults: tuple[str, ...] = ()


class RetrieverConfig(_Strict):
    """All of it."""

    version: float
    scoring: Scoring
    edge_types: dict[str, Weight]
    pool: Pool
    rank: Ranking
    control: ControlIntent


@dataclass(frozen=True, slots=True)
class Retriever:
    """The configuration of a search, the kinds of sources, and where the weights came from."""

    config: RetrieverConfig
    kinds: Mapping[str, SourceKind]
    default_kind: SourceKind
    origin: str

    def kind(self, payload: Mapping[str, Any]) -> SourceKind:
        """Return the kind of a chunk's source: of its source_type, else of its source_class, else the default."""
        for field in ("source_type", "source_class"):
            found = self.kinds.get(str(payload.get(field)))
            if found is not None:
                return found
        return self.default_kind

    @property
    def control_classes(self) -> list[str]:
        """The kinds of sources that hold controls, as names of source classes or types."""
        return sorted(name for name, kind in self.kinds.items() if kind.pool == "control")


def load_retriever(path: Path | None = None, environment: Mapping[str, str] | None = None) -> Retriever:
    """Return the configuration; `path` wins over `FUNDSTELLE_RETRIEVER_CONFIG`.

    A file may give any part; what it leaves out keeps its default. A `types.yaml` beside the file replaces the packaged
    one. Raises UsageError naming the file or variable and the value.
    """
    environment = os.environ if environment is None else environment
    values = yaml.safe_load(_packaged("retriever.yaml"))
    kinds_text, origin, kinds_origin = _packaged("types.yaml"), "defaults", "defaults"
    for variable, name in WEIGHT_VARIABLES.items():
        if environment.get(variable):
            values["scoring"][name] = _number(variable, environment[variable])
            origin = "environment"
    named = path or (Path(environment[CONFIG_VARIABLE]) if environment.get(CONFIG_VARIABLE) else None)
    if named is not None:
        values, origin = _merged(values, _mapping(_read(named), named)), str(named)
        beside = named.with_name("types.yaml")
        if beside.is_file():
            kinds_text, kinds_origin = _read(beside), str(beside)
    kinds = _mapping(kinds_text, kinds_origin)
    try:
        config = RetrieverConfig.model_validate(values)
    except ValidationError as error:
        raise UsageError(f"Retriever configuration ({origin}): {_first(error)}") from None
    try:
        default = SourceKind.model_validate(kinds.get("defaults") or {})
        listed = {str(name): SourceKind.model_validate(kind) for name, kind in (kinds.get("types") or {}).items()}
    except (ValidationError, AttributeError) as error:
        detail = _first(error) if isinstance(error, ValidationError) else "'types' must be a table of kinds."
        raise UsageError(f"Source types ({kinds_origin}): {detail}") from None
    return Retriever(config, listed, default, origin)


def _packaged(name: str) -> str:
    return files("retrieve").joinpath(name).read_text("utf-8")


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UsageError(f"Retriever configuration {path} cannot be read ({reason}).") from None


def _mapping(text: str, where: object) -> dict[str, Any]:
    try:
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise UsageError(f"{where} is not valid YAML: {reason}.") from None
    if not isinstance(values, dict):
        raise UsageError(f"{where} must hold a table of settings.")
    return values


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for name, value in over.items():
        old = result.get(name)
        result[name] = _merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result


def _number(variable: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise UsageError(f"{variable} is '{text}': give a number of 0 or more.")
    return value


def _first(error: ValidationError) -> str:
    first = error.errors(include_input=False, include_url=False)[0]
    return f"'{'.'.join(map(str, first['loc']))}' is not valid: {first['msg']}."
