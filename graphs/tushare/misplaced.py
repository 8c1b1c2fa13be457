"""Tool calls that a model's adapter put into the text: some give `{"type": "text", "name": …, "args": …}` instead of a tool call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeGuard
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import ToolCall


def fix_misplaced_tool_calls(message: BaseMessage) -> BaseMessage:
    """The message with its misplaced calls as tool calls, under the same id; any other message as it is.

    Only an AI message without tool calls whose content is a list is looked at. `args` is parsed; what is no JSON object becomes
    `{"raw": …}`. A call without id gets one. The parts that were calls leave the content.
    """
    if not isinstance(message, AIMessage) or message.tool_calls or not isinstance(message.content, list):
        return message
    calls = [_call(part) for part in message.content if _is_call(part)]
    if not calls:
        return message
    rest = [part for part in message.content if not _is_call(part)]
    return message.model_copy(update={"content": rest, "tool_calls": calls})


def _is_call(part: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(part, Mapping) and part.get("type") == "text" and bool(_name(part)) and "args" in part


def _name(part: Mapping[str, Any]) -> str:
    name = part.get("name")
    return name.strip() if isinstance(name, str) else ""


def _call(part: Mapping[str, Any]) -> ToolCall:
    id_ = part.get("id")
    return ToolCall(
        name=_name(part), args=_args(part["args"]), id=id_ if isinstance(id_, str) and id_ else f"call_{uuid4().hex}", type="tool_call"
    )


def _args(given: Any) -> dict[str, Any]:
    if isinstance(given, str):
        try:
            parsed = json.loads(given) if given.strip() else {}
        except ValueError:
            return {"raw": given}
    else:
        parsed = {} if given is None else given
    return dict(parsed) if isinstance(parsed, Mapping) else {"raw": given}
