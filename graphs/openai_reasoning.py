"""`ChatOpenAI` for OpenAI-compatible servers, keeping the thinking they stream as `reasoning_content` (or `reasoning`), and refusals.

LangChain's own class drops these fields and asks for a subclass. Imported only when an `openai:` model is made.
"""

from __future__ import annotations

from typing import Any

from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI

_PROVIDER = "openai-compatible"


class ReasoningChatOpenAI(ChatOpenAI):
    """Streams `reasoning_content` as reasoning blocks and `refusal` as text. Nothing else differs from `ChatOpenAI`."""

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, Any] | None
    ) -> ChatGenerationChunk | None:
        generation = super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)
        delta = (chunk.get("choices") or [{}])[0].get("delta") or {}
        if generation is None or not chunk.get("choices"):
            return generation
        # without LangChain's translator for "openai", which knows no reasoning here, blocks are read from `additional_kwargs`
        generation.message.response_metadata["model_provider"] = _PROVIDER
        if reasoning := delta.get("reasoning_content") or delta.get("reasoning"):
            generation.message.additional_kwargs["reasoning_content"] = reasoning
        if refusal := delta.get("refusal"):
            generation.message.content = refusal  # what the model says instead of its content
        return generation


def make(model: str, **settings: Any) -> ReasoningChatOpenAI:
    """The model; usage is asked for also on servers that are not OpenAI's, where the class would leave it out."""
    return ReasoningChatOpenAI(**{"model": model, "stream_usage": True, **settings})
