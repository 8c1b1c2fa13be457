"""What a node may put on its writer: native AG-UI events, right, unbalanced and wrong, and other things."""

from __future__ import annotations

from random import Random
from typing import Any

CUSTOMS: list[Any] = [
    None,
    "x",
    float("nan"),
    b"\xff",
    object(),
    {"name": "n", "payload": None},
    {"name": 3},
    {"payload": {"a": {1}}},
    {"name": "agui"},
    {"name": "agui", "payload": "text"},
]

_MESSAGES = ("n1", "n2", "h1", "u1")
_CALLS = ("nc1", "nc2", "c1", "nobody")
_STEPS = ("model", "mine")
_AGENTS = ("na", "agent:t1")
_PATCHES: list[Any] = [
    [{"op": "add", "path": "/a", "value": 1}],
    [{"op": "replace", "path": "/nowhere/b", "value": 1}],
    [{"op": "remove", "path": "/a"}],
    [{"op": "nonsense"}],
    [],
]
_OUTCOMES: list[Any] = [None, {"type": "success"}, {"type": "cancelled"}, {"type": "success", "pendingToolCallIds": ["c1"]}]


def native_event(rng: Random) -> dict[str, Any]:
    """One event, as a node writes it. The run's end and start are rare: most of a story comes after them otherwise."""
    if rng.random() < 0.04:
        return rng.choice([_run_end(rng), {"type": "RUN_ERROR", "message": "mine"}, {"type": "RUN_STARTED", "threadId": "t", "runId": "x"}])
    make = rng.choice([_text, _text, _think, _call, _call, _step, _agent, _state, _other])
    made = make(rng)
    if rng.random() < 0.1:
        made["subagentRunId"] = rng.choice(["agent:t1", "nobody"])
    if rng.random() < 0.05:
        made["unknownField"] = 1
    return made


def _run_end(rng: Random) -> dict[str, Any]:
    return {"type": "RUN_FINISHED", "threadId": "x", "runId": "y", "outcome": rng.choice(_OUTCOMES)}


def _text(rng: Random) -> dict[str, Any]:
    named = {"messageId": rng.choice(_MESSAGES)}
    return rng.choice(
        [
            {"type": "TEXT_MESSAGE_START", **named, "role": "assistant"},
            {"type": "TEXT_MESSAGE_START", **named, "role": rng.choice(["user", "tool", "system"])},
            {"type": "TEXT_MESSAGE_CONTENT", **named, "delta": rng.choice(["x", ""])},
            {"type": "TEXT_MESSAGE_END", **named},
            {"type": "TEXT_MESSAGE_CHUNK", **rng.choice([named, {}]), "delta": rng.choice(["x", ""]), "role": "assistant"},
        ]
    )


def _think(rng: Random) -> dict[str, Any]:
    named = {"messageId": rng.choice(_MESSAGES)}
    return rng.choice(
        [
            {"type": "REASONING_START", **named},
            {"type": "REASONING_END", **named},
            {"type": "REASONING_MESSAGE_START", **named, "role": "reasoning"},
            {"type": "REASONING_MESSAGE_CONTENT", **named, "delta": rng.choice(["x", ""])},
            {"type": "REASONING_MESSAGE_END", **named},
            {"type": "REASONING_MESSAGE_CHUNK", **rng.choice([named, {}]), "delta": "x"},
            {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": named["messageId"], "encryptedValue": "s"},
        ]
    )


def _call(rng: Random) -> dict[str, Any]:
    named = {"toolCallId": rng.choice(_CALLS)}
    return rng.choice(
        [
            {"type": "TOOL_CALL_START", **named, "toolCallName": "f"},
            {"type": "TOOL_CALL_ARGS", **named, "delta": rng.choice(["1", ""])},
            {"type": "TOOL_CALL_END", **named},
            {"type": "TOOL_CALL_RESULT", **named, "messageId": "nr", "content": "x", "role": "tool"},
            {"type": "TOOL_CALL_CHUNK", **rng.choice([named, {}]), "toolCallName": "f", "delta": "1"},
        ]
    )


def _step(rng: Random) -> dict[str, Any]:
    return {"type": rng.choice(["STEP_STARTED", "STEP_FINISHED"]), "stepName": rng.choice(_STEPS)}


def _agent(rng: Random) -> dict[str, Any]:
    named = {"subagentRunId": rng.choice(_AGENTS)}
    return rng.choice(
        [
            {"type": "SUBAGENT_STARTED", **named, "name": "n", **rng.choice([{}, {"parentSubagentRunId": "agent:t1"}])},
            {"type": "SUBAGENT_FINISHED", **named},
            {"type": "SUBAGENT_ERROR", **named, "message": "x"},
        ]
    )


def _state(rng: Random) -> dict[str, Any]:
    user = {"id": "u1", "role": "user", "content": "hi"}
    orphan = {"id": "t9", "role": "tool", "toolCallId": "c99", "content": "x"}
    activity = {"messageId": rng.choice(["act", "other"]), "activityType": "plan"}
    return rng.choice(
        [
            {"type": "STATE_SNAPSHOT", "snapshot": rng.choice([{}, {"a": 1}, "text", None])},
            {"type": "STATE_DELTA", "delta": rng.choice(_PATCHES)},
            {"type": "MESSAGES_SNAPSHOT", "messages": rng.choice([[user], [user, orphan]])},
            {"type": "ACTIVITY_SNAPSHOT", **activity, "content": {"a": 1}},
            {"type": "ACTIVITY_DELTA", **activity, "patch": rng.choice(_PATCHES)},
        ]
    )


def _other(rng: Random) -> dict[str, Any]:
    return rng.choice(
        [
            {"type": "CUSTOM", "name": "n", "value": rng.choice([1, float("nan"), None])},
            {"type": "RAW", "event": {"a": 1}},
            {"type": "NOPE"},
            {"type": None},
            {"type": 7},
            {"type": "TEXT_MESSAGE_START"},
            {"type": "STEP_STARTED", "stepName": ""},
        ]
    )
