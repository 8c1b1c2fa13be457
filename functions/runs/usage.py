"""Tokens of one run, per provider and model: every model call counts, also the muted and the directly streamed ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from ag_ui.core import TokenUsage, aggregate_token_usage, token_usage_from_langchain_metadata
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult


class UsageCounter(BaseCallbackHandler):
    """Put it in `config["callbacks"]` of a run; `total()` is what RUN_FINISHED and RUN_ERROR carry."""

    run_inline = True

    def __init__(self, before: Iterable[TokenUsage] = ()) -> None:
        """`before`: what the run has used in other invocations."""
        self._providers: dict[UUID, tuple[str | None, str | None]] = {}
        self._entries: list[TokenUsage] = list(before)
        self._before = len(self._entries)

    def on_chat_model_start(self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any) -> None:
        metadata = kwargs.get("metadata") or {}
        self._providers[run_id] = (metadata.get("ls_provider"), metadata.get("ls_model_name"))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        self._count_all(response, run_id)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        # a stream that broke off has cost what its provider said at the start
        self._count_all(kwargs.get("response") or LLMResult(generations=[]), run_id)

    def _count_all(self, response: LLMResult, run_id: UUID) -> None:
        provider, model = self._providers.pop(run_id, (None, None))
        for generation in (g for batch in response.generations for g in batch):
            if isinstance(generation, ChatGeneration) and isinstance(generation.message, AIMessage):
                self._count(generation.message, provider, model)

    def total(self) -> list[TokenUsage] | None:
        """One entry per provider and model, or None when no call reported usage."""
        return aggregate_token_usage(self._entries) if self._entries else None

    @property
    def here(self) -> list[TokenUsage]:
        """Of this invocation, call by call."""
        return self._entries[self._before :]

    def _count(self, message: AIMessage, provider: str | None, model: str | None) -> None:
        model = message.response_metadata.get("model_name") or model
        entry = token_usage_from_langchain_metadata(message.usage_metadata, provider=provider, model=model)
        if entry is not None:
            self._entries.append(entry)
