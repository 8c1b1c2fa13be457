"""A caller's thread: there, or 404."""

from __future__ import annotations

import asyncio

from functions.runs.thread import Thread, read_thread
from functions.store.threads import Conversation, Threads
from functions.web.problems import Problem
from functions.web.run_input import check_thread_id
from functions.web.served import Served


async def thread_of(served: Served, who: str, thread_id: str) -> Thread:
    """As its checkpoint has it; empty, where it was made and nothing has run on it.

    Raises:
        Problem: 404 the caller has no such thread; 422 it cannot be one's id.
    """
    check_thread_id(thread_id)
    thread = await read_thread(served.graph(who), {"configurable": {"thread_id": thread_id}})
    if not thread.exists and await row_of(served, who, thread_id) is None:
        raise Problem(404, "NOT_FOUND", "There is no such thread.")
    return thread


async def row_of(served: Served, who: str, thread_id: str) -> Conversation | None:
    """What the list of conversations has of it."""
    if served.threads is None:
        return None
    return await asyncio.to_thread(served.threads.get, who, thread_id, agent=served.agent.spec.name)


def rows(served: Served) -> Threads:
    """
    Raises:
        Problem: 404, there is no list here.
    """
    if served.threads is None:
        raise Problem(404, "NOT_FOUND", "This agent keeps no list of conversations.")
    return served.threads
