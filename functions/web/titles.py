"""A conversation's title: the rule's at once, then a model's, once, after the first run that ended with an answer; its user's wins."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.pregel import Pregel

from functions.runs.thread import read_thread
from functions.store.threads import Conversation, Threads
from graphs.titles import model_title

log = logging.getLogger(__name__)

TITLE_SECONDS = 20.0
"""How long the model may take: on Lambda the next event of the environment waits for it."""


async def entitle(threads: Threads, row: Conversation, principal: str, model: BaseChatModel, graph: Pregel[Any, Any, Any, Any]) -> None:
    """Lets the model name a conversation that has only the rule's title. What the model or the store raises is the caller's to log.

    The right to name it is claimed first, so that it is asked once, also by two runs that end at one moment; it is written only while
    the user has not named it.
    """
    if row.titled != "rule":
        return
    exchange = await _first_exchange(graph, row.thread_id)
    if exchange is None or not await asyncio.to_thread(threads.claim_title, principal, row.thread_id, agent=row.agent):
        return
    async with asyncio.timeout(TITLE_SECONDS):
        title = await model_title(model, *exchange)
    if title:
        await asyncio.to_thread(threads.suggest_title, principal, row.thread_id, agent=row.agent, title=title)


async def _first_exchange(graph: Pregel[Any, Any, Any, Any], thread_id: str) -> tuple[str, str] | None:
    """The first message and the last answer of a thread at rest; None where a question is open or nothing was answered."""
    thread = await read_thread(graph, {"configurable": {"thread_id": thread_id}})
    asked, answered = _texts(thread.messages, HumanMessage), _texts(thread.messages, AIMessage)
    return (asked[0], answered[-1]) if asked and answered and not thread.interrupts and not thread.unfinished else None


def _texts(messages: Sequence[BaseMessage], kind: type[BaseMessage]) -> list[str]:
    return [text for message in messages if isinstance(message, kind) and (text := str(message.text).strip())]
