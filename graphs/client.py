"""What a client sends along with a run, for graphs: its own tools, its context, its forwardedProps.

The orchestrator puts them into `config["configurable"]`, without an entry for what is empty. All of it is the client's word: material
for a prompt or a preference, never an authority. None of it is stored with the thread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END
from langgraph.types import Send

from graphs.tools import route_tools

FRONTEND_TOOLS = "frontend_tools"
"""Configurable: `[{name, description, parameters}]`, the tools that the client runs itself; `parameters` is a JSON schema."""
CONTEXT = "agui_context"
"""Configurable: `[{description, value}]`, texts."""
FORWARDED_PROPS = "agui_forwarded_props"
"""Configurable: the object that the client sent as `forwardedProps`."""

log = logging.getLogger(__name__)


def frontend_tools(config: RunnableConfig, own: Collection[str]) -> list[dict[str, Any]]:
    """The client's tools in the form that every `bind_tools` takes. One with the name of an `own` tool is left out: ours is run."""
    tools: list[dict[str, Any]] = []
    for tool in _given(config):
        if tool["name"] in own:
            log.warning("the client's tool %r has the name of a tool of the agent, which is used instead", tool["name"])
            continue
        parameters = tool.get("parameters") or {"type": "object", "properties": {}}
        tools.append({"type": "function", "function": {**tool, "parameters": parameters}})
    return tools


def frontend_names(config: RunnableConfig, own: Collection[str]) -> frozenset[str]:
    """Names of the tools that the client runs."""
    return frozenset(tool["name"] for tool in _given(config)) - frozenset(own)


def route_own_tools(node: str, own: Collection[str]) -> Callable[[Mapping[str, Any], RunnableConfig], str | list[Send]]:
    """`route_tools` of a graph whose model knows the client's tools too: calls of the `own` tools (names), and of tools nobody has, go to
    `node`; the client's are left to the client."""
    every_call = route_tools(node)

    def route(state: Mapping[str, Any], config: RunnableConfig) -> str | list[Send]:
        sends, theirs = every_call(state), frontend_names(config, own)
        return sends if isinstance(sends, str) else [send for send in sends if send.arg[0]["name"] not in theirs] or END

    return route


def unless_client_owes(node: str, own: Collection[str]) -> Callable[[Mapping[str, Any], RunnableConfig], str]:
    """The condition behind a tool node: back to `node`, or END while calls of the same turn wait for the client's results.

    A model must not be asked before: providers refuse a history with an open call.
    """

    def route(state: Mapping[str, Any], config: RunnableConfig) -> str:
        return END if _waiting(state["messages"], frontend_names(config, own)) else node

    return route


def _waiting(messages: Sequence[BaseMessage], names: Collection[str]) -> bool:
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return any(call["name"] in names and call["id"] not in answered for call in message.tool_calls)
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
    return False


def _given(config: RunnableConfig) -> Sequence[Mapping[str, Any]]:
    tools: Sequence[Mapping[str, Any]] = config.get("configurable", {}).get(FRONTEND_TOOLS, ())
    return tools
