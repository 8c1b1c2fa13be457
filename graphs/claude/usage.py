"""What a run of the SDK has cost, told to LangChain's callbacks as a model call is: whoever counts those counts it too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import get_async_callback_manager_for_config
from langgraph.constants import TAG_NOSTREAM


async def report_usage(config: RunnableConfig, model: str, usage: Mapping[str, Any]) -> None:
    """`usage` as the CLI gives it: tokens of all calls of the run. Nothing of it is streamed."""
    told: RunnableConfig = {
        **config,
        "tags": [*(config.get("tags") or ()), TAG_NOSTREAM],
        "metadata": {**(config.get("metadata") or {}), "ls_provider": "anthropic", "ls_model_name": model},
    }
    message = AIMessage("", usage_metadata=tokens(usage), response_metadata={"model_name": model})
    for run in await get_async_callback_manager_for_config(told).on_chat_model_start({"name": "claude"}, [[]]):
        await run.on_llm_end(LLMResult(generations=[[ChatGeneration(message=message)]]))


def tokens(usage: Mapping[str, Any]) -> UsageMetadata:
    """The API counts what it read from the cache, and wrote into it, beside `input_tokens`; LangChain counts them in."""
    read, made = int(usage.get("cache_read_input_tokens") or 0), int(usage.get("cache_creation_input_tokens") or 0)
    into, out = int(usage.get("input_tokens") or 0) + read + made, int(usage.get("output_tokens") or 0)
    details = InputTokenDetails(cache_read=read, cache_creation=made)
    return UsageMetadata(input_tokens=into, output_tokens=out, total_tokens=into + out, input_token_details=details)
