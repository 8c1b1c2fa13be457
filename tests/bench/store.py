"""What a run costs in the store, and how long it waits for it: our checkpointer beside the two others, in one run."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.bench.dynamodb import answering_after, emulator
from tests.bench.report import Check, Measured, Row
from tests.bench.rounds import WARM_UP
from tests.bench.savers import AWS, OURS, SAVERS, Open
from tests.bench.store_walls import NO_FIGURE, measure_walls
from tests.bench.working import DELTA, PLAIN, leased_turn, remember, served_turn, turn, working_graph
from tests.support.meter import Meter

CALL_SECONDS = 0.008
KIB = 1_024
CALLS, WRITE_UNITS, GROWTH, LATER_CALLS, WALL, WALL_AT_ONCE = 20, 45, 1.2, 25, 0.65, 0.45
"""The limits of the checks."""

LEASED, DELTAS, DELTAS_LEASED = (f"{OURS}, {how}" for how in ("leased", "deltas", "deltas, leased"))
ALL = (OURS, LEASED, DELTAS, DELTAS_LEASED)
AWS_DELTAS = f"{AWS}, deltas"


@dataclass(frozen=True, slots=True)
class Plan:
    """Messages of history that turns are measured after, the turn at which calls are counted again, runs at once, rounds of walls."""

    rounds: int = 9
    history: int = 20
    short: int = 10
    long: int = 1_000
    later: int = 12
    at_once: int = 16
    period: int = 17
    """Turns of a delta history that bytes are averaged over: 102 updates, in which all of it is stored once."""
    warm_up: int = WARM_UP


@dataclass(frozen=True, slots=True)
class Way:
    """A saver, the state of the graph, and how a turn is taken. `averaged`: turns that bytes are averaged over; 0: as of another way.
    `clocked`: the turn whose wait is measured."""

    name: str
    open: Open
    state: Any
    take: Callable[[Any, int], Awaitable[None]] = turn
    averaged: int = 1
    clocked: Callable[[Any, int], Awaitable[None]] = turn


def ways(savers: Mapping[str, Open], period: int) -> list[Way]:
    """Ours as a program calls its graph and as `functions.runs` does, with LangGraph's message state and with the delta history."""
    ours = savers[OURS]
    found = [
        Way(OURS, ours, PLAIN),
        Way(LEASED, ours, PLAIN, served_turn, 0, leased_turn),
        Way(DELTAS, ours, DELTA, turn, period),
        Way(DELTAS_LEASED, ours, DELTA, served_turn, 0, leased_turn),
        *(Way(name, opened, PLAIN) for name, opened in savers.items() if name != OURS),
    ]
    return [*found, Way(AWS_DELTAS, savers[AWS], DELTA, turn, 0)] if AWS in savers else found


def beside(measured: Sequence[Way]) -> dict[str, str]:
    """Each way → that of the other saver with the same state of the graph."""
    aws = {way.state: way.name for way in measured if way.name in (AWS, AWS_DELTAS)}
    return {way.name: aws[way.state] for way in measured if way.state in aws}


async def measure_store(plan: Plan, savers: Mapping[str, Open] = SAVERS) -> Measured:
    """A row per way: one run after a history of 20 messages, turn 12, turns after 10 and 1,000 messages, one run and 16 at once by the
    clock, on new threads."""
    measured = ways(savers, plan.period)
    with emulator() as endpoint:
        rows = [await _costs(way, plan, endpoint) for way in measured]
    with answering_after(CALL_SECONDS) as endpoint:
        turns = {way.name: (working_graph(way.state, way.open(endpoint, False).saver), way.clocked) for way in measured}
        walls = await measure_walls(turns, (plan.warm_up, plan.rounds), plan.at_once, beside(measured))
    rows = [{**row, **walls[row["way"]]} for row in rows]
    return Measured("store", "One run: 5 super-steps, 2 tools at once twice, messages of 200 characters", rows, checks(rows), "calls")


def checks(rows: Sequence[Row]) -> list[Check]:
    found = {row["way"]: row for row in rows}
    limits = [
        ("calls of a run", "calls", ALL, CALLS, "calls"),
        ("write units of a run", "write_units", ALL, WRITE_UNITS, "units"),
        ("bytes of the usual turn after 1,000 messages, beside those after 10", "grows", (DELTAS,), GROWTH, "×"),
        ("the same, on average with the turns that store all messages", "grows_on_average", (DELTAS,), GROWTH, "×"),
        ("calls of turn 12", "calls_later", (DELTAS, DELTAS_LEASED), LATER_CALLS, "calls"),
        (f"the wall of a run, beside {AWS} with the same graph", "vs_aws", ALL, WALL, "×"),
        (f"the wall of 16 runs at once, beside {AWS} with the same graph", "vs_aws_at_once", ALL, WALL_AT_ONCE, "×"),
    ]
    checked = ((f"{what} ({name})", found[name][column], limit, unit) for what, column, names, limit, unit in limits for name in names)
    return [Check(*one) for one in checked if one[1] != NO_FIGURE]


async def _costs(way: Way, plan: Plan, endpoint: str) -> Row:
    print(f"\r{way.name:<40}", end="", file=sys.stderr, flush=True)
    opened = way.open(endpoint, True)
    graph, meter = working_graph(way.state, opened.saver), Meter(*opened.clients)
    await remember(graph, 0, plan.history)
    meter.clear()
    await way.take(graph, 0)
    first = {"calls": meter.calls, "kb": _kib(meter.written), "write_units": meter.write_units, "read_units": meter.read_units}
    for _ in range(plan.later - 1):
        meter.clear()
        await way.take(graph, 0)
    return {"way": way.name, **first, "calls_later": meter.calls, **await _growth(way, plan, graph, meter)}


async def _growth(way: Way, plan: Plan, graph: Any, meter: Meter) -> Row:
    if not way.averaged:
        return dict.fromkeys(("kb_short", "kb_long", "grows", "grows_on_average"), NO_FIGURE)
    short, long = [await _bytes(way, graph, meter, number, messages) for number, messages in ((1, plan.short), (2, plan.long))]
    usual = [statistics.median(taken) for taken in (short, long)]
    mean = [statistics.mean(taken) for taken in (short, long)]
    growth = {"grows": round(usual[1] / usual[0], 2), "grows_on_average": round(mean[1] / mean[0], 2)}
    return {"kb_short": _kib(mean[0]), "kb_long": _kib(mean[1]), **growth}


async def _bytes(way: Way, graph: Any, meter: Meter, number: int, messages: int) -> list[int]:
    """Bytes written by each turn after so many messages."""
    await remember(graph, number, messages)
    taken: list[int] = []
    for _ in range(way.averaged):
        meter.clear()
        await way.take(graph, number)
        taken.append(meter.written)
    return taken


def _kib(size: float) -> float:
    return round(size / KIB, 1)
