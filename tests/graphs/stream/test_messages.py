"""The `messages` channel, row by row: model events in, AG-UI events out, through a real mux."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from graphs.stream import AguiTransformer
from tests.support.protocol import Event, block, call, delta, end, finish, message, project, start, tool, values
from tests.support.streams import StreamRecorder

INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": []}
TEXT = [
    "TEXT_MESSAGE_START messageId=m1 role=assistant",
    "TEXT_MESSAGE_CONTENT messageId=m1 delta=a",
    "TEXT_MESSAGE_END messageId=m1",
]
THINK = [
    "REASONING_MESSAGE_START messageId=m1:reasoning:0 role=reasoning",
    "REASONING_MESSAGE_CONTENT messageId=m1:reasoning:0 delta=hm",
    "REASONING_MESSAGE_END messageId=m1:reasoning:0",
]
SIGNED = "REASONING_ENCRYPTED_VALUE subtype=message entityId=m1:reasoning:0 encryptedValue=sig"


def made(call_id: str, *args: str, name: str = "f", parent: str = "m1") -> list[str]:
    return [
        f"TOOL_CALL_START toolCallId={call_id} toolCallName={name} parentMessageId={parent}",
        *[f"TOOL_CALL_ARGS toolCallId={call_id} delta={piece}" for piece in args],
        f"TOOL_CALL_END toolCallId={call_id}",
    ]


def atomic(index: int, call_id: str | None, args: Any, run: str = "r1", kind: str = "tool_call") -> list[Event]:
    content = {"id": call_id, "name": "f", "args": args}
    return [block(index, kind, run, **{**content, "args": {}}), finish(index, kind, run, **content)]


ROWS: dict[str, tuple[Sequence[Event], Sequence[str]]] = {
    "a message with nothing to say leaves no bubble": ([start(), end()], []),
    "a turn with only calls leaves no bubble": (
        [start(), call(0, "c1"), delta(0, "args", "{}"), finish(0, "tool_call", id="c1", name="f", args={}), end()],
        made("c1", "{}"),
    ),
    "the first text opens the message": ([start(), block(0, "text", text=""), delta(0, "text", "a"), end()], TEXT),
    "empty text sends nothing": ([start(), delta(0, "text", ""), delta(0, "text", "a"), delta(0, "text", ""), end()], TEXT),
    "text in a block's start counts": ([start(), block(0, "text", text="a"), finish(0, "text", text="a"), end()], TEXT),
    "text that came only with the finish counts": ([start(), finish(0, "text", text="a"), end()], TEXT),
    "streamed text is not sent again at the finish": ([start(), delta(0, "text", "a"), finish(0, "text", text="a"), end()], TEXT),
    "a message cut short is closed at the end": ([start(), delta(0, "text", "a")], TEXT[:2]),
    "an error of the model closes what is open": (
        [start(), delta(0, "text", "a"), call(1, "c1"), delta(1, "args", '{"a'), message({"event": "error", "message": "401 key sk-x"})],
        [*TEXT[:2], *made("c1", '{"a')[:2], TEXT[2], made("c1")[-1]],
    ),
    "events without a message are nobody's": ([delta(0, "text", "a"), end(), block(0, "reasoning", reasoning="x")], []),
    "another kind of event is ignored": ([start(), message({"event": "news"}), delta(0, "text", "a"), end()], TEXT),
    "a delta of another kind is ignored": ([start(), delta(0, "data", "xx"), delta(0, "text", "a"), end()], TEXT),
    "a message of another role is not shown": ([start(role="human"), delta(0, "text", "secret prompt"), end()], []),
    "a message without id has one of its run": (
        [start(""), delta(0, "text", "a"), end()],
        [line.replace("m1", "lc_run--r1") for line in TEXT],
    ),
    "an emoji cut in two by the provider stays text": (
        [start(), delta(0, "text", "\ud83d"), delta(0, "text", "\ude00"), delta(0, "text", "\ud83d\ude00"), end()],
        [
            TEXT[0],
            *[f"TEXT_MESSAGE_CONTENT messageId=m1 delta={piece}" for piece in ("\ufffd", "\ufffd", "\N{GRINNING FACE}")],
            TEXT[2],
        ],
    ),
    # reasoning
    "reasoning ends when the text starts, not at its own finish": (
        [
            start(),
            block(0, "reasoning", reasoning=""),
            delta(0, "reasoning", "hm"),
            block(1, "text", text=""),
            delta(1, "text", "a"),
            finish(0, "reasoning", reasoning="hm"),
            finish(1, "text", text="a"),
            end(),
        ],
        [*THINK, *TEXT],
    ),
    "a reasoning delta without a block start opens one": (
        [start(), delta(0, "reasoning", "hm"), delta(1, "text", "a"), end()],
        THINK + TEXT,
    ),
    "reasoning goes on after text under a new id": (
        [
            start(),
            *[e for _ in range(3) for e in (delta(0, "reasoning", "hm"), delta(1, "text", "a"))],
            end(),
        ],
        [
            *THINK,
            *TEXT[:2],
            *[line.replace(":0", ":0.1") for line in THINK],
            TEXT[1],
            *[line.replace(":0", ":0.2") for line in THINK],
            TEXT[1],
            TEXT[2],
        ],
    ),
    "two reasoning blocks are two messages": (
        [start(), delta(0, "reasoning", "hm"), delta(1, "reasoning", "hm"), end()],
        [*THINK, *[line.replace(":0", ":1") for line in THINK]],
    ),
    "a block of another kind ends reasoning": (
        [start(), delta(0, "reasoning", "hm"), block(1, "image", url="x"), delta(2, "text", "a"), end()],
        THINK + TEXT,
    ),
    "a call ends reasoning": (
        [start(), delta(0, "reasoning", "hm"), call(1, "c1"), finish(1, "tool_call", id="c1", name="f", args={}), end()],
        [*THINK, *made("c1", "{}")],
    ),
    "the finish of reasoning ends it": ([start(), delta(0, "reasoning", "hm"), finish(0, "reasoning", reasoning="hm"), end()], THINK),
    "reasoning that came only with the finish counts": ([start(), finish(0, "reasoning", reasoning="hm"), end()], THINK),
    "an empty reasoning delta sends nothing": ([start(), delta(0, "reasoning", ""), delta(0, "text", "a"), end()], TEXT),
    "a signature comes late, after the END": (
        [
            start(),
            delta(0, "reasoning", "hm"),
            delta(1, "text", "a"),
            finish(0, "reasoning", reasoning="hm", extras={"signature": "sig"}),
            end(),
        ],
        [*THINK, *TEXT[:2], SIGNED, TEXT[2]],
    ),
    "a signature without any text has a message to sign": (
        [start(), finish(0, "reasoning", reasoning="", extras={"signature": "sig"}), end()],
        [THINK[0], THINK[2], SIGNED],
    ),
    "message-finish closes reasoning, text, calls, in that order": (
        [start(), delta(1, "text", "a"), call(2, "c1"), delta(0, "reasoning", "hm"), end()],
        [*TEXT[:2], made("c1")[0], *THINK, TEXT[2], made("c1")[1]],
    ),
    # tool calls
    "arguments in pieces": (
        [start(), call(0, "c1"), delta(0, "args", '{"a":'), delta(0, "args", "1}"), finish(0, "tool_call", id="c1", args={"a": 1}), end()],
        made("c1", '{"a":', "1}"),
    ),
    "calls interleave by block index": (
        [
            start(),
            call(0, "c1"),
            call(1, "c2"),
            delta(1, "args", "["),
            delta(0, "args", "{"),
            delta(1, "args", "]"),
            delta(0, "args", "}"),
            end(),
        ],
        [
            made("c1")[0],
            made("c2")[0],
            "TOOL_CALL_ARGS toolCallId=c2 delta=[",
            "TOOL_CALL_ARGS toolCallId=c1 delta={",
            "TOOL_CALL_ARGS toolCallId=c2 delta=]",
            "TOOL_CALL_ARGS toolCallId=c1 delta=}",
            made("c1")[1],
            made("c2")[1],
        ],
    ),
    "arguments in the block's start": (
        [start(), block(0, "tool_call_chunk", id="c1", name="f", args='{"a":1}'), finish(0, "tool_call", id="c1", args={"a": 1}), end()],
        made("c1", '{"a":1}'),
    ),
    "a call in one block": ([start(), *atomic(0, "c1", {"a": "é"}), end()], made("c1", '{"a":"é"}')),
    "a finish without a start": ([start(), finish(0, "tool_call", id="c1", name="f", args={}), end()], made("c1", "{}")),
    "a streamed call without any argument": ([start(), call(0, "c1"), finish(0, "tool_call", id="c1", args={}), end()], made("c1", "{}")),
    "a name that comes late": (
        [start(), call(0, "c1", None), delta(0, "args", "{}"), finish(0, "tool_call", id="c1", name="f", args={}), end()],
        made("c1", "{}"),
    ),
    "no name at all": (
        [start(), *[atomic(0, "c1", {})[0], finish(0, "tool_call", id="c1", name="", args={})], end()],
        made("c1", "{}", name="unknown"),
    ),
    "an id that comes late": (
        [start(), call(0, None), delta(0, "args", "{}"), finish(0, "tool_call", id="c9", name="f", args={}), end()],
        made("c9", "{}"),
    ),
    "no id: one is made of the message and the position": (
        [
            start(),
            call(0, None),
            delta(0, "args", "{}"),
            finish(0, "tool_call", id="", name="f", args={}),
            *atomic(1, None, {"b": 2}),
            end(),
        ],
        [*made("call:m1:1", "{}"), *made("call:m1:2", '{"b":2}')],
    ),
    "the position counts calls in the order of their blocks": (
        [
            start(),
            call(0, ""),
            call(1, "c2"),
            finish(0, "tool_call", id="", name="f", args={}),
            finish(1, "tool_call", id="c2", args={}),
            end(),
        ],
        [made("c2")[0], *made("call:m1:1", "{}"), *made("c2", "{}")[1:]],
    ),
    "a repeated id in a later turn": (
        [start(), *atomic(0, "c1", {}), end(), start("m2", "r2"), *atomic(0, "c1", {}, "r2"), end("r2")],
        [*made("c1", "{}"), *made("c1~2", "{}", parent="m2")],
    ),
    "bad JSON is sent as the model wrote it, and closed": (
        [start(), call(0, "c1"), delta(0, "args", "{bad"), finish(0, "invalid_tool_call", id="c1", name="f", args="{bad"), end()],
        made("c1", "{bad"),
    ),
    "bad JSON in one block without id": (
        [start(), *atomic(0, None, "{bad", kind="invalid_tool_call"), *atomic(1, None, {}), end()],
        [*made("call:m1:0:invalid", "{bad"), *made("call:m1:1", "{}")],
    ),
    "a call the stream never finished is closed with its message": (
        [start(), call(0, "c1"), delta(0, "args", "{}"), end()],
        made("c1", "{}"),
    ),
    # whole messages
    "a whole message is the same events": (
        [
            message(
                AIMessage(
                    [{"type": "reasoning", "reasoning": "hm", "extras": {"signature": "sig"}}, {"type": "text", "text": "a"}],
                    id="m1",
                    tool_calls=[{"name": "f", "args": {"q": 1}, "id": "c1", "type": "tool_call"}],
                    invalid_tool_calls=[{"name": "f", "args": "{bad", "id": "c2", "error": None, "type": "invalid_tool_call"}],
                )
            )
        ],
        [*THINK, SIGNED, *TEXT[:2], *made("c1", '{"q":1}'), *made("c2", "{bad"), TEXT[2]],
    ),
    "a whole message of plain text": ([message(AIMessage("a", id="m1"))], TEXT),
    "a message already streamed is not sent twice": (
        [
            start(),
            delta(0, "text", "a"),
            end(),
            message(AIMessage("a", id="m1")),
            start("m1", "r2"),
            delta(0, "text", "b", "r2"),
            end("r2"),
        ],
        TEXT,
    ),
    "a message of the history that a node returns again is not sent": (
        [values(AIMessage("old", id="m1")), message(AIMessage("new", id="m1"))],
        [],
    ),
    "a whole message without id cannot be known again: it waits for the snapshot": ([message(AIMessage("a"))], []),
    "what people, systems and tools say is not the model's": (
        [message(m) for m in (HumanMessage("h", id="1"), SystemMessage("s", id="2"), ToolMessage("t", tool_call_id="c1", id="3"))],
        [],
    ),
    # two models at once
    "two models at once never mix": (
        [
            start("m1", "r1"),
            start("m2", "r2"),
            delta(0, "text", "a", "r1"),
            delta(0, "reasoning", "hm", "r2"),
            delta(0, "text", "a", "r1"),
            call(1, "c1", run="r2"),
            delta(1, "args", "{}", "r2"),
            end("r1"),
            end("r2"),
        ],
        [
            *TEXT[:2],
            *[line.replace("m1", "m2") for line in THINK[:2]],
            TEXT[1],
            THINK[2].replace("m1", "m2"),
            *made("c1", "{}", parent="m2")[:2],
            TEXT[2],
            made("c1")[-1],
        ],
    ),
}


@pytest.mark.parametrize("row", ROWS)
async def test_messages(row: str, stream_recorder: StreamRecorder) -> None:
    """Each row is what the name says, and a legal stream."""
    events, expected = ROWS[row]
    done = await project(events)
    assert done.lines == list(expected)
    stream_recorder.record(row, INPUT, done.failed if "{bad" in str(expected) or "error" in row else done.stream)


async def test_a_resumed_run_does_not_announce_again(stream_recorder: StreamRecorder) -> None:
    """A call of the history gets its result and no second START; the next call with that id is another call."""
    history = [
        {"id": "m0", "role": "assistant", "toolCalls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
    ]
    again = [start("m9"), *atomic(0, "c1", {}), end()]
    done = await project(
        [tool("started", tool_name="f", input={}), tool("finished", output=ToolMessage("ok", tool_call_id="c1", id="t1")), *again],
        AguiTransformer(announced=frozenset({"c1"})),
    )
    assert done.lines == ["TOOL_CALL_RESULT messageId=t1 toolCallId=c1 content=ok role=tool", *made("c1~2", "{}", parent="m9")]
    stream_recorder.record("resumed", {**INPUT, "messages": history}, done.stream)


async def test_channels_hold_what_their_names_say() -> None:
    """Text on `message_events` and never reasoning, calls and results on `tool_events`, everything on `agui_events`."""
    done = await project(
        [start(), delta(0, "reasoning", "hm"), delta(1, "text", "a"), *atomic(2, "c1", {}), end(), tool("finished", output="ok")]
    )
    assert {e["type"][:4] for e in done.message_events} == {"TEXT"}
    assert [e["type"] for e in done.tool_events] == ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"]
    assert done.custom_events == []
    assert len(done.agui_events) == 3 + len(done.message_events) + len(done.tool_events)
