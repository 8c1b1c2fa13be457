"""One run as its operator sees it: what its events, its clock and its store's meter tell, as one log line and one set of metrics."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import (
    BaseEvent,
    ReasoningMessageContentEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    TextMessageContentEvent,
    TokenUsage,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from functions.observing import names
from functions.observing.request import CURRENT, Observed, bind, user_hash
from functions.runs.errors import MESSAGES, REJECTIONS
from functions.store.meter import METER, Meter

log = logging.getLogger(__name__)

Closing = Callable[[], Awaitable[None]]
GoesOn = Callable[[], bool]
Note = Callable[[Any], None]

CODES = frozenset((*MESSAGES, *REJECTIONS))
"""Every code of ours; a graph's own `RUN_ERROR` may have any."""
TRACE_KEY = "traceId"
"""In the metadata of RUN_STARTED: what a user sends to support."""


@dataclass(slots=True)
class Seen:
    """What was seen of a run. Times in milliseconds since its request."""

    cold: bool = False
    outcome: str = names.ABORTED
    code: str | None = None
    first_event: float | None = None
    first_token: float | None = None
    duration: float = 0.0
    tool_calls: int = 0
    tool_errors: int = 0
    interrupts: int = 0
    usage: list[TokenUsage] = field(default_factory=list)

    @property
    def known_code(self) -> str | None:
        return self.code if self.code is None or self.code in CODES else names.OTHER


def _ends() -> bool:
    return False


class Watch:
    """Of a run that nobody observes: changes nothing."""

    def events(self, run: AsyncIterator[BaseEvent], goes_on: GoesOn = _ends) -> AsyncIterator[BaseEvent]:
        return run

    def closing(self, close: Closing) -> Closing:
        return close


def watch(input: RunAgentInput, principal: str) -> Watch:
    """From here on the request's log lines carry the run's ids, and its store's calls are counted. Before anything is read for the run."""
    observed = CURRENT.get()
    return Watch() if observed is None else RunWatch(observed, input, principal)


class RunWatch(Watch):
    """Reads along. A token after the first costs one look into a dictionary."""

    def __init__(self, observed: Observed, input: RunAgentInput, principal: str) -> None:
        self._observed = observed
        self._ids = {"thread_id": input.thread_id, "run_id": input.run_id, "user": user_hash(principal)}
        bind(**self._ids)
        self._meter = Meter()
        METER.set(self._meter)
        self.seen = Seen()
        self._ended = False
        # by class: the hash of an `EventType` is computed in Python
        self._notes: dict[type[BaseEvent], Note] = {
            RunStartedEvent: self._started,
            TextMessageContentEvent: self._token,
            ReasoningMessageContentEvent: self._token,
            ToolCallArgsEvent: self._token,
            ToolCallStartEvent: self._called,
            ToolCallResultEvent: self._result,
            RunFinishedEvent: self._finished,
            RunErrorEvent: self._failed,
        }
        if log.isEnabledFor(logging.DEBUG):
            log.debug("run asked", extra={"messages": [m.model_dump(by_alias=True, exclude_none=True) for m in input.messages]})
            self._arguments: dict[str, list[str]] = {}
            self._notes |= {ToolCallArgsEvent: self._argument, ToolCallEndEvent: self._arguments_end}

    async def events(self, run: AsyncIterator[BaseEvent], goes_on: GoesOn = _ends) -> AsyncGenerator[BaseEvent, None]:
        """The same events, RUN_STARTED with the trace's id. `goes_on` says in the end whether it does, in another invocation."""
        notes = self._notes
        self.seen.cold = self._observed.environment.begin_run()  # not before: a request that is refused is no run
        try:
            async for event in run:
                if (note := notes.get(type(event))) is not None:
                    note(event)
                yield event
            if goes_on():
                self.seen.outcome = names.CONTINUED
        finally:
            self.end()

    def closing(self, close: Closing) -> Closing:
        """Ends the run also where its events were never read, or not to their end."""

        async def closed() -> None:
            try:
                await close()
            finally:
                self.end()

        return closed

    def end(self) -> None:
        """Says once what was seen. Its own failure is logged: the run has ended as it has."""
        if self._ended:
            return
        self._ended = True
        self.seen.duration = self._observed.milliseconds()
        try:
            self._say()
        except Exception:
            log.exception("the metrics of this run could not be written")

    def _say(self) -> None:
        # here, not above: nothing of it is needed before a run has ended
        from functions.observing.metrics import write_metrics
        from functions.observing.spans import mark_span

        seen = self.seen
        told = {"outcome": seen.outcome, "code": seen.code, "duration_ms": round(seen.duration), "cold_start": seen.cold}
        log.info("run ended", extra={name: value for name, value in told.items() if value is not None})
        mark_span(self._observed, self._ids, seen)
        write_metrics(self._observed, self._ids, seen, self._meter)

    # -- events

    def _started(self, event: RunStartedEvent) -> None:
        self.seen.first_event = self._observed.milliseconds()
        log.info("run started")
        if trace := self._observed.trace_id:
            event.metadata = {**(event.metadata or {}), TRACE_KEY: trace}

    def _token(self, event: BaseEvent) -> None:
        self.seen.first_token = self._observed.milliseconds()
        for kind in (TextMessageContentEvent, ReasoningMessageContentEvent, ToolCallArgsEvent):
            if self._notes.get(kind) == self._token:
                del self._notes[kind]

    def _called(self, event: ToolCallStartEvent) -> None:
        self.seen.tool_calls += 1

    def _result(self, event: ToolCallResultEvent) -> None:
        self.seen.tool_errors += bool(event.metadata and event.metadata.get("error") is True)

    def _finished(self, event: RunFinishedEvent) -> None:
        self.seen.usage = list(event.usage or ())
        kind = event.outcome.type if event.outcome is not None else "success"
        self.seen.interrupts = len(event.outcome.interrupts) if event.outcome is not None and event.outcome.type == "interrupt" else 0
        self.seen.outcome = {"interrupt": names.INTERRUPT, "cancelled": names.STOPPED}.get(kind, names.SUCCESS)

    def _failed(self, event: RunErrorEvent) -> None:
        self.seen.usage = list(event.usage or ())
        self.seen.code = event.code or names.OTHER
        self.seen.outcome = {"STOPPED": names.STOPPED, **dict.fromkeys(REJECTIONS, names.REJECTED)}.get(self.seen.code, names.ERROR)

    # -- at DEBUG alone: what tools were called with

    def _argument(self, event: ToolCallArgsEvent) -> None:
        if self.seen.first_token is None:
            self._token(event)
        self._arguments.setdefault(event.tool_call_id, []).append(event.delta)

    def _arguments_end(self, event: ToolCallEndEvent) -> None:
        text = "".join(self._arguments.pop(event.tool_call_id, ()))
        log.debug("tool called", extra={"tool_call_id": event.tool_call_id, "arguments": text})
