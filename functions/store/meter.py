"""How much a run asks of its stores: calls and bytes, counted where botocore sends and receives."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

C = TypeVar("C")


class Meter:
    """`calls`, and the bytes of their bodies as they go over the wire. Threads of one run count on it at once."""

    def __init__(self) -> None:
        self.calls = self.written = self.read = 0
        self._lock = threading.Lock()

    def count(self, *, calls: int = 0, written: int = 0, read: int = 0) -> None:
        with self._lock:
            self.calls += calls
            self.written += written
            self.read += read


METER: ContextVar[Meter | None] = ContextVar("store_meter", default=None)
"""Of the run of this task; the store's threads run in a copy of its context."""


@contextmanager
def uncounted() -> Iterator[None]:
    """Calls that a run makes beside its work: looks for a stop, the events that are kept. Their number is that of seconds, not of steps."""
    token = METER.set(None)
    try:
        yield
    finally:
        METER.reset(token)


def metered(client: C) -> C:
    """The same client; its calls count on the meter of whoever makes them."""
    events = client.meta.events  # type: ignore[attr-defined]  # any client of boto3
    events.register("before-call", _sent)
    events.register("after-call", _received)
    return client


def _sent(params: dict[str, Any], **_: Any) -> None:
    if (meter := METER.get()) is not None:
        body = params.get("body")
        meter.count(calls=1, written=len(body) if isinstance(body, (bytes, bytearray, str)) else 0)


def _received(http_response: Any, **_: Any) -> None:
    if (meter := METER.get()) is not None:
        # not its content: an object's is a stream that the caller has yet to read
        meter.count(read=int(http_response.headers.get("content-length", 0)))
