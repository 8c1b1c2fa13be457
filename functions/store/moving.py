"""Items of a thread under other keys: in another thread, or in another epoch."""

from __future__ import annotations

from dataclasses import dataclass

from functions.store import keys
from functions.store.payloads import Objects
from functions.store.table import Item


@dataclass(frozen=True, slots=True)
class Move:
    """To a thread and an epoch. `objects`: what lies in S3 is copied too, so that either item can be deleted without the other."""

    pk: str
    thread_id: str
    epoch: int
    objects: Objects | None

    def __call__(self, item: Item) -> Item:
        moved = {name: value for name, value in item.items() if name != "id_thread"}
        sort_key = item["sk"]["S"]
        moved |= {"pk": {"S": self.pk}, "sk": {"S": sort_key if keys.is_segment(sort_key) else keys.in_epoch(sort_key, self.epoch)}}
        if keys.thread_of(self.pk) is None:
            moved["id_thread"] = {"S": self.thread_id}
        for name, value in moved.items():
            if self.objects and "o" in value.get("M", {}):
                moved[name] = {"M": {**value["M"], "o": {"S": self.objects.copy(value["M"]["o"]["S"], self.pk)}}}
        return moved
