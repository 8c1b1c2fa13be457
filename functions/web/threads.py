"""A thread as its checkpoint has it, for a page that loads."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from functions.runs.thread import Thread, public_keys, public_state, read_thread
from functions.web.current import Caller, Here
from functions.web.problems import Problem
from functions.web.run_input import check_thread_id
from functions.web.served import Served
from graphs.stream import map_interrupts, messages_to_agui

router = APIRouter(prefix="/threads", responses={404: {"description": "The caller has no such thread."}})


@router.get("/{thread_id}/messages", summary="Its messages and open interrupts")
async def messages(thread_id: str, served: Here, who: Caller) -> dict[str, Any]:
    thread = await _thread(served, who, thread_id)
    return {"messages": [m.model_dump(by_alias=True) for m in messages_to_agui(thread.messages)], **_interrupts(thread)}


@router.get("/{thread_id}/state", summary="Its public state and open interrupts")
async def state(thread_id: str, served: Here, who: Caller) -> dict[str, Any]:
    thread = await _thread(served, who, thread_id)
    keys = public_keys(served.agent.graph, served.state_keys)
    return {"state": public_state(thread, keys), **_interrupts(thread)}


async def _thread(served: Served, who: str, thread_id: str) -> Thread:
    check_thread_id(thread_id)
    thread = await read_thread(served.graph(who), {"configurable": {"thread_id": thread_id}})
    if not thread.exists:
        raise Problem(404, "NOT_FOUND", "There is no such thread.")
    return thread


def _interrupts(thread: Thread) -> dict[str, Any]:
    return {"interrupts": [i.model_dump(by_alias=True) for i in map_interrupts(thread.interrupts, thread.messages)]}
