"""What rewrites documents beside the stream: a server of its own, or the agent's chat model."""

from __future__ import annotations

from functions.settings import Settings
from graphs.completion import Completion, Endpoint, over_endpoint


def make(settings: Settings) -> Completion | None:
    """None: the agent asks its chat model."""
    if not settings.completion_url:
        return None
    model = settings.completion_model or settings.chat_model.partition(":")[2]
    if not model:
        raise ValueError("AGENTS_COMPLETION_URL is set: AGENTS_COMPLETION_MODEL has to name that server's model")
    return over_endpoint(Endpoint(settings.completion_url, model, settings.completion_key))
