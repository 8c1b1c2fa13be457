"""Threads with a long history: in the checkpoint, and as the copy that a client sends with every run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

MESSAGE_BYTES = 2_000
QUESTION: Mapping[str, Any] = {"id": "question", "role": "user", "content": "And now?"}


async def remember(graph: Any, number: int, messages: int) -> Sequence[Mapping[str, Any]]:
    """Stores that many messages of 2 KB, user and assistant in turns, on the thread of that number → a client's copy of them."""
    if messages:
        config = {"configurable": {"thread_id": f"t{number}"}}
        await graph.aupdate_state(config, {"messages": [_stored(place) for place in range(messages)]}, as_node="answer")
    return [{"id": f"h{place}", "role": _role(place), "content": _text(place)} for place in range(messages)]


def _stored(place: int) -> BaseMessage:
    # content as a list of blocks: how v3 streaming stores an answer
    if _role(place) == "user":
        return HumanMessage(_text(place), id=f"h{place}")
    return AIMessage([{"type": "text", "text": _text(place)}], id=f"h{place}")


def _role(place: int) -> str:
    return "assistant" if place % 2 else "user"


def _text(place: int) -> str:
    return f"{place} lorem ipsum ".ljust(MESSAGE_BYTES, ".")
