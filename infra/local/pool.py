"""The workers of all functions: started on demand, one event at a time each, never more than `maximum`; spares make a start cheap."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infra.local.environment import PRELOAD, Environment, IdleDeath
from infra.local.invocation import Invocation
from infra.local.output import Console

MOMENT = 0.2
"""Seconds that an event waits for a worker that has answered but still has something to put away."""


class PoolClosed(Exception):
    """The local stack is ending."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`maximum` bounds all processes, spares included; `idle_seconds` is when an idle worker is ended, `timeout_ms` Lambda's deadline."""

    maximum: int = 4
    spares: int = 2
    idle_seconds: float = 600.0
    timeout_ms: int = 900_000


class Pool:
    """`variables(agent)` is the environment of that agent's function, `bare` and `preload` what spares are started with and import."""

    def __init__(
        self,
        variables: Callable[[str], Mapping[str, str]],
        *,
        bare: Mapping[str, str],
        console: Console,
        limits: Limits | None = None,
        preload: Sequence[str] = PRELOAD,
    ) -> None:
        self._variables = variables
        self._bare = bare
        self._console = console
        self._limits = limits or Limits()
        self._preload = preload
        self._spares: list[Environment] = []
        self._workers: set[Environment] = set()
        self._busy: dict[Environment, tuple[Invocation, asyncio.Task[None]]] = {}
        self._idle: list[Environment] = []  # the one used last is at the end
        self._waiters: deque[tuple[str, asyncio.Future[Environment]]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._timers: dict[Environment, asyncio.TimerHandle] = {}
        self._closed = False

    # -- for the front

    async def invoke(self, agent: str, event: Mapping[str, Any]) -> tuple[Environment, Invocation]:
        """A worker of `agent` that has taken the event. Waits while all workers are busy.

        Raises `InitFailed` (the agent's code does not start), `IdleDeath` (twice in a row), `PoolClosed`.
        """
        try:
            return await self._attempt(agent, event)
        except IdleDeath as exc:
            # its `next` was never answered, so nothing of this event has run
            self._console.say(f"[{agent}] {exc}; another worker takes the request")
            return await self._attempt(agent, event)

    async def _attempt(self, agent: str, event: Mapping[str, Any]) -> tuple[Environment, Invocation]:
        await self._moment(agent)
        worker = await self._acquire(agent)
        try:
            invocation = await worker.invoke(event, timeout_ms=self._limits.timeout_ms)
        except BaseException:
            self._drop(worker)
            raise
        self._busy[worker] = invocation, self._spawn(self._finish(worker, invocation))
        return worker, invocation

    async def _finish(self, worker: Environment, invocation: Invocation) -> None:
        await worker.settle(invocation)
        del self._busy[worker]
        self._release(worker)

    async def _moment(self, agent: str) -> None:
        """A worker that has written its last byte is about to ask for more: waiting a moment for it is cheaper than a new process."""
        if any(worker.agent == agent for worker in self._idle):
            return
        if ending := [task for worker, (invocation, task) in self._busy.items() if worker.agent == agent and invocation.finished.is_set()]:
            await asyncio.wait(ending, timeout=MOMENT, return_when=asyncio.FIRST_COMPLETED)

    # -- for the command

    def fill_spares(self) -> None:
        """Starts spares up to their number, as far as the maximum allows."""
        room = min(self._limits.spares, self._limits.maximum - len(self._workers))
        while not self._closed and len(self._spares) < room:
            spare = Environment(self._console)
            self._spares.append(spare)
            self._spawn(self._raise_spare(spare))

    def recycle(self, agents: Iterable[str]) -> None:
        """Their code changed: idle workers end now, busy ones when they ask for their next event. Spares hold no code of ours."""
        names = set(agents)
        for worker in [worker for worker in self._workers if worker.agent in names]:
            worker.stale = True
            if worker in self._idle:
                self._drop(worker)

    async def close(self) -> None:
        """Ends every worker; requests that wait get `PoolClosed`."""
        self._closed = True
        for _agent, waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(PoolClosed())
        for timer in self._timers.values():
            timer.cancel()
        await asyncio.gather(*(worker.stop() for worker in [*self._workers, *self._spares]))
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- giving and taking

    async def _acquire(self, agent: str) -> Environment:
        if self._closed:
            raise PoolClosed
        waiter: asyncio.Future[Environment] = asyncio.get_running_loop().create_future()
        self._waiters.append((agent, waiter))
        self._serve_waiters()
        worker = await waiter
        if not worker.agent:
            await self._prepare(worker, agent)
        return worker

    async def _prepare(self, worker: Environment, agent: str) -> None:
        try:
            if not worker.pid:
                await worker.start(self._bare, self._preload)
                self._spawn(self._bury(worker))
            await worker.adopt(agent, self._variables(agent))
        except BaseException:
            self._drop(worker)
            raise

    def _serve_waiters(self) -> None:
        """First come, first served. If the first cannot be served nobody is idle, so nobody behind it could be."""
        while self._waiters:
            agent, waiter = self._waiters[0]
            if not waiter.done():
                worker = self._take(agent)
                if worker is None:
                    return
                waiter.set_result(worker)
            self._waiters.popleft()

    def _take(self, agent: str) -> Environment | None:
        """An idle worker of the agent; else a spare or a new one, if need be instead of the idle one that rests longest."""
        for worker in reversed(self._idle):
            if worker.agent == agent and worker.usable:
                self._wake(worker)
                return worker
        if len(self._workers) >= self._limits.maximum:
            if not self._idle:
                return None
            self._discard(self._idle[0])
        ready = [spare for spare in self._spares if spare.alive]
        worker = ready[0] if ready else Environment(self._console)
        if ready:
            self._spares.remove(worker)
        self._workers.add(worker)
        return worker

    def _wake(self, worker: Environment) -> None:
        self._idle.remove(worker)
        self._timers.pop(worker).cancel()

    def _release(self, worker: Environment) -> None:
        """The worker asks for its next event: only now is it decided whether it gets one."""
        if worker not in self._workers:
            return
        if worker.usable:
            self._idle.append(worker)
            self._timers[worker] = asyncio.get_running_loop().call_later(self._limits.idle_seconds, self._drop, worker)
            self._serve_waiters()
            self.fill_spares()
        else:
            self._drop(worker)

    def _drop(self, worker: Environment) -> None:
        """Ends a worker and lets the next one in."""
        self._discard(worker)
        self._serve_waiters()
        self.fill_spares()

    def _discard(self, worker: Environment) -> None:
        if worker in self._idle:
            self._wake(worker)
        if worker in self._workers:
            self._workers.remove(worker)
            self._spawn(worker.stop())

    # -- tasks

    async def _raise_spare(self, spare: Environment) -> None:
        await spare.start(self._bare, self._preload)
        await self._bury(spare)

    async def _bury(self, worker: Environment) -> None:
        """Takes out of all lists what died by itself. A busy worker is left to `settle`."""
        await worker.gone()
        if worker in self._spares:
            self._spares.remove(worker)
        if worker in self._idle:
            self._drop(worker)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self._console.say(f"local stack: {error!r}")
