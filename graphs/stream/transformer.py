"""`AguiTransformer`: LangGraph v3 protocol events in, AG-UI events out on four channels."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from ag_ui.core import BaseEvent, EventType
from langgraph.stream import StreamChannel, StreamTransformer
from langgraph.stream._types import ProtocolEvent

from graphs.stream.custom import Lanes, custom_event, native_events, native_payload, refusal
from graphs.stream.history import wire_call_ids
from graphs.stream.ledger import CallLedger
from graphs.stream.lifecycle import Lifecycle, Refused
from graphs.stream.messages import MessageMapper
from graphs.stream.state import Prediction, StateMapper
from graphs.stream.tasks import Path, TaskMapper
from graphs.stream.tools import ToolMapper

log = logging.getLogger(__name__)

TOOL_EVENTS = frozenset(
    {EventType.TOOL_CALL_START, EventType.TOOL_CALL_ARGS, EventType.TOOL_CALL_END, EventType.TOOL_CALL_RESULT, EventType.TOOL_CALL_CHUNK}
)
STEP_EVENTS = frozenset({EventType.STEP_STARTED, EventType.STEP_FINISHED})
STATE_EVENTS = frozenset({EventType.STATE_SNAPSHOT, EventType.STATE_DELTA})
TEXT_EVENTS = frozenset(
    {EventType.TEXT_MESSAGE_START, EventType.TEXT_MESSAGE_CONTENT, EventType.TEXT_MESSAGE_END, EventType.TEXT_MESSAGE_CHUNK}
)


class AguiTransformer(StreamTransformer):
    """Projects one run onto `agui_events` (everything, in order), `tool_events`, `message_events` and `custom_events`.

    Register the class at call time (`astream_events(…, version="v3", transformers=[AguiTransformer])`) or at compile time.

    Args:
        scope: the namespace of the run; `()` unless the run itself runs inside a node.
        announced: wire ids of the tool calls that the thread's history holds. They are never announced again.
    """

    required_stream_modes: ClassVar[tuple[str, ...]] = ("messages", "tools", "custom", "values", "tasks")

    def __init__(self, scope: tuple[str, ...] = (), *, announced: Iterable[str] = frozenset()) -> None:
        super().__init__(scope)
        self._scope_list = list(scope)
        self._active = True
        self._history_known = False
        announced = frozenset(announced)
        self.lifecycle = Lifecycle(announced)
        self._ledger = CallLedger(announced)
        self._messages = MessageMapper(self._ledger)
        self._tools = ToolMapper(self._ledger)
        self._tasks = TaskMapper(self._ledger)
        self._lanes: Lanes = {}
        self._state: StateMapper | None = None
        self._agui: StreamChannel[BaseEvent] = StreamChannel()
        self._tool: StreamChannel[BaseEvent] = StreamChannel()
        self._message: StreamChannel[BaseEvent] = StreamChannel()
        self._custom: StreamChannel[BaseEvent] = StreamChannel()
        self._methods: dict[str, Callable[[Mapping[str, Any], Path], None]] = {
            "messages": self._on_messages,
            "tools": self._on_tools,
            "custom": self._on_custom,
            "values": self._on_values,
            "tasks": self._on_tasks,
        }

    def init(self) -> dict[str, Any]:
        return {"agui_events": self._agui, "tool_events": self._tool, "message_events": self._message, "custom_events": self._custom}

    def _on_register(self, mux: Any) -> None:
        # a child mux gets copies of the same events: the run's own instance has mapped them already
        self._active = getattr(mux, "_assign_seq", True)

    def process(self, event: ProtocolEvent) -> bool:
        """Always True: the raw events stay in the main log."""
        method = self._methods.get(event["method"])
        if method is not None and self._active:
            params = event["params"]
            namespace = params["namespace"]
            if namespace == self._scope_list:
                method(params, ())
            elif namespace[: len(self.scope)] == self._scope_list:
                method(params, tuple(namespace[len(self.scope) :]))
        return True

    def know_history(self, messages: Sequence[Any]) -> None:
        """What the thread has already: its messages and calls are not announced again, its results not repeated.

        The run's first state says it too, but not the results of a step that is not complete: those wait beside the checkpoint.
        """
        for message in messages:
            if message_id := getattr(message, "id", None):
                self._messages.know(message_id)
                self.lifecycle.know_message(message_id)
        for call in wire_call_ids(messages):
            if call.wire not in self._ledger.streamed:  # those this stream announced, and owes their result
                self._ledger.learn(call.wire, answered=call.answered)
                self.lifecycle.know_call(call.wire, answered=call.answered)

    def show_state(self, keys: Sequence[str] | None, predictions: Sequence[Prediction] = ()) -> None:
        """From now on the stream says what each step changed in these keys of the state (None: all but `messages`).

        With predictions, (tool, argument, state key), a key shows the argument while the call streams.
        """
        self._state = StateMapper(keys, predictions)
        if predictions:
            self._methods["messages"] = self._on_predicting_messages

    @property
    def state_shown(self) -> bool:
        """Whether the stream said anything of the state."""
        return self._state is not None and self._state.shown

    def finalize(self) -> None:
        """The run ended well: a tool error that no ToolMessage was made of gets its result now."""
        if self._active:
            self._emit_all(self._tools.unreported())

    def close(self, *, suspended: Iterable[str] | None = None, failed: str | None = None) -> list[BaseEvent]:
        """The END events for everything open, for the orchestrator to send before its terminal event."""
        self._messages.forget_open()
        events = self.lifecycle.close_all(suspended=suspended, failed=failed)
        return [*events, *self._state.settle()] if self._state and failed is not None else events

    # -- channels of the run

    def _on_messages(self, params: Mapping[str, Any], path: Path) -> None:
        if path:
            self._emit_all(self._tasks.enter(path))
        self._emit_all(self._messages.map(params["data"], self._tasks.owner(path) if path else None))

    def _on_predicting_messages(self, params: Mapping[str, Any], path: Path) -> None:
        assert self._state is not None
        self._emit_all(self._tasks.enter(path))
        self._emit_all(self._state.predicted(self._messages.map(params["data"], self._tasks.owner(path))))

    def _on_tools(self, params: Mapping[str, Any], path: Path) -> None:
        self._emit_all(self._tasks.enter(path))
        self._emit_all(self._tools.map(params["data"], self._tasks.owner(path)))

    def _on_values(self, params: Mapping[str, Any], path: Path) -> None:
        data = params["data"]
        if not isinstance(data, Mapping):
            data = {}
        messages = data.get("messages")
        if isinstance(messages, (list, tuple)):
            if not path and not self._history_known:
                self._history_known = True
                self.know_history(messages)
            self._emit_all(self._tools.state(messages, self._tasks.owner(path)))
        if not path and self._state is not None:
            self._emit_all(self._state.step(data, self._ledger.unanswered))
        self._emit_all(self._tasks.step_ended(path))

    def _on_tasks(self, params: Mapping[str, Any], path: Path) -> None:
        data = params["data"]
        self._emit_all(self._tasks.enter(path, data))
        if "result" in data:
            self._emit_all(self._messages.end_task(data["id"]))
        self._emit_all(self._tasks.map(data, path))

    def _on_custom(self, params: Mapping[str, Any], path: Path) -> None:
        data, timestamp, owner = params["data"], params["timestamp"], self._tasks.owner(path)
        self._emit_all(self._tasks.enter(path))
        payload = native_payload(data)
        if payload is None:
            custom = custom_event(data, timestamp, owner)
            if not self.lifecycle.finished:
                self._custom.push(custom)
            self._emit_all([custom])
            return
        try:
            for event in self._with_state(native_events(payload, self.lifecycle, owner, self._lanes)):
                for legal in self.lifecycle.admit(event):
                    self._send(legal)
                    self._know_native(legal)
        except Refused as refused:
            log.warning("a node wrote an AG-UI event that is not legal here: %s", refused)
            self._emit_all([refusal(payload, str(refused), timestamp)])

    def _know_native(self, event: Any) -> None:
        """What a node wrote itself is not said a second time when the node returns it as messages with the same ids."""
        if event.type in (EventType.TEXT_MESSAGE_START, EventType.REASONING_MESSAGE_START):
            self._messages.know(event.message_id.partition(":reasoning:")[0])
        elif event.type is EventType.TOOL_CALL_START and event.parent_message_id:
            self._messages.know(event.parent_message_id)
        elif event.type is EventType.TOOL_CALL_RESULT:
            self._ledger.answer(event.tool_call_id)

    def _with_state(self, events: Iterable[BaseEvent]) -> Iterator[BaseEvent]:
        for event in events:
            if event.type in STATE_EVENTS and self._state is not None and not self.lifecycle.finished:
                yield from self._state.native(event)
            else:
                yield event

    # -- sending

    def _emit_all(self, events: Iterable[BaseEvent]) -> None:
        for event in events:
            try:
                for legal in self.lifecycle.admit(event):
                    self._send(legal)
            except Refused as refused:
                # agents of one name that run at once share their steps' names, and after the end a graph may go on: neither is a fault
                expected = self.lifecycle.finished or event.type in STEP_EVENTS
                log.log(logging.DEBUG if expected else logging.WARNING, "not sent: %s", refused)

    def _send(self, event: BaseEvent) -> None:
        self._agui.push(event)
        if event.type in TEXT_EVENTS:
            self._message.push(event)
        elif event.type in TOOL_EVENTS:
            self._tool.push(event)
