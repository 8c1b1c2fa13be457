"""A chat completion through a LangChain model, off the stream: what `graphs.completion` does at an endpoint, for any provider."""

from __future__ import annotations

import asyncio

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from graphs.completion import CUT_SHORT, Completion, Prompt, ReasoningMessages
from graphs.endings import StreamCut
from graphs.models import at_temperature

TIMEOUT_SECONDS = 600.0
"""A whole document is written in one call."""


def over_model(model: BaseChatModel, *, timeout: float = TIMEOUT_SECONDS) -> Completion:
    """Asks `model`; its text never reaches the client, its tokens are part of the run's usage.

    The completion raises what the model raises, and `TimeoutError` after `timeout` seconds. Cancelling the task cancels the call.
    """

    async def complete(prompt: Prompt) -> str:
        # the tag keeps the call off the stream; callbacks, so the usage too, are inherited from the node
        config = RunnableConfig(tags=[TAG_NOSTREAM])
        asked: list[BaseMessage] = [SystemMessage(prompt.system), HumanMessage(prompt.user)]
        tempered = at_temperature(model, prompt.temperature)
        async with asyncio.timeout(timeout):
            if prompt.mode == "silent":
                return (await tempered.ainvoke(asked, config)).text.strip()
            return (await _streamed(tempered, asked, config)).strip()

    return complete


async def _streamed(model: BaseChatModel, asked: list[BaseMessage], config: RunnableConfig) -> str:
    reasoning = ReasoningMessages()
    parts: list[str] = []
    try:
        async for chunk in model.astream(asked, config):
            assert isinstance(chunk, AIMessageChunk)
            if CUT_SHORT & {chunk.response_metadata.get(key) for key in ("finish_reason", "stop_reason", "stopReason")}:
                raise StreamCut
            for block in chunk.content_blocks:
                if block["type"] == "reasoning":
                    reasoning.add(block.get("reasoning") or "")
                elif block["type"] == "text" and block["text"]:
                    reasoning.end()
                    parts.append(block["text"])
    finally:  # the stream ended, failed or was cancelled: what was opened is closed
        reasoning.end()
    return "".join(parts)
