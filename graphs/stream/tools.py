"""The `tools` channel and root `values` → the answering half of TOOL_CALL_*: results, errors, progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from uuid import uuid4

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    BaseEvent,
    ToolCallArgsEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.types import Command

from graphs.stream.jsonable import args_text, jsonable, result_text, utf8
from graphs.stream.ledger import CallLedger

Events = Iterator[BaseEvent]
M = TypeVar("M", bound=BaseMessage)


class ToolMapper:
    """One per run. Results carry the id that the ToolMessage has in the checkpoint, or the next snapshot would reorder the chat."""

    def __init__(self, ledger: CallLedger) -> None:
        self._ledger = ledger
        self._failed: dict[str, str] = {}
        self._progress: set[str] = set()
        self._messages: Sequence[BaseMessage] = ()

    def map(self, data: Mapping[str, Any], owner: str | None) -> Events:
        if mapped := self._EVENTS.get(data["event"]):
            yield from mapped(self, data, owner)

    def _started(self, data: Mapping[str, Any], owner: str | None) -> Events:
        raw = data["tool_call_id"]
        if self._ledger.current(raw, owner) is not None:
            return
        wire = self._ledger.announce(raw, owner)
        args = _model_args(self._messages, raw)
        yield ToolCallStartEvent(tool_call_id=wire, tool_call_name=data.get("tool_name") or "unknown", subagent_run_id=owner)
        yield ToolCallArgsEvent(
            tool_call_id=wire, delta=args_text(_plain(data.get("input")) if args is None else args), subagent_run_id=owner
        )

    def _finished(self, data: Mapping[str, Any], owner: str | None) -> Events:
        wire = self._ledger.current(data["tool_call_id"], owner)
        if wire is None:
            return
        output = data.get("output")
        message = _tool_message(output, data["tool_call_id"])
        yield self._result(wire, message, result_text(output) if message is None else message_text(message), owner)

    def _failure(self, data: Mapping[str, Any], owner: str | None) -> Events:
        # the error has no message id yet: the ToolMessage made of it appears in the next values event
        wire = self._ledger.current(data["tool_call_id"], owner)
        if wire is not None:
            self._failed[wire] = str(data.get("message", ""))
        yield from ()

    def _output_delta(self, data: Mapping[str, Any], owner: str | None) -> Events:
        wire = self._ledger.current(data["tool_call_id"], owner) or data["tool_call_id"]
        message_id, chunk = f"tool-progress:{wire}", jsonable(data.get("delta"))
        if wire in self._progress:
            patch = [{"op": "add", "path": "/output/-", "value": chunk}]
            delta = {"messageId": message_id, "activityType": "tool_progress", "patch": patch, "subagentRunId": owner}
            yield ActivityDeltaEvent.model_validate({k: v for k, v in delta.items() if v is not None})
            return
        self._progress.add(wire)
        content = {"toolCallId": wire, "output": [chunk]}
        yield ActivitySnapshotEvent(message_id=message_id, activity_type="tool_progress", content=content, subagent_run_id=owner)

    def state(self, messages: Sequence[Any], owner: str | None) -> Events:
        """A `values` event: calls whose ToolMessage appeared without a `tools` event (unknown tool, refusal, own tool node) get it now."""
        self._messages = messages
        waiting = {self._ledger.unanswered[wire]: wire for wire in self._ledger.waiting(owner)}
        for wire, message in _appeared(messages, waiting):
            # the ToolMessage's text, not the exception's: it is what the model and a reload see, and what the graph lets out of the error
            failed = self._failed.pop(wire, None) is not None
            yield self._result(wire, message, message_text(message), owner, failed=failed)

    def unreported(self) -> Events:
        """Results of failed calls whose ToolMessage never appeared in the state."""
        for wire, failure in self._failed.items():
            yield self._result(wire, None, failure, None, failed=True)
        self._failed.clear()

    def _result(self, wire: str, message: ToolMessage | None, content: str, owner: str | None, *, failed: bool = False) -> BaseEvent:
        self._ledger.answer(wire)
        failed = failed or (message is not None and message.status == "error")
        return ToolCallResultEvent(
            message_id=(message.id if message else None) or str(uuid4()),
            tool_call_id=wire,
            content=content,
            role="tool",
            metadata={"error": True} if failed else None,
            subagent_run_id=owner,
        )

    _EVENTS: Mapping[str, Callable[[ToolMapper, Mapping[str, Any], str | None], Events]] = {
        "tool-started": _started,
        "tool-finished": _finished,
        "tool-error": _failure,
        "tool-output-delta": _output_delta,
    }


def message_text(message: BaseMessage) -> str:
    """The text of a message; a content without any text (only images, files) as JSON."""
    text = utf8(str(message.text))
    return text if text or not message.content else result_text(message.content)


def tool_messages(output: Any) -> Iterator[ToolMessage]:
    """Every ToolMessage in what a tool or node returned."""
    return messages_of(output, ToolMessage)


def messages_of(output: Any, kind: type[M], depth: int = 4) -> Iterator[M]:
    """Every message of a kind in what a tool or node returned: itself, in a list, in a dict of state keys, in a Command's update.

    `depth` is that of a list of Commands whose update holds a list; deeper values are data, not messages.
    """
    if isinstance(output, kind):
        yield output
    elif isinstance(output, Command):
        yield from messages_of(output.update, kind, depth - 1)
    elif depth and isinstance(output, (Mapping, list, tuple)):
        for value in output.values() if isinstance(output, Mapping) else output:
            yield from messages_of(value, kind, depth - 1)


def _tool_message(output: Any, call_id: str) -> ToolMessage | None:
    found = list(tool_messages(output))
    return next((m for m in found if m.tool_call_id == call_id), found[0] if found else None)


def _appeared(messages: Sequence[Any], waiting: dict[str, str]) -> list[tuple[str, ToolMessage]]:
    """Pairs of a waiting call and its ToolMessage, newest message first: a repeated call id belongs to the newest message that made it."""
    answers: dict[str, ToolMessage] = {}
    found: list[tuple[str, ToolMessage]] = []
    for message in reversed(messages):
        if not waiting:
            break
        if isinstance(message, ToolMessage):
            answers.setdefault(message.tool_call_id, message)
        elif isinstance(message, AIMessage):
            for raw in [c["id"] for c in message.tool_calls if c["id"] in waiting]:
                wire, answer = waiting.pop(raw), answers.get(raw)
                if answer is not None:
                    found.append((wire, answer))
    return found[::-1]


def _model_args(messages: Sequence[Any], call_id: str) -> Mapping[str, Any] | None:
    """The arguments the model gave: a tool's own input also holds injected state, which is nobody's business."""
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                if call["id"] == call_id:
                    return call["args"]
    return None


def _plain(value: Any) -> Any:
    """A tool's input without what is not JSON by itself: injected state, runtime and stores are objects."""
    if isinstance(value, Mapping):
        return {str(k): v for k, v in value.items() if isinstance(v, (str, int, float, bool, list, dict)) or v is None}
    return value
