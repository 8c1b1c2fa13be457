"""The client's own tools: bound to the model by the graph, run by the client, answered by a later `tool` message."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ag_ui.core import RunAgentInput
from langchain_core.messages import AIMessage, BaseMessage

from graphs.client import CONTEXT, FORWARDED_PROPS, FRONTEND_TOOLS
from graphs.stream import jsonable, wire_call_ids


def client_configurable(input: RunAgentInput) -> dict[str, Any]:
    """What the client sent beside its messages, for the graph: see `graphs.client`. No entry for what is empty."""
    tools = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in input.tools or ()]
    context = [{"description": c.description, "value": c.value} for c in input.context or ()]
    # an object only: LangGraph copies a plain text or number of `configurable` into every checkpoint's metadata
    props = input.forwarded_props if isinstance(input.forwarded_props, Mapping) else None
    given = {FRONTEND_TOOLS: tools, CONTEXT: context, FORWARDED_PROPS: props}
    return {key: jsonable(value) for key, value in given.items() if value}


def frontend_tools(input: RunAgentInput) -> frozenset[str]:
    return frozenset(tool.name for tool in input.tools or ())


def pending_calls(messages: Sequence[BaseMessage], names: Collection[str]) -> list[str]:
    """Wire ids of the last assistant message's calls to these tools that have no result yet."""
    last = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
    calls = wire_call_ids(messages) if last is not None and names else []
    return [c.wire for c in calls if not c.answered and c.name in names and last is not None and c.message_id == last.id]


def success(messages: Sequence[BaseMessage], names: Collection[str], protocol_version: str | None) -> dict[str, Any]:
    """The outcome of a run that ended well, with the frontend calls that wait, where the client knows that field."""
    pending = pending_calls(messages, names) if knows_1_0(protocol_version) else []
    return {"type": "success"} | ({"pendingToolCallIds": pending} if pending else {})


def knows_1_0(protocol_version: str | None) -> bool:
    """Whether the client declared protocol 1.0 or newer: 0.x clients reject `cancelled` and `pendingToolCallIds`."""
    return bool(re.match(r"0*[1-9]", protocol_version or ""))
