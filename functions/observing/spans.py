"""OpenTelemetry, where it is on: FastAPI makes the spans of a request, here they get the run's ids.

On is: an OTLP endpoint and the extra `otel`, or a layer's `otel-instrument`, which has set its own exporter up before us.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from fastapi.telemetry import TelemetryConfig
from opentelemetry.trace import ProxyTracerProvider, get_current_span, get_tracer_provider

from functions.observing.request import Observed

if TYPE_CHECKING:
    from functions.observing.run import Seen

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def telemetry() -> TelemetryConfig:
    """What FastAPI is told: spans alone. Our metrics are CloudWatch's, and its log records would hold what a user sent."""
    return {
        "metrics": False,
        "logs": False,
        "auto_configure": any(os.environ.get(name) for name in ENDPOINTS) and isinstance(get_tracer_provider(), ProxyTracerProvider),
    }


def mark_span(observed: Observed, ids: Mapping[str, str], seen: Seen) -> None:
    """The ids and the outcome on the request's span."""
    told = {**observed.keys(), **ids, "outcome": seen.outcome} | ({"code": seen.code} if seen.code else {})
    get_current_span().set_attributes({f"agents.{name}": value for name, value in told.items()})
