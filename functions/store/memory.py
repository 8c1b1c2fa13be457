"""Items of one partition that were read or written, and between which keys there are no others."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable

from functions.store.table import Item, item_bytes

MOST_BYTES = 8 * 1024 * 1024


class Memory:
    """Right as long as nobody else writes what it remembers. Forgets everything rather than to hold more than `MOST_BYTES`.

    Each interval is closed: whatever the table has from its low to its high key, ends included, is among the items.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: Counter[str] = Counter()
        self._torn: set[str] = set()
        self.age = -1
        """How often everything was forgotten."""
        self._forget()

    def _forget(self) -> None:
        self.age += 1
        self._items: dict[str, Item] = {}
        self._keys: list[str] = []
        self._intervals: list[tuple[str, str]] = []
        self._bytes = 0

    def forget(self) -> None:
        with self._lock:
            self._forget()

    # what was read

    def learn(self, age: int, low: str, high: str, items: Iterable[Item]) -> None:
        """These are all items from `low` to `high`, read when the memory had that age. What is known of one already is newer."""
        with self._lock:
            if age != self.age:
                return
            for item in items:
                if item["sk"]["S"] not in self._items:
                    self._keep(item)
                if age != self.age:  # forgotten for its size: what was newer is not known any more
                    return
            self._merge(low, high)

    def _merge(self, low: str, high: str) -> None:
        touching = [known for known in self._intervals if known[0] <= high and low <= known[1]]
        apart = [known for known in self._intervals if known not in touching]
        merged = (min([low, *(known[0] for known in touching)]), max([high, *(known[1] for known in touching)]))
        self._intervals = sorted([*apart, merged])

    def _keep(self, item: Item) -> None:
        key: str = item["sk"]["S"]
        if old := self._items.get(key):
            self._bytes -= item_bytes(old)
        else:
            insort(self._keys, key)
        self._items[key] = item
        self._bytes += item_bytes(item)
        if self._bytes > MOST_BYTES:
            self._forget()

    # what is written

    def begin(self, key: str) -> None:
        """A write of this item is under way. Of two at once nobody can say which came last."""
        with self._lock:
            if self._under_way[key]:
                self._torn.add(key)
            self._under_way[key] += 1

    def begin_new(self, key: str) -> bool:
        """The same, if there is no such item and no other write of it is under way."""
        with self._lock:
            known = any(low <= key <= high for low, high in self._intervals)
            if not known or key in self._items or self._under_way[key]:
                return False
            self._under_way[key] = 1
            return True

    def end(self, key: str, item: Item | None) -> None:
        """It is over; the item as the table has it now, or None if that is not known."""
        with self._lock:
            self._under_way[key] -= 1
            if item is None or key in self._torn:
                self._forget()
            else:
                self._keep(item)
            if not self._under_way[key]:
                self._under_way.pop(key)
                self._torn.discard(key)

    # what is known

    def between(self, low: str, high: str) -> list[Item] | None:
        """All items from `low` to `high`, by key; None if there may be others."""
        with self._lock:
            if not any(known[0] <= low and high <= known[1] for known in self._intervals):
                return None
            return self._from(low, high)

    def down_from(self, low: str, high: str) -> tuple[list[Item], str] | None:
        """The greatest key first, from `high` as far towards `low` as all are known, and how far that is; None if nothing is known."""
        with self._lock:
            reached = next((max(low, known[0]) for known in self._intervals if known[0] <= high <= known[1]), None)
            return None if reached is None else (self._from(reached, high)[::-1], reached)

    def _from(self, low: str, high: str) -> list[Item]:
        return [self._items[key] for key in self._keys[bisect_left(self._keys, low) : bisect_right(self._keys, high)]]
