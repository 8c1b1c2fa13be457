"""A run that is asked to stop ends at once: its graph is cancelled where it is, in nested graphs and side calls too.

What a step had not finished is not stored; the thread stands at its last checkpoint, and goes on from there with an empty run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl

STOP_REASON = "stop"
"""`RunControl.request_drain` reason of a run that its user stopped."""


class Stopping:
    """Of one run."""

    def __init__(self, control: RunControl) -> None:
        self._control = control
        self._run: Any = None
        self._asked = False
        self._aborting: asyncio.Task[None] | None = None

    def from_thread(self) -> Callable[[], None]:
        """Stops the run of this loop, from any thread."""
        loop = asyncio.get_running_loop()

        def stop() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._stop)

        return stop

    def _stop(self) -> None:
        self._asked = True
        self._control.request_drain(STOP_REASON)
        if self._run is not None and self._aborting is None:
            self._aborting = asyncio.create_task(self._run.abort())

    def of(self, run: Any) -> None:
        """What there is to cancel: LangGraph's stream of the run."""
        self._run = run
        if self._asked:
            self._stop()

    def check(self, *, unless: bool = False) -> None:
        """Raises `GraphDrained` if the run was asked to stop. `unless`: it has ended itself."""
        if self._asked and not unless:
            raise GraphDrained(STOP_REASON)

    async def done(self) -> None:
        """Returns when nothing of the graph runs any more."""
        self._run = None
        if self._aborting is not None:
            await self._aborting
