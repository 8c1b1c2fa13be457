"""A caller's conversations: their titles, and each thread as its checkpoint has it, for a page that loads."""

from __future__ import annotations

import asyncio
import unicodedata
from functools import partial
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Query, Request, Response
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import StateSnapshot

from functions.runs.deleting import delete_thread
from functions.runs.thread import RUN_ID_KEY, Thread, public_keys, public_state, read_thread
from functions.store.threads import LONGEST_TITLE, BadCursor, Conversation, Titled
from functions.web.current import Caller, Here
from functions.web.openapi import READ, body_of
from functions.web.owned import row_of, rows, thread_of
from functions.web.problems import Problem
from functions.web.run_input import check_thread_id, read_json
from graphs.catalog import AgentSpec
from graphs.stream import map_interrupts, messages_to_agui
from graphs.titles import rule_title

Limit = Annotated[int, Query(ge=1, le=100)]
Before = Annotated[str | None, Query(max_length=256, description="The `cursor` of the page before.")]
Cursor = Annotated[str | None, Query(max_length=4_096)]

NAME = {"type": "string", "minLength": 1}

router = APIRouter(prefix="/threads", responses={404: {"description": "The caller has no such thread."}})


@router.post(
    "",
    status_code=201,
    summary="Make a conversation",
    responses={**READ, 200: {"description": "There is one with that `threadId` already: it is as it was."}},
    openapi_extra=body_of({"type": "object", "properties": {"threadId": NAME, "title": NAME}}, required=False),
)
async def create(request: Request, response: Response, served: Here, who: Caller) -> dict[str, Any]:
    """Nothing needs it: a run on an id that is not in use makes its thread. With a `title` it is named for good."""
    body = await read_json(request, served.settings.max_body_bytes, empty=True)
    if not isinstance(body, dict):
        raise Problem(422, "BAD_INPUT", "The body must be a JSON object.")
    thread_id = body.get("threadId", str(uuid4()))
    if not isinstance(thread_id, str):
        raise Problem(422, "BAD_INPUT", "threadId: a string is required")
    check_thread_id(thread_id)
    titled: Titled = "user" if "title" in body else "rule"
    title = _title(body) if "title" in body else served.agent.spec.title
    stored = rows(served)
    if await row_of(served, who, thread_id) or (await read_thread(served.graph(who), _config(thread_id))).exists:
        response.status_code = 200
        return await conversation(thread_id, served, who)
    touch = partial(stored.touch, agent=served.agent.spec.name, title=title, titled=titled)
    return _shown(await asyncio.to_thread(touch, who, thread_id))


@router.get("", summary="The caller's conversations, the pinned ones first, then the latest")
async def listed(served: Here, who: Caller, limit: Limit = 20, cursor: Cursor = None) -> dict[str, Any]:
    """Of all agents of the deployment. `cursor` is the page before's, and null on the last one."""
    try:
        page = await asyncio.to_thread(rows(served).list, who, limit=limit, cursor=cursor)
    except BadCursor as error:
        raise Problem(422, "BAD_INPUT", str(error)) from error
    return {"threads": [_shown(row) for row in page.rows], "cursor": page.cursor}


@router.get("/{thread_id}", summary="One conversation: its title and times")
async def conversation(thread_id: str, served: Here, who: Caller) -> dict[str, Any]:
    """A run that has just ended may still have to write its row: its thread has the rule's title already."""
    check_thread_id(thread_id)
    rows(served)
    row = await row_of(served, who, thread_id)
    return _shown(row or _unlisted(await thread_of(served, who, thread_id), thread_id, served.agent.spec))


@router.patch(
    "/{thread_id}",
    summary="Rename a conversation, or pin it",
    responses=READ,
    openapi_extra=body_of({"type": "object", "minProperties": 1, "properties": {"title": NAME, "pinned": {"type": "boolean"}}}),
)
async def change(thread_id: str, request: Request, served: Here, who: Caller) -> dict[str, Any]:
    """The user's title stays: no rule and no model replaces it. What is pinned is listed before everything else."""
    check_thread_id(thread_id)
    body = await read_json(request, served.settings.max_body_bytes)
    given = body.keys() & {"title", "pinned"} if isinstance(body, dict) else ()
    if not given or not isinstance(body.get("pinned", False), bool):
        raise Problem(422, "BAD_INPUT", "title (a string) or pinned (true or false) is required")
    title = _title(body) if "title" in given else None
    which = {"agent": served.agent.spec.name}
    row = await row_of(served, who, thread_id)
    if row is not None and title is not None:
        row = await asyncio.to_thread(partial(rows(served).rename, **which, title=title), who, thread_id)
    if row is not None and "pinned" in given:
        row = await asyncio.to_thread(partial(rows(served).pin, **which, pinned=body["pinned"]), who, thread_id)
    return _found(row)


@router.delete(
    "/{thread_id}",
    status_code=204,
    response_class=Response,
    responses={409: {"description": "Its run does not end (`RUN_IN_PROGRESS`): try again."}},
    summary="Delete a conversation with all that is stored of it",
)
async def delete(thread_id: str, served: Here, who: Caller) -> Response:
    """Its messages, states, events and objects. A live run is stopped first."""
    await thread_of(served, who, thread_id)
    saver = served.graph(who).checkpointer
    if not isinstance(saver, BaseCheckpointSaver):
        raise Problem(404, "NOT_FOUND", "This agent keeps no threads.")
    await delete_thread(saver, thread_id)
    if served.threads is not None:
        await asyncio.to_thread(served.threads.delete, who, thread_id, agent=served.agent.spec.name)
    return Response(status_code=204)


@router.get("/{thread_id}/messages", summary="Its messages and open interrupts")
async def messages(thread_id: str, served: Here, who: Caller) -> dict[str, Any]:
    thread = await thread_of(served, who, thread_id)
    return {"messages": [m.model_dump(by_alias=True) for m in messages_to_agui(thread.messages)], **_interrupts(thread)}


@router.get("/{thread_id}/state", summary="Its public state and open interrupts")
async def state(thread_id: str, served: Here, who: Caller) -> dict[str, Any]:
    thread = await thread_of(served, who, thread_id)
    keys = public_keys(served.agent.graph, served.state_keys)
    return {"state": public_state(thread, keys), **_interrupts(thread)}


@router.get("/{thread_id}/history", summary="Its checkpoints, the latest first")
async def history(thread_id: str, served: Here, who: Caller, limit: Limit = 20, cursor: Before = None) -> dict[str, Any]:
    """Each with its time, its run, the nodes that come next and how many messages it has. `cursor` is null on the last page."""
    await thread_of(served, who, thread_id)
    before = _config(thread_id, cursor) if cursor is not None else None
    found = [snapshot async for snapshot in served.graph(who).aget_state_history(_config(thread_id), before=before, limit=limit + 1)]
    shown = [_checkpoint(snapshot) for snapshot in found[:limit]]
    return {"checkpoints": shown, "cursor": shown[-1]["checkpointId"] if len(found) > limit else None}


def _config(thread_id: str, checkpoint_id: str | None = None) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id} | ({"checkpoint_id": checkpoint_id} if checkpoint_id else {})}


def _checkpoint(snapshot: StateSnapshot) -> dict[str, Any]:
    metadata: dict[str, Any] = dict(snapshot.metadata or {})
    messages = snapshot.values.get("messages") if isinstance(snapshot.values, dict) else None
    return {
        "checkpointId": _id_of(snapshot.config),
        "parentCheckpointId": _id_of(snapshot.parent_config),
        "createdAt": snapshot.created_at,
        "runId": metadata.get(RUN_ID_KEY),
        "step": metadata.get("step"),
        "source": metadata.get("source"),
        "next": list(snapshot.next),
        "messages": len(messages) if isinstance(messages, list) else 0,
        "interrupts": [interrupt.id for interrupt in snapshot.interrupts],
    }


def _id_of(config: RunnableConfig | None) -> str | None:
    return config["configurable"].get("checkpoint_id") if config else None


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
    return {"threadId": row.thread_id, "agent": row.agent, "title": row.title, "titledBy": row.titled, "pinned": row.pinned, **times}


def _interrupts(thread: Thread) -> dict[str, Any]:
    return {"interrupts": [i.model_dump(by_alias=True) for i in map_interrupts(thread.interrupts, thread.messages)]}
