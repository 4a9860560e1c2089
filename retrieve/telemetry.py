"""What each stage of a search did: candidates in and out, milliseconds, and why it fell short, if it did.

A stage that fails degrades the answer, never ends it; the operator sees which. Every stage is also a span, where spans
are wanted (`backends.tracing`). No span holds the question, unless that is switched on.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from backends.tracing import traced
from normalize.errors import FundstelleError

_HIDDEN = "[question]"


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
    """The stages of one search, in order; `question` is what no span may hold, "" where it may."""

    question: str = ""
    stages: list[Stage] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str, candidates_in: int = 0, *, may_fail: bool = False) -> Iterator[Stage]:
        """Measure a stage. With `may_fail` an error of the store, the embedder or an endpoint marks it as degraded
        and the search goes on; the stage says what happened.
        """
        stage = Stage(name, candidates_in, candidates_in)
        self.stages.append(stage)
        started = time.perf_counter()
        with traced(f"retrieve.{name}") as span:
            try:
                yield stage
            except FundstelleError as error:
                if not may_fail:
                    raise
                stage.degraded = str(error)
            finally:
                stage.milliseconds = round((time.perf_counter() - started) * 1000, 3)
                span.tell(
                    candidates_in=stage.candidates_in,
                    candidates_out=stage.candidates_out,
                    milliseconds=stage.milliseconds,
                    degraded=stage.degraded is not None,
                    reason=self._shown(stage.degraded or ""),
                )

    def _shown(self, text: str) -> str:
        return text.replace(self.question, _HIDDEN) if self.question else text

    @property
    def degraded(self) -> list[str]:
        """The stages that fell short, each with its reason; what befell a stage each time it ran is said once."""
        return list(dict.fromkeys(f"{stage.name}: {stage.degraded}" for stage in self.stages if stage.degraded))

    def report(self) -> list[dict[str, Any]]:
        """Return the stages as JSON objects."""
        return [asdict(stage) for stage in self.stages]
