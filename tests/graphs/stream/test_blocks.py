"""Blocks of an answer beside text, reasoning and calls: a provider's own tools, images, files; streamed and in a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from graphs.stream import blocks, messages_to_agui
from tests.support.protocol import Event, block, delta, end, finish, message, project, start
from tests.support.streams import StreamRecorder

INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": []}
SEARCH: dict[str, Any] = {"id": "s1", "name": "web_search"}
FOUND: dict[str, Any] = {"tool_call_id": "s1", "status": "success", "output": [{"url": "https://x"}]}
CALL = ["TOOL_CALL_START toolCallId=s1 toolCallName=web_search parentMessageId=m1"]
RESULT = 'TOOL_CALL_RESULT messageId=m1:result:s1 toolCallId=s1 content=[{"url": "https://x"}] role=tool'
MEDIA = "ACTIVITY_SNAPSHOT messageId=m1:media:0 activityType=media content="

ROWS: dict[str, tuple[Sequence[Event], Sequence[str]]] = {
    "a provider's tool whose arguments stream": (
        [
            start(),
            block(0, "server_tool_call_chunk", **SEARCH, args=""),
            delta(0, "args", '{"q":'),
            delta(0, "args", "1}"),
            block(1, "server_tool_result", tool_call_id="s1"),
            block(2, "text", text=""),
            delta(2, "text", "so"),
            finish(0, "server_tool_call", **SEARCH, args={"q": 1}),
            finish(1, "server_tool_result", **FOUND),
            finish(2, "text", text="so"),
            end(),
        ],
        [
            *CALL,
            'TOOL_CALL_ARGS toolCallId=s1 delta={"q":',
            "TOOL_CALL_ARGS toolCallId=s1 delta=1}",
            "TEXT_MESSAGE_START messageId=m1 role=assistant",
            "TEXT_MESSAGE_CONTENT messageId=m1 delta=so",
            "TOOL_CALL_END toolCallId=s1",
            RESULT,
            "TEXT_MESSAGE_END messageId=m1",
        ],
    ),
    "a whole one is announced at its start, its arguments at its finish": (
        [start(), block(0, "server_tool_call", **SEARCH, args={}), finish(0, "server_tool_call", **SEARCH, args={"q": 1}), end()],
        [*CALL, 'TOOL_CALL_ARGS toolCallId=s1 delta={"q":1}', "TOOL_CALL_END toolCallId=s1"],
    ),
    "one whose block becomes its result": (
        [start(), block(0, "server_tool_call", **SEARCH, args={}), finish(0, "server_tool_result", **FOUND), end()],
        [*CALL, "TOOL_CALL_END toolCallId=s1", RESULT],
    ),
    "a failed one, without output": (
        [
            start(),
            finish(0, "server_tool_call", **SEARCH, args={}),
            finish(1, "server_tool_result", tool_call_id="s1", status="error"),
            end(),
        ],
        [
            *CALL,
            "TOOL_CALL_ARGS toolCallId=s1 delta={}",
            "TOOL_CALL_END toolCallId=s1",
            "TOOL_CALL_RESULT metadata={'error': True} messageId=m1:result:s1 toolCallId=s1 content=error role=tool",
        ],
    ),
    "a result of no call, and a call without id, are nothing": (
        [start(), finish(0, "server_tool_result", **FOUND), finish(1, "server_tool_call", id="", name="f", args={}), end()],
        [],
    ),
    "two results of one call are one": (
        [
            start(),
            finish(0, "server_tool_call", **SEARCH, args={}),
            finish(1, "server_tool_result", **FOUND),
            finish(2, "server_tool_result", **FOUND),
            end(),
        ],
        [*CALL, "TOOL_CALL_ARGS toolCallId=s1 delta={}", "TOOL_CALL_END toolCallId=s1", RESULT],
    ),
    "the message ends in the middle of its arguments": (
        [start(), block(0, "server_tool_call_chunk", **SEARCH, args=""), end()],
        [*CALL, "TOOL_CALL_END toolCallId=s1"],
    ),
    "an image by its address": (
        [start(), block(0, "image", url="https://x/a.png"), finish(0, "image", url="https://x/a.png"), end()],
        [MEDIA + "{'type': 'image', 'source': {'type': 'url', 'value': 'https://x/a.png'}}"],
    ),
    "bytes that came in pieces": (
        [
            start(),
            block(0, "audio", mime_type="audio/wav"),
            message({"event": "content-block-delta", "index": 0, "delta": {"type": "data-delta", "data": "aGk="}}),
            finish(0, "audio", mime_type="audio/wav", base64="aGk="),
            end(),
        ],
        [MEDIA + "{'type': 'audio', 'source': {'type': 'data', 'value': 'aGk=', 'mimeType': 'audio/wav'}}"],
    ),
    "a file by its id": (
        [start(), finish(0, "file", file_id="f1"), end()],
        [MEDIA + "{'type': 'document', 'source': {'type': 'file', 'value': 'f1'}}"],
    ),
    "what is too large for a frame is named": (
        [start(), finish(0, "image", mime_type="image/png", base64="A" * (blocks.MAX_MEDIA_CHARS + 1)), end()],
        [MEDIA + "{'type': 'image', 'mimeType': 'image/png', 'omitted': 'too large'}"],
    ),
    "media without a source, and what only its provider understands": (
        [start(), finish(0, "image"), block(1, "non_standard", value={}), finish(1, "non_standard", value={"type": "x"}), end()],
        [],
    ),
    "a whole message of all of it": (
        [
            message(
                AIMessage(
                    [
                        {"type": "image", "url": "https://x/a.png"},
                        {"type": "server_tool_call", **SEARCH, "args": {"q": 1}},
                        {"type": "server_tool_result", **FOUND},
                        {"type": "text", "text": "so"},
                    ],
                    id="m1",
                )
            )
        ],
        [
            MEDIA + "{'type': 'image', 'source': {'type': 'url', 'value': 'https://x/a.png'}}",
            *CALL,
            'TOOL_CALL_ARGS toolCallId=s1 delta={"q":1}',
            "TOOL_CALL_END toolCallId=s1",
            RESULT,
            "TEXT_MESSAGE_START messageId=m1 role=assistant",
            "TEXT_MESSAGE_CONTENT messageId=m1 delta=so",
            "TEXT_MESSAGE_END messageId=m1",
        ],
    ),
}


@pytest.mark.parametrize("row", ROWS)
async def test_blocks(row: str, stream_recorder: StreamRecorder) -> None:
    """Each row is what the name says, and a legal stream."""
    events, expected = ROWS[row]
    done = await project(events)
    assert done.lines == list(expected)
    stream_recorder.record(row, INPUT, done.stream)


def test_a_snapshot_has_what_a_providers_tools_did() -> None:
    """Call and result under the ids they were streamed with; a result without its call, and media, are left out."""
    stored = AIMessage(
        [
            {"type": "server_tool_call", **SEARCH, "args": {"q": 1}},
            {"type": "server_tool_result", **FOUND},
            {"type": "server_tool_result", **FOUND},
            {"type": "server_tool_result", "tool_call_id": "s9", "status": "success"},
            {"type": "image", "url": "https://x/a.png"},
            {"type": "text", "text": "so"},
        ],
        id="m1",
    )
    function = {"name": "web_search", "arguments": '{"q":1}'}
    assert [m.model_dump(by_alias=True, exclude_none=True) for m in messages_to_agui([stored])] == [
        {"id": "m1", "role": "assistant", "content": "so", "toolCalls": [{"id": "s1", "type": "function", "function": function}]},
        {"id": "m1:result:s1", "role": "tool", "content": '[{"url": "https://x"}]', "toolCallId": "s1"},
    ]
    failed = AIMessage(
        [
            {"type": "server_tool_call", **SEARCH, "args": {}},
            {"type": "server_tool_result", "tool_call_id": "s1", "status": "error", "output": "no net"},
        ],
        id="m2",
    )
    assert messages_to_agui([failed])[1].model_dump(by_alias=True, exclude_none=True)["error"] == "no net"
