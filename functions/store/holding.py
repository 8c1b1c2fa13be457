"""A run's hold on its thread, as the saver sees it: asked before every write, and kept waiting for by the end of the run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from functions.store.errors import LeaseLost
from functions.store.expiry import now

Renew = Callable[[], bool]

STOPS_WITHIN = 10.0
"""Seconds that a run which was asked to stop has its thread without a sign of life (`functions.store.holders`)."""
UNSEEN = STOPS_WITHIN - 2
"""Seconds without a look at whether it was asked, after which a run holds nothing unless it asks. A look may be a second old itself."""


class Holding:
    """Valid for a time from each renewal on, by two clocks: one stands still while an environment is frozen, the other can be set.

    Args:
        seconds: how long a renewal holds.
        renew: extends the lease in the table; False when it is another's.
    """

    def __init__(self, seconds: float, renew: Renew, *, since: tuple[float, float]) -> None:
        self.seconds = seconds
        self.lost = threading.Event()
        self._renew = renew
        self._since = self._seen = since
        self._closed = False
        self._writing = 0
        self._idle = threading.Condition()

    def beat(self) -> bool:
        """Renews it. Raises what the table raises; then it stays valid for as long as it was."""
        if self._closed:
            return False
        since = clocks()
        if not self._renew():
            self.lost.set()
            return False
        self._since = self._seen = since
        return True

    def seen(self, since: tuple[float, float]) -> None:
        """At that time nobody had asked the run to stop."""
        self._seen = max(self._seen, since)

    @property
    def over(self) -> bool:
        """Its time is over, or may have been cut short: another may have the thread."""
        return self.age >= self.seconds or _since(self._seen) >= UNSEEN

    @property
    def age(self) -> float:
        """Seconds since it was renewed."""
        return _since(self._since)

    def confirm(self) -> None:
        """Raises `LeaseLost`; a lease whose time is over is renewed first. Asked before each write, and after each call: a process that was
        frozen in one must not begin what comes next, which may be a tool."""
        if self._closed or self.lost.is_set() or (self.over and not self.beat()):
            raise LeaseLost

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Around every write. Raises `LeaseLost`."""
        self.confirm()
        with self._idle:
            if self._closed:
                raise LeaseLost
            self._writing += 1
        try:
            yield
        finally:
            with self._idle:
                self._writing -= 1
                self._idle.notify_all()
        self.confirm()

    def close(self, timeout: float) -> bool:
        """From now on nothing is written or renewed. Whether no write is under way any more, at the latest after so many seconds: a run
        that has ended can leave calls, and whole graphs, in their threads."""
        with self._idle:
            self._closed = True
            return self._idle.wait_for(lambda: self._writing == 0, timeout)


def _since(then: tuple[float, float]) -> float:
    return max(after - before for before, after in zip(then, clocks(), strict=True))


def clocks() -> tuple[float, float]:
    """Seconds by the monotonic clock and by the calendar."""
    return time.monotonic(), now()
