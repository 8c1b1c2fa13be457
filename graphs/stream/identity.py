"""Gives messages their ids before anyone sees them, so that what is streamed and what is stored carry the same one.

It must be a callback that runs inline: a transformer reads later than the reducer stores (a slow reader, or a tool that finishes beside
an interrupted one, would otherwise get an id that differs from the checkpoint's).
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from graphs.stream.ledger import generated_call_id
from graphs.stream.tools import tool_messages


class MessageIdentity(BaseCallbackHandler):
    """Put it in `config["callbacks"]` of a run. ToolMessages without id get a uuid4; tool calls without id one made of their message's."""

    run_inline = True

    def on_tool_end(self, output: Any, **kwargs: Any) -> None:
        _name_tool_messages(output)

    def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        _name_tool_messages(outputs)

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        for generation in (g for batch in response.generations for g in batch):
            if isinstance(generation, ChatGeneration) and isinstance(generation.message, AIMessage):
                _name_calls(generation.message)


def _name_tool_messages(output: Any) -> None:
    for message in tool_messages(output):
        if not message.id:
            message.id = str(uuid4())


def _name_calls(message: AIMessage) -> None:
    for position, call in enumerate(message.tool_calls, 1):
        if not call["id"]:
            call["id"] = generated_call_id(message.id or "", position)
