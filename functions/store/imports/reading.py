"""Checkpoints of a foreign table, read side by side with what belongs to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from langgraph.checkpoint.base import WRITES_IDX_MAP

from functions.store.clients import Calls
from functions.store.imports.contents import Contents, opened
from functions.store.imports.foreign import Header, Sealed, Source, Write

AT_ONCE = 25
"""Checkpoints that are in memory together."""


class Task(NamedTuple):
    """Pending writes of one task at one checkpoint, in the order of one call that stores them."""

    header: Header
    task_id: str
    path: str
    writes: tuple[tuple[str, Sealed], ...]


class Pending(NamedTuple):
    """All pending writes of one checkpoint. `lost`: tasks left out, because a write of theirs has no value."""

    header: Header
    tasks: tuple[Task, ...]
    lost: int


class Whole(NamedTuple):
    """A checkpoint and its writes. `kind`: what it was stored as."""

    header: Header
    state: dict[str, Any]
    metadata: dict[str, Any]
    kind: str
    pending: Pending


@dataclass(frozen=True, slots=True)
class SourceReader:
    """Reads one source, opened as far as `contents` opens it."""

    source: Source
    contents: Contents
    calls: Calls

    def pending(self, headers: Sequence[Header]) -> Iterator[Pending]:
        for batch in _batches(headers):
            yield from self.calls.each(self._pending, batch)

    def whole(self, headers: Sequence[Header]) -> Iterator[list[Whole | None]]:
        """Batches, in order; None where the payload was never stored."""
        for batch in _batches(headers):
            yield self.calls.each(self._whole, batch)

    def state(self, header: Header) -> tuple[dict[str, Any], dict[str, Any], str] | None:
        """(checkpoint, metadata, kind)."""
        payload = self.source.payload(header)
        return None if payload is None else (*opened(self.contents, payload), payload.state.kind)

    def _whole(self, header: Header) -> Whole | None:
        found = self.state(header)
        return None if found is None else Whole(header, *found, self._pending(header))

    def _pending(self, header: Header) -> Pending:
        by_task: defaultdict[str, list[Write]] = defaultdict(list)
        for write in self.source.writes(header):
            by_task[write.task_id].append(write)
        # with a part of its writes a task would count as done: without any it runs again
        kept = [self._task(header, found) for found in by_task.values() if all(write.value is not None for write in found)]
        return Pending(header, tuple(kept), len(by_task) - len(kept))

    def _task(self, header: Header, found: Sequence[Write]) -> Task:
        writes = tuple((write.channel, self.contents.carry(write.value)) for write in in_one_call(found) if write.value is not None)
        return Task(header, found[0].task_id, max(write.path for write in found), writes)


def in_one_call(found: Sequence[Write]) -> list[Write]:
    """The order in which each regular write lies at its position. Special channels have slots of their own: they fill the gaps."""
    special = [write for write in found if write.channel in WRITES_IDX_MAP]
    regular = {write.position: write for write in found if write.channel not in WRITES_IDX_MAP}
    ordered: list[Write] = []
    for position in range(max(regular, default=-1) + 1):
        if position in regular:
            ordered.append(regular[position])
        elif special:
            ordered.append(special.pop())
    return ordered + special


def _batches(headers: Sequence[Header]) -> Iterator[Sequence[Header]]:
    for start in range(0, len(headers), AT_ONCE):
        yield headers[start : start + AT_ONCE]
