"""What every agent does with its message history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.channels import DeltaChannel

# Private, and LangGraph's only message reducer for a delta channel: its loop knows it by identity and gives ids to what is written.
from langgraph.graph.message import _messages_delta_reducer
from typing_extensions import TypedDict

SNAPSHOT_EVERY = 100
"""Updates of the messages (a chat's turn makes two, a round of tools two more) between two checkpoints that hold all of them: more often
costs writes, more rarely reads, and the wait for a turn's first event."""


class DeltaMessagesState(TypedDict):
    """LangGraph's `MessagesState`, with checkpoints that hold only the messages that a step adds. Threads of the one are read by the other.

    Unlike with `add_messages`, to remove a message that is not there is no error: the history is replayed in larger batches than it was
    written in, so what an update does must not depend on the batch it is in.
    """

    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=SNAPSHOT_EVERY)]


def last_request(messages: Sequence[BaseMessage]) -> str:
    """What the user said last, trimmed, or ""."""
    return next((message.text.strip() for message in reversed(messages) if isinstance(message, HumanMessage)), "")


def with_system(prompt: str, history: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The history with the system prompt in front, for one call: it is not stored. A history that starts with one keeps its own."""
    if history and isinstance(history[0], SystemMessage):
        return list(history)
    return [SystemMessage(prompt), *history]
