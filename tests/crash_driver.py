"""A process that runs commands of `fundstelle` in forks of itself and kills them at a chosen moment.

Started once (the imports take longest), it reads a job a line from standard input and answers with a line. A job may
say at which of its operations the command dies (kill -9): before or after a write to the vector store, a statement or a
commit in Postgres, a file that is moved into place or forced to disk; or after how many seconds.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Engine

import backends.tables.copy
import cli
import relink.run  # noqa: F401  imported here, so that a fork need not
from backends.vectors.edge import EdgeStore
from backends.vectors.qdrant import QdrantStore

WRITES = (
    "create",
    "ensure_indexes",
    "set_metadata",
    "upsert",
    "overwrite_payloads",
    "delete",
    "switch_alias",
    "drop",
)
CHANGES = ("INSERT", "UPDATE", "DELETE", "CREATE", "MERGE", "TRUNCATE", "WITH")


class Moments:
    """Counts the moments at which a command could die, and dies at one of them."""

    def __init__(self, at: int | None) -> None:
        self.at = at
        self.passed = 0

    def __call__(self, *_: object, **__: object) -> None:
        self.passed += 1
        if self.passed == self.at:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **named: Any) -> Any:
            self()
            result = call(*arguments, **named)
            self()
            return result

        return called


def watch(moments: Moments) -> None:
    """Have every write of this process pass the moments."""
    for store in (EdgeStore, QdrantStore):
        for name in WRITES:
            setattr(store, name, moments.around(getattr(store, name)))
    for name in ("replace", "rename", "fsync"):
        setattr(os, name, moments.around(getattr(os, name)))
    backends.tables.copy.copy_rows = moments.around(backends.tables.copy.copy_rows)
    sa.event.listen(Engine, "commit", moments)

    def changed(_c: object, _u: object, statement: str, *_: object) -> None:
        if statement.lstrip().upper().startswith(CHANGES):
            moments()

    sa.event.listen(Engine, "before_cursor_execute", changed)
    sa.event.listen(Engine, "after_cursor_execute", changed)


def run(job: dict[str, Any]) -> int:
    """Run one command in this process and return its exit code; does not return if it is to die before its end."""
    log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.update(job["environment"])
    moments = Moments(job.get("at"))
    watch(moments)
    if job.get("after") is not None:
        timer = threading.Timer(job["after"], os.kill, (os.getpid(), signal.SIGKILL))
        timer.daemon = True
        timer.start()
    sys.argv = ["fundstelle", *job["arguments"]]
    code = 0
    try:
        cli.main()
    except SystemExit as end:
        code = int(end.code or 0)
    Path(job["log"]).with_suffix(".moments").write_text(str(moments.passed))
    sys.stdout.flush()
    return code


def main() -> None:
    """Serve jobs until standard input ends."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os._exit(run(json.loads(line)))
        _, status = os.waitpid(child, 0)
        print(json.dumps({"code": os.waitstatus_to_exitcode(status)}), flush=True)


if __name__ == "__main__":
    main()
