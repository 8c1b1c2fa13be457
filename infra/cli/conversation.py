"""A thread as a text to read: its messages, what it waits for, its state."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import typer

from infra.cli.agui import Event
from infra.cli.ask import describe, how_to_resume
from infra.cli.show import RESULT_LIMIT, clean

if TYPE_CHECKING:
    from functions.store.threads import Conversation


def row_line(row: Conversation, widths: tuple[int, int]) -> str:
    """One line of the list: when it was last used (local time), agent, id, title."""
    return clean(f"{moment(row.updated_at)}  {row.agent:<{widths[0]}}  {row.thread_id:<{widths[1]}}  {' '.join(row.title.split())}")


def row_json(row: Conversation) -> dict[str, Any]:
    return {"threadId": row.thread_id, "agent": row.agent, "title": row.title, "createdAt": row.created_at, "updatedAt": row.updated_at}


def moment(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1_000).strftime("%Y-%m-%d %H:%M")


def told(thread: dict[str, Any], agent: str, url: str | None) -> Iterator[str]:
    """Lines for a terminal. `thread`: messages, interrupts and state as they go over the wire."""
    names = {call["id"]: call["function"]["name"] for message in thread["messages"] for call in message.get("toolCalls") or ()}
    for message in thread["messages"]:
        yield from _message(message, names)
    interrupts = thread["interrupts"]
    for interrupt in interrupts:
        yield describe(interrupt)
    if interrupts:
        yield f"Waiting for an answer. To give it:\n  {how_to_resume(agent, thread['threadId'], url, interrupts)}"
    if thread["state"]:
        yield clean(f"state {json.dumps(thread['state'], ensure_ascii=False)}")


def _message(message: Event, names: dict[str, str]) -> Iterator[str]:
    text = _text(message.get("content"))
    if message["role"] == "tool":
        shown = text if len(text) <= RESULT_LIMIT else f"{text[:RESULT_LIMIT]} … ({len(text)} characters)"
        name = names.get(message["toolCallId"], "tool")
        yield f"{typer.style(clean(f'← {name}'), fg='cyan')} {clean(shown)}"
    elif text:
        yield f"{typer.style(message['role'], bold=True)}: {clean(text)}"
    for call in message.get("toolCalls") or ():
        yield typer.style(clean(f"→ {call['function']['name']} {call['function']['arguments']}"), fg="cyan")


def _text(content: Any) -> str:
    """The words; of another part its kind."""
    if isinstance(content, list):
        return " ".join(str(part.get("text") or f"[{part.get('type')}]") for part in content)
    return content if isinstance(content, str) else "" if content is None else json.dumps(content, ensure_ascii=False)
