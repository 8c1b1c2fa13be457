"""The lease of a thread whose checkpointer knows none: in this process, where two requests can meet."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from functions.store.errors import ThreadBusy
from functions.store.holders import Holder

if TYPE_CHECKING:
    from functions.store.claims import Claim


@dataclass(slots=True)
class _Held:
    """What this process knows of one checkpointer's threads."""

    runs: dict[str, LocalLease] = field(default_factory=dict)
    fences: dict[str, int] = field(default_factory=dict)
    requests: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)


_HELD: WeakKeyDictionary[BaseCheckpointSaver[Any], _Held] = WeakKeyDictionary()


class LocalLease:
    """A lease in this process. It dies with it, so nothing is ever taken over, and an answer needs no claim."""

    dead: frozenset[str] = frozenset()
    changed = False

    def __init__(self, checkpointer: BaseCheckpointSaver[Any], thread_id: str, run_id: str, seconds: float, request_key: str = "") -> None:
        """Raises `ThreadBusy`."""
        held = _HELD.setdefault(checkpointer, _Held())
        if (holder := held.runs.get(thread_id)) is not None and holder.until > time.monotonic():
            raise ThreadBusy(holder.run_id, holder.until - time.monotonic(), holder.request_key)
        self.checkpointer = checkpointer
        self.run_id: str = run_id
        self.request_key: str = request_key
        self.until: float = time.monotonic() + seconds
        self.alone = isinstance(checkpointer, InMemorySaver)
        self.lost = threading.Event()
        self._thread_id, self._held = thread_id, held
        self.fence = held.fences[thread_id] = held.fences.get(thread_id, 0) + 1
        self.on_stop: Callable[[], None] = lambda: None
        held.runs[thread_id] = self

    def beat(self, on_lost: Callable[[], None], on_stop: Callable[[], None]) -> None:
        """A run that has begun holds it until it ends."""
        self.until = math.inf
        self.on_stop = on_stop

    @property
    def holder(self) -> Holder:
        return Holder(self.run_id, self.fence, max(0.0, self.until - time.monotonic()))

    async def looked_at(self) -> None:
        return None

    async def release(self) -> None:
        if self._held.runs.get(self._thread_id) is self:
            del self._held.runs[self._thread_id]

    async def answers(self, interrupt_ids: list[str]) -> Mapping[str, Claim] | None:
        return None

    async def claim(self, answers: dict[str, Claim]) -> list[str]:
        return []

    async def forget(self, interrupt_ids: list[str]) -> None:
        return None

    async def run_of_request(self, key: str) -> tuple[str, int] | None:
        return self._held.requests.get((self._thread_id, key))

    async def started(self, key: str) -> None:
        self._held.requests[self._thread_id, key] = self.run_id, self.fence


def local_holder(checkpointer: BaseCheckpointSaver[Any], thread_id: str) -> Holder | None:
    """As `functions.store.holders.holder`; None also where the run has ended."""
    held = _HELD.get(checkpointer)
    lease = held.runs.get(thread_id) if held is not None else None
    return lease.holder if lease is not None else None


def ask_local_to_stop(checkpointer: BaseCheckpointSaver[Any], thread_id: str, run_id: str | None) -> Holder | None:
    """As `functions.store.holders.ask_to_stop`."""
    found = local_holder(checkpointer, thread_id)
    if found is not None and found.live and run_id in (None, found.run_id):
        _HELD[checkpointer].runs[thread_id].on_stop()
    return found


def local_run_of_request(checkpointer: BaseCheckpointSaver[Any], thread_id: str, key: str) -> tuple[str, int] | None:
    held = _HELD.get(checkpointer)
    return held.requests.get((thread_id, key)) if held is not None else None
