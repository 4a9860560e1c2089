"""What each stage of a search did: candidates in and out, milliseconds, and why it fell short, if it did.

A stage that fails degrades the answer, never ends it; the operator sees which. With `OTEL_EXPORTER_OTLP_ENDPOINT` set
and OpenTelemetry installed, every stage is also a span.
"""

import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from typing import Any

from normalize.errors import FundstelleError


@dataclass(slots=True)
class Stage:
    """One stage of a search."""

    name: str
    candidates_in: int = 0
    candidates_out: int = 0
    milliseconds: float = 0.0
    degraded: str | None = None


@dataclass(slots=True)
class Telemetry:
    """The stages of one search, in order."""

    stages: list[Stage] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str, candidates_in: int = 0, *, may_fail: bool = False) -> Iterator[Stage]:
        """Measure a stage. With `may_fail` an error of the store, the embedder or an endpoint marks it as degraded
        and the search goes on; the stage says what happened.
        """
        stage = Stage(name, candidates_in, candidates_in)
        self.stages.append(stage)
        started = time.perf_counter()
        with _span(name) as span:
            try:
                yield stage
            except FundstelleError as error:
                if not may_fail:
                    raise
                stage.degraded = str(error)
            finally:
                stage.milliseconds = round((time.perf_counter() - started) * 1000, 3)
                if span is not None:
                    span.set_attribute("fundstelle.candidates_in", stage.candidates_in)
                    span.set_attribute("fundstelle.candidates_out", stage.candidates_out)
                    span.set_attribute("fundstelle.degraded", stage.degraded or "")

    @property
    def degraded(self) -> list[str]:
        """The stages that fell short, each with its reason; what befell a stage each time it ran is said once."""
        return list(dict.fromkeys(f"{stage.name}: {stage.degraded}" for stage in self.stages if stage.degraded))

    def report(self) -> list[dict[str, Any]]:
        """Return the stages as JSON objects."""
        return [asdict(stage) for stage in self.stages]


def _span(name: str) -> AbstractContextManager[Any]:
    if not os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"):
        return nullcontext()
    try:
        from opentelemetry import trace
    except ImportError:
        return nullcontext()
    return trace.get_tracer("fundstelle.retrieve").start_as_current_span(f"retrieve.{name}")
