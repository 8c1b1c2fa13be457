"""Epochs: what a run that lost its thread still writes is never read.

A run holds its thread by a lease (`functions.store.leases`). When its holder gives no sign of life, the next run takes the thread over, and
the thread's epoch rises by one. The epoch is part of the keys of checkpoints and writes, in front of the checkpoint's id, and everybody
reads the highest epoch first. The new holder begins by copying what the thread stands on into its epoch (`functions.store.takeover`), so
that whatever the old one writes afterwards lies below, where no run looks. A condition on every write would say the same for twice the
write units.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping

from functions.store import keys
from functions.store.table import Item

REMEMBERED = 10_000
"""Threads whose epoch a saver keeps in mind."""


class Epochs:
    """The epoch of each thread as far as this saver has seen it; each run reads its thread first. `least`: what leases say."""

    def __init__(self, least: Mapping[str, int] | None = None) -> None:
        self._least = least or {}
        self._seen: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, pk: str) -> int | None:
        """None: not seen yet."""
        with self._lock:
            seen = self._seen.get(pk)
        known = [epoch for epoch in (seen, self._least.get(pk)) if epoch is not None]
        return max(known, default=None)

    def settled(self, pk: str) -> bool:
        """Under a lease nobody else can raise it."""
        return pk in self._least

    def see(self, pk: str, epoch: int) -> int:
        """Remembers what the newest checkpoint of the thread's root says → the thread's epoch."""
        with self._lock:
            self._seen[pk] = epoch
            self._seen.move_to_end(pk)
            if len(self._seen) > REMEMBERED:
                self._seen.popitem(last=False)
        return max(epoch, self._least.get(pk, 0))

    def forget(self, pk: str) -> None:
        with self._lock:
            self._seen.pop(pk, None)


class Current:
    """Passes the checkpoints of one namespace, which come with the highest epoch and id first, and holds back what was written too late: in
    a lower epoch, but with an id that is not older than those of the higher one. The copies that a takeover made pass in its epoch."""

    def __init__(self) -> None:
        self._epoch: int | None = None
        self._oldest = ""

    def passes(self, epoch: int, checkpoint_id: str) -> bool:
        if self._epoch is not None and epoch < self._epoch and checkpoint_id >= self._oldest:
            return False
        self._epoch, self._oldest = epoch, checkpoint_id
        return True


def current(items: Iterable[Item]) -> Iterator[Item]:
    """Those checkpoint items of a table, in any order and of any namespaces, that were not written too late; highest epoch first.

    Ids are compared in their encoded form, which sorts as they do."""
    gates: dict[tuple[str, str], Current] = {}
    for item in sorted(items, key=lambda item: keys.standing(item["sk"]["S"]), reverse=True):
        gate = gates.setdefault((item["pk"]["S"], item["sk"]["S"].split("!")[1]), Current())
        if gate.passes(*keys.standing(item["sk"]["S"])):
            yield item
