"""Reads of the checkpointer: consistent, all pages, nothing that has expired."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from langgraph.checkpoint.base import CheckpointTuple, PendingWrite
from langgraph.checkpoint.serde.base import SerializerProtocol

from functions.store import keys
from functions.store.epochs import Current, Epochs, current
from functions.store.expiry import alive
from functions.store.payloads import Payloads
from functions.store.segments import Segments, named_by
from functions.store.table import Item, Table
from functions.store.writes import Slot, slots

HEADERS = "pk, sk, meta, expires_at, id_thread, id_namespace, id_checkpoint"
LISTED_AT_ONCE = 25


class Record(NamedTuple):
    """A checkpoint's item and the ids it goes by."""

    address: keys.Address
    checkpoint_id: str
    item: Item

    @property
    def writes_prefix(self) -> str:
        return keys.writes_prefix(self.address.namespace, self.checkpoint_id, self.address.epoch)

    @property
    def whose(self) -> tuple[str, str]:
        """Partition, and what the keys of all that belongs to this checkpoint share."""
        return self.address.pk, keys.whose(self.item["sk"]["S"])

    @property
    def parent(self) -> str | None:
        parent: str | None = self.item.get("parent", {}).get("S")
        return parent


def record(item: Item) -> Record:
    pk: str = item["pk"]["S"]
    namespace, epoch, checkpoint_id = keys.place(item["sk"]["S"])
    ids = {
        "thread": keys.thread_of(pk) if "id_thread" not in item else item["id_thread"]["S"],
        "namespace": namespace if "id_namespace" not in item else item["id_namespace"]["S"],
        "checkpoint": checkpoint_id if "id_checkpoint" not in item else item["id_checkpoint"]["S"],
    }
    own_id = str(ids["checkpoint"])
    return Record(keys.Address(pk, str(ids["thread"]), str(ids["namespace"]), own_id, epoch), own_id, item)


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads one saver's checkpoints."""

    table: Table
    payloads: Payloads
    segments: Segments
    serde: SerializerProtocol
    epochs: Epochs

    # one checkpoint

    def get(self, address: keys.Address) -> CheckpointTuple | None:
        """One checkpoint, or the latest of the namespace."""
        if address.checkpoint_id is not None:
            return self._exact(address, address.checkpoint_id)
        found = self.latest(address)
        return self.tuples([found])[0] if found else None

    def latest(self, address: keys.Address) -> Record | None:
        pages = self.newest_first(address, None, Limit=1)
        found = next((page[0] for page in pages if page), None)
        if address.namespace == "":
            self.epochs.see(address.pk, found.address.epoch if found else 0)
        return found

    def epoch(self, pk: str) -> int:
        """Of the thread: as seen before, or as the key of its newest checkpoint says."""
        known = self.epochs.of(pk)
        return self.look_up_epoch(pk) if known is None else known

    def epoch_now(self, pk: str) -> int:
        """Of the thread, for a read that does not begin with its newest checkpoint: another process may have raised it since."""
        return self.epoch(pk) if self.epochs.settled(pk) else self.look_up_epoch(pk)

    def look_up_epoch(self, pk: str) -> int:
        low = keys.namespace_prefix("c", "")
        pages = self.table.query(pk, low, keys.after(low), ScanIndexForward=False, Limit=1, ProjectionExpression="sk")
        newest = next((page[0] for page in pages if page), None)
        return self.epochs.see(pk, keys.place(newest["sk"]["S"]).epoch if newest else 0)

    def _exact(self, address: keys.Address, checkpoint_id: str) -> CheckpointTuple | None:
        """Checkpoint and writes in two calls at once; two more for every epoch that the thread has come through, and one that asks for it
        unless the thread is held."""
        known = self.epochs.of(address.pk) or 0
        at = [address._replace(epoch=number) for number in range(known, -1, -1)]
        reads: list[Callable[[keys.Address, str], list[Item]]] = [self._get, self._writes]
        calls: list[Callable[[], Any]] = [partial(read, place, checkpoint_id) for read in reads for place in at]
        calls.append(partial(self.epoch_now, address.pk))
        answers = self.table.calls.each(lambda call: call(), calls)
        if answers[-1] != known:
            return self._exact(address, checkpoint_id)
        for place, found in zip(at, answers, strict=False):
            if found:
                pending = answers[len(at) : len(at) + known - place.epoch + 1]
                return self._tuple(Record(place, checkpoint_id, found[0]), [item for items in pending for item in items])
        return None

    def one(self, address: keys.Address, checkpoint_id: str) -> list[Record]:
        """The checkpoint without its writes; empty if there is none."""
        for epoch in range(self.epoch_now(address.pk), -1, -1):
            at = address._replace(epoch=epoch)
            if items := self._get(at, checkpoint_id):
                return [Record(at, checkpoint_id, items[0])]
        return []

    def _get(self, at: keys.Address, checkpoint_id: str) -> list[Item]:
        return self._item(at.pk, keys.checkpoint_key(at.namespace, checkpoint_id, at.epoch))

    def _writes(self, at: keys.Address, checkpoint_id: str) -> list[Item]:
        prefix = keys.writes_prefix(at.namespace, checkpoint_id, at.epoch)
        return self._all(at.pk, prefix, keys.after(prefix))

    def _item(self, pk: str, sk: str) -> list[Item]:
        item = self.table.get(pk, sk)
        return alive([item]) if item else []

    def _all(self, pk: str, low: str, high: str) -> list[Item]:
        return [item for page in self.table.query(pk, low, high) for item in alive(page)]

    def newest_first(self, address: keys.Address, up_to: str | None, **options: Any) -> Iterator[list[Record]]:
        """Pages of a namespace, from the checkpoint `up_to` (included) or the latest. What came too late is left out."""
        low = keys.namespace_prefix("c", address.namespace)
        high = keys.after(low)
        if up_to is not None and self.epoch(address.pk) == 0:
            high = keys.checkpoint_key(address.namespace, up_to)
        gate, limit = Current(), keys.encode(up_to, keys.LONGEST_ID) if up_to is not None else None
        for page in self.table.query(address.pk, low, high, ScanIndexForward=False, **options):
            standing = [(item, keys.standing(item["sk"]["S"])) for item in alive(page)]
            passed = [(item, own_id) for item, (epoch, own_id) in standing if gate.passes(epoch, own_id)]
            yield [record(item) for item, own_id in passed if limit is None or own_id <= limit]

    # listing

    def in_namespace(self, address: keys.Address, before: str | None, limit: int | None) -> Iterator[list[Record]]:
        """`limit` saves reading; the caller still counts."""
        if before is not None:
            self.epoch_now(address.pk)
        options = {} if limit is None else {"Limit": limit + 1}
        yield from self.newest_first(address, before, **options)

    def everywhere(self, principal: str, pk: str | None, wanted: Callable[[Record], bool], limit: int | None) -> Iterator[list[Record]]:
        """Over all namespaces of a thread, or all threads of a principal: the newest first, read as far as the caller goes."""
        headers = current(item for page in self._headers(principal, pk) for item in alive(page))
        found = [header for header in map(record, headers) if wanted(header)]
        found = sorted(found, key=lambda header: header.checkpoint_id, reverse=True)[:limit]
        for start in range(0, len(found), LISTED_AT_ONCE):
            batch = found[start : start + LISTED_AT_ONCE]
            items = self.table.calls.each(lambda header: self._item(header.item["pk"]["S"], header.item["sk"]["S"]), batch)
            yield [record(item) for found_items in items for item in found_items]

    def _headers(self, principal: str, pk: str | None) -> Iterator[list[Item]]:
        if pk is not None:
            return self.table.query(pk, "c!", keys.after("c!"), ProjectionExpression=HEADERS)
        return self.table.scan(
            FilterExpression="begins_with(pk, :principal) AND begins_with(sk, :kind)",
            ExpressionAttributeValues={":principal": {"S": keys.principal_prefix(principal)}, ":kind": {"S": "c!"}},
            ProjectionExpression=HEADERS,
        )

    def metadata(self, found: Record) -> dict[str, Any]:
        metadata: dict[str, Any] = self.payloads.open(self.serde, found.address, found.checkpoint_id, found.item["meta"])
        return metadata

    # tuples

    def tuples(self, records: Sequence[Record]) -> list[CheckpointTuple]:
        """With their pending writes, which cost one query per thread and namespace."""
        pending = self.writes_of(records)
        return [self._tuple(found, pending[found.whose]) for found in records]

    def writes_of(self, records: Sequence[Record]) -> defaultdict[tuple[str, str], list[Item]]:
        """Items of pending writes by `Record.whose`. A checkpoint of an earlier epoch can have been written to in a later one."""
        groups: defaultdict[tuple[str, str], list[Record]] = defaultdict(list)
        for found in records:
            groups[found.address.pk, found.address.namespace].append(found)
        pending: defaultdict[tuple[str, str], list[Item]] = defaultdict(list)
        for (pk, _), group in groups.items():
            since = {found.whose: found.address.epoch for found in group}
            epoch = max(self.epochs.of(pk) or 0, *since.values())
            high = max(keys.in_epoch(found.writes_prefix, epoch) for found in group)
            for item in self._all(pk, min(found.writes_prefix for found in group), keys.after(high)):
                owner = (pk, keys.whose(item["sk"]["S"]))
                if keys.place(item["sk"]["S"]).epoch >= since.get(owner, epoch + 1):
                    pending[owner].append(item)
        return pending

    def _tuple(self, found: Record, writes: Sequence[Item]) -> CheckpointTuple:
        address = found.address
        return CheckpointTuple(
            config=address.config(found.checkpoint_id),
            checkpoint=self.state(found),
            metadata=self.metadata(found),  # type: ignore[arg-type]  # what was put
            parent_config=address.config(found.parent) if found.parent else None,
            pending_writes=[self.pending_write(found, slot) for slot in slots(writes)],
        )

    def state(self, found: Record) -> Any:
        """The checkpoint itself. One with segments has them under another name, so that no reader takes what is left for the whole."""
        named = named_by(found.item)
        left = self.payloads.open(self.serde, found.address, found.checkpoint_id, found.item["rest" if named else "state"])
        return self.segments.join(self.serde, found.address, left, named) if named else left

    def pending_write(self, found: Record, slot: Slot) -> PendingWrite:
        at = found.address._replace(epoch=slot.epoch)
        return slot.task_id, slot.channel, self.payloads.open(self.serde, at, found.checkpoint_id, slot.cell)
