"""The model: the agent's script first, the common rules for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from pydantic import Field

from graphs.offline.conversation import Conversation, Script
from graphs.offline.rules import reply
from graphs.scripted import ScriptedChatModel, Turn

OFFLINE = "offline"


class OfflineModel(ScriptedChatModel):
    """Answers by `script`, then by `graphs.offline.rules`. The same conversation always gets the same answer."""

    model_name: str = OFFLINE
    script: Any = Field(
        default=None, exclude=True, description="`Script | None`; not typed for pydantic, which would want messages' fields."
    )

    def turn(self, messages: list[BaseMessage], tools: Sequence[str]) -> Turn:
        """The reply to the last user message and to the tool results after it."""
        talk = Conversation(messages)
        script: Script | None = self.script
        scripted = script(talk, tools) if script else None
        return reply(talk, tools) if scripted is None else scripted
