"""The `custom` channel: CUSTOM for what a node writes, native events through the guard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from tests.support.protocol import Event, custom, delta, end, message, native, project, start, values
from tests.support.streams import StreamRecorder

INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": []}


class Odd:
    def __repr__(self) -> str:
        return "<odd>"


@pytest.mark.parametrize(
    ("written", "name", "value"),
    [
        ({"name": "n", "payload": 1}, "n", 1),
        ({"name": "n", "payload": None}, "n", None),
        ({"name": "n", "a": 1}, "n", {"name": "n", "a": 1}),
        ({"name": 5, "payload": 1}, "custom", 1),
        ({"a": 1}, "custom", {"a": 1}),
        ("text", "custom", "text"),
        ([1], "custom", [1]),
        (None, "custom", None),
        ({"name": "n", "payload": b"\x00\xff"}, "n", "AP8="),
        ({"name": "n", "payload": {"o": Odd(), "s": {2, 1}, "f": float("-inf")}}, "n", {"o": "<odd>", "s": [1, 2], "f": None}),
        ({"name": "agui", "payload": "no event"}, "agui", "no event"),
        ({"name": "agui", "payload": {"no": "type"}}, "agui", {"no": "type"}),
    ],
)
async def test_custom(written: Any, name: str, value: Any, stream_recorder: StreamRecorder) -> None:
    """Name and payload of a record, `custom` and the value otherwise; a null payload is a payload; the event's own time."""
    done = await project([custom(written)])
    expected = [{"type": "CUSTOM", "timestamp": 7, "name": name, "value": value}]
    assert done.agui_events == done.custom_events == expected
    stream_recorder.record("custom", INPUT, done.stream)


def refused(kind: Any, reason: str) -> str:
    return f"CUSTOM name=agui_event_refused value={ {'type': kind, 'reason': reason} }"


NOTE = [native("TEXT_MESSAGE_START", messageId="n", role="assistant"), native("TEXT_MESSAGE_CONTENT", messageId="n", delta="hi")]
NOTE_LINES = ["TEXT_MESSAGE_START messageId=n role=assistant", "TEXT_MESSAGE_CONTENT messageId=n delta=hi"]
WRITTEN: list[Any] = [
    AIMessage("hi", id="n", tool_calls=[{"name": "f", "args": {}, "id": "c1", "type": "tool_call"}]),
    ToolMessage("x", tool_call_id="c1", id="t1"),
]
FINISHED = native("RUN_FINISHED", threadId="t", runId="r")

ROWS: dict[str, tuple[Sequence[Event], Sequence[str]]] = {
    "balanced": ([*NOTE, native("TEXT_MESSAGE_END", messageId="n")], [*NOTE_LINES, "TEXT_MESSAGE_END messageId=n"]),
    "the record itself is the event": (
        [custom({"name": "agui", "type": "TEXT_MESSAGE_START", "messageId": "n"}), native("TEXT_MESSAGE_END", messageId="n")],
        ["TEXT_MESSAGE_START messageId=n", "TEXT_MESSAGE_END messageId=n"],
    ),
    "a field that the protocol does not know is left out": (
        [native("TEXT_MESSAGE_START", messageId="n", shiny=True, rawEvent=None), native("TEXT_MESSAGE_END", messageId="n")],
        ["TEXT_MESSAGE_START messageId=n", "TEXT_MESSAGE_END messageId=n"],
    ),
    "null where a field is optional is no field": (
        [native("TEXT_MESSAGE_START", messageId="n", role=None, metadata=None), native("TEXT_MESSAGE_END", messageId="n")],
        ["TEXT_MESSAGE_START messageId=n", "TEXT_MESSAGE_END messageId=n"],
    ),
    "content that is not open is refused": (
        [NOTE[1]],
        [refused("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT for text 'n', which is not open")],
    ),
    "an end that is not open is refused": (
        [native("STEP_FINISHED", stepName="s")],
        [refused("STEP_FINISHED", "STEP_FINISHED for step 's', which is not open")],
    ),
    "a second start is refused": (
        [*NOTE, NOTE[0]],
        [*NOTE_LINES, refused("TEXT_MESSAGE_START", "TEXT_MESSAGE_START: text 'n' is already open")],
    ),
    "a closed id is not opened again": (
        [NOTE[0], native("TEXT_MESSAGE_END", messageId="n"), NOTE[0]],
        [NOTE_LINES[0], "TEXT_MESSAGE_END messageId=n", refused("TEXT_MESSAGE_START", "TEXT_MESSAGE_START: text 'n' was already sent")],
    ),
    "the model's own message cannot be opened beside it": (
        [start("n"), delta(0, "text", "a"), NOTE[0], end()],
        [
            NOTE_LINES[0],
            "TEXT_MESSAGE_CONTENT messageId=n delta=a",
            refused("TEXT_MESSAGE_START", "TEXT_MESSAGE_START: text 'n' is already open"),
            "TEXT_MESSAGE_END messageId=n",
        ],
    ),
    "RUN_STARTED is ours": (
        [native("RUN_STARTED", threadId="t", runId="r")],
        [refused("RUN_STARTED", "RUN_STARTED is sent by the server alone")],
    ),
    "an unknown type is refused": ([native("THINKING_START")], [refused("THINKING_START", "'THINKING_START' is no AG-UI event")]),
    "a type that is no text is refused": (
        [custom({"name": "agui", "payload": {"type": ["x"]}})],
        [refused(["x"], "['x'] is no AG-UI event")],
    ),
    "a missing field is refused": (
        [native("TEXT_MESSAGE_START")],
        [refused("TEXT_MESSAGE_START", "TEXT_MESSAGE_START: messageId: Field required")],
    ),
    "a result of an unknown call is refused": (
        [native("TOOL_CALL_RESULT", messageId="t1", toolCallId="c9", content="x")],
        [refused("TOOL_CALL_RESULT", "TOOL_CALL_RESULT for 'c9', a call that was never announced")],
    ),
    "a call and its result": (
        [
            native("TOOL_CALL_START", toolCallId="c1", toolCallName="f"),
            native("TOOL_CALL_ARGS", toolCallId="c1", delta="{}"),
            native("TOOL_CALL_RESULT", messageId="t1", toolCallId="c1", content="x"),
            native("TOOL_CALL_RESULT", messageId="t2", toolCallId="c1", content="y"),
        ],
        [
            "TOOL_CALL_START toolCallId=c1 toolCallName=f",
            "TOOL_CALL_ARGS toolCallId=c1 delta={}",
            "TOOL_CALL_END toolCallId=c1",
            "TOOL_CALL_RESULT messageId=t1 toolCallId=c1 content=x",
            refused("TOOL_CALL_RESULT", "TOOL_CALL_RESULT for 'c1', which has its result already"),
        ],
    ),
    "what a node wrote is not said again when the node returns it": (
        [
            *NOTE,
            native("TEXT_MESSAGE_END", messageId="n"),
            native("TOOL_CALL_START", toolCallId="c1", toolCallName="f", parentMessageId="n"),
            native("TOOL_CALL_RESULT", messageId="t1", toolCallId="c1", content="x"),
            message(WRITTEN[0]),
            values(*WRITTEN),
        ],
        [
            *NOTE_LINES,
            "TEXT_MESSAGE_END messageId=n",
            "TOOL_CALL_START toolCallId=c1 toolCallName=f parentMessageId=n",
            "TOOL_CALL_END toolCallId=c1",
            "TOOL_CALL_RESULT messageId=t1 toolCallId=c1 content=x",
        ],
    ),
    "nor are its thoughts": (
        [
            native("REASONING_MESSAGE_START", messageId="n:reasoning:0", role="reasoning"),
            native("REASONING_MESSAGE_END", messageId="n:reasoning:0"),
            message(AIMessage([{"type": "reasoning", "reasoning": "x"}], id="n")),
        ],
        ["REASONING_MESSAGE_START messageId=n:reasoning:0 role=reasoning", "REASONING_MESSAGE_END messageId=n:reasoning:0"],
    ),
    "an empty delta sends nothing": ([NOTE[0], native("TEXT_MESSAGE_CONTENT", messageId="n", delta="")], [NOTE_LINES[0]]),
    # chunks
    "text in chunks": (
        [native("TEXT_MESSAGE_CHUNK", messageId="n", role="assistant", delta="a"), native("TEXT_MESSAGE_CHUNK", messageId="n", delta="b")],
        [NOTE_LINES[0], "TEXT_MESSAGE_CONTENT messageId=n delta=a", "TEXT_MESSAGE_CONTENT messageId=n delta=b"],
    ),
    "a chunk without id goes on with the one before": (
        [native("TEXT_MESSAGE_CHUNK", messageId="n", delta="a"), native("TEXT_MESSAGE_CHUNK", delta="b")],
        ["TEXT_MESSAGE_START messageId=n", "TEXT_MESSAGE_CONTENT messageId=n delta=a", "TEXT_MESSAGE_CONTENT messageId=n delta=b"],
    ),
    "the first chunk needs an id": (
        [native("TEXT_MESSAGE_CHUNK", delta="a")],
        [refused("TEXT_MESSAGE_CHUNK", "TEXT_MESSAGE_CHUNK: messageId is missing")],
    ),
    "reasoning in chunks": (
        [native("REASONING_MESSAGE_CHUNK", messageId="n", delta="a")],
        ["REASONING_MESSAGE_START messageId=n role=reasoning", "REASONING_MESSAGE_CONTENT messageId=n delta=a"],
    ),
    "a call in chunks": (
        [
            native("TOOL_CALL_CHUNK", toolCallId="c1", toolCallName="f", delta="{"),
            native("TOOL_CALL_CHUNK", toolCallId="c1", delta="}"),
            native("TOOL_CALL_CHUNK", toolCallId="c1"),
        ],
        ["TOOL_CALL_START toolCallId=c1 toolCallName=f", "TOOL_CALL_ARGS toolCallId=c1 delta={", "TOOL_CALL_ARGS toolCallId=c1 delta=}"],
    ),
    "the first chunk of a call needs a name": (
        [native("TOOL_CALL_CHUNK", toolCallId="c1", delta="{}")],
        [refused("TOOL_CALL_CHUNK", "TOOL_CALL_START: toolCallName: Field required")],
    ),
    # the end
    "RUN_FINISHED closes what is open, and is the last": (
        [*NOTE, FINISHED, custom("late"), start(), delta(0, "text", "late"), end(), FINISHED],
        [*NOTE_LINES, "TEXT_MESSAGE_END messageId=n", "RUN_FINISHED threadId=t runId=r"],
    ),
    "RUN_ERROR too": ([native("RUN_ERROR", message="x"), FINISHED], ["RUN_ERROR message=x"]),
    # state and activities pass
    "state, activity, raw": (
        [native("STATE_DELTA", delta=[{"op": "add", "path": "/a", "value": 1}]), native("STATE_SNAPSHOT", snapshot={"a": float("nan")})],
        ["STATE_DELTA delta=[{'op': 'add', 'path': '/a', 'value': 1}]", "STATE_SNAPSHOT snapshot={'a': None}"],
    ),
    "raw events are refused": ([native("RAW", event={"a": 1})], [refused("RAW", "RAW is not part of this server's streams")]),
    "a snapshot with a result of no call is refused": (
        [native("MESSAGES_SNAPSHOT", messages=[{"id": "t9", "role": "tool", "toolCallId": "c9", "content": "x"}])],
        [refused("MESSAGES_SNAPSHOT", "MESSAGES_SNAPSHOT: 't9' answers 'c9', a call that it does not hold")],
    ),
    "a sub-agent of nobody is refused": (
        [native("SUBAGENT_STARTED", subagentRunId="b", name="b", parentSubagentRunId="a")],
        [refused("SUBAGENT_STARTED", "SUBAGENT_STARTED: its parent 'a' is not open")],
    ),
    "nothing is appended to a message of the history": (
        [values(HumanMessage("hi", id="h")), native("TEXT_MESSAGE_START", messageId="h", role="assistant")],
        [refused("TEXT_MESSAGE_START", "TEXT_MESSAGE_START: text 'h' was already sent")],
    ),
    "who goes on with an item writes for its owner": (
        [
            native("TEXT_MESSAGE_START", messageId="n"),
            native("TEXT_MESSAGE_CONTENT", ["sub:1"], messageId="n", delta="x"),
            native("TEXT_MESSAGE_END", ["sub:1"], messageId="n"),
        ],
        [
            "TEXT_MESSAGE_START messageId=n",
            "SUBAGENT_STARTED subagentRunId=sub:1 name=sub",
            "TEXT_MESSAGE_CONTENT messageId=n delta=x",
            "TEXT_MESSAGE_END messageId=n",
        ],
    ),
    "a bad patch is refused": (
        [native("STATE_DELTA", delta=[{"op": "add", "path": "a"}])],
        [refused("STATE_DELTA", "STATE_DELTA: delta.0.add.path: String should match pattern '^(/([^/~]|~[01])*)*$'")],
    ),
}


@pytest.mark.parametrize("row", ROWS)
async def test_native(row: str, stream_recorder: StreamRecorder) -> None:
    """Each row is what the name says, and a legal stream. The reason of a refusal names the event."""
    events, expected = ROWS[row]
    done = await project(events)
    assert done.lines == list(expected)
    stream_recorder.record(row, INPUT, done.stream)


async def test_a_result_of_the_historys_call_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """The call waited for an answer since an earlier run; nothing is tried a second time, so nothing is in the log."""
    result = native("TOOL_CALL_RESULT", messageId="t1", toolCallId="c1", content="x")
    done = await project([values(WRITTEN[0]), result, values(*WRITTEN)])
    assert done.lines == ["TOOL_CALL_RESULT messageId=t1 toolCallId=c1 content=x"]
    assert caplog.text == ""


async def test_native_events_are_routed_by_type() -> None:
    """Text and calls on their channels, never on `custom_events`; a refusal is no custom event of the node's either."""
    done = await project(
        [*NOTE, native("TOOL_CALL_START", toolCallId="c1", toolCallName="f"), native("STEP_FINISHED", stepName="s"), custom(1)]
    )
    assert [e["type"] for e in done.message_events] == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]
    assert [e["type"] for e in done.tool_events] == ["TOOL_CALL_START"]
    assert [e["value"] for e in done.custom_events] == [1]


async def test_a_nested_graph_owns_what_it_writes(stream_recorder: StreamRecorder) -> None:
    """`subagentRunId` on events that have one, and not on those that have none."""
    at = ["sub:1"]
    events = [
        native("MESSAGES_SNAPSHOT", at, messages=[]),
        native("TEXT_MESSAGE_START", at, messageId="n"),
        native("RUN_FINISHED", at, threadId="t", runId="r"),
    ]
    done = await project(events)
    assert done.lines == [
        "SUBAGENT_STARTED subagentRunId=sub:1 name=sub",
        "MESSAGES_SNAPSHOT messages=[]",
        "TEXT_MESSAGE_START subagentRunId=sub:1 messageId=n",
        "TEXT_MESSAGE_END subagentRunId=sub:1 messageId=n",
        "SUBAGENT_FINISHED subagentRunId=sub:1",
        "RUN_FINISHED threadId=t runId=r",
    ]
    stream_recorder.record("nested native", INPUT, done.stream)
