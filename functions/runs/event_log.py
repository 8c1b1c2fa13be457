"""Where the events of a run are kept: beside its checkpoints in DynamoDB, or with any other checkpointer in this process."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

from langgraph.checkpoint.base import BaseCheckpointSaver

from functions.store.errors import TableMissing
from functions.store.events import Batch, Kept, Last
from functions.store.meter import uncounted

if TYPE_CHECKING:
    from functions.store.checkpoints import DynamoDBSaver
    from functions.store.events import EventTable

MOST_LOCAL_BYTES = 32 * 1024 * 1024
"""Of frames that one process keeps for one checkpointer; the runs that ended first go first."""


class EventLog(Protocol):
    """The kept events of one run."""

    async def write(self, batch: Batch) -> None: ...

    async def read(self, after: int = 0) -> Kept:
        """The batches with a frame behind that number, by number; of the same number the later lease's last."""

    async def last(self) -> Last:
        """Its last event."""


def event_log(checkpointer: Any, thread_id: str, run_id: str, keep_seconds: float) -> EventLog | None:
    """None: nothing is kept, since that is off or the graph has no threads."""
    if not keep_seconds or not isinstance(checkpointer, BaseCheckpointSaver):
        return None
    if hasattr(checkpointer, "events"):
        saver: DynamoDBSaver = checkpointer  # type: ignore[assignment]  # not imported: boto3 takes longer than a run without it
        if (events := saver.events(keep_seconds)) is not None:
            return TableLog(saver, events, saver.partition(thread_id), run_id)
    return LocalLog(_KEPT.setdefault(checkpointer, _Kept()), (thread_id, run_id), keep_seconds)


@dataclass(frozen=True, slots=True)
class TableLog:
    """In the table, written and read on the saver's threads."""

    saver: DynamoDBSaver
    events: EventTable
    pk: str
    run_id: str

    async def write(self, batch: Batch) -> None:
        with uncounted():
            await self.saver.in_thread(self.events.write, self.pk, self.run_id, batch)

    async def read(self, after: int = 0) -> Kept:
        try:
            with uncounted():
                return await self.saver.in_thread(self.events.read, self.pk, self.run_id, after)
        except TableMissing:
            return Kept(())  # nor could anything be written: the log of each run says so

    async def last(self) -> Last:
        with uncounted():
            return await self.saver.in_thread(self.events.last, self.pk, self.run_id)


@dataclass(slots=True)
class _Kept:
    """By thread and run; the run that was written to last is at the end."""

    runs: OrderedDict[tuple[str, str], list[tuple[float, Batch]]] = field(default_factory=OrderedDict)
    size: int = 0


_KEPT: WeakKeyDictionary[BaseCheckpointSaver[Any], _Kept] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class LocalLog:
    """In this process, where the threads of this checkpointer are."""

    kept: _Kept
    key: tuple[str, str]
    keep_seconds: float

    async def write(self, batch: Batch) -> None:
        kept, until = self.kept, monotonic() + self.keep_seconds
        kept.runs.setdefault(self.key, []).append((until, batch))
        kept.runs.move_to_end(self.key)
        kept.size += len(batch.frames)
        while kept.size > MOST_LOCAL_BYTES and len(kept.runs) > 1:
            _key, oldest = kept.runs.popitem(last=False)
            kept.size -= sum(len(gone.frames) for _, gone in oldest)

    async def read(self, after: int = 0) -> Kept:
        entries = self.kept.runs.get(self.key, [])
        living = [batch for until, batch in entries if until > monotonic()]
        return Kept([batch for batch in living if batch.last > after], expired=len(living) < len(entries))

    async def last(self) -> Last:
        batches = (batch for _, batch in self.kept.runs.get(self.key, ()))
        return max((Last(batch.last, batch.ends) for batch in batches), default=Last())


def forget_thread(checkpointer: BaseCheckpointSaver[Any], thread_id: str) -> None:
    """What this process keeps of a thread that is deleted."""
    if (kept := _KEPT.get(checkpointer)) is not None:
        for key in [key for key in kept.runs if key[0] == thread_id]:
            kept.size -= sum(len(batch.frames) for _, batch in kept.runs.pop(key))
