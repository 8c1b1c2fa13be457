"""Requests that meet on one thread, on moto. `RACES=50` runs each race fifty times (results/races.txt); here it is a few."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from functions.runs.lease import RunInProgress, acquire
from functions.store.checkpoints import DynamoDBSaver
from functions.store.errors import LeaseLost
from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import AgentThread, Json, Run, resolved
from tests.support.checkpoints import checkpoint, config
from tests.support.dynamodb import Dynamo

REPEATS = int(os.environ.get("RACES", "4"))
BUSY = "RUN_IN_PROGRESS"


class Payments:
    """Asks before it pays, twice. `paid` is what the tool did."""

    def __init__(self) -> None:
        self.paid: list[Any] = []

    def graph(self) -> StateGraph[Any, Any, Any, Any]:
        graph = StateGraph(MessagesState)
        graph.add_sequence([self.first, self.second])
        graph.add_edge(START, "first")
        return graph

    async def first(self, state: MessagesState) -> Json:
        return await self._pay("first", interrupt("Pay the first?"))

    async def second(self, state: MessagesState) -> Json:
        return await self._pay("second", interrupt("Pay the second?"))

    async def _pay(self, which: str, answer: Any) -> Json:
        await asyncio.sleep(0.002)
        self.paid.append((which, answer))
        return {"messages": [AIMessage(f"{which}: {answer}", id=which)]}


async def asked(payments: Payments, dynamo: Dynamo, thread: NewThread, **settings: Any) -> tuple[AgentThread, str]:
    """A thread at its first question."""
    talk = thread(payments.graph(), saver=DynamoDBSaver(dynamo.checkpoints, client=dynamo.client), **settings)
    (question,) = (await talk.say("go")).interrupts
    return talk, question["id"]


def counted(runs: list[Run]) -> Counter[str]:
    return Counter(run.outcome for run in runs)


async def test_eight_clicks(dynamo: Dynamo, thread: NewThread) -> None:
    """The same answer eight times at once: the tool runs once; the others are told that the run is going, or how the thread stands."""
    for _ in range(REPEATS):
        payments = Payments()
        talk, question = await asked(payments, dynamo, thread)
        runs = await asyncio.gather(*(talk.answer(resolved(question, "yes")) for _ in range(8)))
        assert payments.paid == [("first", "yes")]
        assert counted(runs).keys() <= {"interrupt", BUSY}
        assert counted(runs)["interrupt"] >= 1


async def test_approve_and_reject(dynamo: Dynamo, thread: NewThread) -> None:
    """One wins, and is what the tool hears; the other gets a 409, whether it comes while the run goes or after it."""
    for _ in range(REPEATS):
        payments = Payments()
        talk, question = await asked(payments, dynamo, thread)
        yes, no = await asyncio.gather(talk.answer(resolved(question, "yes")), talk.answer(resolved(question, "no")))
        winner, loser, said = (yes, no, "yes") if yes.outcome == "interrupt" else (no, yes, "no")
        assert (winner.outcome, payments.paid) == ("interrupt", [("first", said)])
        assert loser.outcome in (BUSY, "ALREADY_ANSWERED")
        late = await talk.answer(resolved(question, "no" if said == "yes" else "yes"))
        assert (late.outcome, payments.paid) == ("ALREADY_ANSWERED", [("first", said)])


async def test_a_second_click_while_the_next_question_waits(dynamo: Dynamo, thread: NewThread) -> None:
    """It answers nothing: the next question stays open."""
    for _ in range(REPEATS):
        payments = Payments()
        talk, question = await asked(payments, dynamo, thread)
        (following,) = (await talk.answer(resolved(question, "yes"))).interrupts
        clicks = await asyncio.gather(*(talk.answer(resolved(question, "yes")) for _ in range(2)))
        assert counted(clicks).keys() <= {"interrupt", BUSY}
        (open_now,) = (await talk.run()).interrupts
        assert (open_now["id"], payments.paid) == (following["id"], [("first", "yes")])


@pytest.mark.parametrize("wait", [0.0, 20.0])
async def test_two_messages(wait: float, dynamo: Dynamo, thread: NewThread) -> None:
    """One runs, the other is told so and is not half taken in; a caller who asked to wait runs after it, and neither is lost."""

    async def answer(state: MessagesState) -> Json:
        await asyncio.sleep(0.002)
        return {"messages": [AIMessage("ok", id=f"ok{len(state['messages'])}")]}

    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    for _ in range(REPEATS):
        saver = DynamoDBSaver(dynamo.checkpoints, client=dynamo.client)
        talk = thread(graph, saver=saver, wait_seconds=wait)
        sent = [[{"id": text, "role": "user", "content": text}] for text in ("a", "b")]
        runs = await asyncio.gather(*(talk.run(messages=messages) for messages in sent))
        said = [m.text for m in await talk.stored()]
        if wait:
            assert (counted(runs), sorted(said)) == ({"success": 2}, ["a", "b", "ok", "ok"])
        elif counted(runs) == {"success": 1, BUSY: 1}:
            assert said in (["a", "ok"], ["b", "ok"])
        else:  # the first had ended before the second began
            assert (counted(runs), sorted(said)) == ({"success": 2}, ["a", "b", "ok", "ok"])


async def test_a_retry_of_the_same_request(dynamo: Dynamo, thread: NewThread) -> None:
    """At once and afterwards, with a key: one run."""
    for _ in range(REPEATS):
        payments = Payments()
        talk, question = await asked(payments, dynamo, thread)
        talk.settings["idempotency_key"] = "the click"
        runs = await asyncio.gather(*(talk.answer(resolved(question, "yes")) for _ in range(4)))
        assert (counted(runs), payments.paid) == ({"interrupt": 1, BUSY: 3}, [("first", "yes")])


async def test_an_expired_lease(dynamo: Dynamo) -> None:
    """Of eight runs that find it over one takes the thread over; the old holder's write fails, and is not in the thread."""
    for number in range(REPEATS):
        saver = DynamoDBSaver(dynamo.checkpoints, client=dynamo.client)
        at, own = config(f"t{number}"), checkpoint({"n": "old"})
        old = await acquire(saver, f"t{number}", run_id="old", seconds=0.001)
        await asyncio.sleep(0.005)
        taken = await asyncio.gather(*(acquire(saver, f"t{number}", run_id=f"new {n}") for n in range(8)), return_exceptions=True)
        (new,) = (lease for lease in taken if not isinstance(lease, BaseException))
        refused = {type(error) for error in taken if isinstance(error, BaseException)}
        assert (new.dead, new.fence, refused) == (frozenset({"old"}), 2, {RunInProgress})
        with pytest.raises(LeaseLost):
            await old.checkpointer.aput(at, own, {}, {})
        assert await saver.aget_tuple(at) is None
