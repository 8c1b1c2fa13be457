"""How a person ends the local stack."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# a closed terminal, under its name on each system
if sys.platform == "win32":
    _MORE = [signal.SIGBREAK]
else:
    _MORE = [signal.SIGHUP]


@contextmanager
def stop_signals() -> Iterator[asyncio.Event]:
    """An event that SIGINT, SIGTERM and a closed terminal set. The second signal ends the process at once; the leash ends the rest."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()

    def on_signal(number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            os._exit(128 + number)
        loop.call_soon_threadsafe(stop.set)

    # `signal.signal`, as Windows' loops have no `add_signal_handler`
    numbers = [signal.SIGINT, signal.SIGTERM, *_MORE]
    before = {number: signal.signal(number, on_signal) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


async def first_of(*events: asyncio.Event) -> None:
    """Returns when any of them is set."""
    tasks = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
