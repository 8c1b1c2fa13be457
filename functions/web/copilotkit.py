"""CopilotKit's paths for the same agent, so that its client needs no runtime server of its own: `runtimeUrl` is the function URL.

`/info` has what it reads there (`functions.web.info`); it runs, connects and stops under `/agent/{id}/…`.
"""

from __future__ import annotations

from typing import Annotated, Any

from ag_ui.core import EventType
from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from functions.runs.errors import MESSAGES
from functions.web import runs
from functions.web.current import Caller, Here
from functions.web.problems import Problem
from functions.web.run_input import check_thread_id
from functions.web.served import Served
from functions.web.stops import stop_and_wait


async def _own(agent: str, served: Here) -> Served:
    """Raises `Problem`: another agent's name, whose function URL is another."""
    if agent != served.agent.spec.name:
        raise Problem(404, "NOT_FOUND", "There is no such agent at this URL.")
    return served


Own = Annotated[Served, Depends(_own)]

router = APIRouter(prefix="/agent/{agent}", include_in_schema=False)


@router.post("/run", response_class=Response)
async def run(request: Request, served: Own, who: Caller) -> Response:
    return await runs.run(request, served, who)


@router.post("/connect", response_class=Response)
async def connect(request: Request, served: Own, who: Caller) -> Response:
    return await runs.connect(request, served, who)


@router.post("/stop/{thread_id}")
async def stop(thread_id: str, served: Own, who: Caller) -> dict[str, Any]:
    """`{stopped, …}`, always 200 for a thread of the caller's: its client treats any other status as a failure."""
    check_thread_id(thread_id)
    try:
        await stop_and_wait(served, who, thread_id)
    except Problem as problem:
        if problem.code != "NOT_RUNNING":
            raise
        return {"stopped": False, "message": problem.message}
    return {"stopped": True, "interrupt": {"type": EventType.RUN_ERROR, "message": MESSAGES["STOPPED"], "code": "STOPPED"}}
