"""A MESSAGES_SNAPSHOT that a node writes while something streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.protocol import Event, call, delta, end, native, project, start
from tests.support.streams import StreamRecorder

INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": []}
CALLED = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}
OPEN = [start(), call(0, "c1"), delta(1, "text", "a")]
OPEN_LINES = [
    "TOOL_CALL_START toolCallId=c1 toolCallName=f parentMessageId=m1",
    "TEXT_MESSAGE_START messageId=m1 role=assistant",
    "TEXT_MESSAGE_CONTENT messageId=m1 delta=a",
]
REASONING_LINES = [
    "REASONING_MESSAGE_START messageId=m1:reasoning:0 role=reasoning",
    "REASONING_MESSAGE_CONTENT messageId=m1:reasoning:0 delta=a",
]


def snapshot_of(*messages: Any) -> Event:
    return native("MESSAGES_SNAPSHOT", messages=list(messages))


def refused(what: str) -> str:
    value = {"type": "MESSAGES_SNAPSHOT", "reason": f"MESSAGES_SNAPSHOT: {what} is open, and it does not hold it"}
    return f"CUSTOM name=agui_event_refused value={value}"


ROWS: dict[str, tuple[Sequence[Event], Sequence[str]]] = {
    "a snapshot that holds what is open": (
        [*OPEN, snapshot_of({"id": "m1", "role": "assistant", "content": "a", "toolCalls": [CALLED]}), delta(1, "text", "b"), end()],
        [
            *OPEN_LINES,
            f"MESSAGES_SNAPSHOT messages=[{{'id': 'm1', 'role': 'assistant', 'content': 'a', 'toolCalls': [{CALLED}]}}]",
            "TEXT_MESSAGE_CONTENT messageId=m1 delta=b",
            "TEXT_MESSAGE_END messageId=m1",
            "TOOL_CALL_END toolCallId=c1",
        ],
    ),
    "a snapshot without the open text": (
        [*OPEN, snapshot_of({"id": "m2", "role": "assistant", "content": "a", "toolCalls": [CALLED]})],
        [*OPEN_LINES, refused("text 'm1'")],
    ),
    "a snapshot without the open call": (
        [*OPEN, snapshot_of({"id": "m1", "role": "assistant", "content": "a"})],
        [*OPEN_LINES, refused("call 'c1'")],
    ),
    "a snapshot that speaks of other reasoning than the open": (
        [start(), delta(0, "reasoning", "a"), snapshot_of({"id": "q", "role": "reasoning", "content": "b"})],
        [
            *REASONING_LINES,
            refused("reasoning 'm1:reasoning:0'"),
        ],
    ),
    "a snapshot that does not speak of reasoning": (
        [start(), delta(0, "reasoning", "a"), snapshot_of(), delta(0, "reasoning", "b"), end()],
        [
            *REASONING_LINES,
            "MESSAGES_SNAPSHOT messages=[]",
            "REASONING_MESSAGE_CONTENT messageId=m1:reasoning:0 delta=b",
            "REASONING_MESSAGE_END messageId=m1:reasoning:0",
        ],
    ),
}


@pytest.mark.parametrize("row", ROWS)
async def test_native_snapshots(row: str, stream_recorder: StreamRecorder) -> None:
    """Sent where clients can go on with what is open, else refused by name; a legal stream in any case."""
    events, expected = ROWS[row]
    done = await project(events)
    assert done.lines == list(expected)
    # a snapshot without the streamed message is not the state: that stream counts as one that failed
    held = [message["id"] for e in done.agui_events if e["type"] == "MESSAGES_SNAPSHOT" for message in e["messages"]]
    stream_recorder.record(row, INPUT, done.stream if held else done.failed)
