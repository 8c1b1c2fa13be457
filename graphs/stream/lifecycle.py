"""What is open in one AG-UI stream, and the guard that every event passes: ours and the ones a node writes itself.

The rules are those of @ag-ui/client's verifier plus what it accepts silently: nothing is opened twice, continued while closed, or left
open at the end; a tool call has one result, after its END. Mapping is elsewhere: this module does not know LangGraph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, KeysView
from typing import Any, Literal

from ag_ui.core import (
    BaseEvent,
    EventType,
    ReasoningEndEvent,
    ReasoningMessageEndEvent,
    StepFinishedEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    TextMessageEndEvent,
    ToolCallEndEvent,
)

Kind = Literal["text", "reasoning", "span", "call", "step", "subagent"]
Item = tuple[Kind, str]

CLOSING_ORDER: tuple[Kind, ...] = ("reasoning", "span", "text", "call", "step", "subagent")
"""A message's reasoning, text and calls close in this order; what contains them closes after them."""

_START: dict[EventType, tuple[Kind, str]] = {
    EventType.TEXT_MESSAGE_START: ("text", "message_id"),
    EventType.REASONING_MESSAGE_START: ("reasoning", "message_id"),
    EventType.REASONING_START: ("span", "message_id"),
    EventType.TOOL_CALL_START: ("call", "tool_call_id"),
    EventType.STEP_STARTED: ("step", "step_name"),
    EventType.SUBAGENT_STARTED: ("subagent", "subagent_run_id"),
}
_CONTENT: dict[EventType, tuple[Kind, str]] = {
    EventType.TEXT_MESSAGE_CONTENT: ("text", "message_id"),
    EventType.REASONING_MESSAGE_CONTENT: ("reasoning", "message_id"),
    EventType.TOOL_CALL_ARGS: ("call", "tool_call_id"),
}
_END: dict[EventType, tuple[Kind, str]] = {
    EventType.TEXT_MESSAGE_END: ("text", "message_id"),
    EventType.REASONING_MESSAGE_END: ("reasoning", "message_id"),
    EventType.REASONING_END: ("span", "message_id"),
    EventType.TOOL_CALL_END: ("call", "tool_call_id"),
    EventType.STEP_FINISHED: ("step", "step_name"),
    EventType.SUBAGENT_FINISHED: ("subagent", "subagent_run_id"),
    EventType.SUBAGENT_ERROR: ("subagent", "subagent_run_id"),
}
REOPENABLE: frozenset[Kind] = frozenset({"step"})


class Refused(ValueError):
    """The event would make the stream illegal. `str()` says which rule it breaks."""


class Lifecycle:
    """The open items of one stream, in the order they were opened."""

    def __init__(self, announced: Iterable[str] = ()) -> None:
        self._open: dict[Item, str | None] = {}
        self.open_items: KeysView[Item] = self._open.keys()
        """What is open now, in the order it was opened."""
        self._closed: set[Item] = set()
        self._calls: set[str] = set(announced)
        self._answered: set[str] = set()
        self.finished = False

    def is_open(self, kind: Kind, item_id: str) -> bool:
        return (kind, item_id) in self._open

    def know_call(self, call_id: str, *, answered: bool) -> None:
        """A call of the thread's history: it may get its result in this stream, but no second START."""
        self._calls.add(call_id)
        if answered:
            self._answered.add(call_id)

    def know_message(self, message_id: str) -> None:
        """A message of the thread's history: nothing may be appended to it."""
        self._closed.update({("text", message_id), ("reasoning", message_id)})

    def adopt(self, event: Any) -> None:
        """An event that goes on with an item belongs to the sub-agent that opened it, whoever wrote it."""
        kind, key = _CONTENT.get(event.type) or _END.get(event.type) or ("subagent", "")
        if kind != "subagent" and (item := (kind, getattr(event, key))) in self._open:
            event.subagent_run_id = self._open[item]

    def admit(self, event: BaseEvent) -> list[BaseEvent]:
        """The events to send for this one: itself, with what must be closed before it; empty for an empty delta.

        Raises:
            Refused: it cannot be made legal.
        """
        if self.finished:
            raise Refused(f"{event.type.value} after the run's terminal event")
        if content := _CONTENT.get(event.type):
            return self._continue(event, (content[0], getattr(event, content[1])))
        if start := _START.get(event.type):
            return self._start(event, (start[0], getattr(event, start[1])))
        if end := _END.get(event.type):
            return self._end(event, (end[0], getattr(event, end[1])))
        special = _SPECIAL.get(event.type)
        return special(self, event) if special else [event]

    def close_all(self, *, suspended: Iterable[str] | None = None, failed: str | None = None) -> list[BaseEvent]:
        """END events for whatever is open, innermost first.

        Args:
            suspended: the run stops at these interrupts, so open sub-agents are suspended, not finished.
            failed: the run failed with this message, so open sub-agents failed.
        """
        events: list[BaseEvent] = []
        for kind in CLOSING_ORDER:
            for item, owner in reversed([(i, o) for i, o in self._open.items() if i[0] == kind]):
                events.append(_closing_event(item, owner, suspended, failed))
                self._forget(item)
        return events

    def close_owned(self, owner: str) -> list[BaseEvent]:
        """END events for the open items of one sub-agent, and for the sub-agents inside it, before it ends itself."""
        events: list[BaseEvent] = []
        for _, inner in [i for i, o in self._open.items() if i[0] == "subagent" and o == owner]:
            events += [*self.close_owned(inner), SubagentFinishedEvent(subagent_run_id=inner)]
            self._forget(("subagent", inner))
        for kind in CLOSING_ORDER[:-1]:
            for item in [i for i, o in self._open.items() if i[0] == kind and o == owner]:
                events.append(_closing_event(item, owner, None, None))
                self._forget(item)
        return events

    def _continue(self, event: Any, item: Item) -> list[BaseEvent]:
        if item not in self._open:
            raise Refused(f"{event.type.value} for {item[0]} {item[1]!r}, which is not open")
        if not self._owns(event, item):
            raise Refused(f"{event.type.value} for {item[0]} {item[1]!r}, which is another's")
        return [event] if event.delta else []

    def _owns(self, event: Any, item: Item) -> bool:
        """Whether who sends this opened the item. An event without a sub-agent goes with its item, but for a step: it has no other id."""
        owner = event.subagent_run_id
        return owner == self._open[item] or (owner is None and item[0] != "step")

    def _start(self, event: Any, item: Item) -> list[BaseEvent]:
        kind, item_id = item
        if item in self._open:
            raise Refused(f"{event.type.value}: {kind} {item_id!r} is already open")
        if kind not in REOPENABLE and (item in self._closed or (kind == "call" and item_id in self._calls)):
            raise Refused(f"{event.type.value}: {kind} {item_id!r} was already sent")
        if kind == "call":
            self._calls.add(item_id)
        self._open[item] = event.parent_subagent_run_id if kind == "subagent" else event.subagent_run_id
        return [event]

    def _end(self, event: Any, item: Item) -> list[BaseEvent]:
        if item not in self._open:
            raise Refused(f"{event.type.value} for {item[0]} {item[1]!r}, which is not open")
        if item[0] != "subagent" and not self._owns(event, item):
            raise Refused(f"{event.type.value} for {item[0]} {item[1]!r}, which is another's")
        before = self.close_owned(item[1]) if item[0] == "subagent" else []
        self._forget(item)
        return [*before, event]

    def _result(self, event: Any) -> list[BaseEvent]:
        call_id = event.tool_call_id
        if call_id not in self._calls:
            raise Refused(f"TOOL_CALL_RESULT for {call_id!r}, a call that was never announced")
        if call_id in self._answered:
            raise Refused(f"TOOL_CALL_RESULT for {call_id!r}, which has its result already")
        self._answered.add(call_id)
        item: Item = ("call", call_id)
        if item not in self._open:
            return [event]
        ending = _closing_event(item, self._open[item], None, None)
        self._forget(item)
        return [ending, event]

    def _terminal(self, event: BaseEvent) -> list[BaseEvent]:
        before = self.close_all()
        self.finished = True
        return [*before, event]

    def _refuse(self, event: BaseEvent) -> list[BaseEvent]:
        raise Refused(f"{event.type.value} is sent by the server alone")

    def _forget(self, item: Item) -> None:
        del self._open[item]
        self._closed.add(item)


_SPECIAL: dict[EventType, Callable[[Lifecycle, BaseEvent], list[BaseEvent]]] = {
    EventType.TOOL_CALL_RESULT: Lifecycle._result,
    EventType.RUN_FINISHED: Lifecycle._terminal,
    EventType.RUN_ERROR: Lifecycle._terminal,
    EventType.RUN_STARTED: Lifecycle._refuse,
}


def _closing_event(item: Item, owner: str | None, suspended: Iterable[str] | None, failed: str | None) -> BaseEvent:
    kind, item_id = item
    if kind == "subagent":
        return _closing_subagent(item_id, suspended, failed)
    if kind == "call":
        return ToolCallEndEvent(tool_call_id=item_id, subagent_run_id=owner)
    if kind == "step":
        return StepFinishedEvent(step_name=item_id, subagent_run_id=owner)
    end: Callable[..., BaseEvent] = {"text": TextMessageEndEvent, "reasoning": ReasoningMessageEndEvent, "span": ReasoningEndEvent}[kind]
    return end(message_id=item_id, subagent_run_id=owner)


def _closing_subagent(run_id: str, suspended: Iterable[str] | None, failed: str | None) -> BaseEvent:
    if failed is not None:
        return SubagentErrorEvent(subagent_run_id=run_id, message=failed)
    if suspended is None:
        return SubagentFinishedEvent(subagent_run_id=run_id)
    # which sub-agent raised which interrupt was said when its task ended; what is still open here only waits for a descendant
    return SubagentFinishedEvent.model_validate({"subagentRunId": run_id, "outcome": {"type": "suspended"}})
