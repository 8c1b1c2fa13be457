"""A run that is asked to stop ends at once: its graph is cancelled where it is, in nested graphs and side calls too.

What a step had not finished is not stored; the thread stands at its last checkpoint, and goes on from there with an empty run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl

STOP_REASON = "stop"
"""`RunControl.request_drain` reason of a run that its user stopped."""
DEADLINE, CUT_OFF = "deadline", "cut off"
"""The same of a run whose invocation ends: at a step's end, and in the midst of a step."""
DRAIN_SECONDS = 20.0
"""With less than this left before its deadline a run stops at its next step boundary; with a third, where there was no more at first."""
CUT_SHARE = 0.4
"""With this share of that left the step is cancelled: what it had not finished is not stored."""


class Stopping:
    """Of one run."""

    def __init__(self, control: RunControl) -> None:
        self._control = control
        self._run: Any = None
        self._reason: str | None = None
        self._aborting: asyncio.Task[None] | None = None

    def from_thread(self) -> Callable[[], None]:
        """Stops the run of this loop, from any thread."""
        loop = asyncio.get_running_loop()

        def stop() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self.stop, STOP_REASON)

        return stop

    def stop(self, reason: str) -> None:
        """On the run's loop. The first reason counts."""
        self._reason = self._reason or reason
        self._control.request_drain(self._reason)
        if self._run is not None and self._aborting is None:
            self._aborting = asyncio.create_task(self._run.abort())

    def of(self, run: Any) -> None:
        """What there is to cancel: LangGraph's stream of the run."""
        self._run = run
        if self._reason:
            self.stop(self._reason)

    def check(self, *, unless: bool = False) -> None:
        """Raises `GraphDrained` if the run was asked to stop. `unless`: it has ended itself."""
        if self._reason and not unless:
            raise GraphDrained(self._reason)

    @asynccontextmanager
    async def before_the_deadline(self, remaining_ms: Callable[[], int] | None, drain_seconds: float) -> AsyncIterator[None]:
        """Ends the run in time, within the block."""
        timers: list[asyncio.TimerHandle] = []
        if remaining_ms is not None:
            loop, left = asyncio.get_running_loop(), remaining_ms() / 1_000
            # an invocation that is shorter than what it keeps back would do nothing at all
            kept = drain_seconds if left > drain_seconds else left / 3
            timers.append(loop.call_later(left - kept, self._control.request_drain, DEADLINE))
            timers.append(loop.call_later(left - kept * CUT_SHARE, self.stop, CUT_OFF))
        try:
            yield
        finally:
            for timer in timers:
                timer.cancel()

    async def done(self) -> None:
        """Returns when nothing of the graph runs any more."""
        self._run = None
        if self._aborting is not None:
            await self._aborting
