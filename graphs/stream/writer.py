"""What a node may write itself. A node knows LangGraph only; these helpers put native AG-UI events on its stream writer."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from langgraph.config import get_stream_writer

AGUI_WRITER_EVENT = "agui"
"""Name of a custom event whose payload is a native AG-UI event (a dict with `type`)."""


def write_agui_event(event: dict[str, Any]) -> None:
    """Send one native AG-UI event (camelCase dict with `type`) from inside a node; nothing happens outside a streamed run."""
    writer = _writer()
    if writer is not None:
        writer({"name": AGUI_WRITER_EVENT, "payload": event})


def write_agui_assistant_text(text: str) -> None:
    """A whole assistant message beside the model's own stream: START, CONTENT, END. Trimmed; silent when nothing is left.

    The message is transient: it is not part of the state, so the next MESSAGES_SNAPSHOT drops it.
    """
    text = text.strip()
    if not text:
        return
    message_id = f"note-{uuid4()}"
    write_agui_event({"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"})
    write_agui_event({"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": text})
    write_agui_event({"type": "TEXT_MESSAGE_END", "messageId": message_id})


def _writer() -> Any:
    try:
        return get_stream_writer()
    except (RuntimeError, KeyError):  # called outside a LangGraph run: there is nobody to write to
        return None
