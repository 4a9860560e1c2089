"""Servers in place of the embedded stores: TLS with an authority of one's own, `sslmode`, secrets, and compose.yaml."""

import json
import logging
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from backends.tables.connect import open_tables
from backends.vectors.qdrant import connect
from normalize.errors import StoreError, StoreUnavailableError, UsageError
from settings import ENVIRONMENT, SECRETS, Settings, load_settings
from tests.qdrant_app import QdrantApp, Server, serve
from tests.test_cli import MANIFEST, Run
from tests.test_cli import run as run
from tests.vectors_points import LAYOUT, point

ROOT = Path(__file__).parent.parent
KEY = "geheim-Schluessel-0815"


# --- A server with a certificate of one's own authority ------------------------------------------------------------


def openssl(*arguments: str, folder: Path) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority (`ca.pem`), another one (`other.pem`), and a server's key and certificate."""
    if shutil.which("openssl") is None:
        pytest.skip("certificates for the test need the program openssl")
    folder = tmp_path_factory.mktemp("authority")
    new = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    for name in ("ca", "other"):
        openssl(*new, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem", folder=folder)
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    openssl(
        "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=qdrant",
        "-keyout", "server.key", "-out", "server.csr", folder=folder,
    )  # fmt: skip
    openssl(
        "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "2",
        "-extfile", "names", "-out", "server.pem", folder=folder,
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def encrypted(authority: Path) -> Iterator[Server]:
    """A vector server that speaks TLS only and wants a key."""
    certificate = (authority / "server.pem", authority / "server.key")
    with serve(QdrantApp(api_key=KEY), certificate=certificate) as server:
        yield server


def test_a_server_of_ones_own_authority_is_trusted_by_its_certificate(encrypted: Server, authority: Path) -> None:
    with connect(encrypted.url, KEY, 5, authority / "ca.pem") as store:
        store.create("law", LAYOUT, {}, {})
        store.upsert("law", [point(1)])
        assert store.count("law") == 1
        store.drop("law")


def test_a_certificate_of_another_authority_is_refused(encrypted: Server, authority: Path) -> None:
    for trusted in (authority / "other.pem", None):
        with pytest.raises(StoreUnavailableError, match=r"certificate that is not trusted.*QDRANT_CA_FILE") as caught:
            connect(encrypted.url, KEY, 5, trusted)
        assert KEY not in str(caught.value) and "\n" not in str(caught.value)


def test_a_certificate_of_another_name_is_refused(encrypted: Server, authority: Path) -> None:
    with pytest.raises(StoreUnavailableError, match=r"not trusted.*localhost|not trusted.*[Hh]ostname"):
        connect(encrypted.url.replace("127.0.0.1", "localhost"), KEY, 5, authority / "ca.pem")


def test_a_wrong_key_is_named_and_not_shown(encrypted: Server, authority: Path) -> None:
    with connect(encrypted.url, KEY + "x", 5, authority / "ca.pem") as store:
        with pytest.raises(StoreError, match="API key is missing or wrong; set QDRANT_API_KEY") as caught:
            store.collections()
        assert KEY not in str(caught.value)


@pytest.mark.parametrize("content", [None, "", "no certificate"])
def test_certificates_that_are_none_are_named(encrypted: Server, tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UsageError, match=r"ca\.pem \(QDRANT_CA_FILE\) cannot be used"):
        connect(encrypted.url, KEY, 5, file)


def test_the_commands_over_tls(run: Run, encrypted: Server, authority: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (authority / "key").write_text(KEY + "\n")
    monkeypatch.setenv("QDRANT_URL", encrypted.url)
    refused = run("reingest", "-c", "beispiel", "-m", MANIFEST)
    assert refused.code == 1 and "QDRANT_CA_FILE" in refused.err
    monkeypatch.setenv("QDRANT_CA_FILE", str(authority / "ca.pem"))
    refused = run("reingest", "-c", "beispiel", "-m", MANIFEST)
    assert refused.code == 1 and "set QDRANT_API_KEY" in refused.err
    monkeypatch.setenv("QDRANT_API_KEY_FILE", str(authority / "key"))
    assert run("reingest", "-c", "beispiel", "-m", MANIFEST).code == 0
    origins = {s["setting"]: (s["value"], s["from"]) for s in run("doctor", "--json").json["settings"]}
    assert origins["qdrant_api_key"] == ("set (not shown)", "environment QDRANT_API_KEY_FILE")


# --- Postgres ------------------------------------------------------------------------------------------------------


@contextmanager
def postgres_that_says(answer: bytes, context: ssl.SSLContext | None = None) -> Iterator[int]:
    """A server that answers the request for encryption and goes no further; yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve_all() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    try:
                        connection.recv(8)
                        connection.sendall(answer)
                        if context is not None:
                            context.wrap_socket(connection, server_side=True).close()
                    except OSError:
                        continue

        threading.Thread(target=serve_all, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def test_a_server_without_encryption_is_refused_where_sslmode_requires_it() -> None:
    with postgres_that_says(b"N") as port:
        address = f"postgresql://u:geheim@127.0.0.1:{port}/db?sslmode=require"
        with (
            pytest.raises(
                StoreUnavailableError, match=r"as encrypted as DATABASE_URL asks .*SSL was required"
            ) as caught,
            open_tables(home=Path("unused"), database_url=address),
        ):
            pass
    assert "geheim" not in str(caught.value) and "\n" not in str(caught.value)


def test_a_certificate_that_sslrootcert_does_not_know_is_refused(authority: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "server.pem", authority / "server.key")
    with postgres_that_says(b"S", context) as port:
        address = f"postgresql://u@127.0.0.1:{port}/db?sslmode=verify-full&sslrootcert={authority / 'other.pem'}"
        told = pytest.raises(StoreUnavailableError, match=r"certificate verify failed.*mend sslmode and sslrootcert")
        with told, open_tables(home=Path("unused"), database_url=address, password="geheim"):
            pass


def test_an_sslmode_that_does_not_exist_is_named() -> None:
    told = pytest.raises(UsageError, match="sslmode=on, which does not exist; choose from disable")
    with told, open_tables(home=Path("unused"), database_url="postgresql://h/db?sslmode=on"):
        pass


def test_a_password_comes_from_one_place(database_url: str) -> None:
    told = pytest.raises(UsageError, match="leave one of them out")
    with told, open_tables(home=Path("unused"), database_url="postgresql://u:a@h/db", password="b"):
        pass
    without = re.sub(r"//(\w+):[^@]*@", r"//\1@", database_url)
    assert without != database_url
    with open_tables(home=Path("unused"), database_url=without, password="-") as tables:
        assert tables.engine.url.password == "-"


# --- Secrets -------------------------------------------------------------------------------------------------------

BY_FILE = {f"{variable}_FILE": name for variable, name in ENVIRONMENT.items() if name in SECRETS}


def test_every_secret_can_stand_in_a_file() -> None:
    assert set(SECRETS) == {"qdrant_api_key", "database_url", "database_password", "llm_api_key", "serve_api_key"}
    assert set(BY_FILE) == {
        "QDRANT_API_KEY_FILE", "DATABASE_URL_FILE", "DATABASE_PASSWORD_FILE", "LLM_API_KEY_FILE",
        "FUNDSTELLE_LLM_API_KEY_FILE", "FUNDSTELLE_API_KEY_FILE",
    }  # fmt: skip


@pytest.mark.parametrize("variable", sorted(BY_FILE))
def test_a_secret_is_read_from_the_file_that_the_environment_names(variable: str, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{KEY}\n", "utf-8")
    loaded = load_settings({}, environment={variable: str(file)})
    value = getattr(loaded.settings, BY_FILE[variable])
    assert value.get_secret_value() == KEY and loaded.origins[BY_FILE[variable]] == f"environment {variable}"


def test_a_secret_is_read_from_the_file_that_the_settings_name(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(KEY, "utf-8")
    config = tmp_path / "fundstelle.toml"
    config.write_text('qdrant_api_key_file = "key"\nqdrant_ca_file = "ca.pem"\n', "utf-8")
    settings = load_settings({}, config=config, environment={}).settings
    assert settings.qdrant_api_key is not None and settings.qdrant_api_key.get_secret_value() == KEY
    assert settings.qdrant_ca_file == tmp_path / "ca.pem"
    config.write_text(f'qdrant_api_key_file = "key"\nqdrant_api_key = "{KEY}"\n', "utf-8")
    with pytest.raises(UsageError, match="both qdrant_api_key and qdrant_api_key_file") as caught:
        load_settings({}, config=config, environment={})
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "cannot be read"),
        (b"", "the secret and nothing else"),
        (b" \n", "the secret and nothing else"),
        (KEY.encode() + b"\n" + KEY.encode(), "on one line"),
        (b"\xff\xfe", "the secret and nothing else"),
        (KEY.encode() * 2_000, "the secret and nothing else"),
    ],
)
def test_a_file_that_holds_no_secret_is_named_and_not_shown(tmp_path: Path, content: bytes | None, reason: str) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError, match=reason) as caught:
        load_settings({}, environment={"QDRANT_API_KEY_FILE": str(file)})
    assert "QDRANT_API_KEY_FILE" in str(caught.value) and KEY not in str(caught.value)


def test_a_secret_from_two_places_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(KEY)
    with pytest.raises(UsageError, match="Both QDRANT_API_KEY and QDRANT_API_KEY_FILE"):
        load_settings({}, environment={"QDRANT_API_KEY": "x", "QDRANT_API_KEY_FILE": str(tmp_path / "key")})


def test_no_secret_is_ever_printed_or_logged(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """In repr, --json, doctor, errors and the finest logs: servers that refuse, and addresses with passwords."""
    with serve(QdrantApp(api_key="another key")) as server:
        host = server.url.removeprefix("http://")
        environment = {
            "QDRANT_URL": f"http://user:{KEY}@{host}",
            "QDRANT_API_KEY": KEY,
            "DATABASE_URL": f"postgresql://u:{KEY}@127.0.0.1:1/db",
            "OLLAMA_URL": f"http://user:{KEY}@127.0.0.1:1",
            "FUNDSTELLE_EMBEDDER": "ollama",
            "FUNDSTELLE_LLM_URL": f"http://user:{KEY}@127.0.0.1:1",
            "FUNDSTELLE_LLM_API_KEY": KEY,
            "FUNDSTELLE_API_KEY": KEY,
        }
        settings = load_settings({}, environment=environment).settings
        assert KEY not in repr(settings) + str(settings) + settings.model_dump_json(
            exclude={"qdrant_url", "ollama_url", "llm_url"}
        )
        for variable, value in environment.items():
            monkeypatch.setenv(variable, value)
        caplog.set_level(logging.DEBUG)
        said = []
        for command in (
            ("doctor",), ("doctor", "--json"), ("status", "--json"), ("reingest", "-c", "x", "-m", MANIFEST),
            ("search", "Frage", "-c", "x"), ("relink",), ("ledger", "check", "-c", "x"),
        ):  # fmt: skip
            done = run(*command)
            assert done.code != 0
            said.append(done.out + done.err)
        monkeypatch.setenv("DATABASE_URL", f"postgresql://u:{KEY}@/@:x")
        said.append(run("status").err)
    assert any(said) and KEY not in "".join(said)
    assert not [record for record in caplog.records if KEY in record.getMessage()]
    assert not list(tmp_path.glob("fundstelle-error.log"))


def test_a_key_that_goes_unencrypted_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with serve(QdrantApp(api_key=KEY)) as server, connect(server.url, KEY, 5):
        pass
    warned = [record.getMessage() for record in caplog.records if "unencrypted" in record.getMessage()]
    assert len(warned) == 1 and KEY not in warned[0]


def test_serve_takes_its_key_from_the_settings(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key may stand in a file; without it the routes are closed."""
    import uvicorn
    from starlette.testclient import TestClient

    assert run("reingest", "-c", "beispiel", "-m", MANIFEST).code == 0
    (tmp_path / "key").write_text(KEY)
    monkeypatch.setenv("FUNDSTELLE_API_KEY_FILE", str(tmp_path / "key"))
    answers: list[int] = []

    def ask(app: Any, **_: object) -> None:
        client = TestClient(app)
        body = {"query": "Radbeauftragter"}
        keys: list[dict[str, str]] = [{}, {"X-API-Key": KEY + "x"}, {"X-API-Key": KEY}]
        answers.extend(client.post("/query", json=body, headers=headers).status_code for headers in keys)

    monkeypatch.setattr(uvicorn, "run", ask)
    assert run("serve").code == 0
    assert answers == [401, 401, 200]


def test_secrets_are_no_flags() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "cli", "--help"], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    assert not re.search(r"--\S*(key|password|secret)", shown)


# --- compose.yaml --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
    return read


def test_compose_names_the_three_servers_with_pinned_images(compose: dict[str, Any]) -> None:
    assert {"qdrant", "postgres", "ollama"} <= set(compose["services"])
    for name, service in compose["services"].items():
        assert re.search(r":v?\d+\.\d+(\.\d+)?$", service["image"]), f"{name} has no pinned version"


def test_compose_servers_are_watched_kept_and_closed_to_the_outside(compose: dict[str, Any]) -> None:
    for name in ("qdrant", "postgres", "ollama"):
        service = compose["services"][name]
        assert service["healthcheck"]["test"] and service["restart"] == "unless-stopped"
        assert all(port.startswith("127.0.0.1:") for port in service["ports"]), f"{name} listens to everybody"
        volume = service["volumes"][0].partition(":")[0]
        assert volume in compose["volumes"], f"{name} keeps its data in no volume"


def test_compose_takes_secrets_from_files_only(compose: dict[str, Any]) -> None:
    secrets = {name: about["file"] for name, about in compose["secrets"].items()}
    assert set(secrets) == {"qdrant_api_key", "postgres_password"}
    assert all(file.startswith("./secrets/") for file in secrets.values())
    assert "secrets/" in (ROOT / ".gitignore").read_text("utf-8").splitlines()
    for service in compose["services"].values():
        for variable, value in (service.get("environment") or {}).items():
            if re.search("KEY|PASSWORD|TOKEN", variable):
                assert value.startswith("/run/secrets/"), f"{variable} is written out"
    assert "/run/secrets/qdrant_api_key" in json.dumps(compose["services"]["qdrant"]["entrypoint"])


def test_the_settings_that_compose_advises_exist() -> None:
    advised = set(re.findall(r"([A-Z_]{6,})=", (ROOT / "compose.yaml").read_text("utf-8").split("\nname:")[0]))
    known = set(ENVIRONMENT) | set(BY_FILE)
    assert advised and advised <= known
    assert set(ENVIRONMENT.values()) <= set(Settings.model_fields)
