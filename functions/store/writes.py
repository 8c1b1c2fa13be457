"""The pending writes of a task: one item for its first fifty slots, one more for every further fifty.

A write's slot is its position in the list (`w0`, `w1` …), or its own for an error, a schedule, an interrupt and a resume (`s1` … `s4`, by
`WRITES_IDX_MAP`). In one UpdateItem a regular slot keeps what it holds and a special one is overwritten. Items are filled from the last
to the first and a task without its first item is not read, so its writes are whole or absent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langgraph.checkpoint.base import WRITES_IDX_MAP, writes_sort_key

from functions.store import keys
from functions.store.table import Item

# An update expression holds 4 KB and 300 operators, about 150 slots; moto's parser takes a second for 100 of them, 0.1 s for 50.
SLOTS_PER_ITEM = 50
# Well under the 400 KB of an item: the same task may add further writes to it.
INLINE_BYTES = 128_000
_SLOT_LETTERS = {"w": 1, "s": -1}


class Slot(NamedTuple):
    """One write as it lies in an item. `cell` carries the channel in `c` and the task's path in `p`."""

    task_id: str
    position: int
    cell: Item
    epoch: int = 0

    @property
    def channel(self) -> str:
        channel: str = self.cell["M"]["c"]["S"]
        return channel

    @property
    def order(self) -> tuple[str, str, int]:
        return writes_sort_key(self.cell["M"].get("p", {}).get("S", ""), self.task_id, self.position)


def buckets(writes: Sequence[tuple[str, Any]]) -> dict[int, dict[str, tuple[str, Any]]]:
    """Bucket number → slot name → (channel, value), the first bucket last. Of two writes in a special slot the later one counts."""
    found: defaultdict[int, dict[str, tuple[str, Any]]] = defaultdict(dict)
    for position, (channel, value) in enumerate(writes):
        index = WRITES_IDX_MAP.get(channel, position)
        name = f"w{index}" if index >= 0 else f"s{-index}"
        found[max(index, 0) // SLOTS_PER_ITEM][name] = (channel, value)
    return {number: found[number] for number in sorted(found, reverse=True)}


def is_first(sort_key: str) -> bool:
    """Of an item of writes: of its task's; a key of another kind is as good."""
    return not sort_key.startswith("w!") or sort_key.endswith("!00000")


def update(task_id: str, cells: Mapping[str, Item], expiry: Item) -> dict[str, Any]:
    """UpdateItem's arguments that fill the slots."""
    settings = [f"{name} = :{name}" if name.startswith("s") else f"{name} = if_not_exists({name}, :{name})" for name in cells]
    values: Item = {f":{name}": cell for name, cell in cells.items()} | {":tid": {"S": task_id}}
    settings.append("tid = :tid")
    for name, value in expiry.items():
        settings.append(f"{name} = :{name}")
        values[f":{name}"] = value
    return {"UpdateExpression": "SET " + ", ".join(settings), "ExpressionAttributeValues": values}


def labelled(cell: Item, channel: str, task_path: str) -> Item:
    path: Item = {"p": {"S": task_path}} if task_path else {}
    return {"M": {**cell["M"], "c": {"S": channel}, **path}}


def slots(items: Iterable[Item]) -> list[Slot]:
    """All writes of one checkpoint's items, in the order live execution applies them."""
    by_task: defaultdict[tuple[str, int], list[Item]] = defaultdict(list)
    for item in items:
        by_task[item["tid"]["S"], keys.place(item["sk"]["S"]).epoch].append(item)
    whole = [(task, item) for task, found in by_task.items() for item in _whole(found)]
    found = [slot for (task_id, epoch), item in whole for slot in _slots(task_id, epoch, item)]
    return sorted(_by_epoch(found) if any(slot.epoch for slot in found) else found, key=lambda slot: slot.order)


def _by_epoch(found: Iterable[Slot]) -> list[Slot]:
    """One write a slot, where several epochs have filled it: the first of a regular one, the last of a special one."""
    kept: dict[tuple[str, int], Slot] = {}
    for slot in sorted(found, key=lambda slot: slot.epoch):
        if slot.position < 0 or (slot.task_id, slot.position) not in kept:
            kept[slot.task_id, slot.position] = slot
    return list(kept.values())


def _whole(items: Sequence[Item]) -> list[Item]:
    """Without a list that was cut off. Its first item is stored last; that one alone can also hold just the error of a later attempt."""
    first = [item for item in items if int(item["sk"]["S"].rpartition("!")[2]) == 0]
    whole = any(name[0] == "w" and name[1:].isdigit() for item in first for name in item)
    return list(items) if whole else first


def _slots(task_id: str, epoch: int, item: Item) -> Iterator[Slot]:
    for name, cell in item.items():
        sign = _SLOT_LETTERS.get(name[0])
        if sign and name[1:].isdigit():
            yield Slot(task_id, sign * int(name[1:]), cell, epoch)
