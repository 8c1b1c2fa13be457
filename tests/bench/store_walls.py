"""How long runs wait for the store, by the clock."""

from __future__ import annotations

import asyncio
import itertools
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from tests.bench.report import Row

NO_FIGURE = "–"

Turns = Mapping[str, tuple[Any, Callable[[Any, int], Awaitable[None]]]]
"""Way → graph, and how a turn is taken of it on the thread of a number."""


async def measure_walls(turns: Turns, rounds: tuple[int, int], at_once: int, beside: Mapping[str, str]) -> dict[str, Row]:
    """Milliseconds of one run and of some at once, each on a new thread; and medians of the ratio, in the same round, to the way that
    `beside` names. `rounds`: not counted, and counted."""
    one, many = [await _rounds(turns, rounds, number) for number in (1, at_once)]
    return {
        way: {
            "wall_ms": round(statistics.median(one[way])),
            "vs_aws": _ratio(way, beside.get(way), one),
            "at_once_ms": round(statistics.median(many[way])),
            "vs_aws_at_once": _ratio(way, beside.get(way), many),
        }
        for way in turns
    }


async def _rounds(turns: Turns, rounds: tuple[int, int], at_once: int) -> dict[str, list[float]]:
    """The ways take turns, in an order that turns too."""
    taken: dict[str, list[float]] = {way: [] for way in turns}
    threads, names = itertools.count(), list(turns)
    warm_up, counted = rounds
    for number in range(warm_up + counted):
        for way in names[number % len(names) :] + names[: number % len(names)]:
            graph, take = turns[way]
            began = time.perf_counter()
            await asyncio.gather(*(take(graph, next(threads)) for _ in range(at_once)))
            if number >= warm_up:
                taken[way].append((time.perf_counter() - began) * 1_000)
    return taken


def _ratio(way: str, other: str | None, walls: Mapping[str, Sequence[float]]) -> float | str:
    if other is None:
        return NO_FIGURE
    return round(statistics.median(a / b for a, b in zip(walls[way], walls[other], strict=True)), 2)
