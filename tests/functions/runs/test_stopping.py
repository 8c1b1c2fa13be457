"""A run that another process asks to stop: cancelled where it is, its thread free and resumable."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt

from functions.runs import turn
from functions.runs.lease import acquire
from functions.runs.live import last_holder, stop_run
from functions.store import holders, holding
from functions.store.checkpoints import DynamoDBSaver
from functions.store.errors import LeaseLost
from functions.store.holding import STOPS_WITHIN
from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import AgentThread, Json, Run, calling, resolved, single
from tests.support.checkpoints import config, put
from tests.support.dynamodb import Dynamo, Recorder

BOUND = 5.0
"""Seconds: the issue asks for 2 on a quiet machine."""


class Work:
    """Something slow, that says when it began and whether it was cancelled or done."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cancelled = self.done = 0
        self.lasts = 60.0

    async def __call__(self) -> None:
        self.begun.set()
        try:
            await asyncio.sleep(self.lasts)
            self.done += 1
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    def again_quickly(self) -> None:
        self.lasts = 0


def in_a_node(work: Work) -> Any:
    async def node(state: MessagesState) -> Json:
        await work()
        return {"messages": [AIMessage("done", id="a")]}

    return single(node)


def in_a_nested_graph(work: Work) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("inner", in_a_node(work).compile())
    graph.add_edge(START, "inner")
    return graph


def in_a_tool(work: Work) -> Any:
    @tool
    async def slow() -> str:
        """Takes long."""
        await work()
        return "result"

    async def model(state: MessagesState) -> Json:
        return {"messages": [calling(("slow", {}))]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode([slow]))
    graph.add_edge(START, "model")
    graph.add_edge("model", "tools")
    return graph


def in_a_side_call(work: Work) -> Any:
    """A graph that a tool calls on its own, and a task beside it."""

    async def node(state: MessagesState) -> Json:
        await asyncio.gather(in_a_node(work).compile().ainvoke(state), asyncio.sleep(60 if work.lasts else 0))
        return {"messages": [AIMessage("done", id="a")]}

    return single(node)


def while_a_message_streams(work: Work) -> Any:
    async def node(state: MessagesState) -> Json:
        said = await GenericFakeChatModel(messages=iter([AIMessage("some words here", id="lc")])).ainvoke(state["messages"])
        await work()
        return {"messages": [said]}

    return single(node)


PLACES: dict[str, Callable[[Work], Any]] = {
    f.__name__: f for f in (in_a_node, in_a_nested_graph, in_a_tool, in_a_side_call, while_a_message_streams)
}


async def stopped(talk: AgentThread, saver: BaseCheckpointSaver[Any], work: Work) -> tuple[Run, float]:
    """A run that is stopped while it works → its stream, and the seconds it took."""
    running = asyncio.create_task(talk.say("go"))
    await asyncio.wait_for(work.begun.wait(), 20)
    since = time.monotonic()
    told = await stop_run(saver, talk.id)
    assert told is not None
    assert told.live
    run = await asyncio.wait_for(running, 20)
    return run, time.monotonic() - since


@pytest.mark.parametrize("version", ["1.0", None])
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
async def test_a_run_stops_where_it_is(
    saver: BaseCheckpointSaver[Any], thread: NewThread, place: Callable[[Work], Any], version: str | None
) -> None:
    """What works is cancelled, what is open is closed, the thread is free, and an empty run goes on from its last finished step."""
    work = Work()
    talk = thread(place(work), saver=saver, version=version)
    run, seconds = await stopped(talk, saver, work)
    assert run.outcome == ("cancelled" if version else "STOPPED")
    assert (work.cancelled, work.done) == (1, 0)
    assert seconds < BOUND
    print(f"{place.__name__}: stopped after {seconds:.2f} s")
    await (await acquire(saver, talk.id, run_id="free")).release()
    work.again_quickly()
    assert (await talk.run(messages=[])).outcome == "success"
    assert work.done == 1
    assert (await talk.stored())[-1].text == (
        "result" if place is in_a_tool else "some words here" if place is while_a_message_streams else "done"
    )


async def test_code_in_a_thread_of_its_own(saver: BaseCheckpointSaver[Any], thread: NewThread) -> None:
    """Nothing can cancel it: the run ends all the same, and what it returns is dropped."""
    begun, go, ended = threading.Event(), threading.Event(), threading.Event()

    def node(state: MessagesState) -> Json:
        begun.set()
        go.wait(30)
        ended.set()
        return {"messages": [AIMessage("late", id="a")]}

    talk = thread(single(node), saver=saver)
    running = asyncio.create_task(talk.say("go"))
    await asyncio.to_thread(begun.wait, 20)
    await stop_run(saver, talk.id)
    assert (await asyncio.wait_for(running, 20)).outcome == "cancelled"
    go.set()
    await asyncio.to_thread(ended.wait, 20)
    await asyncio.sleep(0.2)
    assert [message.text for message in await talk.stored()] == ["go"]


async def test_a_stopped_run_takes_the_next_message(saver: BaseCheckpointSaver[Any], thread: NewThread) -> None:
    """Not only an empty one: a tool that was stopped has an error for its result."""
    work = Work()
    talk = thread(in_a_tool(work), saver=saver)
    await stopped(talk, saver, work)
    work.again_quickly()
    run = await talk.say("something else")
    assert run.outcome == "success"
    assert [m["role"] for m in run.snapshot] == ["user", "assistant", "tool", "user", "assistant", "tool"]


async def test_a_thread_that_waits_has_nothing_to_stop(saver: BaseCheckpointSaver[Any], thread: NewThread) -> None:
    """Nor has one that nobody ever ran; the question stays open."""

    async def asks(state: MessagesState) -> Json:
        return {"messages": [AIMessage(str(interrupt("Well?")), id="a")]}

    talk = thread(single(asks), saver=saver)
    assert await stop_run(saver, talk.id) is None
    question = await talk.say("go")
    held = await stop_run(saver, talk.id)
    assert held is None or not held.live
    assert (await talk.answer(resolved(question.interrupts[0]["id"], "yes"))).outcome == "success"


async def test_another_run_is_not_stopped(saver: BaseCheckpointSaver[Any], thread: NewThread) -> None:
    """Who names a run stops that one alone; asking twice is asking once."""
    work = Work()
    talk = thread(in_a_node(work), saver=saver)
    running = asyncio.create_task(talk.say("go"))
    await asyncio.wait_for(work.begun.wait(), 20)
    other = await stop_run(saver, talk.id, "other")
    assert other is not None
    assert other.live
    await asyncio.sleep(1.5)
    assert not running.done()
    for _ in range(2):
        assert await stop_run(saver, talk.id, other.run_id) == await last_holder(saver, talk.id) or not running.done()
    assert (await running).outcome == "cancelled"


async def test_a_stop_before_the_graph_begins(saver: BaseCheckpointSaver[Any], thread: NewThread, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run ends without a step; its message goes with the next one."""
    work = Work()
    work.lasts = 0
    talk = thread(in_a_node(work), saver=saver)
    planned, go = asyncio.Event(), asyncio.Event()
    plan = turn.plan_turn

    async def slowly(*args: Any) -> Any:
        planned.set()
        await go.wait()
        return await plan(*args)

    monkeypatch.setattr("functions.runs.orchestrator.plan_turn", slowly)
    running = asyncio.create_task(talk.say("go"))
    await planned.wait()
    assert await stop_run(saver, talk.id) is not None
    await asyncio.sleep(1.5)
    go.set()
    assert (await running).outcome == "cancelled"
    assert not work.begun.is_set()
    assert (await talk.run()).outcome == "success"


async def test_a_dead_run_frees_its_thread_sooner(table: DynamoDBSaver) -> None:
    """Its process does not answer: a lease of minutes ends in seconds, and what it had is taken over."""
    dead = await acquire(table, "t", run_id="dead", seconds=600)
    told = await stop_run(table, "t")
    assert told is not None
    assert told.seconds > STOPS_WITHIN
    left = await last_holder(table, "t")
    assert left is not None
    assert 0 < left.seconds <= STOPS_WITHIN
    await dead.release()


async def test_a_live_run_keeps_its_thread_while_it_ends(table: DynamoDBSaver) -> None:
    """Its lease was cut short, and it renews that as soon as it sees why."""
    lease = await acquire(table, "t", run_id="r", seconds=600)
    stops = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_stop() -> None:
        loop.call_soon_threadsafe(stops.set)

    lease.beat(lambda: None, on_stop)
    await stop_run(table, "t")
    await asyncio.wait_for(stops.wait(), 10)
    await asyncio.sleep(0.5)
    held = await last_holder(table, "t")
    assert held is not None
    assert held.seconds > STOPS_WITHIN
    await lease.release()


async def test_a_holder_that_could_not_look_asks_before_it_goes_on(table: DynamoDBSaver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lease may have been cut short: it writes when it has that renewed, and never beside a run that has come meanwhile."""
    monkeypatch.setattr(holding, "UNSEEN", 0.1)
    monkeypatch.setattr(holders, "STOPS_WITHIN", 0.3)
    for others, is_lost in (([], False), (["next"], True)):
        lease = await acquire(table, "t", run_id="r", seconds=600)  # it does not beat, so it does not look either
        await stop_run(table, "t")
        await asyncio.sleep(0.4)
        taken = [await acquire(table, "t", run_id=other) for other in others]
        with pytest.raises(LeaseLost) if is_lost else nullcontext():
            put(lease.checkpointer, config("t"))
        held = await last_holder(table, "t")
        assert held is not None
        assert held.run_id == (others or ["r"])[0]
        assert held.seconds > 0.3
        for one in taken or [lease]:
            await one.release()


async def test_a_look_that_hangs_holds_up_no_beat(dynamo: Dynamo) -> None:
    """A lease of a second and a half is still there after three."""
    client, go_on = dynamo.fresh_client(), threading.Event()
    lease = await acquire(DynamoDBSaver(dynamo.checkpoints, client=client), "t", run_id="r", seconds=1.5)

    def hang(**_: Any) -> None:
        go_on.wait(20)

    client.meta.events.register("before-send.dynamodb.GetItem", hang)
    lease.beat(lambda: None, lambda: None)
    await asyncio.sleep(3)
    held = await last_holder(DynamoDBSaver(dynamo.checkpoints, client=dynamo.client), "t")
    go_on.set()
    await lease.release()
    assert held is not None
    assert (held.run_id, held.live) == ("r", True)


async def test_a_look_is_one_small_read_a_second(dynamo: Dynamo) -> None:
    """Eventually consistent, and none in a run that is shorter."""
    client = dynamo.fresh_client()
    table = DynamoDBSaver(dynamo.checkpoints, client=client)
    lease = await acquire(table, "t", run_id="r")
    seen = Recorder(client)
    lease.beat(lambda: None, lambda: None)
    await asyncio.sleep(0.5)
    assert seen.operations == []
    await asyncio.sleep(2)
    assert 1 <= len(seen.reads) <= 2
    assert all("ConsistentRead" not in request and request["ProjectionExpression"] for request in seen.reads)
    await lease.release()
