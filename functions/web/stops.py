"""`POST /threads/{id}/stop`: ends the live run of a thread, whichever process runs it."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from functions.runs.lease import RunInProgress
from functions.runs.live import last_holder, stop_run
from functions.store.holders import Holder
from functions.web.current import Caller, Here
from functions.web.openapi import READ, body_of
from functions.web.owned import thread_of
from functions.web.problems import Problem
from functions.web.run_input import check_id, check_thread_id, read_json
from functions.web.served import Served

STOPPED_WITHIN = 4.0
"""Seconds that the answer waits for the run's end: it looks once a second, and closes what is open."""
POLL_SECONDS = 0.2
STOP_BODY = {"type": "object", "properties": {"runId": {"type": "string", "minLength": 1}}}
ANSWERS: dict[int | str, dict[str, Any]] = {
    **READ,
    200: {"description": "The run has ended, and the thread is free: `{threadId, runId, status: stopped}`."},
    202: {"description": "The run was told, and has not ended yet: `{threadId, runId, status: stopping}`."},
    404: {"description": "The caller has no such thread."},
    409: {"description": "Nothing runs on this thread (`NOT_RUNNING`), or another run than `runId` (`RUN_IN_PROGRESS`, with its `runId`)."},
}

router = APIRouter()


@router.post("/threads/{thread_id}/stop", responses=ANSWERS, openapi_extra=body_of(STOP_BODY, required=False), summary="Stop its run")
async def stop(thread_id: str, request: Request, served: Here, who: Caller) -> JSONResponse:
    """Nested graphs and calls under way are cancelled. The thread stands at its last finished step: an empty run goes on from there. The
    run's own stream ends with `outcome: cancelled` for a client of protocol 1.0, for others with `RUN_ERROR` `STOPPED`."""
    check_thread_id(thread_id)
    run_id = _run_id(await read_json(request, served.settings.max_body_bytes, empty=True))
    stopped = await stop_and_wait(served, who, thread_id, run_id)
    status = "stopping" if stopped.live else "stopped"
    return JSONResponse({"threadId": thread_id, "runId": stopped.run_id, "status": status}, status_code=202 if stopped.live else 200)


async def stop_and_wait(served: Served, who: str, thread_id: str, run_id: str | None = None, within: float = STOPPED_WITHIN) -> Holder:
    """The run that was stopped; `live` if it has not ended after so many seconds.

    Raises:
        Problem: 404 no such thread, 409 nothing runs, or another run.
    """
    saver = served.graph(who).checkpointer
    told = await stop_run(saver, thread_id, run_id)
    if told is None or not told.live:
        await thread_of(served, who, thread_id)
        raise Problem(409, "NOT_RUNNING", "Nothing runs on this thread.")
    if run_id not in (None, told.run_id):
        raise RunInProgress(told.run_id, "Another run has this thread now.")
    until = monotonic() + within
    while monotonic() < until:
        await asyncio.sleep(POLL_SECONDS)
        held = await last_holder(saver, thread_id)
        if held is None or not held.live or held.fence != told.fence:
            return Holder(told.run_id, told.fence, 0)
    return told


def _run_id(body: Any) -> str | None:
    """Raises `Problem`: it is no object, or `runId` no run's id."""
    run_id = body.get("runId") if isinstance(body, dict) else 0
    if run_id is None:
        return None
    if not isinstance(run_id, str):
        raise Problem(422, "BAD_INPUT", "runId: a string is required")
    check_id("runId", run_id)
    return run_id
