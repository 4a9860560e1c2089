"""Settings: flags win over the environment, the environment over `fundstelle.toml`, the file over the defaults.

Every value knows where it came from (`fundstelle doctor` shows it). Secrets come from the environment or the file only,
and are never printed.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from normalize.errors import UsageError

CONFIG_NAME = "fundstelle.toml"
# A name and password inside an address ("https://user:secret@host").
_QUERY = re.compile(r"[?#].*")
_USERINFO = re.compile(r"//[^/@\s]*@")


class ControlNames(BaseModel):
    """How an existing platform names its control table and columns; unset means the name of the contract."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    table: str = "compliance.canonical_controls"
    control_uuid: str = "control_uuid"
    parent_control_uuid: str = "parent_control_uuid"
    title: str = "title"
    source_original_text: str = "source_original_text"
    source_citation: str = "source_citation"
    source_regulation: str = "source_regulation"
    is_self_written: str = "is_self_written"


class Settings(BaseModel):
    """All settings of fundstelle. Times are in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    home: Path = Path(".fundstelle")
    qdrant_url: str | None = None
    qdrant_api_key: SecretStr | None = None
    qdrant_timeout: float = Field(default=60.0, gt=0)
    database_url: SecretStr | None = None
    embedder: Literal["hashing", "ollama", "sentence-transformers"] = "hashing"
    embedder_model: str | None = None
    embedder_dimension: int | None = Field(default=None, gt=0)
    ollama_url: str | None = None
    llm_url: str | None = None
    llm_model: str | None = None
    llm_api_key: SecretStr | None = None
    lock_timeout: float = Field(default=10.0, ge=0)
    max_delete_ratio: float = Field(default=0.75, ge=0, le=1)
    manifests: dict[str, Path] = Field(default_factory=dict)
    controls: ControlNames = ControlNames()


# Which environment variable sets which setting.
ENVIRONMENT = {
    "FUNDSTELLE_HOME": "home",
    "QDRANT_URL": "qdrant_url",
    "QDRANT_API_KEY": "qdrant_api_key",
    "QDRANT_TIMEOUT": "qdrant_timeout",
    "DATABASE_URL": "database_url",
    "FUNDSTELLE_EMBEDDER": "embedder",
    "FUNDSTELLE_EMBEDDER_MODEL": "embedder_model",
    "FUNDSTELLE_EMBEDDER_DIMENSION": "embedder_dimension",
    "OLLAMA_URL": "ollama_url",
    "FUNDSTELLE_LLM_URL": "llm_url",
    "FUNDSTELLE_LLM_MODEL": "llm_model",
    "FUNDSTELLE_LLM_API_KEY": "llm_api_key",
    "FUNDSTELLE_LOCK_TIMEOUT": "lock_timeout",
    "FUNDSTELLE_MAX_DELETE_RATIO": "max_delete_ratio",
}


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings, and for each where its value came from ("flag", "environment QDRANT_URL", "file …", "default")."""

    settings: Settings
    origins: Mapping[str, str]
    config_file: Path | None


def load_settings(
    flags: Mapping[str, Any], *, config: Path | None = None, environment: Mapping[str, str] | None = None
) -> LoadedSettings:
    """Return the settings of this call.

    `flags` holds what the command line gave (None = not given), `config` an explicit settings file; without it
    `fundstelle.toml` in the current folder is read if it is there.
    Raises UsageError naming the value and where it stands.
    """
    environment = os.environ if environment is None else environment
    file = config or (Path(CONFIG_NAME) if Path(CONFIG_NAME).is_file() else None)
    values: dict[str, Any] = {}
    origins = dict.fromkeys(Settings.model_fields, "default")
    layers: list[tuple[str, Mapping[str, Any]]] = []
    if file is not None:
        layers.append((f"file {file}", _read_file(file)))
    for variable, name in ENVIRONMENT.items():
        if environment.get(variable):
            layers.append((f"environment {variable}", {name: environment[variable]}))
    layers.append(("flag", {name: value for name, value in flags.items() if value is not None}))
    for origin, layer in layers:
        for name, value in layer.items():
            values[name] = value
            origins[name] = origin
    try:
        return LoadedSettings(Settings.model_validate(values), origins, file)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        origin = origins.get(str(first["loc"][0]), "settings")
        if first["type"] == "extra_forbidden":
            raise UsageError(f"Setting '{name}' ({origin}) does not exist: correct its spelling.") from None
        raise UsageError(f"Setting '{name}' ({origin}) is not valid: {first['msg']}.") from None


def _read_file(file: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"Settings file {file} cannot be read ({error.strerror}).") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"Settings file {file} is not valid TOML: {error}.") from None
    folder = file.parent
    if "home" in values:
        values["home"] = folder / str(values["home"])
    if isinstance(values.get("manifests"), dict):
        values["manifests"] = {name: folder / str(path) for name, path in values["manifests"].items()}
    return values


def shown(value: object) -> str:
    """Return a setting for people; secrets only say that they are set."""
    if value is None:
        return "not set"
    if isinstance(value, SecretStr):
        return "set (not shown)"
    if isinstance(value, BaseModel):
        return ", ".join(f"{name}={part}" for name, part in value.model_dump().items())
    if isinstance(value, dict):
        return ", ".join(f"{name}={part}" for name, part in sorted(value.items())) or "none"
    text = _USERINFO.sub("//", str(value))
    return _QUERY.sub("", text) if "://" in text else text
