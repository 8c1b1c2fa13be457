"""START → clarify → {agent_weather, agent_order, agent_kb, collect_hitl}; each agent ⇄ its tools; collect_hitl → execute_hitl."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast, get_args

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, StateGraph

from graphs.catalog import Deps
from graphs.dev.hitl_demo import collect_hitl, execute_hitl
from graphs.dev.state import WHICH_INTENT, DevState, Intent
from graphs.dev.tools import fetch_user_order, get_weather
from graphs.hitl import Cancelled, request_select
from graphs.knowledge import KB_PROMPT, bundled, kb_search_tool
from graphs.messages import with_system
from graphs.models import at_temperature
from graphs.tools import replace_tools, route_tools, tool_node

_WEATHER_PROMPT = "你是天气助手。用 get_weather 查询后回答，不要编造数据。"
_ORDER_PROMPT = "你是订单助手。用 fetch_user_order 查询后回答，不要编造数据。"
_NEXT: dict[Intent, str] = {"weather": "agent_weather", "simpleTool": "agent_order", "hitlDemo": "collect_hitl", "kb": "agent_kb"}


class AgentNode(Protocol):
    """A node that asks the model; LangGraph passes the parameters by these names."""

    async def __call__(self, state: DevState, config: RunnableConfig) -> dict[str, Any]: ...


def build(deps: Deps) -> StateGraph[Any, Any, Any, Any]:
    """The graph; with `Deps(model=None)` the three agents say that they need a model, the rest works."""
    graph = StateGraph(DevState)
    graph.add_node("clarify", clarify)
    graph.add_node("collect_hitl", collect_hitl)
    graph.add_node("execute_hitl", execute_hitl)
    _add_agent(graph, deps, "weather", _WEATHER_PROMPT, get_weather)
    _add_agent(graph, deps, "order", _ORDER_PROMPT, fetch_user_order)
    _add_agent(graph, deps, "kb", KB_PROMPT, kb_search_tool(deps.knowledge or bundled()))
    graph.add_edge(START, "clarify")
    graph.add_conditional_edges("clarify", lambda state: _NEXT[state["devIntent"]], list(_NEXT.values()))
    graph.add_edge("collect_hitl", "execute_hitl")
    graph.add_edge("execute_hitl", END)
    return graph


async def clarify(state: DevState) -> dict[str, Any]:
    """Asks which part of the demo is wanted, unless the state says so. An answer outside the options means the weather."""
    if str(state.get("devIntent")) in _NEXT:  # str: a client's state may hold anything
        return {}
    answer = request_select(WHICH_INTENT)
    if not isinstance(answer, Cancelled) and answer.value in get_args(Intent):
        return {"devIntent": cast(Intent, answer.value)}
    return {"devIntent": "weather", "messages": [AIMessage("没有这个选项，先为你查天气。")]}


def _add_agent(graph: StateGraph[Any, Any, Any, Any], deps: Deps, name: str, prompt: str, own: BaseTool) -> None:
    tools = [tool for tool in replace_tools([own], deps.tools) if tool.name == own.name]
    graph.add_node(f"agent_{name}", _agent(deps.model, prompt, tools))
    graph.add_node(f"tools_{name}", tool_node(tools))
    graph.add_conditional_edges(f"agent_{name}", route_tools(f"tools_{name}"), [f"tools_{name}", END])
    graph.add_edge(f"tools_{name}", f"agent_{name}")


def _agent(model: BaseChatModel | None, prompt: str, tools: Sequence[BaseTool]) -> AgentNode:
    bound = None if model is None else at_temperature(model, 0).bind_tools(tools)

    async def agent(state: DevState, config: RunnableConfig) -> dict[str, list[BaseMessage]]:
        if bound is None:
            return {"messages": [AIMessage("这条路径需要聊天模型，当前没有配置。")]}
        return {"messages": [await bound.ainvoke(with_system(prompt, state["messages"]), config)]}

    return agent
