"""Texts without a store: chunk a file, find citations, clean a text, fetch a source."""

import sys
from pathlib import Path
from typing import Annotated

import typer

import printing.texts as printed
from commands.opening import JsonFlag, print_json
from ingest.documents import load_file
from ingest.fetch import OFFICIAL, fetch
from ingest.known_laws import known_laws
from ingest.manifest import read_manifest
from ingest.sources.plain import read_json_lines, read_plain
from normalize.citing.rows import cite_rows
from normalize.laws import LawTable
from normalize.report import payload_reports, text_report
from normalize.rules import Profile

app = typer.Typer()
sources = typer.Typer(no_args_is_help=True, help="Official sources: get the file of a law.")
app.add_typer(sources, name="sources")


@app.command()
def chunk(
    file: Annotated[Path, typer.Argument(help="A law, an EU act or a catalog of controls in any format read here.")],
    code: Annotated[str | None, typer.Option("--code", help="Its code, where the file does not say it.")] = None,
    document_id: Annotated[str | None, typer.Option("--id", help="Its id, where the file does not say it.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Print the chunks of one file: JSON lines with one contract payload each. Needs no store."""
    loaded = load_file(file, LawTable.builtin(), code=code, document_id=document_id)
    payloads = (made.payload for made in loaded.chunks())
    if as_json:
        for payload in payloads:
            print_json(payload)
    else:
        printed.print_chunks(payloads)


@app.command()
def cite(
    text: Annotated[str, typer.Argument(help="Text with citations, or - for standard input.")],
    manifest: Annotated[
        Path | None, typer.Option("--manifest", "-m", help="Also know the laws of this manifest, and expand ranges.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Find the citations in a text; with --json a line a citation."""
    source = sys.stdin.buffer.read().decode("utf-8", "replace") if text == "-" else text
    if manifest is None:
        rows = cite_rows(source, LawTable.builtin())
    else:
        known = known_laws(read_manifest(manifest), LawTable.builtin())
        rows = cite_rows(source, known.laws, known.inventory)
    if as_json:
        for row in rows:
            print_json(row)
    else:
        printed.print_citations(rows)


@app.command()
def normalize(
    file: Annotated[Path, typer.Argument(help="A text or PDF, or old payloads as JSON lines (.jsonl).")],
    profile: Annotated[
        Profile, typer.Option("--profile", help="Which rules: those for laid-out or structured text.")
    ] = "layout",
    as_json: JsonFlag = False,
) -> None:
    """Show what the text rules do to a file; of old payloads, print the contract payloads (--json: one a line)."""
    if file.suffix != ".jsonl":
        report = text_report(read_plain(file), profile)
        print_json(report) if as_json else printed.print_text_report(report)
        return
    refused = 0
    for row in payload_reports(read_json_lines(file)):
        if row["error"] is not None:
            refused += 1
            sys.stderr.write(f"Error: {file.name} payload {row['row'] + 1}: {row['error']}\n")
        elif as_json:
            print_json(row["payload"])
        else:
            printed.print_converted(row)
    if refused:
        raise typer.Exit(3)


@sources.command("fetch")
def sources_fetch(
    code: Annotated[str, typer.Argument(help="A federal law as its site names it (bdsg), or a CELEX number.")],
    to: Annotated[Path, typer.Option("--to", help="Folder for the file.")] = Path(),
    language: Annotated[str, typer.Option("--language", help="Language of an EU act.")] = "de",
    as_json: JsonFlag = False,
) -> None:
    """Get the official file of a law over the internet; an unchanged one is not loaded again."""
    got = fetch(code, to, base_urls=OFFICIAL, laws=LawTable.builtin(), language=language)
    report = {"path": str(got.path), "sha256": got.sha256, "etag": got.etag, "changed": got.changed}
    print_json(report) if as_json else printed.print_fetched(report)
