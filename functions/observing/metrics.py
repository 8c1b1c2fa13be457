"""A run's metrics as CloudWatch reads them: lines of the embedded metric format on stdout, made and checked by Powertools.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from ag_ui.core import TokenUsage
from aws_lambda_powertools.metrics import EphemeralMetrics

from functions.observing import names
from functions.observing.names import Metric
from functions.observing.request import Observed
from functions.store.meter import Meter

if TYPE_CHECKING:
    from functions.observing.run import Seen


def write_metrics(observed: Observed, ids: Mapping[str, str], seen: Seen, meter: Meter) -> None:
    """One line per set of dimensions. Each also carries the run's ids, to be found by them; no dimension does."""
    agent = {"agent": observed.environment.agent}
    outcome = agent | {"outcome": seen.outcome} | ({"code": seen.known_code} if seen.known_code else {})
    write = partial(_write, observed.environment.namespace, {**observed.keys(), **ids})
    write(agent, _of_run(seen, meter))
    write(outcome, [(names.RUNS, 1)])
    for model, tokens in _by_model(seen.usage, observed.environment.models).items():
        write(agent | {"model": model}, tokens)
    sys.stdout.flush()


def _of_run(seen: Seen, meter: Meter) -> list[tuple[Metric, float]]:
    values: dict[Metric, float | None] = {
        names.COLD_STARTS: int(seen.cold),
        names.DURATION: seen.duration,
        names.FIRST_EVENT: seen.first_event,
        names.FIRST_TOKEN: seen.first_token,
        names.TOOL_CALLS: seen.tool_calls,
        names.TOOL_ERRORS: seen.tool_errors,
        names.INTERRUPTS: seen.interrupts,
    }
    if meter.calls:
        values |= {names.CHECKPOINT_CALLS: meter.calls, names.CHECKPOINT_WRITTEN: meter.written, names.CHECKPOINT_READ: meter.read}
    return [(metric, round(value, 1)) for metric, value in values.items() if value is not None]


def _by_model(usage: Iterable[TokenUsage], models: tuple[str, ...]) -> dict[str, list[tuple[Metric, float]]]:
    tokens: dict[str, tuple[int, int]] = {}
    for entry in usage:
        model = known_model(entry.model or "", models)
        read, written = tokens.get(model, (0, 0))
        tokens[model] = (read + (entry.input_tokens or 0), written + (entry.output_tokens or 0))
    return {model: [(names.INPUT_TOKENS, read), (names.OUTPUT_TOKENS, written)] for model, (read, written) in tokens.items()}


def known_model(reported: str, models: tuple[str, ...]) -> str:
    """The name of the settings, of which a provider may report a dated one (`gpt-5-mini-2025-08-07`); `other` for every other."""
    named = [model for model in models if reported == model or reported.startswith(f"{model}-")]
    return max(named, key=len, default=names.OTHER)


def _write(namespace: str, properties: Mapping[str, str], dimensions: Mapping[str, str], values: Iterable[tuple[Metric, float]]) -> None:
    # not `Metrics`: all of its instances share one set, and runs of one process would mix
    metrics = EphemeralMetrics(namespace=namespace)
    metrics.service = ""  # a dimension that Powertools takes from POWERTOOLS_SERVICE_NAME; the agent says it already
    values = list(values)
    first, *more = (wanted for wanted in values[0][0].dimensions if set(wanted) <= dimensions.keys())
    for name in first:
        metrics.add_dimension(name, dimensions[name])
    for wanted in more:
        metrics.add_dimensions(**{name: dimensions[name] for name in wanted})
    for metric, value in values:
        metrics.add_metric(metric.name, metric.unit, value)
    for name, text in properties.items():
        metrics.add_metadata(name, text)
    metrics.flush_metrics()
