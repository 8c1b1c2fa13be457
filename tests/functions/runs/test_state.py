"""The state a client sees, and what nodes write beside it."""

from __future__ import annotations

import operator
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import MessagesState
from typing_extensions import TypedDict

from graphs.stream import write_agui_assistant_text, write_agui_event
from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import Json, single


class Odd(TypedDict):
    messages: Annotated[list[Any], operator.add]
    thing: Any


async def test_state_that_is_not_json(thread: NewThread) -> None:
    """Shown by the one rule; messages are never part of it; a state without ids has messages with ids."""

    async def node(state: Odd) -> Json:
        return {"thing": {"f": float("nan"), "s": {1}, "o": ValueError("x")}, "messages": [HumanMessage("h"), AIMessage("a")]}

    run = await thread(single(node, Odd)).say("go")
    assert run.state == {"thing": {"f": None, "s": [1], "o": "ValueError('x')"}}


class Counter(MessagesState):
    count: int
    secret: str


async def test_public_state(thread: NewThread) -> None:
    """Only the named keys; what the client set is taken; equal to what the client has it is not sent."""

    async def node(state: Counter) -> Json:
        return {"count": state.get("count", 0) + 1, "secret": "s"}

    talk = thread(single(node, Counter), state_keys=("count",))
    assert (await talk.say("go", state={"count": 4, "secret": "mine"})).state == {"count": 5}
    assert (await talk.say("go", state={"count": 5})).state == {"count": 6}
    assert (await talk.say("go", state={"count": 6})).state == {"count": 7}

    async def still(state: Counter) -> Json:
        return {}

    run = await thread(single(still, Counter), state_keys=("count",)).say("go", state={"count": 4})
    assert run.of("STATE_SNAPSHOT") == []


async def test_the_state_comes_before_its_first_delta(thread: NewThread) -> None:
    """A patch is a patch of something both sides have; the run ends with the whole state again."""

    async def node(state: Counter) -> Json:
        for value in (1, 2):
            write_agui_event({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/count", "value": value}]})
        return {"count": 2}

    run = await thread(single(node, Counter), state_keys=("count",)).say("go")
    assert [e["type"] for e in run.events if e["type"].startswith("STATE")] == [
        "STATE_SNAPSHOT",
        "STATE_DELTA",
        "STATE_DELTA",
        "STATE_SNAPSHOT",
    ]
    assert run.of("STATE_SNAPSHOT")[0]["snapshot"] == {}
    assert run.state == {"count": 2}


async def test_native_run_finished(thread: NewThread, caplog: pytest.LogCaptureFixture) -> None:
    """It ends the stream, under the run's own ids; the graph goes on unseen, even if it fails then."""

    async def node(state: MessagesState) -> Json:
        write_agui_event({"type": "TEXT_MESSAGE_START", "messageId": "n", "role": "assistant"})
        write_agui_event({"type": "RUN_FINISHED", "threadId": "other", "runId": "other", "outcome": {"type": "success"}})
        write_agui_assistant_text("late")
        raise RuntimeError("late")

    run = await thread(single(node)).say("go")
    assert run.types[-3:] == ["TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_FINISHED"]
    assert "not sent" not in caplog.text


@pytest.mark.parametrize(
    ("outcome", "version", "sent"),
    [
        (None, "1.0", None),
        ({"type": "cancelled"}, "1.0", {"type": "cancelled"}),
        ({"type": "cancelled"}, None, "STOPPED"),
        ({"type": "success", "pendingToolCallIds": ["guessed"]}, "1.0", {"type": "success"}),
        ({"type": "success", "pendingToolCallIds": ["guessed"]}, None, {"type": "success"}),
    ],
)
async def test_a_native_end_in_words_the_client_knows(outcome: Any, version: str | None, sent: Any, thread: NewThread) -> None:
    """A node does not know what the client understands, nor what is pending."""

    async def node(state: MessagesState) -> Json:
        write_agui_event({"type": "RUN_FINISHED", "threadId": "x", "runId": "y", "outcome": outcome})
        return {}

    run = await thread(single(node), version=version).say("go")
    assert run.end.get("outcome", run.end.get("code")) == sent


async def test_a_note_beside_the_model(thread: NewThread) -> None:
    """The writer's text is transient: streamed, not stored."""

    async def node(state: MessagesState) -> Json:
        write_agui_assistant_text(" working… ")
        return {"messages": [AIMessage("done", id="m")]}

    run = await thread(single(node)).say("go", transient=["working…"])
    assert [m["content"] for m in run.snapshot] == ["go", "done"]
    assert run.text == "working…done"
