"""Runtime APIs that break something, for tests of how the runtime takes it."""

from __future__ import annotations

from infra.local.invocation import Invocation
from infra.local.runtime_api import RuntimeApi


class ResettingApi(RuntimeApi):
    """Resets the connection of the first response after `after` pieces (the prelude is one)."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self._after = after
        self._done = False

    async def received(self, invocation: Invocation, pieces: int) -> None:
        if not self._done and pieces >= self._after:
            self._done = True
            raise ConnectionResetError("injected")


class CountingApi(RuntimeApi):
    """Counts the bytes it has taken, so that a test can see the runtime wait."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces = 0

    async def received(self, invocation: Invocation, pieces: int) -> None:
        self.pieces = pieces
