"""One run per thread. A run takes the thread's lease first, beats while it goes, and gives it back before its last event is sent.

With `DynamoDBSaver` the lease is in the table and holds against every process. With any other checkpointer it is in this process, where
that checkpointer's threads are; a graph without one has no threads to hold.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError
from langgraph.checkpoint.base import BaseCheckpointSaver

from functions.runs.errors import RunRejected
from functions.runs.local_lease import LocalLease
from functions.store.errors import StoreError, ThreadBusy
from functions.store.holders import asked_to_stop
from functions.store.holding import Holding, clocks
from functions.store.meter import uncounted

if TYPE_CHECKING:
    from functions.store.checkpoints import DynamoDBSaver
    from functions.store.claims import Claim
    from functions.store.leases import Grant

log = logging.getLogger(__name__)

LEASE_SECONDS = 30.0
LOOK_SECONDS = 1.0
"""Between two looks at whether the run is to stop."""
BEATS = 3
"""In the time of a lease: two can fail."""
PAST_DEADLINE = 5.0
"""Seconds that a lease outlives the deadline of its invocation: no longer, since nobody gives it back then."""
SETTLING = 5.0
"""Seconds that the end of a run waits for writes that its cancelled tasks have left under way."""
POLL_SECONDS = 0.25

RemainingMs = Callable[[], int]


class RunInProgress(RunRejected):
    """Another run has the thread: `run_id`, which a request with `request_key` has started. `fence`: of the lease of the run that this
    very request has started before."""

    fence: int | None = None

    def __init__(
        self, run_id: str, message: str = "A run is in progress on this thread. Wait for its end.", *, request_key: str = ""
    ) -> None:
        super().__init__(409, "RUN_IN_PROGRESS", message)
        self.run_id, self.request_key = run_id, request_key


def already_started(run_id: str, fence: int) -> RunInProgress:
    """This request has started that run before."""
    refusal = RunInProgress(run_id, f"This request has started the run {run_id} before.")
    refusal.fence = fence
    return refusal


class Lease(Protocol):
    """A thread that is held. `fence` rises with every lease of the thread; `lost` is set when another run has taken it over; `dead`: the
    runs that it was ever taken over from."""

    fence: int
    dead: frozenset[str]
    lost: threading.Event
    changed: bool
    """The thread belongs to other code: what it asked may be asked otherwise now."""
    alone: bool
    """No run of any process is at work on this thread: one that is not finished has died."""

    @property
    def checkpointer(self) -> BaseCheckpointSaver[Any]:
        """What the run reads and writes with."""

    async def looked_at(self) -> None:
        """What was open was asked again: the thread belongs to this code. Before the graph runs: what that asks is this code's."""

    def beat(self, on_lost: Callable[[], None], on_stop: Callable[[], None]) -> None:
        """From now on it is renewed, by a thread of its own; `on_lost` is called there, and `on_stop` when the run is to stop."""

    async def release(self) -> None:
        """Gives it back. Never raises what the table raises: it is logged, and the lease ends by itself."""

    async def answers(self, interrupt_ids: list[str]) -> Mapping[str, Claim] | None:
        """What earlier runs claimed as the answers to these questions; None: claims are not kept."""

    async def claim(self, answers: dict[str, Claim]) -> list[str]:
        """Claims the answers; returns the interrupts that have another one already."""

    async def forget(self, interrupt_ids: list[str]) -> None:
        """These questions have no answer any more."""

    async def run_of_request(self, key: str) -> tuple[str, int] | None:
        """The run that this `Idempotency-Key` has started, and the fence of its lease."""

    async def started(self, key: str) -> None:
        """The key belongs to this run."""


async def acquire(
    checkpointer: BaseCheckpointSaver[Any],
    thread_id: str,
    *,
    run_id: str,
    seconds: float = LEASE_SECONDS,
    wait: float = 0.0,
    remaining_ms: RemainingMs | None = None,
    code: str = "",
    request_key: str = "",
) -> Lease:
    """The lease of a thread.

    Args:
        seconds: how long it holds without a beat.
        wait: seconds to wait for a busy thread.
        remaining_ms: milliseconds until the deadline of this invocation, past which it never holds.
        code: the version of the code that runs; empty: not known.
        request_key: the request's `Idempotency-Key`. What it has started itself is not waited for.

    Raises:
        RunInProgress: another run has the thread.
    """
    until = time.monotonic() + wait
    while True:
        try:
            return await _take(checkpointer, thread_id, run_id, seconds, remaining_ms, code, request_key)
        except ThreadBusy as busy:
            left = until - time.monotonic()
            if left <= 0 or (request_key and busy.request_key == request_key):
                raise RunInProgress(busy.run_id, request_key=busy.request_key) from busy
        await asyncio.sleep(min(POLL_SECONDS, left))


async def _take(
    checkpointer: BaseCheckpointSaver[Any],
    thread_id: str,
    run_id: str,
    seconds: float,
    remaining_ms: RemainingMs | None,
    code: str,
    request_key: str,
) -> Lease:
    if not hasattr(checkpointer, "leases"):
        return LocalLease(checkpointer, thread_id, run_id, seconds, request_key)
    saver: DynamoDBSaver = checkpointer  # type: ignore[assignment]  # not imported: boto3 takes longer than a run without it
    since, cancelled = clocks(), threading.Event()

    def take() -> Grant:
        grant = saver.leases.take(saver.partition(thread_id), run_id, _lasting(seconds, remaining_ms), code, request_key)
        if cancelled.is_set():
            saver.leases.give_back(grant)
        return grant

    try:
        grant = await saver.in_thread(take)
    except asyncio.CancelledError:
        cancelled.set()  # its thread goes on
        raise
    return TableLease(saver, grant, seconds, remaining_ms, since, code)


async def take_on(
    saver: DynamoDBSaver, thread_id: str, holder: str, hop: int, *, seconds: float, remaining_ms: RemainingMs | None, code: str = ""
) -> TableLease | None:
    """The lease that another invocation has handed over to this one. None: it is not to be had any more."""
    since = clocks()
    grant = await saver.in_thread(saver.leases.take_on, saver.partition(thread_id), holder, hop, _lasting(seconds, remaining_ms))
    return None if grant is None else TableLease(saver, grant, seconds, remaining_ms, since, code)


def _lasting(seconds: float, remaining_ms: RemainingMs | None) -> float:
    return seconds if remaining_ms is None else min(seconds, remaining_ms() / 1_000 + PAST_DEADLINE)


class TableLease:
    """A lease in the table of a `DynamoDBSaver`."""

    alone = True

    def __init__(
        self,
        saver: DynamoDBSaver,
        grant: Grant,
        seconds: float,
        remaining_ms: RemainingMs | None,
        since: tuple[float, float],
        code: str = "",
    ) -> None:
        self.fence, self.dead = grant.fence, grant.dead
        self.changed = bool(code and grant.code and code != grant.code)
        self._code = code
        self._grant, self._seconds, self._remaining_ms = grant, seconds, remaining_ms
        self._leases = saver.leases
        self._holding = Holding(seconds, self._renew, since=since)
        self._ended = threading.Event()
        self.lost = self._holding.lost
        self._saver = saver.held(grant, self._holding)

    @property
    def checkpointer(self) -> DynamoDBSaver:
        return self._saver

    @property
    def holder(self) -> str:
        return self._grant.holder

    @property
    def pk(self) -> str:
        return self._grant.pk

    async def hand_over(self, hop: int, seconds: float) -> bool:
        """From now on nothing is written here. False: something is still under way, or the lease is lost."""
        self._ended.set()
        if not await self._saver.in_thread(self._holding.close, SETTLING) or self.lost.is_set():
            return False
        return await self._saver.in_thread(self._leases.hand_over, self._grant, hop, seconds)

    async def looked_at(self) -> None:
        await self._saver.in_thread(self._leases.belongs, self._grant, self._code)
        self.changed = False

    def _renew(self) -> bool:
        return self._leases.beat(self._grant, _lasting(self._seconds, self._remaining_ms))

    def beat(self, on_lost: Callable[[], None], on_stop: Callable[[], None]) -> None:
        # in the run's context: what it logs is the run's, and so are its calls
        run, name = contextvars.copy_context().run, f"lease-{self._grant.run_id}"
        threading.Thread(target=run, args=(self._keep_beating, on_lost, on_stop), name=name, daemon=True).start()

    def _keep_beating(self, on_lost: Callable[[], None], on_stop: Callable[[], None]) -> None:
        due = time.monotonic() + self._seconds / BEATS - self._holding.age  # planning the run has taken its part
        stops = False
        look: Future[bool] | None = None
        while not self._ended.wait(max(0.0, min(LOOK_SECONDS, due - time.monotonic()))):
            if not stops:
                # on another thread: a look that hangs must not hold up a beat
                look = look or self._saver.begin(self._is_to_stop)
                wait([look], max(0.0, due - time.monotonic()))
                if look.done():
                    stops, look = look.result(), None
                if stops:
                    due = 0.0  # whoever asked has cut the lease short
                    on_stop()
            if time.monotonic() < due:
                continue
            due = time.monotonic() + self._seconds / BEATS
            try:
                alive = self._holding.beat()
            except (BotoCoreError, ClientError, StoreError) as error:
                log.warning("the lease of run %s was not renewed: %s", self._grant.run_id, error)
                continue
            if not alive and not self._ended.is_set():
                log.error("run %s has lost its thread to another run", self._grant.run_id)
                on_lost()
            if not alive:
                return

    def _is_to_stop(self) -> bool:
        since = clocks()
        try:
            with uncounted():
                asked = asked_to_stop(self._leases.reader.table, self._grant)
        except (BotoCoreError, ClientError, StoreError) as error:
            log.warning("it is not known whether run %s is to stop: %s", self._grant.run_id, error)
            return False
        if not asked:
            self._holding.seen(since)
        return asked

    async def release(self) -> None:
        self._ended.set()
        await self._saver.in_thread(self._give_back)

    def _give_back(self) -> None:
        clean = self._holding.close(SETTLING)
        if self.lost.is_set():
            return
        try:
            self._leases.give_back(self._grant, clean=clean)
        except (BotoCoreError, ClientError, StoreError):
            log.exception("the lease of run %s was not given back: the thread is free in %.0f s", self._grant.run_id, self._seconds)

    async def answers(self, interrupt_ids: list[str]) -> Mapping[str, Claim]:
        saver = self._saver
        return await saver.in_thread(saver.claims.answers, self._grant.pk, interrupt_ids)

    async def claim(self, answers: dict[str, Claim]) -> list[str]:
        saver = self._saver
        return await saver.in_thread(saver.claims.claim, self._grant.pk, self._grant.run_id, answers)

    async def forget(self, interrupt_ids: list[str]) -> None:
        saver = self._saver
        await saver.in_thread(saver.claims.forget, self._grant.pk, interrupt_ids)

    async def run_of_request(self, key: str) -> tuple[str, int] | None:
        saver = self._saver
        return await saver.in_thread(saver.claims.run_of_request, self._grant.pk, key)

    async def started(self, key: str) -> None:
        saver = self._saver
        await saver.in_thread(saver.claims.request, self._grant.pk, self._grant.run_id, key, self.fence)
