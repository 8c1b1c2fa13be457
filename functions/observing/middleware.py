"""Around the whole app: the ids of a request on each of its log lines, and nothing left to send when it is over.

The runtime asks for the next event when the app has returned; after that the environment may be frozen.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from functions.logs import append_keys, clear_keys
from functions.observing.flushing import flush_exporters
from functions.observing.request import CURRENT, Environment, Observed
from functions.settings import Settings

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LEAST_LEFT = 0.5
"""Seconds of an invocation that sending must leave."""


class Observing:
    """An ASGI app around an ASGI app, the outermost: spans of what is inside have ended when they are sent."""

    def __init__(self, app: App, settings: Settings) -> None:
        self._app = app
        self._flush_seconds = settings.flush_seconds
        self._environment = Environment(settings.name, _models(settings), settings.metrics_namespace)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        observed = Observed.of(scope, self._environment)
        token = CURRENT.set(observed)
        clear_keys()
        append_keys(**observed.keys())
        try:
            await self._app(scope, receive, send)
        finally:
            await flush_exporters(_seconds(scope.get("aws.context"), self._flush_seconds))
            clear_keys()
            CURRENT.reset(token)


def _models(settings: Settings) -> tuple[str, ...]:
    """The names without their providers: what a provider reports."""
    named = (settings.chat_model.partition(":")[2] or settings.chat_model, settings.completion_model)
    return tuple(name for name in named if name)


def _seconds(context: Any, most: float) -> float:
    """How long sending may take: less when the invocation is about to time out."""
    if context is None:
        return most
    left: int = context.get_remaining_time_in_millis()
    return max(0.0, min(most, left / 1_000 - LEAST_LEFT))
