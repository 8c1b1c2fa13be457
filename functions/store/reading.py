"""Reads of the checkpointer: consistent, all pages, nothing that has expired."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from langgraph.checkpoint.base import CheckpointTuple, PendingWrite
from langgraph.checkpoint.serde.base import SerializerProtocol

from functions.store import keys
from functions.store.expiry import alive
from functions.store.payloads import Payloads
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
        return keys.writes_prefix(self.address.namespace, self.checkpoint_id)

    @property
    def parent(self) -> str | None:
        parent: str | None = self.item.get("parent", {}).get("S")
        return parent


def record(item: Item) -> Record:
    pk: str = item["pk"]["S"]
    namespace, checkpoint_id = keys.parts(item["sk"]["S"])
    ids = {
        "thread": keys.thread_of(pk) if "id_thread" not in item else item["id_thread"]["S"],
        "namespace": namespace if "id_namespace" not in item else item["id_namespace"]["S"],
        "checkpoint": checkpoint_id if "id_checkpoint" not in item else item["id_checkpoint"]["S"],
    }
    own_id = str(ids["checkpoint"])
    return Record(keys.Address(pk, str(ids["thread"]), str(ids["namespace"]), own_id), own_id, item)


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads one saver's checkpoints."""

    table: Table
    payloads: Payloads
    serde: SerializerProtocol

    def latest(self, address: keys.Address) -> Record | None:
        for page in self.newest_first(address, None, Limit=1):
            if page:
                return page[0]
        return None

    def get(self, address: keys.Address) -> CheckpointTuple | None:
        """One checkpoint, or the latest of the namespace."""
        if address.checkpoint_id is None:
            found = self.latest(address)
            return self.tuples([found])[0] if found else None
        return self._exact(address, address.checkpoint_id)

    def _exact(self, address: keys.Address, checkpoint_id: str) -> CheckpointTuple | None:
        """Checkpoint and writes in two calls at once."""
        prefix = keys.writes_prefix(address.namespace, checkpoint_id)
        calls: list[Callable[[], list[Item]]] = [
            lambda: self._get(address.pk, keys.checkpoint_key(address.namespace, checkpoint_id)),
            lambda: self._all(address.pk, prefix, keys.after(prefix)),
        ]
        found, pending = self.table.calls.each(lambda call: call(), calls)
        return self._tuple(Record(address, checkpoint_id, found[0]), pending) if found else None

    def one(self, address: keys.Address, checkpoint_id: str) -> list[Record]:
        """The checkpoint without its writes; empty if there is none."""
        items = self._get(address.pk, keys.checkpoint_key(address.namespace, checkpoint_id))
        return [Record(address, checkpoint_id, item) for item in items]

    def _get(self, pk: str, sk: str) -> list[Item]:
        item = self.table.get(pk, sk)
        return alive([item]) if item else []

    def _all(self, pk: str, low: str, high: str) -> list[Item]:
        return [item for page in self.table.query(pk, low, high) for item in alive(page)]

    def newest_first(self, address: keys.Address, up_to: str | None, **options: Any) -> Iterator[list[Record]]:
        """Pages of a namespace, from the checkpoint `up_to` (included) or the latest."""
        low = keys.namespace_prefix("c", address.namespace)
        high = keys.after(low) if up_to is None else keys.checkpoint_key(address.namespace, up_to)
        for page in self.table.query(address.pk, low, high, ScanIndexForward=False, **options):
            yield [record(item) for item in alive(page)]

    # listing

    def in_namespace(self, address: keys.Address, before: str | None, limit: int | None) -> Iterator[list[Record]]:
        """`limit` saves reading; the caller still counts."""
        options = {} if limit is None else {"Limit": limit + 1}
        yield from self.newest_first(address, before, **options)

    def everywhere(self, principal: str, pk: str | None, wanted: Callable[[Record], bool], limit: int | None) -> Iterator[list[Record]]:
        """Over all namespaces of a thread, or all threads of a principal: the newest first, read as far as the caller goes."""
        found = [header for page in self._headers(principal, pk) for header in map(record, alive(page)) if wanted(header)]
        found = sorted(found, key=lambda header: header.checkpoint_id, reverse=True)[:limit]
        for start in range(0, len(found), LISTED_AT_ONCE):
            batch = found[start : start + LISTED_AT_ONCE]
            items = self.table.calls.each(lambda header: self._get(header.item["pk"]["S"], header.item["sk"]["S"]), batch)
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
        return [self._tuple(found, pending[found.address.pk, found.writes_prefix]) for found in records]

    def writes_of(self, records: Sequence[Record]) -> defaultdict[tuple[str, str], list[Item]]:
        """Items of pending writes by partition and `writes_prefix`."""
        groups: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for found in records:
            groups[found.address.pk, found.address.namespace].append(found.writes_prefix)
        pending: defaultdict[tuple[str, str], list[Item]] = defaultdict(list)
        for (pk, _), prefixes in groups.items():
            for item in self._all(pk, min(prefixes), keys.after(max(prefixes))):
                pending[pk, "!".join(item["sk"]["S"].split("!")[:3]) + "!"].append(item)
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
        return self.payloads.open(self.serde, found.address, found.checkpoint_id, found.item["state"])

    def pending_write(self, found: Record, slot: Slot) -> PendingWrite:
        return slot.task_id, slot.channel, self.payloads.open(self.serde, found.address, found.checkpoint_id, slot.cell)
