"""v3 protocol events made by hand, pushed through a real mux with the AG-UI transformer, and what comes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ag_ui.core import PROTOCOL_VERSION, BaseEvent, RunErrorEvent, RunFinishedEvent, RunStartedEvent
from langgraph.stream import ProtocolEvent
from langgraph.stream._mux import StreamMux

from graphs.stream import AguiTransformer

CHANNELS = ("agui_events", "tool_events", "message_events", "custom_events")
Event = Mapping[str, Any]


def protocol_event(method: str, data: Any, ns: Sequence[str] = ()) -> Event:
    """An event of the run's own graph, or of the graph at `ns`."""
    return {"type": "event", "method": method, "params": {"namespace": list(ns), "timestamp": 7, "data": data}}


def message(payload: Any, run: str = "r1", ns: Sequence[str] = ()) -> Event:
    return protocol_event("messages", (payload, {"run_id": run}), ns)


def start(message_id: str = "m1", run: str = "r1", ns: Sequence[str] = (), role: str = "ai") -> Event:
    return message({"event": "message-start", "id": message_id, "role": role}, run, ns)


def block(index: int, kind: str, run: str = "r1", ns: Sequence[str] = (), **content: Any) -> Event:
    return message({"event": "content-block-start", "index": index, "content": {"type": kind, **content}}, run, ns)


def delta(index: int, kind: str, piece: str, run: str = "r1", ns: Sequence[str] = ()) -> Event:
    """`kind`: text, reasoning or args."""
    name = "tool-call" if kind == "args" else kind
    return message({"event": "content-block-delta", "index": index, "delta": {"type": f"{name}-delta", kind: piece}}, run, ns)


def finish(index: int, kind: str, run: str = "r1", ns: Sequence[str] = (), **content: Any) -> Event:
    return message({"event": "content-block-finish", "index": index, "content": {"type": kind, **content}}, run, ns)


def end(run: str = "r1", ns: Sequence[str] = ()) -> Event:
    return message({"event": "message-finish"}, run, ns)


def call(index: int, call_id: str | None, name: str | None = "f", run: str = "r1") -> Event:
    """The start of a streamed call."""
    return block(index, "tool_call_chunk", run, id=call_id, name=name, args="")


def tool(kind: str, call_id: str = "c1", ns: Sequence[str] = (), **data: Any) -> Event:
    return protocol_event("tools", {"event": f"tool-{kind}", "tool_call_id": call_id, **data}, ns)


def custom(data: Any, ns: Sequence[str] = ()) -> Event:
    return protocol_event("custom", data, ns)


def native(type_: Any, ns: Sequence[str] = (), **fields: Any) -> Event:
    return custom({"name": "agui", "payload": {"type": type_, **fields}}, ns)


def values(*messages: Any, ns: Sequence[str] = (), **state: Any) -> Event:
    return protocol_event("values", {"messages": list(messages), **state}, ns)


def task(task_id: str, name: str, ns: Sequence[str] = (), **data: Any) -> Event:
    """A task's start; with `result` its end."""
    return protocol_event("tasks", {"id": task_id, "name": name, **data}, ns)


@dataclass(frozen=True, slots=True)
class Projection:
    """What the four channels got, in wire shape."""

    agui_events: list[dict[str, Any]]
    tool_events: list[dict[str, Any]]
    message_events: list[dict[str, Any]]
    custom_events: list[dict[str, Any]]
    stream: list[BaseEvent]
    """`agui_events` as the orchestrator sends them: with a start, what closes it, and an end."""

    @property
    def failed(self) -> list[BaseEvent]:
        """The same, ended by an error: what the model left half done counts as that."""
        return [*self.stream[:-1], RunErrorEvent(message="failed", code="AGENT_INTERNAL")]

    @property
    def lines(self) -> list[str]:
        return [line(event) for event in self.agui_events]


async def project(events: Iterable[Event], transformer: AguiTransformer | None = None, *, error: Exception | None = None) -> Projection:
    """Push `events` through a mux of the transformer's own. `error` ends it instead of a close."""
    transformer = transformer or AguiTransformer()
    mux = StreamMux([transformer], is_async=True, scope=transformer.scope)
    channels = {name: mux.extensions[name] for name in CHANNELS}
    cursors = {name: channel.__aiter__() for name, channel in channels.items()}
    for event in events:
        await mux.apush(cast(ProtocolEvent, dict(event)))
    await (mux.aclose() if error is None else mux.afail(error))
    got = {name: [item for _, item in channel._items] for name, channel in channels.items()}
    assert len(cursors) == len(CHANNELS)
    ids: dict[str, Any] = {"thread_id": "t", "run_id": "r"}
    sent: list[BaseEvent] = [RunStartedEvent(protocol_version=PROTOCOL_VERSION, **ids), *got["agui_events"], *transformer.close()]
    if not transformer.lifecycle.finished:
        sent.append(RunFinishedEvent(**ids))
    return Projection(**{name: [e.model_dump(mode="json", by_alias=True) for e in got[name]] for name in CHANNELS}, stream=sent)


def line(event: Mapping[str, Any]) -> str:
    """One event as one line: its type, then its fields but the time."""
    fields = [f"{key}={value}" for key, value in event.items() if key not in ("type", "timestamp")]
    return " ".join([event["type"], *fields])
