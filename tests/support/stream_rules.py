"""What AG-UI clients accept silently and this project forbids, one generator a rule; each yields what it found.

`node/rules.mjs` holds the same names with the same meaning; the table in `broken_streams.py` holds the two together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from tests.support.recording import Json, Recording
from tests.support.sse import MAX_FRAME_BYTES, framing_faults
from tests.support.stream_lifecycle import lifecycle_faults

Rule = Callable[[Recording], Iterator[str]]
TERMINAL = ("RUN_FINISHED", "RUN_ERROR")


def run_started(rec: Recording) -> Iterator[str]:
    first = rec.events[0].get("type") if rec.events else None
    if first != "RUN_STARTED":
        yield f"the first event is {first}"
    yield from (f"a second RUN_STARTED of {event.get('runId')}" for event in rec.events[1:] if event.get("type") == "RUN_STARTED")


def one_terminal(rec: Recording) -> Iterator[str]:
    kinds = [event.get("type") for event in rec.events]
    at = next((index for index, kind in enumerate(kinds) if kind in TERMINAL), None)
    if at is None:
        yield "the stream just stops"
    else:
        yield from (f"{kind} after {kinds[at]}" for kind in kinds[at + 1 :])


def run_ids(rec: Recording) -> Iterator[str]:
    for event in rec.of("RUN_STARTED", "RUN_FINISHED"):
        for field in ("threadId", "runId"):
            if event.get(field) != rec.input.get(field):
                yield f"{event['type']}.{field} is {event.get(field)}, the input's {rec.input.get(field)}"


def protocol_version(rec: Recording) -> Iterator[str]:
    versions = [event.get("protocolVersion") for event in rec.of("RUN_STARTED")]
    yield from (f"protocolVersion is {version}" for version in versions if version != "1.0")


def lifecycle(rule: str, rec: Recording) -> Iterator[str]:
    yield from (detail for name, detail in lifecycle_faults(rec.events) if name == rule)


def in_history(rec: Recording) -> Iterator[str]:
    calls, messages = call_ids(rec.messages), {message.get("id") for message in rec.messages}
    yield from (f"tool call {event['toolCallId']}" for event in rec.of("TOOL_CALL_START") if event["toolCallId"] in calls)
    starts = rec.of("TEXT_MESSAGE_START", "REASONING_MESSAGE_START")
    yield from (f"message {event['messageId']}" for event in starts if event["messageId"] in messages)


def result_before_end(rec: Recording) -> Iterator[str]:
    open_calls: set[str] = set()
    for event in rec.of("TOOL_CALL_START", "TOOL_CALL_END", "TOOL_CALL_RESULT"):
        call = event["toolCallId"]
        if event["type"] == "TOOL_CALL_START":
            open_calls.add(call)
        elif event["type"] == "TOOL_CALL_END":
            open_calls.discard(call)
        elif call in open_calls:
            yield call


def result_unknown(rec: Recording) -> Iterator[str]:
    known = known_calls(rec)
    yield from (event["toolCallId"] for event in rec.of("TOOL_CALL_RESULT") if event["toolCallId"] not in known)


def result_twice(rec: Recording) -> Iterator[str]:
    # with a resume a front end may have made up a tool message of its own from the answer: that one does not count
    before = set() if rec.input.get("resume") else answered_calls(rec.messages)
    yield from repeated([*sorted(before), *(event["toolCallId"] for event in rec.of("TOOL_CALL_RESULT"))])


def args_json(rec: Recording) -> Iterator[str]:
    # bad JSON is the model's own where the run failed or was stopped, or where the state has no such call (invalid_tool_call)
    if rec.last.get("type") == "RUN_ERROR" or outcome(rec).get("type") == "cancelled":
        return
    kept = None if rec.snapshot is None else call_ids(rec.snapshot)
    for call in (event["toolCallId"] for event in rec.of("TOOL_CALL_END")):
        args = "".join(event["delta"] for event in rec.of("TOOL_CALL_ARGS") if event["toolCallId"] == call)
        if (kept is None or call in kept) and not is_json(args or "{}"):
            yield f"{call}: {args[:80]}"


def interrupt_ids(rec: Recording) -> Iterator[str]:
    yield from repeated([interrupt["id"] for interrupt in interrupts(rec)])


def interrupt_calls(rec: Recording) -> Iterator[str]:
    known = known_calls(rec)
    for interrupt in interrupts(rec):
        if interrupt.get("toolCallId", None) not in {None, *known}:
            yield f"{interrupt['id']} names {interrupt['toolCallId']}"


def pending_calls(rec: Recording) -> Iterator[str]:
    if rec.last.get("type") != "RUN_FINISHED" or outcome(rec).get("type", "success") != "success":
        return
    expected = sorted(unanswered_frontend_calls(rec)) if rec.input.get("protocolVersion") else []
    sent = sorted(outcome(rec).get("pendingToolCallIds") or ())
    if sent != expected:
        yield f"{sent}, unanswered are {expected}"


def orphan_tool_message(rec: Recording) -> Iterator[str]:
    for event in rec.of("MESSAGES_SNAPSHOT"):
        calls = call_ids(event["messages"])
        orphans = (message for message in tool_messages(event["messages"]) if message["toolCallId"] not in calls)
        yield from (f"{message['id']} answers {message['toolCallId']}" for message in orphans)


def streamed_id_kept(rec: Recording) -> Iterator[str]:
    if rec.snapshot is None or rec.last.get("type") != "RUN_FINISHED":
        return
    ids = {message["id"] for message in rec.snapshot}
    # clients keep reasoning that a snapshot does not speak of; once it carries the role, what it lacks is dropped
    speaks_of_reasoning = any(message["role"] == "reasoning" for message in rec.snapshot)
    yield from (id for id in streamed(rec, "TEXT_MESSAGE_CONTENT") if id not in ids)
    if speaks_of_reasoning:
        yield from (id for id in streamed(rec, "REASONING_MESSAGE_CONTENT") if id not in ids)


def result_id_kept(rec: Recording) -> Iterator[str]:
    stored = {message["toolCallId"]: message["id"] for message in tool_messages(rec.snapshot or ())}
    for event in rec.of("TOOL_CALL_RESULT"):
        call, sent = event["toolCallId"], event["messageId"]
        if stored.get(call, sent) != sent:
            yield f"{call}: {sent}, in the snapshot {stored[call]}"


def empty_delta(rec: Recording) -> Iterator[str]:
    empty = (event for event in rec.events if event.get("delta") == "")
    yield from (f"{event['type']} of {event.get('messageId') or event.get('toolCallId')}" for event in empty)


def peer_version(rec: Recording) -> Iterator[str]:
    if rec.input.get("protocolVersion"):
        return
    if outcome(rec).get("type") == "cancelled":
        yield "outcome cancelled"
    if "pendingToolCallIds" in outcome(rec):
        yield "pendingToolCallIds"
    parts = (event for event in rec.of("TOOL_CALL_RESULT") if isinstance(event["content"], list))
    yield from (f"content parts in the result of {event['toolCallId']}" for event in parts)


def frame_size(rec: Recording) -> Iterator[str]:
    sizes = ((event.get("type"), len(json.dumps(event, ensure_ascii=False).encode("utf-8", "replace"))) for event in rec.events)
    yield from (f"{kind} has {size} bytes" for kind, size in sizes if size > MAX_FRAME_BYTES)


def no_raw(rec: Recording) -> Iterator[str]:
    yield from (f"RAW {json.dumps(event.get('event'))[:80]}" for event in rec.of("RAW"))


def finite_numbers(rec: Recording) -> Iterator[str]:
    for event in rec.events:
        try:
            json.dumps(event, allow_nan=False)
        except ValueError as error:
            yield f"{event.get('type')}: {error}"


def framing(rec: Recording) -> Iterator[str]:
    yield from framing_faults(rec.raw or b"")


def outcome(rec: Recording) -> Json:
    return rec.last.get("outcome") or {}


def interrupts(rec: Recording) -> Sequence[Json]:
    return outcome(rec).get("interrupts") or ()


def calls_in(messages: Iterable[Json]) -> list[Json]:
    return [call for message in messages for call in message.get("toolCalls") or ()]


def call_ids(messages: Iterable[Json]) -> set[str]:
    return {call["id"] for call in calls_in(messages)}


def tool_messages(messages: Iterable[Json]) -> list[Json]:
    return [message for message in messages if message.get("role") == "tool"]


def answered_calls(messages: Iterable[Json]) -> set[str]:
    return {message["toolCallId"] for message in tool_messages(messages)}


def known_calls(rec: Recording) -> set[str]:
    """Calls a client can know. A raw HTTP resume need not repeat the history, so what a snapshot of this stream shows counts too."""
    shown = call_ids(message for event in rec.of("MESSAGES_SNAPSHOT") for message in event["messages"])
    return call_ids(rec.messages) | shown | {event["toolCallId"] for event in rec.of("TOOL_CALL_START")}


def unanswered_frontend_calls(rec: Recording) -> list[str]:
    tools = {tool["name"] for tool in rec.input.get("tools") or ()}
    calls = {call["id"]: call["function"]["name"] for call in calls_in(rec.snapshot or ())}
    calls |= {event["toolCallId"]: event["toolCallName"] for event in rec.of("TOOL_CALL_START")}
    answered = answered_calls([*rec.messages, *(rec.snapshot or ())]) | {event["toolCallId"] for event in rec.of("TOOL_CALL_RESULT")}
    return [id for id, name in calls.items() if name in tools and id not in answered]


def streamed(rec: Recording, content: str) -> list[str]:
    """Ids of the root's messages that came as `content` events, without the transient ones."""
    texts: dict[str, str] = {}
    for event in rec.of(content):
        if not event.get("subagentRunId"):
            texts[event["messageId"]] = texts.get(event["messageId"], "") + event["delta"]
    return [id for id, text in texts.items() if text not in rec.transient]


def repeated(ids: Sequence[str]) -> Iterator[str]:
    yield from (id for index, id in enumerate(ids) if id in ids[:index])


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


RULES: Mapping[str, Rule] = {
    "run-started": run_started,
    "one-terminal": one_terminal,
    "run-ids": run_ids,
    "protocol-version": protocol_version,
    **{rule: partial(lifecycle, rule) for rule in ("already-open", "reopened-id", "not-open", "left-open")},
    "in-history": in_history,
    "result-before-end": result_before_end,
    "result-unknown": result_unknown,
    "result-twice": result_twice,
    "args-json": args_json,
    "interrupt-ids": interrupt_ids,
    "interrupt-calls": interrupt_calls,
    "pending-calls": pending_calls,
    "orphan-tool-message": orphan_tool_message,
    "streamed-id-kept": streamed_id_kept,
    "result-id-kept": result_id_kept,
    "empty-delta": empty_delta,
    "peer-version": peer_version,
    "frame-size": frame_size,
    "no-raw": no_raw,
    "finite-numbers": finite_numbers,
    "framing": framing,
}
