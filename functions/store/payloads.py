"""Serialised values as cells of an item: compressed, and moved out of the item when it would grow over 350 KB.

A cell is a map: `t` the serializer's type, `z` true if compressed, and where the bytes are: `b` here, `o` an S3 key, or `k` and `n`, the
token and number of chunks in the table. What a cell points to is always stored before the cell.
"""

from __future__ import annotations

import hashlib
import uuid
import zlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from langgraph.checkpoint.serde.base import SerializerProtocol

from functions.store import keys
from functions.store.errors import PayloadMissing, StoreError, explained
from functions.store.table import Item, Table

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

INLINE_BYTES = 350_000
CHUNK_BYTES = 380_000
WORTH_COMPRESSING = 400
OBJECTS_PER_DELETE = 1_000


@dataclass(frozen=True, slots=True)
class Packed:
    """One serialised value."""

    kind: str
    data: bytes
    compressed: bool

    def cell(self, **where: Any) -> Item:
        content: Item = {"t": {"S": self.kind}, **where}
        if self.compressed:
            content["z"] = {"BOOL": True}
        return {"M": content}

    @property
    def inline(self) -> Item:
        return self.cell(b={"B": self.data})


def pack(serde: SerializerProtocol, value: Any) -> Packed:
    kind, data = serde.dumps_typed(value)
    return compressed(Packed(kind, data, False))


def compressed(packed: Packed) -> Packed:
    """Smaller, where that is worth it."""
    if len(packed.data) >= WORTH_COMPRESSING:
        smaller = zlib.compress(packed.data)
        if len(smaller) < 0.9 * len(packed.data):
            return Packed(packed.kind, smaller, True)
    return packed


def opened(serde: SerializerProtocol, packed: Packed) -> Any:
    return serde.loads_typed((packed.kind, zlib.decompress(packed.data) if packed.compressed else packed.data))


def too_large(packed: Mapping[str, Packed], limit: int = INLINE_BYTES) -> list[str]:
    """Names of the values to move out, largest first, until the rest fits `limit` bytes."""
    total = sum(len(value.data) for value in packed.values())
    out: list[str] = []
    for name in sorted(packed, key=lambda name: -len(packed[name].data)):
        if total <= limit:
            break
        out.append(name)
        total -= len(packed[name].data)
    return out


class Warehouse(Protocol):
    """Holds bytes outside of an item."""

    def store(self, address: keys.Address, checkpoint_id: str, packed: Packed, expiry: Item) -> Item:
        """Returns the cell that points to them."""
        ...


@dataclass(frozen=True, slots=True)
class Chunks:
    """In the table, next to the items that point to them."""

    table: Table

    def store(self, address: keys.Address, checkpoint_id: str, packed: Packed, expiry: Item) -> Item:
        token = uuid.uuid4().hex
        prefix = f"{keys.chunks_prefix(address.namespace, checkpoint_id, address.epoch)}{token}!"
        pieces = [packed.data[start : start + CHUNK_BYTES] for start in range(0, len(packed.data), CHUNK_BYTES)]
        self.table.put_many(
            {"pk": {"S": address.pk}, "sk": {"S": f"{prefix}{number:05d}"}, "b": {"B": piece}, **expiry}
            for number, piece in enumerate(pieces)
        )
        return packed.cell(k={"S": token}, n={"N": str(len(pieces))})

    def load(self, address: keys.Address, checkpoint_id: str, token: str, count: int) -> bytes:
        prefix = f"{keys.chunks_prefix(address.namespace, checkpoint_id, address.epoch)}{token}!"
        pieces = [item["b"]["B"] for page in self.table.query(address.pk, prefix, keys.after(prefix)) for item in page]
        if len(pieces) != count:
            raise PayloadMissing(_missing(address, checkpoint_id, f"{count - len(pieces)} of {count} chunks in table {self.table.name!r}"))
        return b"".join(pieces)


@dataclass(frozen=True, slots=True)
class Objects:
    """In an S3 bucket, under one prefix per table and thread."""

    client: S3Client
    bucket: str
    table: str

    def _explained(self) -> AbstractContextManager[None]:
        return explained(self.bucket, self.client.meta.endpoint_url)

    def prefix(self, pk: str) -> str:
        return f"{self.table}/{hashlib.sha256(pk.encode()).hexdigest()}/"

    def store(self, address: keys.Address, checkpoint_id: str, packed: Packed, expiry: Item) -> Item:
        name = f"{self.prefix(address.pk)}{uuid.uuid4().hex}"
        with self._explained():
            self.client.put_object(Bucket=self.bucket, Key=name, Body=packed.data)
        return packed.cell(o={"S": name})

    def load(self, address: keys.Address, checkpoint_id: str, name: str) -> bytes:
        try:
            with self._explained():
                return self.client.get_object(Bucket=self.bucket, Key=name)["Body"].read()
        except self.client.exceptions.NoSuchKey as error:
            raise PayloadMissing(_missing(address, checkpoint_id, f"s3://{self.bucket}/{name}")) from error

    def copy(self, name: str, pk: str) -> str:
        """The same object again for another thread; returns its name."""
        target = f"{self.prefix(pk)}{uuid.uuid4().hex}"
        self.client.copy_object(Bucket=self.bucket, Key=target, CopySource={"Bucket": self.bucket, "Key": name})
        return target

    def delete(self, names: list[str]) -> None:
        for start in range(0, len(names), OBJECTS_PER_DELETE):
            batch = [{"Key": name} for name in names[start : start + OBJECTS_PER_DELETE]]
            with self._explained():
                answer = self.client.delete_objects(Bucket=self.bucket, Delete={"Objects": batch, "Quiet": True})  # type: ignore[typeddict-item]
            if failed := answer.get("Errors"):
                raise StoreError(
                    f"S3 did not delete {len(failed)} objects of bucket {self.bucket!r} ({failed[0].get('Code')}): repeat the call."
                )

    def delete_thread(self, pk: str) -> None:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=self.prefix(pk))
        self.delete([entry["Key"] for page in pages for entry in page.get("Contents", [])])


def _missing(address: keys.Address, checkpoint_id: str, what: str) -> str:
    return (
        f"Checkpoint {checkpoint_id} of thread {address.thread_id!r} is not readable: {what} missing. "
        "Check the bucket's lifecycle rules and AGENTS_BUCKET, or continue from an earlier checkpoint."
    )


@dataclass(frozen=True, slots=True)
class Payloads:
    """Writes cells and reads them, wherever their bytes are."""

    chunks: Chunks
    objects: Objects | None

    def cells(
        self, address: keys.Address, checkpoint_id: str, packed: Mapping[str, Packed], expiry: Item, limit: int = INLINE_BYTES
    ) -> Item:
        """One cell per value; stores what does not fit into the item."""
        outside: Warehouse = self.objects or self.chunks
        moved = {name: outside.store(address, checkpoint_id, packed[name], expiry) for name in too_large(packed, limit)}
        return {name: moved.get(name) or value.inline for name, value in packed.items()}

    def open(self, serde: SerializerProtocol, address: keys.Address, checkpoint_id: str, cell: Item) -> Any:
        content = cell["M"]
        return opened(serde, Packed(content["t"]["S"], self._bytes(address, checkpoint_id, content), "z" in content))

    def _bytes(self, address: keys.Address, checkpoint_id: str, content: Item) -> bytes:
        if "b" in content:
            data: bytes = content["b"]["B"]
            return data
        if "k" in content:
            return self.chunks.load(address, checkpoint_id, content["k"]["S"], int(content["n"]["N"]))
        if self.objects is None:
            raise PayloadMissing(_missing(address, checkpoint_id, f"the bucket of object {content['o']['S']}, no bucket is configured;"))
        return self.objects.load(address, checkpoint_id, content["o"]["S"])
