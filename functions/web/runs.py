"""`POST /` runs the agent, `POST /connect` shows a thread again: both answer with an AG-UI stream."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from typing import Any

from ag_ui.core import BaseEvent, RunAgentInput
from fastapi import APIRouter, Request
from fastapi.responses import Response

from functions.observing.request import bind, user_hash
from functions.observing.run import Watch, watch
from functions.runs import AgentRun
from functions.runs.connect import connect_events
from functions.runs.connect_live import live_frames
from functions.runs.errors import RunRejected
from functions.runs.following import Following
from functions.runs.framing import never_begun
from functions.runs.lease import RunInProgress
from functions.runs.recording import Recorder
from functions.store.expiry import now
from functions.web.background import ACCEPTED_SCHEMA, in_background
from functions.web.current import Caller, Here
from functions.web.joins import following, live_run, shown, started_before
from functions.web.limits import LimitExceeded
from functions.web.openapi import body_of
from functions.web.preferences import responds_async
from functions.web.problems import Problem
from functions.web.run_input import check_thread_id, frontend_of, read_json, read_run_input
from functions.web.running import agent_run as made
from functions.web.running import closed
from functions.web.served import Served
from functions.web.sse import EventStream, encode

log = logging.getLogger(__name__)

STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "AG-UI events, one JSON object a frame; the last is RUN_FINISHED or RUN_ERROR.",
        "content": {"text/event-stream": {}},
    },
    202: {
        "description": "`Prefer: respond-async`: the run has the thread and goes on; `Location` is where its events are.",
        "content": {"application/json": {"schema": ACCEPTED_SCHEMA}},
    },
    400: {"description": "The body is not JSON."},
    403: {"description": "The knowledge base that is asked for is not shared with the caller."},
    409: {"description": "Another run has the thread (`RUN_IN_PROGRESS`, with its `runId`), or the question has another answer."},
    413: {"description": "The body is too large."},
    503: {"description": "The agent cannot run here (`AGENT_UNAVAILABLE`); the text says what is missing."},
    429: {"description": "A limit of the caller's is reached (`LIMIT_EXCEEDED`, with the `limit`); `Retry-After` says when to ask again."},
    422: {"description": "A field is missing or wrong, or the input means nothing for this thread."},
}


RUN_BODY = body_of({"$ref": "#/components/schemas/RunAgentInput"})
CONNECT_BODY = body_of({"type": "object", "required": ["threadId"], "properties": {"threadId": {"type": "string", "minLength": 1}}})

router = APIRouter()


@router.post("/", response_class=Response, responses=STREAM, openapi_extra=RUN_BODY, summary="Run the agent")
async def run(request: Request, served: Here, who: Caller) -> Response:
    """AG-UI: a RunAgentInput in, events out. `new HttpAgent({url})` needs nothing else.

    `Idempotency-Key`: the same request again starts nothing, and gets the stream of the run that it started (409, with that run, where its
    events are not kept). `Prefer: wait=N`: waits up to N seconds for a thread that another run has. `Prefer: respond-async`: 202, the run
    goes on without this request and is joined at `Location`."""
    began = now()
    if served.unavailable:
        raise Problem(503, "AGENT_UNAVAILABLE", served.unavailable)
    input = await read_run_input(request, served.settings.max_body_bytes)
    watched = watch(input, who)
    recorder = Recorder(served.event_log(who, input.thread_id, input.run_id), encode)
    options = served.agent.options(input)
    if served.knowledge is not None and (kb_id := options.configurable.get("kbId")):
        # here, not above: agents without knowledge bases load nothing of them
        from functions.web.knowledge import check_kb

        await check_kb(served, kb_id, who)
    try:
        served = await served.with_its_keys()
    except Exception as exc:  # noqa: BLE001 - whatever keeps an agent from being made ends in RUN_ERROR, and in the log with its stack
        return _never_begun(served, input, exc, watched)
    if responds_async(request):
        return await in_background(served, request, who, input)
    allowance = served.allowance(who)
    agent_run = made(served, request, who, input, recorder=recorder, options=options, admission=allowance)
    try:
        await _prepare(agent_run)
    except (RunInProgress, LimitExceeded) as refused:
        if (started := await started_before(served, request, who, input, refused)) is not None:
            return shown(served, started.frames())
        raise

    def rest() -> Following | None:
        ids = input.thread_id, input.run_id
        return following(served, request, who, *ids, after=recorder.number, fence=recorder.fence)

    return EventStream(
        _whole(watched.events(agent_run.events(), lambda: agent_run.goes_on), agent_run, rest),
        encode=lambda event: event if isinstance(event, bytes) else recorder.frame(event),
        heartbeat=served.settings.heartbeat_seconds,
        after=lambda: served.touch(who, input, began),
        closing=watched.closing(partial(closed, agent_run, allowance)),
    )


@router.post("/connect", response_class=Response, responses=STREAM, openapi_extra=CONNECT_BODY, summary="Show a thread again")
async def connect(request: Request, served: Here, who: Caller) -> Response:
    """The thread's messages, state and open interrupts as a live run would have ended, without running anything.

    While a run is at work on it: the thread as it was before, then that run's events, to its end."""
    body = await read_json(request, served.settings.max_body_bytes)
    thread_id = body.get("threadId") if isinstance(body, dict) else None
    if not isinstance(thread_id, str):
        raise Problem(422, "BAD_INPUT", "threadId: a string is required")
    check_thread_id(thread_id)
    bind(thread_id=thread_id, user=user_hash(who))
    names, version = frontend_of(body)
    graph = served.graph(who)
    at_rest = partial(connect_events, graph, thread_id, served.state_keys, frontend_tools=names, protocol_version=version)
    if (live := await live_run(served, request, who, thread_id)) is not None:
        return shown(served, live_frames(graph, live, served.state_keys, at_rest))
    return EventStream(_each(await at_rest()), heartbeat=served.settings.heartbeat_seconds)


def _never_begun(served: Served, input: RunAgentInput, exc: Exception, watched: Watch) -> Response:
    events = never_begun(exc, input, agent=served.agent.spec.name, debug=served.settings.debug)
    return EventStream(watched.events(_each(events)), heartbeat=served.settings.heartbeat_seconds)


async def _prepare(run: AgentRun) -> None:
    """Lets a rejected input be an HTTP error. Anything else that fails here fails again on the stream, where it belongs; so does a wrong
    answer to a question: a client that resumes reads `RUN_ERROR`, and keeps the question open."""
    try:
        await run.prepare()
    except RunRejected as rejected:
        if rejected.code != "INVALID_RESUME":
            raise
    except Exception:
        log.exception("the thread could not be read before the stream")


async def _whole(events: AsyncIterator[BaseEvent], run: AgentRun, rest: Callable[[], Following | None]) -> AsyncIterator[BaseEvent | bytes]:
    """One stream: of a run that goes on in another invocation the rest is read as whoever joins it reads it."""
    async for event in events:
        yield event
    if run.goes_on and (found := rest()) is not None:
        async for frames in found.frames():
            yield frames


async def _each(events: Iterable[BaseEvent]) -> AsyncIterator[BaseEvent]:
    for event in events:
        yield event
