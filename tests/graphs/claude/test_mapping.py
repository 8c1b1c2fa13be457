"""The SDK's own message types → native events, and the messages that the node returns under the same ids."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from claude_agent_sdk import AssistantMessage, SystemMessage, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock, UserMessage
from claude_agent_sdk.types import RateLimitEvent, RateLimitInfo, StreamEvent
from langchain_core.messages import AIMessage

from graphs.claude.mapping import Reply
from tests.support.protocol import line


def event(kind: str, **fields: Any) -> StreamEvent:
    return StreamEvent(uuid="u", session_id="s", event={"type": kind, **fields})


def start(message_id: str = "m") -> StreamEvent:
    return event("message_start", message={"id": message_id})


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any], stop: bool = True) -> list[StreamEvent]:
    pieces = [event("content_block_delta", index=index, delta=delta) for delta in deltas]
    end = [event("content_block_stop", index=index)] if stop else []
    return [event("content_block_start", index=index, content_block=content), *pieces, *end]


def text(index: int, *pieces: str, stop: bool = True) -> list[StreamEvent]:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces), stop=stop)


def thinking(index: int, *pieces: str) -> list[StreamEvent]:
    signed = {"type": "signature_delta", "signature": "sig"}
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    return block(index, {"type": "thinking", "thinking": "", "signature": ""}, *deltas, signed)


def call(index: int, *pieces: str, initial: dict[str, Any] | None = None, call_id: str = "c1") -> list[StreamEvent]:
    deltas = ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
    return block(index, {"type": "tool_use", "id": call_id, "name": "Read", "input": initial or {}}, *deltas)


def result(content: Any, *, is_error: bool | None = None, call_id: str = "c1", parent: str | None = None) -> UserMessage:
    return UserMessage([ToolResultBlock(call_id, content, is_error)], parent_tool_use_id=parent)


def whole(*content: Any, message_id: str | None = "m", **fields: Any) -> AssistantMessage:
    return AssistantMessage(list(content), "claude", message_id=message_id, **fields)


def said(message_id: str, words: str) -> list[str]:
    return [
        f"TEXT_MESSAGE_START messageId={message_id} role=assistant",
        f"TEXT_MESSAGE_CONTENT messageId={message_id} delta={words}",
        f"TEXT_MESSAGE_END messageId={message_id}",
    ]


END = [event("message_delta", delta={"stop_reason": "end_turn"}), event("message_stop")]
TEXT = said("m", "Hi")
EMPTY_ARGS = ["TOOL_CALL_ARGS toolCallId=c1 delta={}", "TOOL_CALL_END toolCallId=c1"]
CALL = "TOOL_CALL_START toolCallId=c1 toolCallName=Read parentMessageId=m"
ARGS = ['TOOL_CALL_ARGS toolCallId=c1 delta={"a":', "TOOL_CALL_ARGS toolCallId=c1 delta= 1}", "TOOL_CALL_END toolCallId=c1"]
THOUGHT = [
    "REASONING_MESSAGE_START messageId=m:reasoning:0 role=reasoning",
    "REASONING_MESSAGE_CONTENT messageId=m:reasoning:0 delta=Hm",
    "REASONING_MESSAGE_END messageId=m:reasoning:0",
]

ROWS: dict[str, tuple[Sequence[Any], Sequence[str], Sequence[str]]] = {
    "text": ([start(), *text(0, "Hi"), *END], TEXT, ["m: Hi"]),
    "thinking, without its signature": ([start(), *thinking(0, "Hm"), *text(1, "Hi"), *END], [*THOUGHT, *TEXT], ["m: (Hm) Hi"]),
    "an empty block shows nothing": ([start(), *thinking(0), *text(1), *END], [], []),
    "a call's input in pieces": ([start(), *call(0, '{"a":', " 1}"), *END], [CALL, *ARGS], ['m: Read({"a": 1})']),
    "the initial input, where no piece came": (
        [start(), *call(0, initial={"a": 1}), *END],
        [CALL, 'TOOL_CALL_ARGS toolCallId=c1 delta={"a": 1}', "TOOL_CALL_END toolCallId=c1"],
        ['m: Read({"a": 1})'],
    ),
    "input that is no JSON is kept as it was": (
        [start(), *call(0, "{bad"), *END],
        [CALL, "TOOL_CALL_ARGS toolCallId=c1 delta={bad", "TOOL_CALL_END toolCallId=c1"],
        ['m: Read({"raw": "{bad"})'],
    ),
    "a second text of one message is a message of its own": (
        [start(), *text(0, "Hi"), *text(1, "Yo"), *END],
        [
            *TEXT,
            "TEXT_MESSAGE_START messageId=m:1 role=assistant",
            "TEXT_MESSAGE_CONTENT messageId=m:1 delta=Yo",
            "TEXT_MESSAGE_END messageId=m:1",
        ],
        ["m: Hi", "m:1: Yo"],
    ),
    "a whole message after its events says nothing": (
        [start(), *text(0, "Hi", stop=False), whole(TextBlock("Hi")), event("content_block_stop", index=0), *END, whole(TextBlock("Hi"))],
        TEXT,
        ["m: Hi"],
    ),
    "a whole message where nothing was streamed": (
        [whole(ThinkingBlock("Hm", "sig")), whole(TextBlock("Hi")), whole(ToolUseBlock("c1", "Read", {"a": 1}))],
        [*THOUGHT, *TEXT, CALL, 'TOOL_CALL_ARGS toolCallId=c1 delta={"a": 1}', "TOOL_CALL_END toolCallId=c1"],
        ['m: (Hm) Hi Read({"a": 1})'],
    ),
    "whole messages of two ids are two": (
        [whole(TextBlock("Hi")), whole(TextBlock("Yo"), message_id="n")],
        [
            *TEXT,
            "TEXT_MESSAGE_START messageId=n role=assistant",
            "TEXT_MESSAGE_CONTENT messageId=n delta=Yo",
            "TEXT_MESSAGE_END messageId=n",
        ],
        ["m: Hi", "n: Yo"],
    ),
    "a result, once": (
        [start(), *call(0, "{}"), *END, result("ok"), result("again")],
        [
            CALL,
            *EMPTY_ARGS,
            "TOOL_CALL_RESULT toolCallId=c1 content=ok role=tool",
        ],
        ["m: Read({})", "c1: ok"],
    ),
    "a failed result": (
        [result([{"type": "text", "text": "no"}, {"type": "image", "source": {}}], is_error=True)],
        ["TOOL_CALL_RESULT toolCallId=c1 content=no\n[image] role=tool metadata={'error': True}"],
        ["c1: no\n[image] (error)"],
    ),
    "an empty result": ([result(None)], ["TOOL_CALL_RESULT toolCallId=c1 content= role=tool"], ["c1: "]),
    "a result of a call that the thread has one of": ([result("old", call_id="known")], [], []),
    "a result that comes before its message has ended stands behind it": (
        [start(), *call(0, "{}"), result("ok"), *text(1, "Hi"), *END],
        [
            CALL,
            *EMPTY_ARGS,
            "TOOL_CALL_RESULT toolCallId=c1 content=ok role=tool",
            *TEXT,
        ],
        ["m: Hi Read({})", "c1: ok"],
    ),
    "a message that broke off is closed and not kept": (
        [start("x"), *text(0, "Ha", stop=False), start(), *text(0, "Hi"), *END],
        [
            "TEXT_MESSAGE_START messageId=x role=assistant",
            "TEXT_MESSAGE_CONTENT messageId=x delta=Ha",
            "TEXT_MESSAGE_END messageId=x",
            *TEXT,
        ],
        ["m: Hi"],
    ),
    "a cut stream, whose message the CLI itself stops": (
        [start("x"), *text(0, "Ha"), event("message_stop"), start(), *text(0, "Hi"), *END],
        [*said("x", "Ha"), *TEXT],
        ["m: Hi"],
    ),
    "a cut one of two texts, none of which is kept": (
        [start("x"), *text(0, "Ha"), *call(1, "{}"), *text(2, "Ho"), event("message_stop"), start(), *text(0, "Hi"), *END],
        [
            *said("x", "Ha"),
            "TOOL_CALL_START toolCallId=c1 toolCallName=Read parentMessageId=x",
            *EMPTY_ARGS,
            *said("x:2", "Ho"),
            *TEXT,
        ],
        ["m: Hi"],
    ),
    "a result of a call before a second text that stays empty": (
        [start(), *text(0, "Hi"), *call(1, "{}"), *text(2, stop=False), result("ok"), *END],
        [*TEXT, CALL, *EMPTY_ARGS, "TOOL_CALL_RESULT toolCallId=c1 content=ok role=tool"],
        ["m: Hi Read({})", "c1: ok"],
    ),
    "one that breaks off at the end too": ([start(), *text(0, "Hi", stop=False)], TEXT, []),
    "the CLI's note about a failed call of the API is no reply": ([whole(TextBlock("API Error: 529"), error="server_error")], [], []),
    "what a sub-agent says is its own": (
        [
            whole(TextBlock("Hi"), parent_tool_use_id="t"),
            result("ok", parent="t"),
            StreamEvent("u", "s", start().event, "t"),
            *text(0, "Hi"),
        ],
        [],
        [],
    ),
    "what is no part of a reply": (
        [
            SystemMessage("init", {}),
            RateLimitEvent(RateLimitInfo("allowed"), "u", "s"),
            UserMessage("typed"),
            event("ping"),
            *text(0, "of no message"),
            start(),
            *block(0, {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
            event("content_block_delta", index=7, delta={"type": "text_delta", "text": "of no block"}),
            *END,
        ],
        [],
        [],
    ),
}


def kept(message: Any) -> str:
    if not isinstance(message, AIMessage):
        return f"{message.tool_call_id}: {message.text}{' (error)' if message.status == 'error' else ''}"
    thoughts = [f"({b['reasoning']})" for b in message.content_blocks if b["type"] == "reasoning"]
    calls = [f"{c['name']}({json.dumps(c['args'])})" for c in message.tool_calls]
    return f"{message.id}: {' '.join([*thoughts, *([message.text] if message.text else []), *calls])}"


@pytest.mark.parametrize("row", ROWS)
def test_mapping(row: str) -> None:
    """Events and kept messages of each row; a result's event has the id of its message."""
    messages, events, expected = ROWS[row]
    reply = Reply(answered=["known"])
    mapped = [e for message in messages for e in reply.map(message)] + list(reply.end())
    assert [line({k: v for k, v in e.items() if e["type"] != "TOOL_CALL_RESULT" or k != "messageId"}) for e in mapped] == list(events)
    assert [kept(message) for message in reply.messages] == list(expected)
    results = [m.id for m in reply.messages if m.type == "tool"]
    assert [e["messageId"] for e in mapped if e["type"] == "TOOL_CALL_RESULT"] == results
