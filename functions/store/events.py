"""The events of runs, kept for a while: the frames of a stream as they were sent, in batches, so that any process can send them again.

    pk  <principal>!<thread>                              as in the checkpoints table
    sk  <run>!<first number>!<fence>!<part>
        frames (compressed), count, expires_at; of part 0 also parts, ends, and base: the checkpoint that the run began at

A batch is whole or absent: its part 0 is written last, and the others do not count without it. A run id may be used again; its numbers go
on then, and the fence of the lease tells whose they are: what a run that lost its thread still writes never mixes with its successor's.
No batch lies in S3: DynamoDB removes what has expired, of objects it knows nothing.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from functions.store import keys
from functions.store.expiry import alive, now
from functions.store.table import Item, Table

PART_BYTES = 350_000
"""Of compressed frames in one item, which DynamoDB allows 400 KB."""
MOST_FRAMES = 1_024
"""In one batch: so far back at most begins the batch that holds a given number."""
_EVERYTHING = ("!", "~")
_INPUT = "\x00"
"""In front of a run's id, which holds no control character."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Frames `first` to `last` of a run, one after the other as they were sent. `ends`: the last one is the run's terminal event. `base`:
    id of the checkpoint that the run began at, in its first batch."""

    first: int
    count: int
    fence: int
    frames: bytes
    ends: bool = False
    base: str = ""

    @property
    def last(self) -> int:
        return self.first + self.count - 1

    def after(self, number: int) -> bytes:
        """Its frames behind that number."""
        return self.frames if number < self.first else b"".join(split(self.frames)[number - self.first + 1 :])


def split(frames: bytes) -> list[bytes]:
    """Each ends in the only blank line that it has."""
    return [frame + b"\n\n" for frame in frames.split(b"\n\n")[:-1]]


@dataclass(frozen=True, slots=True)
class Kept:
    """What a table has of a run. `expired`: there was more, and its time is over."""

    batches: Sequence[Batch]
    expired: bool = False


class Last(NamedTuple):
    """The last event that is kept under a run's id, 0 where there is none. `ended`: it is known to be terminal."""

    number: int = 0
    ended: bool = True


@dataclass(frozen=True, slots=True)
class EventTable:
    """Batches of any number of runs. Raises `StoreError` with a remedy, else what botocore raises."""

    table: Table
    keep_seconds: float

    def write(self, pk: str, run_id: str, batch: Batch) -> None:
        """Again with the same batch: nothing changes."""
        packed = zlib.compress(batch.frames)
        pieces = [packed[start : start + PART_BYTES] for start in range(0, len(packed), PART_BYTES)] or [b""]
        shared: Item = {"pk": {"S": pk}, "count": _number(batch.count), "expires_at": _number(int(now() + self.keep_seconds))}
        items = [{**shared, "sk": {"S": _sort_key(run_id, batch, part)}, "frames": {"B": piece}} for part, piece in enumerate(pieces)]
        head = {**items[0], "parts": _number(len(pieces))}
        head |= {"ends": {"BOOL": True}} if batch.ends else {}
        head |= {"base": {"S": batch.base}} if batch.base else {}
        if len(items) > 1:
            self.table.put_many(items[1:])
        self.table.put(head)

    def read(self, pk: str, run_id: str, after: int = 0) -> Kept:
        """The batches with a frame behind that number, by number; of the same number the later lease's last."""
        low = f"{_prefix(run_id)}{max(0, after + 1 - MOST_FRAMES):010d}"
        found = [item for page in self.table.query(pk, low, keys.after(_prefix(run_id))) for item in page]
        living = alive(found)
        return Kept([batch for batch in _batches(living) if batch.last > after], expired=len(living) < len(found))

    def last(self, pk: str, run_id: str) -> Last:
        """Of all that was ever written for the run and is still there."""
        prefix = _prefix(run_id)
        newest = next(self.table.query(pk, prefix, keys.after(prefix), ScanIndexForward=False, Limit=1))
        if not newest:
            return Last()
        # of a batch with several parts it is not the one that says whether it ends
        return Last(int(newest[0]["sk"]["S"].split("!")[1]) + int(newest[0]["count"]["N"]) - 1, "ends" in newest[0])

    def keep_input(self, pk: str, run_id: str, hop: int, data: bytes) -> None:
        """What the invocation of that number needs to go on with the run, as a batch that no run id can reach."""
        self.write(pk, f"{_INPUT}{hop}{_INPUT}{run_id}", Batch(1, 1, 0, data))

    def input(self, pk: str, run_id: str, hop: int) -> bytes | None:
        """None: it was never kept, or its time is over."""
        kept = self.read(pk, f"{_INPUT}{hop}{_INPUT}{run_id}").batches
        return kept[0].frames if kept else None

    def delete_thread(self, pk: str) -> None:
        found = [item for page in self.table.query(pk, *_EVERYTHING, ProjectionExpression="pk, sk") for item in page]
        self.table.delete_many(found)


def _number(value: int) -> Item:
    return {"N": str(value)}


def _prefix(run_id: str) -> str:
    return f"{keys.encode(run_id, keys.LONGEST_ID)}!"


def _sort_key(run_id: str, batch: Batch, part: int) -> str:
    return f"{_prefix(run_id)}{batch.first:010d}!{batch.fence:010d}!{part:04d}"


def _batches(items: Iterable[Item]) -> list[Batch]:
    """Those whose every part is there."""
    parts: defaultdict[tuple[int, int], list[Item]] = defaultdict(list)
    for item in items:
        _run, first, fence, _part = item["sk"]["S"].split("!")
        parts[int(first), int(fence)].append(item)
    return [_batch(first, fence, found) for (first, fence), found in sorted(parts.items()) if _whole(found)]


def _whole(found: Sequence[Item]) -> bool:
    return "parts" in found[0] and len(found) == int(found[0]["parts"]["N"])


def _batch(first: int, fence: int, found: Sequence[Item]) -> Batch:
    head = found[0]
    frames = zlib.decompress(b"".join(item["frames"]["B"] for item in found))
    return Batch(first, int(head["count"]["N"]), fence, frames, "ends" in head, head.get("base", {}).get("S", ""))
