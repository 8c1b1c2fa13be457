"""A thread shown again, on a reload or another device: the same shapes as a live run's end, without running anything."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import uuid4

from ag_ui.core import PROTOCOL_VERSION, BaseEvent, MessagesSnapshotEvent, RunFinishedEvent, RunStartedEvent, StateSnapshotEvent
from langgraph.pregel import Pregel

from functions.runs.frontend import success
from functions.runs.thread import public_keys, public_state, read_thread
from graphs.stream import map_interrupts, messages_to_agui


async def connect_events(
    graph: Pregel[Any, Any, Any, Any],
    thread_id: str,
    state_keys: Sequence[str] | None,
    *,
    frontend_tools: Collection[str] = (),
    protocol_version: str | None = None,
) -> list[BaseEvent]:
    """RUN_STARTED (`connect-<uuid>`), MESSAGES_SNAPSHOT, STATE_SNAPSHOT, RUN_FINISHED with success or with all open interrupts.

    Calls to `frontend_tools` that wait for the client are listed as a run lists them, for a client of protocol 1.0.
    """
    thread = await read_thread(graph, {"configurable": {"thread_id": thread_id}})
    run_id = f"connect-{uuid4()}"
    interrupts = map_interrupts(thread.interrupts, thread.messages)
    ended = success(thread.messages, frontend_tools, protocol_version)
    outcome: dict[str, Any] = {"type": "interrupt", "interrupts": interrupts} if interrupts else ended
    return [
        RunStartedEvent(protocol_version=PROTOCOL_VERSION, thread_id=thread_id, run_id=run_id),
        MessagesSnapshotEvent(messages=messages_to_agui(thread.messages)),
        StateSnapshotEvent(snapshot=public_state(thread, public_keys(graph, state_keys))),
        RunFinishedEvent.model_validate({"threadId": thread_id, "runId": run_id, "outcome": outcome}),
    ]
