"""Writes of the checkpointer: every payload before what points to it, one call for a checkpoint, one for a task's writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.serde.base import SerializerProtocol

from functions.store import keys, writes
from functions.store.errors import error_code
from functions.store.expiry import expiring
from functions.store.payloads import Packed, Payloads, pack
from functions.store.segments import Segments, attribute
from functions.store.table import Item, Table


@dataclass(frozen=True, slots=True)
class Writer:
    """Stores one saver's checkpoints and pending writes."""

    table: Table
    payloads: Payloads
    segments: Segments
    serde: SerializerProtocol
    ttl_seconds: int | None

    def checkpoint(self, address: keys.Address, checkpoint: Checkpoint, metadata: CheckpointMetadata) -> None:
        """`address` is the parent's; the checkpoint brings its own id."""
        checkpoint_id = checkpoint["id"]
        expiry = expiring(address.pk, self.ttl_seconds)
        deltas = metadata.get("counters_since_delta_snapshot") or ()
        left, named = self.segments.cut(self.serde, address, checkpoint, deltas, expiry)
        packed = {"rest" if named else "state": pack(self.serde, left), "meta": pack(self.serde, metadata)}
        cells = self.payloads.cells(address, checkpoint_id, packed, expiry)
        self.table.put(
            {
                "pk": {"S": address.pk},
                "sk": {"S": keys.checkpoint_key(address.namespace, checkpoint_id, address.epoch)},
                **cells,
                **attribute(named),
                **_text("parent", address.checkpoint_id),
                **_text("run", metadata.get("run_id")),
                **_hashed_ids(address, checkpoint_id),
                **expiry,
            }
        )

    def pending(self, address: keys.Address, pending: Sequence[tuple[str, Any]], task_id: str, task_path: str) -> None:
        for number, slots in writes.buckets(pending).items():
            self._bucket(address, number, slots, task_id, task_path)

    def _bucket(self, address: keys.Address, number: int, slots: dict[str, tuple[str, Any]], task_id: str, task_path: str) -> None:
        packed = {name: pack(self.serde, value) for name, (_, value) in slots.items()}
        labels = {name: (channel, task_path) for name, (channel, _) in slots.items()}
        try:
            self._fill(address, number, packed, labels, task_id, writes.INLINE_BYTES)
        except ClientError as error:
            if not _item_too_large(error):
                raise
            # The item held writes already: everything new moves out of it.
            self._fill(address, number, packed, labels, task_id, 0)

    def _fill(
        self, address: keys.Address, number: int, packed: dict[str, Packed], labels: dict[str, tuple[str, str]], task_id: str, limit: int
    ) -> None:
        checkpoint_id = address.checkpoint_id or ""
        expiry = expiring(address.pk, self.ttl_seconds)
        cells = self.payloads.cells(address, checkpoint_id, packed, expiry, limit)
        labelled = {name: writes.labelled(cell, *labels[name]) for name, cell in cells.items()}
        sort_key = keys.writes_key(address.namespace, checkpoint_id, task_id, number, address.epoch)
        self.table.update(address.pk, sort_key, **writes.update(task_id, labelled, expiry))


def _text(name: str, value: object) -> Item:
    return {name: {"S": value}} if isinstance(value, str) else {}


def _hashed_ids(address: keys.Address, checkpoint_id: str) -> Item:
    """Ids that the key holds only as a hash."""
    namespace, _epoch, own_id = keys.place(keys.checkpoint_key(address.namespace, checkpoint_id))
    found: Item = {}
    if keys.thread_of(address.pk) is None:
        found |= _text("id_thread", address.thread_id)
    if namespace is None:
        found |= _text("id_namespace", address.namespace)
    if own_id is None:
        found |= _text("id_checkpoint", checkpoint_id)
    return found


def _item_too_large(error: ClientError) -> bool:
    return error_code(error) == "ValidationException" and "size" in error.response.get("Error", {}).get("Message", "").lower()
