"""Turns on a history of which checkpoints hold only what was added, on both savers: what `test_turns` claims of LangGraph's own state."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.messages.tool import tool_call_chunk
from langgraph.checkpoint.base import BaseCheckpointSaver

from functions.store.checkpoints import DynamoDBSaver
from graphs.catalog import AGENTS, Deps
from graphs.messages import DeltaMessagesState
from graphs.models import ScriptedModel
from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import Json, calling, resolved, single

SHOW: Json = {"name": "show", "description": "s", "parameters": {"type": "object"}}


def agent(*turns: Any) -> Any:
    return AGENTS["reactAgent"].build(Deps(ScriptedModel(turns=list(turns))))


def contents(messages: list[Any]) -> list[str]:
    return [m.get("content", "") if isinstance(m, dict) else m.text for m in messages]


async def test_edit_and_regenerate(thread: NewThread, saver: BaseCheckpointSaver[Any]) -> None:
    """A fork sees its own path only, and so does what is said on it afterwards."""
    talk = thread(agent("one", "two", "three", "four", "five"), saver=saver)
    for text in ("a", "b"):
        await talk.say(text)
    talk.messages[2] = {**talk.messages[2], "content": "edited"}
    assert contents((await talk.run()).snapshot) == ["a", "one", "edited", "three"]
    talk.messages = talk.messages[:3]
    assert contents((await talk.run()).snapshot) == contents(await talk.stored()) == ["a", "one", "edited", "four"]
    assert contents((await talk.say("c")).snapshot) == ["a", "one", "edited", "four", "c", "five"]
    talk.messages = [{**talk.messages[0], "content": "first"}]
    await talk.run()
    assert contents(await talk.stored())[0] == "first"


async def test_a_question_and_a_frontend_tool(thread: NewThread, saver: BaseCheckpointSaver[Any]) -> None:
    """Answers, and results that the client brings, go into the history once."""
    turns = [calling(("ask_input", {"message": "?"}), ("show", {}), ids=["ask", "theirs"]), "done"]
    talk = thread(agent(*turns), saver=saver)
    asked = await talk.say("go", tools=[SHOW])
    await talk.answer(resolved(asked.interrupts[0]["id"], {"value": "yes"}), tools=[SHOW])
    talk.messages = [*talk.messages, {"id": "r", "role": "tool", "toolCallId": "theirs", "content": "shown"}]
    run = await talk.run(tools=[SHOW])
    assert (run.outcome, contents(run.snapshot)) == ("success", contents(await talk.stored()))
    assert sorted(m.type for m in await talk.stored()) == ["ai", "ai", "human", "tool", "tool"]


async def test_time_travel_and_update(thread: NewThread, saver: BaseCheckpointSaver[Any]) -> None:
    """Every earlier state is the history of then; an update and a fork from it go on from there."""
    talk = thread(agent("one", "two", "three"), saver=saver)
    for text in ("a", "b"):
        await talk.say(text)
    graph, at = talk.compiled(), {"configurable": {"thread_id": talk.id}}
    states = [state async for state in graph.aget_state_history(at)]
    assert [contents(state.values.get("messages", [])) for state in states][-6:] == [
        ["a", "one", "b", "two"], ["a", "one", "b"], ["a", "one"], ["a", "one"], ["a"], [],
    ]  # fmt: skip
    changed = await graph.aupdate_state(states[0].config, {"messages": [HumanMessage("c", id="c")]}, as_node="__start__")
    await graph.ainvoke(None, changed)
    assert contents(await talk.stored()) == ["a", "one", "b", "two", "c", "three"]
    assert contents((await graph.aget_state(states[2].config)).values["messages"]) == ["a", "one"]


async def test_a_pruned_thread(thread: NewThread, table: DynamoDBSaver) -> None:
    """Of a thread of which only the latest is kept, nothing of the history is lost, and it goes on."""
    talk = thread(agent("one", "two", "three"), saver=table)
    for text in ("a", "b"):
        await talk.say(text)
    await table.aprune([talk.id])
    assert contents((await talk.say("c")).snapshot) == ["a", "one", "b", "two", "c", "three"]


async def test_a_chunk_is_stored_with_the_id_of_its_call(thread: NewThread, saver: BaseCheckpointSaver[Any]) -> None:
    """A node may return the sum of what its model streamed, with a call that the provider gave no id."""
    chunk = AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(name="text", args='{"q": "a"}', id=None, index=0)])

    async def node(state: DeltaMessagesState) -> Json:
        model = ScriptedModel(turns=[[chunk]])
        (streamed,) = [piece async for piece in model.astream(state["messages"]) if piece.tool_call_chunks]
        return {"messages": [streamed, AIMessage("and more")]}

    run = await (talk := thread(single(node, DeltaMessagesState), saver=saver)).say("go")
    (call,) = run.of("TOOL_CALL_START")
    stored = (await talk.stored())[1]
    assert isinstance(stored, AIMessage)
    assert stored.tool_calls[0]["id"] == call["toolCallId"]
