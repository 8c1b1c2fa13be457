"""The crowd: so many conversations, of which some are at work at a time, for so long; what the processes hold in memory; and a killer."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.load.talker import Talker, Turn
from tests.support.local_stack import Stack

LOOKS_SECONDS = 5.0
AGENTS = {"reactAgent": 8, "kb": 2}
"""Of ten conversations."""
PATIENCE = httpx.Timeout(120.0, connect=10.0)


@dataclass(frozen=True, slots=True)
class Plan:
    """`at_once`: turns under way at a time; `kill_every`: seconds between two kills of a worker at work, 0: none."""

    threads: int
    at_once: int
    seconds: float
    token_seconds: float
    kill_every: float = 0.0
    seed: int = 1


@dataclass(slots=True)
class Seen:
    """`memory`: (seconds since the start, MB by process) at each look; the front is process 0."""

    turns: list[Turn] = field(default_factory=list)
    memory: list[tuple[float, Mapping[int, float]]] = field(default_factory=list)
    kills: int = 0

    @property
    def faults(self) -> list[str]:
        return [f"{turn.kind} at {turn.began:.0f} s: {fault}" for turn in self.turns for fault in turn.faults]


async def crowd(stack: Stack, plan: Plan, told: Callable[[Seen, float], None]) -> Seen:
    """Everything that was seen until the time is over and the last turn has ended. `told` is called every few seconds."""
    seen, busy = Seen(), set[int]()
    chance = random.Random(plan.seed)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=plan.at_once * 2)
    async with httpx.AsyncClient(timeout=PATIENCE, limits=limits, trust_env=False) as client:
        await _warm(stack, client, plan)
        started = time.monotonic()
        names = chance.choices(list(AGENTS), list(AGENTS.values()), k=plan.threads)
        talkers = [
            Talker(client, stack.agent(name), name, random.Random(f"{plan.seed} {number}"), plan.token_seconds, busy, started)
            for number, name in enumerate(names)
        ]
        idle: asyncio.Queue[Talker] = asyncio.Queue()
        for talker in talkers:
            idle.put_nowait(talker)

        async def place() -> None:
            """One of those at work at a time: takes whoever has waited longest."""
            while time.monotonic() - started < plan.seconds:
                talker = await idle.get()
                seen.turns.append(await talker.turn())
                idle.put_nowait(talker)

        watching = [asyncio.create_task(_look(stack, seen, started, told))]
        if plan.kill_every:
            watching.append(asyncio.create_task(_kill(seen, busy, plan, chance)))
        try:
            await asyncio.gather(*(place() for _ in range(plan.at_once)))
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
    return seen


async def _warm(stack: Stack, client: httpx.AsyncClient, plan: Plan) -> None:
    """As many runs as will be under way: what a worker's start takes is measured elsewhere (`agents bench cold`)."""
    shares = [name for name, share in AGENTS.items() for _ in range(share)]
    talkers = [
        Talker(client, stack.agent(shares[number % len(shares)]), "kb", random.Random(number), plan.token_seconds, set(), time.monotonic())
        for number in range(plan.at_once)
    ]
    await asyncio.gather(*(talker.turn() for talker in talkers))


async def _kill(seen: Seen, busy: set[int], plan: Plan, chance: random.Random) -> None:
    """SIGKILL for a worker in the middle of a stream."""
    while True:
        await asyncio.sleep(plan.kill_every * chance.uniform(0.5, 1.5))
        if workers := sorted(busy - {0}):
            with suppress(ProcessLookupError):  # it has just been killed
                os.kill(chance.choice(workers), signal.SIGKILL)
                seen.kills += 1


async def _look(stack: Stack, seen: Seen, started: float, told: Callable[[Seen, float], None]) -> None:
    while True:
        now = time.monotonic() - started
        seen.memory.append((now, {0 if pid == stack.process.pid else pid: _resident(pid) for pid in _workers(stack.process.pid)}))
        told(seen, now)
        await asyncio.sleep(LOOKS_SECONDS)


def _workers(front: int) -> Sequence[int]:
    """The front, and of its children those that run an agent."""
    found = [front]
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, IndexError):  # it has just ended
            pid = int(status.parent.name)
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            if parent == front and b"moto" not in (status.parent / "cmdline").read_bytes():
                found.append(pid)
    return found


def _resident(pid: int) -> float:
    """MB of a process; 0 if it has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1_024
    return 0.0


def growth(seen: Seen) -> tuple[float, float] | None:
    """The median worker's MB at a third of the time, and at its end: of those workers that were there at both. None: there are none."""
    looks: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for at, memory in seen.memory:
        for pid, megabytes in memory.items():
            if pid and megabytes > 0:
                looks[pid].append((at, megabytes))
    end = max((at for at, _ in seen.memory), default=0.0)
    whole = [found for found in looks.values() if found[0][0] <= end / 3 and found[-1][0] >= end - 3 * LOOKS_SECONDS]
    if not whole:
        return None
    early = sorted(next(mb for at, mb in found if at >= end / 3) for found in whole)
    late = sorted(found[-1][1] for found in whole)
    return early[len(early) // 2], late[len(late) // 2]
