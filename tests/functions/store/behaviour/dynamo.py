"""DynamoDB as a place of checkpoints: tables of a behaviour's own on an emulator, whatever saver uses them. And our saver on it."""

from __future__ import annotations

import dataclasses
import functools
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import boto3
from langgraph.checkpoint.serde.base import SerializerProtocol

from functions.store.checkpoints import DynamoDBSaver
from functions.store.clients import CONFIG
from functions.store.tables import create_tables
from tests.functions.store.behaviour.lag import Lag
from tests.functions.store.behaviour.stores import Saver
from tests.support.dynamodb import REGION

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client


@functools.cache
def session() -> boto3.session.Session:
    """One for all: each would read botocore's descriptions of the services again."""
    return boto3.session.Session(region_name=REGION)


def dynamodb(endpoint: str) -> DynamoDBClient:
    """Another client every time, to hang hooks on."""
    return session().client("dynamodb", endpoint_url=endpoint, config=CONFIG)


@functools.cache
def shared(endpoint: str) -> DynamoDBClient:
    """One without hooks for all."""
    return dynamodb(endpoint)


@functools.cache
def s3(endpoint: str) -> S3Client:
    return session().client("s3", endpoint_url=endpoint, config=CONFIG)


@dataclass
class DynamoStore:
    """`ttl` names the attribute that the saver's documentation says to set as the table's TTL."""

    name: str
    endpoint: str
    tables: tuple[str, ...]
    bucket: str | None = None
    ttl: str = ""
    lagging: Lag | None = None

    def make(self, serde: SerializerProtocol | None, ttl_seconds: int | None, client: DynamoDBClient) -> Saver:
        """`client` is for savers that take one."""
        raise NotImplementedError

    def clients(self, saver: Saver) -> list[Any]:
        raise NotImplementedError

    def saver(self, *, serde: SerializerProtocol | None = None, ttl_seconds: int | None = None) -> Saver:
        return self.watched() if self.lagging else self.make(serde, ttl_seconds, shared(self.endpoint))

    def watched(self) -> Saver:
        saver = self.make(None, None, dynamodb(self.endpoint))
        for client in self.clients(saver) if self.lagging else ():
            self.lagging.attach(client)  # type: ignore[union-attr]  # asked for above
        return saver

    @asynccontextmanager
    async def async_saver(self) -> AsyncIterator[Saver]:
        yield self.watched()

    def refuses(self, behaviour: str, error: BaseException) -> bool:
        return isinstance(error, NotImplementedError)

    def lag(self) -> None:
        self.lagging = Lag(self.endpoint, self.tables, shared(self.endpoint))

    def content(self) -> list[bytes]:
        return [b"|".join(_bytes(value) for value in item.values()) for _, item in self._items()] + list(self._objects())

    def _items(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for table in self.tables:
            for page in shared(self.endpoint).get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
                yield from ((table, item) for item in page["Items"])

    def _objects(self) -> Iterator[bytes]:
        if self.bucket:
            client = s3(self.endpoint)
            for page in client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket):
                for entry in page.get("Contents", []):
                    yield client.get_object(Bucket=self.bucket, Key=entry["Key"])["Body"].read()

    def expire(self) -> None:
        self._remove([(table, item) for table, item in self._items() if self.ttl in item and float(item[self.ttl]["N"]) < time.time()])

    def clear(self) -> None:
        """For the next behaviour: to make a table takes longer."""
        self._remove(list(self._items()))
        for entry in s3(self.endpoint).list_objects_v2(Bucket=self.bucket).get("Contents", []) if self.bucket else ():
            s3(self.endpoint).delete_object(Bucket=str(self.bucket), Key=entry["Key"])

    def again(self, bucket: str | None) -> Self:
        """The same place without what a behaviour did to it."""
        return dataclasses.replace(self, bucket=bucket, lagging=None)

    def _remove(self, items: Sequence[tuple[str, dict[str, Any]]]) -> None:
        client = shared(self.endpoint)
        for table in self.tables:
            names = [key["AttributeName"] for key in client.describe_table(TableName=table)["Table"]["KeySchema"]] if items else []
            keys = [{name: item[name] for name in names} for whose, item in items if whose == table]
            for start in range(0, len(keys), 25):
                client.batch_write_item(RequestItems={table: [{"DeleteRequest": {"Key": key}} for key in keys[start : start + 25]]})


def _bytes(attribute: dict[str, Any]) -> bytes:
    ((kind, value),) = attribute.items()
    if kind == "M":
        return b"|".join(_bytes(nested) for nested in value.values())
    return value if isinstance(value, bytes) else str(value).encode()


class Ours(DynamoStore):
    """`functions.store`."""

    def make(self, serde: SerializerProtocol | None, ttl_seconds: int | None, client: DynamoDBClient) -> Saver:
        objects = s3(self.endpoint) if self.bucket else None
        return DynamoDBSaver(
            self.tables[0], client=client, objects_client=objects, bucket=self.bucket, ttl_seconds=ttl_seconds, serde=serde
        )

    def clients(self, saver: Saver) -> list[Any]:
        assert isinstance(saver, DynamoDBSaver)
        return [saver._table.client]


def ours(name: str, endpoint: str, *, with_bucket: bool = False) -> Ours:
    client = dynamodb(endpoint)
    names = create_tables(client, f"t{uuid.uuid4().hex}-")
    return Ours(name, endpoint, (names["checkpoints"],), new_bucket(endpoint) if with_bucket else None, "expires_at")


def new_bucket(endpoint: str) -> str:
    name = f"bucket-{uuid.uuid4().hex}"
    s3(endpoint).create_bucket(Bucket=name)
    return name
