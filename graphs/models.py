"""The one place that makes chat models. Nothing here reads the environment: the providers' own packages read their own keys.

A provider's package is an extra of this project and imported only when its model is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeVar, cast

from langchain_core.language_models import BaseChatModel

from graphs.endings import WholeAnswers
from graphs.offline import OFFLINE, OfflineModel, Script
from graphs.scripted import ScriptedModel

__all__ = ["OFFLINE", "MissingProvider", "OfflineModel", "ScriptedModel", "at_temperature", "make_model", "provider_advice"]

_EXTRAS = {
    "openai": "openai",
    "deepseek": "deepseek",
    "anthropic": "anthropic",
    "bedrock": "bedrock",
    "bedrock_converse": "bedrock",
}

# Providers whose answers always end with a reason.
_REASONED = frozenset({"openai", "deepseek", "anthropic", "bedrock_converse"})

Model = TypeVar("Model", bound=BaseChatModel)


class MissingProvider(ImportError):
    """The model's provider package is not installed; the text says which extra brings it."""


def make_model(name: str, *, offline_delay_ms: int = 0, script: Script | None = None, **settings: Any) -> BaseChatModel:
    """The chat model `name`: `offline`, or `provider:model` as `init_chat_model` takes it.

    `settings` go to the provider's class (`base_url`, `api_key`, `temperature`, `region_name` …). `offline_delay_ms` is the offline
    model's pause before each token, `script` an agent's own part of it. Raises `MissingProvider`, or `ValueError` for a name of another
    form or an unknown provider. A call of the model raises what `graphs.endings` names, beside its provider's own errors.
    """
    if name == OFFLINE:
        return OfflineModel(delay_ms=offline_delay_ms, script=script)
    provider, colon, model = name.partition(":")
    if not (provider and colon and model):
        raise ValueError(f"{name!r} is no model: expected {OFFLINE!r} or 'provider:model', for example 'openai:gpt-5-mini'")
    if provider in _REASONED:
        settings["callbacks"] = [*(settings.get("callbacks") or ()), WholeAnswers()]
    try:
        if provider == "openai":
            # ChatOpenAI drops the `reasoning_content` of OpenAI-compatible servers; ours keeps it
            return cast(BaseChatModel, import_module("graphs.openai_reasoning").make(model, **settings))
        return cast(BaseChatModel, import_module("langchain.chat_models").init_chat_model(name, **settings))
    except ImportError as error:
        raise MissingProvider(provider_advice(provider)) from error


def provider_advice(provider: str) -> str:
    """What to do where a provider's package is missing."""
    extra = _EXTRAS.get(provider)
    if extra is None:
        return f"The model provider {provider!r} needs a LangChain package that is not installed, and no extra of this project brings it."
    return f"The model provider {provider!r} is not installed. Install it with: uv sync --extra {extra}"


def at_temperature(model: Model, temperature: float) -> Model:
    """The same model at this temperature, or the model itself where it has no such setting (some reasoning models refuse it)."""
    accepts = (model.profile or {}).get("temperature", True)
    if not accepts or "temperature" not in type(model).model_fields:
        return model
    return model.model_copy(update={"temperature": temperature})
