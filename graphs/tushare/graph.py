"""agent ⇄ tools, until the agent answers without a tool call. The data tools are loaded on first use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, StateGraph

from graphs.catalog import Deps
from graphs.hitl import ASK_TOOLS
from graphs.messages import DeltaMessagesState, with_system
from graphs.models import at_temperature
from graphs.tools import LazyToolNode, ToolsUnavailable, load_once, replace_tools, route_tools
from graphs.tushare.clock import Clock, today_in_china
from graphs.tushare.misplaced import fix_misplaced_tool_calls
from graphs.tushare.prompts import system_prompt
from graphs.tushare.resolve import resolve_stock_tool
from graphs.tushare.sample import SampleMarket


def build(deps: Deps, *, today: Clock = today_in_china) -> StateGraph[Any, Any, Any, Any]:
    """Nothing is connected to or loaded here. Raises `ValueError` without a model."""
    if deps.model is None:
        raise ValueError("tushare needs a chat model")
    model = at_temperature(deps.model, 0)
    load = load_once(deps.market or SampleMarket(today).tools)
    own = replace_tools([resolve_stock_tool(load), *ASK_TOOLS], deps.tools)
    node = LazyToolNode(load, own)

    async def agent(state: DeltaMessagesState, config: RunnableConfig) -> dict[str, list[BaseMessage]]:
        tools, trouble = await _offered(node, own)
        prompt = system_prompt(today(), trouble)
        said = await model.bind_tools(tools).ainvoke(with_system(prompt, state["messages"]), config)
        return {"messages": [fix_misplaced_tool_calls(said)]}

    graph = StateGraph(DeltaMessagesState)
    graph.add_node("agent", agent)
    graph.add_node("tools", node)
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", route_tools("tools"), ["tools", END])
    graph.add_edge("tools", "agent")
    return graph


async def _offered(node: LazyToolNode, own: Sequence[BaseTool]) -> tuple[Sequence[BaseTool], str | None]:
    """What the model may call now; where the data tools cannot be had, its own alone and the reason."""
    try:
        return await node.tools(), None
    except ToolsUnavailable as unavailable:
        return own, str(unavailable)
