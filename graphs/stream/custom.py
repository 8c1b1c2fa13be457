"""The `custom` channel → CUSTOM, or a native AG-UI event that a node wrote itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from ag_ui.core import BaseEvent, CustomEvent, Event, EventType
from pydantic import TypeAdapter, ValidationError

from graphs.stream.jsonable import jsonable
from graphs.stream.lifecycle import Lifecycle, Refused
from graphs.stream.writer import AGUI_WRITER_EVENT

REFUSED_EVENT = "agui_event_refused"
"""CUSTOM name under which a native event that would break the stream is reported: `{type, reason}`."""


@cache
def any_event() -> TypeAdapter[BaseEvent]:
    """Any AG-UI event by its type. Cached: it is built when the first one is read, since it takes as long as all that a run needs."""
    return TypeAdapter(Event)


_CHUNKS: dict[str, tuple[str, str]] = {
    "TEXT_MESSAGE_CHUNK": ("TEXT_MESSAGE", "messageId"),
    "REASONING_MESSAGE_CHUNK": ("REASONING_MESSAGE", "messageId"),
    "TOOL_CALL_CHUNK": ("TOOL_CALL", "toolCallId"),
}
Lanes = dict[str, str]
"""The item that a *_CHUNK without an id goes on with, by stem."""
_KINDS: dict[str, Any] = {"TEXT_MESSAGE": "text", "REASONING_MESSAGE": "reasoning", "TOOL_CALL": "call"}


def native_payload(data: Any) -> dict[str, Any] | None:
    """The native event in what the writer got, or None if it is an ordinary custom event."""
    if isinstance(data, dict) and data.get("name") == AGUI_WRITER_EVENT:
        payload = data["payload"] if "payload" in data else {k: v for k, v in data.items() if k != "name"}
        if isinstance(payload, dict) and "type" in payload:
            return payload
    return None


def custom_event(data: Any, timestamp: int, owner: str | None) -> CustomEvent:
    """`CUSTOM {name, value, timestamp}`: name and payload of the record, or the record itself as value."""
    record = data if isinstance(data, dict) else {"payload": data}
    name = record.get("name")
    value = record.get("payload", record)
    return CustomEvent(name=name if isinstance(name, str) else "custom", value=jsonable(value), timestamp=timestamp, subagent_run_id=owner)


def native_events(payload: dict[str, Any], lifecycle: Lifecycle, owner: str | None, lanes: Lanes) -> list[BaseEvent]:
    """The legal events for a native one: validated, attributed, a *_CHUNK written out as START and CONTENT.

    Raises:
        Refused: not an AG-UI event. (Its order is the lifecycle's business.)
    """
    payload = jsonable(payload)
    parts = _written_out(payload, lifecycle, lanes) if str(payload["type"]) in _CHUNKS else [payload]
    events = [_attributed(_validated(part), owner) for part in parts]
    for event in events:
        _refuse_what_clients_swallow(event, lifecycle)
        lifecycle.adopt(event)
    return events


def refusal(payload: dict[str, Any], reason: str, timestamp: int) -> CustomEvent:
    """The notice that replaces a native event which was refused."""
    return CustomEvent(name=REFUSED_EVENT, value={"type": jsonable(payload.get("type")), "reason": reason}, timestamp=timestamp)


def _refuse_what_clients_swallow(event: Any, lifecycle: Lifecycle) -> None:
    """What is in order by itself, and yet leaves a client with something that it cannot show."""
    if event.type is EventType.RAW:
        raise Refused("RAW is not part of this server's streams")
    if event.type is EventType.MESSAGES_SNAPSHOT:
        _refuse_broken_snapshot(event.messages, lifecycle)
    parent = getattr(event, "parent_subagent_run_id", None)
    if parent is not None and not lifecycle.is_open("subagent", parent):
        raise Refused(f"{event.type.value}: its parent {parent!r} is not open")


def _refuse_broken_snapshot(messages: Sequence[Any], lifecycle: Lifecycle) -> None:
    """A client drops the messages that a snapshot lacks (reasoning only where it names some), and warns about what goes on with one."""
    calls = {call.id for message in messages for call in getattr(message, "tool_calls", None) or ()}
    for message in messages:
        if message.role == "tool" and message.tool_call_id not in calls:
            raise Refused(f"MESSAGES_SNAPSHOT: {message.id!r} answers {message.tool_call_id!r}, a call that it does not hold")
    ids = {message.id for message in messages}
    kept = {"call": calls, "text": ids} | ({"reasoning": ids} if any(message.role == "reasoning" for message in messages) else {})
    for kind, item_id in lifecycle.open_items:
        if item_id not in kept.get(kind, {item_id}):
            raise Refused(f"MESSAGES_SNAPSHOT: {kind} {item_id!r} is open, and it does not hold it")


def _validated(payload: dict[str, Any]) -> BaseEvent:
    try:
        event: BaseEvent = any_event().validate_python(payload)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise Refused(_why(payload["type"], first["type"], first["loc"][1:], first["msg"])) from error
    if event.__pydantic_extra__:
        event.__pydantic_extra__.clear()  # clients warn about a field that the protocol does not know
    return event


def _why(kind: Any, fault: str, where: Sequence[int | str], what: str) -> str:
    if fault.startswith("union_tag"):
        return f"{kind!r} is no AG-UI event"
    return f"{kind}: {'.'.join(str(part) for part in where)}: {what}"


def _attributed(event: Any, owner: str | None) -> BaseEvent:
    if owner is not None and getattr(event, "subagent_run_id", owner) is None:
        event.subagent_run_id = owner
    return cast(BaseEvent, event)


def _written_out(chunk: dict[str, Any], lifecycle: Lifecycle, lanes: Lanes) -> list[dict[str, Any]]:
    stem, key = _CHUNKS[chunk["type"]]
    item_id = chunk.get(key) or lanes.get(stem)
    if not isinstance(item_id, str):
        raise Refused(f"{chunk['type']}: {key} is missing")
    lanes[stem] = item_id
    parts: list[dict[str, Any]] = []
    if not lifecycle.is_open(_KINDS[stem], item_id):
        start = {k: v for k, v in chunk.items() if k != "delta"} | {key: item_id}
        role = {"role": "reasoning"} if stem == "REASONING_MESSAGE" else {}
        parts.append({**start, **role, "type": f"{stem}_START"})
    if chunk.get("delta"):
        content = "ARGS" if stem == "TOOL_CALL" else "CONTENT"
        parts.append({"type": f"{stem}_{content}", key: item_id, "delta": chunk["delta"], "subagentRunId": chunk.get("subagentRunId")})
    return [{k: v for k, v in part.items() if v is not None} for part in parts]
