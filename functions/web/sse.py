"""AG-UI events → server-sent events, and the response that sends them: LF framing, one JSON object a frame, comments against silence."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from json.encoder import encode_basestring as quote
from typing import Any

from ag_ui.core import BaseEvent, CustomEvent, EventType, RunErrorEvent, RunStartedEvent
from pydantic_core import PydanticSerializationError
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from graphs.stream import jsonable

log = logging.getLogger(__name__)

MAX_FRAME_BYTES = 8 * 1024 * 1024
"""@ag-ui/client aborts on a frame over 10 MB. Its number comes on top."""
FRAME_TOO_LARGE = "FRAME_TOO_LARGE"
COMMENT = b": \n\n"
SETTLE_SECONDS = 0.25
"""After a burst a function URL may hold the last small chunk until the next one: a comment is the next one."""
MAX_WAITING_FRAMES = 1_024

_DELTAS = {
    EventType.TEXT_MESSAGE_CONTENT: "message_id",
    EventType.REASONING_MESSAGE_CONTENT: "message_id",
    EventType.TOOL_CALL_ARGS: "tool_call_id",
}
_NAMES = {"message_id": "messageId", "tool_call_id": "toolCallId"}
_HEADS = {kind: f'data: {{"type":"{kind.value}",' for kind in _DELTAS}


def encode(event: BaseEvent) -> bytes:
    """One frame. Never NaN, never a lone surrogate, never too large for a client: then it says so instead (see `_shorter`)."""
    field = _DELTAS.get(event.type)
    frame = _delta_frame(event, field) if field is not None and _is_plain(event) else _frame(event)
    if len(frame) > MAX_FRAME_BYTES:
        log.error("a %s of %d bytes is too large for a client and was left out", event.type.value, len(frame))
        return _frame(_shorter(event, len(frame)))
    return frame


def _shorter(event: BaseEvent, size: int) -> BaseEvent:
    """What begins and ends a stream must be there: a start goes without the run's input, an end that cannot be said is an error.
    Everything else becomes `CUSTOM frame_omitted`."""
    if isinstance(event, RunStartedEvent):
        return event.model_copy(update={"input": None})
    if event.type in (EventType.RUN_FINISHED, EventType.RUN_ERROR):
        return RunErrorEvent(
            message="The end of this run is too large to be sent. The thread is stored: load it again.", code=FRAME_TOO_LARGE
        )
    return CustomEvent(name="frame_omitted", value={"type": event.type.value, "bytes": size})


def _is_plain(event: Any) -> bool:
    return event.timestamp is None and event.metadata is None and event.raw_event is None and not event.__pydantic_extra__


def _delta_frame(event: Any, field: str) -> bytes:
    """The hot path, byte for byte what pydantic would write."""
    owner = event.subagent_run_id
    tag = f'"subagentRunId":{quote(owner)},' if owner is not None else ""
    text = f'{_HEADS[event.type]}{tag}"{_NAMES[field]}":{quote(getattr(event, field))},"delta":{quote(event.delta)}}}\n\n'
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _frame(event)


def _frame(event: BaseEvent) -> bytes:
    try:
        return f"data: {event.model_dump_json(by_alias=True)}\n\n".encode()
    except (PydanticSerializationError, UnicodeEncodeError):
        safe = jsonable(event.model_dump(by_alias=True))
        return f"data: {json.dumps(safe, ensure_ascii=False, allow_nan=False, separators=(',', ':'))}\n\n".encode()


class Frames:
    """The frames between the run and the connection. The run waits when the client is slow, and goes on when the client is gone."""

    def __init__(self) -> None:
        self._waiting: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._gone = False
        self.done = False
        self.last = time.monotonic()
        self.settled = True

    async def put(self, frame: bytes) -> None:
        if self._gone:
            return
        self._append(frame)
        self.settled = False
        if len(self._waiting) >= MAX_WAITING_FRAMES:
            self._room.clear()
            await self._room.wait()

    def comment(self) -> None:
        if not self._gone and not self._waiting:
            self._append(COMMENT)
            self.settled = True

    def finish(self) -> None:
        self.done = True
        self._changed.set()

    def client_gone(self) -> None:
        self._gone = True
        self._waiting.clear()
        self._room.set()

    async def take(self) -> bytes:
        """Everything that waits, as one chunk; empty when the run has ended."""
        while not self._waiting and not self.done:
            self._changed.clear()
            await self._changed.wait()
        chunk = b"".join(self._waiting)
        self._waiting.clear()
        self._room.set()
        return chunk

    def _append(self, frame: bytes) -> None:
        self._waiting.append(frame)
        self._changed.set()
        self.last = time.monotonic()


class EventStream(Response):
    """A 200 that always ends in the run's terminal event.

    The run is read in a task of its own. A client that goes away does not stop it: what it did is in the checkpoint.

    Args:
        events: the run.
        encode: one of them as a frame.
        heartbeat: seconds of silence after which a comment is sent.
        goes_on: without the client too. What only shows a run does not.
        after: awaited when the last byte is out.
        closing: awaited in any case, also when the request is cancelled before the run has begun.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        events: AsyncIterator[Any],
        *,
        heartbeat: float,
        encode: Callable[[Any], bytes] = encode,
        goes_on: bool = True,
        after: Callable[[], Awaitable[None]] | None = None,
        closing: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(headers={"Content-Type": self.media_type, "Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._events = events
        self._encode = encode
        self._heartbeat = heartbeat
        self._goes_on = goes_on
        self._after = after
        self._closing = closing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        frames = Frames()
        run = asyncio.create_task(self._read(frames))
        beat = asyncio.create_task(self._beat(frames))
        try:
            await self._write(frames, send)
            if self._goes_on or frames.done:
                await run
        finally:
            beat.cancel()
            run.cancel()
            await asyncio.gather(beat, run, return_exceptions=True)
            if self._closing is not None:
                await self._closing()
        if self._after is not None:
            await self._after()

    async def _read(self, frames: Frames) -> None:
        try:
            async for event in self._events:
                await frames.put(self._encode(event))
        finally:
            frames.finish()

    async def _write(self, frames: Frames, send: Send) -> None:
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            while chunk := await frames.take():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except OSError as error:
            log.info("the client went away in the middle of the stream%s: %s", "; the run goes on" if self._goes_on else "", error)
            frames.client_gone()

    async def _beat(self, frames: Frames) -> None:
        while True:
            await asyncio.sleep(SETTLE_SECONDS)
            silent = time.monotonic() - frames.last
            if silent >= self._heartbeat or (silent >= SETTLE_SECONDS and not frames.settled):
                frames.comment()
