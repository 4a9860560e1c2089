"""OpenTelemetry, opt-in: spans go to the collector that `OTEL_EXPORTER_OTLP_ENDPOINT` names (HTTP, protobuf).

Needs the extra `telemetry`. A program that has set up OpenTelemetry itself gets the spans in its own way. Spans hold
numbers, names and reasons; exceptions are not recorded in them, since their texts may hold anything.
"""

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
_NAME: Final = "fundstelle"
_TIMEOUT: Final = 2.0
"""Seconds in which a collector must take spans, unless `OTEL_EXPORTER_OTLP_TIMEOUT` says otherwise; a command that ends
waits no longer for one that is down."""


@dataclass(frozen=True, slots=True)
class Traced:
    """The span of some work, or nothing where nothing is traced."""

    span: Any = None

    def tell(self, **attributes: str | int | float | bool) -> None:
        """Set attributes, each under the name "fundstelle.…"."""
        if self.span is not None:
            self.span.set_attributes({f"{_NAME}.{name}": value for name, value in attributes.items()})


def is_configured(environment: Mapping[str, str] | None = None) -> bool:
    """Tell whether the environment asks for spans to be sent."""
    environment = os.environ if environment is None else environment
    if environment.get("OTEL_TRACES_EXPORTER", "") == "none" or environment.get("OTEL_SDK_DISABLED", "") == "true":
        return False
    return any(environment.get(name) for name in ENDPOINTS)


@contextmanager
def traced(name: str) -> Iterator[Traced]:
    """Run the block in a span, if there is anybody to see it; an error that leaves the block is named in it."""
    if "opentelemetry" not in sys.modules and not is_configured():
        yield Traced()
        return
    try:
        trace: Any = importlib.import_module("opentelemetry.trace")
    except ImportError:
        yield Traced()
        return
    tracer = trace.get_tracer(f"{_NAME}.retrieve")
    with tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False) as span:
        try:
            yield Traced(span)
        except BaseException as error:
            span.set_status(trace.StatusCode.ERROR, type(error).__name__)
            raise


@contextmanager
def exporting() -> Iterator[str | None]:
    """Send the spans of the block to the configured collector; yields why that cannot be, or None.

    Nothing happens where none is configured, or where this program has its own provider of spans already.
    """
    if not is_configured():
        yield None
        return
    if any(os.environ.get(name, "").startswith("grpc") for name in _PROTOCOLS):
        yield "Spans are sent by HTTP only: set OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf (port 4318)."
        return
    try:
        trace: Any = importlib.import_module("opentelemetry.trace")
        sdk: Any = importlib.import_module("opentelemetry.sdk.trace")
        export: Any = importlib.import_module("opentelemetry.sdk.trace.export")
        resources: Any = importlib.import_module("opentelemetry.sdk.resources")
        otlp: Any = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    except ImportError:
        yield (
            "A collector is configured (OTEL_EXPORTER_OTLP_ENDPOINT) but OpenTelemetry is not installed: "
            "pip install 'fundstelle[telemetry]', or unset it."
        )
        return
    if isinstance(trace.get_tracer_provider(), sdk.TracerProvider):
        yield None
        return
    named = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": _NAME}
    provider = sdk.TracerProvider(resource=resources.Resource.create(named), shutdown_on_exit=False)
    timeout = None if os.environ.get("OTEL_EXPORTER_OTLP_TIMEOUT") else _TIMEOUT
    provider.add_span_processor(export.BatchSpanProcessor(otlp.OTLPSpanExporter(timeout=timeout)))
    trace.set_tracer_provider(provider)
    try:
        yield None
    finally:
        provider.shutdown()  # sends what is left
