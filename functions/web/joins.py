"""A run's stream for a client that dropped it: `GET /threads/{id}/runs/{runId}/events?after=n`, answered by any process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from time import monotonic
from typing import Annotated, Any

from ag_ui.core import RunAgentInput
from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response

from functions.runs.errors import RunRejected
from functions.runs.following import Following
from functions.runs.lease import RunInProgress
from functions.runs.live import Started, last_holder, run_of_request
from functions.web.current import Caller, Here
from functions.web.preferences import idempotency_key
from functions.web.problems import Problem
from functions.web.run_input import check_id, check_thread_id
from functions.web.served import Served
from functions.web.sse import EventStream, encode

LAST = 2**53
TOLD_WITHIN = 3.0
"""Seconds between a run's taking its thread and its key being known."""
POLL_SECONDS = 0.1
JOINED: dict[int | str, dict[str, Any]] = {
    200: {"description": "The events behind `after`, as they were first sent, then those that come.", "content": {"text/event-stream": {}}},
    204: {"description": "`after` is the run's last event."},
    404: {"description": "The caller has no such run, or its events are not kept."},
    410: {"description": "The events of this run are kept no longer (`EVENTS_EXPIRED`)."},
}

router = APIRouter()


@router.get("/threads/{thread_id}/runs/{run_id:path}/events", response_class=Response, responses=JOINED, summary="Join a run, or replay it")
async def joined(
    thread_id: str,
    run_id: str,
    request: Request,
    served: Here,
    who: Caller,
    after: Annotated[int | None, Query(ge=0, le=LAST, description="The `id` of the last event that the client has.")] = None,
    last_event_id: Annotated[str | None, Header(description="The same, as an `EventSource` sends it.")] = None,
) -> Response:
    """Byte for byte what the stream had behind that event, comments aside, to the run's terminal event.

    Ends in `RUN_ERROR` `RUN_LOST` where the run's process has died, `EVENTS_MISSING` where some of its events could not be kept, and
    `JOIN_ENDED` at the deadline of this very request, while the run goes on."""
    check_thread_id(thread_id)
    check_id("runId", run_id)
    found = following(served, request, who, thread_id, run_id, after=_after(after, last_event_id))
    if found is None:
        raise Problem(404, "NOT_FOUND", "The events of runs are not kept here.")
    if not await found.goes_on():
        return Response(status_code=204)
    return shown(served, found.frames())


def following(
    served: Served, request: Request, who: str, thread_id: str, run_id: str, *, after: int | None, fence: int | None = None
) -> Following | None:
    """None: no events are kept."""
    events = served.event_log(who, thread_id, run_id)
    if events is None:
        return None
    look = partial(last_holder, served.graph(who).checkpointer, thread_id)
    return Following(events, look, thread_id, run_id, encode, after, fence, remaining_ms(request))


async def live_run(served: Served, request: Request, who: str, thread_id: str) -> Following | None:
    """What runs on a thread, from its beginning; None: nothing does, or no events are kept."""
    held = await last_holder(served.graph(who).checkpointer, thread_id)
    if held is None or not held.live:
        return None
    return following(served, request, who, thread_id, held.run_id, after=None, fence=held.fence)


async def started_before(served: Served, request: Request, who: str, input: RunAgentInput, refused: RunRejected) -> Following | None:
    """The run that this very request has started, by its `Idempotency-Key`, from its beginning. None: it has not, or no events are kept.
    `refused`: how it was answered now."""
    key = idempotency_key(request)
    busy = refused if isinstance(refused, RunInProgress) else None
    started = Started(busy.run_id, busy.fence) if busy is not None and busy.fence is not None else None
    until = monotonic() + TOLD_WITHIN
    while started is None and key is not None:
        started = await run_of_request(served.graph(who).checkpointer, input.thread_id, key)
        if busy is None or key != busy.request_key or monotonic() > until:
            break
        # the run that has the thread is ours, or is about to be refused as this one would be: which of both is known when it has begun
        await asyncio.sleep(POLL_SECONDS)
    if started is None:
        return None
    found = following(served, request, who, input.thread_id, started.run_id, after=None, fence=started.fence)
    return found if found is not None and await found.is_kept() else None


def shown(served: Served, frames: AsyncIterator[bytes]) -> EventStream:
    return EventStream(frames, heartbeat=served.settings.heartbeat_seconds, encode=bytes, goes_on=False)


def remaining_ms(request: Request) -> Callable[[], int] | None:
    """Until the deadline of this invocation; None where there is none."""
    return getattr(request.scope.get("aws.context"), "get_remaining_time_in_millis", None)


def _after(given: int | None, header: str | None) -> int:
    if given is not None or header is None:
        return given or 0
    if not (len(header) <= len(str(LAST)) and header.isascii() and header.isdigit() and int(header) <= LAST):
        raise Problem(422, "BAD_INPUT", "Last-Event-ID must be the number of an event.")
    return int(header)
