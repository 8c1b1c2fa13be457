"""Scripted models stream as a provider does."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from graphs.models import ScriptedModel
from graphs.scripted import chunks_of, tokens_of
from tests.support.conversation import Conversation

EVERYTHING = AIMessage(
    content=[{"type": "reasoning", "reasoning": "let me see"}, {"type": "text", "text": "two calls, 两个"}],
    tool_calls=[
        {"name": "a", "args": {"q": "一 two"}, "id": "1", "type": "tool_call"},
        {"name": "b", "args": {}, "id": "2", "type": "tool_call"},
    ],
)


@pytest.mark.parametrize("text", ["", "one", "one two", " a  b\n\nc ", "中文，text 混合。", 'snake_case {"k": [1, 2]}', "emoji 👩‍💻 é\n"])
def test_the_pieces_of_a_text_are_the_text(text: str) -> None:
    """Nothing is lost or added by streaming."""
    assert "".join(tokens_of(text)) == text


def test_chunks_add_up_to_the_message() -> None:
    """As LangChain adds chunks outside v3."""
    first, *rest = chunks_of(EVERYTHING)
    whole: AIMessageChunk = sum(rest, first)
    assert whole.text == EVERYTHING.text
    assert [(call["name"], call["args"], call["id"]) for call in whole.tool_calls] == [("a", {"q": "一 two"}, "1"), ("b", {}, "2")]


async def test_v3_gets_every_kind_in_pieces() -> None:
    """Reasoning, text and the arguments of both calls arrive as deltas of blocks of their own; ids and names on the start."""

    async def node(state: MessagesState) -> dict[str, list[AIMessage]]:
        return {"messages": [await ScriptedModel(turns=[EVERYTHING]).ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    await (talk := Conversation(graph)).say("hi")
    events = [data for method, data in talk.events if method == "messages"]
    starts = [
        (data["index"], data["content"]["type"], data["content"].get("id")) for data in events if data["event"] == "content-block-start"
    ]
    assert starts == [(0, "reasoning", None), (1, "text", None), (2, "tool_call_chunk", "1"), (3, "tool_call_chunk", "2")]
    assert talk.deltas("reasoning") == ["let", " me", " see"]
    assert talk.deltas("text") == ["two", " calls", ",", " 两", "个"]
    assert "".join(talk.deltas("args")) == '{"q": "一 two"}{}'
    assert len(talk.deltas("args")) > 8
    assert (events[0]["event"], events[-1]["event"]) == ("message-start", "message-finish")
    stored = (await talk.messages())[-1]
    assert isinstance(stored, AIMessage)
    assert stored.id == events[0]["id"]
    assert [call["args"] for call in stored.tool_calls] == [{"q": "一 two"}, {}]
    assert stored.usage_metadata is not None


async def test_pauses_are_between_tokens() -> None:
    """`delay_ms` spreads the answer over time, it does not delay it as a whole."""
    model = ScriptedModel(turns=["one two three"], delay_ms=20)
    times = [time.perf_counter() async for _ in model.astream([HumanMessage("hi")])]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert len(gaps) >= 3
    assert min(gaps[:3]) > 0.015


async def test_an_exception_is_raised_where_it_stands() -> None:
    """As a whole turn, and in the middle of one."""
    model = ScriptedModel(turns=[ValueError("at once"), [AIMessageChunk(content="par"), ValueError("later")]])
    with pytest.raises(ValueError, match="at once"):
        await model.ainvoke([HumanMessage("hi")])
    with pytest.raises(ValueError, match="later"):
        await model.ainvoke([HumanMessage("hi")])


def test_it_works_without_a_loop_and_says_when_the_script_is_over() -> None:
    """`invoke` and `stream` too; a call too many is a clear error."""
    model = ScriptedModel(turns=["one", "two"])
    assert model.invoke("hi").text == "one"
    assert "".join(chunk.text for chunk in model.stream("hi")) == "two"
    with pytest.raises(LookupError, match="2 turns, this is call 3"):
        model.invoke("hi")
    assert [call[-1].text for call in model.calls] == ["hi"] * 3
