"""Both ways by runs a month, and where they meet."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from infra.costs.bill import Bill, Terms, month
from infra.costs.container import Container, container
from infra.costs.limits import Limit, limits
from infra.costs.usage import Usage

CONTAINERS = {1: "container, one zone", 2: "container, two zones"}
"""Zones → what it is called."""
SCALES = (1_000, 1_000_000, 1_000_000_000)
MOST = 12
"""A break-even is looked for up to ten to this power."""
STEPS = 50
"""A power of ten is looked through in so many."""


@dataclass(frozen=True, slots=True)
class Month:
    """So many runs in a month, both ways; `one` and `two` are containers in so many zones. `first`: the limit that is nearest."""

    runs: float
    ours: Bill
    one: Container
    two: Container
    limits: Sequence[Limit]

    @property
    def first(self) -> Limit:
        return max((limit for limit in self.limits if limit.of_traffic), key=lambda limit: limit.share)


def month_of(usage: Usage, runs: float, terms: Terms) -> Month:
    one, two = (container(usage, runs, terms, zones) for zones in (1, 2))
    return Month(runs, month(usage, runs, terms), one, two, limits(usage, runs, terms))


def break_even(usage: Usage, terms: Terms, zones: int) -> float | None:
    """Runs a month from which on the container costs no more; None: up to a million million runs it costs more."""

    def dearer(runs: float) -> bool:
        return month(usage, runs, terms).usd > container(usage, runs, terms, zones).bill.usd

    return _first(dearer)


def _first(holds: Callable[[float], bool]) -> float | None:
    """The first number where it holds, to three digits. It is looked for in small steps: a container's cost has some of its own."""
    below = 1.0
    for step in range(MOST * STEPS + 1):
        above = 10 ** (step / STEPS)
        if holds(above):
            return _between(holds, below, above)
        below = above
    return None


def _between(holds: Callable[[float], bool], below: float, above: float) -> float:
    while above / below > 1.0005:
        middle = math.sqrt(below * above)
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above
