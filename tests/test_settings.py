"""Settings: flags over environment over file over defaults, each with its origin; secrets never shown."""

from pathlib import Path

import pytest

from normalize.errors import UsageError
from settings import load_settings, shown


def test_the_layers_in_order(tmp_path: Path) -> None:
    file = tmp_path / "fundstelle.toml"
    file.write_text('home = "stores"\nqdrant_url = "http://file:6333"\nlock_timeout = 3\n', "utf-8")
    environment = {"QDRANT_URL": "http://env:6333", "FUNDSTELLE_HOME": "/env"}
    loaded = load_settings({"home": Path("/flag")}, config=file, environment=environment)
    assert loaded.settings.home == Path("/flag") and loaded.origins["home"] == "flag"
    assert loaded.settings.qdrant_url == "http://env:6333"
    assert loaded.origins["qdrant_url"] == "environment QDRANT_URL"
    assert loaded.settings.lock_timeout == 3 and loaded.origins["lock_timeout"] == f"file {file}"
    assert loaded.settings.embedder == "hashing" and loaded.origins["embedder"] == "default"


def test_paths_of_the_file_are_relative_to_the_file(tmp_path: Path) -> None:
    file = tmp_path / "fundstelle.toml"
    file.write_text('home = "stores"\n[manifests]\ngesetze = "gesetze.yaml"\n', "utf-8")
    settings = load_settings({}, config=file, environment={}).settings
    assert settings.home == tmp_path / "stores"
    assert settings.manifests == {"gesetze": tmp_path / "gesetze.yaml"}


def test_an_empty_variable_is_not_set() -> None:
    assert load_settings({}, environment={"QDRANT_URL": ""}).settings.qdrant_url is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("colour = 1\n", "'colour' .* does not exist"),
        ("lock_timeout = 'x'\n", "'lock_timeout' .* is not valid"),
        ("embedder = 'magic'\n", "'embedder' .* is not valid"),
        ("[controls]\ncolumn = 'x'\n", "controls.column"),
        ("home = \n", "not valid TOML"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "fundstelle.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=reason):
        load_settings({}, config=file, environment={})


def test_a_missing_settings_file_is_named() -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_settings({}, config=Path("/nowhere/fundstelle.toml"), environment={})


def test_secrets_are_never_shown() -> None:
    environment = {
        "DATABASE_URL": "postgresql://u:GEHEIM@host/db",
        "QDRANT_API_KEY": "GEHEIM",
        "QDRANT_URL": "https://u:GEHEIM@host:6333/?api-key=GEHEIM",
    }
    settings = load_settings({}, environment=environment).settings
    for name in type(settings).model_fields:
        assert "GEHEIM" not in shown(getattr(settings, name))
    assert "GEHEIM" not in repr(settings).replace("https://u:GEHEIM@host:6333/?api-key=GEHEIM", "")


def test_a_bad_secret_is_not_echoed() -> None:
    with pytest.raises(UsageError) as refused:
        load_settings({}, environment={"FUNDSTELLE_LOCK_TIMEOUT": "GEHEIM"})
    assert "GEHEIM" not in str(refused.value)
