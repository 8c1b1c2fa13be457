"""A caller's conversations: their titles, and each thread as its checkpoint has it, for a page that loads."""

from __future__ import annotations

import asyncio
import unicodedata
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from langchain_core.messages import HumanMessage

from functions.runs.thread import Thread, public_keys, public_state, read_thread
from functions.store.threads import LONGEST_TITLE, BadCursor, Conversation, Threads
from functions.web.current import Caller, Here
from functions.web.openapi import body_of
from functions.web.problems import Problem
from functions.web.run_input import check_thread_id, read_json
from functions.web.served import Served
from graphs.catalog import AgentSpec
from graphs.stream import map_interrupts, messages_to_agui
from graphs.titles import rule_title

Limit = Annotated[int, Query(ge=1, le=100)]
Cursor = Annotated[str | None, Query(max_length=4_096)]

router = APIRouter(prefix="/threads", responses={404: {"description": "The caller has no such thread."}})


@router.get("", summary="The caller's conversations, the latest first")
async def listed(served: Here, who: Caller, limit: Limit = 20, cursor: Cursor = None) -> dict[str, Any]:
    """Of all agents of the deployment. `cursor` is the page before's, and null on the last one."""
    try:
        page = await asyncio.to_thread(_rows(served).list, who, limit=limit, cursor=cursor)
    except BadCursor as error:
        raise Problem(422, "BAD_INPUT", str(error)) from error
    return {"threads": [_shown(row) for row in page.rows], "cursor": page.cursor}


@router.get("/{thread_id}", summary="One conversation: its title and times")
async def conversation(thread_id: str, served: Here, who: Caller) -> dict[str, Any]:
    """A run that has just ended may still have to write its row: its thread has the rule's title already."""
    check_thread_id(thread_id)
    row = await asyncio.to_thread(_rows(served).get, who, thread_id, agent=served.agent.spec.name)
    return _shown(row or _unlisted(await _thread(served, who, thread_id), thread_id, served.agent.spec))


@router.patch(
    "/{thread_id}",
    summary="Rename a conversation",
    openapi_extra=body_of({"type": "object", "required": ["title"], "properties": {"title": {"type": "string", "minLength": 1}}}),
)
async def rename(thread_id: str, request: Request, served: Here, who: Caller) -> dict[str, Any]:
    """The user's title stays: no rule and no model replaces it."""
    check_thread_id(thread_id)
    title = _title(await read_json(request, served.settings.max_body_bytes))
    return _found(await asyncio.to_thread(_rows(served).rename, who, thread_id, agent=served.agent.spec.name, title=title))


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


def _title(body: Any) -> str:
    """Trimmed, one line. Raises `Problem`: it is not a text, blank, too long, or holds control characters."""
    title = body.get("title") if isinstance(body, dict) else None
    if not isinstance(title, str):
        raise Problem(422, "BAD_INPUT", "title: a string is required")
    title = title.strip()
    if not title:
        raise Problem(422, "BAD_INPUT", "title: it is blank")
    if len(title) > LONGEST_TITLE:
        raise Problem(422, "BAD_INPUT", f"title: at most {LONGEST_TITLE} characters")
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in title):
        raise Problem(422, "BAD_INPUT", "title: one line of text, without control characters")
    return title


def _rows(served: Served) -> Threads:
    if served.threads is None:
        raise Problem(404, "NOT_FOUND", "This agent keeps no list of conversations.")
    return served.threads


def _unlisted(thread: Thread, thread_id: str, spec: AgentSpec) -> Conversation:
    said = next((str(message.text) for message in thread.messages if isinstance(message, HumanMessage)), "")
    return Conversation(thread_id, spec.name, rule_title(said) or spec.title, 0, 0)


def _found(row: Conversation | None) -> dict[str, Any]:
    if row is None:
        raise Problem(404, "NOT_FOUND", "There is no such thread.")
    return _shown(row)


def _shown(row: Conversation) -> dict[str, Any]:
    """Times in milliseconds since 1970, null before they are stored; `titledBy`: rule, model or user."""
    times = {"createdAt": row.created_at or None, "updatedAt": row.updated_at or None}
    return {"threadId": row.thread_id, "agent": row.agent, "title": row.title, "titledBy": row.titled, **times}


def _interrupts(thread: Thread) -> dict[str, Any]:
    return {"interrupts": [i.model_dump(by_alias=True) for i in map_interrupts(thread.interrupts, thread.messages)]}
