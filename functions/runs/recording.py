"""The events of a run as numbered frames, kept in batches while they are sent. The stream never waits for it, but for its last event.

A batch goes out a second after its first frame, or once it is large. Writing fails: it is said in the log and tried again with what has
come meanwhile; the stream goes on. What could not be kept is missed by whoever joins, who is told so (`functions.runs.following`). Nor
does a run's beginning wait long: where it cannot be read how far its id is numbered, its events are not kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from ag_ui.core import BaseEvent

from functions.runs.event_log import EventLog
from functions.store.errors import StoreError
from functions.store.events import MOST_FRAMES, Batch, Last

log = logging.getLogger(__name__)

BATCH_SECONDS = 1.0
BATCH_BYTES = 64 * 1024
AGAIN_SECONDS = 2.0
"""After a write that failed, beyond the SDK's own retries."""
END_SECONDS = 5.0
"""The last event waits so long for the ones before it to be kept."""
LOOKED_UP_WITHIN = 2.0
"""Seconds that a planned run waits for how far its id is numbered, which was asked when it was planned."""
UNKEPT = 10_000
"""More events than a run sends before they are kept."""
MOST_WAITING = 16 * 1024 * 1024
"""Bytes of frames that a log which cannot be written may hold in memory."""


class Recorder:
    """Numbers and keeps the frames of one run.

    Args:
        events: where they are kept; None: they are only numbered.
        encode: an event as a frame, which ends in a blank line.
    """

    def __init__(self, events: EventLog | None, encode: Callable[[BaseEvent], bytes]) -> None:
        self._events = events
        self._encode = encode
        self._number = 0
        self._keeping = False
        self._fence = 0
        self._base = ""
        self._frames: list[bytes] = []
        self._size = 0
        self._waiting: deque[Batch] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._end: tuple[BaseEvent, bytes] | None = None

    @property
    def number(self) -> int:
        """Of the last event."""
        return self._number

    @property
    def fence(self) -> int:
        return self._fence

    async def last(self) -> Last | None:
        """How far earlier runs with this id were numbered. None: nothing is kept."""
        if self._events is None:
            return None
        try:
            return await self._events.last()
        except Exception as error:  # a run whose events are not kept is better than none
            log.warning("the events of this run are not kept: %s", error, exc_info=_odd(error))
            return None

    def begin(self, last: Last | None, fence: int, base: str, *, again: bool = False) -> None:
        """Under the thread's lease. `base`: the checkpoint that the run begins at; `again`: a run with its id has died. That one, and any
        whose end is not kept, may have sent more events than it kept, and a client of it must not find others under their numbers."""
        if last is not None:
            gap = UNKEPT if again or not last.ended else 0
            self._number, self._keeping, self._fence, self._base = last.number + gap, True, fence, base

    def from_checkpoint(self, base: str) -> None:
        """Of a run that had begun before it was planned, told before its first event."""
        self._base = base

    def go_on(self, number: int, fence: int) -> None:
        """With what another invocation has numbered so far, under the same lease."""
        self._number, self._keeping, self._fence = number, self._events is not None, fence

    async def pause(self) -> int | None:
        """Keeps what has come. The number of the last event; None: not all of them are kept."""
        if not self._keeping:
            return None
        self._cut()
        self._flush()
        assert self._writing is not None
        await asyncio.wait([self._writing], timeout=END_SECONDS)
        return self._number if self._writing.done() and not self._waiting else None

    def frame(self, event: BaseEvent) -> bytes:
        """The event as it is sent, with its number."""
        if self._end is not None and event is self._end[0]:
            return self._end[1]
        frame = self._numbered(event)
        if self._keeping:
            self._cut_in_time()
        return frame

    def _numbered(self, event: BaseEvent) -> bytes:
        self._number += 1
        frame = b"id: %d\n%b" % (self._number, self._encode(event))
        if self._keeping:
            self._frames.append(frame)
            self._size += len(frame)
        return frame

    def _cut_in_time(self) -> None:
        if self._size >= BATCH_BYTES or len(self._frames) >= MOST_FRAMES:
            self._cut()
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(BATCH_SECONDS, self._due)

    def _due(self) -> None:
        self._timer = None
        self._cut()
        self._flush()

    def _cut(self, *, ends: bool = False) -> None:
        """What has come so far becomes a batch."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        frames, self._frames, self._size = self._frames, [], 0
        if frames:
            first = self._number - len(frames) + 1
            self._waiting.append(Batch(first, len(frames), self._fence, b"".join(frames), ends, self._base))
            self._base = ""
        waiting = sum(len(batch.frames) for batch in self._waiting)
        while waiting > MOST_WAITING and len(self._waiting) > 1:
            lost = self._waiting.popleft()
            waiting -= len(lost.frames)
            log.error("events %d to %d of this run are not kept: their table could not be written for too long", lost.first, lost.last)

    def _flush(self) -> None:
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        assert self._events is not None
        while self._waiting:
            batch = self._waiting.popleft()
            try:
                await self._events.write(batch)
            except Exception as error:  # whatever the log raises must not end the run that it is kept for
                log.warning("events %d to %d of this run are not kept yet: %s", batch.first, batch.last, error, exc_info=_odd(error))
                self._waiting.appendleft(batch)
                await asyncio.sleep(AGAIN_SECONDS)

    async def end(self, event: BaseEvent) -> None:
        """The run's terminal event, before it is sent and while the thread is held: who sees it can replay it. Raises nothing of the
        log's."""
        self._end = event, self._numbered(event)  # however large: the batch that holds it says that it ends
        if not self._keeping:
            return
        self._cut(ends=True)
        self._flush()
        assert self._writing is not None
        try:
            async with asyncio.timeout(END_SECONDS):
                await self._writing
        except TimeoutError:
            log.error("the last events of this run are not kept: their table cannot be written")


def _odd(error: Exception) -> bool:
    """Whether the log needs the stack: a `StoreError` says itself what to do."""
    return not isinstance(error, StoreError)
