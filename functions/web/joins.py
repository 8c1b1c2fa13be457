"""A run's stream for a client that dropped it: `GET /threads/{id}/runs/{runId}/events?after=n`, answered by any process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response

from functions.runs.following import Following
from functions.runs.live import last_holder
from functions.web.current import Caller, Here
from functions.web.problems import Problem
from functions.web.run_input import check_id, check_thread_id
from functions.web.served import Served
from functions.web.sse import EventStream, encode

LAST = 2**53
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
    return shown(served, found)


def following(
    served: Served, request: Request, who: str, thread_id: str, run_id: str, *, after: int | None, fence: int | None = None
) -> Following | None:
    """None: no events are kept."""
    events = served.event_log(who, thread_id, run_id)
    if events is None:
        return None
    look = partial(last_holder, served.graph(who).checkpointer, thread_id)
    return Following(events, look, thread_id, run_id, encode, after, fence, remaining_ms(request))


def shown(served: Served, found: Following) -> EventStream:
    return EventStream(found.frames(), heartbeat=served.settings.heartbeat_seconds, encode=bytes, goes_on=False)


def remaining_ms(request: Request) -> Callable[[], int] | None:
    """Until the deadline of this invocation; None where there is none."""
    return getattr(request.scope.get("aws.context"), "get_remaining_time_in_millis", None)


def _after(given: int | None, header: str | None) -> int:
    if given is not None or header is None:
        return given or 0
    if not (header.isascii() and header.isdigit() and int(header) <= LAST):
        raise Problem(422, "BAD_INPUT", "Last-Event-ID must be the number of an event.")
    return int(header)
