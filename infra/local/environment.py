"""One execution environment: one worker process and one Runtime API port that is its identity. It serves one invocation at a time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from infra.local.invocation import FunctionError, Invocation
from infra.local.output import Console
from infra.local.process import Process
from infra.local.runtime_api import ARN, RuntimeApi

LISTEN_TURNS = 8
"""Turns of the event loop before an event is handed over: so many lead from a closed socket to the API's knowing of it. An event that
is written to a dead worker cannot be given to another: nobody could tell that it had not begun."""
PRELOAD = (
    "ag_ui.core",
    "aws_lambda_powertools",
    "botocore.auth",
    "botocore.endpoint",
    "botocore.session",
    "fastapi",
    "langchain_core.language_models",
    "langchain_core.tools",
    "langgraph.graph",
    "langgraph.prebuilt",
    "mangum",
    "pydantic_settings",
)
"""Third-party modules only: our own are imported when the worker knows its agent, so a spare never holds old code of ours."""


class InitFailed(FunctionError):
    """The worker ended, or reported an error, before it asked for its first event."""


class IdleDeath(Exception):
    """The worker was dead before it took the event: nothing of it has run."""


class Environment:
    """A spare until `adopt` gives it an agent. `stale`: its code is old, it must not serve another event."""

    def __init__(self, console: Console) -> None:
        self.agent = ""
        self.stale = False
        self.stopping = False
        self._voice = console.voice("spare")
        self._api: RuntimeApi | None = None
        self._process: Process | None = None

    # -- life

    async def start(self, env: Mapping[str, str], preload: Sequence[str] = PRELOAD) -> None:
        """Spawns the process; it begins to import at once."""
        self._process = await Process.start("infra.local.child", *preload, env=env, output=self._voice)
        if self.stopping:  # asked to end while the process was being made: `stop` had nothing to end yet
            await self._process.stop()
        self._voice.label = f"spare {self.pid}"

    async def adopt(self, agent: str, variables: Mapping[str, str]) -> None:
        """Makes it the function of `agent` and waits until it asks for its first event. Raises `InitFailed`."""
        assert self._process is not None
        self.agent, self._voice.label = agent, f"{agent} {self.pid}"
        api = self._api = RuntimeApi(function_arn=ARN + agent)
        await api.start()
        try:
            await self._process.write_line(json.dumps({**variables, "AWS_LAMBDA_RUNTIME_API": api.address}))
        except ConnectionError as exc:
            raise InitFailed("Runtime.ExitError", f"the worker is gone: {exc}") from exc
        await self._first(api.waiting.wait(), _settled(api.init_error))
        if api.init_error.done():
            raise InitFailed(api.init_error.result().error_type, api.init_error.result().message)
        if not api.waiting.is_set():
            raise InitFailed("Runtime.ExitError", f"the worker {self._ending()} during its init")

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    @property
    def alive(self) -> bool:
        return self._process is not None and not self._process.exited.is_set()

    @property
    def usable(self) -> bool:
        """May it be given another event?"""
        return self.alive and not self.stale

    async def gone(self) -> None:
        """Returns when the process has ended; says so if nobody had asked it to."""
        assert self._process is not None
        await self._process.exited.wait()
        if not self.stopping:
            self._voice.died(f"the worker {self._ending()}")

    async def stop(self) -> None:
        self.stopping = True
        if self._process is not None:
            await self._process.stop()
        if self._api is not None:
            await self._api.close()

    # -- work

    async def invoke(self, event: Mapping[str, Any], *, timeout_ms: int) -> Invocation:
        """Hands it an event; returns once it was taken. Raises `IdleDeath`."""
        assert self._api is not None
        for _ in range(LISTEN_TURNS):
            await asyncio.sleep(0)
        if not self._api.waiting.is_set():
            raise IdleDeath("the worker hung up while it was idle")
        invocation = self._api.invoke(event, timeout_ms=timeout_ms)
        await self._first(invocation.taken.wait())
        if not invocation.taken.is_set():
            raise IdleDeath(f"the worker {self._ending()} while it was idle")
        return invocation

    async def settle(self, invocation: Invocation) -> None:
        """Returns when the worker asks for its next event (work after the last byte is part of a run), is dead, or has overrun."""
        assert self._api is not None
        await self._first(self._api.waiting.wait(), _overrun(invocation))
        if not self.alive:
            invocation.fail(FunctionError("Runtime.ExitError", f"the worker {self._ending()}"))
        # Lambda resets an environment whose invocation timed out
        self.stale = self.stale or invocation.expired

    async def _first(self, *awaited: Coroutine[Any, Any, object]) -> None:
        """Waits for any of them, or for the end of the process."""
        assert self._process is not None
        tasks = [asyncio.ensure_future(one) for one in (*awaited, self._process.exited.wait())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()

    def _ending(self) -> str:
        code = self._process.returncode if self._process else None
        if code is None:
            return "ended"
        return f"was killed by signal {-code}" if code < 0 else f"exited with code {code}"


async def _settled(future: asyncio.Future[FunctionError]) -> None:
    # not the future itself: cancelling a waiter must not cancel what the API will set
    await asyncio.wait({future})


async def _overrun(invocation: Invocation) -> None:
    await invocation.finished.wait()
    if not invocation.expired:
        # finished in time: the worker may still do what comes after the last byte
        await asyncio.Event().wait()
