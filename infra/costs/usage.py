"""Counters and assumptions → what one run is billed for, in the units of the prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from infra.costs.assumptions import Assumptions
from infra.costs.counters import Counters
from infra.costs.units import GIB, billed_seconds, check_memory

FREE_STREAM = 6 * 1024 * 1024
"""Bytes of a response that cost nothing but the way to the internet."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Of one run, or the average of several. GB are 1,024³ bytes."""

    seconds: float
    """Billed."""
    waiting_seconds: float
    """Of these, for the model."""
    init_seconds: float
    """Billed where the environment is new."""
    memory: float
    """MB."""
    process_mb: float
    """What a process that runs it needs, in MB."""
    cpu_seconds: float
    model_calls: float
    input_tokens: float
    output_tokens: float
    calls: float
    write_units: float
    busiest_write_units: float
    """Of the table that is written most."""
    thread_row_units: float
    """Of the table `threads`, where a caller's rows share a partition."""
    read_units: float
    table_gb: float
    event_gb: float
    """Of kept events."""
    object_gb: float
    s3_puts: float
    s3_gets: float
    log_gb: float
    streamed_gb: float
    streamed_over_gb: float
    """Over the first 6 MB."""

    @property
    def gb_seconds(self) -> float:
        return self.seconds * self.memory / 1_024

    @property
    def init_gb_seconds(self) -> float:
        return self.init_seconds * self.memory / 1_024


def usage_of(agent: str, counters: Counters, given: Assumptions, memory: int, seconds: float | None = None) -> Usage:
    """One run of the agent with so many MB; `seconds` instead of the computed duration.

    Its wait for the store and for itself is measured, its CPU stretched by the vCPU that the memory buys; its wait for the model is
    computed, with what is done in it by the second. A longer answer than the measured one adds what a token adds.
    Raises `ValueError` for a memory that no function can have.
    """
    check_memory(memory)
    run, token, second = counters.agents[agent], counters.per_token, counters.per_second
    slower = max(1.0, given.vcpu_mb / memory)
    tokens = max(run.output_tokens, given.answer_tokens) if run.model_calls else run.output_tokens
    more = tokens - run.output_tokens
    own = run.seconds + run.cpu_seconds * (slower - 1)
    waits = (run.model_calls * given.first_token_ms + tokens * given.token_ms) / 1_000
    streamed = run.streamed_bytes + more * token.streamed_bytes
    logged = run.log_bytes + given.platform_log_bytes + (run.log_lines + 2) * given.log_line_bytes
    billed = billed_seconds(own + waits if seconds is None else seconds)
    waited = min(waits, billed)
    writes = _with(_with(run.writes, second.writes, waited), {"checkpoints": token.writes}, more)
    return Usage(
        seconds=billed,
        waiting_seconds=waited,
        init_seconds=billed_seconds(run.init_cpu_seconds * slower),
        memory=memory,
        process_mb=run.memory_mb,
        cpu_seconds=run.cpu_seconds + more * token.cpu_seconds,
        model_calls=run.model_calls,
        input_tokens=run.input_tokens,
        output_tokens=tokens,
        calls=run.calls + waited * second.calls,
        write_units=sum(writes.values()),
        busiest_write_units=max(writes.values()),
        thread_row_units=run.writes.get("threads", 0),
        read_units=sum(_with(run.reads, second.reads, waited).values()),
        table_gb=(run.table_bytes + more * token.table_bytes) / GIB,
        event_gb=(run.event_bytes + more * token.event_bytes + waited * second.event_bytes) / GIB,
        object_gb=run.object_bytes / GIB,
        s3_puts=run.s3_puts,
        s3_gets=run.s3_gets,
        log_gb=logged / GIB,
        streamed_gb=streamed / GIB,
        streamed_over_gb=max(0.0, streamed - FREE_STREAM) / GIB,
    )


def _with(units: Mapping[str, float], more: Mapping[str, float], times: float) -> dict[str, float]:
    return {table: units.get(table, 0) + more.get(table, 0) * times for table in {**units, **more}}


def mixed(usages: Sequence[Usage]) -> Usage:
    """The average run where each of them is as frequent."""
    return Usage(**{field.name: sum(getattr(usage, field.name) for usage in usages) / len(usages) for field in fields(Usage)})
