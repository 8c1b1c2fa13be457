"""How a provider's answer must end: with its reason, and not with a refusal instead of an answer.

LangChain's packages take a stream that just stops for a whole answer, and a refusal without words for an empty one. Both would reach
the thread as an answer that nobody gave.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult

# where each provider's package puts it: OpenAI and DeepSeek, Anthropic, Bedrock Converse, OpenAI's Responses API
_REASON_KEYS = ("finish_reason", "stop_reason", "stopReason", "status")
_REFUSALS = frozenset({"refusal", "content_filter", "content_filtered", "guardrail_intervened"})


class StreamCut(ConnectionError):
    """The provider's stream stopped before its end. Half an answer is no answer."""

    def __init__(self) -> None:
        super().__init__("the model's stream stopped before its end")


class ModelRefused(Exception):
    """The provider declined to answer and said nothing; `reason` is its own word for it."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the model gave no answer: {reason}")
        self.reason = reason


class WholeAnswers(BaseCallbackHandler):
    """A model's callback: its call raises `StreamCut` or `ModelRefused` instead of returning such an answer."""

    raise_error = True
    run_inline = True

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        for message in _messages(response):
            reason = next((str(message.response_metadata[key]) for key in _REASON_KEYS if message.response_metadata.get(key)), None)
            if reason is None:
                raise StreamCut
            if reason in _REFUSALS and not message.text and not message.tool_calls:
                raise ModelRefused(reason)


def _messages(response: LLMResult) -> Iterator[AIMessage]:
    generations = (generation for batch in response.generations for generation in batch if isinstance(generation, ChatGeneration))
    return (generation.message for generation in generations if isinstance(generation.message, AIMessage))
