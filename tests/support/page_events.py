"""AG-UI events as the page's mock sends them: short builders, wire names."""

from __future__ import annotations

import json
from typing import Any

Event = dict[str, Any]
FINISHED: Event = {"type": "RUN_FINISHED", "outcome": {"type": "success"}}


def words(text: str) -> list[str]:
    """`text` cut as a model streams it: each word with the blank after it."""
    return [part for part in text.replace(" ", " \0").split("\0") if part]


def text(message_id: str, content: str, *, pause: float = 0.0) -> list[Event | float]:
    """An assistant message, word by word."""
    return _streamed("TEXT_MESSAGE", message_id, "assistant", content, pause)


def reasoning(message_id: str, content: str, *, pause: float = 0.0) -> list[Event | float]:
    """A thinking block, word by word."""
    return _streamed("REASONING_MESSAGE", message_id, "reasoning", content, pause)


def _streamed(kind: str, message_id: str, role: str, content: str, pause: float) -> list[Event | float]:
    steps: list[Event | float] = [{"type": f"{kind}_START", "messageId": message_id, "role": role}]
    for delta in words(content):
        steps += [{"type": f"{kind}_CONTENT", "messageId": message_id, "delta": delta}, pause]
    return [*steps, {"type": f"{kind}_END", "messageId": message_id}]


def tool_call(call_id: str, name: str, arguments: dict[str, Any], *, parent: str, pause: float = 0.0) -> list[Event | float]:
    """A tool call with its arguments in pieces of six characters."""
    written = json.dumps(arguments, ensure_ascii=False)
    steps: list[Event | float] = [{"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name, "parentMessageId": parent}]
    for at in range(0, len(written), 6):
        steps += [{"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": written[at : at + 6]}, pause]
    return [*steps, {"type": "TOOL_CALL_END", "toolCallId": call_id}]


def tool_result(call_id: str, content: str, *, error: bool = False) -> Event:
    event = {"type": "TOOL_CALL_RESULT", "messageId": f"result-{call_id}", "toolCallId": call_id, "content": content, "role": "tool"}
    return {**event, "metadata": {"error": True}} if error else event


def interrupt(interrupt_id: str, kind: str, **record: Any) -> dict[str, Any]:
    """An open interrupt as the projection shows it: the record is copied into `metadata`."""
    payload = {"type": kind, **record}
    message = {"message": record["message"]} if "message" in record else {}
    reason = "confirmation" if kind == "approval" else kind
    return {"id": interrupt_id, "reason": reason, **message, "metadata": {**payload, "payload": payload}}


def asks(*interrupts: dict[str, Any]) -> Event:
    """The end of a run that waits for answers."""
    return {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": list(interrupts)}}


def saved(*messages: dict[str, Any]) -> Event:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}
