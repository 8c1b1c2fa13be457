"""Small graphs that tests run: one that speaks, one with the tool loop."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph

from graphs.models import ScriptedModel
from graphs.tools import route_tools, tool_node
from tests.support.agent_thread import Json, single


def react(model: ScriptedModel, *tools: Any, node: Any = None, ask: Any = None) -> StateGraph[Any, Any, Any, Any]:
    """The tool loop, one task a call. `node` runs the tools instead of a ToolNode, `ask` the model instead of `ainvoke`."""

    async def invoke(state: MessagesState) -> Json:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", ask or invoke)
    graph.add_node("tools", node or tool_node(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", route_tools("tools"))
    graph.add_edge("tools", "model")
    return graph


def speaking(*turns: Any) -> StateGraph[Any, Any, Any, Any]:
    model = ScriptedModel(turns=list(turns))

    async def node(state: MessagesState) -> Json:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return single(node)


@tool
def text(q: str) -> str:
    """A text."""
    return f"about {q}"


def pieces(*given: tuple[str, str, int | str]) -> list[AIMessageChunk]:
    """Chunks of (kind, text, the provider's index)."""
    return [AIMessageChunk(content=[{"type": kind, kind: said, "index": index}]) for kind, said, index in given]
