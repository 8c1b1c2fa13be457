"""A run that nobody waits for: `Prefer: respond-async` on `POST /`. It has the thread when it is accepted, and an invocation of its own."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from ag_ui.core import RunAgentInput
from fastapi import Request
from fastapi.responses import JSONResponse

from functions.runs.lease import RunInProgress, TableLease, acquire
from functions.web.joins import remaining_ms
from functions.web.preferences import idempotency_key, wait_seconds
from functions.web.problems import Problem
from functions.web.running import continuation
from functions.web.served import Served
from functions.web.webhooks import check_webhook

ACCEPTED_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["threadId", "runId", "status"],
    "properties": {"threadId": {"type": "string"}, "runId": {"type": "string"}, "status": {"const": "accepted"}},
}


async def in_background(served: Served, request: Request, who: str, input: RunAgentInput) -> JSONResponse:
    """202 with the run's place. What the input means for the thread is found out in the other invocation: a refusal ends its stream.

    Raises:
        Problem: 422, runs cannot go on without their request here, or the webhook is not allowed; 503, the function could not be invoked.
        RunInProgress: another run has the thread.
        LimitExceeded: the caller runs as much as they may.
    """
    check_webhook(served.settings, input)
    way, saver = continuation(served, request, who, input), served.graph(who).checkpointer
    if way is None or not hasattr(saver, "leases"):
        raise Problem(422, "NO_BACKGROUND", "Runs do not go on without their request here: no events are kept, or this is no function.")
    settings, key, allowance = served.settings, idempotency_key(request), served.allowance(who)
    try:
        lease = await acquire(
            saver,  # type: ignore[arg-type]  # a saver, as it has leases
            input.thread_id,
            run_id=input.run_id,
            seconds=settings.lease_seconds,
            wait=wait_seconds(request),
            remaining_ms=remaining_ms(request),
            code=settings.code_version,
            request_key=key or "",
        )
    except RunInProgress as busy:
        if key and busy.request_key == key:
            return _accepted(request, input.thread_id, busy.run_id)
        raise
    assert isinstance(lease, TableLease)
    if key and (before := await lease.run_of_request(key)) is not None and before[0] not in lease.dead:
        await lease.release()
        return _accepted(request, input.thread_id, before[0])
    begun = False
    try:
        if allowance is not None:
            await allowance.asked()
            await allowance.taken(lease)
        begun = await way.start(lease, key)
    finally:
        if not begun:
            await lease.release()
    if not begun:
        raise Problem(503, "NOT_STARTED", "The run could not be handed to another invocation. Nothing of it has run: try again.")
    return _accepted(request, input.thread_id, input.run_id)


def _accepted(request: Request, thread_id: str, run_id: str) -> JSONResponse:
    """`Location` is relative, since nobody here knows the path that the agent is behind: from `/agent/{name}/run` two levels up."""
    up = "../" * (request.url.path.count("/") - 1)
    place = f"{up}threads/{quote(thread_id, safe='')}/runs/{quote(run_id, safe='')}/events"
    headers = {"Location": place, "Preference-Applied": "respond-async", "Cache-Control": "no-store"}
    return JSONResponse({"threadId": thread_id, "runId": run_id, "status": "accepted"}, 202, headers)
