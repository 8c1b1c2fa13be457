"""Long lists of a state in segments that are stored once, and shared by all checkpoints that hold them: a history grows at its end.

    s!<digest>     b, t, z: a cell (`functions.store.payloads`), the elements of one segment; at: when it was stored, in epoch seconds

A list is cut from its front into segments of equal length. What is left of it stays in the checkpoint, whose `segs` names the segments. A
segment's name is the digest of its bytes, so that equal ones are one; hence only LangGraph's own serializer, which writes equal values
alike, is served: encrypted bytes are never the same twice.

What the parent of a checkpoint names is there, and is not stored again; nor what the ancestor names that a delta channel is rebuilt from.
Segments that no checkpoint names any more go with their thread, or when it is pruned.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from functions.store import keys
from functions.store.errors import PayloadMissing
from functions.store.expiry import now
from functions.store.payloads import Packed, compressed, opened
from functions.store.table import Item, Table

ELEMENTS = 32
"""Of a segment; twice as many, and again, where a list would have more than `MOST` segments."""
MOST = 400
SMALLEST, LARGEST = 1_024, 256 * 1_024
"""Serialised bytes of a segment: a smaller one is not worth an item of its own, a larger one might not fit into it."""
REMEMBERED = 1_000
"""Checkpoints whose segments a saver keeps in mind."""
REMEMBERED_BYTES = 16 * 1024 * 1024
"""Of segments that a saver keeps in mind."""

Named = Mapping[str, Sequence[str]]
"""Channel → digests of its segments, from the front."""


@dataclass(frozen=True, slots=True)
class Segments:
    """Of one saver's threads. `table`: as it is, without what a run remembers of it."""

    table: Table
    known: Known

    def cut(
        self, serde: SerializerProtocol, parent: keys.Address, checkpoint: Checkpoint, deltas: Collection[str], expiry: Item
    ) -> tuple[Checkpoint, Named]:
        """Stores the new segments of a checkpoint's long lists → the checkpoint with what is left of them, and their segments.

        `deltas`: the channels that are rebuilt from an ancestor, whose segments must be there for that. Any other channel that the
        checkpoint does not hold names nothing any more.
        """
        if type(serde) is not JsonPlusSerializer:
            return checkpoint, {}
        values, left = checkpoint["channel_values"], dict[str, Any]()
        found: dict[str, dict[str, Packed]] = {}
        for channel, value in values.items():
            elements = _list_of(value) or []
            if cut := _segments(serde, elements):
                found[channel] = cut
                left[channel] = _with(value, elements[_length(len(elements)) * len(cut) :])
        there = self.known.of(parent)
        self._store(parent, {digest: packed for cut in found.values() for digest, packed in cut.items()}, there, expiry)
        named = {channel: tuple(cut) for channel, cut in found.items()}
        kept = {channel: digests for channel, digests in there.items() if channel in deltas and channel not in values}
        self.known.names(parent._replace(checkpoint_id=checkpoint["id"]), {**kept, **named})
        return cast(Checkpoint, {**checkpoint, "channel_values": {**values, **left}}) if named else checkpoint, named

    def _store(self, parent: keys.Address, segments: Mapping[str, Packed], there: Named, expiry: Item) -> None:
        old = {digest for digests in there.values() for digest in digests}
        stored_at: Item = {"at": {"N": str(int(now()))}}
        new = {digest: compressed(packed) for digest, packed in segments.items() if digest not in old}
        self.table.put_many(
            {"pk": {"S": parent.pk}, "sk": {"S": keys.segment_key(digest)}, **packed.inline["M"], **stored_at, **expiry}
            for digest, packed in new.items()
        )
        self.known.content(parent.pk, new)

    def join(self, serde: SerializerProtocol, at: keys.Address, checkpoint: Checkpoint, named: Named) -> Checkpoint:
        """The checkpoint with its lists whole. `at` is its own address. Raises `PayloadMissing`."""
        wanted = list(dict.fromkeys(digest for digests in named.values() for digest in digests))
        packed = self._load(at, wanted)
        self.known.names(at, named)
        values = dict(checkpoint["channel_values"])
        for channel, digests in named.items():
            front = [element for digest in digests for element in opened(serde, packed[digest])]
            values[channel] = _with(values[channel], [*front, *(_list_of(values[channel]) or ())])
        return cast(Checkpoint, {**checkpoint, "channel_values": values})

    def _load(self, at: keys.Address, wanted: Sequence[str]) -> dict[str, Packed]:
        found = self.known.contents(at.pk, wanted)
        missing = [digest for digest in wanted if digest not in found]
        items = self.table.get_many(at.pk, [keys.segment_key(digest) for digest in missing])
        read = {digest: _packed(items[key]) for digest in missing if (key := keys.segment_key(digest)) in items}
        if len(read) < len(missing):
            raise PayloadMissing(
                f"Checkpoint {at.checkpoint_id} of thread {at.thread_id!r} is not readable: {len(missing) - len(read)} of "
                f"{len(wanted)} segments missing in table {self.table.name!r}. Continue from an earlier checkpoint."
            )
        self.known.content(at.pk, read)
        return found | read


class Known:
    """What a process has seen: which segments a checkpoint names, and the bytes of segments. Both stay as they are once stored."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._named: OrderedDict[tuple[str, str, str | None], Named] = OrderedDict()
        self._contents: OrderedDict[tuple[str, str], Packed] = OrderedDict()
        self._bytes = 0

    def names(self, at: keys.Address, named: Named) -> None:
        """A checkpoint names these, or is rebuilt from one that does."""
        own = at.pk, at.namespace, at.checkpoint_id
        with self._lock:
            if named:
                self._named[own] = {**self._named.get(own, {}), **named}
                self._named.move_to_end(own)
            while len(self._named) > REMEMBERED:
                self._named.popitem(last=False)

    def of(self, at: keys.Address) -> Named:
        """Those of a checkpoint; none, if that is not known."""
        with self._lock:
            return self._named.get((at.pk, at.namespace, at.checkpoint_id), {})

    def content(self, pk: str, segments: Mapping[str, Packed]) -> None:
        with self._lock:
            for digest, packed in segments.items():
                if (pk, digest) not in self._contents:
                    self._contents[pk, digest] = packed
                    self._bytes += len(packed.data)
            while self._bytes > REMEMBERED_BYTES:
                self._bytes -= len(self._contents.popitem(last=False)[1].data)

    def contents(self, pk: str, digests: Iterable[str]) -> dict[str, Packed]:
        with self._lock:
            found = {digest: self._contents[pk, digest] for digest in digests if (pk, digest) in self._contents}
            for digest in found:
                self._contents.move_to_end((pk, digest))
            return found

    def forget(self, pk: str) -> None:
        """The thread was deleted."""
        with self._lock:
            for own in [own for own in self._named if own[0] == pk]:
                del self._named[own]
            for key in [key for key in self._contents if key[0] == pk]:
                self._bytes -= len(self._contents.pop(key).data)


def attribute(named: Named) -> Item:
    """`segs` of a checkpoint's item; none without segments."""
    return {"segs": {"S": json.dumps(named, separators=(",", ":"))}} if named else {}


def named_by(item: Item) -> Named:
    """What `attribute` made."""
    return cast(Named, json.loads(item["segs"]["S"])) if "segs" in item else {}


def _segments(serde: SerializerProtocol, elements: list[Any]) -> dict[str, Packed]:
    """Digest → the segment, from the front, as far as the list can be cut."""
    found: dict[str, Packed] = {}
    length = _length(len(elements))
    for start in range(0, len(elements) - length + 1, length):
        kind, data = serde.dumps_typed(elements[start : start + length])
        digest = _digest(kind, data)
        if not SMALLEST <= len(data) <= LARGEST or digest in found:
            break
        found[digest] = Packed(kind, data, False)
    return found


def _length(elements: int) -> int:
    length = ELEMENTS
    while elements > length * MOST:
        length *= 2
    return length


def _digest(kind: str, data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(kind.encode() + b"!" + data).digest()[:18]).decode()


def _list_of(value: Any) -> list[Any] | None:
    inner = value.value if isinstance(value, _DeltaSnapshot) else value
    return inner if type(inner) is list else None


def _with(value: Any, elements: list[Any]) -> Any:
    return _DeltaSnapshot(elements) if isinstance(value, _DeltaSnapshot) else elements


def _packed(item: Item) -> Packed:
    return Packed(item["t"]["S"], item["b"]["B"], "z" in item)
