"""A run that outlasts its invocation: handed over, with its lease, to another invocation of the same function.

The first one stops at a step boundary, keeps what it has sent, passes the lease on (it stays the same lease: holder, fence and epoch do not
change, so nobody can come between) and invokes the function asynchronously. Lambda delivers such an event at least once: each hop is taken
on once, by a conditional write. Where nobody takes it on the lease ends by itself, as that of a run that died.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ag_ui.core import RunAgentInput, TokenUsage

from functions.runs.lease import Lease, TableLease
from functions.runs.recording import Recorder

if TYPE_CHECKING:
    from functions.store.checkpoints import DynamoDBSaver
    from functions.store.events import EventTable

log = logging.getLogger(__name__)

TAKEN_ON_WITHIN = 60.0
"""Seconds that the next invocation has to begin: a cold start, and Lambda's own queue."""

Invoke = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Sends the function an event of its own. Raises what botocore raises."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """What the next invocation is told; JSON.

    `hop` counts them from 1, and is 0 of a run that begins there; `number`: of the last event that was sent, None before the first;
    `usage`: the tokens so far; `key`: the `Idempotency-Key` of a run that begins; `background`: nobody waits for it."""

    principal: str
    thread_id: str
    run_id: str
    holder: str
    hop: int = 1
    number: int | None = None
    usage: Sequence[Mapping[str, Any]] = ()
    key: str | None = None
    background: bool = False

    @classmethod
    def of(cls, event: Any) -> Ticket:
        """Raises `ValueError`."""
        try:
            return cls(**event)
        except TypeError as error:
            raise ValueError(f"this is no run to go on with: {error}") from error

    def as_event(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def tokens(self) -> list[TokenUsage]:
        return [TokenUsage.model_validate(entry) for entry in self.usage]


@dataclass(frozen=True, slots=True)
class Continuation:
    """How a run of this invocation goes on in another one. `most`: hops of one run; `came_by`: the ticket of this invocation."""

    invoke: Invoke
    input: RunAgentInput
    principal: str
    events_hours: float
    most: int
    came_by: Ticket | None = None

    @property
    def _hop(self) -> int:
        return 1 if self.came_by is None else self.came_by.hop + 1

    async def start(self, lease: TableLease, key: str | None) -> bool:
        """The whole run in another invocation, whose planning says what its input means. False: it could not be told."""
        ids = self.principal, self.input.thread_id, self.input.run_id
        return await self._send(lease, Ticket(*ids, lease.holder, hop=0, key=key, background=True), self.input)

    async def hand_over(self, recorder: Recorder, lease: Lease | None, usage: Sequence[TokenUsage]) -> bool:
        """At a step's end. False: it does not go on in another invocation, and its lease is to be given back as ever."""
        if self._hop > self.most or not isinstance(lease, TableLease) or (number := await recorder.pause()) is None:
            return False
        told = [entry.model_dump(mode="json", by_alias=True, exclude_none=True) for entry in usage]
        ids = self.principal, self.input.thread_id, self.input.run_id
        background = self.came_by is not None and self.came_by.background
        ticket = Ticket(*ids, lease.holder, self._hop, number, told, background=background)
        return await self._send(lease, ticket, without_messages(self.input))

    async def _send(self, lease: TableLease, ticket: Ticket, input: RunAgentInput) -> bool:
        """With all that the next invocation needs."""
        saver, pk = lease.checkpointer, lease.pk
        events = saver.events(self.events_hours * 3_600)
        if events is None:
            return False
        try:
            await saver.in_thread(events.keep_input, pk, self.input.run_id, ticket.hop, input.model_dump_json(by_alias=True).encode())
            if not await lease.hand_over(ticket.hop, TAKEN_ON_WITHIN):
                return False
            await self.invoke(ticket.as_event())
        except Exception:
            log.exception("run %s could not be handed over to another invocation", self.input.run_id)
            return False
        log.info("run %s goes on in another invocation (number %d)", self.input.run_id, ticket.hop)
        return True


def without_messages(input: RunAgentInput) -> RunAgentInput:
    """Of a run that has begun: its messages, state and answers are in the checkpoint."""
    return input.model_copy(update={"messages": [], "state": {}, "resume": None})


async def kept_input(saver: DynamoDBSaver, ticket: Ticket, hours: float) -> RunAgentInput | None:
    """None: it is kept no longer."""
    events: EventTable | None = saver.events(hours * 3_600)
    if events is None:
        return None
    kept = await saver.in_thread(events.input, saver.partition(ticket.thread_id), ticket.run_id, ticket.hop)
    return None if kept is None else RunAgentInput.model_validate(json.loads(kept))
