"""A thread shown again while a run is at work on it: as it was before that run, then the run's own events, to its end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from ag_ui.core import BaseEvent, MessagesSnapshotEvent, RunStartedEvent, StateSnapshotEvent
from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel

from functions.runs.following import Following
from functions.runs.thread import Thread, public_keys, public_state, read_thread
from functions.store.events import split
from graphs.stream import messages_to_agui

AtRest = Callable[[], Awaitable[Sequence[BaseEvent]]]


async def live_frames(
    graph: Pregel[Any, Any, Any, Any],
    found: Following,
    state_keys: Sequence[str] | None,
    at_rest: AtRest,
) -> AsyncIterator[bytes]:
    """The run's RUN_STARTED, MESSAGES_SNAPSHOT and STATE_SNAPSHOT of the thread before it, then what the run sent. Its frames have their
    numbers: who drops this stream can join the run. `at_rest`: what is shown where nothing of the run is kept."""
    begun = False
    async for batch in found.batches():
        if begun:
            yield batch.frames
        elif not batch.first:
            yield b"".join(map(found.encode, await at_rest()))
        else:
            start, *rest = split(batch.frames)
            yield b"".join([start, *map(found.encode, await _before(graph, found.thread_id, batch.base, start, state_keys)), *rest])
        begun = True


async def _before(
    graph: Pregel[Any, Any, Any, Any], thread_id: str, checkpoint_id: str, start: bytes, state_keys: Sequence[str] | None
) -> list[BaseEvent]:
    """With the messages that the run was started with: a client drops what a snapshot lacks."""
    at: RunnableConfig = {"configurable": {"thread_id": thread_id, "checkpoint_id": checkpoint_id}}
    thread = await read_thread(graph, at) if checkpoint_id else Thread()
    messages = messages_to_agui(thread.messages)
    known = {message.id for message in messages}
    told = RunStartedEvent.model_validate_json(start.partition(b"data: ")[2]).input
    new = [message for message in (told.messages if told else ()) if message.id not in known]
    state = public_state(thread, public_keys(graph, state_keys))
    return [MessagesSnapshotEvent(messages=[*messages, *new]), StateSnapshotEvent(snapshot=state)]
