"""What a script of the offline model sees, and how it answers: the conversation, thoughts, calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import ToolCall

from graphs.scripted import Turn


class Conversation:
    """The last user message and what happened since. `messages` are all that the model was given, `system` its system prompt."""

    def __init__(self, messages: Sequence[BaseMessage]) -> None:
        self.messages = messages
        self.system = messages[0].text if messages and isinstance(messages[0], SystemMessage) else ""
        last = max((i for i, message in enumerate(messages) if isinstance(message, HumanMessage)), default=-1)
        since = messages[last + 1 :]
        self.text = messages[last].text.strip() if last >= 0 else ""
        self.chinese = bool(re.search(r"[\u4e00-\u9fff]", self.text))
        self.rounds = sum(1 for message in since if isinstance(message, AIMessage) and message.tool_calls)
        self.results = [message for message in since if isinstance(message, ToolMessage)]
        self.length = len(messages)

    def says(self, pattern: str) -> bool:
        return re.search(pattern, self.text, re.IGNORECASE) is not None

    def pick(self, chinese: str, english: str) -> str:
        return chinese if self.chinese else english


Script = Callable[[Conversation, Sequence[str]], Turn | None]
"""`(conversation, names of the bound tools) -> turn`: what one agent's offline model says; None leaves it to the common rules."""

Call = tuple[str, dict[str, Any]]
Round = Callable[[Conversation], list[Call]]
"""The calls of one turn: tool name and arguments."""


def calling(talk: Conversation, calls: list[Call]) -> AIMessage:
    """A thought, then the calls."""
    names = sorted({name for name, _ in calls})
    if names == ["kb_search"]:
        thought = talk.pick("这个问题要先查知识库。", "This is a question for the knowledge base, so I search it first.")
    else:
        thought = talk.pick(
            f"还缺少信息，先调用 {'、'.join(names)}。", f"Something is missing here, so I call {' and '.join(names)} first."
        )
    ids = (f"call_offline_{talk.length}_{i}" for i in range(len(calls)))
    return AIMessage(
        content=[{"type": "reasoning", "reasoning": thought}],
        tool_calls=[ToolCall(name=name, args=args, id=id_, type="tool_call") for (name, args), id_ in zip(calls, ids, strict=True)],
    )


def thoughtful(thought: str, text: str) -> AIMessage:
    """A thought, then the answer."""
    return AIMessage(content=[{"type": "reasoning", "reasoning": thought}, {"type": "text", "text": text}])
