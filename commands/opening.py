"""What every command shares: the settings of the call, the stores it opens, its options, its JSON.

The tables and the manifest are imported where they are opened: a search has neither, and waits for what it loads.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from backends.embedders import Embedder, make_embedder
from backends.vectors import open_store
from backends.vectors.store import VectorStore, served
from normalize.errors import UsageError
from settings import LoadedSettings, Settings

if TYPE_CHECKING:
    from backends.tables.connect import Tables
    from ingest.manifest import Manifest

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


@contextmanager
def open_vectors(settings: Settings) -> Iterator[VectorStore]:
    """Yield the vector store of the settings, and close it."""
    key = settings.qdrant_api_key.get_secret_value() if settings.qdrant_api_key else None
    store = open_store(
        home=settings.home,
        url=settings.qdrant_url,
        api_key=key,
        timeout=settings.qdrant_timeout,
        ca_file=settings.qdrant_ca_file,
        lock_timeout=settings.lock_timeout,
    )
    try:
        yield store
    finally:
        store.close()


@contextmanager
def open_the_tables(settings: Settings, *, upgraded: bool = True, read_only: bool = False) -> Iterator["Tables"]:
    """Yield the tables of the settings. Raises UsageError if they are not upgraded and `upgraded` asks for it."""
    from backends.tables.connect import open_tables
    from backends.tables.mapping import ControlColumns
    from backends.tables.upgrade import is_current

    url = settings.database_url.get_secret_value() if settings.database_url else None
    password = settings.database_password.get_secret_value() if settings.database_password else None
    names = settings.controls.model_dump()
    schema, _, table = names.pop("table").rpartition(".")
    columns = ControlColumns(schema=schema or "public", table=table, **names)
    with open_tables(
        home=settings.home, database_url=url, password=password, columns=columns, read_only=read_only
    ) as tables:
        if upgraded and not is_current(tables):
            raise UsageError(f"The tables in {tables.where} are not up to date: run 'fundstelle db upgrade' first.")
        yield tables


@contextmanager
def open_stores(settings: Settings) -> Iterator[tuple[VectorStore, "Tables"]]:
    """Yield both stores; the tables are opened first, since they hold the lock."""
    with ExitStack() as stack:
        tables = stack.enter_context(open_the_tables(settings))
        yield stack.enter_context(open_vectors(settings)), tables


@contextmanager
def open_to_plan(settings: Settings) -> Iterator[tuple[VectorStore, "Tables | None"]]:
    """Yield both stores for a dry run: no database is set up for it, and its session is read-only.

    Where there is no database yet, or one without our tables, there are no tables (None).
    """
    from backends.tables.upgrade import is_current

    with ExitStack() as stack:
        tables = None
        if settings.database_url is not None or (settings.home / "postgres").is_dir():
            opened = stack.enter_context(open_the_tables(settings, upgraded=False, read_only=True))
            tables = opened if is_current(opened) else None
        yield stack.enter_context(open_vectors(settings)), tables


def make_the_embedder(settings: Settings, dimension: int | None, *, keeps: bool = False) -> Embedder:
    """The embedder of the settings; the hashing one takes whatever dimension a collection has.

    With `keeps` its vectors are kept in the home folder and taken from there (hashing is faster than looking them up).
    """
    chosen = settings.embedder_dimension or (dimension if settings.embedder == "hashing" else None)
    made = make_embedder(settings.embedder, model=settings.embedder_model, url=settings.ollama_url, dimension=chosen)
    if not keeps or not settings.vector_cache or settings.embedder == "hashing":
        return made
    from backends.embedders.cache import CachedEmbedder

    return CachedEmbedder(made, settings.home / "cache" / "vectors.sqlite")


def manifest_of(settings: Settings, tables: "Tables | None", collection: str, given: Path | None) -> "Manifest":
    """The manifest of the call, of the settings, or of the last re-ingest of this collection, in this order."""
    from backends.tables.runs import latest_runs
    from ingest.manifest import read_manifest

    path = given or settings.manifests.get(collection)
    if path is None:
        known = latest_runs(tables, 1000, command="reingest") if tables is not None else []
        runs = [run for run in known if run.collection == collection]
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


def print_json(value: Mapping[str, Any]) -> None:
    """Write one JSON object as one line on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def only_collection(store: VectorStore) -> str:
    """Return the name of the only collection, or its alias. Raises UsageError if there is none or more than one."""
    names = served(store)
    if len(names) != 1:
        known = ", ".join(names) or "none"
        raise UsageError(f"Name the collection with --collection; there are: {known}.")
    return names[0]
