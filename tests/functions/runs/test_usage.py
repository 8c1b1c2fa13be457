"""Tokens on RUN_FINISHED and RUN_ERROR: per provider and model, this run's calls only."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from graphs.models import ScriptedModel
from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import Json, Run, calling, resolved, single
from tests.support.small_graphs import pieces, react, speaking, text


def used(run: Run) -> dict[tuple[str | None, str | None], Json]:
    """(provider, model) → counts, of the run's end."""
    return {(u.get("provider"), u.get("model")): {k: v for k, v in u.items() if k not in ("provider", "model")} for u in run.end["usage"]}


def costing(said: str, **counts: Any) -> list[AIMessageChunk]:
    """A turn of one chunk that costs this."""
    return [AIMessageChunk(content=[{"type": "text", "text": said, "index": 0}], usage_metadata=counts)]  # type: ignore[arg-type]


async def test_cache_and_reasoning(thread: NewThread) -> None:
    """Every count that a provider gives, summed over its chunks."""
    details = {"input_token_details": {"cache_read": 80, "cache_creation": 10}, "output_token_details": {"reasoning": 30}}
    run = await thread(speaking(costing("a", input_tokens=100, output_tokens=50, total_tokens=150, **details))).say("x")
    assert used(run) == {
        ("scriptedmodel", "scripted"): {
            "inputTokens": 100,
            "outputTokens": 51,
            "totalTokens": 151,
            "cachedInputTokens": 80,
            "cacheWriteInputTokens": 10,
            "reasoningTokens": 30,
        }
    }


class OtherProvider(ScriptedModel):
    """The same under another provider's name."""


async def test_every_call_counts_once(thread: NewThread) -> None:
    """Streamed, muted, direct, in a thread, in a nested graph: summed by provider and model."""
    one, two = ScriptedModel(turns=["a"] * 4), OtherProvider(model_name="small", turns=["b c"] * 3)
    inner = single(lambda state: {"messages": [two.invoke("x")]}).compile()

    async def node(state: MessagesState) -> Json:
        await one.with_config(tags=["nostream"]).ainvoke("x")
        _ = [chunk async for chunk in one.with_config(tags=["nostream"]).astream("x")]
        _ = [chunk async for chunk in one.astream("x")]
        await two.with_config(tags=["nostream"]).ainvoke("x")
        return {"messages": [await one.ainvoke("x")]}

    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_node("inner", inner)
    graph.add_node("sync", lambda state: {"messages": [two.invoke("x")]})
    graph.add_edge(START, "node")
    graph.add_edge("node", "inner")
    graph.add_edge("inner", "sync")
    run = await thread(graph).say("x", transient=["a"])
    assert {key: counts["outputTokens"] for key, counts in used(run).items()} == {
        ("scriptedmodel", "scripted"): 4,
        ("otherprovider", "small"): 6,
    }


async def test_a_call_in_a_tool(thread: NewThread) -> None:
    """A tool's own model is the run's too."""
    helper = ScriptedModel(model_name="helper", turns=["one two three"])

    @tool
    async def think(q: str) -> str:
        """Asks a model."""
        return str((await helper.with_config(tags=["nostream"]).ainvoke(q)).text)

    run = await thread(react(ScriptedModel(turns=[calling(("think", {"q": "x"})), "done"]), think)).say("x")
    assert used(run)["scriptedmodel", "helper"]["outputTokens"] == 3


async def test_only_this_run(thread: NewThread) -> None:
    """Neither the turn before nor what ran before the question is counted again; a run without a model call has no usage."""
    model = ScriptedModel(turns=["a", "b b", "c c c"])

    async def say(state: MessagesState) -> Json:
        return {"messages": [await model.ainvoke("x")]}

    def ask(state: MessagesState) -> Json:
        return {"messages": [AIMessage(str(interrupt("sure?")))]}

    graph = StateGraph(MessagesState)
    graph.add_node("say", say)
    graph.add_node("ask", ask)
    graph.add_edge(START, "say")
    graph.add_edge("say", "ask")
    talk = thread(graph)
    first = await talk.say("go")
    again = await talk.answer(resolved(first.interrupts[0]["id"], "yes"))
    second = await talk.say("go")
    assert [[u["outputTokens"] for u in run.end.get("usage") or ()] for run in (first, again, second)] == [[1], [], [2]]
    assert first.outcome == "interrupt"


@pytest.mark.parametrize("direct", [True, False])
async def test_a_run_that_fails(direct: bool, thread: NewThread) -> None:
    """RUN_ERROR has what was used until then, and what the failed call had been told it costs."""
    good = ScriptedModel(turns=["one two"])
    half = [*costing("half", input_tokens=40, output_tokens=1, total_tokens=41), *pieces(("text", " a word", 0)), ConnectionError("x")]
    bad = ScriptedModel(model_name="bad", turns=[half])

    async def node(state: MessagesState) -> Json:
        first = await good.ainvoke("x")
        if direct:
            _ = [chunk async for chunk in bad.astream("x")]
        else:
            await bad.ainvoke("x")
        return {"messages": [first]}

    run = await thread(single(node)).say("x")
    assert run.outcome == "UPSTREAM_UNREACHABLE"
    assert used(run)["scriptedmodel", "scripted"]["outputTokens"] == 2
    if direct:  # of a call by `ainvoke` LangChain keeps nothing when it fails
        assert used(run)["scriptedmodel", "bad"]["inputTokens"] == 40


async def test_tools_cost_nothing(thread: NewThread) -> None:
    """Two turns of the tool loop are one entry."""
    run = await thread(react(ScriptedModel(turns=[calling(("text", {"q": "a"})), "done"]), text)).say("x")
    (entry,) = used(run).values()
    assert entry["totalTokens"] == entry["inputTokens"] + entry["outputTokens"]
