"""How the local stack is told to end."""

from __future__ import annotations

import asyncio
import os
import signal

from infra.local.signals import first_of, stop_signals


async def test_a_closed_terminal_ends_it() -> None:
    """SIGHUP sets the event, and the handler before is back afterwards."""
    before = signal.getsignal(signal.SIGHUP)
    with stop_signals() as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.wait_for(first_of(stop), 5)
    assert signal.getsignal(signal.SIGHUP) == before


async def test_nohup_is_respected() -> None:
    """A SIGHUP that was ignored stays ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_signals():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


async def test_first_of_leaves_tasks_alone() -> None:
    """It returns when a task is done, or at an event, and cancels no task of the caller's."""
    forever = asyncio.create_task(asyncio.Event().wait())
    await first_of(asyncio.Event(), asyncio.create_task(asyncio.sleep(0)))
    (stop := asyncio.Event()).set()
    await first_of(stop, forever)
    assert not forever.done()
    forever.cancel()
