"""Usage and prices → dollars."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from infra.costs.assumptions import HOURS, SECONDS, Assumptions
from infra.costs.prices import Name, Prices
from infra.costs.usage import Usage

SERVICES = ("Lambda", "DynamoDB", "S3", "logs", "egress", "model", "fixed")
SNAPSHOTS = "SnapStart, snapshots kept"
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Line:
    """So much of something, and its dollars; `service` is one of `SERVICES`."""

    service: str
    what: str
    quantity: float
    unit: str
    usd: float


@dataclass(frozen=True, slots=True)
class Model:
    """Dollars of a million tokens, read and written: the model's provider is paid, not AWS."""

    read: float
    written: float


@dataclass(frozen=True, slots=True)
class Terms:
    """What a bill is made by. `agents`: functions that stand there whether anybody asks or not."""

    prices: Prices
    given: Assumptions = field(default_factory=Assumptions)
    agents: int = 1
    snap_start: bool = False
    model: Model | None = None


@dataclass(frozen=True, slots=True)
class Bill:
    lines: Sequence[Line]

    @property
    def usd(self) -> float:
        return sum(line.usd for line in self.lines)

    def of(self, service: str) -> float:
        return sum(line.usd for line in self.lines if line.service == service)


def per_runs(usage: Usage, runs: float, terms: Terms) -> Bill:
    """Of so many runs alone, in the first tier of each price: what one more run costs, times `runs`. A thread is paid as long as kept."""
    return Bill(_lines(usage, 1, runs, terms))


def month(usage: Usage, runs: float, terms: Terms) -> Bill:
    """A month with so many runs, after enough months for threads to be as many as are kept; with what stands there anyway."""
    return Bill([*_lines(usage, runs, 1, terms), *_standing(usage, runs, terms)])


def _lines(usage: Usage, runs: float, times: float, terms: Terms) -> list[Line]:
    """Of `runs` in a month, `times` over: tiers see `runs` alone."""
    return [
        Line(service, what, quantity * runs * times, terms.prices.by_name[name].unit, terms.prices.of(name, quantity * runs) * times)
        for service, what, name, quantity in _billed(usage, terms)
    ] + [Line("model", what, n * runs * times, "token", n * runs * times * usd / MILLION) for what, n, usd in _asked(usage, terms.model)]


def _billed(usage: Usage, terms: Terms) -> Iterator[tuple[str, str, Name, float]]:
    """Service, what, its price, how much of it a run takes."""
    given = terms.given
    yield "Lambda", "requests", "lambda_request", 1
    started = 0.0 if terms.snap_start else given.cold_share * usage.init_gb_seconds
    # one quantity: the tiers count both
    yield "Lambda", "running and starting", "lambda_gb_second", usage.gb_seconds + started
    if terms.snap_start:
        yield "Lambda", "SnapStart, restores", "snapstart_restored_gb", given.cold_share * usage.memory / 1_024
    yield "Lambda", "streamed over 6 MB", "lambda_streamed_gb", usage.streamed_over_gb
    yield "DynamoDB", "writes", "dynamodb_write_unit", usage.write_units
    yield "DynamoDB", "reads", "dynamodb_read_unit", usage.read_units
    yield "DynamoDB", "threads kept", "dynamodb_gb_month", usage.table_gb * given.kept_months
    yield "DynamoDB", "their backups", "dynamodb_pitr_gb_month", usage.table_gb * given.kept_months
    yield "DynamoDB", "events kept", "dynamodb_gb_month", usage.event_gb * given.event_hours / HOURS
    yield "S3", "PUT and LIST", "s3_put", usage.s3_puts
    yield "S3", "GET and HEAD", "s3_get", usage.s3_gets
    yield "S3", "objects kept", "s3_gb_month", usage.object_gb * given.kept_months
    yield "logs", "written", "logs_gb", usage.log_gb
    yield "logs", "kept", "logs_gb_month", usage.log_gb * given.log_months
    yield "egress", "to the internet", "egress_gb", usage.streamed_gb


def _asked(usage: Usage, model: Model | None) -> list[tuple[str, float, float]]:
    return [] if model is None else [("read", usage.input_tokens, model.read), ("written", usage.output_tokens, model.written)]


def metrics_line(runs: float, terms: Terms) -> Line:
    """Custom metrics are billed for the hours in which they get a value: of an agent with few runs, those in which one of them comes."""
    hourly = runs / terms.agents / HOURS
    metrics = terms.given.metrics * terms.agents * -math.expm1(-hourly)
    return Line("fixed", "custom metrics", metrics, "metric-month", terms.prices.of("custom_metric_month", metrics))


def _standing(usage: Usage, runs: float, terms: Terms) -> Iterator[Line]:
    given, prices = terms.given, terms.prices
    alarms = given.alarm_metrics * terms.agents
    yield Line("fixed", "alarms", alarms, "metric of an alarm", prices.of("alarm_month", alarms))
    yield metrics_line(runs, terms)
    if given.secrets:
        yield Line("fixed", "secrets", given.secrets, "secret", prices.of("secret_month", given.secrets))
    if terms.snap_start:
        kept = usage.memory / 1_024 * SECONDS * given.snapshot_versions * terms.agents
        yield Line("fixed", SNAPSHOTS, kept, "GB-s", prices.of("snapstart_cached_gb_second", kept))
