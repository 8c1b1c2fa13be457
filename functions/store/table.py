"""One DynamoDB table: consistent reads, all pages, all leftovers, errors explained."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from functions.store.errors import Throttled, explained

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from functions.store.clients import Calls  # which imports boto3: not for who only reads a type here

Item = dict[str, Any]
"""An item as the wire has it: attribute name to `{"S": …}`, `{"B": …}` …"""

BATCH_ITEMS = 25
BATCH_READS = 100
BATCH_BYTES = 8 * 1024 * 1024
BATCH_ATTEMPTS = 9


@dataclass(frozen=True, slots=True)
class Table:
    """One table through one client. Raises `StoreError` with a remedy, else what botocore raises."""

    name: str
    client: DynamoDBClient
    calls: Calls

    def _explained(self) -> AbstractContextManager[None]:
        return explained(self.name, self.client.meta.endpoint_url)

    def get(self, pk: str, sk: str) -> Item | None:
        with self._explained():
            return self.client.get_item(TableName=self.name, Key=_key(pk, sk), ConsistentRead=True).get("Item")

    def glance(self, pk: str, sk: str, attribute: str) -> Item:
        """One attribute of an item as some replica has it; empty if that has none."""
        request: dict[str, Any] = {"ProjectionExpression": "#a", "ExpressionAttributeNames": {"#a": attribute}}
        with self._explained():
            return self.client.get_item(TableName=self.name, Key=_key(pk, sk), **request).get("Item", {})

    def get_many(self, pk: str, sks: Sequence[str]) -> dict[str, Item]:
        """Sort key → item, of those that are there, in as few calls as DynamoDB allows."""
        batches = [sks[start : start + BATCH_READS] for start in range(0, len(sks), BATCH_READS)]
        return {item["sk"]["S"]: item for found in self.calls.each(partial(self._read_batch, pk), batches) for item in found}

    def _read_batch(self, pk: str, sks: Sequence[str]) -> list[Item]:
        found: list[Item] = []
        left: Any = {"Keys": [_key(pk, sk) for sk in sks], "ConsistentRead": True}
        for attempt in range(BATCH_ATTEMPTS):
            with self._explained():
                answer: Any = self.client.batch_get_item(RequestItems={self.name: left})
            found += answer["Responses"].get(self.name, [])
            left = answer.get("UnprocessedKeys", {}).get(self.name)
            if not left:
                return found
            _back_off(attempt)
        raise self._left(len(left["Keys"]), len(sks), "reads of")

    def delete(self, pk: str, sk: str, **request: Any) -> None:
        """`request`: DeleteItem's own arguments, as its condition."""
        with self._explained():
            self.client.delete_item(TableName=self.name, Key=_key(pk, sk), **request)

    def put(self, item: Item, **request: Any) -> None:
        """`request`: PutItem's own arguments, as its condition."""
        with self._explained():
            self.client.put_item(TableName=self.name, Item=item, **request)

    def update(self, pk: str, sk: str, **request: Any) -> Item:
        """`request`: UpdateItem's own arguments. Returns the attributes that its ReturnValues asks for."""
        with self._explained():
            return self.client.update_item(TableName=self.name, Key=_key(pk, sk), **request).get("Attributes", {})

    def query(self, pk: str, low: str, high: str, **options: Any) -> Iterator[list[Item]]:
        """Pages of the items with `low` ≤ sk ≤ `high`. `options`: Limit (of the first page), ScanIndexForward, ProjectionExpression …"""
        values = {":pk": {"S": pk}, ":low": {"S": low}, ":high": {"S": high}} | options.pop("ExpressionAttributeValues", {})
        condition = "pk = :pk AND sk BETWEEN :low AND :high"
        yield from self._pages(self.client.query, KeyConditionExpression=condition, ExpressionAttributeValues=values, **options)

    def index_page(self, index: str, pk: str, limit: int, start: Item | None) -> Item:
        """One page of a local index, the greatest sort key first: Query's own answer (Items, LastEvaluatedKey)."""
        request: dict[str, Any] = {"ExclusiveStartKey": start} if start else {}
        with self._explained():
            answer = self.client.query(
                TableName=self.name,
                IndexName=index,
                KeyConditionExpression="pk = :pk",
                ExpressionAttributeValues={":pk": {"S": pk}},
                ScanIndexForward=False,
                ConsistentRead=True,
                Limit=limit,
                **request,
            )
        return dict(answer)

    def scan(self, **options: Any) -> Iterator[list[Item]]:
        """Pages of the whole table: for upkeep only."""
        yield from self._pages(self.client.scan, **options)

    def _pages(self, call: Callable[..., Any], **request: Any) -> Iterator[list[Item]]:
        while True:
            with self._explained():
                answer = call(TableName=self.name, ConsistentRead=True, **request)
            yield answer["Items"]
            if not (start := answer.get("LastEvaluatedKey")):
                return
            # The few items asked for were not the answer: the rest is read in full pages.
            request.pop("Limit", None)
            request["ExclusiveStartKey"] = start

    def put_many(self, items: Iterable[Item]) -> None:
        """Whole items in as few calls as DynamoDB allows; returns when every one is stored."""
        self.calls.each(self._write_batch, list(_batches({"PutRequest": {"Item": item}} for item in items)))

    def delete_many(self, keys: Iterable[Item]) -> None:
        """`keys`: items of which only `pk` and `sk` are looked at. Those that are gone already are no error."""
        self.calls.each(self._write_batch, list(_batches({"DeleteRequest": {"Key": {"pk": k["pk"], "sk": k["sk"]}}} for k in keys)))

    def _write_batch(self, requests: list[Any]) -> None:
        left: list[Any] = requests
        for attempt in range(BATCH_ATTEMPTS):
            with self._explained():
                left = self.client.batch_write_item(RequestItems={self.name: left}).get("UnprocessedItems", {}).get(self.name, [])
            if not left:
                return
            _back_off(attempt)
        raise self._left(len(left), len(requests), "writes to")

    def _left(self, left: int, asked: int, what: str) -> Throttled:
        return Throttled(
            f"DynamoDB left {left} of {asked} {what} table {self.name!r} undone {BATCH_ATTEMPTS} times in a row. "
            "The table is throttled: use on-demand capacity or raise its limit, then repeat the call."
        )


def _back_off(attempt: int) -> None:
    time.sleep(random.uniform(0.5, 1) * min(0.05 * 2**attempt, 3.0))


def _key(pk: str, sk: str) -> Item:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def _batches(requests: Iterable[Item]) -> Iterator[list[Item]]:
    batch: list[Item] = []
    size = 0
    for request in requests:
        weight = item_bytes(request.get("PutRequest", {}).get("Item", {}))
        if batch and (len(batch) == BATCH_ITEMS or size + weight > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(request)
        size += weight
    if batch:
        yield batch


def item_bytes(item: Item) -> int:
    """What DynamoDB counts for an item: names and values, 3 bytes for a list or map and 1 for each of its elements."""
    return sum(len(name.encode()) + _attribute_bytes(attribute) for name, attribute in item.items())


def _attribute_bytes(attribute: dict[str, Any]) -> int:
    ((kind, value),) = attribute.items()
    match kind:
        case "M":
            return 3 + len(value) + item_bytes(value)
        case "L":
            return 3 + sum(1 + _attribute_bytes(element) for element in value)
        case "S":
            return len(value.encode())
        case "B":
            return len(value)
        case "N":
            return len(value) // 2 + 2
        case _:
            return 1
