"""Settings: flags win over the environment, the environment over `fundstelle.toml`, the file over the defaults.

Every value knows where it came from (`fundstelle doctor` shows it). Secrets come from the environment, the settings
file, or a file of their own that one of these names (`QDRANT_API_KEY_FILE`); never from a flag, and they are never
printed.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

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
    qdrant_url: str | None = Field(default=None, repr=False)  # an address may hold a password
    qdrant_api_key: SecretStr | None = None
    qdrant_ca_file: Path | None = None
    qdrant_timeout: float = Field(default=60.0, gt=0)
    database_url: SecretStr | None = None
    database_password: SecretStr | None = None
    embedder: Literal["hashing", "ollama", "sentence-transformers"] = "hashing"
    embedder_model: str | None = None
    embedder_dimension: int | None = Field(default=None, gt=0)
    vector_cache: bool = True
    ollama_url: str | None = Field(default=None, repr=False)
    llm_url: str | None = Field(default=None, repr=False)
    llm_model: str | None = None
    llm_api_key: SecretStr | None = None
    understand: tuple[Literal["rewriting", "expansion", "hyde"], ...] = ()
    understand_timeout: float = Field(default=5.0, gt=0, le=600)
    serve_api_key: SecretStr | None = None
    trace_question: bool = False
    lock_timeout: float = Field(default=10.0, ge=0)
    max_delete_ratio: float = Field(default=0.75, ge=0, le=1)
    manifests: dict[str, Path] = Field(default_factory=dict)
    controls: ControlNames = ControlNames()

    @field_validator("understand", mode="before")
    @classmethod
    def _one_line(cls, value: Any) -> Any:
        """The parts may stand on one line, as an environment variable has them; "none" is none of them."""
        if not isinstance(value, str):
            return value
        named = [part.strip() for part in value.split(",")]
        return () if named == ["none"] else named


# Which environment variable sets which setting.
ENVIRONMENT = {
    "FUNDSTELLE_HOME": "home",
    "QDRANT_URL": "qdrant_url",
    "QDRANT_API_KEY": "qdrant_api_key",
    "QDRANT_CA_FILE": "qdrant_ca_file",
    "QDRANT_TIMEOUT": "qdrant_timeout",
    "DATABASE_URL": "database_url",
    "DATABASE_PASSWORD": "database_password",
    "FUNDSTELLE_EMBEDDER": "embedder",
    "FUNDSTELLE_EMBEDDER_MODEL": "embedder_model",
    "FUNDSTELLE_EMBEDDER_DIMENSION": "embedder_dimension",
    "FUNDSTELLE_VECTOR_CACHE": "vector_cache",
    "OLLAMA_URL": "ollama_url",
    "FUNDSTELLE_LLM_URL": "llm_url",
    "FUNDSTELLE_LLM_MODEL": "llm_model",
    "LLM_API_KEY": "llm_api_key",
    "FUNDSTELLE_LLM_API_KEY": "llm_api_key",
    "FUNDSTELLE_UNDERSTAND": "understand",
    "FUNDSTELLE_UNDERSTAND_TIMEOUT": "understand_timeout",
    "FUNDSTELLE_API_KEY": "serve_api_key",
    "FUNDSTELLE_TRACE_QUESTION": "trace_question",
    "FUNDSTELLE_LOCK_TIMEOUT": "lock_timeout",
    "FUNDSTELLE_MAX_DELETE_RATIO": "max_delete_ratio",
}

SECRETS = tuple(name for name, about in Settings.model_fields.items() if "SecretStr" in str(about.annotation))
# What a key or an address with a password is at most; anything longer is the wrong file.
_SECRET_BYTES = 16_384


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
    layers += _from_environment(environment)
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


def _from_environment(environment: Mapping[str, str]) -> list[tuple[str, Mapping[str, Any]]]:
    layers: list[tuple[str, Mapping[str, Any]]] = []
    for variable, name in ENVIRONMENT.items():
        value, named = environment.get(variable), environment.get(f"{variable}_FILE") if name in SECRETS else None
        if value and named:
            raise UsageError(f"Both {variable} and {variable}_FILE are set: unset one of them.")
        if value:
            layers.append((f"environment {variable}", {name: value}))
        elif named:
            layers.append((f"environment {variable}_FILE", {name: _read_secret(Path(named), f"{variable}_FILE")}))
    return layers


def _read_secret(file: Path, named_by: str) -> str:
    """Return the one line of a file that holds nothing but a secret; no error says what is in it."""
    try:
        with file.open("rb") as opened:
            content = opened.read(_SECRET_BYTES + 1)
    except OSError as error:
        raise UsageError(f"The file {file} that {named_by} names cannot be read ({error.strerror}).") from None
    try:
        secret = content.decode("utf-8").strip()
    except UnicodeDecodeError:
        secret = ""
    if not secret or len(content) > _SECRET_BYTES or len(secret.splitlines()) != 1:
        raise UsageError(f"The file {file} that {named_by} names must hold the secret and nothing else, on one line.")
    return secret


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
    if "qdrant_ca_file" in values:
        values["qdrant_ca_file"] = folder / str(values["qdrant_ca_file"])
    for name in SECRETS:
        if (named := values.pop(f"{name}_file", None)) is None:
            continue
        if name in values:
            raise UsageError(f"Settings file {file} has both {name} and {name}_file: leave one of them out.")
        values[name] = _read_secret(folder / str(named), f"{name}_file in {file}")
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
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    text = _USERINFO.sub("//", str(value))
    return _QUERY.sub("", text) if "://" in text else text
