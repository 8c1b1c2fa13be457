"""What every agent does with its message history."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage, SystemMessage


def with_system(prompt: str, history: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The history with the system prompt in front, for one call: it is not stored. A history that starts with one keeps its own."""
    if history and isinstance(history[0], SystemMessage):
        return list(history)
    return [SystemMessage(prompt), *history]
