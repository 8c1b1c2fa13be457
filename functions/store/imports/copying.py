"""One thread: what of it is new, and the copy. Writes before their checkpoint and the oldest first, so that a crash leaves the thread as it
once was, and never half of a checkpoint."""

from __future__ import annotations

import copy
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.serde.types import INTERRUPT, RESUME

from functions.store.checkpoints import DynamoDBSaver
from functions.store.imports.contents import Sealing
from functions.store.imports.foreign import Header, Sealed
from functions.store.imports.reading import SourceReader, Task, Whole

WENT_ON = "it went on in this table"
_ORPHAN = "checkpoint whose payload was never stored"
_UNREADABLE = "checkpoint that is rebuilt from others which have expired"
_LOST = "task with a write whose value was never stored"

Slots = Mapping[tuple[str, str], list[Any]]
"""(task, channel) → values."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What came of one thread. `left_out`: what is not whole there; `skipped`: why nothing was copied; `failed`: to be mended."""

    thread_id: str
    checkpoints: int = 0
    writes: int = 0
    left_out: tuple[str, ...] = ()
    skipped: str = ""
    failed: bool = False


@dataclass(slots=True)
class ThreadCopy:
    """One thread on its way to `saver`, a view of its owner's threads."""

    reader: SourceReader
    saver: DynamoDBSaver
    dry_run: bool
    _count: Counter[str] = field(default_factory=Counter)
    _lacks: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    """Checkpoint → its delta channels that cannot be rebuilt."""

    def run(self, thread_id: str) -> Copied:
        """Raises `SourceError` for what cannot be read, else `StoreError`."""
        headers = self.reader.source.headers(thread_id)
        if not headers:
            return Copied(thread_id, skipped="there is no such thread, or all of it has expired", failed=True)
        there = self._there(thread_id)
        late = None if _has_newer(headers, there) else self._late([header for header in headers if header.key in there], there)
        if late is None:
            return Copied(thread_id, skipped=WENT_ON)
        self._put_writes(late)
        self._copy([header for header in headers if header.key not in there])
        left_out = tuple(f"{self._count[reason]} × {reason}" for reason in (_ORPHAN, _UNREADABLE, _LOST) if self._count[reason])
        if not there and not self._count["checkpoints"]:
            return Copied(thread_id, left_out=left_out, skipped="none of its checkpoints is whole", failed=True)
        return Copied(thread_id, self._count["checkpoints"], self._count["writes"], left_out)

    # what is there

    def _there(self, thread_id: str) -> dict[tuple[str, str], Slots]:
        found: dict[tuple[str, str], Slots] = {}
        for saved in self._saver("msgpack").list({"configurable": {"thread_id": thread_id}}):
            ids = saved.config["configurable"]
            found[ids["checkpoint_ns"], ids["checkpoint_id"]] = self._slots(saved.pending_writes or ())
        return found

    def _slots(self, writes: Sequence[tuple[str, str, Sealed]]) -> Slots:
        found: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
        for task_id, channel, value in writes:
            found[task_id, channel].append(self.reader.contents.plain(value))
        return found

    def _late(self, known: Sequence[Header], there: Mapping[tuple[str, str], Slots]) -> list[Task] | None:
        """What was added to checkpoints that were copied before; None if our table has an answer or a write that is not from there."""
        self._lacks.update((header.key, frozenset()) for header in known)
        late: list[Task] = []
        for pending in self.reader.pending(known):
            ours = there[pending.header.key]
            theirs = {task.task_id: self._slots([(task.task_id, *write) for write in task.writes]) for task in pending.tasks}
            if any(not _from_there(slot, values, theirs.get(slot[0], {})) for slot, values in ours.items()):
                return None
            late += [task for task in pending.tasks if any(ours.get(slot) != values for slot, values in theirs[task.task_id].items())]
        return late

    # the copy

    def _copy(self, headers: Sequence[Header]) -> None:
        for batch in self.reader.whole(headers):
            self._count[_ORPHAN] += batch.count(None)
            readable = [found for found in batch if found is not None and self._can_be_rebuilt(found)]
            self._count[_LOST] += sum(found.pending.lost for found in readable)
            self._put_writes([task for found in readable for task in found.pending.tasks])
            for found in readable:
                self._put(found)

    def _can_be_rebuilt(self, found: Whole) -> bool:
        """A delta channel needs the ancestors down to one that has its value."""
        header = found.header
        wanted = frozenset(found.metadata.get("counters_since_delta_snapshot") or ()) - found.state["channel_values"].keys()
        # without a parent the channel begins here; a parent that is not there lacks all
        above: frozenset[str] = frozenset() if header.parent is None else self._lacks.get((header.namespace, header.parent), wanted)
        self._lacks[header.key] = lacks = wanted & above
        self._count[_UNREADABLE] += bool(lacks)
        return not lacks

    def _put_writes(self, tasks: Sequence[Task]) -> None:
        self._count["writes"] += sum(len(task.writes) for task in tasks)
        if not self.dry_run:
            saver = self._saver("msgpack")
            self.reader.calls.each(
                lambda task: saver.put_writes(_config(task.header, task.header.checkpoint_id), task.writes, task.task_id, task.path), tasks
            )

    def _put(self, found: Whole) -> None:
        self._count["checkpoints"] += 1
        if not self.dry_run:
            at = _config(found.header, found.header.parent)
            versions = found.state.get("channel_versions", {})
            self._saver(found.kind).put(at, cast(Checkpoint, found.state), cast(CheckpointMetadata, found.metadata), versions)

    def _saver(self, kind: str) -> DynamoDBSaver:
        """As `with_allowlist` does it: the saver makes its parts for each call from the `serde` that it has then."""
        view = copy.copy(self.saver)
        view.serde = Sealing(self.reader.contents, kind)
        return view


def _config(header: Header, checkpoint_id: str | None) -> RunnableConfig:
    ids = {"thread_id": header.thread_id, "checkpoint_ns": header.namespace, "checkpoint_id": checkpoint_id}
    return {"configurable": {name: value for name, value in ids.items() if value is not None}}


def _has_newer(headers: Sequence[Header], there: Collection[tuple[str, str]]) -> bool:
    """Whether our table has a checkpoint of its own. What is older than the newest that both have is only gone from the source."""
    theirs = {header.key for header in headers}
    newest = max((header.checkpoint_id for header in headers if header.key in there), default="")
    return any(key not in theirs and key[1] > newest for key in there)


def _from_there(slot: tuple[str, str], values: list[Any], theirs: Slots) -> bool:
    """Whether a write of ours can be one that was copied. `theirs`: of the same task."""
    if slot[1] == INTERRUPT and slot not in theirs:
        return bool(theirs)  # langgraph-checkpoint-dynamodb overwrites a question by what comes after it
    return slot in theirs and (slot[1] != RESUME or values == theirs[slot])
