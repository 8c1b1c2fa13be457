"""agent ⇄ tools, until the agent answers without a tool call."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph

from graphs.catalog import Deps
from graphs.client import frontend_tools, route_own_tools, unless_client_owes
from graphs.hitl import ASK_TOOLS
from graphs.knowledge import bundled, kb_search_tool
from graphs.messages import DeltaMessagesState, with_system
from graphs.models import at_temperature
from graphs.react.prompts import system_prompt
from graphs.tools import replace_tools, tool_node


def build(deps: Deps) -> StateGraph[Any, Any, Any, Any]:
    """Configurable: `userPrompt`, `kbId`, and the client's own tools (`graphs.client`). Raises `ValueError` without a model."""
    if deps.model is None:
        raise ValueError("reactAgent needs a chat model")
    tools = replace_tools([kb_search_tool(deps.knowledge or bundled()), *ASK_TOOLS], deps.tools)
    names = [tool.name for tool in tools]
    unbound = at_temperature(deps.model, 0)
    bound = unbound.bind_tools(tools)

    async def agent(state: DeltaMessagesState, config: RunnableConfig) -> dict[str, list[BaseMessage]]:
        prompt = system_prompt(config.get("configurable", {}).get("userPrompt") or "")
        theirs = frontend_tools(config, names)
        model = unbound.bind_tools([*tools, *theirs]) if theirs else bound
        return {"messages": [await model.ainvoke(with_system(prompt, state["messages"]), config)]}

    graph = StateGraph(DeltaMessagesState)
    graph.add_node("agent", agent)
    graph.add_node("tools", tool_node(tools))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", route_own_tools("tools", names), ["tools", END])
    graph.add_conditional_edges("tools", unless_client_owes("agent", names), ["agent", END])
    return graph
