"""What gives way first as runs become more, with its arithmetic and the setting that moves it.

https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/cloudwatch_limits_cwl.html
"""

from __future__ import annotations

from dataclasses import dataclass

from infra.costs.assumptions import SECONDS
from infra.costs.bill import Terms
from infra.costs.units import GIB
from infra.costs.usage import FREE_STREAM, Usage

CONCURRENCY = 1_000
"""Environments of an account and region until it asks for more; a new account may begin with less."""
RATE_OF_CONCURRENCY = 10
"""Requests a second for each environment that an account may have."""
TABLE_WRITES, TABLE_READS = 4_000, 12_000
"""Units a second that a new on-demand table takes at once; it grows to twice its former peak."""
PARTITION_WRITES = 1_000
"""Units a second of what has one partition key; with a local index it cannot be split."""
STREAM = 2 * 1024 * 1024
"""Bytes a second of a response after its first 6 MB."""
LOG_PUTS = 5_000
"""PutLogEvents a second of an account in the larger regions; Lambda sends a run's lines together."""


@dataclass(frozen=True, slots=True)
class Limit:
    """`load` and `limit` are in `unit`. `of_traffic`: it comes with more runs, whoever makes them; otherwise see `moved_by`."""

    name: str
    load: float
    limit: float
    unit: str
    how: str
    moved_by: str
    of_traffic: bool = True

    @property
    def share(self) -> float:
        """Of the limit; over 1 it is hit."""
        return self.load / self.limit


def _said(number: float) -> str:
    """To three digits, never with an exponent."""
    return f"{float(f'{number:.3g}'):,.15g}"


def limits(usage: Usage, runs: float, terms: Terms) -> list[Limit]:
    """At the busiest second of a month with so many runs."""
    peak = runs / SECONDS * terms.given.peak
    rate = f"{_said(peak)} runs/s at the peak"
    return [
        Limit(
            "Lambda concurrency",
            peak * usage.seconds,
            CONCURRENCY,
            "environments",
            f"{rate} × {_said(usage.seconds)} s",
            "quota `Concurrent executions`; `reserved_concurrency` shares it out",
        ),
        Limit(
            "function URL rate",
            peak,
            CONCURRENCY * RATE_OF_CONCURRENCY,
            "requests/s",
            f"{rate}; 10 × concurrency",
            "the same quota: the rate is ten times it",
        ),
        Limit(
            "writes of a new table",
            peak * usage.busiest_write_units,
            TABLE_WRITES,
            "write units/s",
            f"{rate} × {_said(usage.busiest_write_units)} units",
            "the table's warm throughput, before the traffic comes; then its quota of 40,000",
        ),
        Limit(
            "reads of a new table",
            peak * usage.read_units,
            TABLE_READS,
            "read units/s",
            f"{rate} × {_said(usage.read_units)} units",
            "the table's warm throughput, before the traffic comes; then its quota of 40,000",
        ),
        Limit("log calls", peak, LOG_PUTS, "PutLogEvents/s", f"{rate}, one call each", "quota `PutLogEvents`; `log_level`"),
        Limit(
            "one caller for everybody",
            peak * usage.thread_row_units,
            PARTITION_WRITES,
            "write units/s",
            f"{rate} × {_said(usage.thread_row_units)} units of that caller's rows in `threads`",
            "`auth=jwt`, or a role session for each user: rows lie under their caller",
            of_traffic=False,
        ),
        Limit(
            "one thread",
            usage.busiest_write_units / usage.seconds,
            PARTITION_WRITES,
            "write units/s",
            f"{_said(usage.busiest_write_units)} units in {_said(usage.seconds)} s; one run at a time",
            "nothing needs to: runs of a thread take turns",
            of_traffic=False,
        ),
        Limit(
            "one stream",
            usage.streamed_gb * GIB,
            FREE_STREAM,
            "bytes",
            f"a run's stream; over 6 MB it goes on with {STREAM // 1024**2} MB/s",
            "nothing on AWS: send less",
            of_traffic=False,
        ),
    ]
