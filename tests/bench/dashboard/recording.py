"""Real runs in worker processes, with what each wrote for CloudWatch and how long it kept its environment."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from functions.observing import names
from functions.observing.names import namespace_of
from tests.support.emf import Point
from tests.support.moto_server import moto_server
from tests.support.worker import worker

NAMESPACE = namespace_of("agents")
"""Of the stack whose dashboard is drawn."""
DELAY_MS = "4"
"""Of the offline model, between two tokens."""
DOCUMENT = {"documentBaseline": "其实很好,可以用\n第二行。\n非常非常好的。\n"}
Asked = tuple[str, Mapping[str, Any]]
ASKED: dict[str, Sequence[Asked]] = {
    "reactAgent": (
        ("what is the leave policy?", {}),
        ("count to 60", {}),
        ("年假有几天？", {}),
        ("confirm", {}),
        ("search the travel policy", {}),
        ("ask two", {}),
        ("fail now", {}),
    ),
    "kb": (("How many days of leave carry over?", {}), ("年假可以结转吗？", {}), ("What does the product do?", {}), ("fail now", {})),
    "writer": (("润色全文", DOCUMENT), ("其实很好,可以用", {"editCase": "inline"}), ("fail now", DOCUMENT)),
}
"""What is asked in turn. Some ask back, some fail: the offline model does as it is told."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One run. `held_ms`: from the event until the environment asked for the next one, which is what Lambda calls Duration."""

    agent: str
    outcome: str
    cold: bool
    held_ms: float
    points: tuple[Point, ...]


def record(runs: int, folder: Path, agents: Sequence[str] = tuple(ASKED)) -> list[Recorded]:
    """`runs` of each agent, the agents side by side."""
    with moto_server() as endpoint:
        return asyncio.run(_record(agents, runs, endpoint, folder))


async def _record(agents: Sequence[str], runs: int, endpoint: str, folder: Path) -> list[Recorded]:
    done = await asyncio.gather(*(_runs_of(agent, runs, endpoint, folder) for agent in agents))
    return [recorded for of_agent in done for recorded in of_agent]


async def _runs_of(agent: str, runs: int, endpoint: str, folder: Path) -> list[Recorded]:
    """One environment of it, so the first run alone is a cold start."""
    recorded: list[Recorded] = []
    async with worker(agent, endpoint, folder, AGENTS_OFFLINE_DELAY_MS=DELAY_MS, AGENTS_METRICS_NAMESPACE=NAMESPACE) as running:
        for number in range(runs):
            text, state = ASKED[agent][number % len(ASKED[agent])]
            began = time.perf_counter()
            _, written = await running.run(text, thread=f"t{number}", run=f"r{number}", state=dict(state))
            recorded.append(_recorded(agent, (time.perf_counter() - began) * 1_000, tuple(written.points)))
    return recorded


def _recorded(agent: str, held_ms: float, points: tuple[Point, ...]) -> Recorded:
    outcome = next(outcome for point in points if point.name == names.RUNS.name and (outcome := point.of("outcome")))
    cold = any(point.value for point in points if point.name == names.COLD_STARTS.name)
    return Recorded(agent, outcome, cold, held_ms, points)
