"""The table as a run sees it that has the lease of its thread: what it has read or written of its checkpoints is not read again.

Nobody else writes them while it has the lease, which is confirmed after each of its reads and before each of its writes
(`functions.store.holding`). So the read that plans a turn serves its beginning, and the end of a run needs none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from functions.store import keys
from functions.store.memory import Memory
from functions.store.table import Item, Table

KINDS = ("c!", "w!")
"""Checkpoints and their writes. Leases and claims are others' to write too."""


@dataclass(frozen=True)
class Remembered(Table):
    """`pk`: the partition that is held; `epoch`: in which the run writes."""

    pk: str
    epoch: int
    memory: Memory = field(default_factory=Memory)

    def _mine(self, pk: str, sk: str) -> bool:
        return pk == self.pk and sk.startswith(KINDS)

    def put(self, item: Item, **request: Any) -> None:
        key: str = item["sk"]["S"]
        if not self._mine(item["pk"]["S"], key):
            return super().put(item, **request)
        stored = None
        self.memory.begin(key)
        try:
            super().put(item, **request)
            stored = item
        finally:
            self.memory.end(key, stored)

    def update(self, pk: str, sk: str, **request: Any) -> Item:
        """Of an item that may be there it asks for the whole as it is afterwards, which costs no units; one that is not there becomes what
        it is set to."""
        if not self._mine(pk, sk) or "ReturnValues" in request:
            return super().update(pk, sk, **request)
        stored = None
        new = self.memory.between(sk, sk) == []
        self.memory.begin(sk)
        try:
            if new:
                super().update(pk, sk, **request)
                stored = whole(pk, sk, request)
            else:
                stored = super().update(pk, sk, ReturnValues="ALL_NEW", **request)
        finally:
            self.memory.end(sk, stored)
        return {}

    def delete(self, pk: str, sk: str, **request: Any) -> None:
        try:
            super().delete(pk, sk, **request)
        finally:
            self.memory.forget()

    def put_many(self, items: Iterable[Item]) -> None:
        try:
            super().put_many(items)
        finally:
            self.memory.forget()

    def delete_many(self, keys: Iterable[Item]) -> None:
        try:
            super().delete_many(keys)
        finally:
            self.memory.forget()

    def query(self, pk: str, low: str, high: str, **options: Any) -> Iterator[list[Item]]:
        if not self._mine(pk, low):
            return super().query(pk, low, high, **options)
        if not options:
            return self._upwards(low, high)
        if options.keys() <= {"Limit", "ScanIndexForward"} and options.get("ScanIndexForward") is False:
            return self._downwards(low, high, options)
        return super().query(pk, low, high, **options)

    def _upwards(self, low: str, high: str) -> Iterator[list[Item]]:
        known = self.memory.between(low, high)
        if known is not None:
            yield known
            return
        age, read = self.memory.age, list[Item]()
        for page in super().query(self.pk, low, high):
            read += page
            yield page
        self.memory.learn(age, low, high, read)

    def _downwards(self, low: str, high: str, options: dict[str, Any]) -> Iterator[list[Item]]:
        """`Limit` saves reading: what is known comes at once."""
        known, reached = self.memory.down_from(low, high) or ([], None)
        if known:
            yield known
        if reached == low:
            return
        start = {} if reached is None else {"ExclusiveStartKey": {"pk": {"S": self.pk}, "sk": {"S": reached}}}
        age, first = self.memory.age, reached is None
        for page in super().query(self.pk, low, high, **options, **start):
            if page:
                if first:
                    self._nothing_newer(age, low, high, page[0])
                self.memory.learn(age, page[-1]["sk"]["S"], reached or high, page)
                self._nothing_between(age, [*([reached] if reached else []), *(item["sk"]["S"] for item in page)])
                reached, first = page[-1]["sk"]["S"], False
            yield page
        if first:
            self._nothing_newer(age, low, high, None)
        self.memory.learn(age, low, reached or high, ())

    def _nothing_newer(self, age: int, low: str, high: str, newest: Item | None) -> None:
        """No checkpoint of the namespace is newer than this one, so none that is has any writes; but for those of this run, which are
        remembered unless something was forgotten."""
        kind, namespace, *_ = low.split("!")
        if age == 0 and kind == "c" and high == keys.after(low):
            writes = f"w!{namespace}!"
            self.memory.learn(age, self._end_of_writes(newest) if newest else writes, keys.after(writes), ())

    def _nothing_between(self, age: int, newest_first: list[str]) -> None:
        """Between two checkpoints there is none, so none that has any writes."""
        for newer, older in pairwise(newest_first):
            if age == 0 and newer.startswith("c!") and newer.split("!")[:3] == older.split("!")[:3]:
                self.memory.learn(age, keys.after(f"w{older[1:]}!"), f"w{newer[1:]}!", ())

    def _end_of_writes(self, newest: Item) -> str:
        sort_key: str = newest["sk"]["S"]
        epoch = max(keys.place(sort_key).epoch, self.epoch)
        return keys.after(f"w{keys.in_epoch(sort_key, epoch)[1:]}!")


def whole(pk: str, sk: str, request: dict[str, Any]) -> Item:
    """The item that such an update makes where there is none: ours set each value to the attribute of its name."""
    values: Item = request["ExpressionAttributeValues"]
    return {"pk": {"S": pk}, "sk": {"S": sk}, **{name.removeprefix(":"): value for name, value in values.items()}}
