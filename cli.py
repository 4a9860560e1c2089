"""The command line: it reads the call, opens the stores, calls one function, prints. Nothing is decided here.

Exit codes (DESIGN §9): 0 done or no change, 1 failed, 2 usage, 3 a gate refused, 4 another run holds the lock,
5 changes pending (with --dry-run --exit-code).
"""

import importlib
import io
import sys
import tempfile
import traceback
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from commands.opening import Call
from normalize.errors import FundstelleError
from settings import load_settings

MODULES = {
    "reingest": "ingesting",
    "verify": "ingesting",
    "prune": "ingesting",
    "rollback": "ingesting",
    "relink": "linking",
    "report": "reviewing",
    "review": "reviewing",
    "search": "retrieving",
    "retest": "retrieving",
    "serve": "retrieving",
    "chunk": "texts",
    "cite": "texts",
    "normalize": "texts",
    "sources": "sources",
    "db": "tables",
    "controls": "tables",
    "ledger": "tables",
    "status": "overview",
    "doctor": "overview",
}
"""The commands in the order in which the help shows them, and the module of `commands` that has each."""


class _Commands(MutableMapping[str, Any]):
    """The commands by name; the module of one is imported when it is asked for, not before.

    To load all that re-ingest and re-link compute with takes longer than a search does.
    """

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            module = importlib.import_module(f"commands.{MODULES[name]}")
            self._known[name] = typer.main.get_group(module.app).commands[name]
        return self._known[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._known[name] = command

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


class _Group(typer.core.TyperGroup):
    """The group of all commands."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = _Commands()


app = typer.Typer(
    name="fundstelle",
    cls=_Group,
    help="Re-ingest law as citable chunks and re-link compliance controls to their Fundstellen.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _settings(
    context: typer.Context,
    home: Annotated[Path | None, typer.Option("--home", help="Folder of the embedded stores and backups.")] = None,
    config: Annotated[Path | None, typer.Option("--config", help="Settings file (default: fundstelle.toml).")] = None,
) -> None:
    context.obj = Call(load_settings({"home": home}, config=config))


def main() -> None:
    """Run the command line; every error of ours is one sentence on standard error and its exit code."""
    for stream in (sys.stdout, sys.stderr):  # the same bytes under any locale
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")
    try:
        app()
    except FundstelleError as error:
        sys.stderr.write(f"Error: {error}\n")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(1)
    except Exception as error:  # the last line of defence: an operator gets a sentence, the details go to a file
        details = traceback.format_exc()
        log = Path("fundstelle-error.log")
        try:
            log.write_text(details, "utf-8")
        except OSError:
            log = Path(tempfile.gettempdir()) / log.name
            with suppress(OSError):
                log.write_text(details, "utf-8")
        sys.stderr.write(
            f"Error: unexpected {type(error).__name__} ({error}); a fault of fundstelle, report it with {log}.\n"
        )
        sys.exit(1)


if __name__ == "__main__":
    main()
