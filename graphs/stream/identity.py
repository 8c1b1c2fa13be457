"""Gives messages their ids before anyone sees them, so that what is streamed and what is stored carry the same one.

It must be a callback that runs inline: a transformer reads later than the reducer stores (a slow reader, or a tool that finishes beside
an interrupted one, would otherwise get an id that differs from the checkpoint's).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, LLMResult

from graphs.stream.direct import DirectStreams
from graphs.stream.ledger import generated_call_id
from graphs.stream.tools import messages_of, tool_messages

_MADE_UP = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(slots=True)
class Said:
    """What the models of one task said: streamed message id → text, and stored id → streamed id where they differ."""

    texts: dict[str, str] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)


class MessageIdentity(BaseCallbackHandler):
    """Put it in `config["callbacks"]` of a run.

    ToolMessages without id get a uuid4; tool calls without id one made of their message's; a message that a node builds of what its model
    said (the same text) gets the id that this was streamed under. Models called with `.astream()` stream through it.
    """

    run_inline = True

    def __init__(self) -> None:
        self._nodes: dict[UUID, tuple[str, Any]] = {}
        self._calls: dict[UUID, str] = {}
        self._said: defaultdict[str, Said] = defaultdict(Said)
        self._direct = DirectStreams()

    def on_tool_end(self, output: Any, **kwargs: Any) -> None:
        _name_tool_messages(output)

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        metadata = kwargs.get("metadata") or {}
        if kwargs.get("name") and kwargs["name"] == metadata.get("langgraph_node"):
            self._nodes[run_id] = (metadata.get("langgraph_checkpoint_ns", ""), inputs)
        else:
            _name_newest_calls(inputs)  # the condition behind a node reads the state before the node's own end is told

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        _name_tool_messages(outputs)
        if node := self._nodes.pop(run_id, None):
            task, inputs = node
            said = self._said.pop(task, Said())
            for call in [c for c, where in self._calls.items() if where == task]:  # streams that the node has left
                if (stream := self._direct.open(call)) and stream.message_id:
                    said.texts[stream.message_id] = stream.text
            _name_answers(inputs, outputs, said)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        if node := self._nodes.pop(run_id, None):
            self._said.pop(node[0], Said())

    def on_chat_model_start(self, serialized: Any, messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any) -> None:
        self._calls[run_id] = (kwargs.get("metadata") or {}).get("langgraph_checkpoint_ns", "")

    def on_llm_new_token(self, token: Any, *, run_id: UUID, chunk: Any = None, **kwargs: Any) -> None:
        if isinstance(chunk, ChatGenerationChunk):
            self._direct.token(run_id, chunk)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        task, stream = self._calls.pop(run_id, ""), self._direct.end(run_id)
        for generation in (g for batch in response.generations for g in batch):
            if isinstance(generation, ChatGeneration) and isinstance(generation.message, AIMessage):
                message = generation.message
                _name_calls(message)
                streamed = (stream.message_id if stream else None) or message.id
                if streamed:
                    self._said[task].texts[streamed] = message.text
                if streamed and message.id and message.id != streamed:
                    self._said[task].renamed[message.id] = streamed

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        task, stream = self._calls.pop(run_id, ""), self._direct.end(run_id, failed=True)
        if stream and stream.message_id:
            self._said[task].texts[stream.message_id] = stream.text


def _name_tool_messages(output: Any) -> None:
    for message in tool_messages(output):
        if not message.id:
            message.id = str(uuid4())


def _name_answers(inputs: Any, outputs: Any, said: Said) -> None:
    """The AI messages of a node: those it made itself are told apart from what it copied of its model by their text."""
    answers = list(messages_of(outputs, AIMessage))
    for message in answers:
        if message.id:
            message.id = said.renamed.get(message.id, message.id)
            said.texts.pop(str(message.id), None)
    for message in answers:
        if claimed := _claimed(message, said.texts, inputs):
            message.id = claimed
        elif not message.id:
            message.id = str(uuid4())
        _name_calls(message)


def _claimed(message: AIMessage, texts: dict[str, str], inputs: Any) -> str | None:
    text = message.text.strip()
    found = next((i for i, t in texts.items() if text and t.strip() == text), None)
    if found is None or not _is_unnamed(message, inputs):
        return None
    del texts[found]
    return found


def _is_unnamed(message: AIMessage, inputs: Any) -> bool:
    """Without id, or with one that a condition's view of the state has just made up: not the node's own choice, nor of the history."""
    if not message.id:
        return True
    return _MADE_UP.fullmatch(message.id) is not None and all(m.id != message.id for m in messages_of(inputs, AIMessage))


def _name_newest_calls(state: Any) -> None:
    for value in state.values() if isinstance(state, Mapping) else ():
        if isinstance(value, list) and value and isinstance(value[-1], AIMessage):
            _name_calls(value[-1])


def _name_calls(message: AIMessage) -> None:
    for position, call in enumerate(message.tool_calls, 1):
        if not call["id"]:
            message.id = message.id or str(uuid4())
            call["id"] = generated_call_id(message.id, position)
            if isinstance(message, AIMessageChunk):  # it is read back from its pieces
                piece = next((c for c in message.tool_call_chunks if not c["id"] and c["name"] == call["name"]), None)
                if piece is not None:
                    piece["id"] = call["id"]
