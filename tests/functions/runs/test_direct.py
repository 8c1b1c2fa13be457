"""Models that a node streams itself, and messages that it makes of what they said."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import AsyncIterator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.prompts import ChatPromptTemplate
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from graphs.models import ScriptedModel
from graphs.tools import route_tools, tool_node
from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import Json, Run, calling, single
from tests.support.small_graphs import pieces, react, text


async def streamed(model: Any, given: Any = "x") -> Any:
    """The sum of what `.astream()` yields."""
    chunks = [chunk async for chunk in model.astream(given)]
    return sum(chunks[1:], chunks[0])


def deltas(run: Run) -> list[str]:
    return [e["delta"] for e in run.of("TEXT_MESSAGE_CONTENT")]


async def test_astream_gives_deltas(thread: NewThread) -> None:
    """Token by token, under the stored id, once; its tokens count."""
    model = ScriptedModel(turns=["one two three"])

    async def node(state: MessagesState) -> Json:
        return {"messages": [await streamed(model)]}

    run = await (talk := thread(single(node))).say("go")
    assert deltas(run) == ["one", " two", " three"]
    assert {e["messageId"] for e in run.of("TEXT_MESSAGE_START")} == {(await talk.stored())[-1].id}
    assert run.end["usage"][0]["outputTokens"] == 3


async def test_stream_in_a_thread(thread: NewThread) -> None:
    """A node that is a plain function runs in a thread, and its model streams as well."""
    model = ScriptedModel(turns=["one two three"])

    def node(state: MessagesState) -> Json:
        return {"messages": [AIMessage("".join(chunk.text for chunk in model.stream("x")))]}

    run = await (talk := thread(single(node))).say("go")
    assert deltas(run) == ["one", " two", " three"]
    assert run.of("TEXT_MESSAGE_START")[0]["messageId"] == (await talk.stored())[-1].id


async def test_reasoning_and_calls_stream_directly(thread: NewThread) -> None:
    """Every kind of block, and the calls are those that the tools answer."""
    first = AIMessage(
        [{"type": "reasoning", "reasoning": "hm so"}, {"type": "text", "text": "Look."}],
        tool_calls=calling(("text", {"q": "a"})).tool_calls,
    )
    model = ScriptedModel(turns=[first, "done now"])

    async def node(state: MessagesState) -> Json:
        return {"messages": [await streamed(model, state["messages"])]}

    run = await thread(react(model, text, ask=node)).say("go")
    assert [e["delta"] for e in run.of("REASONING_MESSAGE_CONTENT")] == ["hm", " so"]
    assert len(run.of("TOOL_CALL_ARGS")) > 1
    assert run.results == {"c0": "about a"}
    assert deltas(run)[-2:] == ["done", " now"]


async def test_a_direct_call_without_ids(thread: NewThread) -> None:
    """The generated id of its call is the same in stream, result and checkpoint."""
    chunk = AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(name="text", args='{"q": "a"}', id=None, index=0)])
    model = ScriptedModel(turns=[[chunk], "done"])

    async def node(state: MessagesState) -> Json:
        return {"messages": [await streamed(model, state["messages"])]}

    run = await (talk := thread(react(model, text, ask=node))).say("go")
    (call,) = run.of("TOOL_CALL_START")
    assert call["toolCallId"] == (await talk.stored())[1].tool_calls[0]["id"]
    assert run.results == {call["toolCallId"]: "about a"}


async def test_a_chain_streamed_directly(thread: NewThread) -> None:
    """A prompt before the model makes no difference."""
    chain = ChatPromptTemplate.from_messages([("user", "{q}")]) | ScriptedModel(turns=["one two three"])

    async def node(state: MessagesState) -> Json:
        return {"messages": [await streamed(chain, {"q": "x"})]}

    assert deltas(await thread(single(node)).say("go")) == ["one", " two", " three"]


async def test_muted_and_direct(thread: NewThread) -> None:
    """A muted call stays muted, also when it is streamed; its tokens count."""
    model = ScriptedModel(turns=["a secret", "said aloud"])

    async def node(state: MessagesState) -> Json:
        await streamed(model.with_config(tags=["nostream"]))
        return {"messages": [await streamed(model)]}

    run = await thread(single(node)).say("go")
    assert (run.text, run.end["usage"][0]["outputTokens"]) == ("said aloud", 4)


async def test_a_direct_stream_that_fails_or_is_left(thread: NewThread) -> None:
    """What is open is closed; a message made of the part that came is the one that streamed."""
    model = ScriptedModel(turns=[[*pieces(("text", "half", 0), ("text", " way", 0)), ConnectionError("x")]])

    async def node(state: MessagesState) -> Json:
        said = ""
        try:
            async for chunk in model.astream("x"):
                said += chunk.text
        except ConnectionError:
            said += " "
        return {"messages": [AIMessage(said)]}

    run = await (talk := thread(single(node))).say("go")
    assert (deltas(run), run.outcome) == (["half", " way"], "success")
    assert run.of("TEXT_MESSAGE_START")[0]["messageId"] == (await talk.stored())[-1].id

    async def failing(state: MessagesState) -> Json:
        return {"messages": [await streamed(ScriptedModel(turns=[[*pieces(("text", "a", 0), ("text", "b", 0)), ConnectionError("x")]]))]}

    assert (await thread(single(failing)).say("go")).outcome == "UPSTREAM_UNREACHABLE"


class OwnIds(ScriptedModel):
    """A provider that gives its own message id, and not with its first chunk; and that calls back by itself, also for `ainvoke`."""

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        async for position, chunk in _numbered(super()._astream(messages, stop, run_manager, **kwargs)):
            if position == 2:
                chunk.message.id = "msg_1"
            yield chunk


async def _numbered(chunks: AsyncIterator[ChatGenerationChunk]) -> AsyncIterator[tuple[int, ChatGenerationChunk]]:
    position = 0
    async for chunk in chunks:
        yield position, chunk
        position += 1


@pytest.mark.parametrize("direct", [True, False])
async def test_ids_of_a_provider(direct: bool, thread: NewThread) -> None:
    """The id that the text was streamed under is the one that is stored, and the text is there once."""
    model = OwnIds(turns=["one two three"])

    async def node(state: MessagesState) -> Json:
        return {"messages": [await streamed(model) if direct else await model.ainvoke("x")]}

    run = await (talk := thread(single(node))).say("go")
    assert deltas(run) == ["one", " two", " three"]
    assert run.of("TEXT_MESSAGE_START")[0]["messageId"] == (await talk.stored())[-1].id


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("returned", ["dict", "command", "commands"])
async def test_a_message_made_of_what_the_model_said(returned: str, direct: bool, thread: NewThread) -> None:
    """The same text, trimmed or not, is the same message: streamed once, one id."""
    model = ScriptedModel(turns=[" one two "])

    async def node(state: MessagesState) -> Any:
        said = await streamed(model) if direct else await model.ainvoke("x")
        update = {"messages": [AIMessage(said.text.strip())]}
        return {"dict": update, "command": Command(update=update), "commands": [Command(update=update)]}[returned]

    run = await (talk := thread(single(node))).say("go")
    assert run.text == " one two "
    assert [m["id"] for m in run.snapshot][1:] == [run.of("TEXT_MESSAGE_START")[0]["messageId"]] == [(await talk.stored())[-1].id]


async def test_another_text_is_another_message(thread: NewThread) -> None:
    """What a node writes itself has an id of its own, beside its model's; the same text said before in the thread stays where it is."""
    model = ScriptedModel(turns=["draft", "OK"])

    async def node(state: MessagesState) -> Json:
        if len(state["messages"]) > 1:
            return {"messages": [AIMessage("final")]}
        draft = await model.ainvoke("x")
        return {"messages": [draft, AIMessage("final")]}

    talk = thread(single(node))
    await talk.say("go")
    run = await talk.say("again")
    assert [m["content"] for m in run.snapshot] == ["go", "draft", "final", "again", "final"]
    assert len({m["id"] for m in run.snapshot}) == 5


async def test_calls_that_a_node_makes_itself(thread: NewThread) -> None:
    """Without ids: made before anyone sees them, the same in stream, result and checkpoint."""

    async def node(state: MessagesState) -> Json:
        if len(state["messages"]) > 2:
            return {"messages": [AIMessage("done")]}
        return {"messages": [calling(("text", {"q": "a"}), ("text", {"q": "b"}), ids=["", ""])]}

    run = await (talk := thread(react(ScriptedModel(turns=[]), text, ask=node))).say("go")
    stored = [c["id"] for c in (await talk.stored())[1].tool_calls]
    assert [e["toolCallId"] for e in run.of("TOOL_CALL_START")] == stored
    assert run.results == dict(zip(stored, ["about a", "about b"], strict=True))
    assert run.text == "done"


async def test_two_direct_streams_at_once(thread: NewThread) -> None:
    """They never mix."""
    model = ScriptedModel(delay_ms=1, turns=["a a a a", "b b b b"])

    async def node(state: MessagesState) -> Json:
        return {"messages": await asyncio.gather(streamed(model), streamed(model))}

    run = await thread(single(node)).say("go")
    texts = {
        i: "".join(e["delta"] for e in run.of("TEXT_MESSAGE_CONTENT") if e["messageId"] == i)
        for i in (e["messageId"] for e in run.events if "messageId" in e)
    }
    assert sorted(texts.values()) == ["a a a a", "b b b b"]


async def test_a_nested_agent_that_streams_directly(thread: NewThread) -> None:
    """Attributed to it."""
    model = ScriptedModel(turns=["one two"])

    async def node(state: MessagesState) -> Json:
        return {"messages": [await streamed(model)]}

    run = await thread(single(single(node).compile())).say("go")
    assert deltas(run) == ["one", " two"]
    assert {e.get("subagentRunId") for e in run.of("TEXT_MESSAGE_CONTENT")} == {run.of("SUBAGENT_STARTED")[0]["subagentRunId"]}


async def test_a_direct_stream_that_is_left(thread: NewThread) -> None:
    """A node that has heard enough: what came is closed, and the message made of it is the same one."""
    model = ScriptedModel(turns=["one two three four"])

    async def node(state: MessagesState) -> Json:
        said = ""
        async for chunk in model.astream("x"):
            said += chunk.text
            if "two" in said:
                break
        return {"messages": [AIMessage(said)]}

    run = await (talk := thread(single(node))).say("go")
    assert (run.text, run.outcome) == ("one two", "success")
    assert run.of("TEXT_MESSAGE_START")[0]["messageId"] == (await talk.stored())[-1].id


async def test_made_of_what_the_model_said_before_a_condition(thread: NewThread) -> None:
    """A condition reads the state, and names the message, before the node has ended: it is the streamed one all the same."""
    model = ScriptedModel(turns=["one two"])

    async def node(state: MessagesState) -> Json:
        return {"messages": [AIMessage((await model.ainvoke("x")).text)]}

    run = await (talk := thread(react(model, text, ask=node))).say("go")
    assert run.text == "one two"
    assert run.of("TEXT_MESSAGE_START")[0]["messageId"] == (await talk.stored())[-1].id


async def test_a_message_that_a_node_replaces(thread: NewThread) -> None:
    """One of the history, by its id, with what the model said now: it stays that message."""
    model = ScriptedModel(turns=["new"])

    async def node(state: MessagesState) -> Json:
        old = state["messages"][-1]
        if old.type == "human":
            return {"messages": [AIMessage("old")]}
        return {"messages": [AIMessage((await model.ainvoke("x")).text, id=old.id)]}

    graph = single(node)
    graph.add_node("again", node)
    graph.add_edge("node", "again")
    run = await (talk := thread(graph)).say("go", transient=["new"])
    assert [m.text for m in await talk.stored()] == ["go", "new"]
    assert run.outcome == "success"


async def test_calls_of_a_state_without_message_ids(thread: NewThread) -> None:
    """A plain list of messages, whose reducer gives no ids: the calls of two turns are still told apart."""

    class Plain(TypedDict):
        messages: Annotated[list[Any], operator.add]

    async def ask(state: Plain) -> Json:
        turns = sum(message.type == "ai" for message in state["messages"])
        return {"messages": [calling(("text", {"q": str(turns)}), ids=[""]) if turns < 2 else AIMessage("done")]}

    graph = StateGraph(Plain)
    graph.add_node("model", ask)
    graph.add_node("tools", tool_node([text]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", route_tools("tools"))
    graph.add_edge("tools", "model")
    run = await (talk := thread(graph)).say("go")
    calls = [call["id"] for message in await talk.stored() for call in getattr(message, "tool_calls", ())]
    assert run.results == dict(zip(calls, ["about 0", "about 1"], strict=True))
    assert [e["toolCallId"] for e in run.of("TOOL_CALL_START")] == calls
