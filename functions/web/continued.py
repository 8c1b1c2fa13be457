"""A run that another invocation has handed over to this one. No request reaches it: its scope is made by the runtime alone."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from ag_ui.core import BaseEvent
from fastapi import APIRouter, Request

from functions.observing.run import watch
from functions.own_event import PATH, SCOPE
from functions.runs.continuing import Ticket, kept_input
from functions.runs.lease import take_on
from functions.runs.recording import Recorder
from functions.store.checkpoints import DynamoDBSaver
from functions.store.expiry import now
from functions.web.current import Here
from functions.web.joins import remaining_ms
from functions.web.problems import Problem
from functions.web.running import agent_run, closed
from functions.web.sse import encode
from functions.web.webhooks import tell

log = logging.getLogger(__name__)

router = APIRouter()


@router.post(PATH, include_in_schema=False)
async def handed_over(request: Request, served: Here) -> dict[str, Any]:
    """Goes on with the run, to its end or to the next invocation. Its events are kept: whoever follows it reads them there."""
    if SCOPE not in request.scope:
        raise Problem(404, "NOT_FOUND", "There is nothing here.")
    ticket = Ticket.of(request.scope[SCOPE])
    began = now()
    served = await served.with_its_keys()
    saver = served.graph(ticket.principal).checkpointer
    assert isinstance(saver, DynamoDBSaver)
    input = await kept_input(saver, ticket, served.settings.events_hours)
    seconds, remaining = served.settings.lease_seconds, remaining_ms(request)
    code = served.settings.code_version
    lease = await take_on(saver, ticket.thread_id, ticket.holder, ticket.hop, seconds=seconds, remaining_ms=remaining, code=code)
    if input is None and lease is not None:
        await lease.release()  # whoever follows is told that the run is lost, and the thread takes the next one
    if input is None or lease is None:
        log.warning("run %s is not gone on with here: it has been taken on, or given up", ticket.run_id)
        return {"goesOn": False}
    watched = watch(input, ticket.principal)
    recorder = Recorder(served.event_log(ticket.principal, input.thread_id, input.run_id), encode)
    run = agent_run(served, request, ticket.principal, input, recorder=recorder, lease=lease, ticket=ticket)
    end: BaseEvent | None = None
    try:
        try:
            await run.prepare()
        except Exception:
            log.exception("run %s cannot be gone on with: its stream says so", ticket.run_id)
        async for event in watched.events(run.events(), lambda: run.goes_on):
            recorder.frame(event)
            end = event
    finally:
        await watched.closing(partial(closed, run, served.allowance(ticket.principal)))()
    await served.touch(ticket.principal, input, began)
    if end is not None and ticket.background and not run.goes_on:
        try:
            await tell(served.settings, input, end, remaining)
        except Problem as problem:
            log.warning("the webhook of run %s was not told: %s", ticket.run_id, problem.message)
    return {"goesOn": True}
