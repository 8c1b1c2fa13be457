"""Legal streams, and streams broken in one place each with the rules that must notice: the table that tests the checker itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Event = dict[str, Any]
Events = list[Event]

USER: Event = {"id": "u1", "role": "user", "content": "hi"}


def call(id: str, arguments: str = '{"q":1}') -> Event:
    return {"id": id, "type": "function", "function": {"name": "search", "arguments": arguments}}


ASKED: Event = {"id": "a1", "role": "assistant", "toolCalls": [call("c1")]}
ANSWERED: Event = {"id": "m1", "role": "tool", "toolCallId": "c1", "content": "found"}
SAID: Event = {"id": "a2", "role": "assistant", "content": "你好, world"}
THOUGHT: Event = {"id": "a1:reasoning:0", "role": "reasoning", "content": "hm"}

PLAIN: Event = {"threadId": "t", "runId": "r", "messages": [USER], "state": {}}
CURRENT: Event = {**PLAIN, "protocolVersion": "1.0"}
FRONTEND: Event = {**CURRENT, "tools": [{"name": "search", "description": "", "parameters": {"type": "object"}}]}
RESUME: Event = {**CURRENT, "messages": [USER, ASKED], "resume": [{"interruptId": "i1", "status": "resolved", "payload": {"value": "x"}}]}
BARE_RESUME: Event = {**RESUME, "messages": []}
FOLLOW_UP: Event = {**PLAIN, "messages": [USER, ASKED, ANSWERED, SAID, {**USER, "id": "u2"}]}

STARTED: Event = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}
FINISHED: Event = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "success"}}
FAILED: Event = {"type": "RUN_ERROR", "message": "no", "code": "AGENT_INTERNAL"}
CANCELLED: Event = {**FINISHED, "outcome": {"type": "cancelled"}}
PENDING: Event = {**FINISHED, "outcome": {"type": "success", "pendingToolCallIds": ["c1"]}}
T_START: Event = {"type": "TEXT_MESSAGE_START", "messageId": "a2", "role": "assistant"}
T_CONTENT: Event = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a2", "delta": "你好, world"}
T_END: Event = {"type": "TEXT_MESSAGE_END", "messageId": "a2"}
TEXT: Events = [T_START, {**T_CONTENT, "delta": "你好, "}, {**T_CONTENT, "delta": "world"}, T_END]
C_START: Event = {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "search", "parentMessageId": "a1"}
C_ARGS: Event = {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": '{"q":1}'}
C_END: Event = {"type": "TOOL_CALL_END", "toolCallId": "c1"}
CALL: Events = [C_START, {**C_ARGS, "delta": '{"q":'}, {**C_ARGS, "delta": "1}"}, C_END]
BAD_CALL: Events = [C_START, {**C_ARGS, "delta": '{"q":'}, C_END]
RESULT: Event = {"type": "TOOL_CALL_RESULT", "messageId": "m1", "toolCallId": "c1", "content": "found", "role": "tool"}
R_START: Event = {"type": "REASONING_MESSAGE_START", "messageId": "a1:reasoning:0", "role": "reasoning"}
R_CONTENT: Event = {"type": "REASONING_MESSAGE_CONTENT", "messageId": "a1:reasoning:0", "delta": "hm"}
R_END: Event = {"type": "REASONING_MESSAGE_END", "messageId": "a1:reasoning:0"}
REASONING: Events = [R_START, R_CONTENT, R_END]
STEP: Events = [{"type": "STEP_STARTED", "stepName": "/agent"}, {"type": "STEP_FINISHED", "stepName": "/agent"}]


def snapshot(*messages: Event) -> Event:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def interrupted(*interrupts: Event) -> Event:
    return {**FINISHED, "outcome": {"type": "interrupt", "interrupts": list(interrupts)}}


def asks(id: str, **more: Any) -> Event:
    return {"id": id, "reason": "input", "message": "?", **more}


def run(*events: Event, end: Event = FINISHED) -> Events:
    return [STARTED, *events, end]


FULL = snapshot(USER, THOUGHT, ASKED, ANSWERED, SAID)

GOOD: Mapping[str, tuple[Event, Events]] = {
    "text": (PLAIN, run(*TEXT, snapshot(USER, SAID))),
    "everything": (
        PLAIN,
        run(
            STEP[0],
            *REASONING,
            *CALL,
            RESULT,
            STEP[1],
            *STEP,
            *TEXT,
            {"type": "CUSTOM", "name": "note", "value": None},
            {"type": "STATE_SNAPSHOT", "snapshot": {"n": 1}},
            {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/n", "value": 2}]},
            FULL,
        ),
    ),
    "two calls at once": (
        PLAIN,
        run(C_START, {**C_START, "toolCallId": "c2"}, C_ARGS, {**C_ARGS, "toolCallId": "c2"}, C_END, {**C_END, "toolCallId": "c2"}, RESULT),
    ),
    "failed": (PLAIN, run(*TEXT, *BAD_CALL, end=FAILED)),
    "the model wrote bad JSON": (PLAIN, run(*BAD_CALL, *TEXT, snapshot(USER, SAID))),
    "cancelled": (CURRENT, run(*BAD_CALL, end=CANCELLED)),
    "two interrupts": (PLAIN, run(*CALL, snapshot(USER, ASKED), end=interrupted(asks("i1", toolCallId="c1"), asks("i2")))),
    "resumed": (RESUME, run(RESULT, *TEXT, snapshot(USER, ASKED, ANSWERED, SAID))),
    "resumed without the history": (BARE_RESUME, run(RESULT, *TEXT, snapshot(USER, ASKED, ANSWERED, SAID))),
    "frontend tool": (FRONTEND, run(*CALL, snapshot(USER, ASKED), end=PENDING)),
    "frontend tool, old peer": ({**FRONTEND, "protocolVersion": None}, run(*CALL, snapshot(USER, ASKED))),
    "result of parts": (CURRENT, run(*CALL, {**RESULT, "content": [{"type": "text", "text": "x"}]})),
    "reasoning stays without the role": (PLAIN, run(*REASONING, *TEXT, snapshot(USER, SAID))),
    "sub-agent": (
        PLAIN,
        run(
            {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "helper"},
            *({**event, "subagentRunId": "s"} for event in TEXT),
            {"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "outcome": {"type": "success"}},
            snapshot(USER),
        ),
    ),
}

BROKEN: Mapping[str, tuple[Event, Events, set[str]]] = {
    "empty": (PLAIN, [], {"run-started", "one-terminal"}),
    "no start": (PLAIN, [*TEXT, FINISHED], {"run-started"}),
    "started twice": (PLAIN, run(STARTED), {"run-started"}),
    "just stops": (PLAIN, [STARTED, *TEXT], {"one-terminal"}),
    "finished twice": (PLAIN, run(FINISHED), {"one-terminal"}),
    "finished, then an error": (PLAIN, run(FINISHED, end=FAILED), {"one-terminal"}),
    "an event after the end": (PLAIN, [*run(), snapshot(USER)], {"one-terminal"}),
    "another thread": (PLAIN, [{**STARTED, "threadId": "x"}, {**FINISHED, "threadId": "x"}], {"run-ids"}),
    "another run at the end": (PLAIN, run(end={**FINISHED, "runId": "x"}), {"run-ids"}),
    "no version": (PLAIN, [{**STARTED, "protocolVersion": "1.0.0"}, FINISHED], {"protocol-version"}),
    "text open at the end": (PLAIN, run(T_START, T_CONTENT), {"left-open"}),
    "text open at the error": (PLAIN, run(T_START, T_CONTENT, end=FAILED), {"left-open"}),
    "call open at the end": (PLAIN, run(C_START, C_ARGS), {"left-open"}),
    "reasoning open at the end": (PLAIN, run(R_START, R_CONTENT), {"left-open"}),
    "step open at the end": (PLAIN, run(STEP[0]), {"left-open"}),
    "sub-agent open at the end": (PLAIN, run({"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "x"}), {"left-open"}),
    "text before its start": (PLAIN, run(T_CONTENT), {"not-open"}),
    "reasoning without a start": (PLAIN, run(R_CONTENT), {"not-open"}),
    "end of nothing": (PLAIN, run(C_END), {"not-open"}),
    "step twice": (PLAIN, run(STEP[0], *STEP), {"already-open"}),
    "text started twice": (PLAIN, run(T_START, *TEXT), {"already-open"}),
    "text reopened": (PLAIN, run(*TEXT, *TEXT), {"reopened-id"}),
    "call reopened": (PLAIN, run(C_START, C_END, C_START, C_END), {"reopened-id"}),
    "call announced again after a resume": (RESUME, run(*CALL, RESULT), {"in-history"}),
    "text sent again": (FOLLOW_UP, run(*TEXT), {"in-history"}),
    "result before the end": (PLAIN, run(C_START, C_ARGS, RESULT, C_END), {"result-before-end"}),
    "result of an unknown call": (PLAIN, run(RESULT), {"result-unknown"}),
    "two results": (PLAIN, run(*CALL, RESULT, {**RESULT, "messageId": "m2"}), {"result-twice"}),
    "result of an answered call": (FOLLOW_UP, run(RESULT), {"result-twice"}),
    "arguments are not JSON": (PLAIN, run(*BAD_CALL, RESULT), {"args-json"}),
    "arguments are not JSON, and stored": (PLAIN, run(*BAD_CALL, snapshot(USER, ASKED)), {"args-json"}),
    "interrupt id twice": (PLAIN, run(end=interrupted(asks("i1"), asks("i1"))), {"interrupt-ids"}),
    "interrupt of an unknown call": (PLAIN, run(end=interrupted(asks("i1", toolCallId="c9"))), {"interrupt-calls"}),
    "pending call not listed": (FRONTEND, run(*CALL, snapshot(USER, ASKED)), {"pending-calls"}),
    "answered call listed": (FRONTEND, run(*CALL, RESULT, end=PENDING), {"pending-calls"}),
    "call of our own listed": (CURRENT, run(*CALL, end=PENDING), {"pending-calls"}),
    "orphan tool message": (PLAIN, run(snapshot(USER, ANSWERED)), {"orphan-tool-message"}),
    "text lost at the snapshot": (PLAIN, run(*TEXT, snapshot(USER)), {"streamed-id-kept"}),
    "text under another id": (PLAIN, run(*TEXT, snapshot(USER, {**SAID, "id": "x"})), {"streamed-id-kept"}),
    "reasoning under another id": (PLAIN, run(*REASONING, snapshot(USER, {**THOUGHT, "id": "x"})), {"streamed-id-kept"}),
    "result under another id": (PLAIN, run(*CALL, RESULT, snapshot(USER, ASKED, {**ANSWERED, "id": "x"})), {"result-id-kept"}),
    "empty text": (PLAIN, run(T_START, {**T_CONTENT, "delta": ""}, T_END), {"empty-delta"}),
    "empty arguments": (PLAIN, run(C_START, {**C_ARGS, "delta": ""}, C_END), {"empty-delta"}),
    "cancelled to an old peer": (PLAIN, run(end=CANCELLED), {"peer-version"}),
    "parts to an old peer": (PLAIN, run(*CALL, {**RESULT, "content": [{"type": "text", "text": "x"}]}), {"peer-version"}),
    "frame over 8 MB": (PLAIN, run({"type": "CUSTOM", "name": "big", "value": "x" * 8 * 1024 * 1024}), {"frame-size"}),
    "raw event": (PLAIN, run({"type": "RAW", "event": {"a": 1}}), {"no-raw"}),
}


def body(events: Events, encode: Callable[[Event], str]) -> bytes:
    """An SSE body as `functions.web` sends it."""
    return "".join(f"data: {encode(event)}\n\n" for event in events).encode()
