"""Tool nodes: one task per call, errors as results, and a node whose tools arrive later."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, ToolException
from langgraph.graph import END
from langgraph.prebuilt import ToolNode, ToolRuntime
from langgraph.prebuilt.tool_node import ToolCallRequest, ToolInvocationError
from langgraph.types import Command, Send

_log = logging.getLogger(__name__)

ToolLoader = Callable[[], Awaitable[Sequence[BaseTool]]]
ToolOutcome = ToolMessage | Command[Any]


def describe_tool_error(error: Exception) -> str:
    """What the model (and the user) reads of a failed tool.

    Wrong arguments and a tool's own `ToolException` are told as they are. Of anything else only the class is told: its text may hold a
    host name or a key. The log has all of it.
    """
    if isinstance(error, ToolInvocationError | ToolException):
        return str(error)
    _log.warning("tool failed", exc_info=error)
    return f"Error: the tool failed ({type(error).__name__})."


def call_key(runtime: ToolRuntime[Any, Any]) -> str:
    """A key for what this call of a tool does elsewhere (a payment, a mail): the same whenever the same call is run again, and no other's.

    A run that dies between a tool's side effect and the write of its result runs the tool again. Where the other side takes an idempotency
    key, give it this one: 32 hex digits of thread, task and call id. The task's id comes from the checkpoint that it belongs to, so a fork
    or an edit is another call.
    """
    ids = runtime.config["configurable"]
    called = [ids.get("thread_id"), ids.get("checkpoint_ns"), runtime.tool_call_id]
    return hashlib.sha256(json.dumps(called).encode()).hexdigest()[:32]


def tool_node(tools: Sequence[BaseTool]) -> ToolNode:
    """A ToolNode whose exceptions become tool results, never a dead run."""
    return ToolNode(tools, handle_tool_errors=describe_tool_error)


def route_tools(node: str) -> Callable[[Mapping[str, Any]], str | list[Send]]:
    """The ReAct condition: the last message is an AI message with tool calls → `node`, else END.

    One task per call: two interrupts in one ToolNode task surface one after the other and their answers are matched by order, so they
    swap; in tasks of their own each has its own id.
    """

    def route(state: Mapping[str, Any]) -> str | list[Send]:
        messages: Sequence[BaseMessage] = state["messages"]
        last = messages[-1] if messages else None
        if not isinstance(last, AIMessage) or not last.tool_calls:
            return END
        return [Send(node, [{**call, "type": "tool_call"}]) for call in last.tool_calls]

    return route


def replace_tools(own: Sequence[BaseTool], given: Sequence[BaseTool] | None) -> list[BaseTool]:
    """The agent's own tools, where `given` replaces those of the same name and adds the others."""
    return list(({tool.name: tool for tool in own} | {tool.name: tool for tool in given or ()}).values())


class ToolsUnavailable(ToolException):
    """The tools of a server cannot be had now. The text is for the model and the user: no host name, no key."""


EMPTY_RESULT = "（没有返回数据）"
"""What the model reads of a loaded tool that returned nothing: providers refuse an empty result, models make one up."""
_EMPTY = frozenset({"", "[]", "{}", "null"})


def load_once(load: ToolLoader) -> ToolLoader:
    """`load`, until it succeeds; from then on its tools are remembered. Who asks meanwhile shares that load, its failure included.

    A load belongs to none of those who wait for it: it goes on when they are cancelled, and keeps nothing of the run that began it.
    """
    loading: asyncio.Task[list[BaseTool]] | None = None

    async def loaded() -> list[BaseTool]:
        return list(await load())

    def forget_failure(task: asyncio.Task[list[BaseTool]]) -> None:
        nonlocal loading
        if task.cancelled() or task.exception():
            loading = None

    async def remembered() -> Sequence[BaseTool]:
        nonlocal loading
        if loading is None:
            loading = asyncio.create_task(loaded(), context=Context())
            loading.add_done_callback(forget_failure)
        return await asyncio.shield(loading)

    return remembered


class LazyToolNode(ToolNode):
    """A ToolNode whose tools are loaded on first use, once, beside its `own`, which need no load. It is itself the graph node.

    A failed load is not remembered: its calls get an error as result and the next call tries again. A loaded tool with the name of an
    own one is left out; one that returns nothing is answered with `EMPTY_RESULT`.
    """

    def __init__(self, load: ToolLoader, own: Sequence[BaseTool] = (), *, name: str = "tools") -> None:
        super().__init__(list(own), name=name, handle_tool_errors=describe_tool_error, awrap_tool_call=self._call_loaded)
        self._load = load_once(load)
        self._own = list(own)

    async def tools(self) -> Sequence[BaseTool]:
        """The tools, own ones last, loaded if they are not yet: what a model is bound to. Raises what the loader raises."""
        return replace_tools(await self._load(), self._own)

    async def _call_loaded(self, request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[ToolOutcome]]) -> ToolOutcome:
        if request.tool is not None:
            return await execute(request)
        # an exception of the loader leaves through ToolNode's own error handling
        tool = next((tool for tool in await self._load() if tool.name == request.tool_call["name"]), None)
        return _filled(await execute(request.override(tool=tool) if tool else request))


def _filled(outcome: ToolOutcome) -> ToolOutcome:
    if isinstance(outcome, ToolMessage) and outcome.text.strip() in _EMPTY:
        return outcome.model_copy(update={"content": EMPTY_RESULT})
    return outcome
