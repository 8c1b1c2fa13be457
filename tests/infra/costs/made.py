"""A run of round numbers, for cases that are computed by hand."""

from __future__ import annotations

from infra.costs.bill import Terms
from infra.costs.counters import Check, Counters, Measured, PerSecond, PerToken, Run
from infra.costs.prices import prices_of
from infra.costs.usage import Usage
from tests.infra.costs import KIB_IN_GB

TERMS = Terms(prices_of("us-east-1"), agents=2)
USAGE = Usage(
    seconds=30,
    waiting_seconds=29,
    init_seconds=5,
    memory=1_024,
    process_mb=150,
    cpu_seconds=0.25,
    model_calls=2,
    input_tokens=2_000,
    output_tokens=500,
    calls=15,
    write_units=12,
    busiest_write_units=10,
    thread_row_units=2,
    read_units=5,
    table_gb=10 * KIB_IN_GB,
    event_gb=KIB_IN_GB,
    object_gb=0,
    s3_puts=0,
    s3_gets=2,
    log_gb=KIB_IN_GB,
    streamed_gb=20 * KIB_IN_GB,
    streamed_over_gb=0,
)
RUN = Run(
    runs=2,
    seconds=0.6,
    cpu_seconds=0.2,
    init_cpu_seconds=2,
    model_calls=2,
    input_tokens=1_000,
    output_tokens=100,
    streamed_bytes=10_000,
    calls=15,
    writes={"checkpoints": 10, "threads": 3},
    reads={"checkpoints": 5},
    table_bytes=6_000,
    event_bytes=1_000,
    object_bytes=0,
    s3_puts=0,
    s3_gets=2,
    memory_mb=150,
    log_lines=3,
    log_bytes=600,
    check=Check(predicted_seconds=1, measured_seconds=1),
)
COUNTERS = Counters(
    measured=Measured(date="2026-12-01", commit="0000000", machine="a table", python="3.13"),
    token_ms=50,
    agents={"one": RUN, "silent": RUN.model_copy(update={"model_calls": 0, "output_tokens": 0})},
    per_token=PerToken(cpu_seconds=0.0005, streamed_bytes=100, table_bytes=5, event_bytes=2, writes=0.005),
    per_second=PerSecond(calls=2.1, writes={"events": 1, "checkpoints": 0.1}, reads={"checkpoints": 0.5}, event_bytes=10),
)
