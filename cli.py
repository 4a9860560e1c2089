"""The command line: it reads the call, opens the stores, calls one function, prints. Nothing is decided here.

Exit codes (DESIGN §9): 0 done or no change, 1 failed, 2 usage, 3 a gate refused, 4 another run holds the lock,
5 changes pending (with --dry-run --exit-code).
"""

import io
import json
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import printing
from backends.embedders import Embedder, make_embedder
from backends.health import check_disk, check_embedder, check_extras, check_tables, check_vectors
from backends.tables.connect import Tables, open_tables
from backends.tables.mapping import ControlColumns
from backends.tables.runs import document_states, latest_runs
from backends.tables.upgrade import is_current, upgrade
from backends.vectors import open_store
from backends.vectors.store import VectorStore
from ingest.documents import load_file
from ingest.fetch import OFFICIAL, fetch
from ingest.known_laws import known_laws
from ingest.manifest import Manifest, read_manifest
from ingest.prune import prune as prune_collection
from ingest.reingest import make_plan
from ingest.reingest import reingest as reingest_collection
from ingest.rollback import rollback as rollback_collection
from ingest.sources.plain import read_json_lines, read_plain
from ingest.status import collections_status, runs_status
from ingest.verify import SAMPLE, SEED
from ingest.verify import verify as verify_collection
from normalize.citing.rows import cite_rows
from normalize.errors import FundstelleError, UsageError
from normalize.laws import LawTable
from normalize.report import payload_reports, text_report
from normalize.rules import Profile
from relink.chunks import read_chunks
from relink.controls import export_controls, import_controls, link_counts, read_lines
from relink.run import RelinkOptions
from relink.run import relink as relink_controls
from relink.undo import undo
from retrieve.search import search as search_collection
from settings import LoadedSettings, Settings, load_settings, shown

PENDING = 5

app = typer.Typer(
    name="fundstelle",
    help="Re-ingest law as citable chunks and re-link compliance controls to their Fundstellen.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
db = typer.Typer(no_args_is_help=True, help="The database: create and upgrade the tables.")
controls = typer.Typer(no_args_is_help=True, help="The controls: bring them in, bring them out.")
app.add_typer(db, name="db")
sources = typer.Typer(no_args_is_help=True, help="Official sources: get the file of a law.")
relinking = typer.Typer(invoke_without_command=True, help="Link the controls to the chunks their texts quote.")
app.add_typer(controls, name="controls")
app.add_typer(relinking, name="relink")
app.add_typer(sources, name="sources")

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object (or JSON lines) on standard output.")]
CollectionName = Annotated[str, typer.Option("--collection", "-c", help="Name of the collection.")]
ManifestFile = Annotated[
    Path | None,
    typer.Option("--manifest", "-m", help="The collection's manifest; default: the settings', else the last run's."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done; write nothing.")]


@dataclass(frozen=True, slots=True)
class Call:
    """The settings of this call."""

    loaded: LoadedSettings

    @property
    def settings(self) -> Settings:
        """The values."""
        return self.loaded.settings


@app.callback()
def _settings(
    context: typer.Context,
    home: Annotated[Path | None, typer.Option("--home", help="Folder of the embedded stores and backups.")] = None,
    config: Annotated[Path | None, typer.Option("--config", help="Settings file (default: fundstelle.toml).")] = None,
) -> None:
    context.obj = Call(load_settings({"home": home}, config=config))


# --- Opening -------------------------------------------------------------------------------------------------------


@contextmanager
def _vectors(settings: Settings) -> Iterator[VectorStore]:
    key = settings.qdrant_api_key.get_secret_value() if settings.qdrant_api_key else None
    store = open_store(
        home=settings.home,
        url=settings.qdrant_url,
        api_key=key,
        timeout=settings.qdrant_timeout,
        lock_timeout=settings.lock_timeout,
    )
    try:
        yield store
    finally:
        store.close()


@contextmanager
def _tables(settings: Settings, *, upgraded: bool = True) -> Iterator[Tables]:
    url = settings.database_url.get_secret_value() if settings.database_url else None
    names = settings.controls.model_dump()
    schema, _, table = names.pop("table").rpartition(".")
    columns = ControlColumns(schema=schema or "public", table=table, **names)
    with open_tables(home=settings.home, database_url=url, columns=columns) as tables:
        if upgraded and not is_current(tables):
            raise UsageError(f"The tables in {tables.where} are not up to date: run 'fundstelle db upgrade' first.")
        yield tables


@contextmanager
def _stores(settings: Settings) -> Iterator[tuple[VectorStore, Tables]]:
    with ExitStack() as stack:
        tables = stack.enter_context(_tables(settings))
        yield stack.enter_context(_vectors(settings)), tables


def _embedder(settings: Settings, dimension: int | None) -> Embedder:
    """The embedder of the settings; the hashing one takes whatever dimension a collection has."""
    chosen = settings.embedder_dimension or (dimension if settings.embedder == "hashing" else None)
    return make_embedder(settings.embedder, model=settings.embedder_model, url=settings.ollama_url, dimension=chosen)


def _manifest(settings: Settings, tables: Tables, collection: str, given: Path | None) -> Manifest:
    """The manifest of the call, of the settings, or of the last re-ingest of this collection, in this order."""
    path = given or settings.manifests.get(collection)
    if path is None:
        runs = [r for r in latest_runs(tables, 1000, command="reingest") if r.collection == collection]
        if not runs:
            raise UsageError(
                f"Collection '{collection}' has no known manifest: give it with --manifest FILE "
                "(or under [manifests] in fundstelle.toml)."
            )
        path = Path(runs[0].details["manifest"])
    manifest = read_manifest(path)
    if manifest.collection is not None and manifest.collection != collection:
        raise UsageError(
            f"Manifest {path} is for collection '{manifest.collection}', not '{collection}': give the right one."
        )
    return manifest


def _print_json(value: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


# --- Re-ingest -----------------------------------------------------------------------------------------------------


@app.command()
def reingest(
    context: typer.Context,
    collection: CollectionName,
    manifest: ManifestFile = None,
    dry_run: DryRun = False,
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="Write every payload again (heals what another program changed).")
    ] = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="With --dry-run: exit 5 if changes are pending.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Read the documents of a collection and write what the store lacks. Deletes nothing."""
    settings = context.obj.settings
    with _stores(settings) as (store, tables), printing.progress_bars() as progress:
        known = _manifest(settings, tables, collection, manifest)
        laws = LawTable.builtin()

        def embedder_for(dimension: int | None) -> Embedder:
            return _embedder(settings, dimension)

        if dry_run:
            plan = make_plan(store, collection, known, laws, embedder_for, progress, rewrite_all=rewrite)
            report, pending = plan.report(), plan.pending
        else:
            report = reingest_collection(
                store, tables, collection, known, laws, embedder_for, progress, rewrite_all=rewrite
            )
            pending = False
    _print_json(report) if as_json else printing.print_plan(report, dry_run=dry_run)
    if dry_run and exit_code and pending:
        raise typer.Exit(PENDING)


@app.command()
def verify(
    context: typer.Context,
    collection: CollectionName,
    manifest: ManifestFile = None,
    sample: Annotated[
        float, typer.Option(min=0, max=1, help="Share of chunks compared whole (at least one a document).")
    ] = SAMPLE,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = SEED,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check, but write no receipt.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Check that the store holds exactly what the sources say, and write the receipt that prune needs."""
    settings = context.obj.settings
    with _stores(settings) as (store, tables), printing.progress_bars() as progress:
        known = _manifest(settings, tables, collection, manifest)
        report = verify_collection(
            store, tables, collection, known, LawTable.builtin(),
            sample=sample, seed=seed, write_receipt=not dry_run, progress=progress,
        )  # fmt: skip
    _print_json(report) if as_json else printing.print_verdict(report)
    if not report["ok"]:
        raise typer.Exit(3)


@app.command()
def prune(
    context: typer.Context,
    collection: CollectionName,
    manifest: ManifestFile = None,
    max_delete_ratio: Annotated[
        float | None, typer.Option(min=0, max=1, help="Refuse to delete a larger share of the collection.")
    ] = None,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Back up and delete the old points of re-ingested documents. Needs a receipt of verify that still holds."""
    settings = context.obj.settings
    ratio = settings.max_delete_ratio if max_delete_ratio is None else max_delete_ratio
    with _stores(settings) as (store, tables), printing.progress_bars() as progress:
        known = _manifest(settings, tables, collection, manifest)
        report = prune_collection(
            store, tables, collection, known, LawTable.builtin(), settings.home / "backups",
            max_delete_ratio=ratio, dry_run=dry_run, progress=progress,
        )  # fmt: skip
    _print_json(report) if as_json else printing.print_pruned(report, dry_run=dry_run)


@app.command()
def rollback(
    context: typer.Context,
    collection: CollectionName,
    run: Annotated[int | None, typer.Option("--run", help="The prune run to take back (default: the last).")] = None,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Put the points back that a prune deleted, vectors included. Deletes nothing."""
    settings = context.obj.settings
    with _stores(settings) as (store, tables), printing.progress_bars() as progress:
        report = rollback_collection(
            store, tables, collection, settings.home / "backups", run=run, dry_run=dry_run, progress=progress
        )
    _print_json(report) if as_json else printing.print_rolled_back(report, dry_run=dry_run)


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
            _print_json(payload)
    else:
        printing.print_chunks(payloads)


@app.command()
def status(context: typer.Context, as_json: JsonFlag = False) -> None:
    """Show every collection, how far its documents are, the links of the controls, and the last runs."""
    with _stores(context.obj.settings) as (store, tables):
        report = {
            "collections": collections_status(store, tables),
            "controls": link_counts(tables),
            "runs": runs_status(tables),
        }
    _print_json(report) if as_json else printing.print_status(report)


@app.command()
def doctor(context: typer.Context, as_json: JsonFlag = False) -> None:
    """Show where each setting comes from, what it connects to, and what is missing."""
    loaded: LoadedSettings = context.obj.loaded
    settings = loaded.settings
    findings = [
        check_vectors(lambda: _vectors(settings)),
        check_tables(lambda: _tables(settings, upgraded=False)),
        check_embedder(lambda: _embedder(settings, None)),
        check_disk(settings.home),
        check_extras(),
    ]
    values = [
        {"setting": name, "value": shown(getattr(settings, name)), "from": loaded.origins[name]}
        for name in Settings.model_fields
    ]
    report = {"settings": values, "findings": [asdict(finding) for finding in findings]}
    _print_json(report) if as_json else printing.print_doctor(report)
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


# --- Reading -------------------------------------------------------------------------------------------------------


@app.command()
def search(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="The question, in German.")],
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", help="Where to search (default: the only collection).")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-k", min=1, max=200, help="How many sources.")] = 5,
    as_json: JsonFlag = False,
) -> None:
    """Search dense and BM25 side by side and print the sources with their Fundstelle."""
    settings = context.obj.settings
    with _vectors(settings) as store:
        name = collection or _only_collection(store)
        about = store.describe(name)
        embedder = _embedder(settings, about.layout.dimension if about else None)
        answer = search_collection(store, name, embedder, question, LawTable.builtin(), top_k=limit)
    if as_json:
        _print_json(answer.report())
    else:
        printing.print_answer(answer)


def _only_collection(store: VectorStore) -> str:
    names = store.collections()
    if len(names) != 1:
        known = ", ".join(names) or "none"
        raise UsageError(f"Name the collection with --collection; there are: {known}.")
    return names[0]


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
            _print_json(row)
    else:
        printing.print_citations(rows)


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
        _print_json(report) if as_json else printing.print_text_report(report)
        return
    refused = 0
    for row in payload_reports(read_json_lines(file)):
        if row["error"] is not None:
            refused += 1
            sys.stderr.write(f"Error: {file.name} payload {row['row'] + 1}: {row['error']}\n")
        elif as_json:
            _print_json(row["payload"])
        else:
            printing.print_converted(row)
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
    _print_json(report) if as_json else printing.print_fetched(report)


# --- Database and controls -----------------------------------------------------------------------------------------


@db.command("upgrade")
def db_upgrade(context: typer.Context, as_json: JsonFlag = False) -> None:
    """Create what is missing in schema compliance; tables that are there stay as they are."""
    with _tables(context.obj.settings, upgraded=False) as tables:
        created = upgrade(tables)
        where = tables.where
    _print_json({"created": created, "where": where}) if as_json else printing.print_upgraded(created, where)


@controls.command("import")
def controls_import(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="Controls as JSON lines, .jsonl or .jsonl.zst.")],
    as_json: JsonFlag = False,
) -> None:
    """Bring controls in: new ones are added, changed ones updated; a bad line stops all of it."""
    with _tables(context.obj.settings) as tables:
        report = import_controls(tables, read_lines(file), file.name)
    counts = {"rows": report.rows, "inserted": report.inserted, "updated": report.updated}
    _print_json(counts | {"unchanged": report.unchanged}) if as_json else printing.print_imported(report)


@controls.command("export")
def controls_export(context: typer.Context, as_json: JsonFlag = False) -> None:
    """Print every control with its Fundstelle and how it came by it; with --json a line a control."""
    with _tables(context.obj.settings) as tables:
        rows = export_controls(tables)
        if as_json:
            for row in rows:
                _print_json(row)
        else:
            printing.print_controls(rows)


@relinking.callback()
def relink(
    context: typer.Context,
    collection: Annotated[
        list[str] | None, typer.Option("--collection", "-c", help="Link to these collections (default: all).")
    ] = None,
    tiers: Annotated[str, typer.Option("--tiers", help="Which tiers to run, in order.")] = "hash,fuzzy",
    force: Annotated[bool, typer.Option("--force", help="Overwrite citations that people have set, too.")] = False,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Link the controls to the chunks their texts quote, and let atoms inherit."""
    if context.invoked_subcommand is not None:
        return
    settings = context.obj.settings
    options = RelinkOptions(tiers=tuple(t.strip() for t in tiers.split(",")), force=force, dry_run=dry_run)
    with _stores(settings) as (store, tables):
        names = collection or store.collections()
        if not names:
            raise UsageError("There is no collection to link to: run 'fundstelle reingest' first.")
        current = {
            name: {document_id: s.document_version for document_id, s in document_states(tables, name).items()}
            for name in names
        }
        report = relink_controls(tables, read_chunks(store, names, current), options).as_dict()
    _print_json(report) if as_json else printing.print_relinked(report, dry_run=dry_run)


@relinking.command("undo")
def relink_undo(
    context: typer.Context,
    run: Annotated[int, typer.Argument(help="The re-link run to take back ('fundstelle status' lists them).")],
    as_json: JsonFlag = False,
) -> None:
    """Put back the citations that a re-link changed, as they were before it."""
    with _tables(context.obj.settings) as tables:
        report = asdict(undo(tables, run))
    _print_json(report) if as_json else printing.print_undone(report)


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
