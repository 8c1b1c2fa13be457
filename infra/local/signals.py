"""How a person ends the local stack."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

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
    # under nohup a closed terminal is ignored, and stays ignored
    numbers = [signal.SIGINT, signal.SIGTERM, *(number for number in _MORE if signal.getsignal(number) != signal.SIG_IGN)]
    before = {number: signal.signal(number, on_signal) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


async def first_of(*awaited: asyncio.Event | asyncio.Task[Any]) -> None:
    """Returns when any of the events is set or any of the tasks is done; the tasks go on."""
    events = [asyncio.create_task(one.wait()) for one in awaited if isinstance(one, asyncio.Event)]
    tasks = [one for one in awaited if isinstance(one, asyncio.Task)]
    try:
        await asyncio.wait([*events, *tasks], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for event in events:
            event.cancel()
