"""What a run stores at one moment, in one call: the writes of parallel tasks, and the checkpoint that follows them.

LangGraph hands each to the saver in an asyncio task of its own, within a few turns of the event loop, and waits for them together. Where
one needs another to be stored before it (a checkpoint whose delta channels are rebuilt from the writes), LangGraph waits by itself, so that
the two never meet here. BatchWriteItem takes them in any order and may leave some of them undone, as separate calls may.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from functions.store import writes
from functions.store.remembered import Remembered, whole
from functions.store.table import Item, Table

TURNS = 6
"""Of the event loop, that the first waits for others: from the end of a step's last task to the next checkpoint there are five."""

Store = Callable[[Table], None]
"""Stores one thing through the table it is handed."""


@dataclass(frozen=True)
class Outbox(Remembered):
    """Keeps items that are new until `send`. BatchWriteItem replaces what is there, so that anything else goes out at once; and so does
    what must be stored before another item of the same task (`functions.store.writes`)."""

    kept: list[Item] = field(default_factory=list)

    def put(self, item: Item, **request: Any) -> None:
        if request or not self._mine(item["pk"]["S"], item["sk"]["S"]) or not self.memory.begin_new(item["sk"]["S"]):
            return super().put(item, **request)
        self.kept.append(item)

    def update(self, pk: str, sk: str, **request: Any) -> Item:
        first = self._mine(pk, sk) and writes.is_first(sk) and "ReturnValues" not in request
        if not first or not self.memory.begin_new(sk):
            return super().update(pk, sk, **request)
        self.kept.append(whole(pk, sk, request))
        return {}

    def send(self) -> None:
        stored = False
        try:
            if len(self.kept) == 1:
                Table.put(self, self.kept[0])
            elif self.kept:
                Table.put_many(self, self.kept)
            stored = True
        finally:
            for item in self.kept:
                self.memory.end(item["sk"]["S"], item if stored else None)


def store_all(outbox: Outbox, stores: Sequence[Store]) -> Sequence[BaseException | None]:
    """The error of each, or None. Raises what the call raises that they share."""
    errors: list[BaseException | None] = []
    for store in stores:
        try:
            store(outbox)
            errors.append(None)
        except Exception as error:  # noqa: BLE001 - it is its caller's, and no reason not to store the others
            errors.append(error)
    outbox.send()
    return errors


Send = Callable[[Sequence[Store]], Awaitable[Sequence[BaseException | None]]]
"""Stores them all, off the loop; returns the error of each, or None."""


class Gatherings:
    """Of one run: one for each event loop. A sync node may run a nested graph on a loop of its own, in a thread of its own."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Gathering] = WeakKeyDictionary()

    @property
    def here(self) -> Gathering:
        """Of the running loop."""
        loop = asyncio.get_running_loop()
        with self._lock:
            return self._by_loop.setdefault(loop, Gathering(self._send))


class Gathering:
    """On one event loop."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._waiting: list[tuple[Store, asyncio.Future[None]]] = []
        self._under_way: dict[Hashable, asyncio.Future[None]] = {}
        self._sending: set[asyncio.Task[None]] = set()

    async def add(self, key: Hashable, store: Store) -> None:
        """Returns when it is stored. What has the same key is stored one after another: of two at once the later could replace the
        earlier. Who is cancelled here leaves it to be stored."""
        while before := self._under_way.get(key):
            await asyncio.wait([before])
        loop = asyncio.get_running_loop()
        done = self._under_way[key] = loop.create_future()
        done.add_done_callback(lambda _: self._under_way.pop(key))
        self._waiting.append((store, done))
        if len(self._waiting) == 1:
            loop.call_soon(self._turn, TURNS)
        await asyncio.shield(done)

    def _turn(self, left: int) -> None:
        loop = asyncio.get_running_loop()
        if left:
            loop.call_soon(self._turn, left - 1)
            return
        gathered, self._waiting = self._waiting, []
        task = loop.create_task(self._store(gathered))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _store(self, gathered: Sequence[tuple[Store, asyncio.Future[None]]]) -> None:
        try:
            errors = await self._send([store for store, _ in gathered])
        except asyncio.CancelledError:  # the loop ends
            for _, done in gathered:
                done.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - it is that of everybody who waits
            errors = [error] * len(gathered)
        for (_, done), failed in zip(gathered, errors, strict=True):
            if failed is None:
                done.set_result(None)
            else:
                done.set_exception(failed)
