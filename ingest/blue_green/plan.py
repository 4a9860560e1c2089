"""The plan of a re-ingest behind an alias: what changes against the served collection, and what the draft lacks."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from backends.tables.connect import Tables
from backends.tables.runs import Run, latest_runs
from backends.vectors.store import Collection, Layout, VectorStore
from ingest.blue_green.generations import DRAFT, generations, next_name, refuse_plain, written
from ingest.estimate import POINT_OVERHEAD, estimate, measured_rate
from ingest.gather import Progress, claims_on, no_progress
from ingest.manifest import Manifest
from ingest.plan import DocumentPlan, plan_document, seen_by_vectors
from ingest.reingest import Plan, read_sources
from ingest.stored import Claims, PointSketch, read_points
from ingest.target import MODEL, EmbedderFor, Target
from normalize.analyzer import VERSION as ANALYZER_VERSION
from normalize.errors import GateError
from normalize.laws import LawTable

_FLOAT = 4


@dataclass(frozen=True, slots=True)
class BesidePlan:
    """The plan of a run behind an alias.

    `plan` compares with the served collection (`live`, None for the first run), which holds `stored` points, and writes
    to the draft; `stale` are points in a draft left by an earlier run that are not wanted any more; `unusable` is a
    draft of another model.
    """

    alias: str
    live: str | None
    stored: int
    plan: Plan
    pending: bool
    stale: list[PointSketch]
    unusable: str | None

    def report(self) -> dict[str, Any]:
        """Return the plan as one JSON object."""
        return self.plan.report() | {
            "collection": self.alias,
            "strategy": "alias",
            "served": self.live,
            "builds": self.plan.target.name if self.pending else None,
            "carried": len(self.plan.unclaimed) if self.pending else 0,
            "stored_points": self.stored,
        }


def runs_behind(tables: Tables, alias: str) -> list[Run]:
    """Return the runs that a plan asks for: the last ones for the rate, and all of the alias for the names it had."""
    last = latest_runs(tables, 100, command="reingest")
    own = latest_runs(tables, 10_000, command="reingest", collection=alias)
    known = {run.run_id for run in last}
    return [*last, *(run for run in own if run.run_id not in known)]


def plan_beside(
    store: VectorStore,
    alias: str,
    manifest: Manifest,
    laws: LawTable,
    embedder_for: EmbedderFor,
    progress: Progress = no_progress,
    *,
    rebuild: bool = False,
    runs: Sequence[Run] = (),
) -> BesidePlan:
    """Read all documents, the served collection and the draft, and compare. Writes nothing.

    `runs` are earlier re-ingests (`runs_behind`).
    With `rebuild` a new collection is built even if the served one is current, and every payload of a draft is written.
    Raises GateError if the alias' name is that of a collection, or if points that no document claims cannot be carried
    over.
    """
    started = time.perf_counter()
    refuse_plain(store, alias)
    live = store.aliases().get(alias)
    about = store.describe(live) if live is not None else None
    embedder = embedder_for(about.layout.dimension if about is not None else None)
    target, unusable = _target(store, alias, about, Target("", None, Layout(embedder.dimension), embedder, None), runs)
    found, kept = read_sources(manifest, laws, target, progress)
    claims = claims_on(store, live, found.expected, found.skipped) if live is not None else Claims({}, [])
    if claims.unclaimed and (target.reuse_from is None or (about is not None and about.others)):
        raise GateError(
            f"{len(claims.unclaimed)} points of '{alias}' belong to no document of the manifest, and their vectors "
            f"cannot be carried over into a collection of {target.embedder.model}: claim them with aliases or replaces "
            "in the manifest, or move them into a collection of their own; nothing was written."
        )
    held = {str(p.id): p for p in read_points(store, target.name)} if target.existing is not None else {}
    carried = {str(p.id) for p in claims.unclaimed}
    before = [claims.by_document.get(expected.names.document_id, []) for expected in found.expected]
    plans = [plan_document(expected, points) for expected, points in zip(found.expected, before, strict=True)]
    pending = rebuild or about is None or target.layout != about.layout or target.reuse_from is None
    if pending := pending or any(plan.write or plan.rewrite or plan.old for plan in plans):
        reusable = before if target.reuse_from is not None else [[] for _ in plans]
        plans = [_against_draft(p, held, points, rebuild) for p, points in zip(plans, reusable, strict=True)]
    wanted = carried.union(*({str(p.id) for p in e.points} for e in found.expected))
    stale = [point for point_id, point in held.items() if point_id not in wanted]
    rate = measured_rate(runs, target.embedder.model)
    takes = estimate(store, plans, target.layout.dimension, is_new=target.existing is None, rate=rate)
    extra = len(claims.unclaimed) * (target.layout.dimension * _FLOAT + POINT_OVERHEAD)
    needed = None if takes.bytes_needed is None else takes.bytes_needed + extra
    takes = replace(takes, bytes_to_write=takes.bytes_to_write + extra, bytes_needed=needed)
    names = [loaded.origin for loaded in found.skipped]
    seconds = time.perf_counter() - started
    plan = Plan(target, plans, claims.unclaimed, names, takes, seconds, found.edges, kept)
    stored = len(claims.unclaimed) + sum(len(points) for points in claims.by_document.values())
    return BesidePlan(alias, live, stored, plan, pending, stale, unusable)


def _target(
    store: VectorStore, alias: str, live: Collection | None, free: Target, runs: Sequence[Run]
) -> tuple[Target, str | None]:
    """Return the collection to build: the draft of an earlier run, or a new one; and a draft that cannot be used."""
    layout, fits = free.layout, live is not None and _fits(live, free)
    if live is not None and fits:
        layout = replace(live.layout, sparse=live.layout.sparse or free.layout.sparse)
    found = generations(store, alias)
    served = [place for place, one in enumerate(found) if live is not None and one.name == live.name]
    drafts = [one for one in found[served[0] + 1 if served else 0 :] if one.state == DRAFT]
    unusable = None
    named = live.name if live is not None else None
    reuse_from = named if fits else None
    if drafts:
        about = store.describe(drafts[-1].name)
        if about is not None and about.layout == layout and _fits(about, free) and drafts[-1].previous == named:
            extra = written(alias, named, DRAFT)
            return replace(
                free, name=drafts[-1].name, existing=about, layout=layout, reuse_from=reuse_from, extra=extra
            ), None
        unusable = drafts[-1].name
    known = [str(run.details.get("builds")) for run in runs if run.collection == alias]
    name = next_name(store, alias, known)
    return replace(free, name=name, layout=layout, reuse_from=reuse_from, extra=written(alias, named, DRAFT)), unusable


def _fits(about: Collection, target: Target) -> bool:
    """Whether the vectors of a collection serve in one that this run builds."""
    return (
        about.layout.dimension == target.embedder.dimension
        and about.metadata.get(MODEL) in (None, target.embedder.model)
        and about.analyzer in (None, ANALYZER_VERSION)
    )


def _against_draft(
    compared: DocumentPlan, held: dict[str, PointSketch], reusable: Sequence[PointSketch], rewrite_all: bool
) -> DocumentPlan:
    """Return the comparison with the served collection, with what is to be written to the draft.

    `held` are the points of the draft, `reusable` those of the document in the served collection, if their vectors
    serve.
    """
    points = compared.expected.points
    draft = plan_document(
        compared.expected, [held[str(p.id)] for p in points if str(p.id) in held], rewrite_all=rewrite_all
    )
    served = {str(point.id): point for point in reusable}
    reuse = dict(compared.reuse) if reusable else {}
    for point in points:
        twin = served.get(str(point.id))
        if twin is not None and twin.is_contract and seen_by_vectors(twin) == seen_by_vectors(point):
            reuse[str(point.id)] = twin
    reuse = {key: twin for key, twin in reuse.items() if key in draft.write}
    return replace(compared, write=draft.write, rewrite=draft.rewrite, reuse=reuse)
