"""What is open at each moment of a stream, and the four rules about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.support.recording import Json

OPENS = {
    "TEXT_MESSAGE_START": ("text", "messageId"),
    "REASONING_START": ("reasoning span", "messageId"),
    "REASONING_MESSAGE_START": ("reasoning", "messageId"),
    "TOOL_CALL_START": ("tool call", "toolCallId"),
    "STEP_STARTED": ("step", "stepName"),
    "SUBAGENT_STARTED": ("subagent", "subagentRunId"),
}
CONTINUES = {
    "TEXT_MESSAGE_CONTENT": ("text", "messageId"),
    "REASONING_MESSAGE_CONTENT": ("reasoning", "messageId"),
    "TOOL_CALL_ARGS": ("tool call", "toolCallId"),
}
CLOSES = {
    "TEXT_MESSAGE_END": ("text", "messageId"),
    "REASONING_END": ("reasoning span", "messageId"),
    "REASONING_MESSAGE_END": ("reasoning", "messageId"),
    "TOOL_CALL_END": ("tool call", "toolCallId"),
    "STEP_FINISHED": ("step", "stepName"),
    "SUBAGENT_FINISHED": ("subagent", "subagentRunId"),
    "SUBAGENT_ERROR": ("subagent", "subagentRunId"),
}
Fault = tuple[str, str]


@dataclass
class Lifecycle:
    """The items that are open and those that were; `feed` one event at a time."""

    open: dict[str, None] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)

    def feed(self, event: Json) -> Iterator[Fault]:
        kind = event.get("type", "")
        if kind in OPENS:
            yield from self._start(_key(OPENS[kind], event), may_repeat=kind == "STEP_STARTED")
        if kind in CONTINUES:
            yield from self._needs(_key(CONTINUES[kind], event), kind)
        if kind in CLOSES:
            key = _key(CLOSES[kind], event)
            yield from self._needs(key, kind)
            self.open.pop(key, None)
            self.closed.add(key)

    def _start(self, key: str, *, may_repeat: bool) -> Iterator[Fault]:
        if key in self.open:
            yield "already-open", key
        elif key in self.closed and not may_repeat:  # a node may run again, a message may not
            yield "reopened-id", key
        self.open[key] = None

    def _needs(self, key: str, kind: str) -> Iterator[Fault]:
        if key not in self.open:
            yield "not-open", f"{kind} of {key}"


def _key(row: tuple[str, str], event: Json) -> str:
    kind, field_name = row
    return f"{kind} {event.get(field_name)}"


def lifecycle_faults(events: Sequence[Json]) -> Iterator[Fault]:
    """(rule, detail) for `already-open`, `reopened-id`, `not-open`, `left-open`."""
    state = Lifecycle()
    for event in events:
        yield from state.feed(event)
    for key in state.open:
        yield "left-open", key
