"""Blocks of a model's answer that are neither text, reasoning nor a call for us: what its provider's own tools did, and media."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ag_ui.core import ActivitySnapshotEvent, FunctionCall, ToolCall, ToolCallResultEvent, ToolMessage

from graphs.stream.jsonable import args_text, jsonable, result_text
from graphs.stream.parts import part_from_block

MEDIA_ACTIVITY = "media"
"""`activityType` of an image, audio, video or file that the model made; its content is an AG-UI content part."""
MAX_MEDIA_CHARS = 4_000_000
"""Inline data (base64) beyond this is left out of the activity: clients refuse frames of 10 MB."""


def server_result(message_id: str, block: Mapping[str, Any], owner: str | None) -> ToolCallResultEvent:
    """What a provider's tool (a web search, code execution) returned, as the result of the call that the model made of it."""
    return ToolCallResultEvent(
        message_id=_result_id(message_id, block),
        tool_call_id=block["tool_call_id"],
        content=_result_text(block),
        role="tool",
        metadata={"error": True} if block.get("status") == "error" else None,
        subagent_run_id=owner,
    )


def media_activity(message_id: str, index: int, block: Mapping[str, Any], owner: str | None) -> ActivitySnapshotEvent | None:
    """An image or file of the answer; None where the block has no source that a client could show."""
    part = part_from_block(block)
    if part is None:
        return None
    if part["source"]["type"] == "data" and len(part["source"]["value"]) > MAX_MEDIA_CHARS:
        part = {"type": part["type"], "mimeType": part["source"]["mimeType"], "omitted": "too large"}
    return ActivitySnapshotEvent(
        message_id=f"{message_id}:media:{index}", activity_type=MEDIA_ACTIVITY, content=jsonable(part), subagent_run_id=owner
    )


def server_calls(blocks: Sequence[Mapping[str, Any]]) -> list[ToolCall]:
    """The calls of a stored message that its provider ran itself."""
    made = [block for block in blocks if block["type"] == "server_tool_call" and block.get("id")]
    return [
        ToolCall(id=b["id"], type="function", function=FunctionCall(name=b.get("name") or "unknown", arguments=args_text(b.get("args"))))
        for b in made
    ]


def server_results(message_id: str, blocks: Sequence[Mapping[str, Any]], calls: Sequence[ToolCall]) -> Iterator[ToolMessage]:
    """Their results, one a call, under the ids they were streamed with."""
    waiting = {call.id for call in calls}
    for block in blocks:
        if block["type"] == "server_tool_result" and block.get("tool_call_id") in waiting:
            waiting.discard(block["tool_call_id"])
            text = _result_text(block)
            error = text if block.get("status") == "error" else None
            yield ToolMessage(id=_result_id(message_id, block), role="tool", tool_call_id=block["tool_call_id"], content=text, error=error)


def _result_id(message_id: str, block: Mapping[str, Any]) -> str:
    return f"{message_id}:result:{block['tool_call_id']}"


def _result_text(block: Mapping[str, Any]) -> str:
    output = block.get("output")
    return result_text(output) if output else str(block.get("status") or "")
