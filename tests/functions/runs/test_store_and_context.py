"""Graphs with LangGraph's `store` and `context_schema`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import interrupt

from functions.runs.agents import ServedAgent
from graphs.catalog import AgentSpec
from tests.functions.runs.conftest import NewThread
from tests.support.agent_thread import Json, resolved


@dataclass
class Who:
    name: str = "nobody"


def remembering() -> StateGraph[Any, Any, Any, Any]:
    """Greets by the context's name, asks, and counts in the store how often it has seen it."""

    async def node(state: MessagesState, runtime: Runtime[Who]) -> Json:
        assert runtime.store is not None
        name = getattr(runtime.context, "name", "nobody")
        seen = await runtime.store.aget(("people",), name)
        times = seen.value["times"] if seen else 0
        answer = interrupt("again?") if times == 1 else None
        await runtime.store.aput(("people",), name, {"times": times + 1})
        return {"messages": [AIMessage(f"{name} {times} {answer}")]}

    graph = StateGraph(MessagesState, context_schema=Who)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    return graph


async def test_store_and_context(thread: NewThread) -> None:
    """The store the graph was compiled with outlives a thread; the context is the run's own, also on a resume."""
    store = InMemoryStore()
    ann = thread(remembering(), compile={"store": store}, context=Who("ann"))
    assert (await ann.say("hi")).text == "ann 0 None"
    again = thread(remembering(), compile={"store": store}, context=Who("ann"))
    asked = await again.say("hi")
    assert (await again.answer(resolved(asked.interrupts[0]["id"], "yes"))).text == "ann 1 yes"
    bob = thread(remembering(), compile={"store": store}, context=Who("bob"))
    assert (await bob.say("hi")).text == "bob 0 None"


@pytest.mark.parametrize(("given", "name"), [({"name": "eve"}, "eve"), ({}, "nobody"), (None, "nobody")])
async def test_context_as_data(given: Any, name: str, thread: NewThread) -> None:
    """A mapping is made into the schema; without a context the graph has none or its defaults."""
    run = await thread(remembering(), compile={"store": InMemoryStore()}, context=given).say("hi")
    assert run.text == f"{name} 0 None"


async def test_a_context_that_is_none(thread: NewThread) -> None:
    """One that the schema refuses ends in an error, not in a run."""
    run = await thread(remembering(), compile={"store": InMemoryStore()}, context={"age": 7}).say("hi")
    assert run.outcome == "AGENT_INTERNAL"


def test_the_store_stays_with_a_callers_threads() -> None:
    """Another checkpointer for each caller, the same store."""
    graph = remembering().compile(store=InMemoryStore())
    spec = AgentSpec(name="a", title="a", description="", module="", state_keys=())
    saver = InMemorySaver()
    mine = ServedAgent(spec, graph).graph_for(saver)
    assert (mine.store, mine.checkpointer) == (graph.store, saver)
