"""A run's stream again, from any event on and from any process: first what is kept of it, then what comes, to its terminal event."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TypeVar

from ag_ui.core import PROTOCOL_VERSION, BaseEvent, RunErrorEvent, RunStartedEvent
from botocore.exceptions import BotoCoreError, ClientError

from functions.runs.errors import MESSAGES, RunRejected
from functions.runs.event_log import EventLog
from functions.store.errors import StoreError
from functions.store.events import Batch, Kept, split
from functions.store.holders import Holder
from graphs.stream import any_event
from graphs.stream.lifecycle import Lifecycle

POLL_SECONDS = 0.5
LOOK_SECONDS = 2.0
"""Between two looks at whether the run still lives, while nothing comes from it."""
FIRST_WITHIN = 15.0
"""Seconds: a live run of which nothing is kept after that has no log."""
UNREADABLE_SECONDS = 15.0
"""So long a table that cannot be read is asked again, beyond the SDK's own retries."""
MARGIN_MS = 3_000
"""A joined stream ends so long before the deadline of its own invocation."""

log = logging.getLogger(__name__)

T = TypeVar("T")
Look = Callable[[], Awaitable[Holder | None]]


@dataclass(slots=True)
class Following:
    """Follows one run.

    Args:
        look: who has the thread, or had it last.
        encode: an event as a frame.
        after: the number of the last event that the client has; None or 0: from the beginning of what runs, or ran last, under the id.
        fence: of the lease that the run has, or had; None: of the one under which the next event came. A client that has seen events of a
            run that died is told its end, also where the id runs again; from the beginning it gets the one that runs.
        remaining_ms: milliseconds until the deadline of this invocation.
    """

    events: EventLog
    look: Look
    thread_id: str
    run_id: str
    encode: Callable[[BaseEvent], bytes]
    after: int | None = 0
    fence: int | None = None
    remaining_ms: Callable[[], int] | None = None
    _looked: float = field(default=0.0, init=False)

    async def goes_on(self) -> bool:
        """Whether an event comes after `after`, or may come. False: the client has seen the end.

        Raises:
            RunRejected: 404, the thread has no such run; 410, its events are kept no longer.
        """
        kept = await self.events.read(self.after or 0)
        if kept.batches or self._lives(held := await self.look()):
            return True
        if kept.expired:
            raise RunRejected(410, "EVENTS_EXPIRED", "The events of this run are kept no longer. Load the thread.")
        seen = (await self.events.read()).batches
        if not seen and (held is None or held.run_id != self.run_id):
            raise RunRejected(404, "NOT_FOUND", "There is no such run, or its events are not kept.")
        return not seen or not seen[-1].ends

    async def is_kept(self) -> bool:
        """Whether there is anything of it, or will be."""
        return bool(self._mine((await self.events.read()).batches)) or self._lives(await self.look())

    async def frames(self) -> AsyncIterator[bytes]:
        """To the run's terminal event; or to an error of ours, where there will be none."""
        async for batch in self.batches():
            yield batch.frames

    async def batches(self) -> AsyncIterator[Batch]:
        """As `frames`. An error of ours is a batch without a number."""
        try:
            async with aclosing(self._batches()) as batches:
                async for batch in batches:
                    yield batch
        except (BotoCoreError, ClientError, StoreError) as error:
            log.warning("the events of run %s cannot be read: %s", self.run_id, error)
            yield self._ending("EVENTS_UNREADABLE", [])

    async def _batches(self) -> AsyncGenerator[Batch, None]:
        ended, began = False, monotonic()
        if self.fence is None:
            await self._whose()
        while True:
            found = self._mine((await self._read(self.after or 0)).batches)
            for batch in found:
                if batch.first > self.after + 1 if self.after else not _begins(batch):
                    yield await self._error("EVENTS_MISSING")
                    return
                yield replace(batch, frames=batch.after(self.after or 0))
                self.after = batch.last
                if batch.ends:
                    return
            if ended and not found:
                yield await self._error("RUN_LOST")
                return
            if not self.after and monotonic() - began > FIRST_WITHIN:
                yield await self._error("EVENTS_MISSING")
                return
            if self.remaining_ms is not None and self.remaining_ms() < MARGIN_MS:
                yield await self._error("JOIN_ENDED")
                return
            # its last events are kept before it gives its thread back: after that they are read once more
            ended = not found and await self._has_ended()
            await asyncio.sleep(POLL_SECONDS)

    async def _whose(self) -> None:
        """From the beginning: the run that goes on. Behind an event: the run that sent it, unless that was its last."""
        if not self.after:
            self._lives(await self._again(self.look))
            return
        seen = [batch for batch in (await self._read(self.after - 1)).batches if batch.first <= self.after]
        if seen and not (seen[-1].ends and seen[-1].last == self.after):
            self.fence = seen[-1].fence

    def _mine(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        """Those under the lease that is followed."""
        if self.fence is None and batches and not self.after:
            self.fence = max(batch.fence for batch in batches)
        elif self.fence is None and batches:
            wanted = max(self.after or 0, batches[0].first - 1) + 1
            self.fence = max(batch.fence for batch in batches if batch.first <= wanted)
        return [batch for batch in batches if batch.fence == self.fence]

    async def _has_ended(self) -> bool:
        if monotonic() - self._looked < LOOK_SECONDS:
            return False
        self._looked = monotonic()
        return not self._lives(await self._again(self.look))

    async def _read(self, after: int) -> Kept:
        return await self._again(lambda: self.events.read(after))

    async def _again(self, ask: Callable[[], Awaitable[T]]) -> T:
        """One failed call of hundreds is no end of a stream."""
        until = monotonic() + UNREADABLE_SECONDS
        while True:
            try:
                return await ask()
            except (BotoCoreError, ClientError, StoreError) as error:
                if monotonic() > until:
                    raise
                log.info("the events of run %s cannot be read yet: %s", self.run_id, error)
            await asyncio.sleep(POLL_SECONDS)

    def _lives(self, held: Holder | None) -> bool:
        if held is None or not held.live or held.run_id != self.run_id or self.fence not in (None, held.fence):
            return False
        self.fence = held.fence
        return True

    async def _error(self, code: str) -> Batch:
        """What ends a stream that has no end: it closes what is open. What the client has beyond what is kept may have closed it."""
        seen = [batch for batch in (await self._read(0)).batches if batch.last <= (self.after or 0)]
        fence = seen[-1].fence if seen and self.fence is None else self.fence
        seen = [batch for batch in seen if batch.fence == fence]
        whole = bool(seen) and seen[-1].last == self.after and _begins(seen[0])
        return self._ending(code, closing(frame for batch in seen for frame in split(batch.frames)) if whole else [])

    def _ending(self, code: str, closed: Sequence[BaseEvent]) -> Batch:
        """It begins, if nothing has."""
        begun = RunStartedEvent(protocol_version=PROTOCOL_VERSION, thread_id=self.thread_id, run_id=self.run_id)
        events = [*([] if self.after else [begun]), *closed, RunErrorEvent(message=MESSAGES[code], code=code)]
        return Batch(0, len(events), self.fence or 0, b"".join(map(self.encode, events)), ends=True)


def _begins(batch: Batch) -> bool:
    return b'{"type":"RUN_STARTED"' in batch.frames[:64]


_OPENS_OR_CLOSES = re.compile(rb'{"type":"(?!RUN_)[A-Z_]+_(START|STARTED|END|FINISHED|ERROR)"')


def closing(frames: Iterable[bytes]) -> list[BaseEvent]:
    """The END events of what these frames left open."""
    lifecycle = Lifecycle()
    for frame in frames:
        text = frame.partition(b"data: ")[2]
        if _OPENS_OR_CLOSES.match(text):
            lifecycle.admit(any_event().validate_json(text))
    return lifecycle.close_all(failed=MESSAGES["RUN_LOST"])
