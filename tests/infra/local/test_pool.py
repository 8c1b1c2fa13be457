"""Workers on demand: who serves what, and who waits."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from infra.local.environment import InitFailed
from infra.local.event import HttpRequest, to_event
from infra.local.invocation import Invocation
from infra.local.pool import Limits, Pool, PoolClosed

from .conftest import Workers, eventually, kill


def event(path: str = "/", query: str = "") -> dict[str, Any]:
    return to_event(HttpRequest("GET", path, query, (("host", "127.0.0.1"),), b""))


async def answer(invocation: Invocation) -> dict[str, Any]:
    await invocation.prelude()
    found: dict[str, Any] = json.loads(b"".join([chunk async for chunk in invocation.chunks()]))
    return found


async def ask(pool: Pool, agent: str = "dev", path: str = "/", query: str = "") -> int:
    """The pid that answered."""
    _worker, invocation = await pool.invoke(agent, event(path, query))
    return int((await answer(invocation))["pid"])


@asynccontextmanager
async def running(pool: Pool) -> AsyncIterator[Pool]:
    try:
        yield pool
    finally:
        await pool.close()


async def test_a_worker_is_started_on_demand_and_used_again(workers: Workers) -> None:
    """The first event starts a worker, the next one finds it idle."""
    async with running(workers.pool(Limits(spares=0))) as pool:
        first = await ask(pool)
        assert first != os.getpid()
        assert await ask(pool) == first


async def test_a_worker_serves_one_event_at_a_time(workers: Workers) -> None:
    """Two events at once are two workers, each named by the agent it serves."""
    async with running(workers.pool(Limits(spares=0))) as pool:
        pids = await asyncio.gather(ask(pool, path="/after", query="seconds=0.3"), ask(pool, path="/after", query="seconds=0.3"))
        assert len(set(pids)) == 2


async def test_at_the_maximum_events_wait_their_turn(workers: Workers) -> None:
    """With one worker allowed, events for two agents are served one after the other, first come first served."""
    order: list[str] = []

    async def take(agent: str) -> int:
        pid = await ask(pool, agent)
        order.append(agent)
        return pid

    async with running(workers.pool(Limits(maximum=1, spares=0))) as pool:
        pids = await asyncio.gather(take("dev"), take("dev"), take("reactAgent"))
        assert order == ["dev", "dev", "reactAgent"]
        assert pids[0] == pids[1] != pids[2]


async def test_work_after_the_last_byte_keeps_the_worker(workers: Workers) -> None:
    """A worker that answered but has not asked for its next event is not idle yet."""
    async with running(workers.pool(Limits(maximum=1, spares=0))) as pool:
        busy = await ask(pool, path="/after", query="seconds=0.5")
        began = asyncio.get_running_loop().time()
        assert await ask(pool) == busy
        assert asyncio.get_running_loop().time() - began > 0.3


async def test_recycled_workers_serve_nobody_any_more(workers: Workers) -> None:
    """After a change the agent's idle worker goes at once, its busy one after its event; other agents keep theirs."""
    async with running(workers.pool(Limits(spares=0))) as pool:
        idle, other = await ask(pool), await ask(pool, "reactAgent")
        busy, invocation = await pool.invoke("dev", event("/after", "seconds=0.3"))
        assert busy.pid == idle
        pool.recycle(["dev"])
        assert (await answer(invocation))["pid"] == busy.pid
        assert await ask(pool) != busy.pid
        assert await ask(pool, "reactAgent") == other


async def test_a_spare_takes_its_agent_from_stdin(workers: Workers) -> None:
    """A spare that was started before anybody asked becomes the agent's worker."""
    async with running(workers.pool(Limits(spares=1))) as pool:
        pool.fill_spares()
        [spare] = pool._spares
        await eventually(lambda: spare.pid)
        worker, invocation = await pool.invoke("dev", event())
        assert worker is spare
        assert (await answer(invocation)) == {"pid": spare.pid, "agent": "dev"}


async def test_an_idle_worker_that_was_killed_is_replaced(workers: Workers) -> None:
    """The death is noticed, or the event is handed to another worker: its `next` was never answered, so nothing had run."""
    async with running(workers.pool(Limits(spares=0))) as pool:
        for _ in range(3):
            pid = await ask(pool)
            await kill(pid)
            assert await ask(pool) != pid


async def test_a_rested_worker_is_ended(workers: Workers) -> None:
    """A worker that was idle for its time gives back its memory."""
    async with running(workers.pool(Limits(spares=0, idle_seconds=0.1))) as pool:
        first = await ask(pool)
        await asyncio.sleep(0.6)
        assert await ask(pool) != first


async def test_a_worker_over_its_deadline_is_reset(workers: Workers) -> None:
    """As on Lambda a run that overruns ends as an error and its environment is not used again."""
    async with running(workers.pool(Limits(spares=0, timeout_ms=1_500))) as pool:
        worker, invocation = await pool.invoke("dev", event("/stream", "n=20&gap=0.2"))
        await invocation.prelude()
        with pytest.raises(Exception, match="timed out"):
            _ = [chunk async for chunk in invocation.chunks()]
        assert await ask(pool) != worker.pid


async def test_an_app_that_cannot_be_imported_is_an_error_and_not_a_loop(workers: Workers) -> None:
    """The cause reaches the caller, and the slot is free for the next event."""
    async with running(workers.pool(Limits(maximum=1, spares=0), handler="tests.infra.local.broken_app.app")) as pool:
        for _ in range(2):
            with pytest.raises(InitFailed, match="cannot be imported"):
                await pool.invoke("dev", event())


async def test_who_waits_when_it_ends_is_told(workers: Workers) -> None:
    """Closing ends the workers and refuses waiting and later events."""
    pool = workers.pool(Limits(maximum=1, spares=0))
    await pool.invoke("dev", event("/after", "seconds=5"))
    waiting = asyncio.create_task(pool.invoke("dev", event()))
    await asyncio.sleep(0.05)
    await pool.close()
    with pytest.raises(PoolClosed):
        await waiting
    with pytest.raises(PoolClosed):
        await pool.invoke("dev", event())
