"""One run per thread: who has it, how long, and what becomes of a run that loses it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import Any

import pytest
from ag_ui.core import BaseEvent, EventType
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import MessagesState
from langgraph.types import interrupt

from functions.runs import AgentRun, stream_graph_agui_events
from functions.runs.answers import answer_digest
from functions.runs.lease import RunInProgress, acquire
from functions.store.checkpoints import DynamoDBSaver
from functions.store.claims import Claim
from functions.store.errors import LeaseLost, ThreadBusy
from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import AgentThread, Json, resolved, single
from tests.support.checkpoints import checkpoint, config


class Gate:
    """A graph whose node waits until it is let go, or asks first."""

    def __init__(self, *, asks: bool = False) -> None:
        self.entered, self.open = asyncio.Event(), asyncio.Event()
        self.asks = asks
        self.runs = 0

    async def node(self, state: MessagesState) -> Json:
        said = interrupt("Well?") if self.asks else "done"
        self.runs += 1
        self.entered.set()
        await self.open.wait()
        return {"messages": [AIMessage(f"{said}", id=f"m{self.runs}")]}

    @property
    def graph(self) -> Any:
        return single(self.node)


def running(talk: AgentThread, run_id: str, **fields: Any) -> AsyncGenerator[BaseEvent, None]:
    given = talk.input(run_id, messages=[{"id": run_id, "role": "user", "content": "go"}], **fields)
    return stream_graph_agui_events(given, talk.compiled(), agent="test", **talk.settings)


async def all_of(stream: AsyncGenerator[BaseEvent, None]) -> list[BaseEvent]:
    return [event async for event in stream]


# busy


async def test_a_busy_thread_says_whose_it_is(saver: BaseCheckpointSaver[Any], thread: NewThread) -> None:
    """The second run changes nothing; when the first has ended, the thread is free."""
    gate = Gate()
    talk = thread(gate.graph, saver=saver)
    first = asyncio.create_task(all_of(running(talk, "first")))
    await gate.entered.wait()
    with pytest.raises(RunInProgress) as busy:
        await acquire(saver, talk.id, run_id="second")
    assert busy.value.run_id == "first"
    refused = (await all_of(running(talk, "second")))[-1]
    assert (refused.type, getattr(refused, "code", None)) == (EventType.RUN_ERROR, "RUN_IN_PROGRESS")
    gate.open.set()
    await first
    assert ([m.text for m in await talk.stored()], gate.runs) == (["go", "done"], 1)
    await (await acquire(saver, talk.id, run_id="third")).release()


async def test_other_threads_are_free(saver: BaseCheckpointSaver[Any]) -> None:
    """A lease is one thread's."""
    one, other = await acquire(saver, "one", run_id="r"), await acquire(saver, "other", run_id="r")
    assert (one.fence, other.fence) == (1, 1)
    await one.release()
    await other.release()


async def test_a_caller_who_asked_to_wait_gets_its_turn(saver: BaseCheckpointSaver[Any], thread: NewThread) -> None:
    """It starts when the thread is free, and knows then what the first run has done."""
    gate = Gate()
    talk = thread(gate.graph, saver=saver, wait_seconds=20)
    first = asyncio.create_task(all_of(running(talk, "first")))
    await gate.entered.wait()
    second = asyncio.create_task(all_of(running(talk, "second")))
    await asyncio.sleep(0.1)
    assert gate.runs == 1
    gate.open.set()
    assert [events[-1].type for events in await asyncio.gather(first, second)] == [EventType.RUN_FINISHED] * 2
    assert [m.text for m in await talk.stored()] == ["go", "done", "go", "done"]


async def test_the_thread_is_free_when_the_client_reads_the_end(saver: BaseCheckpointSaver[Any], thread: NewThread) -> None:
    """Whoever answers at the very moment of RUN_FINISHED is not told that the run is still going."""
    gate = Gate()
    gate.open.set()
    talk = thread(gate.graph, saver=saver)
    async with aclosing(running(talk, "first")) as stream:
        async for event in stream:
            if event.type is EventType.RUN_FINISHED:
                await (await acquire(saver, talk.id, run_id="second")).release()


@pytest.mark.parametrize("how", ["rejected", "failed", "closed"])
async def test_a_run_that_goes_wrong_gives_the_thread_back(how: str, saver: BaseCheckpointSaver[Any], thread: NewThread) -> None:
    """Its input meant nothing, its node raised, or its reader went away in the middle."""

    async def node(state: MessagesState) -> Json:
        if how == "failed":
            raise ValueError
        await asyncio.sleep(0.2)
        return {}

    talk = thread(single(node), saver=saver)
    given = talk.input("first", messages=[] if how == "rejected" else [{"id": "u", "role": "user", "content": "go"}])
    async with aclosing(stream_graph_agui_events(given, talk.compiled(), agent="test")) as stream:
        async for event in stream:
            if how == "closed" and event.type is EventType.STEP_STARTED:
                break
    await (await acquire(saver, talk.id, run_id="second")).release()


@pytest.mark.parametrize("how", ["read to its start", "not read"])
async def test_a_run_that_was_prepared_and_closed(how: str, saver: BaseCheckpointSaver[Any], thread: NewThread) -> None:
    """The request was cancelled before the run had begun: the thread is free at once."""
    talk = thread(Gate().graph, saver=saver)
    run = AgentRun(talk.input("first", messages=[{"id": "u", "role": "user", "content": "go"}]), talk.compiled(), agent="test")
    await run.prepare()
    async with aclosing(run.events()) as events:
        if how == "read to its start":
            await anext(events)
    await run.close()
    lease = await acquire(saver, talk.id, run_id="second")
    assert lease.dead == frozenset()
    await lease.release()


async def test_what_a_run_leaves_in_a_thread_does_not_go_on(table: DynamoDBSaver) -> None:
    """Its saver writes nothing after the lease was given back: the next run has the thread."""
    first = await acquire(table, "t", run_id="first")
    await first.release()
    second = await acquire(table, "t", run_id="second")
    with pytest.raises(LeaseLost):
        await first.checkpointer.aput(config("t"), checkpoint({"n": "left over"}), {}, {})
    assert await table.aget_tuple(config("t")) is None
    await second.release()


async def test_a_run_that_never_began_ends_by_itself(saver: BaseCheckpointSaver[Any]) -> None:
    """Prepared, and then its client was gone."""
    await acquire(saver, "t", run_id="first", seconds=0.2)
    await (await acquire(saver, "t", run_id="second", wait=5)).release()


# beating


async def test_it_beats_while_the_loop_is_blocked(table: DynamoDBSaver, thread: NewThread) -> None:
    """A node that blocks the event loop for three times the lease keeps its thread: another process that tries near its end is refused."""
    refused: list[BaseException | None] = []

    def take_later() -> None:
        time.sleep(1.3)
        table.leases.take(table.partition(talk.id), "other", 30)

    async def node(state: MessagesState) -> Json:
        with ThreadPoolExecutor(1) as elsewhere:
            refused.append(elsewhere.submit(take_later).exception())  # waits, on the loop
        return {"messages": [AIMessage("done", id="m")]}

    talk = thread(single(node), saver=table, lease_seconds=0.5)
    assert (await talk.say("go")).outcome == "success"
    assert [type(error) for error in refused] == [ThreadBusy]


async def test_a_run_that_lost_its_thread_writes_nothing(table: DynamoDBSaver, thread: NewThread, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its beat learns of it, or its next write; it ends in an error, and the thread is what the new run made of it."""
    gate = Gate()
    talk = thread(gate.graph, saver=table, lease_seconds=0.3)
    monkeypatch.setattr("functions.runs.lease.BEATS", 0.001)  # frozen: no sign of life
    first = asyncio.create_task(all_of(running(talk, "first")))
    await gate.entered.wait()
    second = await acquire(table, talk.id, run_id="second", wait=5)
    assert second.dead == {"first"}
    gate.open.set()
    end = (await first)[-1]
    assert (end.type, getattr(end, "code", None)) == (EventType.RUN_ERROR, "LEASE_LOST")
    assert [m.text for m in await talk.stored()] == ["go"]
    await second.release()


async def test_a_beat_that_learns_of_it_stops_the_run(table: DynamoDBSaver, thread: NewThread) -> None:
    """It does not go on to its next step."""
    gate = Gate()
    talk = thread(gate.graph, saver=table, lease_seconds=0.3)
    first = asyncio.create_task(all_of(running(talk, "first")))
    await gate.entered.wait()
    table._table.delete(table.partition(talk.id), "l!")
    second = await acquire(table, talk.id, run_id="second")
    await asyncio.sleep(0.3)
    gate.open.set()
    assert getattr((await first)[-1], "code", None) == "LEASE_LOST"
    await second.release()


async def test_a_run_that_loses_its_thread_before_it_begins(table: DynamoDBSaver, thread: NewThread) -> None:
    """Prepared while it still had the thread, frozen, and then read: it ends in that error, and does not begin again under a new lease."""
    gate = Gate()
    gate.open.set()
    talk = thread(gate.graph, saver=table)
    run = AgentRun(talk.input("first", messages=[{"id": "u", "role": "user", "content": "go"}]), talk.compiled(), agent="test")

    async def taken_over(*_: Any) -> Any:
        raise LeaseLost

    run._plan = taken_over  # type: ignore[method-assign]  # the moment of the freeze
    with pytest.raises(LeaseLost):
        await run.prepare()
    del run._plan
    events = [event async for event in run.events()]
    assert (getattr(events[-1], "code", None), gate.runs) == ("LEASE_LOST", 0)


async def test_it_never_outlives_the_deadline(table: DynamoDBSaver) -> None:
    """Nobody gives it back after that: 5 s past the deadline the thread is free."""
    await acquire(table, "t", run_id="first", seconds=30, remaining_ms=lambda: 2_000)
    with pytest.raises(RunInProgress) as busy:
        await acquire(table, "t", run_id="second")
    assert isinstance(busy.value.__cause__, ThreadBusy)
    assert 6 < busy.value.__cause__.seconds <= 7


# claims


async def test_an_answer_is_kept_when_its_run_dies_before_the_graph_hears_it(table: DynamoDBSaver, thread: NewThread) -> None:
    """Claimed, then killed: another answer is too late, and whatever comes next goes on with the first."""
    gate = Gate(asks=True)
    gate.open.set()
    talk = thread(gate.graph, saver=table)
    (question,) = (await talk.say("go")).interrupts
    dying = await acquire(table, talk.id, run_id="dying", seconds=0.01)
    given = talk.input(resume=[resolved(question["id"], "yes")])
    assert given.resume
    await dying.claim({question["id"]: Claim(answer_digest(given.resume[0]), "yes")})
    await asyncio.sleep(0.02)
    assert (await talk.answer(resolved(question["id"], "no"))).outcome == "ALREADY_ANSWERED"
    assert (await talk.say("hello?")).outcome == "success"
    assert [m.text for m in await talk.stored()] == ["go", "yes"]


@pytest.mark.parametrize("payload", ["yes", "", 0, False, None, {"a": [1, "ü"]}, "x" * 400_000])
async def test_a_claimed_answer_is_heard_as_it_was(payload: Any, table: DynamoDBSaver) -> None:
    """Whatever its type and size."""
    lease = await acquire(table, "t", run_id="first")
    assert await lease.claim({"q": Claim("d", payload)}) == []
    assert await lease.claim({"q": Claim("other", payload), "r": Claim("d", 1)}) == ["q"]
    assert await lease.claim({"q": Claim("d", payload)}) == []
    assert await lease.answers(["q", "r", "s"]) == {"q": Claim("d", payload), "r": Claim("d", 1)}


async def test_an_answer_long_ago(table: DynamoDBSaver, thread: NewThread) -> None:
    """However many runs later: the same again changes nothing, another is refused."""
    gate = Gate(asks=True)
    gate.open.set()
    talk = thread(gate.graph, saver=table)
    (question,) = (await talk.say("go")).interrupts
    await talk.answer(resolved(question["id"], "yes"))
    for _ in range(3):
        (later,) = (await talk.say("again")).interrupts
        await talk.answer(resolved(later["id"], "yes"))
    assert (await talk.answer(resolved(question["id"], "yes"))).outcome == "success"
    assert (await talk.answer(resolved(question["id"], "no"))).outcome == "ALREADY_ANSWERED"
    assert gate.runs == 4


# the same request again


async def test_the_same_request_starts_one_run(saver: BaseCheckpointSaver[Any], thread: NewThread) -> None:
    """While it runs and after it, the repetition is told which run that is. Another key is another request."""
    gate = Gate()
    gate.open.set()
    talk = thread(gate.graph, saver=saver, idempotency_key="k1")
    assert (await talk.say("go", run_id="first")).outcome == "success"
    again = await talk.say("go", run_id="second")
    assert (again.outcome, "first" in again.end["message"], gate.runs) == ("RUN_IN_PROGRESS", True, 1)
    talk.settings["idempotency_key"] = "k2"
    assert (await talk.run()).outcome == "success"


async def test_the_retry_of_a_request_whose_run_died(table: DynamoDBSaver, thread: NewThread) -> None:
    """That is what the retry is for: it goes on with the work."""
    gate = Gate()
    gate.open.set()
    talk = thread(gate.graph, saver=table, idempotency_key="k1")
    dying = await acquire(table, talk.id, run_id="dying", seconds=0.01)
    await dying.started("k1")
    await asyncio.sleep(0.02)
    assert (await talk.say("go")).outcome == "success"


async def test_a_request_that_was_refused_is_not_used_up(saver: BaseCheckpointSaver[Any], thread: NewThread) -> None:
    """Its input meant nothing, so it has started nothing."""
    gate = Gate()
    gate.open.set()
    talk = thread(gate.graph, saver=saver, idempotency_key="k1")
    assert (await talk.run()).outcome == "BAD_INPUT"
    assert (await talk.say("go")).outcome == "success"
