"""Graphs in graphs and models at once: who said what."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send

from graphs.models import ScriptedModel
from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import Json, single
from tests.support.small_graphs import speaking


async def test_two_models_in_one_step(thread: NewThread) -> None:
    """Their tokens interleave and their messages stay apart; the node's step is one."""
    model = ScriptedModel(delay_ms=1, turns=["a a a a a a", "b b b b b b"])

    async def fan(state: MessagesState) -> Json:
        return {}

    async def say(state: MessagesState) -> Json:
        return {"messages": [await model.ainvoke("x")]}

    graph = StateGraph(MessagesState)
    graph.add_node("fan", fan)
    graph.add_node("say", say)
    graph.add_edge(START, "fan")
    graph.add_conditional_edges("fan", lambda _: [Send("say", {"messages": []}), Send("say", {"messages": []})], ["say"])
    run = await thread(graph).say("go")
    ids = [e["messageId"] for e in run.of("TEXT_MESSAGE_CONTENT")]
    assert ids != sorted(ids)
    texts = {i: "".join(e["delta"] for e in run.of("TEXT_MESSAGE_CONTENT") if e["messageId"] == i) for i in ids}
    assert sorted(texts.values()) == ["a a a a a a", "b b b b b b"]
    assert [e["stepName"] for e in run.of("STEP_STARTED", "STEP_FINISHED")] == ["fan", "fan", "say", "say"]


def nested(levels: int, turn: str) -> Any:
    """A graph in a graph in a graph; the innermost speaks."""
    inner = speaking(turn).compile(name=f"level{levels}")
    for _ in range(levels - 1):
        inner = single(inner).compile()
    return inner


async def test_nested_graphs(thread: NewThread) -> None:
    """Two levels down: both sub-agents announced, the text attributed to the inner, everything closed."""
    run = await thread(single(nested(2, "hello there"))).say("go")
    outer, inner = run.of("SUBAGENT_STARTED")
    assert inner["parentSubagentRunId"] == outer["subagentRunId"]
    assert {e["subagentRunId"] for e in run.of("TEXT_MESSAGE_CONTENT")} == {inner["subagentRunId"]}
    assert [e["subagentRunId"] for e in run.of("SUBAGENT_FINISHED")] == [inner["subagentRunId"], outer["subagentRunId"]]
    assert (run.text, run.snapshot[-1]["content"]) == ("hello there", "hello there")
    assert [e["stepName"] for e in run.of("STEP_STARTED")] == ["node", "node/node", "node/node/node"]


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_node_that_runs_two_graphs_of_one_name(at_once: bool, thread: NewThread) -> None:
    """Two sub-agents side by side, one name, ids of their own, also when they run at once."""
    inner = speaking("a a", "b b").compile()

    async def node(state: MessagesState) -> Json:
        given: Any = {"messages": []}
        if at_once:
            await asyncio.gather(inner.ainvoke(given), inner.ainvoke(given))
        else:
            await inner.ainvoke(given)
            await inner.ainvoke(given)
        return {}

    run = await thread(single(node)).say("go")
    started = run.of("SUBAGENT_STARTED")
    assert [(e["name"], e.get("parentSubagentRunId")) for e in started] == [("node", None), ("node", None)]
    assert len({e["subagentRunId"] for e in run.of("TEXT_MESSAGE_START")}) == 2


async def test_agents_of_one_name_at_once(thread: NewThread) -> None:
    """Two tasks of one node, each with a nested graph: legal for both clients."""
    model = ScriptedModel(delay_ms=1, turns=["a a a", "b b b"])

    async def say(state: MessagesState) -> Json:
        return {"messages": [await model.ainvoke("x")]}

    graph = StateGraph(MessagesState)
    graph.add_node("fan", lambda _: {})
    graph.add_node("agent", single(say).compile())
    graph.add_edge(START, "fan")
    graph.add_conditional_edges("fan", lambda _: [Send("agent", {"messages": []}), Send("agent", {"messages": []})], ["agent"])
    run = await thread(graph).say("go")
    assert [e["name"] for e in run.of("SUBAGENT_STARTED")] == ["agent", "agent"]
    assert sorted(m["content"] for m in run.snapshot) == ["a a a", "b b b", "go"]
