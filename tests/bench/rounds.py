"""Rounds of runs that take turns, so that a noisy machine is as noisy to every way, and a ratio compares runs of the same moment."""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.bench.subjects import FIRST_TOKEN, Subject

WARM_UP = 2
"""Rounds that are not counted: imports, caches and the allocator settle."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One run. `cpu` and `first` in microseconds (`first`: of wall, until the first token), `sent` in bytes, `chunks` that had bytes."""

    cpu: float
    first: float
    sent: int
    chunks: int


Samples = Mapping[str, Sequence[Sample]]


@contextmanager
def without_collector() -> Iterator[None]:
    """The collector runs before, not inside: when it does is chance."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


async def measure(subject: Subject, graph: Any, number: int) -> Sample:
    sent, chunks, first = 0, 0, 0.0
    with without_collector():
        wall, cpu = time.perf_counter(), time.process_time()
        async for chunk in subject(graph, number):
            if not first and (FIRST_TOKEN in chunk or chunk == b"."):
                first = time.perf_counter() - wall
            sent += len(chunk)
            chunks += bool(chunk)
        return Sample((time.process_time() - cpu) * 1e6, first * 1e6, sent, chunks)


async def compare(subjects: Mapping[str, Subject], make_graph: Callable[[], Any], rounds: int) -> Samples:
    """Every way once a round, in an order that turns: none always follows the same other one."""
    samples: dict[str, list[Sample]] = {name: [] for name in subjects}
    names = list(subjects)
    for number in range(WARM_UP + rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            sample = await measure(subjects[name], make_graph(), number)
            if number >= WARM_UP:
                samples[name].append(sample)
        print(f"\rround {number + 1}/{WARM_UP + rounds}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return samples


def ratio(taken: Sequence[Sample], other: Sequence[Sample]) -> float:
    """The median over the rounds of CPU by CPU."""
    return round(statistics.median(a.cpu / b.cpu for a, b in zip(taken, other, strict=True)), 2)


def per_token(taken: Sequence[Sample], tokens: int) -> dict[str, Any]:
    """µs of CPU a token, as median and as least and most, and the bytes of a token."""
    costs = [sample.cpu / tokens for sample in taken]
    return {
        "us_per_token": round(statistics.median(costs), 1),
        "us_min_max": f"{min(costs):.1f}–{max(costs):.1f}",
        "bytes_per_token": round(statistics.median(sample.sent for sample in taken) / tokens),
        "first_token_ms": round(statistics.median(sample.first for sample in taken) / 1000, 2),
    }
