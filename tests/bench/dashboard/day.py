"""A simulated day: when runs come, and which recorded one each of them is. Recorded points keep their values; only their time is moved."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from functions.observing import names
from tests.bench.dashboard.recording import Recorded
from tests.support.emf import Point

DAY_MS = 86_400_000
START = 1_767_571_200_000
"""2026-01-05, midnight UTC."""
IDLE_MS = 10 * 60_000
"""After so long without a run an environment is taken away, as Lambda does after a time that it does not tell."""
SHARES = {names.SUCCESS: 0.90, names.INTERRUPT: 0.08, names.ERROR: 0.02}
OUTAGE = (15.0, 15.5)
"""Hours in which runs fail: what an incident looks like."""
FAILING = 0.4


@dataclass(frozen=True, slots=True)
class Invocation:
    """`at` in milliseconds since the epoch."""

    at: int
    run: Recorded

    def points(self) -> Iterator[Point]:
        end = self.at + int(self.run.held_ms)
        yield from (replace(point, at=end) for point in self.run.points)


def simulate(recorded: Sequence[Recorded], runs: int, seed: int = 7) -> list[Invocation]:
    """`runs` of each agent over the day, by office hours. An environment serves one at a time; where none is free one starts cold."""
    chance = random.Random(seed)
    return [invocation for agent in dict.fromkeys(r.agent for r in recorded) for invocation in _of_agent(recorded, agent, runs, chance)]


def _of_agent(recorded: Sequence[Recorded], agent: str, runs: int, chance: random.Random) -> Iterator[Invocation]:
    own = [run for run in recorded if run.agent == agent]
    idle_since: list[float] = []
    for at in sorted(_moment(chance) for _ in range(runs)):
        free = [since for since in idle_since if since <= at and at - since < IDLE_MS]
        run = _one(own, cold=not free, hour=at / 3_600_000, chance=chance)
        idle_since = [since for since in idle_since if at - since < IDLE_MS]
        if free:
            idle_since.remove(max(free))
        idle_since.append(at + run.held_ms)
        yield Invocation(START + int(at), run)


def _moment(chance: random.Random) -> float:
    """Milliseconds into the day, as often as its hour is busy."""
    while True:
        at = chance.random() * DAY_MS
        if chance.random() < busy(at / 3_600_000):
            return at


def busy(hour: float) -> float:
    """0 to 1: two peaks, at 10:30 and 15:00, and little at night."""
    return 0.06 + 0.94 * max(math.exp(-(((hour - 10.5) / 1.8) ** 2)), 0.9 * math.exp(-(((hour - 15.0) / 2.2) ** 2)))


def _one(own: Sequence[Recorded], *, cold: bool, hour: float, chance: random.Random) -> Recorded:
    """A recorded run of the wanted kind; of those that began cold there are few, and they did what they did."""
    if cold:
        return chance.choice([run for run in own if run.cold])
    failing = FAILING if OUTAGE[0] <= hour < OUTAGE[1] else SHARES[names.ERROR]
    shares = {**SHARES, names.ERROR: failing}
    warm = [run for run in own if not run.cold]
    weights = [shares.get(run.outcome, 0) / sum(other.outcome == run.outcome for other in warm) for run in warm]
    return chance.choices(warm, weights)[0]
