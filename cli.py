"""The command line: it reads the call, opens the stores, calls one function, prints. Nothing is decided here.

Exit codes (DESIGN §9): 0 done or no change, 1 failed, 2 usage, 3 a gate refused, 4 another run holds the lock,
5 changes pending (with --dry-run --exit-code).
"""

import io
import sys
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

import commands.sources  # noqa: F401 - adds its commands to the group `sources` of texts
from commands import ingesting, linking, overview, retrieving, reviewing, tables, texts
from commands.opening import Call
from normalize.errors import FundstelleError
from settings import load_settings

app = typer.Typer(
    name="fundstelle",
    help="Re-ingest law as citable chunks and re-link compliance controls to their Fundstellen.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (ingesting, linking, reviewing, retrieving, texts, tables, overview):
    app.add_typer(group.app)


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
