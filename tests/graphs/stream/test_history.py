"""Stored messages ⇄ AG-UI messages, both ways."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import Message
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import TypeAdapter

from graphs.stream import messages_from_agui, messages_to_agui, wire_call_ids

MESSAGE: TypeAdapter[Any] = TypeAdapter(Message)


def wire(messages: list[BaseMessage]) -> list[dict[str, Any]]:
    return [m.model_dump(mode="json", by_alias=True) for m in messages_to_agui(messages)]


def ask(*ids: str | None, id: str = "a1", **fields: Any) -> AIMessage:
    return AIMessage(
        fields.pop("content", ""),
        id=id,
        tool_calls=[{"name": "f", "args": {"q": "é"}, "id": i, "type": "tool_call"} for i in ids],
        **fields,
    )


def called(call_id: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "f", "arguments": '{"q":"é"}'}}


PARTS = [
    {"type": "text", "text": "look"},
    {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}},
    {"type": "image", "source": {"type": "url", "value": "https://x/y.png"}},
    {"type": "audio", "source": {"type": "data", "value": "aGk=", "mimeType": "audio/wav"}},
    {"type": "video", "source": {"type": "url", "value": "https://x/y.mp4", "mimeType": "video/mp4"}},
    {"type": "document", "source": {"type": "file", "value": "file-1"}},
]

ROUND_TRIPS: dict[str, dict[str, Any]] = {
    "user": {"id": "1", "role": "user", "content": "hi"},
    "user with media": {"id": "1", "role": "user", "content": PARTS},
    "assistant": {"id": "1", "role": "assistant", "content": "hi"},
    "assistant with calls": {"id": "1", "role": "assistant", "content": "hi", "toolCalls": [called("c1"), called("c2")]},
    "assistant with a call only": {"id": "1", "role": "assistant", "toolCalls": [called("c1")]},
}


@pytest.mark.parametrize("row", ROUND_TRIPS)
def test_round_trip(row: str) -> None:
    """What a client sent comes back as it was, the id too."""
    sent = ROUND_TRIPS[row]
    assert wire(messages_from_agui([MESSAGE.validate_python(sent)])) == [sent]


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ({"role": "system", "content": "s"}, SystemMessage("s", id="1")),
        ({"role": "developer", "content": "s"}, SystemMessage("s", id="1")),
        ({"role": "tool", "toolCallId": "c1", "content": "ok"}, ToolMessage("ok", tool_call_id="c1", id="1")),
        (
            {"role": "tool", "toolCallId": "c1", "content": "", "error": "bad"},
            ToolMessage("bad", tool_call_id="c1", id="1", status="error"),
        ),
        ({"role": "assistant", "toolCalls": [{**called("c"), "function": {"name": "f", "arguments": "{bad"}}]}, None),
        ({"role": "user", "content": []}, HumanMessage([], id="1")),
    ],
)
def test_from_agui(sent: dict[str, Any], stored: BaseMessage | None) -> None:
    """Roles that are history; a frontend tool's `error` is a failed result; bad arguments are kept as `raw`."""
    (got,) = messages_from_agui([MESSAGE.validate_python({"id": "1", **sent})])
    if stored is None:
        assert isinstance(got, AIMessage)
        assert got.tool_calls[0]["args"] == {"raw": "{bad"}
    else:
        assert got == stored


@pytest.mark.parametrize("sent", [{"role": "reasoning", "content": "hm"}, {"role": "activity", "activityType": "x", "content": {}}])
def test_other_roles_are_not_history(sent: dict[str, Any]) -> None:
    """Reasoning and activities are shown, not stored."""
    assert messages_from_agui([MESSAGE.validate_python({"id": "1", **sent})]) == []


def test_arguments_that_are_no_object_are_kept() -> None:
    """As `raw`, since a tool's arguments are an object."""
    call = {**called("c"), "function": {"name": "f", "arguments": "[1]"}}
    (got,) = messages_from_agui([MESSAGE.validate_python({"id": "1", "role": "assistant", "toolCalls": [call]})])
    assert isinstance(got, AIMessage)
    assert got.tool_calls[0]["args"] == {"raw": [1]}


SHOWN: dict[str, tuple[list[BaseMessage], list[dict[str, Any]]]] = {
    "blocks are flattened to text": (
        [AIMessage([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], id="1")],
        [{"id": "1", "role": "assistant", "content": "ab"}],
    ),
    "reasoning is a message of its own, counted by position and not by the provider's index": (
        [AIMessage([{"type": "reasoning", "reasoning": "hm", "index": 7}, {"type": "text", "text": "a", "index": "x"}], id="1")],
        [{"id": "1:reasoning:0", "role": "reasoning", "content": "hm"}, {"id": "1", "role": "assistant", "content": "a"}],
    ),
    "reasoning alone": (
        [AIMessage([{"type": "reasoning", "reasoning": "hm"}], id="1")],
        [{"id": "1:reasoning:0", "role": "reasoning", "content": "hm"}],
    ),
    "empty reasoning is nothing": (
        [AIMessage([{"type": "reasoning", "reasoning": ""}, {"type": "text", "text": "a"}], id="1")],
        [{"id": "1", "role": "assistant", "content": "a"}],
    ),
    "a message without anything is nothing": ([AIMessage("", id="1")], []),
    "system prompts are not shown": ([SystemMessage("s", id="1")], []),
    "a tool message without its call is not shown": ([ToolMessage("x", tool_call_id="c9", id="1")], []),
    "a failed result": (
        [ask("c1"), ToolMessage("bad", tool_call_id="c1", id="t", status="error")],
        [
            {"id": "a1", "role": "assistant", "toolCalls": [called("c1")]},
            {"id": "t", "role": "tool", "content": "bad", "toolCallId": "c1", "error": "bad"},
        ],
    ),
    "a repeated call id": (
        [ask("c1"), ToolMessage("x", tool_call_id="c1", id="t"), ask("c1", id="a2"), ToolMessage("y", tool_call_id="c1", id="u")],
        [
            {"id": "a1", "role": "assistant", "toolCalls": [called("c1")]},
            {"id": "t", "role": "tool", "content": "x", "toolCallId": "c1"},
            {"id": "a2", "role": "assistant", "toolCalls": [called("c1~2")]},
            {"id": "u", "role": "tool", "content": "y", "toolCallId": "c1~2"},
        ],
    ),
    "calls without id": (
        [ask(None, "c", None)],
        [{"id": "a1", "role": "assistant", "toolCalls": [called("call:a1:1"), called("c"), called("call:a1:3")]}],
    ),
    "surrogates": ([AIMessage("\ud83d\ude00\ud800", id="1")], [{"id": "1", "role": "assistant", "content": "\N{GRINNING FACE}\ufffd"}]),
    "surrogates of a person": ([HumanMessage("\ud800", id="1")], [{"id": "1", "role": "user", "content": "\ufffd"}]),
    "text blocks of a person": (
        [HumanMessage([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], id="1")],
        [{"id": "1", "role": "user", "content": "ab"}],
    ),
    "bytes without a type get one": (
        [HumanMessage([{"type": "image", "base64": "aGk="}], id="1")],
        [
            {
                "id": "1",
                "role": "user",
                "content": [{"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "application/octet-stream"}}],
            }
        ],
    ),
    "messages without ids get different ones": (
        [HumanMessage("a"), AIMessage("b")],
        [{"id": "message:0", "role": "user", "content": "a"}, {"id": "message:1", "role": "assistant", "content": "b"}],
    ),
}


@pytest.mark.parametrize("row", SHOWN)
def test_to_agui(row: str) -> None:
    """Each row is what the name says."""
    stored, shown = SHOWN[row]
    assert wire(stored) == shown


def test_which_calls_are_answered() -> None:
    """A result answers the newest call with its id."""
    calls = wire_call_ids([ask("c1", "c2"), ToolMessage("x", tool_call_id="c1"), ask("c1", id="a2")])
    assert [(c.wire, c.answered, c.message_id) for c in calls] == [("c1", True, "a1"), ("c2", False, "a1"), ("c1~2", False, "a2")]
