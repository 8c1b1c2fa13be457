"""Async: the same answers, and the loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from langgraph.types import Command

from tests.functions.store.behaviour.samples import asking, line, saying
from tests.functions.store.behaviour.stores import Saver, Store
from tests.support.checkpoints import checkpoint, config
from tests.support.graphs import Compiled

AT: Any = config("t", None)


async def async_calls_give_the_same(store: Store) -> None:
    """put, put_writes, get, list and delete, each awaited."""
    async with store.async_saver() as saver:
        at, ids = config("t"), []
        for step in range(3):
            made = checkpoint({"n": step})
            at = await saver.aput(at, made, {"source": "loop", "step": step}, made["channel_versions"])
            ids.append(made["id"])
        await saver.aput_writes(at, [("ch", 1)], "task")
        found = await saver.aget_tuple(config("t"))
        assert (found.checkpoint["id"], found.checkpoint["channel_values"], found.pending_writes) == (
            ids[-1],
            {"n": 2},
            [("task", "ch", 1)],
        )
        assert [one.checkpoint["id"] async for one in saver.alist(config("t"))] == ids[::-1]
        assert [one.checkpoint["id"] async for one in saver.alist(config("t"), before=at, limit=1)] == [ids[1]]
        await saver.adelete_thread("t")
        assert await saver.aget_tuple(config("t")) is None


async def an_async_graph(store: Store) -> None:
    """Asked by one, answered by another, its history read by a third."""

    def made(saver: Saver) -> Compiled:
        return line(saver, *saying("a"), asking("ask", "?"))

    async with store.async_saver() as saver:
        await made(saver).ainvoke({"log": []}, AT)
    async with store.async_saver() as saver:
        assert [one.value for one in (await made(saver).aget_state(AT)).interrupts] == ["?"]
        assert (await made(saver).ainvoke(Command(resume="yes"), AT))["log"] == ["a", "ask: yes"]
    async with store.async_saver() as saver:
        assert len([one async for one in made(saver).aget_state_history(AT)]) == 4


async def sixteen_runs_at_once(store: Store) -> None:
    """On threads of their own through one saver: each has its own state."""
    async with store.async_saver() as saver:
        graph = line(saver, *saying("a", "b"))
        runs = (graph.ainvoke({"log": [str(n)]}, config(f"t{n}", None)) for n in range(16))
        assert [done["log"] for done in await asyncio.gather(*runs)] == [[str(n), "a", "b"] for n in range(16)]
        assert [(await graph.aget_state(config(f"t{n}", None))).values["log"][0] for n in range(16)] == [str(n) for n in range(16)]


async def no_call_on_the_loops_thread(store: Store) -> None:
    """A call that waits for DynamoDB there would hold up every other run."""
    loop, callers = threading.get_ident(), set()
    async with store.async_saver() as saver:
        for client in store.clients(saver):
            client.meta.events.register("before-send.dynamodb", lambda **_: callers.add(threading.get_ident()))
        await line(saver, *saying("a")).ainvoke({"log": []}, AT)
        assert len([one async for one in saver.alist(config("t"))]) == 3
        await saver.adelete_thread("t")
    assert loop not in callers
