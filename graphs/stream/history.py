"""Stored LangChain messages ⇄ AG-UI messages: MESSAGES_SNAPSHOT one way, `RunAgentInput.messages` the other.

Message ids are the stored ones; content is text (blocks are flattened) unless it holds media; reasoning is kept as its own message.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    FunctionCall,
    Message,
    ReasoningMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.messages import ToolMessage as StoredToolMessage

from graphs.stream.blocks import server_calls, server_results
from graphs.stream.jsonable import args_text, jsonable, utf8
from graphs.stream.ledger import generated_call_id, wire_id
from graphs.stream.parts import content_from_agui, content_to_agui
from graphs.stream.tools import message_text


@dataclass(slots=True)
class HistoryCall:
    """A tool call of the history. `raw` is the model's id, `wire` the unique one, `message_id` the message that made it."""

    raw: str
    wire: str
    name: str
    message_id: str
    answered: bool = False


def wire_call_ids(messages: Iterable[Any]) -> list[HistoryCall]:
    """Every call in the order it was made, with its wire id and whether a ToolMessage follows."""
    turns: dict[str, int] = {}
    calls: list[HistoryCall] = []
    newest: dict[str, HistoryCall] = {}
    for message in messages:
        if isinstance(message, AIMessage):
            for position, call in enumerate(message.tool_calls, 1):
                raw = call["id"] or generated_call_id(message.id or "", position)
                turns[raw] = turn = turns.get(raw, 0) + 1
                newest[raw] = made = HistoryCall(raw, wire_id(raw, turn), call["name"], message.id or "")
                calls.append(made)
            for invalid in message.invalid_tool_calls:  # it is no call, but it was announced: its id is taken
                if raw_id := invalid["id"]:
                    turns[raw_id] = turns.get(raw_id, 0) + 1
        elif isinstance(message, StoredToolMessage) and message.tool_call_id in newest:
            newest[message.tool_call_id].answered = True
    return calls


def messages_to_agui(messages: Sequence[BaseMessage]) -> list[Message]:
    """The chat as a client shows it. System prompts are left out; so is a tool message whose call is not there.

    A message without an id (a state without LangGraph's reducer for messages) gets one of its position.
    """
    calls = iter(wire_call_ids(messages))
    newest: dict[str, str] = {}
    shown: list[Message] = []
    for position, message in enumerate(messages):
        message_id = message.id or f"message:{position}"
        if isinstance(message, HumanMessage):
            content = jsonable(content_to_agui(message))
            shown.append(UserMessage.model_validate({"id": message_id, "role": "user", "content": content}))
        elif isinstance(message, AIMessage):
            made = [next(calls) for _ in message.tool_calls]
            newest |= {call.raw: call.wire for call in made}
            shown.extend(_assistant(message, message_id, made))
        elif isinstance(message, StoredToolMessage) and message.tool_call_id in newest:
            shown.append(_tool(message, message_id, newest[message.tool_call_id]))
    return shown


def messages_from_agui(messages: Iterable[Any]) -> list[BaseMessage]:
    """A client's messages as LangGraph takes them: user, assistant, tool, system. Other roles (activity, reasoning) are not history."""
    return [converted for message in messages if (converted := message_from_agui(message)) is not None]


def message_from_agui(message: Any) -> BaseMessage | None:
    """One AG-UI message, its id kept; None for a role that is not history."""
    content: Any = content_from_agui(getattr(message, "content", None))
    if message.role == "user":
        return HumanMessage(content=content, id=message.id)
    if message.role == "tool":
        failed = getattr(message, "error", None)
        return StoredToolMessage(
            content=content or failed or "", tool_call_id=message.tool_call_id, id=message.id, status="error" if failed else "success"
        )
    if message.role == "assistant":
        return AIMessage(content=content, id=message.id, tool_calls=[_stored_call(c) for c in message.tool_calls or ()])
    if message.role in ("system", "developer"):
        return SystemMessage(content=content, id=message.id)
    return None


def _assistant(message: AIMessage, message_id: str, made: Sequence[HistoryCall]) -> Iterator[Message]:
    blocks = message.content_blocks
    for index, text in _reasoning(blocks):
        yield ReasoningMessage(id=f"{message_id}:reasoning:{index}", role="reasoning", content=text)
    text = utf8(str(message.text))
    theirs = server_calls(blocks)
    if not text and not made and not theirs:
        return
    tool_calls = [
        ToolCall(id=call.wire, type="function", function=FunctionCall(name=call.name, arguments=args_text(stored["args"])))
        for call, stored in zip(made, message.tool_calls, strict=True)
    ]
    yield AssistantMessage(id=message_id, role="assistant", content=text or None, tool_calls=[*tool_calls, *theirs] or None)
    yield from server_results(message_id, blocks, theirs)


def _reasoning(blocks: Sequence[Any]) -> Iterator[tuple[int, str]]:
    """Position and text. The position is what the stream counts by; a block's own `index` is the provider's, with gaps or a text."""
    for position, block in enumerate(blocks):
        if block["type"] == "reasoning" and block.get("reasoning"):
            yield position, utf8(str(block["reasoning"]))


def _tool(message: StoredToolMessage, message_id: str, wire: str) -> ToolMessage:
    text = message_text(message)
    return ToolMessage(id=message_id, role="tool", tool_call_id=wire, content=text, error=text if message.status == "error" else None)


def _stored_call(call: ToolCall) -> Any:
    return {"id": call.id, "name": call.function.name, "args": _arguments(call.function.arguments), "type": "tool_call"}


def _arguments(text: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text or "{}")
    except json.JSONDecodeError:
        return {"raw": text}
    return parsed if isinstance(parsed, dict) else {"raw": parsed}
