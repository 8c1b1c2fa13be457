"""The agent as the secrets of this moment make it: built when it is first needed, and again when a secret has changed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from functions.runs.agents import ServedAgent
from functions.secrets import Secrets, export
from functions.settings import Settings

Build = Callable[[Settings], ServedAgent]


class Rebuilt:
    """A run keeps the agent that it began with, and so its keys; the next one has the new."""

    def __init__(self, settings: Settings, build: Build) -> None:
        self._settings, self._build = settings, build
        self._secrets = Secrets(settings.secrets, settings.secrets_max_age_seconds)
        self._values: dict[str, str] = {}
        self._agent: ServedAgent | None = None
        self._building = threading.Lock()

    async def now(self) -> ServedAgent:
        """Raises `functions.secrets.SecretUnavailable`, or what building raises."""
        return await asyncio.to_thread(self._now)

    def _now(self) -> ServedAgent:
        with self._building:
            values = dict(self._secrets.read())
            if self._agent is None or values != self._values:
                export(values)
                self._agent, self._values = self._build(self._settings.overlaid(values)), values
            return self._agent
